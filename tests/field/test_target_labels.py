"""The judged targets are complete entries, each file once; the verdict that `tools/check_targets.py` gives."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from envdoctor.knowledge.files import loads_toml
from envdoctor.knowledge.targets.given import parse_target

SPEC = importlib.util.spec_from_file_location("check_targets", Path(__file__).parents[2] / "tools" / "check_targets.py")
assert SPEC
assert SPEC.loader
tool = importlib.util.module_from_spec(SPEC)
sys.modules["check_targets"] = tool
SPEC.loader.exec_module(tool)

KEYS = {"repository", "commit", "path", "platform", "versions", "right", "missed", "why"}
COMMIT = re.compile(r"[0-9a-f]{40}")
ROWS: list[dict[str, Any]] = loads_toml((Path(__file__).parent / "targets.toml").read_text(encoding="utf-8"))["target"]
AMD = {"AMD-AGI/Primus", "ROCm/MAD", "ROCm/cvs", "ROCm/Megatron-LM", "THUDM/slime"}


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{r['repository']}:{r['path']}") for r in ROWS])
def test_entry_is_complete(row: dict[str, Any]) -> None:
    assert set(row) - {"gpus"} == KEYS
    assert COMMIT.fullmatch(row["commit"])
    assert row["platform"] in ("", "cuda", "rocm", "ascend")
    assert isinstance(row["right"], bool)
    assert isinstance(row["missed"], bool)
    assert len(row["why"]) > 8
    parts = [*([row["platform"]] if row["platform"] else []), *(f"{k}-{v}" for k, v in row["versions"].items())]
    if parts and row["platform"] != "ascend":
        assert parse_target(",".join([*parts, *row.get("gpus", [])])).platform == (row["platform"] or None)


def test_each_file_is_judged_once_and_each_repository_at_one_commit() -> None:
    assert len({(r["repository"], r["path"]) for r in ROWS}) == len(ROWS)
    assert len({(r["repository"], r["commit"]) for r in ROWS}) == len({r["repository"] for r in ROWS})


def test_ten_repositories_of_which_five_are_of_amd() -> None:
    files = Counter(r["repository"] for r in ROWS)
    assert len(files) >= 10
    assert files.keys() >= AMD
    assert all(count >= 6 for count in files.values())


def test_nothing_wrong_is_on_record() -> None:
    assert [r["path"] for r in ROWS if not r["right"]] == []


@pytest.mark.parametrize(
    ("known", "said", "right", "missed"),
    [
        (("cuda", {}), ("cuda", {}), True, False),
        (("cuda", {}), (None, {}), True, True),
        (("cuda", {}), ("rocm", {}), False, False),
        (("", {}), ("cuda", {}), False, False),
        (("", {}), (None, {}), True, False),
        (("cuda", {"cuda": "12.8.1"}), ("cuda", {"cuda": "12.8"}), True, False),
        (("cuda", {"cuda": "12.8"}), ("cuda", {"cuda": "12.8.1"}), False, False),
        (("cuda", {"cuda": "12.8"}), ("cuda", {"cuda": "12.80"}), False, False),
        (("cuda", {"cuda": "12.8"}), ("cuda", {}), True, True),
        (("cuda", {}), ("cuda", {"torch": "2.6.0"}), False, False),
    ],
)
def test_verdict(known: tuple[str, Any], said: tuple[Any, Any], right: bool, missed: bool) -> None:
    label = {"platform": known[0], "versions": known[1]}
    assert tool.judged(label, {"platform": said[0], "versions": said[1], "gpus": []}) == (right, missed)


def test_an_architecture_that_is_not_listed_is_a_wrong_claim() -> None:
    label = {"platform": "rocm", "versions": {}, "gpus": ["gfx942"]}
    said = {"platform": "rocm", "versions": {}, "gpus": ["gfx942"]}
    assert tool.judged(label, said).right
    assert not tool.judged(label, {**said, "gpus": ["gfx950"]}).right
    assert tool.judged({"platform": "rocm", "versions": {}}, said).right
