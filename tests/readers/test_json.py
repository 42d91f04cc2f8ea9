"""JSON: each shape with its settings, places whatever the style, comments and commas, duplicates, bad input."""

from __future__ import annotations

import subprocess
import sys

import pytest
from facts_shown import check_bounded, check_places, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
TEXTS = st.text(st.sampled_from("ab1/:=,.'\"\\#%{}[]\u00e9\U0001f600 \t\n"), max_size=8)
SETTINGS = {
    ".vscode/launch.json": [
        "10 set NCCL_DEBUG=INFO yes configuration manifest:configurations.two ranks # everything",
        "11 set NCCL_SOCKET_IFNAME=template(${env:IFACE})[IFACE|None] yes configuration "
        "manifest:configurations.two ranks",
        "12 unset NCCL_P2P_DISABLE=unknown(null) yes configuration manifest:configurations.two ranks",
    ],
    ".vscode/settings.json": [
        "2 set NCCL_DEBUG=WARN yes configuration",
    ],
    "broken.json": [
        "3 set NCCL_DEBUG=INFO unknown configuration",
        "4 set NCCL_ALGO=Ring unknown configuration",
    ],
    "devcontainer.json": [
        "4 set NCCL_DEBUG=INFO yes configuration",
        "5 set PATH=template(${containerEnv:PATH}:/opt/bin) yes configuration",
        "6 set MIOPEN_FIND_MODE=1 yes shell",
    ],
    "env_vars.json": [
        "2 set NCCL_DEBUG=INFO unknown configuration",
        "3 set FI_PROVIDER=efa unknown configuration",
    ],
    "no-settings.json": [],
    "package.json": [
        "3 set NCCL_DEBUG=INFO yes shell command:torchrun",
    ],
    "pod.json": [
        "13 set NCCL_DEBUG=INFO yes kubernetes container:main",
        '14 set POD_IP=unknown({ "fieldRef": { "fieldPath": "status.podIP" } }) yes kubernetes container:main',
        "11 set NCCL_ALGO=Ring yes shell container:main",
    ],
    "runtime-env.json": [
        "4 set NCCL_DEBUG=INFO yes runtime-env",
        "5 set NCCL_NTHREADS=256 yes runtime-env",
        "6 set NCCL_ALGO=Ring yes runtime-env",
        "7 set NCCL_ALGO=Tree yes runtime-env",
    ],
    "task-definition.json": [
        "8 set NCCL_DEBUG=INFO yes task manifest:containerDefinitions.trainer",
        "9 set NCCL_ALGO=Ring yes task manifest:containerDefinitions.trainer",
        "12 set NCCL_PROTO=LL yes shell manifest:containerDefinitions.trainer",
    ],
    "training-job.json": [
        "3 set NCCL_DEBUG=INFO yes task",
        "3 set FI_PROVIDER=efa yes task",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("json", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


INCLUSIONS = {
    ".vscode/launch.json": [("env-file", "${workspaceFolder}/nccl.env")],
    "task-definition.json": [("env-file", "arn:aws:s3:::b/nccl.env")],
}
LAUNCHES = {
    "devcontainer.json": ["python setup.py"],
    "package.json": ["torchrun train.py"],
    "pod.json": ["torchrun train.py"],
}
IMAGES = {"devcontainer.json": ["rocm/pytorch:rocm6.2"], "pod.json": ["nvcr.io/nvidia/pytorch:24.05-py3"]}


@pytest.mark.parametrize("name", SETTINGS)
def test_other_facts(name: str) -> None:
    _, facts = fixture("json", name)
    assert [(i.kind, i.target) for i in facts.inclusions] == INCLUSIONS.get(name, [])
    if name in LAUNCHES:
        assert [" ".join(launch.words) for launch in facts.launches] == LAUNCHES[name]
    if name in IMAGES:
        assert [c.version for c in facts.components] == IMAGES[name]
    assert bool(facts.problems) == (name == "broken.json")


ODD = [
    ('{"env": {"A_B": "1",},}', ["A_B=1"]),
    ('{"env": {"A_B": "1" /* x */, // "C_D": "2"\n "E_F": 3}}', ["A_B=1", "E_F=3"]),
    ('{"env": {"A_B": "1" "C_D": "2"}}', ["A_B=1", "C_D=2"]),
    ('{"env": {"A_B": "1", "A_B": "2"}, "env": {"A_B": "3"}}', ["A_B=1", "A_B=2", "A_B=3"]),
    ('{"env": {"A_B": true, "C_D": -1.5e3}}', ["A_B=true", "C_D=-1.5e3"]),
    ("{'env': {'A_B': '1', C_D: 2}}", ["A_B=1", "C_D=2"]),
    ('{"env": ["A_B=1", "C_D"]}', ["A_B=1", "C_D="]),
    ('{"env": "A_B=1,C_D=2"}', ["A_B=1", "C_D=2"]),
    ('{"env": {"A_B": "\\u0041\\ud83d\\ude00\\/\\n"}}', ["A_B=A\U0001f600/\n"]),
    ('{"a": 1}\n{"env": {"A_B": "1"}}\n{"env": {"A_B": "2"}}', ["A_B=1", "A_B=2"]),
    ('{"env": {"A_B": {{ .Values.a }}, "C_D": "1"}}', ["A_B={{ .Values.a }}", "C_D=1"]),
    ('{"env": {"A_B": {"value": "1", "force": true}}}', ["A_B=1"]),
    ('{"env": {"A_B": "1', ["A_B=1"]),
    ('[{"name": "x", "image": "y", "environment": [{"name": "A_B", "value": "1"}]}]', ["A_B=1"]),
]


@pytest.mark.parametrize(("text", "wanted"), ODD)
def test_json_as_people_write_it(text: str, wanted: list[str]) -> None:
    facts = facts_of(text, "x.json")
    assert [f"{s.name}={s.value.text}" for s in facts.settings] == wanted
    check_places(text, facts)


def test_what_has_no_value_is_removed_or_forwarded() -> None:
    assert [s.op for s in facts_of('{"env": {"A_B": null}}', "launch.json").settings] == ["unset"]
    assert [s.op for s in facts_of('{"env": ["A_B"]}', "x.json").settings] == ["pass"]


def quoted(text: str) -> str:
    return '"' + "".join({'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n"}.get(c, c) for c in text) + '"'


SHAPES = {
    "map": '{{"env": {{\n{0}\n}}}}',
    "comments": '// c\n{{"env": {{ /* c */\n{0}, // c\n}}}}',
    "one line": '{{"env":{{{0}}}}}',
}


@given(st.sampled_from(sorted(SHAPES)), st.lists(st.tuples(NAMES, TEXTS), min_size=1, max_size=5))
def test_places_and_values_hold(shape: str, pairs: list[tuple[str, str]]) -> None:
    if any("{{" in value or "{%" in value or "{#" in value for _, value in pairs):
        return
    text = SHAPES[shape].format(",".join(f"{quoted(name)}: {quoted(value)}" for name, value in pairs))
    facts = facts_of(text, "x.json")
    assert not facts.problems
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place).strip('"') == name
        assert excerpt(text, setting.value_place) == quoted(value)[1:-1]


@given(st.text(st.sampled_from("env:NCL_A{}[]%&*'\"#/,\\\n\t $\u00e9\x00\ud800?1tru-"), max_size=150))
def test_any_text_is_read(text: str) -> None:
    check_places(text, facts_of(text, "x.json"))


PIECES = [
    '"env"',
    ":",
    "{",
    "}",
    "[",
    "]",
    ",",
    '"A_B"',
    '"A_B=1"',
    "null",
    "1",
    '"name"',
    '"value"',
    '"command"',
    "//\n",
    "/*",
    '"scripts"',
    '"containerDefinitions"',
    '"image"',
    "'",
    '"',
    "{{ x }}",
    '"apiVersion"',
    '"kind"',
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
def test_any_pieces_are_read(text: str) -> None:
    check_places(text, facts_of(text, "x.json"))


BIG = {
    "open brackets": "[" * 1_000_000,
    "open maps": '{"env":' * 500_000,
    "closed brackets": "]" * 1_000_000,
    "open comments": "/*" * 1_000_000,
    "quotes": '"' * 1_000_000,
    "backslashes": '"' + "\\" * 1_000_000,
    "wide": '{"env": {' + '"A_B": "1", ' * 150_000 + "}}",
    "many environments": "[" + '{"env": {"A_B": "1"}}, ' * 200_000 + "]",
    "numbers": "[" + "1.5, " * 1_000_000 + "]",
    "one string": '{"env": {"A_B": "' + "x\\n" * 1_500_000 + '"}}',
    "templates": '{"env": {"A_B": ' + "{{" * 900_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BIG)
def test_time_is_bounded(name: str) -> None:
    check_bounded(BIG[name], "x.json")


def test_of_a_large_file_the_environments_are_read() -> None:
    text = '{"data": [' + "1.5, " * 500_000 + '], "env": {"NCCL_ALGO": "Ring"}}'
    facts = check_bounded(text, "x.json")
    assert [s.name for s in facts.settings] == ["NCCL_ALGO"]
    assert "only environments" in facts.problems[0].message


def test_large_data_without_an_environment_is_no_problem() -> None:
    words = ", ".join(f'"NCCL_{number}": {number}' for number in range(60_000))
    facts = check_bounded('{"vocab": {' + words + ', "env": 7, "command": 8}}', "vocab.json", 3)
    assert (facts.settings, facts.problems) == ([], [])


def test_json_needs_no_yaml() -> None:
    assert "yaml" not in imported('{"env": {"A_B": "1"}}', "x.json")


def imported(text: str, path: str) -> set[str]:
    code = (
        "import sys; from envdoctor.readers.registry import read; from envdoctor.readers.kinds import kind_of; from envdoctor.core.source import Source;"
        f"read(Source({path!r}, {text!r}), kind_of({path!r})); print(' '.join(sys.modules))"
    )
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
