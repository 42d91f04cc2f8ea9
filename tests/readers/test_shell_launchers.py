"""Launchers: the variables their arguments carry, the command inside, and what is not theirs."""

from __future__ import annotations

import pytest
from shell_notation import inclusions, launches, names, read, settings

from envdoctor.knowledge.launchers import load_launchers
from envdoctor.readers.shell.launchers import by_program

CARRIED = [
    ("mpirun -x A=1 -x B ./a", ["set A=1", "pass B"]),
    ("mpirun -np 4 -H a:2,b:2 --bind-to none -x A=1 -mca btl ^openib ./a -x NO=1", ["set A=1"]),
    ("mpirun -x 'NCCL_*' ./a", ["pass NCCL_*"]),
    ("mpirun -x A=1,B ./a", ["set A=1,B"]),
    ("mpirun -x A,B ./a", []),
    ("/opt/mpi/bin/mpirun -x A=1 ./a", ["set A=1"]),
    ("mpirun --allow-run-as-root --report-bindings -x A=1 $BIN/a", ["set A=1"]),
    ("mpirun --mca mca_base_env_list 'A;B=1' ./a", ["pass A", "set B=1"]),
    ("mpirun -np 1 -x A=1 ./a : -np 1 -x B=2 ./b", ["set A=1", "set B=2"]),
    ("orterun -x A=1 ./a", ["set A=1"]),
    ("mpiexec -genv A 1 -genv B=2 -env C 3 -n 2 ./a", ["set A=1", "set B=2", "set C=3"]),
    ("mpiexec.hydra -genvlist A,B -envlist C ./a", ["pass A", "pass B", "pass C"]),
    ("mpirun_rsh -np 2 h1 h2 ./a", []),
    ("docker run -e A=1 -e B --env C=2 --env=D=3 image cmd", ["set A=1", "pass B", "set C=2", "set D=3"]),
    ('docker run --env="A=1 2" image cmd', ["set A=1"]),
    ("docker run --rm -it -v /a:/b --gpus all image cmd -e NO=1", []),
    ("docker container run -e A=1 image", ["set A=1"]),
    ("docker compose -f x.yml run -e A=1 service cmd", ["set A=1"]),
    ("podman exec -e A=1 box cmd", ["set A=1"]),
    ("nerdctl run -e A=1 image", ["set A=1"]),
    ("docker build --build-arg A=1 -t x .", ["set A=1"]),
    ("srun --export=ALL,A=1,B python x.py", ["set A=1", "pass B"]),
    ("srun --export ALL,A=1 python x.py", ["set A=1"]),
    ("srun --export=NONE python x.py", []),
    ("srun -x A=1 --ntasks 4 python x.py", []),
    ("srun --container-env=A,B --container-image=x python x.py", ["pass A", "pass B"]),
    ("sbatch --export=ALL,A=1 job.sh", ["set A=1"]),
    ("apptainer exec --nv --env A=1,B=2 x.sif cmd", ["set A=1", "set B=2"]),
    ("singularity run -e x.sif", []),
    ("enroot start -e A=1 --env B box cmd", ["set A=1", "pass B"]),
    ("pdsh -w h1,h2 -x A=1 hostname", []),
    ("ssh -o SendEnv=A -oSetEnv=B=1 host cmd", ["pass A", "set B=1"]),
    ("clush -w h -x A=1 hostname", []),
    ("parallel --env A,B cmd", ["pass A", "pass B"]),
    ("kubectl set env deployment/x A=1 B-", ["set A=1", "unset B"]),
    ("kubectl run x --image=y --env=A=1 -- cmd", ["set A=1"]),
    ("gcloud run deploy x --set-env-vars A=1,B=2", ["set A=1", "set B=2"]),
    ("gcloud run deploy x --set-env-vars ^@^A=1,2@B=3", ["set A=1,2", "set B=3"]),
    ("az container create --environment-variables A=1 B=2 --name x", ["set A=1", "set B=2"]),
    ("sky launch --env A=1 --env B task.yaml", ["set A=1", "pass B"]),
    ("tmux new -d -s x -e A=1 'cmd'", ["set A=1"]),
    ("tmux setenv -g A 1", ["set A=1"]),
    ("env A=1 B=2 cmd", ["set A=1", "set B=2"]),
    ("env -u A B=1 cmd", ["unset A", "set B=1"]),
    ("time A=1 cmd", ["set A=1"]),
    ("sudo A=1 cmd", ["set A=1"]),
    ("sudo --preserve-env=A,B cmd", ["pass A", "pass B"]),
    ("flux run --env=A=1 -N2 ./a", ["set A=1"]),
    ("jsrun -E A=1 -n 2 ./a", ["set A=1"]),
    ("aprun -e A=1 -n 2 ./a", ["set A=1"]),
    ("qsub -v A=1,B job.sh", ["set A=1", "pass B"]),
    ("bsub -env 'all, A=1' job", ["set A=1"]),
    ("systemd-run --setenv=A=1 cmd", ["set A=1"]),
    ("conda env config vars set A=1", ["set A=1"]),
    ("runai submit x -e A=1", ["set A=1"]),
    ("horovodrun -np 4 python x.py", []),
    ("nohup env A=1 timeout -s KILL 5 numactl -N 0 mpirun -x B=2 ./a", ["set A=1", "set B=2"]),
    ("x=$(mpirun -x A=1 ./a)", ["set x=?", "set A=1"]),
    ("cat hosts | xargs -I{} env A=1 cmd {}", ["set A=1"]),
]


@pytest.mark.parametrize(("text", "expected"), CARRIED)
def test_variables_in_arguments(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_how_an_argument_is_stated() -> None:
    assert settings("srun --export=ALL,A=1 python x.py") == [
        "set A=1 channel=launcher-argument scope=command:srun via=srun"
    ]
    assert settings("env A=1 python x.py") == ["set A=1 channel=launcher-argument scope=command:python via=env"]
    assert settings("docker build --build-arg A=1 .") == [
        "set A=1 exported=no channel=argument scope=command:docker build via=docker build"
    ]


JSON = """ray job submit --address=x --runtime-env-json='{
  "working_dir": ".",
  "env_vars": {
    "NCCL_ALGO": "Ring",
    "SEED": 7
  },
  "pip": {"A": "1"}
}' -- python3 train.py"""


def test_runtime_env_json() -> None:
    facts = read(JSON)
    assert [(s.name, s.value.text, s.channel, s.name_place.line, s.name_place.column) for s in facts.settings] == [
        ("NCCL_ALGO", "Ring", "runtime-env", 4, 6),
        ("SEED", "7", "runtime-env", 5, 6),
    ]
    assert launches(JSON)[0] == "ray job submit -> python3 train.py"


JSON_FORMS = [
    'ray job submit --runtime-env-json="{\\"env_vars\\": {\\"A\\": \\"$B\\"}}" -- cmd',
    'ray job submit --runtime-env-json \'{"env_vars": {"A": "\'"$B"\'"}}\' -- cmd',
    'J=\'{"env_vars": {"A": "1"}}\'\nray job submit --runtime-env-json="$J" -- cmd',
    'J=$(cat <<EOF\n{"env_vars": {"A": "1"}}\nEOF\n)\nray job submit --runtime-env-json "$J" -- cmd',
]


@pytest.mark.parametrize("text", JSON_FORMS)
def test_runtime_env_json_however_it_is_quoted(text: str) -> None:
    found = [fact for fact in read(text).settings if fact.channel == "runtime-env"]
    assert [fact.name for fact in found] == ["A"]


LAUNCHES = [
    ("torchrun --nproc_per_node=8 --nnodes 2 train.py --lr 1", ["torchrun -> train.py --lr 1"]),
    ("torchrun --nproc-per-node 8 -m jobs.train --seed 5", ["torchrun -> -m jobs.train --seed 5"]),
    ("torchrun --standalone --no-python env A=1 ./a", ["torchrun -> --no-python env A=1 ./a"]),
    ("python -m torch.distributed.run --nproc_per_node 8 x.py", ["torchrun -> x.py"]),
    ("python3 -u -m torch.distributed.launch --nproc_per_node=8 x.py", ["torchrun -> x.py"]),
    ("python -m accelerate.commands.launch --num_processes 8 x.py", ["accelerate launch -> x.py"]),
    ("deepspeed --hostfile h --num_gpus 8 x.py --deepspeed d.json", ["deepspeed -> x.py --deepspeed d.json"]),
    ("accelerate launch --config_file c.yaml x.py --a", ["accelerate launch -> x.py --a"]),
    ("python x.py a=1", ["python -> x.py a=1"]),
    ("/opt/venv/bin/python3.11 -u x.py", ["python -> x.py"]),
    ("$PYTHON x.py", ["python -> x.py"]),
    ("${LAUNCHER:-torchrun} x.py", ["torchrun -> x.py"]),
    ("python -m jobs.train", ["python -> -m jobs.train"]),
    ("python --version", []),
    ("./x.py 1", ["python -> ./x.py 1"]),
    ("bash -e x.sh 1", ["bash -> x.sh 1"]),
    ("./x.sh 1", ["bash -> ./x.sh 1"]),
    ("sudo -u me python x.py", ["sudo -> python x.py", "python -> x.py"]),
    ("srun -N 2 -l python x.py", ["srun -> python x.py", "python -> x.py"]),
    ("srun hostname", ["srun -> hostname"]),
    ("srun --mpi=pmix $LAUNCH", ["srun -> $LAUNCH", "$LAUNCH -> "]),
    ("mpirun -np 2 ./a : -np 2 ./b", ["mpirun -> ./a ./b"]),
    ("docker run image python x.py", ["docker run -> python x.py", "python -> x.py"]),
    ('docker run $FLAGS "$IMAGE" python x.py', ["docker run -> python x.py", "python -> x.py"]),
    ("docker run $FLAGS image python x.py", ["docker run -> python x.py", "python -> x.py"]),
    ("ssh -p 22 host python x.py --a", ["ssh -> python x.py --a", "python -> x.py --a"]),
    ("ssh $h rm -rf $DIR/x", ["ssh -> rm -rf $DIR/x"]),
    ("X=''\nray start --head --node-ip $X --num-gpus 8", ["ray start -> "]),
    ("ssh host 'cd x && python x.py'", ["ssh -> cd x && python x.py", "python -> x.py"]),
    ("ray start --head", ["ray start -> "]),
    ("kubectl exec -it pod -- python x.py", ["kubectl exec -> python x.py", "python -> x.py"]),
    ("nohup python x.py > log 2>&1 &", ["python -> x.py"]),
    ('exec "$@"', ["$@ -> "]),
    ("CMD='torchrun x.py'\n$CMD --lr 1", ["torchrun -> x.py --lr 1"]),
    ("CMD='A=1 torchrun x.py'\neval \"$CMD\"", ["torchrun -> x.py"]),
    ("CMD='torchrun x.py'\nsrun bash -c \"$CMD\"", ["srun -> bash -c torchrun x.py", "torchrun -> x.py"]),
    ('CMD=(torchrun x.py)\n"${CMD[@]}" --lr 1', ["torchrun -> x.py --lr 1"]),
    ("if x; then C='python a.py'; else C='torchrun b.py'; fi\n$C", ["python -> a.py", "torchrun -> b.py"]),
    ("$MPIRUN -np 2 ./a", ["mpirun -> ./a"]),
    ("run_docker run image python x.py", ["docker run -> python x.py", "python -> x.py"]),
    ("env -i A=1 python x.py", ["env -> python x.py", "python -> x.py"]),
    ("sudo rocm-smi --setperfdeterminism 1900", ["sudo -> rocm-smi --setperfdeterminism 1900", "rocm-smi -> "]),
    ("CXX=hipcc cmake -DX=1 ..", ["cmake -> "]),
    ("nsys profile -s none -t cuda --session-new a-$X --wait all torchrun x.py", ["torchrun -> x.py"]),
    ("nsys profile --force-overwrite true -o a python x.py", ["python -> x.py"]),
    ("nsys stats report.nsys-rep", []),
    ("perf stat -e cycles python x.py", ["python -> x.py"]),
    ("py-spy record -o a.svg -- python x.py", ["python -> x.py"]),
    ("rocprof-compute profile -n a -- python x.py", ["python -> x.py"]),
    ("python -m cProfile -o out x.py --lr 1", ["python -> x.py --lr 1"]),
    ("python -m coverage run --source a x.py", ["python -> x.py"]),
    ("python -m coverage json", ["python -> -m coverage json"]),
    ("srun --help | grep -q container", []),
    ("command -v srun || exit 1", []),
    ("command srun ./a", ["srun -> ./a"]),
    ('L="torchrun --nproc $((A * B)) "\nsrun bash -c "$L x.py"', ["srun -> bash -c $L x.py", "torchrun -> x.py"]),
    ('L="torchrun --nproc $(nproc) "\n$L x.py', ["torchrun -> x.py"]),
    ("mpirun --version", []),
    ("srun -n 2 ./a --help", ["srun -> ./a --help"]),
    ("mpirun $MPI_OPTS $HOST_OPTS --mca pml ^ucx $BIN -b 8", ["mpirun -> $BIN -b 8", "$BIN -> -b 8"]),
    ('F=""\nmpirun $F -np 2 ./a', ["mpirun -> ./a"]),
    ("docker exec -i c bash -s <<E\nx=$(python x.py)\nE", ["docker exec -> bash -s", "python -> x.py"]),
    ("echo torchrun x.py", []),
    ("mkdir -p x && cd x", []),
]


@pytest.mark.parametrize(("text", "expected"), LAUNCHES)
def test_launch(text: str, expected: list[str]) -> None:
    assert launches(text) == expected


def test_launch_inside_another_lies_inside_its_place() -> None:
    outer, inner = read("timeout 5 srun -N 2 python x.py").launches
    assert (outer.place.column, outer.place.end_column) == (11, 32)
    assert (inner.place.column, inner.place.end_column) == (21, 32)
    assert outer.words == ("srun", "-N", "2", "python", "x.py")


def test_launch_through_a_variable_stands_where_it_is_used() -> None:
    (launch,) = read("CMD='torchrun x.py'\n\nexport A=1\n$CMD --lr 1\nOUT=$(cmd)\n").launches
    assert (launch.place.line, launch.place.column, launch.place.end_line) == (4, 1, 4)
    outer, inner = read("RUN='torchrun x.py'\nID=$(cmd)\nsrun --jobid $ID $RUN").launches
    assert (inner.place.line, outer.words) == (3, ("srun", "--jobid", "$ID", "torchrun", "x.py"))


FLAGS = [
    ('ARGS="-x A=1 -x B"\nmpirun $ARGS ./a', ["set A=1", "pass B"]),
    ('ARGS=(-x A=1)\nARGS+=(-x "B=2")\nmpirun "${ARGS[@]}" ./a', ["set A=1", "set B=2"]),
    ('ARGS="-x A=1"\nARGS="$ARGS -x B=2"\nmpirun ${ARGS} ./a', ["set A=1", "set B=2"]),
    ('A1="-e A=1"\nALL="$A1 -e B=2"\ndocker run $ALL image cmd', ["set A=1", "set B=2"]),
    ('for v in A B; do F+=" -x $v"; done\nmpirun $F ./a', ["pass A", "pass B"]),
    ('for v in A B; do F+=(-e "$v=${!v}"); done\ndocker run "${F[@]}" image', ["set A=?", "set B=?"]),
    ('ARGS="-x A=1"\nARGS="-x B=2"\nmpirun $ARGS ./a', ["set B=2"]),
    ('ARGS="-x A=1"\necho $ARGS', []),
    ('if x; then F="-x A=1"; else F=""; fi\nmpirun -np 2 ${F} ./a', ["set A=1"]),
    ('if x; then F="-x A=1"; else F="./b"; fi\nmpirun -np 2 ${F} ./a', []),
    ("E=(A B)\nmapfile -t E < <(cmd)\ndocker exec ${E[@]} box cmd", []),
    ("N=`wc -l < hosts`\nmpirun -np $N -x A=1 ./a", ["set A=1"]),
]


@pytest.mark.parametrize(("text", "expected"), FLAGS)
def test_flags_kept_in_a_variable(text: str, expected: list[str]) -> None:
    found = [fact for fact in read(text).settings if fact.channel == "launcher-argument"]
    assert [f"{fact.op} {fact.name}" for fact in found] == [line.split("=")[0] for line in expected]


def test_flags_kept_in_a_variable_keep_place_and_condition() -> None:
    text = 'if ib; then\n  F="-x A=1"\nelse\n  F="-x A=0"\nfi\nmpirun $F ./a'
    one, other = [fact for fact in read(text).settings if fact.channel == "launcher-argument"]
    assert (one.place.line, one.name_place.column, other.place.line) == (2, 9, 4)
    assert (one.branch[0].arm, other.branch[0].arm) == ("if", "else")
    assert one.branch[0].id == other.branch[0].id


INCLUSIONS = [
    ("source env.sh; . ./other.sh", ["source env.sh", "source ./other.sh"]),
    ("source <(cmd)", []),
    ("bash x.sh; sh -x y.sh", ["run x.sh", "run y.sh"]),
    ("./x.sh", ["run ./x.sh"]),
    ("sbatch --nodes=2 job.sh 1", ["run job.sh"]),
    ("docker run --env-file a.env --env-file=b.env image", ["env-file a.env", "env-file b.env"]),
    ("apptainer exec --env-file a.env x.sif cmd", ["env-file a.env"]),
    ("uv run --env-file .env python x.py", ["env-file .env"]),
    ("export $(grep -v '^#' .env | xargs)", ["env-file .env"]),
    ("ray job submit --runtime-env env.yaml -- cmd", ["configuration env.yaml"]),
]


@pytest.mark.parametrize(("text", "expected"), INCLUSIONS)
def test_inclusion(text: str, expected: list[str]) -> None:
    assert inclusions(text) == expected


DIRECTIVES = [
    ("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --export=ALL,A=1,B\ncmd", ["set A=1", "pass B"]),
    ("#SBATCH --export A=1  # why\ncmd", ["set A=1"]),
    ("#PBS -V\n#PBS -v A=1,B\ncmd", ["set A=1", "pass B"]),
    ('#BSUB -env "all, A=1"\ncmd', ["set A=1"]),
    ("cmd\n#SBATCH --export=ALL,A=1", []),
    ("#SBATCH --export=NONE\ncmd", []),
    ("#SBATCH --wrap='A=1 cmd'", []),
]


@pytest.mark.parametrize(("text", "expected"), DIRECTIVES)
def test_batch_directive(text: str, expected: list[str]) -> None:
    assert names(text) == expected
    assert {fact.channel for fact in read(text).settings} <= {"batch-directive"}


def test_each_row_of_the_table_can_be_found() -> None:
    table = by_program()
    for row in load_launchers().commands:
        for program in row.programs.split():
            assert row in table[program]
