"""The comparison that `tests/gpu/check_facts.py` makes on a machine with GPUs: it says what differs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from node_trees import edited, judged
from recorded import folder_of

SCRIPT = Path(__file__).parent.parent / "gpu" / "check_facts.py"
NODE = "h100-8gpu-cuda-12.4"


@pytest.fixture(scope="module")
def check_facts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_facts", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_record_of_the_same_node_has_no_difference_but_its_name(check_facts: ModuleType) -> None:
    told = judged(folder_of(NODE)).node.as_json()
    assert check_facts.same_node({"node": told}, {"node": {**told, "name": "gpu-node-01"}}) == []


def test_what_differs_is_said(check_facts: ModuleType, tmp_path: Path) -> None:
    told = judged(folder_of(NODE)).node.as_json()
    changed = [{"file": "root/proc/sys/kernel/numa_balancing", "code": "1\n"},
               {"file": "root/usr/local/cuda/version.json", "remove": "yes"}]  # fmt: skip
    other = judged(edited(NODE, tmp_path, changed)).node.as_json()
    toolkit = told["cuda"]["toolkit"]
    assert check_facts.same_node({"node": told}, {"node": other}) == [
        f"cuda.toolkit: {toolkit!r}, recorded None", "host.numa_balancing: 0, recorded 1",
    ]  # fmt: skip


def test_a_report_that_is_not_there_is_no_agreement(check_facts: ModuleType) -> None:
    node = {"node": {"name": "gpu-node-01", "vendor": "nvidia"}}
    assert check_facts.parsed("Traceback (most recent call last)") == {}
    assert check_facts.parsed("") == {}
    assert check_facts.same_node({}, node) == check_facts.same_node({}, {}) == ["there are no two reports to compare"]
