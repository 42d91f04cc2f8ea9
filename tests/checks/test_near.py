"""Near names: at most one suggestion, and only where it is plain."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from envdoctor.checks.names import near
from envdoctor.checks.names.verdicts import is_current
from envdoctor.core.target import UNKNOWN
from envdoctor.knowledge.catalog.load import load_catalog

CATALOG = load_catalog()
REAL = CATALOG.real_names()


def nearest(name: str) -> str | None:
    return near.nearest(name, REAL, lambda n: is_current(n, CATALOG, UNKNOWN))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("RCCL_IB_HCA", "NCCL_IB_HCA"),
        ("RCCL_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT"),
        ("NCCL_MSCCL_ENABLE", "RCCL_MSCCL_ENABLE"),
        ("NCCL_DISABLE_P2P", "NCCL_P2P_DISABLE"),
        ("NCCL_DISABLE_SHM", "NCCL_SHM_DISABLE"),
        ("NCCL_ENABLE_NVLS", "NCCL_NVLS_ENABLE"),
        ("NCCL_MAX_CHANNELS", "NCCL_MAX_NCHANNELS"),
        ("NCCL_MIN_NCHANNEL", "NCCL_MIN_NCHANNELS"),
        ("NCCL_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_GID_INDEX", "NCCL_IB_GID_INDEX"),
        ("NCCL_GDR_LEVEL", "NCCL_NET_GDR_LEVEL"),
        ("NCCL_BUFFERSIZE", "NCCL_BUFFSIZE"),
        ("NCCL_BUFSIZE", "NCCL_BUFFSIZE"),
        ("NCCL_NET_GDR_LEVLE", "NCCL_NET_GDR_LEVEL"),
        ("CUBLAS_WORKSPACE_CONIFG", "CUBLAS_WORKSPACE_CONFIG"),
        ("CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES"),
        ("HIP_VISIBLE_DEVICE", "HIP_VISIBLE_DEVICES"),
        ("ROCR_VISIBLE_DEVICE", "ROCR_VISIBLE_DEVICES"),
        ("PYTHONHASHEED", "PYTHONHASHSEED"),
        ("PYTHON_HASHSEED", "PYTHONHASHSEED"),
        ("MIOPEN_FINDMODE", "MIOPEN_FIND_MODE"),
    ],
)
def test_plain_slips(written: str, meant: str) -> None:
    assert nearest(written) == meant


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_DETERMINISTIC",  # one letter from Ascend's name, and not what was meant
        "NCCL_TIMEOUT",  # one word short of NCCL_IB_TIMEOUT, which is something else
        "NCCL_TIMEOUT_MS",
        "NCCL_P2P_ENABLE",  # the opposite of NCCL_P2P_DISABLE
        "NCCL_IB_ENABLE",
        "NCCL_LOGGING_OPTIONS",
        "NCCL_FOO",
        "NCCL_",
        "HIP_DEVICE",
        "GPU_COUNT",
    ],
)
def test_no_guessing(name: str) -> None:
    assert nearest(name) is None


@given(st.sampled_from(REAL), st.data())
def test_a_suggestion_is_real_and_never_the_name_itself(name: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(name) - 1))
    slip = name[:cut] + name[cut + 1 :]
    assume(slip not in REAL)  # VHSAKMT_DEBUG_LEVEL without its first letter is another real name, and no slip
    meant = nearest(slip)
    assert meant is None or (meant in REAL and meant != slip)


@given(st.text(alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", max_size=40))
def test_arbitrary_names_never_raise(name: str) -> None:
    assert nearest(name) in (None, *REAL)
