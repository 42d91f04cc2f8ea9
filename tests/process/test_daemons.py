"""What runs in a session of tmux or screen has the environment of a server that this script may have started."""

from __future__ import annotations

from pathlib import Path

import pytest
from walked import script


@pytest.mark.parametrize(
    ("text", "arrives"),
    [
        ("tmux new-session -d -s old sleep 60\ntmux new-window -t old 'RANK'\n", "unknown"),
        ("tmux set-environment -g A 1\ntmux new-window -t old 'RANK'\n", "unknown"),
        ("screen -dmS old sleep 60\nscreen -S old -X screen RANK\n", "unknown"),
        ("tmux new-window -t old 'RANK'\n", "lost"),
        ("screen -S old -X screen RANK\n", "lost"),
    ],
)
def test_a_server_that_this_script_started_may_have_what_it_exported(tmp_path: Path, text: str, arrives: str) -> None:
    """Only of a server that ran before is it certain that it has not got what the script exports."""
    (start,) = (one for one in script(tmp_path, f"export A=1\n{text}").starts if one.path == "t.py")
    slot = start.slot("A")
    status = "lost" if "A" in start.lost else "unknown" if any(a.exported == "maybe" for a in slot) else "other"
    assert status == arrives
