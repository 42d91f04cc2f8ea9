"""What ROCR_, HIP_ and CUDA_VISIBLE_DEVICES leave, for a process and for the ranks of a job."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import examined
from recorded import folder_of

from envdoctor.node.live.target import target_of
from envdoctor.node.probes.host.masks import lay, left_by
from envdoctor.node.probes.parts import Device

AMD = [Device(i, "amd", key=str(0x5C0E0000 + i)) for i in range(4)]
NVIDIA = [Device(i, "nvidia", key=f"GPU-0000000{i}-aaaa") for i in range(4)]


@pytest.mark.parametrize(
    ("environment", "left"),
    [
        ({}, [0, 1, 2, 3]),
        ({"HIP_VISIBLE_DEVICES": "0"}, [0]),
        ({"HIP_VISIBLE_DEVICES": "2, 1"}, [2, 1]),
        ({"HIP_VISIBLE_DEVICES": "0,9,1"}, [0]),  # the list ends at what is no device
        ({"HIP_VISIBLE_DEVICES": "-1"}, []),
        ({"HIP_VISIBLE_DEVICES": ""}, [0, 1, 2, 3]),  # nothing is concluded from an empty one
        ({"CUDA_VISIBLE_DEVICES": "3"}, [3]),
        ({"CUDA_VISIBLE_DEVICES": "3", "HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1"}, [3]),  # HIP counts what ROCr leaves
        ({"ROCR_VISIBLE_DEVICES": "GPU-000000005c0e0002"}, [2]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-ffffffffffffffff"}, None),
        ({"ROCR_VISIBLE_DEVICES": "nonsense"}, None),
    ],
)
def test_masks_of_amd(environment: Mapping[str, str], left: list[int] | None) -> None:
    found = left_by(environment, AMD, "amd")
    assert (found and [device.index for device in found]) == left or (found == [] == left)


@pytest.mark.parametrize(
    ("environment", "left"),
    [
        ({"HIP_VISIBLE_DEVICES": "0"}, [0, 1, 2, 3]),
        ({"CUDA_VISIBLE_DEVICES": "1,2"}, [1, 2]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-00000003"}, [3]),
        ({"CUDA_VISIBLE_DEVICES": "MIG-00000000"}, None),
        ({"CUDA_VISIBLE_DEVICES": "GPU-0000000"}, None),  # the beginning of several
    ],
)
def test_masks_of_nvidia(environment: Mapping[str, str], left: list[int] | None) -> None:
    found = left_by(environment, NVIDIA, "nvidia")
    assert (found and [device.index for device in found]) == left


def hidden(environments: list[Mapping[str, str]]) -> list[int]:
    devices = [Device(i, "amd", key=str(i)) for i in range(4)]
    lay(environments, devices, "amd")
    return [device.index for device in devices if device.hidden]


def test_what_the_ranks_of_a_job_leave_together() -> None:
    ranks: list[Mapping[str, str]] = [{"HIP_VISIBLE_DEVICES": str(rank)} for rank in range(4)]
    assert hidden(ranks) == []
    assert hidden(ranks[:2]) == [2, 3]
    assert hidden([*ranks[:2], {"HIP_VISIBLE_DEVICES": "who knows"}]) == []
    assert hidden([]) == []


def test_numbers_in_masks_of_unlike_gpus_of_nvidia() -> None:
    for order, hidden_ones in ({}, [None, None]), ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [False, True]):
        devices = [Device(0, "nvidia", name="T400"), Device(1, "nvidia", name="A100")]
        assert lay([{"CUDA_VISIBLE_DEVICES": "0", **order}], devices, "nvidia") == 1
        assert [device.hidden for device in devices] == hidden_ones


def test_an_identity_in_a_mask_is_never_in_doubt() -> None:
    devices = [Device(0, "nvidia", name="T400", key="GPU-aaaa-1"), Device(1, "nvidia", name="A100", key="GPU-bbbb-2")]
    assert lay([{"CUDA_VISIBLE_DEVICES": "GPU-bbbb-2"}], devices, "nvidia") == 1
    assert [device.hidden for device in devices] == [True, False]


@given(st.text(max_size=40))
def test_any_mask(text: str) -> None:
    left_by({"ROCR_VISIBLE_DEVICES": text, "HIP_VISIBLE_DEVICES": text}, AMD, "amd")


def test_what_is_hidden_is_no_part_of_the_target() -> None:
    node = examined(folder_of("radeon-7900xtx-plus-igpu-hidden"))
    assert target_of(node).gpus == ("gfx1100",)
    assert [device.hidden for device in node.devices] == [False, True]
