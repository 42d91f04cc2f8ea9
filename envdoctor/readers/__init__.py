"""One module per file kind: each turns one file into facts and knows nothing of rules.

A reader is a module with `read(source: Source, kind: str) -> FileFacts`. It never raises for bad input: what it
cannot read becomes a `Problem` and the rest of the file is still read. It opens no file and imports nothing from
`checks`, `catalog` or `engine`.
"""

from __future__ import annotations

import importlib
from pathlib import PurePosixPath
from typing import Protocol, cast

from envdoctor.facts import FileFacts
from envdoctor.source import Source


class Reader(Protocol):
    """What every module of this package offers."""

    def read(self, source: Source, kind: str) -> FileFacts:
        """Facts of one file, in source order."""
        ...


READERS = {"shell": "shell", "python": "python", "dockerfile": "dockerfile", "yaml": "yaml"}
"""File kind -> module. Modules are imported when the first file of their kind is read."""

SUFFIXES = {
    ".sh": "shell", ".bash": "shell", ".zsh": "shell", ".ksh": "shell", ".sbatch": "shell", ".slurm": "shell",
    ".sub": "shell", ".job": "shell", ".pbs": "shell", ".lsf": "shell", ".bats": "shell", ".qsub": "shell",
    ".py": "python", ".pyi": "python", ".pyw": "python",
    ".dockerfile": "dockerfile", ".containerfile": "dockerfile",
    ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip
NAMES = {"dockerfile": "dockerfile", "containerfile": "dockerfile", ".bashrc": "shell", ".profile": "shell",
         ".bash_profile": "shell", ".zshrc": "shell", ".envrc": "shell"}  # fmt: skip
TEMPLATE_SUFFIXES = {".j2", ".jinja", ".jinja2", ".tmpl", ".template", ".tpl", ".in"}
SHELLS = ("sh", "bash", "zsh", "ksh", "dash", "ash")


def kind_of(path: str, head: bytes = b"") -> str | None:
    """The kind of a file by its name, or by its first line where the name says nothing; None: not ours to read."""
    pure = PurePosixPath(path)
    name = pure.name.lower()
    while (suffix := PurePosixPath(name).suffix) in TEMPLATE_SUFFIXES:
        name = name[: -len(suffix)]
    if kind := NAMES.get(name) or SUFFIXES.get(PurePosixPath(name).suffix):
        return kind
    if name.startswith(("dockerfile.", "containerfile.", "dockerfile-", "dockerfile_")):
        return "dockerfile"
    return shebang_kind(head) if head.startswith(b"#!") and "." not in name else None


def shebang_kind(head: bytes) -> str | None:
    """shell or python, by the interpreter that a `#!` line names."""
    words = head.split(b"\n", 1)[0][2:].decode("ascii", "replace").split()
    if words and words[0].endswith("/env"):
        words = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
    program = words[0].rsplit("/", 1)[-1] if words else ""
    if program in SHELLS:
        return "shell"
    return "python" if program.startswith("python") else None


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one file of a kind that `kind_of` gave."""
    module = importlib.import_module(f"envdoctor.readers.{READERS[kind]}")
    return cast("Reader", module).read(source, kind)
