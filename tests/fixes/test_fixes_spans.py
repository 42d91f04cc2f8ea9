"""Edits by line and column change the bytes they name and no other, whatever the bytes of the file are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.decoding import decode
from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit
from envdoctor.fixes.spans import FileBytes, FixRefused, Span, at, whole_lines

PIECES = st.sampled_from(
    [b"a", b"NCCL_X=1", b"\n", b"\r\n", b"\r", "é".encode(), "漢".encode(), "🙂".encode(), b"\xe9", b"\xff",
     b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f", b" ", b"\t", b"\0", b"\x0c", b"\xc2\x85", b"\xe2\x80\xa8"]
)  # fmt: skip
FILES = st.builds(
    lambda bom, parts: bom + b"".join(parts), st.sampled_from([b"", b"\xef\xbb\xbf"]), st.lists(PIECES, max_size=30)
)


def points(source: FileBytes) -> list[tuple[int, int]]:
    """Every place in the text of a file, line by line."""
    return [(n, c) for n, line in enumerate(source.lines, 1) for c in range(1, len(line) + 2)]


@given(FILES, st.data())
def test_an_edit_changes_no_byte_outside_its_place(data: bytes, draw: st.DataObject) -> None:
    source = FileBytes("x", data)
    first = draw.draw(st.sampled_from(points(source)))
    last = draw.draw(st.sampled_from([p for p in points(source) if p >= first]))
    span = source.span(Edit(Place("x", *first, *last), "NEW"))
    after = source.apply([span])
    assert after[: span.start] == data[: span.start]
    assert after[span.start : span.start + 3] == b"NEW"
    assert after[span.start + 3 :] == data[span.end :]


@given(FILES)
def test_places_of_the_text_are_places_of_the_bytes(data: bytes) -> None:
    source = FileBytes("x", data)
    offsets = [source.offset(line, column) for line, column in points(source)]
    assert offsets == sorted(set(offsets))
    assert decode("x", data).text == source.text
    for number, line in enumerate(source.lines, 1):
        start, end = source.offset(number, 1), source.offset(number, len(line) + 1)
        assert data[start:end].decode("utf-8", "replace") == line


@given(FILES)
def test_no_edit_changes_nothing(data: bytes) -> None:
    source = FileBytes("x", data)
    assert source.apply([]) == data
    assert source.apply([source.span(Edit(Place("x", 1, 1, 1, 1), ""))]) == data


def test_a_mark_is_no_character_whatever_follows_it() -> None:
    source = FileBytes("x", b"\xef\xbb\xbfA=1\n\xe9")
    assert source.text == "A=1\n\ufffd"
    assert source.apply([source.span(Edit(Place("x", 1, 1, 1, 2), "B"))]) == b"\xef\xbb\xbfB=1\n\xe9"


@given(FILES, st.data())
def test_whole_lines_go_with_one_line_ending(data: bytes, draw: st.DataObject) -> None:
    source = FileBytes("x", data)
    number = draw.draw(st.integers(1, len(source.lines)))
    after = source.apply([source.span(Edit(whole_lines(source.lines, "x", number, number), ""))])
    rest = source.lines[: number - 1] + source.lines[number:]
    # A lone CR before a lone LF that meet when the line in between goes are one line ending then.
    joined = FileBytes("x", after).text
    assert joined in ("\n".join(rest), "\n".join(rest).replace("\n\n", "\n")) or b"\r" in data


@given(st.text("a\n\r é漢🙂\ufeff", max_size=12), st.sampled_from(["utf-16-le", "utf-16-be"]), st.data())
def test_edits_of_utf_16_are_edits_of_its_text(text: str, codec: str, draw: st.DataObject) -> None:
    mark = "\ufeff".encode(codec)
    source = FileBytes("x", mark + text.encode(codec))
    assert source.apply([]) == mark + text.encode(codec)
    first, last = sorted(draw.draw(st.tuples(st.sampled_from(points(source)), st.sampled_from(points(source)))))
    after = FileBytes("x", source.apply([source.span(Edit(Place("x", *first, *last), "Né"))]))
    at_start = sum(len(line) + 1 for line in source.lines[: first[0] - 1]) + first[1] - 1
    at_end = sum(len(line) + 1 for line in source.lines[: last[0] - 1]) + last[1] - 1
    assert after.text == source.text[:at_start] + "Né" + source.text[at_end:]
    assert after.data.startswith(mark)


@pytest.mark.parametrize(
    ("data", "newline"), [(b"a\r\nb", b"\r\n"), (b"a\nb", b"\n"), (b"a\rb", b"\r"), (b"ab", b"\n")]
)
def test_new_lines_end_as_those_of_the_file_do(data: bytes, newline: bytes) -> None:
    source = FileBytes("x", data)
    assert source.newline(1) == newline
    assert source.apply([source.span(Edit(Place("x", 1, 1, 1, 1), "c\n"))]) == b"c" + newline + data


def test_the_mark_at_the_start_stays() -> None:
    source = FileBytes("x", b"\xef\xbb\xbfexport A=1\n")
    assert source.apply([source.span(Edit(Place("x", 1, 1, 1, 7), "x"))]) == b"\xef\xbb\xbfx A=1\n"


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"\xff\xfea\0\0\xd8b\0", Place("x", 1, 1, 1, 1)),
        (b"\xff\xfea\0b", Place("x", 1, 1, 1, 1)),
        (b"a\n", Place("x", 3, 1, 3, 1)),
        (b"a\n", Place("x", 1, 3, 1, 3)),
        (b"a\n", Place("x", 2, 1, 1, 1)),
    ],
)
def test_what_cannot_be_mapped_is_refused(data: bytes, place: Place) -> None:
    with pytest.raises(FixRefused):
        FileBytes("x", data).span(Edit(place, ""))


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ((0, 3), (3, 5), False),
        ((0, 3), (2, 5), True),
        ((0, 3), (0, 3), True),
        ((1, 1), (1, 1), False),
        ((1, 1), (0, 3), True),
        ((0, 0), (0, 3), False),
        ((3, 3), (0, 3), False),
    ],
)
def test_edits_that_meet(one: tuple[int, int], other: tuple[int, int], meet: bool) -> None:
    assert Span(*one, b"").meets(Span(*other, b"")) is meet
    assert Span(*other, b"").meets(Span(*one, b"")) is meet


def test_text_at_a_place() -> None:
    assert at(["abc"], Place("x", 1, 2, 1, 3)) == "b"
    assert at(["abc"], Place("x", 1, 2, 2, 1)) == ""
    assert at(["abc"], Place("x", 4, 1, 4, 2)) == ""
