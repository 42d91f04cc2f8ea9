"""Patterns of calls, bounds of releases, and what is known of Python names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.analysis.python.imports import Imports
from envdoctor.checks.python.patterns import PatternTable, argument, fits_target, named, pattern, within
from envdoctor.core.facts import Call
from envdoctor.core.source import Source
from envdoctor.knowledge.apis import build, load_apis
from envdoctor.knowledge.targets.given import parse_target
from envdoctor.readers.registry import read


def call(text: str) -> Call:
    found = read(Source("a.py", f"import torch\n{text}\n"), "python").calls
    return found[0]


MATCHES: list[tuple[dict[str, Any], str, bool]] = [
    ({"names": ["torch.f"]}, "torch.f()", True),
    ({"names": ["torch.*"]}, "torch.a.b()", True),
    ({"names": ["torch.g"]}, "torch.f()", False),
    ({"names": ["torch.f"], "kind": "assign"}, "torch.f = 1", True),
    ({"names": ["torch.f"], "kind": "assign"}, "torch.f()", False),
    ({"names": ["torch.f"], "argument": "on", "values": [True]}, "torch.f(on=True)", True),
    ({"names": ["torch.f"], "argument": "on", "values": [True]}, "torch.f(on=1)", False),
    ({"names": ["torch.f"], "argument": "on", "values": [True]}, "torch.f(on=flag)", False),
    ({"names": ["torch.f"], "argument": "on", "values": [True]}, "torch.f(True)", False),
    ({"names": ["torch.f"], "argument": "on", "position": 0, "values": [True]}, "torch.f(True)", True),
    ({"names": ["torch.f"], "position": 1, "values": ["a"]}, "torch.f(1, 'a')", True),
    ({"names": ["torch.f"], "position": 0, "values": ["a"]}, "torch.f(*x, 'a')", False),
    ({"names": ["torch.f"], "argument": "o", "contains": ["fast"]}, "torch.f(o={'fast': 1})", True),
    ({"names": ["torch.f"], "argument": "o", "contains": ["torch.half"]}, "torch.f(o=torch.half)", True),
    ({"names": ["torch.f"], "argument": "o", "contains": ["fast"]}, "torch.f(o={'slow': 1})", False),
    ({"names": ["torch.f"], "argument": "o", "absent": True}, "torch.f()", True),
    ({"names": ["torch.f"], "argument": "o", "absent": True}, "torch.f(o=None)", True),
    ({"names": ["torch.f"], "argument": "o", "absent": True}, "torch.f(o=1)", False),
    ({"names": ["torch.f"], "argument": "o", "absent": True}, "torch.f(**options)", False),
]


@pytest.mark.parametrize(("data", "text", "expected"), MATCHES)
def test_patterns(data: dict[str, Any], text: str, expected: bool) -> None:
    assert pattern(data).matches(call(text)) == expected
    assert bool(PatternTable([data]).of(call(text))) == expected


@pytest.mark.parametrize(
    ("have", "bounds", "expected"),
    [
        ("2.9.1", ">=2.9", True),
        ("2.9", ">=2.9", True),
        ("2.8.0", ">=2.9", False),
        ("2.10.0", "<2.10", False),
        ("2.9.1", "<2.10", True),
        ("2.10.0", ">=2.7,<2.12", True),
        ("2.12.0", ">=2.7,<2.12", False),
        ("2.4", ">=2.4.1", None),
        ("nightly", ">=2.4", None),
    ],
)
def test_bounds(have: str, bounds: str, expected: bool | None) -> None:
    assert within(have, bounds) is expected


@pytest.mark.parametrize(
    ("platform", "versions", "target", "unknown", "expected"),
    [
        ("cuda", {}, "cuda", False, True),
        ("cuda", {}, "rocm", True, False),
        ("", {"torch": ">=2.9"}, "torch-2.8.0", True, False),
        ("", {"torch": ">=2.9"}, "cuda", True, True),
        ("", {"torch": ">=2.9"}, "cuda", False, False),
        ("cuda", {"torch": "<2.10"}, "cuda,torch-2.9.1", False, True),
    ],
)
def test_targets(platform: str, versions: dict[str, str], target: str, unknown: bool, expected: bool) -> None:
    assert fits_target(platform, versions, parse_target(target), unknown) == expected


@given(
    st.lists(st.sampled_from(["torch.a", "torch.b.*", "*.c", "x"]), max_size=4),
    st.sampled_from(["torch.a", "y.c", "z"]),
)
def test_names_are_remembered_rightly(names: list[str], name: str) -> None:
    from fnmatch import fnmatchcase

    assert named(name, names) == any(fnmatchcase(name, n) for n in names)
    assert named(name, names) == any(fnmatchcase(name, n) for n in names)


def test_arguments_by_keyword_come_first() -> None:
    found = argument(call("torch.f(1, a=2)"), "a", 0)
    assert found is not None
    assert found.literal == 2


def test_knowledge_is_complete() -> None:
    apis = load_apis()
    for entry in apis["intent"]:
        assert entry["names"]
        assert entry["says"]
    for entry in apis["api"]:
        assert entry["component"]
        assert "since" in entry or "until" in entry
        assert entry["evidence"]


def test_lists_of_several_files_are_joined(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("training = ['x']\n")
    (tmp_path / "b.toml").write_text("training = ['y']\n[[intent]]\nnames = ['z']\n")
    assert build(sorted(tmp_path.glob("*.toml"))) == {"training": ["x", "y"], "intent": [{"names": ["z"]}]}
    (tmp_path / "c.toml").write_text("training = 'x'\n")
    with pytest.raises(ValueError, match="training: expected a list"):
        build(sorted(tmp_path.glob("*.toml")))


SOURCES = {
    "a.py": b"import b\nfrom pkg import (\n    c,\n    d as e,\n)\nfrom pkg.f import *\n",
    "b.py": b"import a\nimport random\nrandom.seed(1)\n",
    "pkg/__init__.py": b"",
    "pkg/c.py": b"import torch\n\n\ndef seed_all():\n    torch.manual_seed(1)\n",
    "pkg/d.py": b"from . import c\nSTART = torch.rand(1)\n",
    "pkg/f.py": b"import os, b\nos.environ['A'] = '1'\n",
}


def test_modules_that_act_when_they_are_imported() -> None:
    from envdoctor.analysis.python.modules import Modules

    modules = Modules(frozenset(SOURCES), lambda path: None, SOURCES.get)
    imports = Imports(SOURCES.get, modules.module)
    assert imports.edges("a.py") == ("b.py", "pkg/c.py", "pkg/d.py", "pkg/f.py")
    done: set[str] = set()
    assert list(imports.loaded("a.py", done)) == ["b.py", "pkg/d.py", "pkg/f.py"]
    assert list(imports.loaded("b.py", done)) == []
