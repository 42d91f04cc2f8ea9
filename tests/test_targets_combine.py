"""How reasons add up: platform, conflicts, versions, what follows from the tables."""

from __future__ import annotations

from itertools import permutations

import pytest

from envdoctor.analysis.target.hints import hints_in
from envdoctor.core.facts import Place
from envdoctor.core.target import UNKNOWN, Reason, Target
from envdoctor.knowledge.targets.combine import combine, combine_stages


def target(*files: tuple[str, str]) -> Target:
    return combine([reason for path, text in files for reason in hints_in(path, text)])


AMD_IMAGE = ("Dockerfile", "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\n")
NGC_IMAGE = ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:24.05-py3\n")


def test_no_reasons_is_unknown() -> None:
    assert combine([]) == UNKNOWN


@pytest.mark.parametrize(
    ("files", "platform"),
    [
        ([AMD_IMAGE], "rocm"),
        ([NGC_IMAGE], "cuda"),
        ([("run.sh", "module load rocm/6.2\n")], "rocm"),
        ([("run.sh", "export HSA_XNACK=1\n")], "rocm"),
        ([("run.sh", "export NVIDIA_TF32_OVERRIDE=0\n")], None),
        ([("run.sh", "export NVIDIA_TF32_OVERRIDE=0\nnvidia-smi\n")], "cuda"),
        ([("run.sh", "nvidia-smi\nnvidia-smi topo -m\n")], None),
        ([("run.sh", "rocm-smi\nexport ROCM_PATH=/opt/rocm\n")], "rocm"),
        ([("run.sh", "export ROCM_PATH=/opt/rocm\n")], None),
        ([("run.sh", "command -v rocm-smi\ncommand -v nvidia-smi\n")], None),
        ([("requirements.txt", "torch==2.6.0\n")], None),
        ([("requirements.txt", "--extra-index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.5.1\n")], None),
        ([("requirements.txt", "--index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.5.1\n")], "rocm"),
        ([("requirements.txt", "--index-url https://download.pytorch.org/whl/cpu\ntorch==2.5.1\n")], None),
        ([("run.sh", "#SBATCH --account=project_462000123\n")], None),
        ([("run.sh", "#SBATCH -p standard-g\ncd /lustre/orion/x\n")], "rocm"),
        ([("job.yaml", "hip: HIP_PLATFORM\n")], None),
        ([("Dockerfile", "ENV HIP_PLATFORM=nvidia\nENV CUDA_HOME=/usr/local/cuda\n")], "cuda"),
    ],
)
def test_platform(files: list[tuple[str, str]], platform: str | None) -> None:
    assert target(*files).platform == platform


@pytest.mark.parametrize(
    "files",
    [
        [AMD_IMAGE, ("requirements.txt", "torch==2.4.1+cu121\n")],
        [("run.sh", "module load rocm/6.2\nmodule load cuda/12.1\n")],
        [("job.yaml", "image: rocm/pytorch:latest\nlimits:\n  nvidia.com/gpu: 1\n")],
        [("run.sh", "export HSA_XNACK=1\nexport NVIDIA_VISIBLE_DEVICES=all\nexport NVIDIA_TF32_OVERRIDE=0\n")],
        [("run.sh", "export HSA_XNACK=1\nexport HCCL_CONNECT_TIMEOUT=100\n")],
    ],
)
def test_two_platforms_are_none_and_said(files: list[tuple[str, str]]) -> None:
    found = target(*files)
    assert found.platform is None
    assert not found.plain
    pairs = {frozenset((a.platform, b.platform)) for a, b in found.conflicts}
    assert any(len(pair) == 2 and None not in pair for pair in pairs)
    assert set(found.versions) <= {"torch"}, "no version of a platform that is not known"
    assert found.gpus == ()


@pytest.mark.parametrize(
    ("files", "platform"),
    [
        ([AMD_IMAGE, ("run.sh", "export NVIDIA_TF32_OVERRIDE=0\nexport CUDNN_X=1\nnvidia-smi\n")], "rocm"),
        ([NGC_IMAGE, ("run.sh", "export HSA_XNACK=1\nexport MIOPEN_FIND_MODE=FAST\nrocm-smi\n")], "cuda"),
        ([AMD_IMAGE, ("requirements.txt", "torch==2.6.0\n")], "rocm"),
        ([("run.sh", "export HSA_XNACK=1\nnvidia-smi\n")], "rocm"),
    ],
)  # fmt: skip
def test_settings_beside_a_plain_platform_are_leftovers(files: list[tuple[str, str]], platform: str) -> None:
    assert target(*files).platform == platform


def test_plain_says_whether_more_than_settings_speak() -> None:
    assert target(AMD_IMAGE).plain
    assert target(("run.sh", "#SBATCH --gres=gpu:mi250:8\n")).plain
    assert not target(("run.sh", "export HSA_XNACK=1\n")).plain
    assert not target(("run.sh", "export ROCM_PATH=/opt/rocm\nrocm-smi\n")).plain
    assert not UNKNOWN.plain


@pytest.mark.parametrize(
    ("files", "versions"),
    [
        ([AMD_IMAGE], {"rocm": "6.2", "torch": "2.3.0", "rccl": "2.20.5", "miopen": "3.2.0"}),
        ([NGC_IMAGE], {"cuda": "12.4.1", "nccl": "2.21.5", "torch": "2.4.0a0"}),
        ([("requirements.txt", "torch==2.4.1+cu121\n")], {"torch": "2.4.1", "cuda": "12.1", "nccl": "2.20.5"}),
        ([("requirements.txt", "torch==2.4.1+cu124\n")], {"torch": "2.4.1", "cuda": "12.4"}),
        ([("requirements.txt", "torch==2.8.0+cu128\nnvidia-nccl-cu12==2.27.5\n")],
         {"torch": "2.8.0", "cuda": "12.8", "nccl": "2.27.5"}),
        ([("requirements.txt", "--index-url https://download.pytorch.org/whl/cu126\ntorch==2.12.1\n")],
         {"torch": "2.12.1", "cuda": "12.6", "nccl": "2.29.3"}),
        ([("requirements.txt", "--index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.5.1\n")],
         {"torch": "2.5.1", "rocm": "6.2", "rccl": "2.20.5", "miopen": "3.2.0"}),
        ([("Dockerfile", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n")], {"cuda": "12.4.1"}),
        ([("Dockerfile", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch==2.11.0\n")],
         {"torch": "2.11.0", "cuda": "13.0", "nccl": "2.28.9", "cudnn": "9.19.0.56"}),
        ([("Dockerfile", "FROM pytorch/pytorch:2.12.1-cuda13.2-cudnn9-runtime\n")],
         {"torch": "2.12.1", "cuda": "13.2", "nccl": "2.29.7"}),
        ([("Dockerfile", "FROM nvcr.io/nvidia/pytorch:23.05-py3\n")], {"torch": "2.0.0"}),
        ([("run.sh", "module load rocm/5.2\n")], {"rocm": "5.2"}),
        ([("run.sh", "module load rocm/5.2.3\n")], {"rocm": "5.2.3", "rccl": "2.12.12"}),
        ([("run.sh", "module load rocm/6.2.4\nexport ROCM_PATH=/opt/rocm-6.2.0\n")],
         {"rocm": "6.2.4", "rccl": "2.20.5", "miopen": "3.2.0"}),
        ([("a.sh", "module load rocm/6.2.4\n"), ("b.sh", "module load rocm/6.2.0\n")],
         {"rocm": "6.2", "rccl": "2.20.5", "miopen": "3.2.0"}),
        ([("Dockerfile", "FROM rocm/dev-ubuntu-22.04:6.4.1-complete\nRUN pip install torch==2.7.1+rocm6.3\n")],
         {"torch": "2.7.1", "rocm": "6.3", "rccl": "2.21.5", "miopen": "3.3.0"}),
        ([("environment.yml", "dependencies:\n  - pytorch=2.1.2\n  - pytorch-cuda=12.1\n")],
         {"torch": "2.1.2", "cuda": "12.1"}),
        ([("Dockerfile", "FROM mcr.microsoft.com/azureml/curated/acpt-pytorch-2.2-cuda12.1:9\n")],
         {"torch": "2.2", "cuda": "12.1"}),
    ],
)  # fmt: skip
def test_versions(files: list[tuple[str, str]], versions: dict[str, str]) -> None:
    assert target(*files).versions == versions


def test_the_wheel_decides_against_the_module_and_the_mismatch_is_said() -> None:
    found = target(("run.sh", "module load rocm/6.2.4\n"), ("requirements.txt", "torch==2.3.0+rocm5.7\n"))
    assert found.platform == "rocm"
    assert (found.versions["rocm"], found.versions["rccl"]) == ("5.7", "2.17.1")
    assert [(a.hint, b.hint) for a, b in found.conflicts] == [("pin-rocm", "module-rocm")]


def test_equally_strong_versions_that_differ_leave_none() -> None:
    found = target(("a.sh", "module load rocm/5.7\n"), ("b.sh", "module load rocm/6.2\n"))
    assert found.platform == "rocm"
    assert found.versions == {}
    assert [{r.versions["rocm"] for r in pair} for pair in found.conflicts] == [{"5.7", "6.2"}]


def test_a_cuda_toolkit_beside_another_wheel_is_no_conflict() -> None:
    found = target(("run.sh", "module load cuda/12.4\n"), ("requirements.txt", "torch==2.4.1+cu121\n"))
    assert found.versions["cuda"] == "12.1"
    assert found.conflicts == ()


def test_a_bare_pin_in_an_image_of_amd_is_said() -> None:
    found = target(("Dockerfile", AMD_IMAGE[1] + "RUN pip install torch==2.6.0\n"))
    assert found.platform == "rocm"
    assert [(a.hint, b.hint) for a, b in found.conflicts] == [("rocm-pytorch", "pin-bare-inline")]


def test_minimums_give_way_to_versions_and_the_highest_counts() -> None:
    found = target(("requirements.txt", "torch>=2.1\ntorch>=2.4\n"))
    assert (found.minimums, found.versions) == ({"torch": "2.4"}, {})
    assert target(("requirements.txt", "torch>=2.1\n"), ("run.sh", "pip install torch==2.6.0\n")).minimums == {}


def test_gpus_are_those_of_the_platform_and_not_of_a_branch() -> None:
    assert target(("run.sh", "#SBATCH --gres=gpu:h100:8\n")).gpus == ("sm_90",)
    assert target(AMD_IMAGE, ("run.sh", "export TORCH_CUDA_ARCH_LIST=8.0\n")).gpus == ()
    branch = "if is_amd; then\n  export PYTORCH_ROCM_ARCH=gfx942\nfi\nmodule load rocm/6.2\n"
    assert target(("run.sh", branch)).gpus == ()


def test_order_of_the_reasons_does_not_matter() -> None:
    reasons = [
        *hints_in("run.sh", "module load rocm/6.2.4\nexport HSA_XNACK=1\nnvidia-smi\n"),
        *hints_in("requirements.txt", "torch==2.5.1+rocm6.2\n"),
    ]
    results = {(t.platform, tuple(sorted(t.versions.items())), t.gpus) for t in map(combine, permutations(reasons))}
    assert len(results) == 1


def test_reasons_are_all_kept() -> None:
    reasons = hints_in("run.sh", "module load rocm/6.2.4\nnvidia-smi\n")
    assert combine(reasons).reasons == tuple(reasons)


def test_gpus_are_those_of_the_first_stage_that_names_any_and_a_few() -> None:
    def arch(*gpus: str) -> list[Reason]:
        return [Reason(f"h{gpu}", Place("a", 1, 1, 1, 1), "", "", "strong", "rocm", gpus=(gpu,)) for gpu in gpus]

    assert combine_stages([arch("gfx942"), arch("gfx90a")]).gpus == ("gfx942",)
    assert combine_stages([arch("gfx942", "gfx950")]).gpus == ("gfx942", "gfx950")
    assert combine_stages([arch("gfx90a", "gfx942", "gfx950")]).gpus == ()
