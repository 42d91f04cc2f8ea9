"""Whatever the text, the shell reader raises nothing, ends in time, and keeps names and places together."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from shell_notation import names, read

from envdoctor.core.facts import FileFacts, Place
from envdoctor.readers.shell import reader as shell
from envdoctor.readers.shell.state import MOST_FACTS


def text_at(text: str, place: Place) -> str:
    lines = text.split("\n")
    if place.line == place.end_line:
        return lines[place.line - 1][place.column - 1 : place.end_column - 1]
    first, *middle, last = lines[place.line - 1 : place.end_line]
    return "\n".join([first[place.column - 1 :], *middle, last[: place.end_column - 1]])


def check_places(text: str, facts: FileFacts) -> None:
    """Every name stands where it is said to stand, inside the text, and before its value."""
    for fact in facts.settings:
        assert fact.name_place is not None
        assert text_at(text, fact.name_place) == fact.name
        if fact.value_place is not None and fact.value.kind == "literal" and "\\" not in text:
            written = text_at(text, fact.value_place)
            assert written == fact.value.text or any(quote in written for quote in "'\"")
    for use in facts.uses:
        assert text_at(text, use.place) == use.name


NAMES = st.sampled_from(["NCCL_ALGO", "A", "B_2", "LD_LIBRARY_PATH", "RCCL_X", "lower"])
VALUES = st.sampled_from([
    "1", "", "Ring", "'a b'", '"a b"', '"$NCCL_ALGO"', "${B_2:-x}", "$(cmd)", "a\\ b", "^NVLS", '"é"', "$'x'", "a=b",
])  # fmt: skip


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> str:
    name, value, other = draw(NAMES), draw(VALUES), draw(NAMES)
    simple = [
        f"export {name}={value}", f"{name}={value}", f"{name}={value} {other}=1 cmd --x", f"export {name}",
        f"unset {name}", f"export {name}={value} {other}={value} # é comment", f"declare -x {name}={value}",
        f": ${{{name}:={other}}}", f"mpirun -np 2 -x {name}={other} -x {other} ./a",
        f"docker run -e {name}={value} image",
        f"srun --export=ALL,{name}=1 bash -c 'export {other}=2'", f'bash -c "export {name}=1; cmd"',
        f"cat > job.sh <<EOF\nexport {name}=1\nEOF", f'echo "export {name}=1" >> ~/.bashrc', f"cmd ${name} > log",
        f"for v in {name} {other}; do export $v=1; done", f"env {name}=1 cmd", f"# {name}=1", f"{name}+=x",
    ]  # fmt: skip
    if depth == 0:
        return draw(st.sampled_from(simple))
    body = draw(statements(depth - 1))
    compound = [
        f"if cmd; then\n{body}\nelse\n  true\nfi", f"f() {{\n{body}\n}}", f"for i in 1 2; do\n{body}\ndone",
        f"(\n{body}\n)", f"case $X in\n  a)\n{body}\n  ;;\nesac", f"{{\n{body}\n}} > x.env",
    ]  # fmt: skip
    return draw(st.sampled_from(simple * 2 + compound))


@pytest.mark.slow
@given(st.lists(statements(), max_size=6))
@limits(max_examples=150)
def test_names_and_places_agree(parts: list[str]) -> None:
    text = "\n".join(parts) + "\n"
    check_places(text, read(text))


FRAGMENTS = st.sampled_from([
    "export ", "A=1", "$B", "${C:-", "}", "$(", ")", "`", '"', "'", "\n", "<<EOF\n", "EOF\n", "\\", "if ",
    "then ", "fi", "for v in ", "do ", "done", "case x in ", "esac", ";;", "{ ", "mpirun -x ",
    "docker run -e ", "{{ a }}",
    "{% if x %}", "<A B>", "\0", "\ufffd", "é", "=", " ", ";", "&", "|", "#", "((", "))", "[[", "]]",
    "> f.sh ", "bash -c ", "eval ",
    "cat ", "echo ", "--runtime-env-json=", '{"env_vars": {"A": "1"}}', "\r\n", "\t", "+=", "(", "f() ", "10#$A",
])  # fmt: skip


@pytest.mark.slow
@given(st.lists(FRAGMENTS, max_size=30))
@limits(max_examples=300)
def test_broken_scripts_raise_nothing(parts: list[str]) -> None:
    read("".join(parts))


@given(st.text(max_size=200))
@limits(max_examples=150)
def test_arbitrary_text_raises_nothing(text: str) -> None:
    read(text)


UNCLOSED = [
    ('export A=1\nexport B="x\nexport C=2\nexport D=3\n', 2),
    ("export A=1\nexport B='x\nexport C=2\n", 2),
    ('export A=1\nexport B="x\nexport C="y"\nexport D=3\n', 2),
    ("export A=1\nX=$(cmd\nexport C=2\n", 2),
    ("export A=1\nX=`cmd | head\nexport C=2\n", 2),
    ("export A=1\ncat > x.sh <<EOF\nexport B=1\n", 2),
    ("export A=1\nif x; then\nexport C=2\n", None),
    ("export A=1\nf() {\nexport C=2\n", None),
    ("export A=1\n)\nexport C=2\n", 2),
    ("export A=1\nfoo ( bar\nexport C=2\nexport D=3\n", 2),
]


@pytest.mark.parametrize(("text", "line"), UNCLOSED)
def test_what_is_not_closed_is_reported_and_the_rest_is_read(text: str, line: int | None) -> None:
    facts = read(text)
    assert facts.problems
    if line is not None:
        assert facts.problems[0].place.line == line
    found = {fact.name for fact in facts.settings}
    assert {"A"} | ({"C"} if "C=" in text else {"B"}) <= found


TEMPLATES = [
    "#!/bin/bash\nexport A=<YOUR_TOKEN>\nexport B=1\ncmd <input >output\n",
    "export A=<path to data> # fill in\nexport B=1\n",
    "export A={{ cookiecutter.name }}\nexport B=1\n",
    "{% if x %}\nexport A=1\n{% endif %}\nexport B=1\n",
    "export A=${{ secrets.TOKEN }}\nexport B=1\n",
]


@pytest.mark.parametrize("text", TEMPLATES)
def test_templates_and_placeholders(text: str) -> None:
    facts = read(text)
    assert [fact.name for fact in facts.settings] == ["A", "B"]
    assert not facts.problems


def test_redirections_are_no_placeholders() -> None:
    assert names('cmd <in >out\nA=1 cmd <<< "$B"\ndiff <(a) <(b) >x\nC=2') == ["set A=1", "set C=2"]


def test_nul_bytes_carriage_returns_and_what_is_not_ascii() -> None:
    text = "export A=\0x\r\nexport B=1\r\n# é\U0001f600\nexport C=é D=2\n"
    assert [(fact.name, fact.place.line, fact.place.column) for fact in read(text).settings] == [
        ("A", 1, 8), ("B", 2, 8), ("C", 4, 8), ("D", 4, 12),
    ]  # fmt: skip


def test_csh_scripts_under_any_name() -> None:
    assert names("#!/bin/tcsh\nsetenv A 1\n") == ["set A=1"]


def test_too_large_is_refused() -> None:
    (problem,) = read("x" * (shell.LARGEST + 1)).problems
    assert "million characters" in problem.message


N = 3000
DEEP = [
    "$(" * N, "(" * N + ")" * N, "{ " * N, "if x; then " * N, "a && " * N + "b", "eval " * N + "A=1",
    "env " * N + "A=1 x", "bash -c " * N, "'" * (N + 1), '"' * (N + 1), "`" * (N + 1), "${" * N, "${a[" * N,
    "$((" * N, "<A" * N,
    "".join(f"cat <<E{i} | bash\n" for i in range(300)), 'A="$A $A"\n' * N + "mpirun $A x", "x > a" * N,
    "".join(f'A{i + 1}="$A{i} $A{i}"\n' for i in range(40)) + "mpirun $A40 x",
    "if x; then A=1 B=2\nfi\n" * N, "cmd " + "$ABCD 'x' " * N, "printf '" + "%s" * N + "' a b > x.env",
]  # fmt: skip


@pytest.mark.parametrize("text", DEEP, ids=[text[:12] for text in DEEP])
def test_deep_and_long_texts_end_in_time(text: str) -> None:
    start = time.process_time()
    read(text)
    assert time.process_time() - start < 10


@pytest.mark.slow
def test_facts_are_bounded() -> None:
    facts = read("export A=1\n" * (MOST_FACTS + 10))
    assert len(facts.settings) <= MOST_FACTS + 2
    assert "the rest is left out" in facts.problems[-1].message
