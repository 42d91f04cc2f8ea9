"""HCL: blocks, maps, calls, here-documents; places, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "job.nomad": [
        "5 set NCCL_DEBUG=INFO yes task manifest:job.train.task.main",
    ],
    "main.tf": [
        "4 set NCCL_DEBUG=INFO yes task manifest:resource.aws_lambda_function.train.environment.variables # "
        "how much it says",
        "5 set NCCL_ALGO=unknown(var.algorithm) yes task "
        "manifest:resource.aws_lambda_function.train.environment.variables",
        '6 set NODE=template(${var.name}-${lookup(var.ids, "a")}) yes task '
        "manifest:resource.aws_lambda_function.train.environment.variables",
        "7 set WORKERS=4 yes task manifest:resource.aws_lambda_function.train.environment.variables",
        "17 set NCCL_PROTO=LL yes task manifest:resource.kubernetes_deployment.train.spec.container",
        '21 set TOKEN=unknown({ secret_key_ref { name = "t" } }) yes task '
        "manifest:resource.kubernetes_deployment.train.spec.container",
        "30 set NCCL_CROSS_NIC=unknown(tostring(1)) yes task "
        "manifest:resource.aws_ecs_task_definition.train.container_definitions.main",
        "36 set NCCL_DEBUG=WARN yes task manifest:bench",
        "41 set NCCL_IB_HCA=mlx5 yes task manifest:locals",
        "41 set NCCL_NTHREADS=256 yes task manifest:locals",
        "50 set NCCL_BUFFSIZE=1 yes shell subshell:resource.aws_instance.node.provisioner.remote-exec.inline",
        "47 set NCCL_SOCKET_IFNAME=ib0 yes shell manifest:resource.aws_instance.node",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("terraform", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


def test_other_facts() -> None:
    _, facts = fixture("terraform", "main.tf")
    assert [c.version for c in facts.components] == ["rocm/pytorch:rocm6.2", "b/b:1"]
    assert [" ".join(launch.words) for launch in facts.launches] == ["torchrun train.py"]
    assert facts.problems == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('env = { A_B = "1" }', "A_B=literal 1"),
        ('env = { A_B : "1", C_D = 2 }', "A_B=literal 1, C_D=literal 2"),
        ("env = { A_B = var.x }", "A_B=unknown var.x"),
        ('env = { A_B = "${var.x}-1" }', "A_B=template ${var.x}-1"),
        ('env = { A_B = "a" == "b" ? "1" : "2" }', 'A_B=unknown "a" == "b" ? "1" : "2"'),
        ("env = { A_B = null }", "A_B=unknown null"),
        ('env = merge(local.x, { A_B = "1" })', "A_B=literal 1"),
        ('env = concat([{ name = "A_B", value = "1" }], var.x)', "A_B=literal 1"),
        ('x = jsonencode({ env = { A_B = "1" } })', "A_B=literal 1"),
        ('env { A_B = "1" }', "A_B=literal 1"),
        ('env {\n name = "A_B"\n value = "1"\n}', "A_B=literal 1"),
        ('env_vars = ["A_B=1"]', "A_B=literal 1"),
        ('# env = { A_B = "1" }', ""),
        ('/* env = { A_B = "1" } */', ""),
        ('x = <<EOT\nenv = { A_B = "1" }\nEOT', ""),
        ('env = { "A_B" = "1", (var.k) = "2" }', "A_B=literal 1"),
        ("env = { for k, v in var.x : k => v }", ""),
        ('env = { A_B = "1"', "A_B=literal 1"),
        ('variable "x" {\n default = "1"\n}', ""),
    ],
)
def test_shapes(text: str, wanted: str) -> None:
    facts = facts_of(text, "x.tf")
    assert ", ".join(f"{s.name}={s.value.kind} {s.value.text}" for s in facts.settings) == wanted
    check_places(text, facts)


@given(st.lists(st.tuples(NAMES, st.text("ab1/:.,-=# {}()", min_size=1, max_size=6)), min_size=1, max_size=5))
def test_places_hold(pairs: list[tuple[str, str]]) -> None:
    text = "x {\n environment = {\n" + "".join(f'  {name} = "{value}"\n' for name, value in pairs) + "}\n}\n"
    facts = facts_of(text, "x.tf")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.text('env=A_1{}[]()<EOT"#/*,:?\\\n $%\x00\u00e9', max_size=120))
def test_any_text_is_read(text: str) -> None:
    check_places(text, facts_of(text, "x.tf"))


LINES = [
    "env = {",
    "}",
    'A_B = "1"',
    "A_B = var.x",
    "env {",
    'name = "A_B"',
    'value = "1"',
    "x = [",
    "]",
    "x = f(",
    ")",
    "<<EOT",
    "EOT",
    "x = <<-EOT",
    'x "y" "z" {',
    '"${',
    '"A_B" = 1',
    "/*",
    "*/",
    "x = y ? {",
    "} : {",
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
def test_any_lines_are_read(text: str) -> None:
    check_places(text, facts_of(text, "x.tf"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["env = { A_B = 1 }\n", "{", "[", "(", "x = <<EOT\n", '"${', "/*", "a b ", 'x = "', "env {\n", "f(", "x = "]
)
def test_time_is_bounded(line: str) -> None:
    check_repeated(line, "x.tf")


@pytest.mark.slow
def test_five_megabytes() -> None:
    check_repeated(
        ["env = { A_B = 1 }\n", "{", "[", "(", "x = <<EOT\n", '"${', "/*", "a b ", 'x = "', "env {\n", "f(", "x = "][0],
        "x.tf",
        5_000_000,
    )
