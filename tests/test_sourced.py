"""Settings in a file that other scripts source, which hold nothing of interest themselves but a launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import found, scan_json

Tree = Callable[[Mapping[str, str]], Path]
BATCH = "#!/bin/bash\n#SBATCH -N 2\nsource {}\n{}\n"
LAUNCHES = {
    "srun that passes nothing on": ("srun --export=NONE python train.py", True),
    "srun": ("srun python train.py", False),
    "a container": ("docker run --gpus all image python train.py", True),
    "a container that is told": ("docker run --gpus all -e NCCL_ALGO image python train.py", False),
    "another node": ("ssh n1 torchrun --nnodes 2 train.py", True),
    "this node": ("torchrun --nproc_per_node 8 train.py", False),
}


@pytest.mark.parametrize("name", LAUNCHES)
@pytest.mark.parametrize("written", ["env.sh", "./env.sh", "../conf/env.sh"])
def test_what_the_sourcing_script_does_with_it(tree: Tree, name: str, written: str) -> None:
    command, lost = LAUNCHES[name]
    folder = "conf/" if written.startswith("..") else "jobs/"
    root = tree({f"{folder}env.sh": "export NCCL_ALGO=Ring\n", "jobs/job.slurm": BATCH.format(written, command)})
    assert found(scan_json(root)) == [(f"{folder}env.sh", 1, "not-forwarded", "NCCL_ALGO")] * lost
    assert found(scan_json(root, "--select", "not-forwarded")) == found(scan_json(root))


def test_a_file_that_nobody_sources_lacks_nothing(tree: Tree) -> None:
    root = tree({"env.sh": "export NCCL_ALGO=Ring\n", "job.slurm": BATCH.format("other.sh", "srun --export=NONE x")})
    assert found(scan_json(root)) == []
