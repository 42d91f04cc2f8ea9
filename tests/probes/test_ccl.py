"""The collectives library: what is mapped, what is used, what versions say, plug-ins, runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import Answers, by_detail, observed, view_of
from recorded import folder_of

from envdoctor.node.probes.base import Absent
from envdoctor.node.probes.libraries import ccl, plugins
from envdoctor.node.probes.libraries.ccl import ccl_probe, header_version, most_ranks_per_gpu, version_code
from envdoctor.node.probes.parts import Ccl, Torch

SITE = "/opt/venv/lib/python3.12/site-packages"
WHEEL = f"{SITE}/torch/lib/librccl.so"
OPT = "/opt/rocm-7.0.0/lib/librccl.so.1.0.70000"


@pytest.mark.parametrize(
    ("version", "code"),
    [("2.28.9", 22809), ("2.9.6", 20906), ("2.8.4", 2804), ("2.20.5+hip6.2", 22005), ("2.30", None), ("", None)],
)
def test_version_codes(version: str, code: int | None) -> None:
    assert version_code(version) == code


@given(st.integers(2, 3), st.integers(0, 99), st.integers(0, 99))
def test_newer_versions_have_larger_codes(major: int, minor: int, patch: int) -> None:
    code, after = version_code(f"{major}.{minor}.{patch}"), version_code(f"{major}.{minor + 1}.{patch}")
    assert code is not None
    assert after is not None
    assert code < after


@pytest.mark.parametrize(
    ("told", "version"),
    [([2, 20, 5], [2, 20, 5]), ([2, 27, 3, "x"], None), (2804, [2, 8, 4]), (21003, [2, 10, 3]), (None, None),
     ([], None), ("2.20", None), (True, None), (0, None)],
)  # fmt: skip
def test_header_versions(told: object, version: list[int] | None) -> None:
    assert header_version({"torch.cuda.nccl.version": told}) == version


def stubs() -> Mapping[str, bytes]:
    """Two real small librccl, of 2.22.3 and 2.26.6."""
    root = folder_of("mi300x-rocm-7.0-container") / "root"
    return {path: (root / path[1:]).read_bytes() for path in (WHEEL, OPT)}


def probe(tmp_path: Path, vendor: str = "amd", *, mapped: list[str], report: Mapping[str, object] | None = None,
          logs: tuple[str, ...] = (), environment: Mapping[str, str] | None = None) -> tuple[Ccl, object]:  # fmt: skip
    view = view_of(tmp_path, stubs(), runner=Answers(logs=logs), environment=environment, mapped=mapped)
    found, _ = ccl_probe(view, Torch(report=report or {}), vendor)
    return found, view.facts


def test_the_only_mapped_one_is_used(tmp_path: Path) -> None:
    found, facts = probe(tmp_path, mapped=[WHEEL])
    assert (found.used_by_torch, found.loaded_version_code, found.kind) == (WHEEL, 22203, "rccl")
    assert found.installed == [OPT, WHEEL]
    assert by_detail(facts, "ccl.version_code") == {OPT: 22606, WHEEL: 22203}  # type: ignore[arg-type]


def test_the_functions_answer_counts_more_than_the_file(tmp_path: Path) -> None:
    found, _ = probe(tmp_path, mapped=[WHEEL], report={"ncclGetVersion.by_path": {WHEEL: 99999, OPT: "x"}})
    assert found.loaded_version_code == 99999


def test_two_mapped_and_nothing_tells(tmp_path: Path) -> None:
    found, _ = probe(tmp_path, mapped=[WHEEL, OPT])
    assert (found.loaded, found.used_by_torch, found.loaded_version_code) == ([WHEEL, OPT], None, None)


@pytest.mark.parametrize(
    "log",
    [
        f"RCCL version : 2.26.6-HEAD:0\nHIP version  : 7.0\nLibrccl path : {OPT}\n",
        "RCCL version 2.26.6+hip7.0 HEAD:0+\n",
    ],
    ids=["path", "version"],
)
def test_two_mapped_and_a_banner_tells(tmp_path: Path, log: str) -> None:
    codes = {"ncclGetVersion.by_path": {WHEEL: 22203, OPT: 22606}}
    found, _ = probe(tmp_path, mapped=[WHEEL, OPT], report=codes, logs=(log,))
    assert (found.used_by_torch, found.loaded_version_code) == (OPT, 22606)


def test_a_preloaded_one_is_used(tmp_path: Path) -> None:
    found, facts = probe(
        tmp_path, mapped=[WHEEL, OPT], environment={"LD_PRELOAD": OPT, "LD_LIBRARY_PATH": "/opt/rocm-7.0.0/lib"}
    )
    assert found.used_by_torch == OPT
    assert observed(facts, "ccl.preloaded") == [OPT]  # type: ignore[arg-type]
    assert observed(facts, "ccl.on_library_path") == [OPT]  # type: ignore[arg-type]


def test_installed_and_never_mapped(tmp_path: Path) -> None:
    found, _ = probe(tmp_path, mapped=[])
    assert (found.kind, found.loaded, found.used_by_torch, found.loaded_version_code) == ("rccl", [], None, None)


def test_a_run_alone_tells_the_version(tmp_path: Path) -> None:
    view = view_of(tmp_path, runner=Answers(logs=("h:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n",)))
    found, files = ccl_probe(view, None, "nvidia")
    assert (found.kind, found.loaded_version_code, files) == ("nccl", 22809, {})


def test_no_library_at_all(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        ccl_probe(view_of(tmp_path), None, "amd")


def test_a_file_that_is_no_library_is_told_as_a_problem(tmp_path: Path) -> None:
    view = view_of(tmp_path, {OPT: b"\x7fELF but no more"})
    found, _ = ccl_probe(view, None, "amd")
    assert found.installed == [OPT]
    assert [problem.place.path for problem in view.facts.problems] == [OPT]


def test_libraries_of_both_vendors(tmp_path: Path) -> None:
    files = {OPT: b"", "/usr/lib/x86_64-linux-gnu/libnccl.so.2": b""}
    assert ccl_probe(view_of(tmp_path, files), None, "nvidia")[0].kind == "nccl"
    assert ccl_probe(view_of(tmp_path), None, "")[0].kind == ""


def rank(number: int, bus: str, host: str = "h", comm: str = "0x1") -> str:
    start = f"{host}:1:1 [0] NCCL INFO ncclCommInitRankConfig comm 0xa rank {number} nranks 4 cudaDev 0 nvmlDev 0 "
    return f"{start}busId {bus} commId {comm} - Init START\n"


@pytest.mark.parametrize(
    ("lines", "most"),
    [
        ([rank(0, "60"), rank(1, "60"), rank(1, "60"), rank(2, "70")], 2),
        ([rank(0, "60"), rank(1, "60", host="other")], 1),
        ([rank(0, "60"), rank(1, "60", comm="0x2")], 1),
        (["nothing\n"], 0),
    ],
)
def test_ranks_that_share_a_gpu(lines: list[str], most: int) -> None:
    assert most_ranks_per_gpu("".join(lines)) == most


@pytest.mark.parametrize("name", ["libnccl-net.so", "libnccl-tuner-x.so.1", "librccl-net.so", "libnccl-env.so"])
def test_names_of_plugins(name: str) -> None:
    assert plugins.PLUGIN.match(f"/a/{name}")


@pytest.mark.parametrize("name", ["libnccl.so.2", "librccl.so", "libnccl-other.so", "libfabric.so"])
def test_names_of_other_libraries(name: str) -> None:
    assert not plugins.PLUGIN.match(f"/a/{name}")


def test_plugins(tmp_path: Path) -> None:
    files = {"/a/libnccl-net.so": "", "/b/libnccl-tuner.so": "", "/wheel/libnccl-profiler.so": ""}
    environment = {"LD_LIBRARY_PATH": "/a::/b", "NCCL_NET_PLUGIN": "aws", "NCCL_TUNER_PLUGIN": "none"}
    view = view_of(tmp_path, files, environment=environment, mapped=["/b/libnccl-tuner.so"])
    plugins.plugins_probe(view, ["/wheel"])
    assert by_detail(view.facts, "ccl.plugin") == {
        "/b/libnccl-tuner.so": "mapped", "aws": "named", "/a/libnccl-net.so": "installed",
        "/wheel/libnccl-profiler.so": "installed",
    }  # fmt: skip


def test_no_plugin(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        plugins.plugins_probe(view_of(tmp_path), [])


def test_kind_of_nothing() -> None:
    assert ccl.kind_of([], ccl.read_logs([]), "amd") == ""
