"""What git lists in a folder, asked for without the `subprocess` module, whose import takes as long as git does."""

from __future__ import annotations

import os

COMMAND = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
SECONDS = 60


class Listing:
    """Tracked files of a folder and new ones that are not ignored; git is started at once and read when asked."""

    def __init__(self, folder: str) -> None:
        self._words = ["git", "-C", folder, *COMMAND]
        self._started = _start(self._words)

    def raw(self) -> bytes | None:
        """What git printed: names, each followed by a NUL; None where git has no say."""
        if self._started is None:
            return _run(self._words)
        child, pipe = self._started
        return _collect(child, pipe)


def _start(words: list[str]) -> tuple[int, int] | None:
    """A child and the end of the pipe that it writes to; None where it has to be run in another way."""
    if not hasattr(os, "posix_spawnp"):
        return None
    ours, theirs = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, theirs, 1), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    try:
        return os.posix_spawnp(words[0], words, os.environ, file_actions=actions), ours
    except OSError:
        os.close(ours)
        return None
    finally:
        os.close(theirs)


def _collect(child: int, pipe: int) -> bytes | None:
    """All that a child prints; None where it fails or hangs."""
    import select

    parts = []
    try:
        while select.select([pipe], [], [], SECONDS)[0]:
            part = os.read(pipe, 1 << 16)
            if not part:
                break
            parts.append(part)
        else:
            os.kill(child, 9)
    finally:
        os.close(pipe)
        _, status = os.waitpid(child, 0)
    return b"".join(parts) if status == 0 else None


def _run(words: list[str]) -> bytes | None:
    import subprocess

    try:
        result = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout if result.returncode == 0 else None
