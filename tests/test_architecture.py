"""The house keeps its floors: `docs/architecture.md` says what each holds."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from import_graph import FLOORS, circles, crowded, graph, main, modules, packages, upward

from envdoctor.knowledge.launchers import load_launchers

GRAPH = graph()
LINES_OF_A_MODULE = 450
"""About 400 is the guide; the rest is room for one function more."""


def test_no_import_goes_up() -> None:
    assert upward(GRAPH) == []


def test_no_module_imports_itself_through_others() -> None:
    assert circles(GRAPH) == []


def test_core_imports_only_core() -> None:
    outside = {(a, b) for a, others in GRAPH.items() for b in others if a.split(".")[1] == "core" != b.split(".")[1]}
    assert outside == set()


def test_no_folder_is_crowded_and_the_top_is_a_door() -> None:
    assert crowded() == []
    assert sorted(path.name for path in (ROOT / "envdoctor").glob("*.py")) == [
        "__init__.py",
        "__main__.py",
        "engine.py",
    ]
    folders = {path.name for path in (ROOT / "envdoctor").iterdir() if (path / "__init__.py").exists()}
    assert folders == set(FLOORS) - {"engine", "__main__"}


def test_packages_say_what_they_hold_and_load_nothing() -> None:
    """Importing one module of a package costs that module, and a newcomer finds a sentence about each folder."""
    for path in (ROOT / "envdoctor").rglob("__init__.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), path
        assert path.parent.name == "envdoctor" or len(tree.body) == 1, path


def test_modules_are_short_enough_to_read() -> None:
    long = {
        path.name: lines
        for path in modules().values()
        if (lines := len(path.read_text().split("\n"))) > LINES_OF_A_MODULE
    }
    assert long == {}


def test_every_import_by_string_can_be_seen() -> None:
    """The graph knows strings that are whole names; a name that is put together would hide an arrow."""
    for path in modules().values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                assert not isinstance(node.args[0], ast.JoinedStr), f"{path}:{node.lineno}"


def made(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "envdoctor" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    "text",
    [
        "from envdoctor.cli.scan import run\n",
        "import envdoctor.cli.scan\n",
        "def f():\n    from envdoctor.cli import scan\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from envdoctor.cli.scan import run\n",
        "TABLE = {'scan': 'envdoctor.cli.scan:run'}\n",
    ],
)
def test_an_arrow_is_seen_however_it_is_written(tmp_path: Path, text: str) -> None:
    found = graph(made(tmp_path, {"core/a.py": text, "cli/scan.py": "", "cli/__init__.py": ""}))
    assert "envdoctor.core.a -> envdoctor.cli.scan" in upward(found)


def test_circles_and_crowds_are_seen(tmp_path: Path) -> None:
    ring = {"core/a.py": "import envdoctor.core.b\n", "core/b.py": "import envdoctor.core.c\n",
            "core/c.py": "def f():\n    import envdoctor.core.a\n", "core/d.py": "import envdoctor.core.a\n"}  # fmt: skip
    root = made(tmp_path, ring | {f"checks/m{number}.py": "" for number in range(16)})
    assert circles(graph(root)) == [["envdoctor.core.a", "envdoctor.core.b", "envdoctor.core.c"]]
    assert crowded(root) == ["envdoctor/checks: 16"]


def test_the_tool_tells_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("no circle, no arrow upward, no crowded folder\n")
    assert main(["--packages"]) == 0
    assert "checks.values: " in capsys.readouterr().out
    assert "core" in packages(GRAPH)["cache"]


def test_one_class_name_means_one_thing() -> None:
    """What runs in the user's interpreter (`node/smoke/rank`) is a program of its own."""
    places: dict[str, list[str]] = {}
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and ".smoke.rank" not in name:
                places.setdefault(node.name, []).append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_every_name_that_a_table_holds_is_there() -> None:
    """`"module:function"` in a registry is found, whatever was renamed since."""
    for path in modules().values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("envdoctor."):
                module, _, name = node.value.partition(":")
                if name.isidentifier():
                    assert callable(getattr(importlib.import_module(module), name, None)), f"{path}:{node.lineno}"


LANGUAGES = {"bash", "sh", "zsh", "ksh", "dash", "ash", "python"}
"""What scripts are written in, and what a file is called that holds them."""
WORDS_OF_SHELLS = {"command", "script", "exec", "builtin", "env"}
"""Words of shells and keys of files that are names of programs too."""
TOOLS = {"git clone", "cmake", "rocm-smi", "amd-smi", "docker", "conda"}
"""Programs that start no ranks, of which a rule speaks (ED604), or kinds of files that are named after them."""


def test_no_launcher_is_known_by_name_outside_of_its_file() -> None:
    """What a launcher does stands under `rules/launchers/`, and nowhere in what judges."""
    launchers = load_launchers()
    names = {*launchers.by_program, *launchers.by_name} - LANGUAGES - WORDS_OF_SHELLS - TOOLS
    found = []
    for name, path in modules().items():
        if name.startswith(("envdoctor.analysis", "envdoctor.checks")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
            found += [(name, text) for text in said if isinstance(text, str) and text in names]
    assert found == []
