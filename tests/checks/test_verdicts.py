"""Verdicts on names, on both sides of each boundary."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.checks.names.verdicts import Verdicts, judge
from envdoctor.core.target import UNKNOWN
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.targets.given import parse_target

CATALOG = load_catalog()


def verdict(name: str, target: str = "") -> str | None:
    found = judge(name, CATALOG, parse_target(target) if target else UNKNOWN)
    return found.kind if found else None


GHOSTS = {
    "NCCL_DETERMINISTIC": None, "RCCL_DETERMINISTIC": None, "RCCL_ALGO": "NCCL_ALGO", "RCCL_PROTO": "NCCL_PROTO",
    "RCCL_CHUNK_SIZE": None, "RCCL_DISABLE_P2P": "NCCL_P2P_DISABLE", "RCCL_TIMEOUT": None,
    "RCCL_DETERMINISTIC_OPS": None, "RCCL_TOPO_ENABLE": None, "RCCL_RING_ORDER": None, "RCCL_FP16_DETERMINISTIC": None,
    "RCCL_DEBUG": "NCCL_DEBUG", "RCCL_DEBUG_FILE": "NCCL_DEBUG_FILE", "NCCL_TIMEOUT": None,
}  # fmt: skip


@pytest.mark.parametrize(("name", "meant"), GHOSTS.items())
@pytest.mark.parametrize("target", ["", "cuda", "nccl-2.21.5", "rocm-6.2"])
def test_the_fourteen_ghosts(name: str, meant: str | None, target: str) -> None:
    found = judge(name, CATALOG, parse_target(target) if target else UNKNOWN)
    assert found is not None
    if meant is not None:
        assert (found.kind, found.real) == ("misnamed", meant)
    else:
        assert found.kind in ("ghost", "misnamed")
        assert found.help


QUESTIONS = st.tuples(
    st.sampled_from([*GHOSTS, "NCCL_P2P_DISABLE", "NCCL_IB_HCAS", "MIOPEN_NOTHING", "HIP_LAUNCH_BLOCKING", "PATH"]),
    st.sampled_from(["", "cuda", "rocm", "rocm-6.2", "nccl-2.21.5", "nccl-2.27.3", "torch-2.8", "cuda,h100"]),
)


@settings(deadline=None)
@given(st.lists(QUESTIONS, max_size=20))
def test_verdicts_that_are_kept_are_those_of_their_target(questions: list[tuple[str, str]]) -> None:
    kept = Verdicts(CATALOG)
    for name, words in questions:
        target = parse_target(words) if words else UNKNOWN
        assert kept.of(name, target) == judge(name, CATALOG, target)


@pytest.mark.parametrize("target", ["", "cuda", "rocm", "rocm-6.2", "nccl-2.27.3", "torch-2.8"])
@pytest.mark.parametrize("name", ["NCCL_P2P_DISABLE", "NCCL_ALGO", "NCCL_PROTO", "NCCL_DEBUG", "CUDA_VISIBLE_DEVICES"])
def test_real_on_both(name: str, target: str) -> None:
    assert verdict(name, target) is None


@pytest.mark.parametrize(
    ("name", "target", "kind"),
    [
        ("NCCL_NVLS_ENABLE", "nccl-2.16.5", "other-release"),
        ("NCCL_NVLS_ENABLE", "nccl-2.17.1", None),
        ("NCCL_RINGS", "nccl-2.4.8", None),
        ("NCCL_RINGS", "nccl-2.5.6", "other-release"),
        ("NCCL_RINGS", "rocm-6.2", None),
        ("NCCL_RINGS", "", None),
        ("NCCL_LL_THRESHOLD", "", "retired"),
        ("NCCL_TREE_THRESHOLD", "cuda", "retired"),
        ("NCCL_MNNVL", "nccl-2.20.5", None),
        ("NCCL_MNNVL", "nccl-2.21.5", "other-release"),
        ("RCCL_MSCCL_ENABLE", "", None),
        ("RCCL_MSCCL_ENABLE", "rocm-6.2", None),
        ("RCCL_MSCCL_ENABLE", "rocm-7.14", "other-release"),
        ("RCCL_MSCCL_ENABLE", "cuda", "other-platform"),
        ("MIOPEN_FIND_MODE", "cuda", "other-platform"),
        ("MIOPEN_FIND_MODE", "rocm-6.2", None),
        ("NVIDIA_TF32_OVERRIDE", "rocm", "other-platform"),
        ("NVIDIA_TF32_OVERRIDE", "cuda", None),
        ("NCCL_ASYNC_ERROR_HANDLING", "", "deprecated"),
        ("NCCL_ASYNC_ERROR_HANDLING", "torch-2.1", None),
        ("NCCL_ASYNC_ERROR_HANDLING", "torch-2.2", "deprecated"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "torch-2.1.2", "other-release"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "torch-2.2.2", None),
    ],
)
def test_boundaries(name: str, target: str, kind: str | None) -> None:
    assert verdict(name, target) == kind


@pytest.mark.parametrize(
    ("name", "target", "kind"),
    [
        ("NCCL_NO_SUCH_SETTING_AT_ALL", "", "ghost"),
        ("NCCL_NO_SUCH_SETTING_AT_ALL", "nccl-2.21.5", "ghost"),
        ("NCCL_NO_SUCH_SETTING_AT_ALL", "nccl-2.40", "not-known"),
        ("NCCL_NO_SUCH_SETTING_AT_ALL", "rocm-6.2", "ghost"),
        ("NCCL_NO_SUCH_SETTING_AT_ALL", "rocm-7.2", "not-known"),
        ("NCCL_NO_SUCH_SETTING_AT_ALL", "rocm", "not-known"),
        ("RCCL_NO_SUCH_SETTING_AT_ALL", "", "not-known"),
        ("RCCL_NO_SUCH_SETTING_AT_ALL", "rocm-6.2", "ghost"),
    ],
)
def test_beyond_the_catalogue_is_not_known(name: str, target: str, kind: str) -> None:
    assert verdict(name, target) == kind


@pytest.mark.parametrize(
    "name",
    [
        "HCCL_DETERMINISTIC", "LCCL_DETERMINISTIC", "HCCL_CONNECT_TIMEOUT", "FLAGS_cudnn_deterministic", "UCX_WHATEVER",
        "NCCL_HOME", "NCCL_VERSION", "RCCL_PATH", "NCCL_TESTS_HOME", "NCCL_FASTRAK_NUM_FLOWS", "GPU_COUNT", "HIP_PATH",
        "TORCH_HOME", "MASTER_ADDR", "UCCL_IB_HCA", "OFI_NCCL_ROUND_ROBIN_THRESHOLD", "MY_NCCL_DETERMINISTIC",
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ["", "cuda", "rocm-6.2"])
def test_families_that_are_not_ours(name: str, target: str) -> None:
    assert verdict(name, target) in (None, "not-known")


def test_messages_say_what_was_looked_into() -> None:
    found = judge("NCCL_DETERMINISTIC", CATALOG, UNKNOWN)
    assert found is not None
    assert "NCCL (2.3.5-5 to 2.32.3)" in found.message
    assert "RCCL (ROCm 2.5.0 to" in found.message
    assert found.evidence
