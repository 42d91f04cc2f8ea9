"""Scripts that other interpreters run: the text is given to `python -c`, so that nothing of this package is found by
the imports of the child.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProbeScript:
    """A script: its file below this folder, the line of it that recordings know it by, and their name for it."""

    file: str
    marker: str
    recorded: tuple[str, ...]


TORCH = ProbeScript("torch/torch_child.py", "envdoctor: what torch is", ("python3", "-m", "envdoctor.live._torchinfo"))
NVML = ProbeScript("nvidia/nvml_child.py", "envdoctor: what NVML tells", ("python3", "-m", "envdoctor.live._nvml"))
SCRIPTS = (TORCH, NVML)


def child_argv(interpreter: str, script: ProbeScript) -> tuple[str, str, str]:
    """The command that runs a script."""
    return interpreter, "-c", (Path(__file__).parent / script.file).read_text(encoding="utf-8")


def canonical(argv: Sequence[str]) -> tuple[str, ...]:
    """The words under which a recording keeps a command, whatever interpreter ran a script of ours."""
    words = tuple(argv)
    if len(words) == 3 and words[1] == "-c":
        return next((script.recorded for script in SCRIPTS if script.marker in words[2]), words)
    return words
