"""Where the walk or the reader stops, it says so, and what follows is not certain."""

from __future__ import annotations

from pathlib import Path

import pytest
from walked import script, sees, tree


@pytest.mark.parametrize(
    "around",
    [("if [ $X ]; then\n", "fi\n"), ("( ", " )"), ("{ ", "}\n"), ("for i in 1; do\n", "done\n")],
    ids=["if", "subshell", "group", "for"],
)
@pytest.mark.parametrize("depth", [40, 250, 2000])
def test_nesting_that_the_reader_does_not_follow(tmp_path: Path, around: tuple[str, str], depth: int) -> None:
    opening, closing = around
    inside = f"{opening * depth}export A=2\n{closing * depth}"
    result = script(tmp_path, f"export A=1\n{inside}\nRANK\n")
    assert any("reader" in bound for bound in result.bounded)
    if around[0] != "( ":  # what a subshell does stays in it
        assert result.starts[-1].value("A") is None
        assert result.starts[-1].open


def test_functions_that_call_themselves_leave_what_they_write_unknown(tmp_path: Path) -> None:
    result = script(tmp_path, 'f() { export A=$1; g "${1}x"; }\ng() { export B=$1; f "$1"; }\nf 1\nRANK\n')
    assert result.bounded
    assert [result.starts[-1].value(name) for name in ("A", "B")] == [None, None]


def test_files_that_source_one_another(tmp_path: Path) -> None:
    guarded = '[ -n "$SEEN" ] && return\nSEEN=1\n. ./b.sh\nexport A=1\n'
    result = tree(tmp_path, {"run.sh": "SEEN=\n. ./a.sh\nRANK\n", "a.sh": guarded, "b.sh": ". ./a.sh\nexport B=2\n"})
    start = next(start for start in result.starts if start.root.path == "run.sh")
    assert (start.value("A"), start.value("B"), result.bounded) == ("1", "2", ())
    endless = {"run.sh": ". ./a.sh\nRANK\n", "a.sh": "export A=1\n. ./b.sh\n", "b.sh": ". ./a.sh\nexport A=2\n"}
    result = tree(tmp_path / "endless", endless)
    assert any("source one another" in bound for bound in result.bounded)


def test_a_value_that_doubles_is_not_known(tmp_path: Path) -> None:
    (start,) = script(tmp_path, "A=xx\n" + 'A="$A$A"\n' * 60 + "export A\nRANK\n").starts
    assert start.value("A") is None


def test_thousands_of_branches_on_different_names(tmp_path: Path) -> None:
    text = "".join(f"if [ $X{n} ]; then export V{n}=1; fi\n" for n in range(2000))
    (start,) = script(tmp_path, f"export A=1\n{text}RANK\n").starts
    assert sees(start) == {"A": "1"}
    assert {len(start.slot(f"V{n}")) for n in range(2000)} == {2}
