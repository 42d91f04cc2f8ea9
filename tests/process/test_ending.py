"""What a script exports when its last ranks run already."""

from __future__ import annotations

from pathlib import Path

import pytest
from walked import script

RUN = "RANK\n"


@pytest.mark.parametrize(
    ("text", "late"),
    [
        (f"{RUN}export A=1", ["run.sh:2 A=1 after 1"]),
        (f"{RUN}A=1\nexport A", ["run.sh:2 A=1 after 1"]),
        (f"{RUN}. ./env.sh", ["env.sh:1 B=5 after 1"]),
        ("RANK &\nexport A=1\nwait", ["run.sh:2 A=1 after 1"]),
        (f"{RUN}{RUN}export A=1", ["run.sh:3 A=1 after 2"]),
        (f"{RUN}export A=1\nsleep 3\nkill $PID\necho done", ["run.sh:2 A=1 after 1"]),
        (f'if [ "$X" = 1 ]; then {RUN}export A=1\nfi', ["run.sh:2 A=1 after 1"]),
        (f"{RUN}A=1", []),
        (f"{RUN}export A=1\n{RUN}", []),
        (f"{RUN}export A=1\n./report.sh", []),
        (f"{RUN}export A=1\n$NEXT", []),
        (f"{RUN}export A=$X", []),
        (f'{RUN}eval "$X"\nexport A=1', []),
        (f"export A=2\n{RUN}export A=1", []),
        (f'if [ "$X" = 1 ]; then {RUN}else export A=1; fi', []),
        (f"while [ -e x ]; do {RUN}export A=1; done", []),
        ("until RANK; do export A=1; done", []),
        ("export A=1", []),
    ],
)
def test_late(tmp_path: Path, text: str, late: list[str]) -> None:
    result = script(tmp_path, text, **{"env.sh": "export B=5\n"})
    found = [
        f"{one.origin.place.path}:{one.origin.place.line} {one.origin.name}={one.value.text} after {one.after.line}"
        for one in result.late
    ]
    assert found == late


def test_late_in_a_script_that_another_starts(tmp_path: Path) -> None:
    result = script(tmp_path, "bash b.sh", **{"b.sh": f"{RUN}export A=1\n"})
    assert [one.origin.place.path for one in result.late] == ["b.sh"]
