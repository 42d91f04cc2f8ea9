"""A copy of the environment from which a Python program takes something before it gives it to its child."""

from __future__ import annotations

from pathlib import Path

import pytest
from walked import tree

RUN = 'subprocess.run(["python3", "t.py"], env=own)\n'


@pytest.mark.parametrize(
    ("made", "status"),
    [
        ("own = {k: v for k, v in os.environ.items() if k != name}", "maybe"),
        ("own = dict(os.environ)\ndel own[name]", "maybe"),
        ("own = os.environ.copy()\nown.pop(name, None)", "maybe"),
        ("own = {**os.environ}\nown.clear()", "maybe"),
        ("own = {**os.environ, 'B': '2'}", "yes"),
        ("own = {k: v for k, v in os.environ.items()}", "yes"),
        ("own = dict(os.environ)\nother.pop(name)", "yes"),
    ],
)
def test_what_may_have_been_taken_out_is_not_certain(tmp_path: Path, made: str, status: str) -> None:
    """Values of the program itself and of whoever started it arrive for certain only where nothing is taken out."""
    program = f"import os, subprocess\nos.environ['C'] = '3'\n{made}\n{RUN}"
    starts = tree(tmp_path, {"run.sh": "export A=1\npython3 launch.py\n", "launch.py": program}).starts
    (start,) = (one for one in starts if one.path == "t.py")
    assert [start.slot(name)[0].exported for name in ("A", "C")] == [status, status]
