"""Dockerfiles: what ENV and ARG set, in which stage, and what RUN, CMD and ENTRYPOINT hand to the shell reader."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.source import Source
from envdoctor.readers.registry import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "dockerfile"
needs_shell = pytest.mark.skipif(
    importlib.util.find_spec("envdoctor.readers.shell.reader") is None, reason="the shell reader is not there"
)


def facts_of(text: str) -> FileFacts:
    return read(Source("Dockerfile", text), "dockerfile")


def fixture(name: str) -> FileFacts:
    text = (FIXTURES / name).read_bytes().decode()
    return read(Source(name, text), "dockerfile")


def shown(setting: Setting) -> str:
    value = setting.value
    text = value.text if value.kind == "literal" else f"{value.kind}({value.text})"
    scope = f"{setting.scope.kind}:{setting.scope.name}"
    return f"{setting.place.line} {setting.op} {setting.name}={text} {setting.channel} {setting.exported} {scope}"


def excerpt(text: str, place) -> str:
    """The text of a place that lies on one line or several, by its lines and columns."""
    lines = text.split("\n")[place.line - 1 : place.end_line]
    lines[-1] = lines[-1][: place.end_column - 1]
    lines[0] = lines[0][place.column - 1 :]
    return "\n".join(lines)


def test_settings_of_stages() -> None:
    assert [shown(setting) for setting in fixture("Dockerfile.stages").settings] == [
        "2 default REGISTRY=rocm argument no process:",
        "3 default BASE=template(${REGISTRY}/pytorch:rocm6.2) argument no process:",
        "6 set NCCL_ALGO=Ring image yes container:base",
        "6 set NCCL_DEBUG=INFO image yes container:base",
        "8 set NCCL_PROTO=a b image yes container:base",
        "10 append LD_LIBRARY_PATH=template(/opt/lib:$LD_LIBRARY_PATH) image yes container:base",
        "11 set NCCL_SOCKET_IFNAME=eth0 and more image yes container:base",
        "12 default NCCL_NTHREADS=256 argument no container:base",
        "13 set NCCL_BUFFSIZE=template(${NCCL_NTHREADS}00) image yes container:base",
        "13 set NCCL_DEBUG_FILE=/tmp/INFO.log image yes container:base",
        "13 default NCCL_IB_HCA=template(${NCCL_IB_HCA:-mlx5_0}) image yes container:base",
        "15 set NCCL_P2P_LEVEL=$HOME image yes container:base",
        '15 set NCCL_NET=a"b image yes container:base',
        "15 set NCCL_TOPO_FILE=/a:/b image yes container:base",
        "18 set NCCL_CROSS_NIC=1 image yes container:1",
        "20 set MIOPEN_FIND_MODE=1 image yes container:other",
    ]


def test_images_are_components_of_their_stages() -> None:
    components = fixture("Dockerfile.stages").components
    assert [(fact.name, fact.version, fact.detail) for fact in components] == [
        ("image", "rocm/pytorch:rocm6.2", "base"),
        ("image", "rocm/pytorch:rocm6.2", "1"),
        ("stage", "base", "1"),
        ("image", "scratch", "other"),
    ]
    assert components[0].place.line == 4
    assert components[0].place.column == 29


@pytest.mark.parametrize(
    ("name", "fallback"),
    [
        ("NCCL_BUFFSIZE", "25600"),
        ("NCCL_IB_HCA", "mlx5_0"),
        ("LD_LIBRARY_PATH", None),
        ("BASE", "rocm/pytorch:rocm6.2"),
    ],
)
def test_fallback_of_templates(name: str, fallback: str | None) -> None:
    [setting] = [setting for setting in fixture("Dockerfile.stages").settings if setting.name == name]
    assert setting.value.fallback == fallback


def test_comments() -> None:
    comments = {setting.name: setting.comment for setting in fixture("Dockerfile.stages").settings}
    assert comments["NCCL_ALGO"] == "one order of sums"
    assert comments["NCCL_PROTO"] == "quiet on purpose"
    assert comments["NCCL_SOCKET_IFNAME"] == ""


def test_places_of_names_and_values() -> None:
    text = (FIXTURES / "Dockerfile.stages").read_text()
    setting = next(s for s in fixture("Dockerfile.stages").settings if s.name == "NCCL_PROTO")
    assert excerpt(text, setting.name_place) == "NCCL_PROTO"
    assert excerpt(text, setting.value_place) == r"a\ b"
    assert excerpt(text, setting.place) == r"NCCL_PROTO=a\ b"
    continued = next(s for s in fixture("Dockerfile.stages").settings if s.name == "NCCL_TOPO_FILE")
    assert excerpt(text, continued.value_place) == "/a:\\\n/b"


def test_windows_line_ends_and_escape_directive() -> None:
    facts = fixture("Dockerfile.windows")
    assert [shown(setting) for setting in facts.settings if setting.channel == "image"] == [
        "3 set NCCL_ALGO=Ring image yes container:0",
        "4 set NCCL_PROTO=C:\\x image yes container:0",
    ]


def test_templates_and_their_branches() -> None:
    facts = fixture("Dockerfile.j2")
    found = {setting.name: setting for setting in facts.settings}
    assert found["NCCL_ALGO"].value.fallback == "Ring"
    assert found["NCCL_DEBUG"].value.text == "INFO"
    assert [branch.condition for branch in found["NCCL_DEBUG"].branch] == ["{% if debug %}"]
    assert found["NCCL_PROTO"].value.kind == "template"
    assert [fact.version for fact in facts.components] == ["rocm/pytorch:latest", "{{ image }}"]


@pytest.mark.parametrize(
    "text",
    [
        "LABEL NCCL_ALGO=Ring\n",
        "FROM a\n# ENV NCCL_ALGO=Ring\n",
        "FROM a\nMAINTAINER NCCL_ALGO=Ring\n",
        "FROM a\nENV\n",
        "FROM a\nENV NCCL_ALGO\n",
        "FROM a\nARG NCCL_ALGO\n",
        "FROM a\nCOPY <<EOF /etc/motd\nENV NCCL_ALGO=Ring\nEOF\n",
        "FROM a\nRUN cat <<-'END' > /x\nENV NCCL_ALGO=Ring\n\tEND\n",
        "FROM a\nENVIRON NCCL_ALGO=Ring\n",
    ],
)
def test_no_settings(text: str) -> None:
    assert not facts_of(text).settings


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("ENV A=1", "A", "1"),
        ("env a=1", "a", "1"),
        ("  ENV   A   x  y  ", "A", "x  y"),
        ("ENV A=", "A", ""),
        ('ENV A=""', "A", ""),
        ("ENV A=x=y", "A", "x=y"),
        ('ENV "A"=1', "A", "1"),
        ("ENV A='x \"y\"'", "A", 'x "y"'),
        ('ENV A="x\\$y"', "A", "x$y"),
        ("ENV A=x\\\n\\\ny", "A", "xy"),
        ("ENV A=x # no comment", "A", "x"),
        ("ENV A=<<EOF\nENV B=1", "A", "<<EOF"),
    ],
)
def test_words(text: str, name: str, value: str) -> None:
    setting = facts_of(f"FROM x\n{text}\n").settings[0]
    assert (setting.name, setting.value.kind, setting.value.text) == (name, "literal", value)


def test_unclosed_here_document_hides_nothing() -> None:
    facts = facts_of("FROM a\nRUN cat <<EOF\nENV NCCL_ALGO=Ring\n")
    assert [setting.name for setting in facts.settings if setting.channel == "image"] == ["NCCL_ALGO"]


def test_values_of_a_parent_stage_are_known() -> None:
    facts = facts_of("FROM a AS b\nENV NCCL_ALGO=Ring\nFROM B AS c\nENV NCCL_PROTO=${NCCL_ALGO}x\n")
    assert facts.settings[-1].value.text == "Ringx"


def test_argument_given_before_the_first_stage() -> None:
    facts = facts_of("ARG ALGO=Ring\nFROM a\nARG ALGO\nENV NCCL_ALGO=$ALGO\n")
    assert facts.settings[-1].value.fallback == "Ring"
    assert facts_of("ARG ALGO=Ring\nFROM a\nENV NCCL_ALGO=$ALGO\n").settings[-1].value.fallback is None


def test_no_parser_is_imported_for_plain_instructions() -> None:
    code = (
        "import sys; from envdoctor.readers.registry import read; from envdoctor.core.source import Source;"
        "read(Source('Dockerfile', 'FROM a\\nENV A=1\\n'), 'dockerfile');"
        "print([name for name in ('yaml', 'tree_sitter', 'libcst') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_large_file_is_refused() -> None:
    facts = facts_of("ENV A=1\n" * 600_000)
    assert not facts.settings
    assert "not read" in facts.problems[0].message


@needs_shell
def test_bodies_go_to_the_shell_reader() -> None:
    facts = fixture("Dockerfile.commands")
    found = {setting.name: setting for setting in facts.settings}
    lines = {name: setting.place.line for name, setting in found.items()}
    assert lines == {
        "NCCL_ALGO": 2, "NCCL_PROTO": 4, "NCCL_NTHREADS": 5, "NCCL_BUFFSIZE": 7, "NCCL_NSOCKS_PERTHREAD": 15,
        "NCCL_IB_DISABLE": 17, "NCCL_CROSS_NIC": 19, "NCCL_NET": 21, "NCCL_DEBUG": 25, "NCCL_MIN_NCHANNELS": 27,
    }  # fmt: skip
    assert (found["NCCL_ALGO"].scope.kind, found["NCCL_ALGO"].scope.name) == ("subshell", "layer at line 2")
    assert found["NCCL_IB_DISABLE"].channel == "conf-file"
    assert found["NCCL_CROSS_NIC"].channel == "conf-file"
    assert (found["NCCL_MIN_NCHANNELS"].scope.kind, found["NCCL_MIN_NCHANNELS"].scope.name) == ("container", "train")
    assert [setting.order for setting in facts.settings] == sorted(setting.order for setting in facts.settings)


@needs_shell
@pytest.mark.parametrize(
    ("body", "names"),
    [
        ('<<"EOF" bash -exu -o pipefail\nexport NCCL_ALGO=Ring\nEOF', ["NCCL_ALGO"]),
        ("<<EOF /usr/bin/env python3\nimport os\nos.environ['NCCL_ALGO'] = 'Ring'\nEOF", ["NCCL_ALGO"]),
        ("<<EOF sort\nexport NCCL_ALGO=Ring\nEOF", []),
        ("<<EOF\n#!/usr/bin/perl\nexport NCCL_ALGO=Ring\nEOF", []),
        ("<<-EOF\n\texport NCCL_ALGO=Ring\n\tEOF", ["NCCL_ALGO"]),
        ("python3 <<EOF\nimport os\nos.environ['NCCL_ALGO'] = 'Ring'\nEOF", ["NCCL_ALGO"]),
    ],
)
def test_here_documents_go_to_their_program(body: str, names: list[str]) -> None:
    facts = facts_of(f"FROM a\nRUN --network=none {body}\nENV NCCL_LAST=1\n")
    assert [setting.name for setting in facts.settings] == [*names, "NCCL_LAST"]


@needs_shell
def test_places_inside_bodies() -> None:
    text = (FIXTURES / "Dockerfile.commands").read_text()
    for setting in fixture("Dockerfile.commands").settings:
        if setting.name_place and setting.name != "NCCL_NSOCKS_PERTHREAD":
            assert excerpt(text, setting.name_place) == setting.name


@needs_shell
def test_commands_are_launches_of_their_stage() -> None:
    launches = fixture("Dockerfile.commands").launches
    assert [(launch.launcher, launch.place.line) for launch in launches if launch.launcher == "torchrun"] == [
        ("torchrun", 25), ("torchrun", 26), ("torchrun", 27),
    ]  # fmt: skip
    assert {launch.scope.name for launch in launches if launch.launcher == "torchrun"} == {"train"}


@given(st.text(st.sampled_from("ENVARGFROMRUN =\\\"'$#{}%<\n\t\r`[],:-x\u00e9"), max_size=120))
def test_any_text_is_read(text: str) -> None:
    facts = facts_of(text)
    for setting in facts.settings:
        assert setting.place.line >= 1
        assert (setting.place.line, setting.place.column) <= (setting.place.end_line, setting.place.end_column)


@given(
    st.lists(
        st.tuples(st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True), st.text("ab /\u00e9:=,.#%", max_size=8)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([" ", " \\\n  ", "  \\\n# c\n "]),
)
def test_places_hold(pairs: list[tuple[str, str]], glue: str) -> None:
    text = "FROM x\nENV " + glue.join(f'{name}="{value}"' for name, value in pairs) + "\n"
    settings = facts_of(text).settings
    assert [(setting.name, setting.value.text) for setting in settings] == pairs
    for setting in settings:
        assert excerpt(text, setting.name_place) == setting.name
        assert excerpt(text, setting.value_place) == f'"{setting.value.text}"'


def test_copies_are_files_of_the_tree_and_not_of_another_image() -> None:
    text = (
        'FROM a AS b\nCOPY --chown=1:1 x.sh y.sh /in/\nCOPY --from=c z /z\nADD ["w x", "/w"]\nCOPY <<EOF /e\nE\nEOF\n'
    )
    facts = read(Source("Dockerfile", text), "dockerfile")
    copies = [(i.target, i.bound, i.place.line, i.scope.name) for i in facts.inclusions if i.kind == "copy"]
    assert copies == [("x.sh", "/in/", 2, "b"), ("y.sh", "/in/", 2, "b"), ("w x", "/w", 4, "b")]
