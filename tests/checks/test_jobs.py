"""ED602 about counts: ranks and devices, nodes, ports, images and arguments; and the shapes in which nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from scanned import findings, said, write

RULE = "inconsistent-launch"
MASK = "CUDA_VISIBLE_DEVICES"
NODE = "torchrun --nnodes={nodes} --node_rank={rank} --master_addr={address} --master_port={port} train.py {more}\n"


def node(rank: int, nodes: object = 2, address: str = "10.0.0.1", port: int = 29500, more: str = "") -> str:
    return NODE.format(rank=rank, nodes=nodes, address=address, port=port, more=more)


@pytest.mark.parametrize(
    "launch",
    [
        "torchrun --nproc_per_node 4 train.py",
        "N=4\ntorchrun --nproc-per-node=$N train.py",
        "python -m torch.distributed.launch --nproc_per_node=4 train.py",
        "accelerate launch --num_processes 4 train.py",
        "accelerate launch --num_machines 2 --num_processes 8 --machine_rank 0 train.py",
        "mpirun -np 4 python train.py",
        "mpirun -npernode 4 python train.py",
        "mpirun --map-by ppr:4:node python train.py",
        "srun --ntasks-per-node=4 python train.py",
        "composer -n 4 train.py",
        "python train.py --trainer.devices 4",
        "bash -c 'torchrun --nproc_per_node=4 train.py'",
    ],
)
def test_more_ranks_than_visible_devices(tmp_path: Path, launch: str) -> None:
    root = write(tmp_path, {"run.sh": f"export {MASK}=0,1\n{launch}\n"})
    assert said(root, RULE) == [("run.sh", 1, MASK)]


@pytest.mark.parametrize(
    ("mask", "launch"),
    [
        ("0,1,2,3", "torchrun --nproc_per_node 4 train.py"),
        ("0,1,2,3,4", "torchrun --nproc_per_node 4 train.py"),
        ("0,1", "torchrun --nproc_per_node gpu train.py"),
        ("0,1", "torchrun --nproc_per_node $N train.py"),
        ("0,1", "torchrun $OPTIONS train.py"),
        ("0,1", "torchrun --nproc_per_node 4 train.py --backend gloo"),
        ("0,1", "accelerate launch --cpu --num_processes 4 train.py"),
        ("0,1", "accelerate launch --config_file two.yaml --num_processes 4 train.py"),
        ("0,1", "mpirun -np 4 -H a,b python train.py"),
        ("0,1", "mpirun -np 1 python a.py : -np 3 python b.py"),
        ("''", "torchrun --nproc_per_node 4 train.py"),
        ("-1", "torchrun --nproc_per_node 4 train.py"),
        ("$GPUS", "torchrun --nproc_per_node 4 train.py"),
        ("0,0", "torchrun --nproc_per_node 4 train.py"),
    ],
)
def test_ranks_that_fit_their_devices(tmp_path: Path, mask: str, launch: str) -> None:
    assert said(write(tmp_path, {"run.sh": f"export {MASK}={mask}\n{launch}\n"}), RULE) == []


def test_a_mask_under_a_condition_decides_nothing(tmp_path: Path) -> None:
    script = f'if [ -n "$FEW" ]; then export {MASK}=0,1; fi\ntorchrun --nproc_per_node=4 train.py\n'
    assert said(write(tmp_path, {"run.sh": script}), RULE) == []


def test_a_default_number_of_ranks_is_less_sure(tmp_path: Path) -> None:
    script = f"export {MASK}=0,1\ntorchrun --nproc_per_node=${{GPUS:-4}} train.py\n"
    (found,) = findings(write(tmp_path, {"run.sh": script}), RULE)
    assert found.confidence == "medium"
    job = f"#!/bin/bash\n#SBATCH --nodes=1\n{script}"
    assert said(write(tmp_path, {"run.sh": job}), RULE) == []


def test_the_caller_decides_how_many_ranks(tmp_path: Path) -> None:
    train = f"export {MASK}=0,1\ntorchrun --nproc_per_node=$1 train.py\n"
    root = write(tmp_path, {"train.sh": train, "run.sh": "bash train.sh 4\n"})
    assert said(root, RULE) == [("train.sh", 1, MASK)]
    assert said(write(tmp_path, {"run.sh": "bash train.sh 2\n"}), RULE) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("docker run --gpus '\"device=0,1\"' img torchrun --nproc_per_node=4 train.py", True),
        ("docker run --gpus 2 img torchrun --nproc_per_node=4 train.py", True),
        ("docker run --gpus all img torchrun --nproc_per_node=4 train.py", False),
        (f"docker run --gpus all -e {MASK}=0,1 img torchrun --nproc_per_node=4 train.py", True),
        ("docker run -e NVIDIA_VISIBLE_DEVICES=0,1 img torchrun --nproc_per_node=4 train.py", True),
        ("docker run -e NVIDIA_VISIBLE_DEVICES=all img torchrun --nproc_per_node=4 train.py", False),
    ],
)
def test_devices_of_a_container(tmp_path: Path, line: str, found: bool) -> None:
    assert bool(said(write(tmp_path, {"run.sh": f"{line}\n"}), RULE)) == found


def test_a_program_in_python_that_starts_ranks(tmp_path: Path) -> None:
    code = (
        "import os, subprocess\n"
        f'env = dict(os.environ, {MASK}="0,1")\n'
        'subprocess.run(["torchrun", "--nproc_per_node=4", "train.py"], env=env)\n'
    )
    assert said(write(tmp_path, {"go.py": code}), RULE) == [("go.py", 2, MASK)]


@pytest.mark.parametrize(
    ("head", "line", "found"),
    [
        ("--nodes=2", "srun torchrun --nnodes=2 train.py", False),
        ("--nodes=2", "srun torchrun --nnodes=4 train.py", True),
        ("-N2", "srun torchrun --nnodes=4 train.py", True),
        ("--nodes=4", "srun torchrun --nnodes=2 train.py", True),
        ("--nodes=4", "srun -N 2 torchrun --nnodes=2 train.py", False),
        ("--nodes=4", "srun -N 1 -w $host torchrun --nnodes=4 --node_rank=1 train.py", False),
        ("--nodes=4", "torchrun --nnodes=1 train.py", False),
        ("--nodes=2-4", "srun torchrun --nnodes=8 train.py", False),
        ("--nodes=4", "srun torchrun --nnodes=1:4 train.py", False),
        ("--nodes=4", "srun torchrun --nnodes=${SLURM_NNODES:-1} train.py", False),
        ("--nodes=4", "srun python train.py trainer.num_nodes=2", True),
        ("--gres=gpu:a100:4", "srun torchrun --nproc_per_node=8 train.py", True),
        ("--gres=gpu:8,nvme:1", "srun torchrun --nproc_per_node=8 train.py", False),
        ("--gpus-per-node=4 --ntasks-per-node=8", "srun python train.py", True),
    ],
)
def test_what_a_batch_system_gives(tmp_path: Path, head: str, line: str, found: bool) -> None:
    script = f"#!/bin/bash\n#SBATCH {head}\nexport NCCL_DEBUG=WARN\n{line}\n"
    assert bool(said(write(tmp_path, {"job.sh": script}), RULE)) == found


def test_flags_of_sbatch_win_over_the_head(tmp_path: Path) -> None:
    job = "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun --nnodes=4 train.py\n"
    root = write(tmp_path, {"job.sh": job, "submit.sh": "export NCCL_DEBUG=WARN\nsbatch --nodes=4 job.sh\n"})
    assert said(root, RULE) == []


@pytest.mark.parametrize(
    ("size", "found"), [("16", True), ("8", False), ("$SLURM_NTASKS", False), ("${WORLD_SIZE:-16}", False)]
)
def test_world_size(tmp_path: Path, size: str, found: bool) -> None:
    script = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4\nexport WORLD_SIZE={size}\nsrun python train.py\n"
    assert said(write(tmp_path, {"job.sh": script}), RULE) == ([("job.sh", 3, "WORLD_SIZE")] if found else [])


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("torchrun --nnodes=2 --node_rank=2 train.py", True),
        ("torchrun --nnodes=2 --node_rank=1 train.py", False),
        ("torchrun --nnodes=$N --node_rank=2 train.py", False),
        ("accelerate launch --num_machines 2 --machine_rank 2 --num_processes 16 train.py", True),
        ("accelerate launch --num_machines 2 --machine_rank 0 --num_processes 15 train.py", True),
        ("deepspeed --include localhost:0 --num_gpus 1 train.py", True),
    ],
)
def test_one_line_that_cannot_be(tmp_path: Path, line: str, found: bool) -> None:
    assert bool(said(write(tmp_path, {"run.sh": f"{line}\n"}), RULE)) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("deepspeed --num_gpus 2 train.py", True),
        ("deepspeed --include localhost:0,1 train.py", True),
        ("deepspeed --include localhost:2,3 train.py", False),
        ("deepspeed --include worker-0:0,1 train.py", False),
        ("deepspeed --hostfile hosts --num_gpus 2 train.py", False),
        ("deepspeed train.py", False),
        ("accelerate launch --gpu_ids 0,1 train.py", True),
        ("accelerate launch --gpu_ids 2,3 train.py", False),
        ("accelerate launch --gpu_ids all train.py", False),
    ],
)
def test_a_mask_that_the_launcher_replaces(tmp_path: Path, line: str, found: bool) -> None:
    root = write(tmp_path, {"run.sh": f"{MASK}=2,3 {line}\n"})
    assert said(root, RULE) == ([("run.sh", 1, MASK)] if found else [])


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (node(0), node(1, port=29501), "--master_port 29501 here, --master_port 29500 on node 0"),
        (node(0), node(1, nodes=4), "--nnodes 4 here, --nnodes 2 on node 0"),
        (node(0), node(1, address="10.0.0.2"), "--master_addr 10.0.0.2 here, --master_addr 10.0.0.1 on node 0"),
        (node(0, more="--seed 1"), node(1, more="--seed 2"), "--seed 2 here, --seed 1 on node 0"),
        (node(0, more="--bf16"), node(1), "no --bf16 here, --bf16 on node 0"),
        ("docker run a:1 " + node(0), "docker run a:2 " + node(1), "image a:2 here, image a:1 on node 0"),
        (
            "torchrun --nnodes=2 --node_rank=0 --rdzv_endpoint=h:1 --rdzv_id=a train.py\n",
            "torchrun --nnodes=2 --node_rank=1 --rdzv_endpoint=h:1 --rdzv_id=b train.py\n",
            "--rdzv_id b here, --rdzv_id a on node 0",
        ),
        (
            "accelerate launch --num_machines 2 --machine_rank 0 --main_process_ip h --num_processes 16 t.py\n",
            "accelerate launch --num_machines 2 --machine_rank 1 --main_process_ip h --num_processes 8 t.py\n",
            "--num_processes 8 here, --num_processes 16 on node 0",
        ),
        (node(0), node(0), "--node_rank 0 is given to two nodes of one job"),
    ],
)
def test_nodes_that_differ(tmp_path: Path, first: str, second: str, says: str) -> None:
    (found,) = findings(write(tmp_path, {"node0.sh": first, "node1.sh": second}), RULE)
    assert (found.place.path, found.message.split(": ")[0].removesuffix(": the")) == ("node1.sh", says)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (node(0), node(1)),
        (node(0, address="localhost"), node(1)),
        (node(0, more="--bs $BS"), node(1, more="--bs 4")),
        (node(0, more="--log_dir a --node-name a"), node(1, more="--log_dir b --node-name b")),
        (node(0, more="--output_dir a --lr 1"), node(1, more="--output_dir b --lr 2")),
        (node(0, more="--lr 1"), node(1, more="--lr 2").replace("train.py", "eval.py")),
        (node(0, nodes=2, port=1), node(1, nodes=4, port=2)),
        (node(0, nodes=4), node(0, nodes=4)),
    ],
)
def test_nodes_that_agree_or_belong_to_two_runs(tmp_path: Path, first: str, second: str) -> None:
    assert said(write(tmp_path, {"node0.sh": first, "node1.sh": second}), RULE) == []


def test_examples_for_two_models_are_two_runs(tmp_path: Path) -> None:
    files = {"run_7b.sh": node(0, more="--lr 1"), "run_13b.sh": node(0, more="--lr 2"), "one.sh": node(0, nodes=1)}
    assert said(write(tmp_path, files), RULE) == []


def test_hosts_that_one_script_starts(tmp_path: Path) -> None:
    text = 'ssh n0 "{}" &\nssh n1 "{}" &\n'
    root = write(tmp_path, {"run.sh": text.format(node(0).strip(), node(1, port=29501).strip())})
    assert said(root, RULE) == [("run.sh", 2, None)]
    assert said(write(root, {"run.sh": text.format(node(0).strip(), node(0).strip())}), RULE) == [("run.sh", 2, None)]
    assert said(write(root, {"run.sh": text.format(node(0).strip(), node(1).strip())}), RULE) == []


def test_one_script_that_gets_the_number_of_its_node(tmp_path: Path) -> None:
    files = {
        "run.sh": "torchrun --nnodes=2 --node_rank=$1 --master_addr=h --master_port=$2 train.py\n",
        "go.sh": "ssh n0 'bash run.sh 0 29500' &\nssh n1 'bash run.sh 1 29501' &\n",
    }
    assert said(write(tmp_path, files), RULE) == [("run.sh", 1, None)]


def test_nodes_that_their_environment_numbers(tmp_path: Path) -> None:
    text = "export MASTER_ADDR=n0 WORLD_SIZE=2 RANK={}\nexport MASTER_PORT={} NCCL_DEBUG=WARN\npython t.py\n"
    root = write(tmp_path, {"n0.sh": text.format(0, 1), "n1.sh": text.format(1, 2)})
    assert said(root, RULE) == [("n1.sh", 2, None)]


def test_services_that_are_nodes(tmp_path: Path) -> None:
    service = "  {}:\n    image: {}\n    command: {}"
    services = [service.format(f"node{rank}", f"a:{rank}", node(rank)) for rank in (0, 1)]
    root = write(tmp_path, {"docker-compose.yml": "services:\n" + "".join(services)})
    (found,) = findings(root, RULE)
    assert found.message.startswith("image a:1 here, image a:0 on node 0")


@pytest.mark.parametrize(
    ("head", "line", "found"),
    [
        ("--ntasks-per-node=8", "srun torchrun --nproc_per_node=8 train.py", True),
        ("--ntasks-per-node=8", "srun --ntasks-per-node=1 torchrun --nproc_per_node=8 train.py", False),
        ("--ntasks-per-node=8", "srun -N 1 -n 1 torchrun --nproc_per_node=8 train.py", False),
        ("--ntasks-per-node=8", "srun torchrun --nproc_per_node=1 train.py", False),
        ("--ntasks-per-node=8", "torchrun --nproc_per_node=8 train.py", False),
        ("--ntasks-per-node=1", "srun torchrun --nproc_per_node=8 train.py", False),
        ("--nodes=1", "mpirun -npernode 8 torchrun --nproc_per_node=8 train.py", True),
    ],
)
def test_launchers_on_one_node(tmp_path: Path, head: str, line: str, found: bool) -> None:
    script = f"#!/bin/bash\n#SBATCH {head}\nexport NCCL_DEBUG=WARN\n{line}\n"
    assert bool(said(write(tmp_path, {"job.sh": script}), RULE)) == found


@pytest.mark.parametrize(("count", "found"), [("4", True), ("2", False), ("$N", False)])
def test_a_node_of_a_cluster_offers_no_more_than_it_sees(tmp_path: Path, count: str, found: bool) -> None:
    script = f"export {MASK}=0,1\nray start --head --num-gpus={count}\n"
    assert said(write(tmp_path, {"head.sh": script}), RULE) == ([("head.sh", 1, MASK)] if found else [])


def test_folders_that_are_named_after_nodes(tmp_path: Path) -> None:
    root = write(tmp_path, {"node0/run.sh": node(0), "node1/run.sh": node(1, port=29501)})
    assert said(root, RULE) == [("node1/run.sh", 1, None)]
    root = write(tmp_path, {"exp0/run.sh": node(0), "exp1/run.sh": node(0), "node1/run.sh": ""})
    assert said(root, RULE) == []


def test_nodes_that_nobody_starts(tmp_path: Path) -> None:
    lines = [f"ssh n{rank} '{node(rank, nodes=4).strip()}' &\n" for rank in range(4)]
    assert said(write(tmp_path, {"run.sh": "".join(lines[:2])}), RULE) == [("run.sh", 2, None)]
    assert said(write(tmp_path, {"run.sh": "".join(lines)}), RULE) == []
    unknown = "".join(lines[:2]).replace("ssh n", "ssh $h")
    assert said(write(tmp_path, {"run.sh": unknown}), RULE) == []


REPLICAS = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: t}}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - name: pytorch
              image: trainer:{first}
              command: [torchrun, --nnodes={nodes}, --nproc_per_node=8, train.py, --lr, "{lr}"]
              resources:
                limits: {{nvidia.com/gpu: {gpus}}}
    Worker:
      replicas: 3
      template:
        spec:
          containers:
            - name: pytorch
              image: trainer:2
              command: [torchrun, --nnodes={nodes}, --nproc_per_node=8, train.py, --lr, "1"]
"""


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({}, []),
        ({"first": "1"}, [22]),
        ({"nodes": "2"}, [13, 23]),
        ({"nodes": "$N"}, []),
        ({"gpus": "4"}, [13]),
        ({"lr": "2"}, [23]),
    ],
)
def test_roles_of_a_manifest(tmp_path: Path, change: dict[str, str], lines: list[int]) -> None:
    text = REPLICAS.format(**{"first": "2", "nodes": "4", "gpus": "8", "lr": "1", **change})
    assert [line for _, line, _ in said(write(tmp_path, {"job.yaml": text}), RULE)] == lines


CONFIG = "distributed_type: 'MULTI_GPU'\nmachine_rank: {}\nnum_machines: 2\nmain_process_ip: h\nnum_processes: {}\n"


@pytest.mark.parametrize(
    ("flags", "config", "found"),
    [
        ("", CONFIG.format(0, 8), True),
        ("", CONFIG.format(0, 4), False),
        ("--num_processes 4 ", CONFIG.format(0, 8), False),
        ("", CONFIG.format(0, 8) + "use_cpu: true\n", False),
        ("", CONFIG.format(0, "{{ count }}"), False),
    ],
)
def test_numbers_in_a_file_of_settings(tmp_path: Path, flags: str, config: str, found: bool) -> None:
    script = f"export {MASK}=0,1\naccelerate launch {flags}--config_file c.yaml train.py\n"
    root = write(tmp_path, {"run.sh": script, "c.yaml": config})
    assert said(root, RULE) == ([("run.sh", 1, MASK)] if found else [])


def test_files_of_settings_of_two_nodes(tmp_path: Path) -> None:
    files = {f"node{rank}.sh": f"accelerate launch --config_file {rank}.yaml train.py\n" for rank in (0, 1)}
    configs = {"0.yaml": CONFIG.format(0, 16), "1.yaml": CONFIG.format(1, 8)}
    assert said(write(tmp_path, {**files, **configs}), RULE) == [("node1.sh", 1, None)]
    assert said(write(tmp_path, {"1.yaml": CONFIG.format(1, 16)}), RULE) == []


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (f"os.environ['{MASK}'] = '0,1'\n", [2]),
        (f"os.environ['{MASK}'] = '0,1,2,3'\n", []),
        (f"os.environ['{MASK}'] = os.environ['LOCAL_RANK']\n", []),
        (f"if debug:\n    os.environ['{MASK}'] = '0'\n", []),
        (f"def single():\n    os.environ['{MASK}'] = '0'\n", []),
        (f"os.environ.setdefault('{MASK}', '0')\n", []),
    ],
)
def test_a_mask_that_the_program_sets(tmp_path: Path, code: str, lines: list[int]) -> None:
    files = {"train.py": f"import os\n{code}import torch\ntorch.distributed.init_process_group('nccl')\n",
             "run.sh": f"export {MASK}=0\ntorchrun --nproc_per_node=4 train.py\n"}  # fmt: skip
    assert said(write(tmp_path, files), RULE) == [("train.py", line, MASK) for line in lines]
