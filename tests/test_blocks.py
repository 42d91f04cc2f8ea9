"""Needs of levels: what exists on a target, what meets it, and that every line to paste is real there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support import known_catalog

from envdoctor.checks.names import verdicts
from envdoctor.core.target import UNKNOWN
from envdoctor.knowledge import levels
from envdoctor.knowledge.levels import LEVELS, LevelError, allreduce_words, is_met, levels_from, load_levels
from envdoctor.knowledge.targets.given import parse_target

ALL = load_levels()
TARGETS = ["nccl-2.14", "nccl-2.18", "nccl-2.21", "nccl-2.27", "nccl-2.30", "cuda,torch-2.4", "cuda,torch-2.13",
           "rocm-5.5", "rocm-5.7", "rocm-6.2", "rocm-6.4", "rocm-7.0", "rocm-7.2", "rocm-7.12", "rocm-7.13",
           "rocm-7.14", "cuda", "rocm"]  # fmt: skip
PINS = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "8",
        "NCCL_GRAPH_FILE": "/g.xml"}  # fmt: skip


def lacking(level: str, target: str, settings: Mapping[str, str | None], calls: tuple[str, ...] = ()) -> set[str]:
    """Ids of what would be reported: open needs that are neither weak nor unexamined."""
    found = ALL.open(level, parse_target(target) if target else UNKNOWN, settings, calls)
    return {need.id for need in found if not need.weak and not need.unexamined}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_line_is_read_on_its_target_and_the_block_closes_the_level(level: str, target: str) -> None:
    catalog, where = known_catalog(), parse_target(target)
    lines = ALL.block(level, where, "debug")
    for line in lines:
        verdict = verdicts.judge(line.name, catalog, where)
        assert verdict is None or verdict.kind == "not-known", f"{line.name}: {verdict}"
    settings = {line.name: line.value for line in lines}
    rest = ALL.open(level, where, settings, ())
    assert {need.id for need in rest if not need.unexamined} <= {"ordered-reduction"}


@pytest.mark.parametrize(
    ("target", "settings", "calls", "open_needs"),
    [
        ("cuda", {}, (), {"nvls"}),
        ("cuda", {"NCCL_NVLS_ENABLE": "0"}, (), set()),
        ("cuda", {"NCCL_NVLS_ENABLE": "false"}, (), set()),
        ("cuda", {"NCCL_NVLS_ENABLE": "1"}, (), {"nvls"}),
        ("cuda", {"NCCL_NVLS_ENABLE": None}, (), set()),
        ("cuda", {"NCCL_ALGO": "Ring"}, (), set()),
        ("cuda", {"NCCL_ALGO": "Ring,Tree"}, (), set()),
        ("cuda", {"NCCL_ALGO": "ring,NVLS"}, (), {"nvls"}),
        ("cuda", {"NCCL_ALGO": "^NVLS,NVLSTree"}, (), set()),
        ("cuda", {"NCCL_ALGO": "^NVLSTree"}, (), {"nvls"}),
        ("cuda", {"NCCL_ALGO": "allgather:pat;allreduce:ring"}, (), set()),
        ("cuda,torch-2.8", {}, ("torch.use_deterministic_algorithms",), set()),
        ("cuda,torch-2.7", {}, ("torch.use_deterministic_algorithms",), {"nvls"}),
        ("cuda", {}, ("torch.use_deterministic_algorithms",), set()),
        ("nccl-2.14", {}, (), set()),
        ("nccl-2.18,a100", {}, (), set()),
        ("nccl-2.18,h100", {}, (), {"nvls"}),
        ("nccl-2.27,sm_120", {}, (), {"nvls"}),
        ("rocm-6.2", {}, (), set()),
        ("rocm-6.4", {}, (), set()),
        ("", {}, (), set()),
    ],
)
def test_run_to_run(
    target: str, settings: Mapping[str, str | None], calls: tuple[str, ...], open_needs: set[str]
) -> None:
    assert lacking("run-to-run", target, settings, calls) == open_needs


@pytest.mark.parametrize(
    ("target", "settings", "open_needs"),
    [
        ("cuda", PINS, set()),
        ("cuda", {"NCCL_ALGO": "Ring"}, {"protocol", "channels", "ring-order"}),
        ("cuda", {**PINS, "NCCL_MAX_NCHANNELS": "16"}, {"channels"}),
        ("cuda", {**PINS, "NCCL_PROTO": "^LL128"}, {"protocol"}),
        ("cuda", {**PINS, "NCCL_PROTO": "LL,Simple"}, {"protocol"}),
        ("cuda", {**{k: v for k, v in PINS.items() if k != "NCCL_GRAPH_FILE"}, "NCCL_RINGS": "x"}, {"ring-order"}),
        ("rocm-5.5", PINS, set()),
        ("rocm-5.7", PINS, {"msccl"}),
        ("rocm-7.12", PINS, {"msccl"}),
        ("rocm-7.13", PINS, set()),
        ("rocm-6.2", {**PINS, "RCCL_MSCCL_ENABLE": "0"}, set()),
        ("rocm-7.14", PINS, {"dda"}),
        ("rocm-7.14,mi210", PINS, set()),
        ("rocm-10.1", PINS, set()),
        ("rocm", PINS, set()),
        ("", {}, {"algorithm", "protocol", "channels", "ring-order"}),
    ],
)
def test_placement(target: str, settings: Mapping[str, str | None], open_needs: set[str]) -> None:
    assert lacking("placement", target, settings) == open_needs


def test_topology_is_met_by_an_ordered_reduction_only() -> None:
    every = {line.name: line.value for line in ALL.block("placement", parse_target("cuda"))}
    assert lacking("topology", "cuda", every) == {"ordered-reduction"}
    assert lacking("topology", "cuda", every, ("torch.distributed.all_to_all_single",)) == set()


def test_hygiene_needs_nothing() -> None:
    assert ALL.block("hygiene", parse_target("cuda")) == []
    assert lacking("hygiene", "cuda", {}) == set()


def test_another_vendors_job_needs_nothing_of_these_libraries() -> None:
    assert lacking("placement", "ascend", {}) == set()


def test_unexamined_paths_are_hints() -> None:
    found = ALL.open("run-to-run", parse_target("rocm-6.4"), {}, ())
    assert [need.id for need in found if need.unexamined] == ["mscclpp-unexamined"]
    assert [need.id for need in ALL.open("run-to-run", parse_target("rocm-7.1"), {}, ())] == []


@pytest.mark.parametrize(
    ("value", "inverted", "words"),
    [
        ("Ring", False, {"ring"}),
        (" ^NVLS , NVLSTree", True, {"nvls", "nvlstree"}),
        ("ring;allgather:pat", False, {"ring"}),
        ("tree;allreduce:^nvls", True, {"nvls"}),
        ("", False, set()),
    ],
)
def test_the_list_that_holds_for_allreduce(value: str, inverted: bool, words: set[str]) -> None:
    assert allreduce_words(value) == (inverted, words)


def test_a_way_that_counts_from_a_release_is_not_taken_without_one() -> None:
    way = [{"name": "X", "set": True, "since": "7.0"}]
    assert not is_met(way, {"X": "1"}, (), parse_target("rocm"))
    assert is_met(way, {"X": "1"}, (), parse_target("rocm-7.0"))


NEED: dict[str, Any] = {"id": "x", "level": "placement", "why": "w"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"levl": "x"}, "x: levl: unknown key (did you mean level?)"),
        ({"level": "hygiene"}, "x: level: 'hygiene' is not one of"),
        ({"gpus": "sm_90"}, "x: gpus: expected list, got str"),
        ({"met": [{"name": "X", "value": "1"}]}, "x: met: value: unknown key"),
        ({"met": [{"set": True}]}, "x: met: name or call: missing"),
    ],
)
def test_a_bad_need_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(LevelError) as error:
        levels_from({"need": [{**NEED, **change}], "demand": [], "log": [], "note": []})
    assert str(error.value).startswith(says)


def test_missing_keys_doubled_ids_and_bad_toml(tmp_path: Path) -> None:
    empty: dict[str, Any] = {"demand": [], "log": [], "note": []}
    with pytest.raises(LevelError, match="why: missing"):
        levels_from({"need": [{"id": "x", "level": "placement"}], **empty})
    with pytest.raises(LevelError, match="already taken"):
        levels_from({"need": [NEED, NEED], **empty})
    path = tmp_path / "a.toml"
    path.write_text("[[need]\n", encoding="utf-8")
    with pytest.raises(LevelError, match=r"a\.toml: "):
        levels.build([path])
