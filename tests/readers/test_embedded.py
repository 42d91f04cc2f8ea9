"""Text inside text: places through unescaping, dispatch by kind, bounded depth."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import Branch, FileFacts, Scope
from envdoctor.core.source import Source
from envdoctor.readers.registry import read
from envdoctor.readers.shared.embedded import MAXIMUM_DEPTH, deeper, mapped, merge, next_order, read_embedded

ORIGIN = Source("x.yaml", 'run: "a\\nb\\"c"\nnext')
TEXT = 'a\nb"c'
OFFSETS = array("I", [6, 7, 9, 11, 12])


def test_places_of_unescaped_text() -> None:
    source = mapped(ORIGIN, TEXT, OFFSETS)
    assert [source.point(at) for at in range(5)] == [(1, 7), (1, 8), (1, 10), (1, 12), (1, 13)]
    assert source.point(5) == (1, 14)
    place = source.place(2, 4)
    assert (place.line, place.column, place.end_column) == (1, 10, 13)


def test_a_part_and_a_source_inside_keep_their_places() -> None:
    source = mapped(ORIGIN, TEXT, OFFSETS)
    assert source.part(2, 5).point(1) == (1, 12)
    assert mapped(source, "c", [4]).point(0) == (1, 13)
    assert source.place(2, 2).column == source.place(2, 2).end_column


@given(st.text(alphabet="ab\n", max_size=30), st.data())
def test_a_mapped_source_agrees_with_its_origin(text: str, data: st.DataObject) -> None:
    origin = Source("x", text)
    kept = sorted(data.draw(st.sets(st.integers(0, max(0, len(text) - 1)))) if text else set())
    source = mapped(origin, "".join(text[at] for at in kept), kept)
    assert [source.point(index) for index in range(len(kept))] == [origin.point(at) for at in kept]


def test_scope_branch_and_order_come_from_outside() -> None:
    branch = (Branch("b", "if"),)
    source = Source("x", "export A=1\nf() { export B=2; }\npython x.py\n. y.sh\ncmd $NAME", inside=read)
    facts = read_embedded(source, "shell", 10, Scope("container", "stage"), branch)
    assert [fact.scope.name for fact in facts.settings] == ["stage", "f"]
    assert all(fact.branch == branch for fact in [*facts.settings, *facts.launches, *facts.inclusions])
    assert [facts.settings[0].order, facts.uses[0].order] == [10, 14]
    assert next_order(facts, 0) == 15


def test_unknown_kinds_and_too_deep_text_give_nothing() -> None:
    assert read_embedded(Source("x", "export A=1", inside=read), "cobol", 0).settings == []

    def nested(depth: int) -> FileFacts:
        if depth == 0:
            return read_embedded(Source("x", "export A=1", inside=read), "shell", 0)
        with deeper():
            return nested(depth - 1)

    assert nested(MAXIMUM_DEPTH - 1).settings
    assert not nested(MAXIMUM_DEPTH).settings


def test_merge_appends() -> None:
    into = FileFacts("x", "shell")
    merge(into, read_embedded(Source("x", "export A=1\npython x.py", inside=read), "shell", 0))
    merge(into, read_embedded(Source("x", "export B=1", inside=read), "shell", 5))
    assert [fact.name for fact in into.settings] == ["A", "B"]
    assert len(into.launches) == 1
