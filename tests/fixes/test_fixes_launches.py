"""Blocks in front of launches, and commands that do what they are there for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from envdoctor.cli.main import main

Tree = Callable[[Mapping[str, str]], Path]
RANKS = 'import torch\nimport torch.distributed as dist\n\ntorch.use_deterministic_algorithms(True)\ndist.init_process_group("nccl")\n'
TARGET = ("--target", "cuda,torch-2.6,h100")
RUN = "torchrun --nproc_per_node=8 fit.py\n"
SET = "export NCCL_NVLS_ENABLE=0\n"
BLOCKS = [
    ("run.sh", RUN, SET + RUN),
    ("run.sh", f"set -e\n# the job\n{RUN}", f"set -e\n{SET}# the job\n{RUN}"),
    ("run.sh", f"#!/bin/bash\n{RUN}", f"#!/bin/bash\n{SET}{RUN}"),
    ("run.sh", f"#!/bin/bash\n#SBATCH --nodes=1\n{RUN}", f"#!/bin/bash\n#SBATCH --nodes=1\n{SET}{RUN}"),
    ("run.sh", f"if true; then\n  {RUN}fi\n", f"if true; then\n  {SET}  {RUN}fi\n"),
    ("run.sh", f"for i in 1 2; do\n    CUDA_VISIBLE_DEVICES=0 \\\n    {RUN}done\n",
     f"for i in 1 2; do\n    {SET}    CUDA_VISIBLE_DEVICES=0 \\\n    {RUN}done\n"),
    ("run.sh", f"cd x &&\n  {RUN}", f"{SET}cd x &&\n  {RUN}"),
    ("run.sh", f"if {RUN.strip()}; then\n  echo ok\nfi\n", f"{SET}if {RUN.strip()}; then\n  echo ok\nfi\n"),
    ("run.sh", f"{RUN}{RUN}", f"{SET}{RUN}{RUN}"),
    ("run.sh", f"bash -c '{RUN.strip()}'\n", None),
    ("run.sh", f"true; {RUN}", f"{SET}true; {RUN}"),
    ("Dockerfile", 'FROM x\n# go\nCMD ["torchrun", "--nproc_per_node=8", "fit.py"]\n',
     'FROM x\nENV NCCL_NVLS_ENABLE=0\n# go\nCMD ["torchrun", "--nproc_per_node=8", "fit.py"]\n'),
    ("docker-compose.yml", 'services:\n  t:\n    environment:\n      A: "1"\n    command: torchrun --nproc_per_node=8 fit.py\n',
     'services:\n  t:\n    environment:\n      A: "1"\n      NCCL_NVLS_ENABLE: "0"\n'
     "    command: torchrun --nproc_per_node=8 fit.py\n"),
    ("docker-compose.yml", "services:\n  t:\n    environment:\n      - A=1\n    command: torchrun --nproc_per_node=8 fit.py\n",
     "services:\n  t:\n    environment:\n      - A=1\n      - NCCL_NVLS_ENABLE=0\n"
     "    command: torchrun --nproc_per_node=8 fit.py\n"),
    ("pod.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: t\n    env:\n    - name: A\n      value: '1'\n"
     "    command: [torchrun, --nproc_per_node=8, fit.py]\n",
     "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: t\n    env:\n    - name: A\n      value: '1'\n    - name: NCCL_NVLS_ENABLE\n"
     '      value: "0"\n    command: [torchrun, --nproc_per_node=8, fit.py]\n'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "after"), BLOCKS)
def test_blocks(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str | None) -> None:
    root = tree({name: before, "fit.py": RANKS})
    monkeypatch.chdir(root)
    words = ("scan", "--fix", "--format", "concise", "--select", "missing-collective-setting", *TARGET)
    assert main([*words]) == 1
    assert (root / name).read_text() == before
    for _ in range(2):
        main([*words, "--unsafe-fixes"])
        assert (root / name).read_text() == (before if after is None else after)


def test_a_program_that_starts_itself(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"fit.py": RANKS})
    monkeypatch.chdir(root)
    main(["scan", "--fix", "--unsafe-fixes", "--level", "run-to-run", "--select", "ED601", *TARGET])
    added = 'import os\n\nimport torch\nimport torch.distributed as dist\n\nos.environ.setdefault("NCCL_NVLS_ENABLE", "0")\n'
    assert (root / "fit.py").read_text() == RANKS.replace("import torch\nimport torch.distributed as dist\n", added, 1)


def test_a_file_that_is_not_there_is_not_named(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"run.sh": "torchrun --nnodes=2 --nproc_per_node=8 fit.py\n", "fit.py": RANKS})
    monkeypatch.chdir(root)
    main(["scan", "--fix", "--unsafe-fixes", "--level", "placement", "--target", "rocm-6.2"])
    got = (root / "run.sh").read_text()
    assert "export NCCL_ALGO=" in got
    assert "NCCL_GRAPH_FILE" not in got


COMMANDS = [
    ("node.sh", "# bitwise deterministic\nsudo rocm-smi --setperfdeterminism 1700\nls\n", "# bitwise deterministic\nls\n"),
    ("node.sh", "# deterministic\nfor i in 0 1; do\n  rocm-smi -d 0 --setperfdeterminism 1700\ndone\n",
     "# deterministic\nfor i in 0 1; do\n  rocm-smi -d 0 --setperfdeterminism 1700\ndone\n"),
    ("node.sh", "# deterministic\nrocm-smi --setperfdeterminism 1700 && ls\n", None),
    ("build.sh", "git clone https://github.com/ROCm/rccl\ncd rccl\ncmake -B build .\n",
     "git clone https://github.com/ROCm/rccl\ncd rccl\ncmake -DCMAKE_BUILD_TYPE=Release -B build .\n"),
    ("build.sh", "git clone https://github.com/ROCm/rccl\ncd rccl\ncmake -B build \\\n  -DCMAKE_BUILD_TYPE=Debug .\n",
     "git clone https://github.com/ROCm/rccl\ncd rccl\ncmake -B build \\\n  -DCMAKE_BUILD_TYPE=Release .\n"),
    ("job.sbatch", "#!/bin/bash\n#SBATCH --nodes=2\n# more\nmodule load rocm\n#SBATCH --export=NONE\nsrun x\n",
     "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --export=NONE\n# more\nmodule load rocm\nsrun x\n"),
    ("run.sh", "NCCL_ALGO=Ring torchrun pretrain_gpt.py --deterministic-mode --cross-entropy-loss-fusion --bf16\n",
     "NCCL_ALGO=Ring torchrun pretrain_gpt.py --deterministic-mode --bf16\n"),
    ("run.sh", "export NCCL_ALGO = Ring\ntorchrun --nproc_per_node=8 t.py\n", "export NCCL_ALGO=Ring\ntorchrun --nproc_per_node=8 t.py\n"),
    ("run.sh", "bash fabric.sh\ntorchrun --nproc_per_node=8 t.py\n", "source fabric.sh\ntorchrun --nproc_per_node=8 t.py\n"),
    ("run.sh", "export TORCHINDUCTOR_MAX_AUTOTUNE=1 CUBLAS_WORKSPACE_CONFIG=:4096:8\ntorchrun --nproc_per_node=8 t.py\n",
     "export TORCHINDUCTOR_MAX_AUTOTUNE=0 CUBLAS_WORKSPACE_CONFIG=:4096:8\ntorchrun --nproc_per_node=8 t.py\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "after"), COMMANDS)
def test_commands(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str | None) -> None:
    root = tree({name: before, "fabric.sh": "export NCCL_ALGO=Ring\n"})
    monkeypatch.chdir(root)
    rules = "command-misread,not-exported,nondeterministic-option,missing-collective-setting"
    assert main(["scan", "--fix", "--format", "concise", "--select", rules]) == int(before != after)
    assert (root / name).read_text() == before
    for _ in range(2):
        main(["scan", "--fix", "--unsafe-fixes", "--format", "concise", "--select", rules])
        assert (root / name).read_text() == (before if after is None else after)
