"""The cells of the launch matrix: a way of starting a command, written in one of the forms that scripts have.

In each tree `NCCL_ALGO=Ring` is set so that the form carries it to the launcher, and `NCCL_PROTO=Simple` so that the form
itself drops it before; `NCCL_DEBUG` is what the launcher's own words give, if any do.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from envdoctor.knowledge.files import loads_toml
from envdoctor.knowledge.launchers import load_files

HERE = Path(__file__).parent
CARRIED, DROPPED, GIVEN = "NCCL_ALGO", "NCCL_PROTO", "NCCL_DEBUG"
NAMES = (CARRIED, DROPPED, GIVEN)
VALUES = {CARRIED: "Ring", DROPPED: "Simple"}
RANK = f"""import json, os
seen = {{name: os.environ[name] for name in {NAMES!r} if name in os.environ}}
beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seen.jsonl")
with open(beside, "a") as out:
    out.write(json.dumps({{"host": os.uname().nodename, "seen": seen}}) + "\\n")
"""
"""The program that becomes a rank: it writes down what it has."""
PROGRAM = "train.py"


_JOINS = re.compile("[;|<&]+")
_PROGRAM = re.compile(r"(.* )(\S*python3 \S*train\.py)")


class Row(NamedTuple):
    """One way of starting a command, with the flags that decide what arrives.

    `place` is where it can be run for real (see `launch_places`), empty: nowhere here. `second` is a source other than the
    evidence of the launcher's file, and `says` what it says of each name: a value, or an empty text for "does not arrive".
    `derived`: the row and what it says are an example of the launcher's file.
    """

    launcher: str
    line: str
    place: str = ""
    second: str = ""
    says: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    before: str = ""
    """Lines of shell before anything is set."""
    ranks: int = 1
    waits: bool = False
    """The command comes back before the rank has run."""
    shell: bool = False
    """A word of the shell, which nothing but a shell can start."""
    program: str = PROGRAM
    note: str = ""
    """What tells rows of one line apart."""
    derived: bool = False

    @property
    def label(self) -> str:
        """What the row is known by."""
        before = self.before.strip() + "; " if self.before else ""
        return f"{before}{self.line}" + (f"  # {self.note}" if self.note else "")

    def words(self) -> list[str]:
        """The words of the command."""
        return shlex.split(self.line)

    @property
    def plain_words(self) -> bool:
        """Whether the command is the same after it stood in a variable, where quotes are no quotes."""
        return self.words() == self.line.split() and not any(mark in self.line for mark in "*?[$`|;&<>")

    @property
    def of_words(self) -> bool:
        """Whether the command is words alone, without pipes, expansions or assignments before it."""
        first = self.words()[0]
        parts = shlex.shlex(self.line, punctuation_chars=";|<&")
        return (
            not any(mark in self.line for mark in "$`") and "=" not in first and not any(map(_JOINS.fullmatch, parts))
        )


class Cell(NamedTuple):
    """A row in a form."""

    row: Row
    form: str

    def __hash__(self) -> int:
        return hash((self.row.place, self.row.label, self.form))

    @property
    def label(self) -> str:
        """What the cell is known by."""
        return f"{self.form}: {self.row.label}"


class Tree(NamedTuple):
    """The files of a cell, what starts it, and where in it the launcher stands."""

    files: Mapping[str, str]
    start: tuple[str, ...]
    root: str
    """The file in which all begins."""
    launch: str
    """The file that holds the launch."""


def _run(lines: str, **more: str) -> Tree:
    return Tree({"run.sh": f"#!/bin/bash\n{lines}", **more}, ("bash", "run.sh"), "run.sh", "run.sh")


def _plain(row: Row) -> Tree:
    return _run(f"{row.before}export NCCL_ALGO=Ring\nNCCL_PROTO=Simple\n{row.line}\n")


def _variable(row: Row) -> Tree | None:
    if not row.plain_words or not row.of_words:
        return None
    lines = f'export NCCL_ALGO=Ring NCCL_PROTO=Simple\nCMD="{row.line}"\nunset NCCL_PROTO\n$CMD\n'
    return _run(row.before + lines)


def _eval(row: Row) -> Tree:
    lines = f'export NCCL_ALGO=Ring\n(export NCCL_PROTO=Simple)\nCMD={shlex.quote(row.line)}\neval "$CMD"\n'
    return _run(row.before + lines)


def _array(row: Row) -> Tree | None:
    if not row.of_words or row.shell:
        return None
    lines = f'export NCCL_ALGO=Ring NCCL_PROTO=Simple\ncmd=({row.line})\nexport -n NCCL_PROTO\n"${{cmd[@]}}"\n'
    return _run(row.before + lines)


def _function(row: Row) -> Tree | None:
    if not row.of_words:
        return None
    setup = "prepare() {\n  local NCCL_PROTO\n  export NCCL_PROTO=Simple NCCL_ALGO=Ring\n}\nprepare\n"
    return _run(f'{row.before}launch() {{\n  "$@"\n}}\n{setup}launch {row.line}\n')


def _wrapped(row: Row) -> Tree | None:
    """A function that is the launcher, which is given the program."""
    split = _PROGRAM.fullmatch(row.line)
    if split is None or not row.of_words or "'" in row.line:
        return None
    head, tail = split.groups()
    lines = f'launch() {{\n  {head}"$@"\n}}\nexport NCCL_ALGO=Ring\nNCCL_PROTO=Simple true\nlaunch {tail}\n'
    return _run(row.before + lines)


def _script(row: Row) -> Tree:
    tree = _run(
        f"{row.before}export NCCL_ALGO=Ring\nbash setup.sh\nbash launch.sh\n",
        **{"setup.sh": "export NCCL_PROTO=Simple\n", "launch.sh": f"#!/bin/bash\n{row.line}\n"},
    )
    return tree._replace(launch="launch.sh")


def _python(row: Row, body: str) -> Tree | None:
    if row.before or row.shell:
        return None
    return Tree(
        {"launch.py": f"import os\nimport subprocess\n\n{body}"}, ("python3", "launch.py"), "launch.py", "launch.py"
    )


def _subprocess(row: Row) -> Tree | None:
    if not row.of_words:
        return None
    body = (
        'os.environ["NCCL_ALGO"] = "Ring"\nos.environ["NCCL_PROTO"] = "Simple"\ndel os.environ["NCCL_PROTO"]\n'
        f"subprocess.run({row.words()!r}, check=True)\n"
    )
    return _python(row, body)


def _subprocess_shell(row: Row) -> Tree | None:
    body = f'os.environ["NCCL_ALGO"] = "Ring"\nNCCL_PROTO = "Simple"\nsubprocess.run({row.line!r}, shell=True, check=True)\n'
    return _python(row, body)


def _subprocess_env(row: Row) -> Tree | None:
    if not row.of_words:
        return None
    body = (
        'os.environ["NCCL_PROTO"] = "Simple"\n'
        'environment = {k: v for k, v in os.environ.items() if k != "NCCL_PROTO"}\nenvironment["NCCL_ALGO"] = "Ring"\n'
        f"subprocess.run({row.words()!r}, env=environment, check=True)\n"
    )
    return _python(row, body)


def _ci(row: Row) -> Tree:
    lines = "".join(f"          {line}\n" for line in f"{row.before}{row.line}".splitlines())
    text = (
        "on: push\njobs:\n  train:\n    runs-on: gpu\n    steps:\n      - run: export NCCL_PROTO=Simple\n"
        f"      - env:\n          NCCL_ALGO: Ring\n        run: |\n{lines}"
    )
    path = ".github/workflows/train.yml"
    return Tree({path: text}, ("workflow", path), path, path)


def _container(row: Row) -> Tree | None:
    if not row.of_words or row.before or row.shell:
        return None
    text = (
        "services:\n  other:\n    image: trainer\n    environment:\n      NCCL_PROTO: Simple\n  train:\n"
        "    image: trainer\n    environment:\n      NCCL_ALGO: Ring\n    working_dir: /job\n    volumes:\n      - .:/job\n"
        f"    command: {json.dumps(row.words())}\n"
    )
    return Tree({"compose.yaml": text}, ("podman-compose", "run", "--rm", "train"), "compose.yaml", "compose.yaml")


FORMS: Mapping[str, Callable[[Row], Tree | None]] = {
    "plain": _plain, "variable": _variable, "eval": _eval, "array": _array, "function": _function, "wrapper": _wrapped,
    "script": _script, "subprocess": _subprocess, "subprocess shell": _subprocess_shell, "subprocess env": _subprocess_env,
    "CI step": _ci, "container": _container,
}  # fmt: skip
IMITATED = frozenset({"CI step"})
"""Forms of which the outer program is imitated: the steps are run as its manual says."""


def tree_of(cell: Cell) -> Tree | None:
    """The tree of a cell; None: the form cannot hold the row."""
    tree = FORMS[cell.form](cell.row)
    if tree is None:
        return None
    return tree._replace(files={**tree.files, **cell.row.files, cell.row.program: RANK})


@cache
def rows() -> tuple[Row, ...]:
    """The rows of `rows.toml`, in its order."""
    tables: Sequence[Mapping[str, Any]] = loads_toml((HERE / "rows.toml").read_text())["row"]
    return tuple(Row(**table) for table in tables)


@cache
def derived() -> tuple[Row, ...]:
    """Rows made of the examples of the launcher files, where they say what becomes of a variable of the caller."""
    written = {row.line for row in rows()}
    found = []
    for example in (example for file in load_files() for example in file.examples):
        row = _of_example(example)
        if row is not None and row.line not in written:
            found.append(row)
    return tuple(found)


def _of_example(example: Any) -> Row | None:
    says = {CARRIED: VALUES[CARRIED]} if CARRIED in example.keeps else {CARRIED: ""} if CARRIED in example.drops else {}
    runs = PROGRAM in example.line and "\n" not in example.line and not example.under
    if not runs or not (says or example.unknown) or not any(" -> " in launch for launch in example.launches):
        return None
    name = next((launch.partition(" -> ")[0] for launch in example.launches), "")
    return Row(name, example.line, says=says, derived=True)


def cells(of: Sequence[Row]) -> list[Cell]:
    """Every form of some rows that can hold them."""
    return [cell for row in of for form in FORMS if tree_of(cell := Cell(row, form)) is not None]
