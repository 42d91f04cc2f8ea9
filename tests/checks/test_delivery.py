"""Delivery: shapes in which a setting is lost, and beside each one the shape in which it arrives."""

from __future__ import annotations

from pathlib import Path

import pytest
from scanned import findings, said, write
from support import known_catalog

from envdoctor.core.facts import Launch, Place

EXPORTED = "#!/bin/bash\nexport NCCL_ALGO=Ring\n"
HERE = Place("run.sh", 1, 1, 1, 2)


def launch(text: str, launcher: str = "", inner: str = "") -> Launch:
    words = tuple(text.split())
    return Launch(launcher or words[0], words, HERE, 0, inner=tuple(inner.split()))


@pytest.mark.parametrize(
    "command",
    [
        "mpirun -np 16 --hostfile hosts -x NCCL_DEBUG python train.py",
        "mpirun -np 16 -machinefile $HOSTFILE --mca btl tcp,self ./all_reduce_perf",
        "ssh node2 torchrun train.py",
        "ssh -p 2222 me@node2 'cd /work && nohup torchrun train.py > log 2>&1 &'",
        "for h in $(cat hosts); do ssh $h 'torchrun train.py' & done",
        "pdsh -w n[1-4] 'torchrun train.py'",
        "clush -w n[1-4] torchrun train.py",
        "parallel -S n1,n2 torchrun ::: train.py",
        "docker run --rm --gpus all img python train.py",
        "docker run --rm -e NCCL_DEBUG=INFO $IMAGE torchrun train.py",
        "podman run img bash -c 'cd /w && torchrun train.py'",
        "docker exec trainer torchrun train.py",
        "kubectl exec trainer-0 -- torchrun train.py",
        "srun --export=NONE torchrun train.py",
        "srun --export=NCCL_DEBUG,PATH torchrun train.py",
        "apptainer exec --cleanenv img.sif torchrun train.py",
        "singularity run -e img.sif python train.py",
        "sudo torchrun train.py",
        "env -i PATH=$PATH python train.py",
        "mpiexec -hosts a,b -genvnone -n 2 python train.py",
        "mpiexec -hosts a,b -genvlist NCCL_DEBUG -n 2 python train.py",
        "ray job submit --address http://head:8265 -- python train.py",
        "enroot start img python train.py",
    ],
)
def test_lost(tmp_path: Path, command: str) -> None:
    root = write(tmp_path, {"run.sh": EXPORTED + command + "\n", "hosts": "n1\nn2\n"})
    assert said(root, "not-forwarded") == [("run.sh", 2, "NCCL_ALGO")]


@pytest.mark.parametrize(
    "command",
    [
        "mpirun -np 16 --hostfile hosts -x NCCL_ALGO python train.py",
        "mpirun -np 16 --hostfile hosts -x NCCL_ALGO=Tree python train.py",
        "mpirun -np 16 --hostfile hosts -x 'NCCL_*' python train.py",
        "mpirun -np 16 --hostfile hosts --mca mca_base_env_list 'NCCL_ALGO;PATH' python train.py",
        "mpirun -np 16 --hostfile one --mca btl self python train.py",
        "mpirun -np 16 -H localhost:16 -x NCCL_DEBUG python train.py",
        "mpirun -np 8 -x NCCL_DEBUG python train.py",
        "mpirun -np 16 --hostfile hosts python train.py",  # which mpirun this is cannot be told
        "mpirun -np 16 --hostfile hosts -x NCCL_DEBUG $MPI_OPTIONS python train.py",
        "mpirun -np 16 --hostfile hosts -x NCCL_DEBUG hostname",
        "mpirun -np 16 --hostfile hosts -x NCCL_DEBUG /opt/site/run.sh",
        "mpiexec -hosts a,b -n 2 python train.py",
        "ssh node2 'NCCL_ALGO=Ring torchrun train.py'",
        'ssh node2 "export NCCL_ALGO=$NCCL_ALGO; torchrun train.py"',
        "ssh node2 'source /work/env.sh; torchrun train.py'",
        "ssh node2 'bash -l -c \"torchrun train.py\"'",
        "ssh node2 nvidia-smi",
        "ssh node2 mkdir -p /work",
        "ssh -o SendEnv=NCCL_ALGO node2 torchrun train.py",
        "docker run -e NCCL_ALGO img python train.py",
        "docker run -eNCCL_ALGO=Ring img python train.py",
        "docker run --env-file /site/vars img python train.py",
        "docker run $OPTIONS img python train.py",
        'docker run "${ARGS[@]}" img python train.py',
        "docker run img",
        "docker run img bash /workspace/run.sh",
        "docker run img pip install x",
        "podman run --env-host img python train.py",
        "srun torchrun train.py",
        "srun --export=ALL torchrun train.py",
        "srun --export=ALL,NCCL_DEBUG=INFO torchrun train.py",
        "srun --export=NCCL_ALGO,PATH torchrun train.py",
        "srun --export=$WHAT torchrun train.py",
        "apptainer exec --nv img.sif torchrun train.py",
        "apptainer exec --cleanenv --env NCCL_ALGO=Ring img.sif torchrun train.py",
        "export APPTAINERENV_NCCL_ALGO=Ring\napptainer exec --cleanenv img.sif torchrun train.py",
        "sudo -E torchrun train.py",
        "sudo NCCL_ALGO=Ring torchrun train.py",
        "sudo --preserve-env=NCCL_ALGO torchrun train.py",
        "sudo rocm-smi --reset",
        "torchrun --nnodes=2 train.py",
        "accelerate launch --num_machines 2 train.py",
        "horovodrun -np 4 -H a:2,b:2 python train.py",
        "deepspeed --hostfile hosts train.py",
        "parallel torchrun ::: train.py",
    ],
)
def test_arrives_or_cannot_be_told(tmp_path: Path, command: str) -> None:
    root = write(tmp_path, {"run.sh": EXPORTED + command + "\n", "hosts": "n1\nn2\n", "one": "localhost slots=8\n"})
    assert said(root, "not-forwarded") == []


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        ("deepspeed --hostfile hosts train.py", True),
        ("deepspeed --num_nodes 2 train.py", True),
        ("deepspeed --hostfile hosts --num_nodes 1 train.py", False),
        ("deepspeed --hostfile one train.py", False),
        ("deepspeed --num_gpus 8 train.py", False),
        ("deepspeed --hostfile hosts --launcher slurm train.py", False),
        ("deepspeed --hostfile hosts --launcher=openmpi train.py", True),
        ("echo CUBLAS_WORKSPACE_CONFIG=:16:8 >> .deepspeed_env\ndeepspeed --hostfile hosts train.py", False),
        ("env | grep CUBLAS > ~/.deepspeed_env\ndeepspeed --hostfile hosts train.py", False),
    ],
)
def test_deepspeed_forwards_prefixes_and_its_file(tmp_path: Path, lines: str, lost: bool) -> None:
    script = "#!/bin/bash\nexport NCCL_ALGO=Ring\nexport CUBLAS_WORKSPACE_CONFIG=:4096:8\n" + lines + "\n"
    root = write(tmp_path, {"run.sh": script, "hosts": "n1\nn2\n", "one": "n1\n"})
    assert said(root, "not-forwarded") == ([("run.sh", 3, "CUBLAS_WORKSPACE_CONFIG")] if lost else [])


def test_deepspeed_file_of_the_tree(tmp_path: Path) -> None:
    script = "export CUBLAS_WORKSPACE_CONFIG=:4096:8\ndeepspeed --hostfile hosts train.py\n"
    root = write(tmp_path, {"run.sh": script, ".deepspeed_env": "CUBLAS_WORKSPACE_CONFIG=:4096:8\n"})
    assert said(root, "not-forwarded") == []


@pytest.mark.parametrize(
    ("mark", "lost"),
    [("", True), ("#SBATCH -N 2\n", False), ("#PBS -l nodes=2\n", False), ("echo $SLURM_JOB_ID\n", False)],
)
def test_a_batch_system_starts_open_mpi_with_everything(tmp_path: Path, mark: str, lost: bool) -> None:
    script = f"#!/bin/bash\n{mark}export NCCL_ALGO=Ring\nmpirun --hostfile hosts -x NCCL_DEBUG python train.py\n"
    root = write(tmp_path, {"run.sh": script})
    assert bool(said(root, "not-forwarded")) == lost


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        ("srun torchrun train.py", True),
        ("srun --export=ALL torchrun train.py", False),
        ("unset SLURM_EXPORT_ENV\nsrun torchrun train.py", False),
    ],
)
def test_the_directive_of_a_job_holds_for_its_steps(tmp_path: Path, lines: str, lost: bool) -> None:
    script = f"#!/bin/bash\n#SBATCH --export=NONE\nexport NCCL_ALGO=Ring\n{lines}\n"
    assert bool(said(write(tmp_path, {"job.sh": script}), "not-forwarded")) == lost


def test_what_the_program_sets_itself_is_not_lost(tmp_path: Path) -> None:
    files = {"run.sh": EXPORTED + "docker run -v .:/w img python train.py\n",
             "train.py": "import os\nos.environ['NCCL_ALGO'] = 'Ring'\n"}  # fmt: skip
    assert said(write(tmp_path, files), "not-forwarded") == []


def test_what_the_script_uses_itself_is_not_judged(tmp_path: Path) -> None:
    script = EXPORTED + 'ARGS="-e ALGO=$NCCL_ALGO"\ndocker run img python train.py\n'
    assert said(write(tmp_path, {"run.sh": script}), "not-forwarded") == []


def test_one_finding_for_a_variable_with_every_place_it_is_lost(tmp_path: Path) -> None:
    script = EXPORTED + "ssh n1 torchrun train.py\nssh n2 torchrun train.py\n"
    (found,) = findings(write(tmp_path, {"run.sh": script}), "not-forwarded")
    assert [related.place.line for related in found.related] == [3, 4]
    assert "ssh passes on no variables" in found.message
    assert found.help.startswith("set it inside the command")


@pytest.mark.parametrize(
    ("command", "variable"),
    [
        ("srun -N 2 -x NCCL_PROTO=Simple python train.py", "NCCL_PROTO"),
        ("srun -x NCCL_PROTO python train.py", "NCCL_PROTO"),
        ("mpirun -np 2 -x NCCL_ALGO,NCCL_PROTO python train.py", "NCCL_PROTO"),
        ("srun -x node17 python train.py", None),
        ("srun --exclude=node17 python train.py", None),
        ("mpirun -np 2 -x NCCL_ALGO -x NCCL_PROTO python train.py", None),
        ("mpirun -np 2 -x NCCL_IB_HCA=mlx5_0,mlx5_1 python train.py", None),
    ],
)
def test_flags_that_pass_no_variable(tmp_path: Path, command: str, variable: str | None) -> None:
    found = said(write(tmp_path, {"run.sh": f"#!/bin/bash\n{command}\n"}), "not-forwarded")
    assert found == ([("run.sh", 2, variable)] if variable else [])


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("NCCL_ALGO=Ring\nsrun python train.py", 1),
        ("NCCL_ALGO=Ring; torchrun train.py", 1),
        ("declare NCCL_ALGO=Ring\ntorchrun train.py", 1),
        ("readonly NCCL_ALGO=Ring\ntorchrun train.py", 1),
        ("export NCCL_ALGO = Ring\ntorchrun train.py", 1),
        ("if x; then NCCL_ALGO=Ring; fi\ntorchrun train.py", 1),
        ("cat e | while read l; do export NCCL_ALGO=$l; done\ntorchrun train.py", 1),
        ("f() { NCCL_ALGO=Ring; torchrun train.py; }\nf", 1),
        ("NCCL_ALGO=Ring\n./run_training.sh", 1),
    ],
)
def test_not_exported(tmp_path: Path, lines: str, line: int) -> None:
    root = write(tmp_path, {"run.sh": lines + "\n"})
    assert said(root, "not-exported") == [("run.sh", line, "NCCL_ALGO")]


@pytest.mark.parametrize(
    "lines",
    [
        "export NCCL_ALGO=Ring\ntorchrun train.py",
        "NCCL_ALGO=Ring torchrun train.py",
        "NCCL_ALGO=Ring \\\n  torchrun train.py",
        "NCCL_ALGO=Ring\nexport NCCL_ALGO NCCL_PROTO\ntorchrun train.py",
        "set -a\nNCCL_ALGO=Ring\ntorchrun train.py",
        "set -o allexport\nNCCL_ALGO=Ring\ntorchrun train.py",
        "NCCL_ALGO=Ring\nNCCL_ALGO=$NCCL_ALGO torchrun train.py",
        "NCCL_ALGO=Ring\ntorchrun train.py --algo $NCCL_ALGO",
        "NCCL_ALGO=Ring\nexport NCCL_PROTO=$NCCL_ALGO\ntorchrun train.py",
        "NCCL_ALGO=Ring\n[ $NCCL_ALGO = Ring ] && torchrun train.py",
        "NCCL_ALGO=Ring\necho done",
        "torchrun train.py\nNCCL_ALGO=Ring",
        "NCCL_ALGO=${NCCL_ALGO:-Ring}\ntorchrun train.py",
        "(export NCCL_ALGO=Ring; torchrun train.py)\ntorchrun test.py",
        "MY_ALGO=Ring\ntorchrun train.py",
        "if x; then NCCL_ALGO=Ring; else torchrun train.py; fi",
    ],
)
def test_exported_used_or_not_started(tmp_path: Path, lines: str) -> None:
    assert said(write(tmp_path, {"run.sh": lines + "\n"}), "not-exported") == []


def test_exported_by_the_script_that_runs_this_one(tmp_path: Path) -> None:
    files = {"all.sh": "export NCCL_ALGO=Tree\nbash run.sh\n", "run.sh": "NCCL_ALGO=Ring\ntorchrun train.py\n"}
    assert said(write(tmp_path, files), "not-exported") == []


def test_export_offers_a_fix_at_the_name(tmp_path: Path) -> None:
    (found,) = findings(write(tmp_path, {"run.sh": "NCCL_ALGO=Ring\ntorchrun train.py\n"}), "not-exported")
    assert found.fix is not None
    (edit,) = found.fix.edits
    assert (edit.place.line, edit.place.column, edit.place.end_column, edit.text) == (1, 1, 1, "export ")


IMPORTS = "import os\nimport torch\nimport torch.distributed as dist\n"


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("dist.init_process_group('nccl')", "TORCH_NCCL_BLOCKING_WAIT"),
        ("dist.init_process_group('nccl', device_id=torch.device('cuda:0'))", "NCCL_BUFFSIZE"),
        ("dist.init_process_group('nccl')\ndist.broadcast(x, 0)", "NCCL_P2P_DISABLE"),
        ("dist.init_process_group('nccl')\ntorch.nn.parallel.DistributedDataParallel(m)", "NCCL_IB_TIMEOUT"),
        ("torch.cuda.set_device(0)", "CUDA_LAUNCH_BLOCKING"),
        ("torch.ones(3, device='cuda:0')", "HSA_ENABLE_SDMA"),
        ("torch.nn.Linear(2, 2).to('cuda')", "HIP_VISIBLE_DEVICES"),
        ("torch.matmul(a, b)", "CUBLAS_WORKSPACE_CONFIG"),
        ("torch.nn.functional.conv2d(a, b)", "MIOPEN_FIND_MODE"),
    ],
)
def test_set_after_it_was_read(tmp_path: Path, before: str, name: str) -> None:
    code = f"{IMPORTS}{before}\nos.environ['{name}'] = '1'\n"
    line = code.count("\n")
    assert said(write(tmp_path, {"train.py": code}), "set-too-late") == [("train.py", line, name)]
    early = f"{IMPORTS}os.environ['{name}'] = '1'\n{before}\n"
    assert said(write(tmp_path / "early", {"train.py": early}), "set-too-late") == []


@pytest.mark.parametrize(
    "code",
    [
        "dist.init_process_group('nccl')\nos.environ['NCCL_BUFFSIZE'] = '1'\ndist.barrier()",
        "dist.init_process_group(backend='gloo')\ndist.barrier()\nos.environ['NCCL_BUFFSIZE'] = '1'",
        "if warm:\n    dist.barrier()\nos.environ['NCCL_BUFFSIZE'] = '1'",
        "torch.cuda.manual_seed(0)\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'",
        "torch.cuda.is_available()\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nos.execv('x', [])",
        "torch.cuda.is_available()\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\ntorch.multiprocessing.spawn(f)",
        "def f():\n    dist.barrier()\ndef g():\n    os.environ['NCCL_BUFFSIZE'] = '1'",
        "ok = ready or torch.cuda.is_available()\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'",
        "dist.barrier()\nenv = {'NCCL_BUFFSIZE': '1'}",
    ],
)
def test_not_late_or_not_certain(tmp_path: Path, code: str) -> None:
    assert said(write(tmp_path, {"train.py": f"{IMPORTS}{code}\n"}), "set-too-late") == []


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("rank == 0", True), ("args.local_rank == 0", True), ("dist.get_rank() == 0", True), ("is_main_process()", True),
        ("int(os.environ['RANK']) == 0", True), ("rank != 0", False), ("world_size == 0", False),
        ("rank == 0 or single", False), ("not is_main_process()", False), ("args.rank_zero", False),
    ],
)  # fmt: skip
def test_set_on_one_rank(tmp_path: Path, condition: str, found: bool) -> None:
    code = f"{IMPORTS}if {condition}:\n    os.environ['NCCL_PROTO'] = 'LL'\ndist.init_process_group('nccl')\n"
    assert bool(said(write(tmp_path, {"train.py": code}), "set-too-late")) == found


def test_hash_seed_that_a_script_gives_is_fine(tmp_path: Path) -> None:
    files = {"train.py": "import os\nos.environ['PYTHONHASHSEED'] = '0'\n"}
    assert said(write(tmp_path, files), "set-too-late") == [("train.py", 2, "PYTHONHASHSEED")]
    write(tmp_path, {"run.sh": "export PYTHONHASHSEED=0\ntorchrun train.py\n"})
    assert said(tmp_path, "set-too-late") == []


NODE = "#!/bin/bash\nexport NCCL_ALGO={algo}\ntorchrun --nnodes=2 --node_rank={rank} --master_addr=10.0.0.1 {entry}\n"


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (("Ring", 0, "train.py"), ("Tree", 1, "train.py"), True),
        (("Ring", 0, "train.py"), ("ring", 1, "train.py"), False),
        (("Ring", 0, "train.py"), ("Tree", 1, "eval.py"), False),
        (("Ring", 0, "train.py"), ("Tree", 0, "train.py"), False),
        (("Ring", 0, "train.py"), ("$ALGO", 1, "train.py"), False),
    ],
)
def test_nodes_of_one_job(tmp_path: Path, one: tuple[str, int, str], other: tuple[str, int, str], found: bool) -> None:
    files = {
        f"{name}.sh": NODE.format(algo=algo, rank=rank, entry=entry)
        for name, (algo, rank, entry) in {"a": one, "b": other}.items()
    }
    assert bool(said(write(tmp_path, files), "inconsistent-launch")) == found


@pytest.mark.parametrize(
    "script",
    [
        "ssh n0 'NCCL_ALGO=Ring torchrun --nnodes=2 --node_rank=0 t.py' &\n"
        "ssh n1 'NCCL_ALGO=Tree torchrun --nnodes=2 --node_rank=1 t.py'\n",
        "if [ $SLURM_NODEID = 0 ]; then export NCCL_ALGO=Ring; else export NCCL_ALGO=Tree; fi\nsrun python t.py\n",
    ],
)
def test_nodes_in_one_script(tmp_path: Path, script: str) -> None:
    (found,) = findings(write(tmp_path, {"run.sh": script}), "inconsistent-launch")
    assert (found.variable, [r.variable for r in found.related]) == ("NCCL_ALGO", ["NCCL_ALGO"])


def test_nodes_that_their_environment_numbers(tmp_path: Path) -> None:
    text = "export NCCL_ALGO={}\nexport MASTER_ADDR=n0 WORLD_SIZE=2 RANK={}\npython t.py\n"
    root = write(tmp_path, {"n0.sh": text.format("Ring", 0), "n1.sh": text.format("Tree", 1)})
    assert said(root, "inconsistent-launch") == [("n1.sh", 1, "NCCL_ALGO")]


def test_a_node_that_lacks_a_setting(tmp_path: Path) -> None:
    files = {"a.sh": NODE.format(algo="Ring", rank=0, entry="train.py"),
             "b.sh": NODE.format(algo="Ring", rank=1, entry="train.py").replace("export NCCL_ALGO=Ring\n", "")}  # fmt: skip
    assert said(write(tmp_path, files), "inconsistent-launch") == [("a.sh", 2, "NCCL_ALGO")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# bitwise reproducible\nrocm-smi --setperfdeterminism 1900\n", True),
        ("# steady clocks\nrocm-smi --setperfdeterminism 1900\n", False),
        ("# MI325X\nrocm-smi --setperfdeterminism 1900\n", True),
        ("# MI250X\nrocm-smi --setperfdeterminism 1900\n", False),
        ("# deterministic\namd-smi set --gpu 0 --perf-determinism 1900\n", True),
        ("# deterministic\namd-smi reset --perf-determinism\n", False),
        ("git clone https://github.com/ROCm/rccl\ncmake -S rccl -B build\n", True),
        ("git clone https://github.com/ROCm/rccl\ncmake $FLAGS rccl\n", False),
        ("git clone https://github.com/ROCm/rccl\nexport CMAKE_BUILD_TYPE=Release\ncmake rccl\n", False),
        ("git clone https://github.com/ROCm/rccl\ncmake --build rccl\n", False),
        ("git clone https://github.com/NVIDIA/nccl\ncmake nccl\n", False),
    ],
)
def test_commands_that_are_misread(tmp_path: Path, text: str, found: bool) -> None:
    assert bool(said(write(tmp_path, {"setup.sh": f"#!/bin/bash\n{text}"}), "command-misread")) == found


def test_old_rccl_reads_nccl_conf(tmp_path: Path) -> None:
    root = write(tmp_path, {"setup.sh": "echo NCCL_ALGO=Ring >> /etc/nccl.conf\n"})
    assert said(root, "conf-file", target="rocm-6.2") == [("setup.sh", 1, None)]
    assert said(root, "conf-file", target="rocm-5.1") == []


def test_only_files_that_are_reported_on(tmp_path: Path) -> None:
    from scanned import BOOK

    from envdoctor.analysis.project import open_project
    from envdoctor.engine import Engine
    from envdoctor.readers.store import Triggers

    root = write(tmp_path, {"run.sh": ". ./env.sh\ntorchrun train.py\n", "env.sh": "NCCL_ALGO=Ring\n"})
    project = open_project(root, root, Triggers((b"",)))
    engine = Engine(project, known_catalog(), BOOK, [BOOK.named("not-exported")])
    assert engine.judge(["run.sh"]).findings == []
    assert [f.place.path for f in engine.judge(["env.sh"]).findings] == ["env.sh"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[ "$RANK" -eq 0 ] && export NCCL_ALGO=Ring', True),
        ("case $(hostname) in\nn1) export NCCL_ALGO=Ring ;;\nesac", True),
        ('if [ "$SLURM_NODEID" != 0 ]; then export NCCL_ALGO=Ring; fi', True),
        ('if [ "$RANK" = 0 ]; then export NCCL_ALGO=Ring; else export NCCL_ALGO=Ring; fi', False),
        ('export NCCL_ALGO=Ring\nif [ "$RANK" = 0 ]; then export NCCL_ALGO=Ring; fi', False),
        ('if [ "$DEBUG" = 1 ]; then export NCCL_ALGO=Ring; fi', False),
        ('if [ "$RANK" = 0 ]; then export NCCL_SOCKET_IFNAME=eth0; fi', False),
        ('if [ "$RANK" = 0 ]; then export NCCL_ALGO=$X; exit; fi', False),
    ],
)
def test_set_on_one_side_of_a_test_of_the_rank(tmp_path: Path, text: str, found: bool) -> None:
    root = write(tmp_path, {"run.sh": f"{text}\ntorchrun --nnodes=2 train.py\n"})
    assert bool(said(root, "inconsistent-launch")) == found
