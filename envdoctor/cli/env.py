"""`envdoctor env`: the checked block of settings for a level and a target, each line with its reason."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from envdoctor.core.errors import UserError
from envdoctor.core.target import UNKNOWN, Target, TargetError
from envdoctor.knowledge.levels import LEVELS, VARIANTS, LevelLine, Levels, load_levels
from envdoctor.knowledge.targets.given import parse_target

Comments = Sequence[str]
READ_AT_START = ("PYTHONHASHSEED",)
"""Names that a running interpreter cannot set for itself."""
SWITCHES = """
import random

import numpy as np
import torch

SEED = 0
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)
torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `env`."""
    parser.add_argument("--level", choices=LEVELS, default="run-to-run", help="how much reproducibility is wanted")
    parser.add_argument("--target", default="", help="for what: rocm-6.2,torch-2.4 (default: what all platforms share)")
    parser.add_argument("--format", choices=sorted(FORMATS), default="shell", help="what to paste it into")
    parser.add_argument("--variant", choices=VARIANTS, default="", help="with the logs of one, or without what costs")
    parser.add_argument("--pair", action="store_true", help="show the debug and the production variant side by side")


def run(arguments: argparse.Namespace) -> int:
    """Print the block."""
    try:
        target = parse_target(arguments.target) if arguments.target else UNKNOWN
    except TargetError as error:
        raise UserError(f"--target: {error}") from error
    levels = load_levels()
    if arguments.pair:
        print("\n".join(pair(levels, arguments.level, target)))
    else:
        print("\n".join(block(levels, arguments.level, target, arguments.format, arguments.variant)))
    return 0


def block(levels: Levels, level: str, target: Target, form: str, variant: str = "") -> list[str]:
    """The block in one format, its notes in front as comments."""
    title = f"level {level}, {named(target)}"
    notes = [f"{title}, {variant} variant" if variant else title, *levels.about(level, target)]
    return FORMATS[form](notes, levels.block(level, target, variant))


def named(target: Target) -> str:
    """A target in the words of `--target`."""
    parts = [f"{name} {version}" for name, version in sorted(target.versions.items())]
    return ", ".join(parts) or target.platform or "platform not known"


def shell(notes: Comments, lines: Sequence[LevelLine]) -> list[str]:
    """A file to source in a launch script."""
    return [*(f"# {note}" for note in notes), *(f"export {line.name}={line.value}  # {line.why}" for line in lines)]


def slurm(notes: Comments, lines: Sequence[LevelLine]) -> list[str]:
    """The head of a batch script."""
    extra = "srun passes the environment on; a list after --export= must begin with ALL"
    return ["#!/bin/bash", "#SBATCH --export=ALL", *shell([*notes, extra], lines)]


def dockerfile(notes: Comments, lines: Sequence[LevelLine]) -> list[str]:
    """Lines for the last stage of a Dockerfile; comments stand on lines of their own there."""
    settings = [text for line in lines for text in (f"# {line.why}", f"ENV {line.name}={line.value}")]
    return [*(f"# {note}" for note in notes), *settings]


def kubernetes(notes: Comments, lines: Sequence[LevelLine]) -> list[str]:
    """The `env` of a container."""
    found = [*(f"# {note}" for note in notes), "env:" if lines else "env: []"]
    for line in lines:
        found += [f"  # {line.why}", f"  - name: {line.name}", f'    value: "{line.value}"']
    return found


def compose(notes: Comments, lines: Sequence[LevelLine]) -> list[str]:
    """The `environment` of a service."""
    found = [*(f"# {note}" for note in notes), "environment:" if lines else "environment: {}"]
    for line in lines:
        found += [f"  # {line.why}", f'  {line.name}: "{line.value}"']
    return found


def python(notes: Comments, lines: Sequence[LevelLine]) -> list[str]:
    """The first lines of a program: what the environment holds before a library asks, then the switches of torch."""
    found = [*(f"# {note}" for note in notes)]
    outside = [line for line in lines if line.name in READ_AT_START]
    inside = [line for line in lines if line.name not in READ_AT_START]
    found += [f"# before the interpreter starts: {line.name}={line.value} ({line.why})" for line in outside]
    if inside:
        found += ["import os", ""]
    for line in inside:
        found += [f"# {line.why}", f'os.environ["{line.name}"] = "{line.value}"']
    return [*found, *SWITCHES.rstrip().splitlines()] if lines else found


def pair(levels: Levels, level: str, target: Target) -> list[str]:
    """Two columns, a setting a row: the whole level with logs, and what is left where speed counts; then the reason."""
    debug, production = ({line.name: line for line in levels.block(level, target, name)} for name in VARIANTS)
    rows = [("debug", "production", f"level {level}, {named(target)}")]
    for name in {**debug, **production}:
        left, right = debug.get(name), production.get(name)
        line = left or right
        assert line is not None
        cost = f" (left out: {line.cost})" if right is None and line.cost else ""
        rows.append((_shown(left), _shown(right), line.why + cost))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    found = [f"{left:<{widths[0]}} | {right:<{widths[1]}} | {why}".rstrip() for left, right, why in rows]
    found.insert(1, "-" * len(found[0]))
    return [
        *found,
        "",
        "--variant debug or --variant production prints one of them to paste.",
    ]


def _shown(line: LevelLine | None) -> str:
    return f"{line.name}={line.value}" if line is not None else "-"


FORMATS: dict[str, Callable[[Comments, Sequence[LevelLine]], list[str]]] = {
    "shell": shell, "dockerfile": dockerfile, "kubernetes": kubernetes, "compose": compose, "python": python,
    "slurm": slurm,
}  # fmt: skip
