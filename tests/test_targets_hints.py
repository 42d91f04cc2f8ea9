"""Hints in single files: which count, where they stand, how sure they are."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.analysis.target.hints import MOST_ALIKE, hints_in
from envdoctor.core.target import Reason
from envdoctor.knowledge.targets.combine import combine
from envdoctor.knowledge.targets.table import table


def ids(path: str, text: str) -> list[str]:
    return [reason.hint for reason in hints_in(path, text)]


def one(path: str, text: str, hint: str) -> Reason:
    found = [reason for reason in hints_in(path, text) if reason.hint == hint]
    assert len(found) == 1, hints_in(path, text)
    return found[0]


def grade(reason: Reason) -> str:
    return "medium" if reason.corroborates else reason.confidence


@pytest.mark.parametrize(
    ("path", "text", "hint", "expected"),
    [
        ("Dockerfile", "FROM rocm/pytorch:latest\n", "rocm-any", (1, 6, 1, 25)),
        ("run.sh", "set -e\ndocker run -it \\\n  --gpus all img\n", "gpus-flag", (2, 1, 3, 9)),
        ("r.txt/requirements.txt", "\n\n  torch==2.6.0+cu124\n", "pin-cuda", (3, 3, 3, 21)),
        ("requirements.txt", "\n\n  torch==2.6.0\n", "pin-bare", (3, 3, 3, 15)),
        ("job.yaml", "env:\n- name: HSA_XNACK\n", "env-amd-only-entry", (2, 3, 2, 18)),
        ("env.json", '{"env_vars": {\n"HSA_XNACK": "1"}}', "env-amd-only-entry", (2, 2, 2, 13)),
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.6.0"\n', "lock-torch", (2, 1, 3, 18)),
    ],
)
def test_places(path: str, text: str, hint: str, expected: tuple[int, int, int, int]) -> None:
    place = one(path, text, hint).place
    assert (place.line, place.column, place.end_line, place.end_column) == expected
    assert place.path == path


def test_the_matched_text_is_what_stands_there() -> None:
    text = "#!/bin/bash\nmodule load PrgEnv-gnu rocm/6.2.4 # for the GPUs\nexport HSA_XNACK=1\n"
    lines = text.split("\n")
    for reason in hints_in("job.sh", text):
        assert lines[reason.place.line - 1][reason.place.column - 1 : reason.place.end_column - 1] == reason.text
    assert [r.text for r in hints_in("job.sh", text)] == ["module load PrgEnv-gnu rocm/6.2.4", "HSA_XNACK="]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("run.sh", "# rocm-smi\n"),
        ("run.sh", "train.py # docker run --gpus all img\n"),
        ("run.sh", "  # module load rocm/6.2\n"),
        ("run.sh", 'echo "try rocm-smi or docker run --gpus all"\n'),
        ("run.sh", "printf 'needs rocm/pytorch:latest image\\n'\n"),
        ("run.sh", "cat <<EOF\nimage: rocm/pytorch:latest\nEOF\n"),
        ("Dockerfile", "# FROM rocm/pytorch:latest\n"),
        ("job.yaml", "# image: rocm/pytorch:latest\n"),
        ("requirements.txt", "# torch==2.6.0+cu124\n"),
        ("requirements.txt", "numpy  # torch==2.6.0+cu124\n"),
        ("pyproject.toml", '# torch = ["torch==2.6.0+cu124"]\n'),
        ("train.py", '"""Use image rocm/pytorch:latest."""\n'),
        ("train.py", "# image rocm/pytorch:latest\n"),
        ("README.md", "docker pull rocm/pytorch:latest\n"),
        ("Dockerfile.md", "FROM rocm/pytorch:latest\n"),
        ("notes.txt", "docker pull rocm/pytorch:latest\n"),
        ("main.cpp", "// gfx90a docker rocm/pytorch:latest\n"),
        ("run.sh", "cd rocm/pytorch && make\n"),
        ("run.sh", ""),
    ],
)
def test_comments_prose_and_other_files_hold_no_hints(path: str, text: str) -> None:
    assert hints_in(path, text) == []


@pytest.mark.parametrize(
    ("path", "text", "hint"),
    [
        ("run.sh", "#SBATCH --gres=gpu:mi250:8\n", "slurm-amd"),
        ("run.sh", "#PBS -l gpus=1\n#SBATCH -C MI300\n", "slurm-amd-constraint"),
        ("run.sh", 'echo "module load rocm/6.2" > env.sh\n', "module-rocm"),
        ("run.sh", "cat > job.sh <<EOF\nmodule load rocm/6.2\nEOF\n", "module-rocm"),
        ("run.sh", "IMAGE='x#y' docker run rocm/pytorch:latest\n", "rocm-any"),
        ("run.sh", "docker run a#b rocm/pytorch:latest\n", "rocm-any"),
        ("entry", "#!/usr/bin/env bash\nmodule load rocm/6.2\n", "module-rocm"),
        ("train.py", "IMAGE = 'rocm/pytorch:latest'\n", "rocm-any"),
        ("sub/Dockerfile.gpu", "from rocm/pytorch:latest\n", "rocm-any"),
        ("image.def", "Bootstrap: docker\nFrom: rocm/pytorch:latest\n", "rocm-any"),
    ],
)
def test_what_is_still_read(path: str, text: str, hint: str) -> None:
    assert hint in ids(path, text)


@pytest.mark.parametrize(
    ("path", "text", "hint", "expected"),
    [
        ("Dockerfile", "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_2.3.0\n", "rocm-pytorch", "certain"),
        ("Dockerfile", "ARG B=rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_2.3.0\n", "rocm-pytorch", "strong"),
        ("Dockerfile", "ARG B=rocm/pytorch:latest\n", "rocm-any", "strong"),
        ("Dockerfile", "ARG ROCM_VERSION=6.2\n", "env-rocm", "weak"),
        ("Dockerfile", "ENV ROCM_VERSION=6.2\n", "env-rocm", "medium"),
        ("train.py", "image = 'rocm/vllm:rocm6.2_x'\n", "rocm-vllm", "strong"),
        ("train.py", "os.environ['HSA_XNACK'] = '1'\n", "env-amd-only-entry", "medium"),
        ("run.sh", "rocm-smi --showuse\n", "smi-amd", "medium"),
        ("run.sh", "command -v rocm-smi\n", "smi-amd", "weak"),
        ("run.sh", "rocm-smi || true\n", "smi-amd", "weak"),
        ("run.sh", "if [ $STAGE = 2 ]; then\n  export HSA_XNACK=1\nfi\n", "env-amd-only", "medium"),
        ("run.sh", "if is_amd; then\n  export HSA_XNACK=1\nfi\n", "env-amd-only", "weak"),
        ("run.sh", "case $GPU_TYPE in\n  mi300x)\n  export HSA_XNACK=1 ;;\nesac\n", "env-amd-only", "weak"),
        ("run.sh", "[ -n $ROCM ] && export HSA_XNACK=1\n", "env-amd-only", "weak"),
        ("run.sh", "if is_amd; then x; fi\nexport HSA_XNACK=1\n", "env-amd-only", "strong"),
        ("run.sh", "export HIP_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES\n", "env-amd-only", "medium"),
        ("run.sh", "HIP_VISIBLE_DEVICES= python a.py\n", "env-amd-only", "strong"),
        ("run.sh", "export HIP_VISIBLE_DEVICES=\n", "env-amd-only", "weak"),
        ("run.sh", "find . -name x\nif a; then\n  find y\nfi\nexport HSA_XNACK=1\n", "env-amd-only", "strong"),
        ("requirements.txt", "--index-url https://download.pytorch.org/whl/rocm6.2\n", "index-rocm", "strong"),
        ("requirements.txt", "--extra-index-url https://download.pytorch.org/whl/rocm6.2\n", "index-rocm", "medium"),
        ("requirements.txt", "nvidia-nccl-cu12==2.21.5\n", "lock-nvidia", "strong"),
        ("requirements.txt", "nvidia-nccl-cu12==2.21.5 ; platform_system == 'Linux'\n", "lock-nvidia", "weak"),
        ("pyproject.toml", '[project.optional-dependencies]\na = ["torch==2.6.0+cu124"]\n', "pin-cuda", "medium"),
        ("pyproject.toml", '[project]\ndependencies = [\n"torch==2.6.0+cu124"]\n', "pin-cuda", "certain"),
        ("values.yaml", "nvidia.com/gpu: 8\n", "k8s-nvidia", "certain"),
        ("values.yaml", "nvidia.com/gpu: {{ .Values.gpus }}\n", "k8s-nvidia", "medium"),
    ],
)
def test_confidence_by_where_it_stands(path: str, text: str, hint: str, expected: str) -> None:
    assert grade(one(path, text, hint)) == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("values.yaml", "nvidia.com/gpu: 0\n"),
        ("values.yaml", 'amd.com/gpu: "0"\n'),
        ("pyproject.toml", '[project.optional-dependencies]\na = ["torch==2.6.0"]\n'),
        ("setup.py", 'setup(extras_require={"gpu": ["torch==2.6.0"]})\n'),
        ("requirements.txt", 'torch==2.2.2 ; sys_platform == "darwin"\n'),
    ],
)
def test_what_says_nothing_where_it_stands(path: str, text: str) -> None:
    assert hints_in(path, text) == []


@pytest.mark.parametrize(
    ("path", "text", "hint", "versions"),
    [
        ("requirements.txt", "torch==2.1.2+cu118\n", "pin-cuda", {"torch": "2.1.2", "cuda": "11.8"}),
        ("requirements.txt", "torch==1.9.0+cu92\n", "pin-cuda", {"torch": "1.9.0", "cuda": "9.2"}),
        ("requirements.txt", "torchvision==0.16.2+cu118\n", "pin-cuda", {"cuda": "11.8"}),
        ("requirements.txt", "torch==2.4.1+rocm6.1\n", "pin-rocm", {"torch": "2.4.1", "rocm": "6.1"}),
        ("requirements.txt", "torch==2.2.2+rocm6.3\n", "pin-rocm", {"torch": "2.2.2"}),
        ("requirements.txt", "torch==2.9.1+rocm7.2.1.lw.gitff65\n", "pin-rocm", {"torch": "2.9.1", "rocm": "7.2.1"}),
        ("requirements.txt", "jaxlib==0.4.30+rocm611\n", "pin-rocm", {"rocm": "6.1.1"}),
        ("requirements.txt", "torch==2.3.0+cpu\n", "pin-cpu", {"torch": "2.3.0"}),
        ("requirements.txt", "nvidia-nccl-cu12==2.21.5\n", "lock-nvidia", {"nccl": "2.21.5"}),
        ("requirements.txt", "nvidia-cudnn-cu12==9.1.0.70\n", "lock-nvidia", {}),
        ("run.sh", "module load rocm/6.2.4\n", "module-rocm", {"rocm": "6.2.4"}),
        ("run.sh", "ml gcc CUDA/12.1.1\n", "module-cuda-short", {"cuda": "12.1.1"}),
        ("run.sh", "module load NCCL/2.18.3-GCCcore-12.3.0-CUDA-12.1.1\n", "module-cuda", {}),
        ("run.sh", "module load cuda/12.1.1\n", "module-cuda", {"cuda": "12.1.1"}),
        ("run.sh", "export ROCM_PATH=/opt/rocm-6.2.4\n", "env-rocm", {"rocm": "6.2.4"}),
        ("run.sh", "export CUDA_HOME=/usr/local/cuda-12.1\n", "env-cuda", {"cuda": "12.1"}),
        ("run.sh", "apt install ./amdgpu-install_6.2.60204-1_all.deb\n", "amdgpu-install", {"rocm": "6.2"}),
        ("Dockerfile", "FROM rocm/dev-ubuntu-22.04:6.4-complete\n", "rocm-dev-os", {"rocm": "6.4"}),
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:24.05-py3\n", "ngc-framework",
         {"cuda": "12.4.1", "nccl": "2.21.5", "torch": "2.4.0a0"}),
        ("Dockerfile", "FROM rocm/pytorch-training:v25.5\n", "rocm-pytorch-training",
         {"rocm": "6.3.4", "torch": "2.7.0a0", "te": "1.12.0.dev0"}),
        ("Dockerfile", "FROM rocm/megatron-lm:v25.9_gfx942\n", "rocm-pytorch-training", {}),
        ("Dockerfile", "FROM 763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.2.0-gpu-py310-cu121\n",
         "aws-dlc", {"torch": "2.2.0", "cuda": "12.1"}),
        ("run.sh", "SIF=/c/lumi-pytorch-rocm-6.2.4-python-3.12-pytorch-v2.6.0.sif\n", "image-file-rocm",
         {"rocm": "6.2.4", "torch": "2.6.0"}),
        ("run.sh", "srun --container-image=/e/nvcr.io_nvidia_pytorch_24.05-py3.sqsh\n", "ngc-framework",
         {"cuda": "12.4.1", "nccl": "2.21.5", "torch": "2.4.0a0"}),
        ("Dockerfile", "FROM team/train:torch2.6-cu124\n", "image-tag-cuda", {"cuda": "12.4", "torch": "2.6"}),
        ("Dockerfile", "FROM team/sglang:v0.4.6-rocm630\n", "image-tag-rocm", {"rocm": "6.3"}),
        ("Dockerfile", "FROM team/sglang:v0.5.8-rocm714\n", "image-tag-rocm", {}),
        ("Dockerfile", "FROM rocm/sgl-dev:v0.5.8-rocm720-mi30x-20260215\n", "rocm-any", {"rocm": "7.2"}),
    ],
)  # fmt: skip
def test_versions(path: str, text: str, hint: str, versions: dict[str, str]) -> None:
    assert one(path, text, hint).versions == versions


def test_bounds_are_minimums_or_nothing() -> None:
    assert one("requirements.txt", "torch>=2.3\n", "pin-bare").minimums == {"torch": "2.3"}
    assert one("requirements.txt", "torch~=2.3.1\n", "pin-bare").minimums == {"torch": "2.3.1"}
    below = one("requirements.txt", "torch<2.6\n", "pin-bare")
    assert (below.minimums, below.versions) == ({}, {})
    assert one("pyproject.toml", 'torch = "^2.3"\n', "pin-poetry").minimums == {"torch": "2.3"}
    assert one("pyproject.toml", 'torch = "2.6.0"\n', "pin-poetry").versions == {"torch": "2.6.0"}


@pytest.mark.parametrize(
    ("path", "text", "hint", "gpus"),
    [
        ("run.sh", "#SBATCH --gres=gpu:A100:4\n", "slurm-nvidia", ("sm_80",)),
        ("run.sh", "#SBATCH --gres=gpu:h800:4\n", "slurm-nvidia", ()),
        ("run.sh", "#SBATCH --constraint=MI250\n", "slurm-amd-constraint", ("gfx90a",)),
        ("run.sh", "module load craype-accel-nvidia80\n", "module-cray-accel", ("sm_80",)),
        ("Dockerfile", 'ENV PYTORCH_ROCM_ARCH="gfx90a;gfx942"\n', "arch-rocm", ("gfx90a", "gfx942")),
        ("Dockerfile", "ENV PYTORCH_ROCM_ARCH=gfx900;gfx90a;gfx942\n", "arch-rocm", ()),
        ("Dockerfile", 'ENV TORCH_CUDA_ARCH_LIST="9.0;10.0+PTX"\n', "arch-cuda", ("sm_90", "sm_100")),
        ("Dockerfile", "ENV CUDAARCHS=90\n", "arch-cuda", ("sm_90",)),
        ("requirements.txt", "rocm[libraries,device-gfx1201]==10.0.0\n", "therock", ("gfx1201",)),
        ("requirements.txt", "--index-url https://rocm.nightlies.amd.com/v2/gfx94X-dcgpu/\n", "index-amd", ()),
        ("run.sh", "#SBATCH --partition=standard-g\n", "system-lumi-partition", ("gfx90a",)),
        ("task.yaml", "accelerators: H200:8\n", "cloud-nvidia", ("sm_90",)),
    ],
)  # fmt: skip
def test_gpus(path: str, text: str, hint: str, gpus: tuple[str, ...]) -> None:
    assert one(path, text, hint).gpus == gpus


def test_hints_without_a_conclusion_are_not_reported() -> None:
    text = "export NCCL_DEBUG=INFO\nexport CUDA_VISIBLE_DEVICES=0\ndocker run --device /dev/dri img\n"
    assert hints_in("run.sh", text) == []


def test_a_closer_image_hint_takes_the_place_of_a_general_one() -> None:
    assert ids("Dockerfile", "FROM rocm/vllm:rocm6.2_mi300\n") == ["rocm-vllm"]
    assert ids("Dockerfile", "FROM nvcr.io/nvidia/pytorch:24.05-py3\n") == ["ngc-framework"]


def test_build_arguments_are_filled_from_their_defaults() -> None:
    text = "ARG VER=6.4.1\nFROM rocm/dev-ubuntu-22.04:${VER}-complete\n"
    found = one("Dockerfile", text, "rocm-dev-os")
    assert (found.versions, found.place.line, found.confidence) == ({"rocm": "6.4.1"}, 2, "strong")
    assert ids("Dockerfile", "ARG VER\nFROM team/base:${VER}\n") == []


def test_what_is_said_more_than_once_is_kept_a_few_times() -> None:
    text = "".join(f"export HSA_X{i}=1\n" for i in range(50))
    assert ids("run.sh", text) == ["env-amd-only"] * MOST_ALIKE


def test_long_texts_are_looked_at_in_part() -> None:
    limits = table().data["limits"]
    filler = "x=1\n" * (limits["largest"] // 4)
    assert ids("run.sh", "module load rocm/6.2\n" + filler + "module load cuda/12.1\n") == ["module-rocm"]
    assert ids("run.sh", "x=1\n" * 50_000 + "module load cuda/12.1\n") == ["module-cuda"]
    assert hints_in("env.json", '{"a": "' + "b" * limits["longest-line"] + '", "image": "rocm/pytorch:latest"}') == []


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a/", "rocm/a ", "FROM a/b:rocm", "module load ", "gfx90a;", "cat <<E\n", "if a\n"])
def test_hostile_text_takes_no_time(unit: str) -> None:
    line = (unit * 4000)[:3900]
    text = "docker image cuda torch FROM rocm\n" + (line + "\n") * 50
    start = time.perf_counter()
    for path in ("Dockerfile", "run.sh", "job.yaml"):
        hints_in(path, text)
    assert time.perf_counter() - start < 10


@given(st.text(alphabet=st.sampled_from("abcdrmou/:=\"'#$\n {}-_.0129+"), max_size=300), st.sampled_from(
    ["Dockerfile", "run.sh", "a.yaml", "a.py", "requirements.txt", "uv.lock", "pyproject.toml", "a.json", "a.ipynb"]
))  # fmt: skip
def test_any_text_is_read_and_places_are_inside(text: str, path: str) -> None:
    salted = text + "\nimage: rocm/pytorch:latest\ntorch==2.6.0+cu124\n" + text
    lines = salted.split("\n")
    for reason in hints_in(path, salted):
        assert 1 <= reason.place.line <= reason.place.end_line <= len(lines)
        assert 1 <= reason.place.column <= len(lines[reason.place.line - 1]) + 1
        assert reason.text == reason.text.strip()
        assert reason.says


def test_mentions_do_not_crowd_out_what_counts() -> None:
    text = "command -v rocm-smi\n" * 10 + "rocm-smi --showuse\n"
    assert [grade(reason) for reason in hints_in("run.sh", text)] == ["weak"] * MOST_ALIKE + ["medium"]


MATRIX = """jobs:
  test:
    if: github.event_name == 'push'
    steps:
    - run: |
        if [[ "${{ matrix.gpu }}" == "rocm" ]]; then
          export HIPBLASLT_TENSILE_LIBPATH=/a
        fi
"""


def test_branches_of_scripts_in_yaml() -> None:
    assert grade(one("ci.yml", MATRIX, "env-amd-only")) == "weak"
    assert grade(one("ci.yml", MATRIX.replace("if [[", "true [[").replace("fi\n", "\n"), "env-amd-only")) == "strong"


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("module load rocm/6.2.4\n", {"rocm": "6.2.4"}),
        ("if [ -z $X ]; then\n  module load rocm/6.2.4\nfi\n", {}),
        ("case $HOST in\n  lumi) module load rocm/6.2.4 ;;\nesac\n", {}),
        ("if ! python -c 'import torch'; then\n  pip install torch==2.8.0\nfi\n", {}),
    ],
)
def test_releases_in_a_branch_are_not_taken(text: str, versions: dict[str, str]) -> None:
    (reason,) = hints_in("run.sh", text)
    assert reason.versions == versions


@pytest.mark.parametrize(
    ("path", "text", "platform", "gpus"),
    [
        ("pod.json", '{"devices": ["/dev/dri", "/dev/kfd"]}\n', "rocm", ()),
        ("pod.json", '{"devices": [\n  "/dev/dri",\n  "/dev/kfd"\n]}\n', "rocm", ()),
        ("run.sh", '[ -e "/dev/kfd" ] && echo yes\n', None, ()),
        ("job.template", "#!/bin/bash\nexport LD_PRELOAD=/usr/local/cuda-12.8/lib/libnccl.so\n", "cuda", ()),
        ("run.sh", "export LD_PRELOAD=/opt/rocm/lib/librccl.so\n", "rocm", ()),
        ("run.sh", "export LD_PRELOAD=/opt/aws-ofi/libnccl-net.so\n", None, ()),
        ("job.yaml", "node.kubernetes.io/instance-type: p5.48xlarge\n", "cuda", ("sm_90",)),
        ("job.yaml", "instance-type: g4ad.16xlarge\n", None, ()),
        ("run.sh", "salloc --reservation x -p standard-g -N 1\nmodule load LUMI/24.03 partition/G\n", "rocm", ("gfx90a",)),
        ("vm.yaml", "size: Standard_ND96isr_MI300X_v5\n", "rocm", ("gfx942",)),
        ("vm.yaml", "size: Standard_ND96isr_H100_v5\n", "cuda", ("sm_90",)),
        ("values.yaml", "cloud.google.com/gke-accelerator: nvidia-h100-80gb\n", "cuda", ("sm_90",)),
        ("ci.yml", "    runs-on: linux-mi325-runner\n", "rocm", ("gfx942",)),
        ("ci.yml", "    runs-on: ${{ matrix.h100 }}\n", None, ()),
        ("job.yaml", "image: team/jax-gpu:jax0.5-cuda_rev1\n", "cuda", ()),
        ("Dockerfile", "FROM public.example/hpc/nccl-tests:latest\n", "cuda", ()),
    ],
)  # fmt: skip
def test_platforms_of_single_hints(path: str, text: str, platform: str | None, gpus: tuple[str, ...]) -> None:
    target = combine(hints_in(path, text))
    assert (target.platform, target.gpus) == (platform, gpus)


def test_a_framework_module_names_both_releases() -> None:
    rocm = one("run.sh", "module load PyTorch/2.6.0-rocm-6.2.4-python-3.12-singularity\n", "module-torch-rocm")
    assert rocm.versions == {"torch": "2.6.0", "rocm": "6.2.4"}
    cuda = one("run.sh", "module load TensorFlow/2.15.1-foss-2023a-CUDA-12.1.1\n", "module-torch-cuda")
    assert cuda.versions == {"cuda": "12.1.1"}
