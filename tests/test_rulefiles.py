"""Rule files are found and loaded: from JSON where there is one, from a cache that may be anything, else parsed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from envdoctor.knowledge import files as rulefiles
from envdoctor.knowledge.files import load_compiled, rule_paths, rules_dir, suggestion


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rules folder with one file, and a cache folder of its own."""
    rules = tmp_path / "rules"
    (rules / "things").mkdir(parents=True)
    (rules / "things" / "a.toml").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(rulefiles, "rules_dir", lambda: rules)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return rules


class Counted:
    """A builder that counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, paths: list[Path]) -> dict[str, Any]:
        self.calls += 1
        return {path.name: rulefiles.parse_toml(path) for path in paths}


def test_the_rules_folder_of_this_checkout() -> None:
    assert rules_dir() == ROOT / "rules"
    assert {path.name for path in rule_paths("catalog")} >= {"nccl.toml", "rccl.toml", "torch.toml"}


def test_the_second_load_takes_the_cache(root: Path) -> None:
    build = Counted()
    first = load_compiled("things", "things", build)
    assert load_compiled("things", "things", build) == first == {"a.toml": {"x": 1}}
    assert build.calls == 1


@pytest.mark.parametrize("change", ["content", "new file", "time"])
def test_a_change_builds_anew(root: Path, change: str) -> None:
    build = Counted()
    load_compiled("things", "things", build)
    path = root / "things" / "a.toml"
    if change == "content":
        path.write_text("x = 22\n", encoding="utf-8")
    elif change == "new file":
        (root / "things" / "b.toml").write_text("y = 1\n", encoding="utf-8")
    else:
        os.utime(path, ns=(1, 1))
    load_compiled("things", "things", build)
    assert build.calls == 2


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"\xff\xfe", b'{"signature": []}', b"[" * 100_000])
def test_garbage_in_the_cache_is_no_cache(root: Path, tmp_path: Path, garbage: bytes) -> None:
    build = Counted()
    load_compiled("things", "things", build)
    for path in (tmp_path / "cache" / "envdoctor").iterdir():
        path.write_bytes(garbage)
    assert load_compiled("things", "things", build) == {"a.toml": {"x": 1}}
    assert build.calls == 2


def test_a_cache_of_other_files_with_the_same_name_is_not_taken(root: Path, tmp_path: Path) -> None:
    build = Counted()
    load_compiled("things", "things", build)
    (path,) = (tmp_path / "cache" / "envdoctor").iterdir()
    kept = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({"signature": ["other"], "data": kept["data"]}), encoding="utf-8")
    load_compiled("things", "things", build)
    assert build.calls == 2


def test_a_cache_that_cannot_be_written_is_no_loss(root: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be", encoding="utf-8")
    build = Counted()
    assert load_compiled("things", "things", build) == {"a.toml": {"x": 1}}
    assert load_compiled("things", "things", build) == {"a.toml": {"x": 1}}
    assert build.calls == 2


def test_what_was_compiled_into_a_wheel_comes_first(root: Path) -> None:
    (root / "compiled").mkdir()
    (root / "compiled" / "things.json").write_text('{"made": "earlier"}', encoding="utf-8")
    build = Counted()
    assert load_compiled("things", "things", build) == {"made": "earlier"}
    assert build.calls == 0


def test_errors_of_the_builder_pass_and_leave_no_cache(root: Path, tmp_path: Path) -> None:
    def build(paths: list[Path]) -> dict[str, Any]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        load_compiled("things", "things", build)
    assert not (tmp_path / "cache").exists()


def test_all_folders_at_once(root: Path) -> None:
    (root / "others").mkdir()
    (root / "others" / "b.toml").write_text("", encoding="utf-8")
    assert [path.name for path in rule_paths("*", root)] == ["b.toml", "a.toml"]


@pytest.mark.parametrize(("word", "hint"), [("sumary", " (did you mean summary?)"), ("zzz", ""), ("", "")])
def test_suggestions(word: str, hint: str) -> None:
    assert suggestion(word, ["summary", "status"]) == hint
