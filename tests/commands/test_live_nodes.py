"""The recorded nodes: every expected flag has its rule, healthy ones are quiet, and a fault put right goes silent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from node_trees import Edit, edited, judged, judged_as_recorded, judged_with, names_at
from recorded import NAMES, folder_of, paths_of, told

from envdoctor.reports.node.lines import SAY

RULE_OF_FLAG = {
    "loaded-ccl-differs-from-torch-header": "collectives-library-differs",
    "loaded-ccl-differs-from-rocm-install": "collectives-library-differs",
    "torch-built-against-other-ccl": "collectives-library-differs",
    "two-ccl-libraries-mapped": "mixed-rocm-libraries",
    "two-hip-runtimes-mapped": "mixed-rocm-libraries",
    "libraries-of-two-rocm-installs-mapped": "mixed-rocm-libraries",
    "rocm-path-differs-from-loaded": "mixed-rocm-libraries",
    "ld-preload-of-ccl": "library-override",
    "ld-library-path-names-a-second-librccl": "library-override",
    "unknown-nccl-variable": "misnamed-variable",
    "ccl-algo-token-unknown": "bad-value",
    "tf32-override": "precision-override",
    "nvls-run-to-run-risk": "nvls-may-differ",
    "nccl-conf-file-in-effect": "conf-file",
    "nccl-conf-ignored-by-rccl": "conf-file",
    "perf-level-differs-between-gpus": "unequal-gpus",
    "partition-mode-not-spx": "partition-mode",
    "more-logical-than-physical-gpus": "partition-mode",
    "iommu-pt-missing": "host-tuning",
    "numa-balancing-on": "host-tuning",
    "memlock-limited": "small-limits",
    "shm-small": "small-limits",
    "userspace-newer-than-driver-support": "untested-driver-pair",
    "several-rocm-installs": "several-rocm-installs",
    "hsa-override-gfx-version-set": "gfx-override",
    "kfd-permission": "device-denied",
    "torch-sees-no-gpu": "device-denied",
    "multi-rank-one-gpu": "shared-gpu",
}
"""Flag of a recorded node -> the rule that says it."""


def flags(name: str) -> list[str]:
    return [flag.partition(":")[0] for flag in told(name)["expect"]["flags"]]


@pytest.mark.parametrize("name", NAMES)
def test_every_flag_has_its_rule_and_nothing_else_speaks(name: str) -> None:
    expected = {RULE_OF_FLAG[flag] for flag in flags(name)}
    findings = judged_as_recorded(name).findings
    assert expected <= names_at(findings)
    # Beyond its flags: a folder of LD_LIBRARY_PATH with another RCCL than the one in use is worth a warning.
    also = {"mi300x-rocm-7.0-container": {"library-override"}}
    assert names_at(findings, "error", "warning") <= expected | also.get(name, set())


@pytest.mark.parametrize("name", [name for name in NAMES if not flags(name)])
def test_healthy_nodes_are_quiet(name: str) -> None:
    assert names_at(judged_as_recorded(name).findings, "error", "warning") == set()


def test_all_flags_are_mapped() -> None:
    assert {flag for name in NAMES for flag in flags(name)} == set(RULE_OF_FLAG)


@pytest.mark.parametrize("name", NAMES)
def test_files_alone_never_say_more(name: str) -> None:
    whole = {(f.name, f.place.path) for f in judged_as_recorded(name).findings if f.severity != "info"}
    alone = {(f.name, f.place.path) for f in judged(folder_of(name), depth="files").findings if f.severity != "info"}
    assert alone <= whole


ENVIRON, MAPS = "root/proc/self/environ", "root/proc/self/maps"
H100, TWO, CPX = "h100-8gpu-cuda-12.4", "mi300x-two-rocm-installs", "mi300x-cpx-nps4-rocm-6.3"
CONTAINER, MI250, DENIED = "mi300x-rocm-7.0-container", "mi250x-8gcd-rocm-5.7", "no-gpu-access-kfd-denied"
SIMULATED = "recorded-h200-1gpu-nccl-2.28"
DISTRIBUTION_NCCL = "/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.3"


def environ(old: str, new: str = "") -> Edit:
    return {"file": ENVIRON, "replace": old, "code": new}


def unmapped(path: str) -> Edit:
    return {"file": MAPS, "without": path}


def cards(name: str, file: str, text: str) -> list[Edit]:
    return [{"file": path, "code": text} for path in paths_of(name, f"root/sys/class/drm/card*/device/{file}")]


NO_PRELOAD = [environ(f"LD_PRELOAD={DISTRIBUTION_NCCL.removesuffix('.18.3')}\0"), unmapped(DISTRIBUTION_NCCL)]
ONE_ROCM = [
    environ("ROCM_PATH=/opt/rocm-6.1.2", "ROCM_PATH=/opt/rocm-6.2.4"),
    {"file": "root/etc/alternatives/rocm", "remove": "yes"},
    {"file": "root/opt/rocm-6.1.2", "remove": "yes"},
    {"file": "root/etc/ld.so.conf.d/10-rocm-opencl.conf", "remove": "yes"},
    unmapped("/opt/rocm-6.1.2"),
]
REPAIRS: list[tuple[str, str, Sequence[Edit]]] = [
    # (node, rule that then says nothing, what is put right)
    (H100, "misnamed-variable", [environ("NCCL_ALOG", "NCCL_ALGO")]),
    (H100, "precision-override", [environ("NVIDIA_TF32_OVERRIDE=1\0")]),
    (H100, "nvls-may-differ", [environ("NCCL_NVLS_ENABLE=1", "NCCL_NVLS_ENABLE=0")]),
    (H100, "nvls-may-differ", [environ("NCCL_NVLS_ENABLE=1", "NCCL_ALGO=Ring")]),
    (H100, "nvls-may-differ", [environ("NCCL_NVLS_ENABLE=1", "NCCL_ALGO=^NVLS,NVLSTree")]),
    (H100, "conf-file", [{"file": "root/etc/nccl.conf", "remove": "yes"}]),
    (H100, "library-override", NO_PRELOAD),
    (H100, "mixed-rocm-libraries", NO_PRELOAD),
    (TWO, "several-rocm-installs", ONE_ROCM),
    (TWO, "mixed-rocm-libraries", ONE_ROCM),
    (TWO, "gfx-override", [environ("HSA_OVERRIDE_GFX_VERSION=9.4.0\0")]),
    (CPX, "host-tuning", [
        {"file": "root/proc/cmdline", "code": "quiet iommu=pt\n"},
        {"file": "root/proc/sys/kernel/numa_balancing", "code": "0\n"},
    ]),
    (CPX, "small-limits", [{"file": "root/proc/self/limits", "replace": "8388608              8388608  ",
                            "code": "unlimited            unlimited"}]),
    (CONTAINER, "conf-file", [{"file": "root/etc/nccl.conf", "remove": "yes"}]),
    (CONTAINER, "untested-driver-pair", [{"file": "root/sys/module/amdgpu/version", "code": "6.12.12\n"}]),
    (CONTAINER, "mixed-rocm-libraries", [environ("LD_LIBRARY_PATH=/opt/rocm/lib\0"), unmapped("/opt/rocm-7.0.0")]),
    (CONTAINER, "library-override", [environ("LD_LIBRARY_PATH=/opt/rocm/lib\0")]),
    (CONTAINER, "small-limits", [
        {"file": "root/proc/self/mounts", "replace": "size=65536k", "code": "size=16777216k"},
        {"file": "commands/df_shm.out", "replace": "67108864", "code": "17179869184"},
    ]),
    (MI250, "unequal-gpus", cards(MI250, "power_dpm_force_performance_level", "auto\n")),
    (MI250, "clock-cap-misread", cards(MI250, "power_dpm_force_performance_level", "auto\n")),
    (MI250, "bad-value", [environ("NCCL_ALGO=Rign", "NCCL_ALGO=Ring")]),
    (MI250, "library-override", [environ("LD_LIBRARY_PATH=/opt/rocm-5.7.0/lib\0")]),
    (MI250, "tuning-databases", [environ("MIOPEN_USER_DB_PATH=/tmp/user-miopen-cache-4200\0")]),
    (SIMULATED, "shared-gpu", [{"file": path, "code": ""} for path in paths_of(SIMULATED, "commands/nccl_*.log")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rule", "edits"), REPAIRS, ids=[f"{n}-{r}-{i}" for i, (n, r, _) in enumerate(REPAIRS)]
)
def test_a_fault_put_right_goes_silent(name: str, rule: str, edits: Sequence[Edit]) -> None:
    assert rule in names_at(judged_as_recorded(name).findings)
    assert rule not in names_at(judged_with(edits, name).findings)


def test_the_library_that_torch_was_built_with(tmp_path: Path) -> None:
    folder = edited(H100, tmp_path, NO_PRELOAD)
    said = [f.message for f in judged(folder).findings if f.name == "collectives-library-differs"]
    assert len(said) == 1  # the distribution's copy is still there, and nothing uses it
    assert "not used here" in said[0]


def test_the_install_upgraded_to_the_wheel(tmp_path: Path) -> None:
    """The RCCL of the wheel put into the install: nothing differs any more."""
    folder = edited(CPX, tmp_path)
    wheel = folder / "root/opt/venv/lib/python3.10/site-packages/torch/lib/librccl.so"
    (folder / "root/opt/rocm-6.3.0/lib/librccl.so.1.0.60300").write_bytes(wheel.read_bytes())
    assert "collectives-library-differs" not in names_at(judged(folder).findings)


def test_partitions_put_together_again(tmp_path: Path) -> None:
    """One logical GPU for each package, in SPX and NPS1."""
    nodes = folder_of(CPX) / "root/sys/class/kfd/kfd/topology/nodes"
    parts = [n.name for n in nodes.iterdir() if _function(n / "properties") not in (None, 0)]
    edits = [{"file": f"root/sys/class/kfd/kfd/topology/nodes/{name}", "remove": "yes"} for name in parts]
    edits += cards(CPX, "current_compute_partition", "SPX\n") + cards(CPX, "current_memory_partition", "NPS1\n")
    assert "partition-mode" not in names_at(judged(edited(CPX, tmp_path, edits)).findings)


def _function(properties: Path) -> int | None:
    found = dict(line.split() for line in properties.read_text().splitlines())
    return int(found["location_id"]) & 7 if int(found["simd_count"]) else None


def test_a_user_who_joined_the_group(tmp_path: Path) -> None:
    edits: list[Edit] = [
        {"file": "root/proc/self/status", "replace": "Groups:\t44 ", "code": "Groups:\t44 110 "},
        {"file": "commands/torch_info.json", "replace": '"torch.cuda.is_available": false',
         "code": '"torch.cuda.is_available": true'},
    ]  # fmt: skip
    assert judged(edited(DENIED, tmp_path, edits)).findings == []


def test_nvls_is_a_warning_where_determinism_is_wanted(tmp_path: Path) -> None:
    edits = [environ("LANG=", "CUBLAS_WORKSPACE_CONFIG=:4096:8\0LANG=")]
    examination = judged(edited(H100, tmp_path, edits))
    assert examination.level == "run-to-run"
    assert "nvls-may-differ" in names_at(examination.findings, "warning")
    assert "nvls-may-differ" in names_at(judged_as_recorded(H100).findings, "info")
    assert "nvls-may-differ" in names_at(judged(folder_of(H100), level="placement").findings, "warning")


def test_a_hip_runtime_of_a_distribution_beside_nvidia(tmp_path: Path) -> None:
    """An MPI of Ubuntu brings HIP along: the NCCL of the system is none of its ROCm, and no program here uses that."""
    name = "recorded-h200-2gpu-nccl-2.28"
    runtime = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5.7.31921"
    examination = judged(edited(name, tmp_path, [{"file": f"root{runtime}", "code": ""}]))
    said = [f.message for f in examination.findings if f.name == "collectives-library-differs"]
    assert len(said) == 1
    assert "; the system has /usr/lib/x86_64-linux-gnu/libnccl.so.2.28.3 (2.28.3), not used here" in said[0]
    node = examination.node
    assert {o.place.path for o in node.facts.observations if o.key == "rocm.install"} == {runtime}
    assert [o for o in node.facts.observations if o.key == "rocm.user_space"] == []
    assert SAY["ROCm installs"](examination) == "5.7 in /usr (by libamdhip64.so.5.7.31921)"


def test_counts_of_a_node_with_a_lost_gpu_agree() -> None:
    examination = judged_as_recorded("l40s-4gpu-one-lost")
    gpu = examination.node.gpu
    assert (gpu.count, gpu.physical, gpu.lost, gpu.usable) == (3, 4, 1, 3)
    assert "3 x NVIDIA L40S, sm_89, 1 more on this node that cannot be used" in SAY["GPUs"](examination)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("jetson-orin-nx-jetpack-6", "1 x Orin (nvgpu), sm_87, integrated into the processor"),
        ("a30-mig-and-mask", "torch sees 1 device of 2 visible"),
    ],
)
def test_the_line_of_the_gpus(name: str, words: str) -> None:
    assert words in SAY["GPUs"](judged_as_recorded(name))
