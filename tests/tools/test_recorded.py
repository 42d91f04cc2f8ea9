"""The helpers for recorded nodes: what a test changes is undone, and what it leaves behind is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
import recorded
from node_trees import Edit, make
from recorded import copy_of, editable, folder_of, is_changed, paths_of, put_back, told, written_into

NODE = "recorded-h200-2gpu-nccl-2.28"
EDITS: list[list[Edit]] = [
    [{"file": "node.toml", "code": "x"}],
    [{"file": "new/folder/a", "code": "x"}, {"file": "new/folder/b", "code": "x"}, {"file": "new/c", "code": "x"}],
    [{"file": "root/etc", "remove": "yes"}],
    [{"file": "root/etc/os-release", "remove": "yes"}, {"file": "root/etc/os-release", "code": "x"}],
    [{"file": "root/etc/hosts", "code": "x"}, {"file": "root/etc", "remove": "yes"}],
]


@pytest.mark.parametrize("edits", EDITS, ids=range(len(EDITS)))
def test_edits_are_undone(edits: list[Edit]) -> None:
    make(edits, editable(NODE))
    assert is_changed(editable(NODE), NODE)
    put_back(NODE, {edit["file"] for edit in edits})
    assert not is_changed(editable(NODE), NODE)


def test_a_copy_is_apart(tmp_path: Path) -> None:
    (copy_of(NODE, tmp_path) / "node.toml").write_text("x")
    assert not is_changed(folder_of(NODE), NODE)


def test_what_a_test_leaves_behind_is_noticed() -> None:
    path = editable(NODE) / "node.toml"
    path.write_text("x")
    noticed = written_into()
    put_back(NODE, ["node.toml"])
    assert noticed == [str(path.parent)]


def test_what_is_told_needs_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "_home", [])
    assert told(NODE)["name"] == NODE
    assert paths_of(NODE, "node.*") == ["node.toml"]
    with pytest.raises(AssertionError, match="for a running test only"):
        folder_of("no-gpu-access-kfd-denied")
