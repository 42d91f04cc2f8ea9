"""Helpers of the tests of the walk: a tree of files, what its ranks see of it, and what was lost where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from support import known_catalog

from envdoctor.analysis.process.interpreter.slots import Alternative, Atom, Guard, Loss, Slot
from envdoctor.analysis.process.results import RankStart, Walked
from envdoctor.analysis.process.walk import walk
from envdoctor.analysis.project import open_project
from envdoctor.knowledge.catalog.model import Variable
from envdoctor.readers.store import Triggers

TRAIN = {"t.py": "import torch\n"}
RANK = "python t.py"
"""What stands for RANK in the scripts of the tests."""
OWN = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "OMP_NUM_THREADS")
"""What torchrun sets by itself."""


def matters(name: str) -> Variable | None:
    """The catalogue of the tests: A, B, C and D are names that it knows too."""
    return known_catalog().variable("NCCL_ALGO" if name in ("A", "B", "C", "D") else name)


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def walked(root: Path, files: Mapping[str, str]) -> Walked:
    """Write files below a folder and walk all that they start; an error of ours fails the test."""
    write(root, files)
    project = open_project(root, root, Triggers((b"",)))
    read = [facts for path in files if (facts := project.facts.read(path)) is not None]
    result = walk(project, read, matters)
    assert project.internal.messages() == []
    return result


def script(root: Path, text: str, **others: str) -> Walked:
    """Walk a script `run.sh`, in which RANK starts `t.py`, beside others: `env_sh` is `env.sh`."""
    files = {name.replace("_", "."): other for name, other in others.items()}
    return tree(root, {"run.sh": text, **files})


def tree(root: Path, files: Mapping[str, str]) -> Walked:
    """Walk files in which RANK starts `t.py`."""
    return walked(root, {**{name: text.replace("RANK", RANK) for name, text in files.items()}, **TRAIN})


class Seen(NamedTuple):
    """One rank start in short: where, what, what it sees, and what it does not see by which edge."""

    at: str
    what: str
    sees: dict[str, str]
    lost: dict[str, str]


def seen(start: RankStart) -> Seen:
    """A rank start in short."""
    at = f"{start.place.path}:{start.place.line}"
    return Seen(at, " > ".join((*start.launchers, start.program)), sees(start), lost(start))


def sees(start: RankStart) -> dict[str, str]:
    """Name -> what a rank sees: `1`; `1 or 2`; `1 or nothing`; `1?` may not arrive; `?` nobody knows."""
    slots = {name: start.slot(name) for name in sorted(start.visible) if matters(name) and name not in OWN}
    return {name: values(slot) for name, slot in slots.items() if any(_arrives(a) for a in slot)}


def _arrives(alternative: Alternative) -> bool:
    return alternative.kind != "unset" and alternative.exported != "no"


def values(slot: Slot) -> str:
    """The alternatives of a slot, in order of their text, `nothing` last."""
    there = sorted({_value(a) for a in slot if _arrives(a)})
    return " or ".join([*there, *(["nothing"] if any(not _arrives(a) for a in slot) else [])])


def _value(alternative: Alternative) -> str:
    text = f"?{alternative.text}" if alternative.kind == "unknown" else alternative.text or "''"
    return text + ("?" if alternative.exported == "maybe" else "")


def lost(start: RankStart) -> dict[str, str]:
    """Name -> what was lost on the way: `1 not-exported:3`, the line being that of the edge."""
    return {
        name: " or ".join(dict.fromkeys(_loss(a, loss) for a, loss in pairs))
        for name, pairs in sorted(start.lost.items()) if matters(name) and pairs
    }  # fmt: skip


def _loss(alternative: Alternative, loss: Loss) -> str:
    return f"{_value(alternative._replace(exported='yes'))} {loss.kind}:{loss.place.line}"


def starts(result: Walked) -> list[Seen]:
    """All rank starts in short, in the order in which they were met; scripts that are not in the tree are none."""
    return [seen(start) for start in result.starts if not start.opaque]


def last(result: Walked) -> Seen:
    """The last rank start."""
    return starts(result)[-1]


def at(result: Walked, line: int, path: str = "run.sh") -> list[Seen]:
    """The rank starts of one line."""
    return [one for one in starts(result) if one.at == f"{path}:{line}"]


def origins(start: RankStart, name: str) -> list[str]:
    """Where what a rank sees of a name was written: `run.sh:1:8 export`, the last writer first."""
    found = (o for a in start.slot(name) for o in a.origins)
    return list(dict.fromkeys(f"{o.place.path}:{o.place.line}:{o.place.column} {o.operation}" for o in found))


def conditions(guard: Guard) -> list[str]:
    """Atoms as text, those that do not hold with a `!` in front."""
    return [_atom(atom) for atom in guard]


def _atom(atom: Atom) -> str:
    return atom.text if atom.holds else f"! {atom.text}"
