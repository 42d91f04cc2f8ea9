"""What goes from one process to the next, command by command: what is lost, what arrives, what cannot be told."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from launch_words import PlainWord, carries, words_of

from envdoctor.analysis.process.edges import (
    Crossing,
    EdgeSurroundings,
    cross,
    directives,
    find,
    headed,
    with_header,
)
from envdoctor.knowledge.launchers import load_launchers

LAUNCHERS = load_launchers()
HOSTS = {"hosts": 2, "one": 1}
FILES: dict[str, Collection[str] | None] = {"job.env": ("NCCL_PROTO",), ".deepspeed_env": ()}


def around(batch: str = "", **variables: str) -> EdgeSurroundings:
    return EdgeSurroundings(batch, HOSTS.get, variables.get, lambda path: FILES.get(path, ()))


def crossed(line: str, batch: str = "", part: int = 0, **variables: str) -> Crossing[PlainWord]:
    found = find(LAUNCHERS, words_of(line))
    assert found is not None, line
    return cross(found, around(batch, **variables), part)


@pytest.mark.parametrize(
    "line",
    [
        "mpirun -np 16 --hostfile hosts -x NCCL_DEBUG python train.py",
        "mpirun -np 16 -machinefile $HOSTFILE --mca btl tcp,self ./all_reduce_perf",
        "mpirun -np 16 --hostfile hosts -x NCCL_ALGO,NCCL_PROTO python train.py",
        "ssh node2 torchrun train.py",
        "ssh -p 2222 me@node2 'cd /work && nohup torchrun train.py > log 2>&1 &'",
        "ssh -tt node2 torchrun train.py",
        "pdsh -w n[1-4] 'torchrun train.py'",
        "clush -w n[1-4] torchrun train.py",
        "parallel -S n1,n2 torchrun ::: train.py",
        "docker run --rm --gpus all img python train.py",
        "docker run -itd --rm -v a:b img python train.py",
        "docker run --rm -e NCCL_DEBUG=INFO $IMAGE torchrun train.py",
        "docker run -e 'NCCL_*' img python train.py",
        "docker run --env-file job.env img python train.py",
        "docker compose -f c.yaml run trainer python train.py",
        "docker-compose run -e NCCL_DEBUG=1 trainer python train.py",
        "docker compose up -d",
        "podman run img bash -c 'cd /w && torchrun train.py'",
        "docker exec trainer torchrun train.py",
        "kubectl exec trainer-0 -- torchrun train.py",
        "kubectl -n jobs exec $POD -- torchrun train.py",
        "srun --export=NONE torchrun train.py",
        "srun --export= torchrun train.py",
        "srun --export=NIL torchrun train.py",
        "srun --export=none,NCCL_ALGO torchrun train.py",
        "srun --export='NCCL_*' torchrun train.py",
        "srun --export=NCCL_DEBUG,PATH torchrun train.py",
        "srun --export=NCCL_ALGO=Tree torchrun train.py",
        "srun --export=ALL --export=NCCL_DEBUG torchrun train.py",
        "sbatch --export=ALL,NCCL_ALGO=Tree job.sh",
        "apptainer exec --cleanenv img.sif torchrun train.py",
        "apptainer exec -C img.sif torchrun train.py",
        "singularity run -e img.sif python train.py",
        "apptainer exec --no-env NCCL_ALGO,X img.sif python train.py",
        "sudo torchrun train.py",
        "sudo -u me -n torchrun train.py",
        "sudo -i torchrun train.py",
        "sudo --preserve-env=NCCL_PROTO torchrun train.py",
        "env -i PATH=$PATH python train.py",
        "env - python train.py",
        "env -u NCCL_ALGO python train.py",
        "env NCCL_ALGO=Tree python train.py",
        "su - me -c 'torchrun train.py'",
        "su -lc 'torchrun train.py' me",
        "runuser -l me -c 'torchrun train.py'",
        "mpiexec -hosts a,b -genvnone -n 2 python train.py",
        "mpiexec -hosts a,b -genvlist NCCL_DEBUG -n 2 python train.py",
        "mpiexec.hydra -hosts a,b -genvnone -n 2 python train.py",
        "ray job submit --address http://head:8265 -- python train.py",
        "enroot start img python train.py",
        "systemd-run --user python train.py",
        "tmux new-window -t 0 'python train.py'",
        "tmux send-keys -t 0 'python train.py' Enter",
        "qsub -l select=2 job.sh",
        "bsub -env none python train.py",
        "crontab jobs",
        "torchrun --nproc_per_node 8 train.py",
    ],
)
def test_lost(line: str) -> None:
    name = "MASTER_ADDR" if line.startswith("torchrun") else "NCCL_ALGO"
    crossing = crossed(line)
    assert carries(crossing, name) is False, crossing


@pytest.mark.parametrize(
    "line",
    [
        "mpirun -np 16 --hostfile hosts -x NCCL_ALGO python train.py",
        "mpirun -np 16 --hostfile hosts --mca mca_base_env_list 'NCCL_ALGO;PATH' python train.py",
        "mpirun -np 16 --hostfile one --mca btl self python train.py",
        "mpirun -np 16 -H localhost:16 -x NCCL_DEBUG python train.py",
        "mpirun -np 8 -x NCCL_DEBUG python train.py",
        "mpirun -np 8 python train.py",
        "mpiexec -hosts a,b -n 2 python train.py",
        "mpiexec -ppn 1 -hosts a,b -n 2 python train.py",
        "docker run -e NCCL_ALGO img python train.py",
        "docker run -eNCCL_ALGO img python train.py",
        "podman run --env-host img python train.py",
        "podman run -e 'NCCL_*' img python train.py",
        "docker compose run -e NCCL_ALGO trainer python train.py",
        "srun torchrun train.py",
        "srun --export ALL torchrun train.py",
        "srun --export=all torchrun train.py",
        "srun --export=ALL,NCCL_ALGO=Tree torchrun train.py",
        "srun --export=NCCL_ALGO=Tree,ALL torchrun train.py",
        "srun --export=NCCL_ALGO,PATH torchrun train.py",
        "sbatch --export=NCCL_ALGO=Tree,ALL job.sh",
        "apptainer exec --nv img.sif torchrun train.py",
        "sudo -E torchrun train.py",
        "sudo -nE torchrun train.py",
        "sudo --preserve-env torchrun train.py",
        "sudo --preserve-env=NCCL_ALGO torchrun train.py",
        "su me -c 'torchrun train.py'",
        "su -w NCCL_ALGO - me -c 'torchrun train.py'",
        "runuser -u me -- torchrun train.py",
        "env A=1 python train.py",
        "nohup timeout 5 torchrun train.py",
        "nohup $OPTIONS torchrun train.py",
        "torchrun $ARGS train.py",
        "torchrun --nnodes=2 train.py",
        "python -m torch.distributed.run --nproc_per_node 2 train.py",
        "/usr/bin/python3.11 -u train.py",
        "accelerate launch --num_machines 2 train.py",
        "horovodrun -np 4 -H a:2,b:2 python train.py",
        "deepspeed --hostfile hosts train.py",
        "deepspeed --hostfile one train.py",
        "parallel torchrun ::: train.py",
        "bash -lc 'torchrun train.py'",
        "bash $OPTIONS train.sh",
        "screen -dmS t python train.py",
        "systemd-run --scope python train.py",
        "uv run --env-file x.env python train.py",
        "conda run -n torch python train.py",
        "qsub -V job.sh",
        "qsub -v NCCL_ALGO job.sh",
        "bsub -env 'all, NCCL_DEBUG=INFO' python train.py",
        "flux run -n 2 python train.py",
        "$MPIRUN -np 8 python train.py",
        "xargs -n 1 python train.py",
    ],
)
def test_arrives(line: str) -> None:
    crossing = crossed(line)
    assert carries(crossing, "NCCL_ALGO") is True, crossing


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mpirun -np 16 --hostfile hosts python train.py", "which mpirun this is cannot be told"),
        ("mpirun -np 16 --hostfile hosts -x NCCL_DEBUG $MPI_OPTIONS python train.py", "options held in a variable"),
        ("mpirun -H $HOST -x NCCL_DEBUG python train.py", "whether other hosts take part is not known"),
        ("mpirun -H node2 -x NCCL_DEBUG python train.py", "whether other hosts take part is not known"),
        ("docker run --env-file /site/vars img python train.py", "what /site/vars holds is not known"),
        ("docker run --env-file $FILE img python train.py", "what $FILE holds is not known"),
        ("docker run $OPTIONS img python train.py", "options held in a variable"),
        ('docker run "${ARGS[@]}" img python train.py', "options held in a variable"),
        ("docker run -e $VARIABLE img python train.py", "-e is given what is not known"),
        ("srun --export=$WHAT torchrun train.py", "--export is given what is not known"),
        ("srun $SRUN_OPTIONS torchrun train.py", "options held in a variable"),
        ("srun --export-file=f torchrun train.py", "variables come from a file"),
        ("ray job submit --runtime-env env.yaml -- python train.py", "what env.yaml holds is not known"),
        ("deepspeed --hostfile hosts --launcher_args '-x A' train.py", "options of the runner may send variables"),
        ("runai submit t -i img -e A=1 -- python train.py", "which flags set variables differs among releases"),
        ("doas torchrun train.py", "doas.conf says what is kept"),
    ],
)
def test_cannot_be_told(line: str, why: str) -> None:
    crossing = crossed(line)
    assert crossing.unknown == why
    assert carries(crossing, "OMP_NUM_THREADS") is None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("mpirun -np 16 --hostfile hosts -x 'NCCL_*' python train.py", "NCCL_ALGO"),
        ("ssh -o SendEnv=NCCL_ALGO node2 torchrun train.py", "NCCL_ALGO"),
        ("ssh -oSendEnv=NCCL_ALGO node2 torchrun train.py", "NCCL_ALGO"),
        ("tmux new-session -d 'python train.py'", "NCCL_ALGO"),
    ],
)
def test_one_name_that_cannot_be_told(line: str, name: str) -> None:
    assert carries(crossed(line), name) is None


@pytest.mark.parametrize(
    ("line", "batch", "carried"),
    [
        ("mpirun --hostfile hosts -x NCCL_DEBUG python train.py", "", False),
        ("mpirun --hostfile hosts -x NCCL_DEBUG python train.py", "slurm", True),
        ("mpirun --hostfile hosts -x NCCL_DEBUG python train.py", "pbs", None),
        ("mpirun --hostfile hosts --mca plm rsh -x NCCL_DEBUG python train.py", "slurm", False),
        ("mpiexec -hosts a,b -genvnone python train.py", "slurm", True),
        ("mpiexec -hosts a,b -genvnone python train.py", "pbs", False),
    ],
)
def test_batch_systems_start_daemons_with_everything(line: str, batch: str, carried: bool | None) -> None:
    assert carries(crossed(line, batch), "NCCL_ALGO") is carried


@pytest.mark.parametrize(
    ("line", "carried"),
    [
        ("deepspeed --hostfile hosts train.py", False),
        ("deepspeed --num_nodes 2 train.py", False),
        ("deepspeed --num_nodes=2 train.py", False),
        ("deepspeed --hostfile hosts --num_nodes 1 train.py", True),
        ("deepspeed --hostfile one train.py", True),
        ("deepspeed --num_gpus 8 train.py", True),
        ("deepspeed --num_nodes $NNODES train.py", None),
        ("deepspeed --hostfile hosts --launcher slurm train.py", True),
        ("deepspeed --hostfile hosts --launcher=openmpi train.py", False),
    ],
)
def test_deepspeed_forwards_prefixes_and_its_file(line: str, carried: bool | None) -> None:
    assert carries(crossed(line), "CUBLAS_WORKSPACE_CONFIG") is carried


def test_deepspeed_reads_its_file_and_one_that_a_variable_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert crossed("deepspeed --hostfile hosts train.py").reads == []
    assert carries(crossed("deepspeed --hostfile hosts train.py", DS_ENV_FILE="x"), "TORCH_A") is None
    monkeypatch.setitem(FILES, ".deepspeed_env", ("TORCH_A",))
    (file,) = crossed("deepspeed --hostfile hosts train.py").reads
    assert (file.path, file.grammar, file.wins, file.word) == (".deepspeed_env", "lines", "over", None)
    monkeypatch.setitem(FILES, ".deepspeed_env", None)
    assert carries(crossed("deepspeed --hostfile hosts train.py"), "TORCH_A") is None


@pytest.mark.parametrize(
    ("variables", "carried"),
    [
        ({"SLURM_EXPORT_ENV": "NONE"}, False),
        ({"SLURM_EXPORT_ENV": "ALL"}, True),
        ({"SLURM_EXPORT_ENV": "ALL,A=1"}, True),
        ({"SLURM_EXPORT_ENV": "NCCL_ALGO,A=1"}, True),
        ({"SLURM_EXPORT_ENV": "A=1"}, False),
        ({"SLURM_EXPORT_ENV": "$LIST"}, None),
        ({"SRUN_EXPORT_ENV": "NONE", "SLURM_EXPORT_ENV": "ALL"}, False),
        ({"SBATCH_EXPORT": "NONE"}, True),
    ],
)
def test_srun_obeys_a_list_that_its_job_remembers(variables: dict[str, str], carried: bool | None) -> None:
    assert carries(crossed("srun torchrun train.py", **variables), "NCCL_ALGO") is carried
    assert carries(crossed("srun --export=ALL torchrun train.py", **variables), "NCCL_ALGO") is True


def test_sbatch_remembers_its_list() -> None:
    assert crossed("sbatch job.sh").remembers == []
    assert crossed("sbatch --export=ALL job.sh").remembers == []
    assert crossed("sbatch --export=NONE job.sh").remembers == [("SLURM_EXPORT_ENV", "NONE")]
    assert crossed("sbatch --export=ALL,A=1 job.sh").remembers == [("SLURM_EXPORT_ENV", "ALL,A=1")]


SCRIPT = "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --export=NONE\n##SBATCH --export=ALL\necho\n#SBATCH --export=ALL\n"


def test_directives_stand_in_the_head_of_a_script() -> None:
    found = directives(LAUNCHERS, SCRIPT)
    assert [(d.name, SCRIPT[d.start : d.end]) for d in found] == [("sbatch", "-N 2"), ("sbatch", "--export=NONE")]
    other = "#PBS -V\n#BSUB -n 2\n#$ -V\n#flux: -n 2\n# SBATCH x\n#SBATCHED x\n"
    assert [d.name for d in directives(LAUNCHERS, other)] == ["qsub", "bsub", "qsub", "flux batch"]


def test_the_command_line_follows_the_directives() -> None:
    header = headed(LAUNCHERS, "sbatch", words_of("--export=NONE"))
    assert header is not None
    assert carries(cross(header), "NCCL_ALGO") is False
    for line, carried in (("sbatch job.sh", False), ("sbatch --export=ALL job.sh", True)):
        command = find(LAUNCHERS, words_of(line))
        assert command is not None
        whole = with_header(command, header)
        assert carries(cross(whole), "NCCL_ALGO") is carried
        assert [word.text for word in whole.segments[0].inner] == ["job.sh"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("docker run -e A=1 -e B --env=C=3 img x", [("set", "A", "1"), ("pass", "B", None), ("set", "C", "3")]),
        ("docker run -e A=$X img x", [("set", "A", "$X")]),
        ("env -u A B=2 x", [("unset", "A", None), ("set", "B", "2")]),
        ("mpiexec -genv A 1 -genvlist B,C -env D=4 x",
         [("set", "A", "1"), ("pass", "B", None), ("pass", "C", None), ("set", "D", "4")]),
        ("ssh -o 'SetEnv=A=1 B=2' -o Port=2 h x", [("set", "A", "1"), ("set", "B", "2")]),
        ("ray job submit --runtime-env-json '{\"env_vars\": {\"A\": \"1\"}}' -- x", [("set", "A", "1")]),
        ("mpirun -x A=1,B -x C --mca btl self x", [("set", "A", "1,B"), ("pass", "C", None)]),
        ("nsys profile -e A=1,B=2 x", [("set", "A", "1"), ("set", "B", "2")]),
        ("flux run --env=-A --env=B --env-remove=C x", [("unset", "A", None), ("pass", "B", None), ("unset", "C", None)]),
        ("srun --container-env=A,B=1 x", [("pass", "A", None)]),
    ],
)  # fmt: skip
def test_what_is_given(line: str, expected: list[tuple[str, str, str | None]]) -> None:
    gives = crossed(line).gives
    assert [(g.op, g.name.text, g.value.text if g.value is not None else None) for g in gives] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("srun -N 2 -x NCCL_PROTO=Simple python train.py", [("no-variable", "-x", "NCCL_PROTO")]),
        ("srun -x NCCL_PROTO python train.py", [("no-variable", "-x", "NCCL_PROTO")]),
        ("srun -x node17 python train.py", []),
        ("srun --container-env=A,B=1 x", [("value", "--container-env", "B")]),
        ("mpirun -np 2 -x NCCL_ALGO,NCCL_PROTO python train.py", [("several", "-x", "NCCL_PROTO")]),
        ("mpirun -np 2 -x NCCL_IB_HCA=mlx5_0,mlx5_1 python train.py", []),
        ("mpirun -np 2 -x NCCL_ALGO -x NCCL_PROTO python train.py", []),
        ("mpiexec.hydra -np 2 -x NCCL_ALGO python train.py", [("no-variable", "-x", "NCCL_ALGO")]),
        ("apptainer exec -e NCCL_DEBUG=INFO img.sif python train.py", [("no-variable", "-e", "NCCL_DEBUG")]),
    ],
)
def test_flags_that_pass_no_variable(line: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(m.how, m.flag, m.name) for m in crossed(line).mistaken] == expected


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("srun --export=NONE x", "with --export=NONE passes on only what --export lists"),
        ("apptainer exec -e img x", "-e empties the environment"),
        ("sudo x", "starts the command with a fresh environment"),
        ("env -i x", "-i empties the environment"),
    ],
)
def test_what_a_finding_says(line: str, says: str) -> None:
    assert crossed(line).says == says


def test_each_part_of_a_command_has_its_own_variables() -> None:
    line = "mpirun -np 1 -x A python head.py : -np 7 -x B python train.py"
    assert [g.name.text for g in crossed(line).gives] == ["A"]
    assert [(g.name.text, g.maybe) for g in crossed(line, part=1).gives] == [("A", True), ("B", False)]
    line = "mpiexec -genv A 1 -env B 2 python head.py : -env C 3 python train.py"
    assert [(g.name.text, g.maybe) for g in crossed(line, part=1).gives] == [("A", False), ("C", False)]


@pytest.mark.parametrize(
    ("line", "name", "inner"),
    [
        ("docker container run --rm img a b", "docker run", "a b"),
        ("docker -H tcp://x run img a", "docker run", "a"),
        ("docker compose -f c.yaml --profile x run --rm trainer a b", "docker compose run", "a b"),
        ("docker run --entrypoint bash img -c x", "docker run", "-c x"),
        ("kubectl -n jobs exec -it pod -c main -- a b", "kubectl exec", "a b"),
        ("python -u -m torch.distributed.run --nproc_per_node 2 t.py x", "torchrun", "t.py x"),
        ("python3 -X dev -m trainer --x", "python", "-m trainer --x"),
        ("python -c 'x'", "python", "-c x"),
        ("/opt/openmpi/bin/mpirun -np 2 --mca a b --bind-to none x y", "mpirun", "x y"),
        ("$MPIRUN -np 2 x", "mpirun", "x"),
        ("tmux -L s send-keys -t a 'x y' C-m", "tmux send-keys", "x y"),
        ("screen -dmS t a b", "screen", "a b"),
        ("ssh -i key -oPort=2 host 'bash -s'", "ssh", "bash -s"),
        ("gcloud compute ssh h --command x", "gcloud compute ssh", ""),
    ],
)
def test_where_the_command_begins(line: str, name: str, inner: str) -> None:
    found = find(LAUNCHERS, words_of(line))
    assert found is not None
    assert (found.name, " ".join(word.text for word in found.segments[0].inner)) == (name, inner)


def test_operands_and_entry_points() -> None:
    found = find(LAUNCHERS, words_of("docker run --entrypoint bash img -c x"))
    assert found is not None
    (segment,) = found.segments
    assert segment.entrypoint is not None
    assert segment.entrypoint.text == "bash"
    assert [word.text for word in segment.operands] == ["img"]
    pod = find(LAUNCHERS, words_of("kubectl exec $POD -- x"))
    assert pod is not None
    assert ([word.text for word in pod.segments[0].operands], pod.flags.opaque) == (["$POD"], [])


def test_what_the_launcher_sets() -> None:
    torchrun = crossed("torchrun --nproc_per_node 8 train.py")
    assert [tuple(value) for value in torchrun.sets] == [
        ("OMP_NUM_THREADS", "1", "under"), ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", "under"),
    ]  # fmt: skip
    assert [value.name for value in crossed("torchrun train.py").sets] == ["TORCH_NCCL_ASYNC_ERROR_HANDLING"]
    assert crossed("apptainer exec -e img x").renames == ["SINGULARITYENV_", "APPTAINERENV_"]
    assert crossed("srun --container-image=i x").image == "over"
    assert (crossed("ray start --head").kind, crossed("ray start --head").daemon) == ("daemon", "ray")
    assert crossed("ssh h x").expand == "there"


def test_unknown_programs_are_not_found() -> None:
    assert find(LAUNCHERS, words_of("./train.sh --fast")) is None
    assert find(LAUNCHERS, words_of("docker ps")) is None
    assert find(LAUNCHERS, []) is None
    assert find(LAUNCHERS, words_of("$CMD x")) is None


def test_tools_and_batch_systems_are_known() -> None:
    assert LAUNCHERS.is_tool("nvidia-smi")
    assert not LAUNCHERS.is_tool("python")
    assert (LAUNCHERS.batch_of("srun"), LAUNCHERS.batch_of("qsub"), LAUNCHERS.batch_of("ssh")) == ("slurm", "pbs", "")
    assert LAUNCHERS.marks["SLURM_"] == "slurm"


NAMES = sorted(LAUNCHERS.by_name)
FLAGS = sorted({flag for row in LAUNCHERS.commands for option in row.options for flag in option.flags.split()})
WORDS = st.one_of(
    st.sampled_from(FLAGS),
    st.sampled_from(
        ["A=1", "A", "A,B=2", "$X", "`x`", "${A[@]}", "ALL,A", "NONE", ":", "--", "-", "-nE", "-uX", "~A", "", "="]
    ),
    st.text(alphabet="-=ab$x1,:[]@{}\"' *~^", max_size=8),
)


@given(st.sampled_from(NAMES), st.lists(WORDS, max_size=10), st.sampled_from(["", "slurm", "pbs"]))
@example("srun", ["--export"], "")
@example("docker run", ["-e"], "")
@example("mpirun", ["--mca", "a"], "slurm")
def test_no_words_make_it_fail(name: str, more: list[str], batch: str) -> None:
    words = [PlainWord(text, "$" not in text and "`" not in text) for text in [*name.split(), *more]]
    found = find(LAUNCHERS, words)
    assert found is not None
    for part in range(len(found.segments)):
        crossing = cross(found, EdgeSurroundings(batch, lambda path: None, {"A": "x"}.get, lambda path: None), part)
        assert carries(crossing, "NCCL_ALGO") in (True, False, None)
