"""Masking before parsing: nothing moves, and what is hard for the grammar is gone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.readers.shell.syntax.mask import mask
from envdoctor.readers.shell.syntax.parse import parse, parse_part

HEREDOCS = [
    ('cat <<EOF\n$(x "\nEOF\nA=1\n', "cat <<EOF\nxxxxx\nEOF\nA=1\n"),
    ("cat <<-'END'\n\ta b\n\tEND\nA=1\n", "cat <<-'END'\nxxxx\n\tEND\nA=1\n"),
    ("cat <<EOF\na\n   \n\tEOF b\nEOF\nA=1\n", "cat <<EOF\nx\nxxx\nxxxxxx\nEOF\nA=1\n"),
    ("cat <<EOF\nA=1\n", "cat <<EOF\nA=1\n"),
    ("# cat <<EOF\nA=1\nEOF\n", "# cat <<EOF\nA=1\nEOF\n"),
    ("echo '<<EOF'\nA=1\nEOF\n", "echo '<<EOF'\nA=1\nEOF\n"),
    ("x=$((1 << y))\nA=1\ny\n", "x=$((111111))\nA=1\ny\n"),
    ("cmd <<<EOF\nA=1\nEOF\n", "cmd <<<EOF\nA=1\nEOF\n"),
]


@pytest.mark.parametrize(("text", "expected"), HEREDOCS)
def test_bodies_of_heredocs_are_filled(text: str, expected: str) -> None:
    assert mask(text).data.decode() == expected


PIECES = st.sampled_from([
    "X=<A B>", "cmd <in >out", "<(a)", "<<EOF\n", "${A:-a|b}", "${A:$B+1}", "$((A + 10#$B))", "{{ x }}", "{% if a %}",
    "é", "\0", "\r\n", "\n", " ", "A=1 B=2\nfi", "'", '"', "\\", "}", ")", "if x; then ",
])  # fmt: skip


@given(st.lists(PIECES, max_size=20).map("".join))
def test_nothing_moves(text: str) -> None:
    masked = mask(text)
    assert len(masked.data) == len(text)
    for at, char in enumerate(text):
        if char == "\n":
            assert masked.data[at : at + 1] in (b"\n", b";")


HARD = [
    'export A="${A:-a*b|c*d}"',
    'A="${B:$C+1}"',
    "A=$((1 + 10#$B))",
    'v="${v#\\\'}"',
    "for ((n=10#$a; n<=10#$b; n++)); do cmd; done",
    "cmd a \\",
    "export A=<path to data>",
    "export A={{ a | b }}",
    "cmd --key <your-key>",
    "cmd --port <port>\n",
    'out="${out:+${out};}1"',
]


@pytest.mark.parametrize("text", HARD)
def test_what_the_grammar_does_not_know_is_gone(text: str) -> None:
    tree = parse(mask(text).data)
    assert tree is not None
    assert not tree.root_node.has_error


KEPT = [
    "cmd <in >out", "cmd <in> out", "cmd <<<x", "diff <(a) <(b)", "cmd 2>&1 <in", "sort <in -k 2 >out", "A=${B}",
    "[[ a < b ]]",
]  # fmt: skip


@pytest.mark.parametrize("text", KEPT)
def test_what_is_shell_stays(text: str) -> None:
    assert mask(text).data == text.encode()


def test_holes_tell_what_nobody_knows() -> None:
    text = "A=<TOKEN> B={{ b }} C=1"
    masked = mask(text)
    touched = [masked.touches(text.index(name), text.index(name) + 4) for name in ("A=", "B=", "C=")]
    assert touched == [True, True, False]


def test_a_part_has_the_offsets_of_the_whole() -> None:
    data = b"x\nexport A=1\ny\n"
    node = parse_part(data, 2, 12).root_node.named_children[0]
    assert (node.type, node.start_byte, node.end_byte) == ("declaration_command", 2, 12)


def test_the_parser_gives_up_at_its_deadline() -> None:
    assert parse(b"export A=1\n" * 20_000, deadline=0.0) is None
