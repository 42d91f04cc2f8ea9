"""The imports between the modules of envdoctor: floors, arrows and circles.

    python tools/import_graph.py            what breaks the rules, and figures
    python tools/import_graph.py --packages which package imports which

An import counts wherever it stands: at the top of a module, inside a function, for types alone, or as a string
(`"envdoctor.checks.values.values:check"`) that a table hands to `importlib`. `tests/test_architecture.py` holds the
graph to what `docs/architecture.md` says.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "envdoctor"
FLOORS = (
    "core", "cache", "knowledge", "project", "readers", "analysis", "checks", "engine", "node", "fixes", "reports",
    "cli", "__main__",
)  # fmt: skip
"""From the ground up: an import goes down or stays on its floor."""
MOST_MODULES = 15
"""Modules of one folder, without `__init__`."""
Graph = Mapping[str, frozenset[str]]


def modules(root: Path = ROOT) -> dict[str, Path]:
    """The modules of the package by their dotted names."""
    found = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        found[name] = path
    return found


def graph(root: Path = ROOT) -> Graph:
    """Each module with those that it imports. The package itself (`envdoctor`) holds the version and is left out."""
    known = modules(root)
    return {
        name: frozenset(imported(ast.parse(path.read_text(encoding="utf-8")), known)) - {name, PACKAGE}
        for name, path in known.items()
        if name != PACKAGE
    }


def imported(tree: ast.Module, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a syntax tree names in imports and in strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield from (name for name in (whole, node.module or "") if name in known)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (name for name in (node.value.partition(":")[0],) if name in known and "." in name)


def floor_of(module: str) -> int:
    """The number of the floor that a module is on."""
    return FLOORS.index(module.split(".")[1])


def upward(found: Graph) -> list[str]:
    """Imports that go up."""
    return [f"{a} -> {b}" for a, others in found.items() for b in sorted(others) if floor_of(b) > floor_of(a)]


def circles(found: Graph) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others."""
    reached = {name: _reach(found, name) for name in found}
    groups = {frozenset({name, *(other for other in reached[name] if name in reached[other])}) for name in found}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _reach(found: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = found[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def crowded(root: Path = ROOT) -> list[str]:
    """Folders with more modules than a person takes in."""
    counted = Counter(path.parent for path in modules(root).values() if path.name != "__init__.py")
    return [f"{path.relative_to(root)}: {number}" for path, number in counted.items() if number > MOST_MODULES]


def packages(found: Graph) -> dict[str, set[str]]:
    """Each folder with those that its modules import."""
    known: dict[str, set[str]] = {}
    for module, others in found.items():
        home = _folder(module)
        known.setdefault(home, set()).update(_folder(other) for other in others if _folder(other) != home)
    return known


def _folder(module: str) -> str:
    return module.removeprefix(f"{PACKAGE}.").rpartition(".")[0] or module.removeprefix(f"{PACKAGE}.")


def main(words: Sequence[str] | None = None) -> int:
    """Print what breaks the rules, or which package imports which; 1 where a rule is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", action="store_true", help="which package imports which")
    if parser.parse_args(words).packages:
        for folder, others in sorted(packages(graph()).items()):
            print(f"{folder}: {', '.join(sorted(others))}")
        return 0
    found = graph()
    broken = [*upward(found), *(" <-> ".join(circle) for circle in circles(found)), *crowded()]
    print("\n".join(broken) or "no circle, no arrow upward, no crowded folder")
    folders = {path.parent for path in modules().values()}
    print(f"{len(modules())} modules in {len(folders)} folders, {sum(map(len, found.values()))} imports")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
