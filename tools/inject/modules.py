"""Python programs that train, and faults in them: a seed or a switch that is removed."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from inject.edits import Planting

SEEDS = re.compile(r"(^|\.)(manual_seed(_all)?|set_seed|set_random_seed|seed_everything|seed)\(.*\)$", re.DOTALL)
SWITCHES = re.compile(
    r"(^|\.)(cudnn\.deterministic = True|cudnn\.benchmark = False|use_deterministic_algorithms\(True.*\))$", re.DOTALL
)
_TESTS = re.compile(r"(^|/)(tests?|third_party|vendor)(/|$)|(^|/)test_")
LARGEST = 300_000


class Module(NamedTuple):
    """A Python program of a checkout with a loop that trains."""

    repository: str
    path: str
    text: str


def modules(checkout: Path) -> Iterator[Module]:
    """The programs that make steps of an optimiser themselves."""
    for path in sorted(checkout.rglob("*.py")):
        relative = path.relative_to(checkout).as_posix()
        if _TESTS.search(relative) or path.is_symlink() or path.stat().st_size > LARGEST:
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        if "__main__" in text and ".backward(" in text and ".step(" in text and "\r" not in text:
            yield Module(checkout.name, relative, text)


def without_seed(module: Module, _: random.Random) -> Planting | None:
    """All calls that seed are removed, where the program speaks of seeds nowhere else but in its options."""
    found = _statements(module.text, SEEDS)
    text = _without(module.text, found)
    left = [line for line in text.splitlines() if "seed" in line.lower() and "add_argument" not in line]
    if not found or any(not line.lstrip().startswith("#") for line in left):
        return None
    return _planting("seed", module, text, found[0].lineno, ("ED401",))


def without_switch(module: Module, _: random.Random) -> Planting | None:
    """One of the switches for repeatable kernels is removed, where another still asks for them."""
    found = _statements(module.text, SWITCHES)
    if len(found) < 2:
        return None
    return _planting("switch", module, _without(module.text, found[:1]), found[0].lineno, ("ED501",))


PYTHON: dict[str, Callable[[Module, random.Random], Planting | None]] = {
    "seed": without_seed,
    "switch": without_switch,
}


def _statements(text: str, wanted: re.Pattern[str]) -> list[ast.stmt]:
    """The simple statements of a program that look so; none where it is not read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    simple = [node for node in ast.walk(tree) if isinstance(node, (ast.Expr, ast.Assign))]
    return [node for node in simple if wanted.search(ast.unparse(node))]


def _without(text: str, statements: Sequence[ast.stmt]) -> str:
    """A program with `pass` in the place of some statements, on as many lines."""
    lines = text.splitlines(keepends=True)
    for node in statements:
        last = node.end_lineno or node.lineno
        lines[node.lineno - 1 : last] = [f"{' ' * node.col_offset}pass\n", *["\n"] * (last - node.lineno)]
    return "".join(lines)


def _planting(kind: str, module: Module, text: str, line: int, rules: tuple[str, ...]) -> Planting:
    base, fault = {module.path: module.text}, {module.path: text}
    places = ((module.path, 1, text.count("\n") + 1),)
    return Planting(kind, "program", module.repository, module.path, line, "", rules, base, fault, places)
