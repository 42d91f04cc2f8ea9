"""The catalogue says what was found in sources and binaries: every name, and facts on both sides of a boundary."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.catalog.values import faults, unknown_words

DATA = json.loads((Path(__file__).parent / "data" / "catalogue-names.json").read_text(encoding="utf-8"))
COUNTS = {"nccl": 361, "rccl": 379, "frameworks": 847, "values": 177, "families": 32}


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    return load_catalog()


def variable(name: str) -> Any:
    found = catalog().variable(name)
    assert found is not None, name
    return found


@pytest.mark.parametrize(("kind", "count"), COUNTS.items())
def test_every_recorded_name_is_there(kind: str, count: int) -> None:
    assert len(DATA[kind]) == count
    known = {prefix.name for prefix in catalog().prefixes} if kind == "families" else set(catalog().variables)
    assert set(DATA[kind]) <= known


@pytest.mark.parametrize("library", ["nccl", "rccl"])
def test_releases_are_in_the_recorded_order(library: str) -> None:
    assert list(catalog().libraries[library].releases) == DATA[f"{library}_releases"]


@pytest.mark.parametrize("library", ["nccl", "rccl"])
def test_every_recorded_span(library: str) -> None:
    known = catalog().libraries[library]
    wrong = []
    for name, (since, until, *gaps) in DATA[library].items():
        reading = variable(name).read_by[library]
        first = known.releases.index(since)
        until = "6.3.0" if until == "6.3-staging" else until  # the branch is taken for the release
        last = known.releases.index(until) if until else len(known.releases) - 1
        for place, label in enumerate(known.releases):
            state = reading.state(known, place)
            if label in (gaps[0] if gaps else ()):
                right = state is False
            elif first <= place <= last:
                right = state is True or label in reading.unsure
            else:
                right = state is not True or (reading.pinned and known.releases.index(reading.since) <= place)
            if not right:
                wrong.append((name, label, state))
    assert not wrong


def test_ghosts_have_no_readers_and_what_is_read_is_no_ghost() -> None:
    for name in (*DATA["nccl"], *DATA["rccl"]):
        assert variable(name).status not in ("ghost", "documented-only"), name
    for known in catalog().variables.values():
        assert (known.status in ("ghost", "documented-only")) == (not known.readings), known.name


READ = [
    ("NCCL_ALGO", "nccl", "2.4.8", False), ("NCCL_ALGO", "nccl", "2.5.6", True), ("NCCL_ALGO", "rccl", "3.1", False),
    ("NCCL_ALGO", "rccl", "3.3", True), ("NCCL_CHUNK_SIZE", "nccl", "2.11.4", False),
    ("NCCL_CHUNK_SIZE", "nccl", "2.12.7", True), ("NCCL_CHUNK_SIZE", "rccl", "5.2.1", False),
    ("NCCL_CHUNK_SIZE", "rccl", "5.2.3", True), ("NCCL_NVLS_ENABLE", "nccl", "2.16.5", False),
    ("NCCL_NVLS_ENABLE", "nccl", "2.17.1", True), ("NCCL_RINGS", "nccl", "2.4.8", True),
    ("NCCL_RINGS", "nccl", "2.5.6", False), ("NCCL_RINGS", "rccl", "3.3", False), ("NCCL_RINGS", "rccl", "3.8", True),
    ("NCCL_RINGS", "rccl", "6.2", True), ("NCCL_TREE_THRESHOLD", "nccl", "2.20.5", False),
    ("NCCL_LL_THRESHOLD", "rccl", "3.1", True), ("NCCL_LL_THRESHOLD", "rccl", "6.2.4", False),
    ("NCCL_MNNVL", "nccl", "2.20.5", True), ("NCCL_MNNVL", "nccl", "2.21.5", False),
    ("NCCL_MNNVL_ENABLE", "nccl", "2.20.5", False), ("NCCL_MNNVL_ENABLE", "nccl", "2.21.5", True),
    ("NCCL_WORK_FIFO_DEPTH", "nccl", "2.21.5", True), ("NCCL_WORK_FIFO_DEPTH", "nccl", "2.22.3", False),
    ("NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS", "nccl", "2.16.2", True),
    ("NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS", "nccl", "2.16.5", False),
    ("RCCL_RCCL_INTRANET_THRESHOLD", "rccl", "5.0", True), ("RCCL_RCCL_INTRANET_THRESHOLD", "rccl", "5.1", False),
    ("RCCL_TREES", "rccl", "5.7", False), ("RCCL_TREES", "rccl", "6.0", True),
    ("RCCL_MSCCL_ENABLE", "rccl", "5.4", False), ("RCCL_MSCCL_ENABLE", "rccl", "5.5", True),
    ("RCCL_MSCCL_ENABLE", "rccl", "7.12", True), ("RCCL_MSCCL_ENABLE", "rccl", "7.13", False),
    ("RCCL_MSCCLPP_ENABLE", "rccl", "6.2", False), ("RCCL_MSCCLPP_ENABLE", "rccl", "6.3", True),
    ("RCCL_OVERRIDE_ALGO", "rccl", "6.3", False), ("RCCL_OVERRIDE_ALGO", "rccl", "6.4", False),
    ("RCCL_OVERRIDE_ALGO", "rccl", "7.0", True), ("RCCL_SOCKET_LINGER", "rccl", "6.3", False),
    ("RCCL_SOCKET_LINGER", "rccl", "6.4", True), ("NCCL_PAT_ENABLE", "rccl", "6.4", None),
    ("NCCL_WORK_FIFO_DEPTH", "rccl", "6.4", None), ("NCCL_WORK_FIFO_DEPTH", "rccl", "7.0-pre", False),
    ("NCCL_P2P_MAX_PEERS", "rccl", "6.2", False), ("NCCL_P2P_MAX_PEERS", "rccl", "7.14", None),
    ("RCCL_ALGO", "rccl", "6.2", False), ("RCCL_ALGO", "rccl", "7.2", None), ("NCCL_ALGO", "nccl", "2.40.1", None),
    ("NCCL_ALGO", "nccl", "2.1.2", None), ("NCCL_SOCKET_RETRY_CNT", "nccl", "2.24", True),
    ("NCCL_IB_SPLIT_DATA_ON_QPS", "nccl", "2.17.1", False), ("RCCL_DDA_ENABLE", "rccl", "7.14", None),
    ("NCCL_ASYNC_ERROR_HANDLING", "torch", "2.14.1", True),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "torch", "2.1.2", False),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "torch", "2.2", True),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "torch", "2.2.0", None),
    ("HIPBLASLT_ALLOW_TF32", "torch", "2.6", False), ("HIPBLASLT_ALLOW_TF32", "torch", "2.9", True),
    ("HIPBLASLT_ALLOW_TF32", "torch", "2.10.0", False), ("HIPBLASLT_ALLOW_TF32", "torch", "2.4.1", None),
    ("PYTORCH_ALLOC_CONF", "torch", "2.8", False), ("PYTORCH_ALLOC_CONF", "torch", "2.9.1+rocm6.4", True),
    ("TORCH_NCCL_ABORT_IN_DESTROY_PG", "torch", "2.4.1", False),
    ("MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC", "miopen", "5.0", False),
    ("MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC", "miopen", "5.1", True), ("MIOPEN_FIND_MODE", "miopen", "6.2", True),
    ("MIOPEN_DEBUG_USE_HIPRTC", "miopen", "6.2", True), ("MIOPEN_DEBUG_DISABLE_USER_DB", "miopen", "6.2", False),
    ("MIOPEN_DEBUG_DISABLE_USER_DB", "miopen", "7.1", None),
    ("ROCBLAS_DEFAULT_ATOMICS_MODE", "rocblas", "6.1", False), ("ROCBLAS_DEFAULT_ATOMICS_MODE", "rocblas", "6.2", True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "library", "version", "read"), READ)
def test_who_reads_what_when(name: str, library: str, version: str, read: bool | None) -> None:
    assert variable(name).read_in(catalog(), library, version) is read


MEANT = {
    "RCCL_ALGO": "NCCL_ALGO", "RCCL_PROTO": "NCCL_PROTO", "RCCL_DEBUG": "NCCL_DEBUG",
    "RCCL_CHUNK_SIZE": "NCCL_CHUNK_SIZE",
    "RCCL_DISABLE_P2P": "NCCL_P2P_DISABLE", "NCCL_MAX_P2P_PEERS": "NCCL_P2P_MAX_PEERS", "RCCL_TIMEOUT": None,
    "NCCL_DETERMINISTIC": None, "RCCL_DETERMINISTIC": None, "NCCL_TIMEOUT": None, "NCCL_RETRY_COUNT": None,
    "RCCL_TOPO_ENABLE": None, "HIP_API_BLOCKING": "HIP_LAUNCH_BLOCKING", "NCCL_CHECKS_DISABLE": None,
    "PYTHON_HASH_SEED": "PYTHONHASHSEED",
}  # fmt: skip


@pytest.mark.parametrize(("name", "meant"), MEANT.items())
def test_what_a_ghost_was_meant_to_be(name: str, meant: str | None) -> None:
    ghost = variable(name)
    assert ghost.status in ("ghost", "documented-only")
    assert ghost.meant == meant
    assert ghost.meant or ghost.instead


def test_an_rccl_ghost_with_a_real_twin_means_the_twin() -> None:
    real = set(catalog().real_names())
    for name, known in catalog().variables.items():
        twin = name.replace("RCCL_", "NCCL_", 1)
        if known.status == "ghost" and name.startswith("RCCL_") and twin in real:
            assert known.meant == twin


@pytest.mark.parametrize(
    ("name", "platform"),
    [("NCCL_ALGO", "both"), ("RCCL_MSCCL_ENABLE", "rocm"), ("NCCL_NVLS_ENABLE", "cuda"),
    ("NVIDIA_TF32_OVERRIDE", "cuda"),
     ("MIOPEN_FIND_MODE", "rocm"), ("HIPBLASLT_ALLOW_TF32", "rocm"), ("HCCL_DETERMINISTIC", "ascend"),
     ("NCCL_CUMEM_ENABLE", "both"), ("CUBLAS_WORKSPACE_CONFIG", "both"), ("RCCL_ALGO", "rocm")],
)  # fmt: skip
def test_platforms(name: str, platform: str) -> None:
    assert variable(name).platform == platform


@pytest.mark.parametrize(
    ("name", "family"),
    [("NCCL_FOO", "NCCL_"), ("TORCH_NCCL_FOO", "TORCH_NCCL_"), ("TORCH_FOO", "TORCH_"), ("OFI_NCCL_FOO", "OFI_NCCL_"),
     ("PYTORCH_TUNABLEOP_FOO", "PYTORCH_TUNABLEOP_"), ("HCCL_FOO", "HCCL_"), ("FLAGS_cudnn_deterministic", "FLAGS_"),
     ("MASTER_ADDR", None)],
)  # fmt: skip
def test_families(name: str, family: str | None) -> None:
    found = catalog().prefix_of(name)
    assert (found and found.name) == family


def test_families_of_others_are_foreign_and_ours_are_closed_where_the_list_is_complete() -> None:
    families = {prefix.name: prefix for prefix in catalog().prefixes}
    assert all(families[name].foreign for name in ("HCCL_", "LCCL_", "ASCEND_", "FLAGS_", "DS_", "UCX_", "OMPI_"))
    assert families["NCCL_"].complete == {"nccl": ("2.3.5-5", "2.32.3"), "rccl": ("2.5.0", "6.3-staging")}
    closed = {name for name, prefix in families.items() if prefix.closed}
    assert closed == {"NCCL_", "RCCL_", "TORCH_NCCL_", "PYTORCH_TUNABLEOP_"}
    assert "NCCL_HOME" in families["NCCL_"].build and "NCCL_TESTS_" in families["NCCL_"].private


@pytest.mark.parametrize(
    ("name", "retired"),
    [("NCCL_TREE_THRESHOLD", True), ("NCCL_LL_THRESHOLD", True), ("NCCL_IB_CUDA_SUPPORT", True), ("NCCL_RINGS", False),
     ("RCCL_MSCCL_ENABLE", False), ("NCCL_WORK_FIFO_DEPTH", False), ("NCCL_ALGO", False),
    ("NCCL_DETERMINISTIC", False)],
)  # fmt: skip
def test_retired_means_in_no_release_that_is_in_use(name: str, retired: bool) -> None:
    assert variable(name).retired(catalog()) is retired


CUDA, ROCM = {"platform": "cuda"}, {"platform": "rocm"}
FAULTS: list[tuple[str, str, dict[str, Any], str | None]] = [
    ("NCCL_P2P_DISABLE", "true", {}, "misread"), ("NCCL_P2P_DISABLE", "false", {}, None),
    ("NCCL_P2P_DISABLE", "1", {}, None),
    ("NCCL_P2P_DISABLE", "2", {}, "ignored"), ("NCCL_IB_DISABLE", "2", {}, None), ("NCCL_IB_DISABLE", "0x1", {}, None),
    ("NCCL_BUFFSIZE", "4M", {}, "misread"), ("NCCL_BUFFSIZE", "4194304B", {}, None), ("NCCL_BUFFSIZE", "", {}, None),
    ("NCCL_BUFFSIZE", '"4194304"', {}, "misread"), ("NCCL_MAX_NCHANNELS", "many", {}, "misread"),
    ("NCCL_MAX_NCHANNELS", "-2", {}, None), ("NCCL_MAX_NCHANNELS", "112", {}, None),
    ("NCCL_MAX_NCHANNELS", "112", CUDA, "replaced"), ("NCCL_MAX_NCHANNELS", "112", ROCM, None),
    ("NCCL_MAX_NCHANNELS", "112", ROCM | {"versions": {"rocm": "6.0"}}, "replaced"),
    ("NCCL_MAX_NCHANNELS", "64", CUDA | {"versions": {"nccl": "2.20.5"}}, "replaced"),
    ("NCCL_MAX_NCHANNELS", "64", CUDA | {"versions": {"nccl": "2.25.1"}}, None),
    ("NCCL_NTHREADS", "1", {}, "replaced"), ("NCCL_NTHREADS", "512", {}, None),
    ("NCCL_NTHREADS", "1024", CUDA, "replaced"),
    ("NCCL_NTHREADS", "512", ROCM | {"versions": {"rocm": "6.2"}}, "replaced"), ("NCCL_NTHREADS", "0", {}, None),
    ("NCCL_IB_TIMEOUT", "300", {}, "misread"), ("NCCL_IB_TIMEOUT", "22", {}, None), ("NCCL_IB_TIMEOUT", "31", {}, None),
    ("NCCL_SOCKET_NTHREADS", "32", {}, "replaced"), ("NCCL_SOCKET_IFNAME", "e", {}, "ignored"),
    ("NCCL_SOCKET_IFNAME", "eth0, eth1", {}, "misread"), ("NCCL_SOCKET_IFNAME", "^docker,lo", {}, None),
    ("NCCL_IB_HCA", "mlx5_0,mlx5_1:1", {}, None), ("NCCL_IB_HCA", "^=mlx5_0", {}, None),
    ("NCCL_IB_HCA", "mlx5_0, mlx5_1", {}, "misread"), ("NCCL_IB_HCA", "mlx5_0,:1", {}, "ignored"),
    ("NCCL_ALGO", "Ring", {}, None), ("NCCL_ALGO", "^NVLS,NVLSTree", {}, None),
    ("NCCL_ALGO", "ring,tree;allreduce:tree", {}, None),
    ("NCCL_ALGO", "Rign", {}, "refused"), ("NCCL_ALGO", "Rign", CUDA | {"versions": {"nccl": "2.21.5"}}, "ignored"),
    ("NCCL_ALGO", "Rign", CUDA | {"versions": {"nccl": "2.28.9"}}, "refused"), ("NCCL_ALGO", "Ring,", {}, None),
    ("NCCL_ALGO", "CollNet", {}, None), ("NCCL_ALGO", "CollNet", CUDA | {"versions": {"nccl": "2.14.3"}}, "ignored"),
    ("NCCL_ALGO", "allreduce:ring", CUDA | {"versions": {"nccl": "2.20.5"}}, "ignored"),
    ("NCCL_ALGO", "allreduce:ring", CUDA | {"versions": {"nccl": "2.24.3"}}, None),
    ("NCCL_ALGO", "Ring;Tree", CUDA | {"versions": {"nccl": "2.24.3"}}, "refused"), ("NCCL_ALGO", "", {}, None),
    ("NCCL_ALGO", "", CUDA | {"versions": {"nccl": "2.20.5"}}, "replaced"), ("NCCL_ALGO", "Ring, Tree", {}, "refused"),
    ("NCCL_PROTO", "ring", {}, "refused"), ("NCCL_PROTO", "ll128,SIMPLE", {}, None),
    ("NCCL_DEBUG", "ERROR", CUDA, "ignored"), ("NCCL_DEBUG", "ERROR", ROCM, None), ("NCCL_DEBUG", "ERROR", {}, None),
    ("NCCL_DEBUG", "DEBUG", {}, "ignored"), ("NCCL_DEBUG", "info", {}, None), ("NCCL_DEBUG", "0", CUDA, None),
    ("NCCL_DEBUG_SUBSYS", "INIT,GRAPH", {}, None), ("NCCL_DEBUG_SUBSYS", "^INIT,NETWORK", {}, "ignored"),
    ("NCCL_DEBUG_SUBSYS", "RAS", CUDA | {"versions": {"nccl": "2.20.5"}}, "ignored"),
    ("NCCL_DEBUG_FILE", "/tmp/nccl.%h.%p", {}, None), ("NCCL_DEBUG_FILE", "/tmp/nccl.%r", {}, "misread"),
    ("NCCL_P2P_LEVEL", "nvl", {}, "ignored"), ("NCCL_P2P_LEVEL", "PHB", {}, None), ("NCCL_P2P_LEVEL", "5", {}, None),
    ("NCCL_P2P_LEVEL", "9", {}, "replaced"), ("NCCL_P2P_LEVEL", "-1", {}, "ignored"),
    ("NCCL_P2P_LEVEL", "NVL", {}, None),
    ("NCCL_P2P_LEVEL", "NVL", ROCM, "ignored"), ("NCCL_P2P_LEVEL", "XGMI", CUDA, "ignored"),
    ("NCCL_NVLS_ENABLE", "true", CUDA, "misread"), ("NCCL_LAUNCH_MODE", "SERIAL", {}, "replaced"),
    ("NCCL_CTA_POLICY", "ZERO|EFFICIENCY", CUDA | {"versions": {"nccl": "2.29.2"}}, "replaced"),
    ("NCCL_GIN_ENABLE", "on", {}, "misread"), ("RCCL_MSCCL_ENABLE", "true", {}, "misread"),
    ("RCCL_OVERRIDE_ALGO", "Ring,Tree", {}, "refused"), ("RCCL_OVERRIDE_ALGO", "ring", {}, None),
    ("TORCH_NCCL_BLOCKING_WAIT", "on", {}, "refused"), ("TORCH_NCCL_BLOCKING_WAIT", "True", {}, None),
    ("TORCH_NCCL_BLOCKING_WAIT", "", {}, "refused"), ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "true", {}, "refused"),
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "600s", {}, "misread"),
    ("CUBLAS_WORKSPACE_CONFIG", "4096:8", {}, "ignored"), ("CUBLAS_WORKSPACE_CONFIG", ":4096:8", {}, None),
    ("CUBLAS_WORKSPACE_CONFIG", ":16:8", CUDA, None), ("CUBLAS_WORKSPACE_CONFIG", ":4096:2", CUDA, "misread"),
    ("CUBLAS_WORKSPACE_CONFIG", ":4096:2", ROCM, None), ("CUBLAS_WORKSPACE_CONFIG", ":4096:2", {}, "misread"),
    ("CUBLAS_WORKSPACE_CONFIG", "1", {}, "ignored"),
    ("CUBLAS_WORKSPACE_CONFIG", '":4096:8"', {}, "misread"), ("CUBLASLT_WORKSPACE_SIZE", "4M", {}, "misread"),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:512", {}, None),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:true", {}, "refused"),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments=True", {}, "refused"),
    ("PYTORCH_TUNABLEOP_ENABLED", "true", {}, "ignored"), ("PYTORCH_TUNABLEOP_ENABLED", "0", {}, None),
    ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "true", {}, "ignored"), ("TORCHINDUCTOR_MAX_AUTOTUNE", "on", {}, "ignored"),
    ("PYTHONHASHSEED", "0", {}, None), ("PYTHONHASHSEED", "random", {}, None), ("PYTHONHASHSEED", "-1", {}, "refused"),
    ("PYTHONHASHSEED", "0x10", {}, "refused"), ("PYTHONHASHSEED", "4294967296", {}, "refused"),
    ("PYTHONHASHSEED", "4294967295", {}, None), ("PYTHONHASHSEED", "", {}, None),
    ("MIOPEN_FIND_MODE", "NORMAL", {}, None), ("MIOPEN_FIND_MODE", "fast", {}, None),
    ("MIOPEN_FIND_MODE", "2", {}, None),
    ("MIOPEN_FIND_MODE", "NORMAL", {"comment": "deterministic convolutions"}, "misread"),
    ("MIOPEN_FIND_MODE", "1", {"comment": "disable auto-tuning"}, "misread"),
    ("MIOPEN_FIND_MODE", "NORMAL", {"comment": "full search on the first run"}, None),
    ("MIOPEN_FIND_MODE", "NORMAL", {"comment": "fastest solver, not deterministic"}, None),
    ("MIOPEN_FIND_MODE", "normal", {"comment": "Reproducible:\nno tuning"}, "misread"),
    ("MIOPEN_FIND_MODE", "FAST", {"comment": "deterministic convolutions"}, None),
    ("MIOPEN_FIND_MODE", "DETERMINISTIC", {}, "refused"), ("MIOPEN_FIND_MODE", "9", {}, "replaced"),
    ("MIOPEN_FIND_ENFORCE", "CLEAN", {}, "refused"), ("MIOPEN_FIND_ENFORCE", "3", {}, None),
    ("MIOPEN_FIND_ENFORCE", "0", {}, "replaced"), ("MIOPEN_DEBUG_FIND_ONLY_SOLVER", "1", {}, "misread"),
    ("MIOPEN_DEBUG_FIND_ONLY_SOLVER", "ConvAsm1x1U;ConvAsm3x3U", {}, None),
    ("MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC", "2", {}, "refused"),
    ("MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC", "On", {}, None),
    ("MIOPEN_DEBUG_CONV_GEMM", "none", {}, "refused"), ("MIOPEN_LOG_LEVEL", "INFO", {}, "misread"),
    ("HSA_FORCE_FINE_GRAIN_PCIE", "true", {}, "ignored"), ("HSA_FORCE_FINE_GRAIN_PCIE", "0", {}, None),
    ("HSA_ENABLE_SDMA", "false", {}, "ignored"), ("HSA_ENABLE_INTERRUPT", "off", {}, "ignored"),
    ("HSA_ENABLE_INTERRUPT", "true", {}, None), ("HSA_OVERRIDE_GFX_VERSION", "gfx942", {}, "refused"),
    ("HSA_OVERRIDE_GFX_VERSION", "9.4.2", {}, None), ("HIP_FORCE_DEV_KERNARG", "True", {}, "misread"),
    ("HIP_FORCE_DEV_KERNARG", "true", {}, None), ("GPU_MAX_HW_QUEUES", "two", {}, "misread"),
    ("ROCR_VISIBLE_DEVICES", "0,1,GPU-1f2e3d", {}, None), ("ROCR_VISIBLE_DEVICES", "0,0", {}, "misread"),
    ("ROCR_VISIBLE_DEVICES", "0,gpu1", {}, "misread"), ("ROCR_VISIBLE_DEVICES", "0, 1", {}, None),
    ("ROCR_VISIBLE_DEVICES", "10,1,0", {}, None), ("ROCR_VISIBLE_DEVICES", "-1", {}, None),
    ("ROCR_VISIBLE_DEVICES", "0,-1", {}, "misread"),
    ("HIP_VISIBLE_DEVICES", "0,1,2,3", {}, None), ("HIP_VISIBLE_DEVICES", "0, 1", {}, "misread"),
    ("HIP_VISIBLE_DEVICES", "gpu0", {}, "misread"), ("HIP_VISIBLE_DEVICES", "-1", {}, None),
    ("HIP_VISIBLE_DEVICES", "7", {}, None),
    ("HIP_VISIBLE_DEVICES", "0,GPU-0123456789abcdef", {}, None), ("CUDA_VISIBLE_DEVICES", "0,2,-1,1", {}, "misread"),
    ("CUDA_VISIBLE_DEVICES", "-1", {}, None), ("CUDA_VISIBLE_DEVICES", "0,1", {}, None),
    ("ROCBLAS_DEFAULT_ATOMICS_MODE", "on", {}, "misread"), ("ROCBLAS_DEFAULT_ATOMICS_MODE", "off", {}, None),
    ("NVTE_ALLOW_NONDETERMINISTIC_ALGO", "false", {}, "refused"), ("NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0", {}, None),
    ("NVTE_FUSED_ATTN_CK", "false", {}, "ignored"), ("NVTE_USE_HIPBLASLT", "0", {}, "misread"),
    ("NVTE_CK_IS_V3_ATOMIC_FP32", "0", {"comment": "deterministic backward"}, "misread"),
    ("NVTE_CK_IS_V3_ATOMIC_FP32", "0", {}, None), ("OFI_NCCL_PROTOCOL", "TCP", {}, "refused"),
    ("FLASH_ATTENTION_TRITON_AMD_ENABLE", "TRUE", {}, None),
    ("FLASH_ATTENTION_TRITON_AMD_ENABLE", "true", {}, "ignored"),
    ("NCCL_IB_SL", "99", {}, None), ("NVIDIA_TF32_OVERRIDE", "1", {}, None),
    ("TORCH_BLAS_PREFER_HIPBLASLT", "true", {}, None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "target", "verdict"), FAULTS)
def test_what_a_value_does(name: str, text: str, target: dict[str, Any], verdict: str | None) -> None:
    found = faults(variable(name), catalog(), text, **target)
    assert (found[0].verdict if found else None) == verdict


def test_the_most_special_statement_comes_first() -> None:
    found = faults(variable("NCCL_ALGO"), catalog(), "Rign", platform="cuda", versions={"nccl": "2.21.5"})
    assert "Ring is used" in found[0].effect
    assert len(found) == 2


def test_unknown_words_are_named() -> None:
    algo = variable("NCCL_ALGO")
    assert unknown_words(algo, catalog(), "^Ring,Rign;allreduce:Tre") == ["Rign", "Tre"]
    assert unknown_words(algo, catalog(), "PAT", "cuda", {"nccl": "2.22.3"}) == ["PAT"]
    assert unknown_words(algo, catalog(), "PAT", "cuda", {"nccl": "2.23.4"}) == []


def test_statements_for_one_library_do_not_speak_where_the_other_may_read_it_too() -> None:
    for known in catalog().variables.values():
        for bad in known.bad:
            assert bad.library == "" or bad.library in known.read_by, known.name


@pytest.mark.parametrize(
    ("name", "need"),
    [("NCCL_DEBUG_FILE", ("NCCL_DEBUG", ("WARN", "INFO", "ABORT", "TRACE"), False)),
     ("NCCL_IB_HCA", ("NCCL_IB_DISABLE", ("0",), True)), ("RCCL_IB_QPS_PER_P2P", ("NCCL_IB_DISABLE", ("0",), True)),
     ("PYTORCH_TUNABLEOP_TUNING", ("PYTORCH_TUNABLEOP_ENABLED", ("1",), False))],
)  # fmt: skip
def test_needs(name: str, need: tuple[str, tuple[str, ...], bool]) -> None:
    settings = [n.setting for n in variable(name).needs if n.setting]
    assert need in [(s.name, s.words, s.unset) for s in settings]


def test_conflicts_stand_on_both_sides() -> None:
    off = next(c for c in variable("NCCL_P2P_DISABLE").conflicts if c.with_name == "NCCL_P2P_LEVEL")
    level = next(c for c in variable("NCCL_P2P_LEVEL").conflicts if c.with_name == "NCCL_P2P_DISABLE")
    assert off.winner == level.winner == "NCCL_P2P_DISABLE"
    assert off.when == level.with_when


def test_names_of_plug_ins_are_real_under_a_condition() -> None:
    for name in ("NCCL_DYNAMIC_CHUNK_SIZE", "NCCL_GPUDIRECTTCPX_FORCE_ACK", "NCCL_SHARP_DISABLE", "OFI_NCCL_PROTOCOL"):
        known = variable(name)
        assert known.status == "real" and known.file == "network-plugins.toml"
        assert all("plug-in is loaded" in reading.condition for reading in known.readings), name


def test_defaults_that_differ_between_nccl_and_rccl() -> None:
    pxn = variable("NCCL_PXN_DISABLE").read_by
    assert pxn["nccl"].default[-1][1] == "0" and pxn["rccl"].default[-1][1] == "1"
    assert variable("NCCL_DMABUF_ENABLE").read_by["rccl"].default == (("5.4.0", "0"), ("7.12", "1"))


def test_the_nccl_release_under_rccl() -> None:
    base = catalog().libraries["rccl"].base
    assert base["6.2"] == "2.20.5" and base["7.0"] == "2.26.6" and base["7.14"] == "2.30.4"
