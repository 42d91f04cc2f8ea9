"""No text makes the reading of a body raise, and every place in it is one of the file."""

from __future__ import annotations

import marshal
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from shell_bodies_notation import parts_of, read, shown
from support import ROOT

from envdoctor.core.decoding import decode
from envdoctor.core.operations import Body
from envdoctor.core.source import Source
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.python.names.text import UNKNOWN
from envdoctor.readers.scripts import scripts_of
from envdoctor.readers.shared.embedded import mapped
from envdoctor.readers.shell.bodies.builder import MOST_OPERATIONS
from envdoctor.readers.shell.bodies.chains import MOST_RUNS
from envdoctor.readers.shell.bodies.reader import body
from envdoctor.readers.shell.bodies.text import PYTHON_VALUE
from envdoctor.readers.shell.bodies.words import DEEPEST
from envdoctor.readers.shell.reader import LARGEST

PIECES = [
    "A=1", "export B='x y'", "cmd", " ", "\n", ";", "&&", "||", "|", "&", "$X", "${Y:-z}", "$(", ")", "`", '"', "'",
    "if a; then", "fi", "for x in 1 2; do", "done", "case x in", "esac", "f() {", "}", "{", "(", "<<EOF\n", "EOF\n",
    "<<<", ">", "2>&1", "\\\n", "\\", "#", "[[", "]]", "((", "))", "{{ t }}", "{% if x %}", "{% endif %}", "<Your key>",
    "é", "\r\n", "$'a\\n'", '$"', "=(", "a,$b", "time ", "coproc ", "!", "unset C", "test -z", "${A[@]}", "#SBATCH -x",
    UNKNOWN, "\0", "\ud800",
]  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map("".join))


def check(lines: list[str], operations: Body) -> None:
    """Every part stands in the file, and text that was not escaped is there as it is."""
    marshal.dumps(operations)
    for part in parts_of(operations):
        line, column = part[-2:]
        assert 1 <= line <= len(lines), part
        assert 1 <= column <= len(lines[line - 1]) + 1, part
        if part[0] == "text" and len(part[1]) > 1:
            text = part[1].removesuffix("\n")
            assert lines[line - 1][column - 1 : column - 1 + len(text)] == text


@given(TEXTS)
@example("f() {\n# é\n cat <<-E\n\ta$(b\nE\n")
@example("time \ncoproc \ntime")
@example("A=1\\\r\n")
@settings(max_examples=400, deadline=None)
def test_no_text_raises_and_every_place_is_in_the_file(text: str) -> None:
    check(text.split("\n"), read(text))


@given(TEXTS, st.data())
@settings(max_examples=150, deadline=None)
def test_places_of_embedded_text_are_those_of_the_file(text: str, data: st.DataObject) -> None:
    """Text of which characters were removed on the way, as by unescaping."""
    kept = sorted(data.draw(st.sets(st.integers(0, max(0, len(text) - 1))))) if text else []
    inside = mapped(Source("x", text), "".join(text[at] for at in kept), kept)
    check(text.split("\n"), body(inside))


def test_the_mark_for_a_value_of_python_is_that_of_the_python_reader() -> None:
    assert PYTHON_VALUE == UNKNOWN


FIXTURES = sorted(path for path in (ROOT / "tests" / "fixtures").rglob("*") if path.is_file())


def test_scripts_of_all_fixtures_are_read() -> None:
    found = 0
    for path in FIXTURES:
        data = path.read_bytes()
        if kind := kind_of(str(path), data[:256], docs=True):
            text = decode(str(path), data).text
            for script in scripts_of(Source(str(path), text), kind):
                marshal.dumps(script.body)
                places = [part[-2:] for part in parts_of(script.body)]
                assert all(line <= text.count("\n") + 1 for line, _ in places)
                found += 1
    assert found > 50


LEVELS = 1000
DEEP = [
    "(" * LEVELS + "a" + ")" * LEVELS,
    "if a; then " * LEVELS + "b" + "; fi" * LEVELS,
    "x=" + "$(" * LEVELS + "a" + ")" * LEVELS,
    "{ " * LEVELS + "a;" + " }" * LEVELS,
    " && b || ".join(["a"] * LEVELS),
    "x=" + "${A:-" * LEVELS + "a" + "}" * LEVELS,
    "! " * LEVELS + "a",
    'echo "' + '$(echo "' * LEVELS,
    "while a; do " * LEVELS + "b" + "; done" * LEVELS,
    "f() { " * LEVELS + "a;" + " }" * LEVELS,
    "cat <<EOF\n" + "$(" * LEVELS + "\nEOF\n",
    "cat " + "<(" * LEVELS + "a" + ")" * LEVELS,
    "{% if x %}\n" * LEVELS + "a\n" + "{% endif %}\n" * LEVELS,
    "case a in a) " * LEVELS + "b" + ";; esac" * LEVELS,
]


@pytest.mark.parametrize("text", DEEP)
def test_deep_nesting_ends_in_a_gap_or_an_unknown(text: str) -> None:
    found = read(text)
    marshal.dumps(found)
    assert depth(found) < 12 * DEEPEST


def depth(found: object) -> int:
    deepest, stack = 0, [(found, 1)]
    while stack:
        item, level = stack.pop()
        deepest = max(deepest, level)
        if isinstance(item, tuple):
            stack += [(inner, level + 1) for inner in item]
    return deepest


def test_long_chains_stay_flat() -> None:
    found = read(" && ".join(["a"] * 2000))
    assert shown(found).count("call") == 2000
    assert depth(found) < 100
    assert [operation[0] for operation in read(" && b || ".join(["a"] * (MOST_RUNS + 1)))] == ["gap"]


def test_what_is_too_much_is_left_out() -> None:
    many = read("a\n" * (MOST_OPERATIONS + 10))
    assert [operation[0] for operation in (many[0], many[-1])] == ["call", "gap"]
    assert len(many) <= MOST_OPERATIONS
    assert [operation[0] for operation in read("a\n" * LARGEST)] == ["gap"]
    wide = read("a " * 30_000)
    assert [operation[0] for operation in wide] == ["gap", "call"]


def test_a_text_that_takes_the_parser_too_long_is_read_by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.readers.shell.syntax.parse.LONGEST", -1.0)
    text = "#SBATCH -x\n" + "A=1 b\n" * 10_000
    found = read(text)
    assert [operation[0] for operation in found[:3]] == ["directive", "gap", "call"]
    assert found[-1][0] == "gap"


def test_the_facts_of_a_line_that_the_grammar_overlooks_are_two(tmp_path: Path) -> None:
    """`A=1 B=2` and the next line, a redirection into `${X}/f` and the next line."""
    assert shown(read("A=1 B=$(c)\nd")).endswith("call 2:1-2:2 [d 2:1]")
    assert shown(read("a > ${X}/f\nb c")).endswith("call 2:1-2:4 [b 2:1] [c 2:3]")
