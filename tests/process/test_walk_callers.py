"""Who starts whom: scripts that start scripts, several callers of one, CI, images, recipes, jobs and programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from walked import Seen, lost, origins, sees, starts, tree, values

from envdoctor.analysis.process.journeys import journeys
from envdoctor.analysis.process.results import RankStart, Walked

RUN = {"run.sh": "RANK\n"}
CI = ".github/workflows/ci.yml"
STEPS = "on: push\njobs:\n  t:\n    runs-on: x\n    steps:\n"


def callers(start: RankStart) -> list[str]:
    return [f"{place.path}:{place.line}" for place in start.callers]


def only(result: Walked) -> Seen:
    (found,) = starts(result)
    return found


@pytest.mark.parametrize(
    ("caller", "sees_", "lost_"),
    [
        ("export A=1\nbash run.sh", {"A": "1"}, {}),
        ("export A=1\n./run.sh", {"A": "1"}, {}),
        ("export A=1\n. ./run.sh", {"A": "1"}, {}),
        ("A=1\n. ./run.sh", {}, {"A": "1 not-exported:1"}),
        ("A=1\nbash run.sh", {}, {"A": "1 not-exported:2"}),
        ("A=1 bash run.sh", {"A": "1"}, {}),
        ("export A=1\nsudo bash run.sh", {}, {"A": "1 not-forwarded:2"}),
        ("export A=1\nsudo -E ./run.sh", {"A": "1"}, {}),
        ("export A=1\nssh n1 bash run.sh", {}, {"A": "1 not-forwarded:2"}),
        ("export A=1\nsbatch run.sh", {"A": "1"}, {}),
        ("export A=1\nsbatch --export=NONE run.sh", {}, {"A": "1 not-forwarded:2"}),
        ("sbatch --export=ALL,A=1 run.sh", {"A": "1"}, {}),
        ("export A=1\ndocker run -v $PWD:/w img bash run.sh", {}, {"A": "1 not-forwarded:2"}),
        ("export A=1\ndocker run -e A img bash run.sh", {"A": "1"}, {}),
        ("export A=1\nsrun --export=NONE bash run.sh", {}, {"A": "1 not-forwarded:2"}),
        ("export A=1\nbash -c 'cd x; bash run.sh'", {"A": "1"}, {}),
        ("export A=1\nnohup bash run.sh > log &", {"A": "1"}, {}),
        ("export A=1\nfor i in 1; do bash run.sh; done", {"A": "1"}, {}),
        ("f() { A=$1 bash run.sh; }\nf 3", {"A": "3"}, {}),
        ("S=run.sh\nexport A=1\nbash $S", {"A": "1"}, {}),
        ("export A=1\nbash $(dirname $0)/run.sh", {"A": "1"}, {}),
        ("export A=1\nexec bash run.sh", {"A": "1"}, {}),
        ("export A=1\nenv -i bash run.sh", {}, {"A": "1 not-forwarded:2"}),
        ("export A=1\nparallel bash run.sh ::: 1 2", {"A": "1"}, {}),
    ],
)  # fmt: skip
def test_a_script_has_what_its_caller_hands_on(
    tmp_path: Path, caller: str, sees_: dict[str, str], lost_: dict[str, str]
) -> None:
    found = only(tree(tmp_path, {"all.sh": caller + "\n", **RUN}))
    assert (found.at, found.sees, found.lost) == ("run.sh:1", sees_, lost_)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("export A=${A:-2}\nRANK", "1"),
        ("[ -z \"$A\" ] && export A=2\nRANK", "1"),
        ("export A=2\nRANK", "2"),
        ("A=2\nRANK", "2"),
        ("unset A\nRANK", None),
        ("A=$A,2\nRANK", "1,2"),
    ],
)  # fmt: skip
def test_what_arrives_from_a_caller_is_exported_and_stays_so(tmp_path: Path, script: str, expected: str | None) -> None:
    found = only(tree(tmp_path, {"all.sh": "export A=1\nbash run.sh\n", "run.sh": script + "\n"}))
    assert found.sees.get("A") == expected


def test_arguments_reach_a_script_and_decide_in_it(tmp_path: Path) -> None:
    script = 'if [ "$1" = big ]; then export A=1; else export A=2; fi\nshift\nRANK "$@"\n'
    result = tree(tmp_path, {"all.sh": "bash run.sh big --lr 1\nbash run.sh small\n", "run.sh": script})
    assert [(s.arguments, sees(s)) for s in result.starts] == [(("--lr", "1"), {"A": "1"}), ((), {"A": "2"})]


def test_functions_and_arrays_of_a_caller_are_not_there(tmp_path: Path) -> None:
    files = {"all.sh": "f() { export A=1; }\nL=(B=2)\nbash run.sh\n", "run.sh": 'f\nexport "${L[@]}"\nRANK\n'}
    assert only(tree(tmp_path, files)).sees == {}


def test_each_caller_of_a_script_is_gone_through(tmp_path: Path) -> None:
    files = {
        "a.sh": "export A=1\nbash run.sh\n",
        "b.sh": "export A=1\nsudo bash run.sh\n",
        "c.sh": "bash run.sh\n",
        **RUN,
    }
    result = tree(tmp_path, files)
    assert [(callers(s), sees(s), lost(s)) for s in result.starts] == [
        (["a.sh:2"], {"A": "1"}, {}), (["b.sh:2"], {}, {"A": "1 not-forwarded:2"}), (["c.sh:1"], {}, {}),
    ]  # fmt: skip


def test_what_one_caller_keeps_another_may_lose(tmp_path: Path) -> None:
    script = "export A=1\nbash in.sh\nsudo bash in.sh\n"
    found = {j.name: j for j in journeys(tree(tmp_path, {"run.sh": script, "in.sh": "RANK\n"}).starts)}
    assert [callers(s) for s in found["A"].reached] == [["run.sh:2"]]
    assert [(callers(s), loss.kind, loss.place.line) for s, loss in found["A"].lost] == [
        (["run.sh:3"], "not-forwarded", 3)
    ]


def test_a_chain_of_scripts(tmp_path: Path) -> None:
    files = {
        "a.sh": "A=1 bash b.sh\n", "b.sh": "export B=2\nsudo -E bash c.sh\n", "c.sh": "C=3\n. ./d.sh\n", "d.sh": "RANK\n",
    }  # fmt: skip
    result = tree(tmp_path, files)
    (start,) = result.starts
    assert (sees(start), lost(start)) == ({"A": "1", "B": "2"}, {"C": "3 not-exported:1"})
    assert callers(start) == ["a.sh:1", "b.sh:2"]
    assert origins(start, "A") == ["a.sh:1:1 prefix"]


def test_a_prefix_of_a_caller_that_the_script_overrides(tmp_path: Path) -> None:
    result = tree(tmp_path, {"a.sh": "A=1 bash run.sh\n", "run.sh": "export A=2\nRANK\n"})
    assert only(result).sees == {"A": "2"}
    assert [(r.how, r.before, r.after) for r in result.replaced] == [("nearer", "1", "2")]


@pytest.mark.parametrize(
    ("files", "at", "sees_", "lost_"),
    [
        ({CI: STEPS + "    - run: export A=1\n    - run: RANK\n"}, f"{CI}:7", {}, {"A": "1 step:6"}),
        ({CI: STEPS + "    - run: |\n        export A=1\n        bash run.sh\n", **RUN}, "run.sh:1", {"A": "1"}, {}),
        ({CI: STEPS + "    - run: bash run.sh\n      env:\n        A: 1\n", **RUN}, "run.sh:1", {"A": "1"}, {}),
        ({CI: "env:\n  A: 1\n" + STEPS + "    - run: bash run.sh\n", **RUN}, "run.sh:1", {"A": "1"}, {}),
        ({"Dockerfile": "FROM x\nENV A=1\nRUN export B=2\nCMD RANK\n"}, "Dockerfile:4", {"A": "1"}, {"B": "2 build:3"}),
        ({"Dockerfile": "FROM x\nARG A=1\nCMD [\"python\", \"t.py\"]\n"}, "Dockerfile:3", {}, {"A": "1 build:3"}),
        ({"Dockerfile": "FROM x\nENV A=1\nCOPY run.sh /app/\nCMD [\"/app/run.sh\"]\n", **RUN}, "run.sh:1", {"A": "1"}, {}),
        ({"Dockerfile": "FROM x\nCOPY in.sh /e.sh\nENTRYPOINT [\"/e.sh\"]\nCMD [\"python\", \"t.py\"]\n",
          "in.sh": "export A=1\nexec \"$@\"\n"}, "in.sh:2", {"A": "1"}, {}),
        ({"Makefile": "export A=1\nB=2\nt:\n\tRANK\n"}, "Makefile:4", {"A": "1"}, {"B": "2 not-exported:4"}),
        ({"Makefile": "t:\n\texport A=1\n\tRANK\n"}, "Makefile:3", {}, {"A": "1 recipe:2"}),
        ({"Makefile": "t:\n\texport A=1; RANK\n"}, "Makefile:2", {"A": "1"}, {}),
        ({"Makefile": "t:\n\tA=1 bash run.sh\n", **RUN}, "run.sh:1", {"A": "1"}, {}),
        ({"compose.yaml": "services:\n  t:\n    image: x\n    environment:\n      A: 1\n    command: RANK\n"},
         "compose.yaml:6", {"A": "1"}, {}),
        ({"compose.yaml": "services:\n  t:\n    image: x\n    env_file: v.env\n    command: bash run.sh\n",
          "v.env": "A=1\n", **RUN}, "run.sh:1", {"A": "1"}, {}),
        ({"t.service": "[Service]\nEnvironment=A=1\nExecStart=/bin/bash run.sh\n", **RUN}, "run.sh:1", {"A": "1"}, {}),
        ({"job.sh": "#!/bin/bash\n#SBATCH --export=NONE\nexport A=1\nsrun RANK\n"}, "job.sh:4", {},
         {"A": "1 not-forwarded:4"}),
        ({"job.sh": "#!/bin/bash\n#SBATCH --export=NONE\nexport A=1\nsrun --export=ALL RANK\n"}, "job.sh:4", {"A": "1"}, {}),
        ({"job.sh": "#!/bin/bash\n#SBATCH --export=ALL,A=1\nsrun RANK\n"}, "job.sh:3", {"A": "1"}, {}),
        ({"job.sh": "#!/bin/bash\n#SBATCH --export=NONE\nRANK\n", "all.sh": "export A=1\nsbatch job.sh\n"}, "job.sh:3",
         {}, {"A": "1 not-forwarded:2"}),
        ({"job.sh": "#!/bin/bash\n#SBATCH --export=NONE\nRANK\n", "all.sh": "export A=1\nsbatch --export=ALL job.sh\n"},
         "job.sh:3", {"A": "1"}, {}),
        ({"job.sh": "#!/bin/bash\n#SBATCH --export=NONE\nRANK\n", "all.sh": "export A=1\nbash job.sh\n"}, "job.sh:3",
         {"A": "1"}, {}),
    ],
)  # fmt: skip
def test_processes_that_begin_elsewhere(
    tmp_path: Path, files: Mapping[str, str], at: str, sees_: dict[str, str], lost_: dict[str, str]
) -> None:
    found = only(tree(tmp_path, files))
    assert (found.at, found.sees, found.lost) == (at, sees_, lost_)


GO = "import os, subprocess\n"


@pytest.mark.parametrize(
    ("program", "sees_", "lost_"),
    [
        ("os.environ['NCCL_ALGO'] = 'Ring'\nsubprocess.run(['torchrun', 't.py'])", {"NCCL_ALGO": "Ring", "A": "1"}, {}),
        ("subprocess.run('NCCL_ALGO=Ring torchrun t.py', shell=True)", {"NCCL_ALGO": "Ring", "A": "1"}, {}),
        ("subprocess.run(['torchrun', 't.py'], env={'NCCL_ALGO': 'Ring'})", {"NCCL_ALGO": "Ring"},
         {"A": "1 not-forwarded:2"}),
        ("subprocess.run(['torchrun', 't.py'], env={**os.environ, 'NCCL_ALGO': 'Ring'})",
         {"NCCL_ALGO": "Ring", "A": "1"}, {}),
        ("os.system('torchrun t.py')", {"A": "1"}, {}),
        ("subprocess.run(['torchrun', 't.py'])\nos.environ['NCCL_ALGO'] = 'Ring'", {"A": "1"}, {}),
    ],
)  # fmt: skip
def test_a_program_hands_on_what_it_has(
    tmp_path: Path, program: str, sees_: dict[str, str], lost_: dict[str, str]
) -> None:
    result = tree(tmp_path, {"go.py": GO + program + "\n", "run.sh": "export A=1\npython go.py\n"})
    ranks = [one for one in starts(result) if one.at.startswith("go.py")]
    assert [(one.sees, one.lost) for one in ranks] == [(sees_, lost_)]


def test_a_program_that_nobody_starts_begins_by_itself(tmp_path: Path) -> None:
    program = GO + "os.environ['NCCL_ALGO'] = 'Ring'\nsubprocess.run(['torchrun', 't.py'])\n"
    found = [one for one in starts(tree(tmp_path, {"go.py": program})) if one.at == "go.py:3"]
    assert [one.sees for one in found] == [{"NCCL_ALGO": "Ring"}]


@pytest.mark.parametrize(
    "text",
    [
        "tmux new-session -d -s x\nexport A=1\ntmux send-keys -t x 'RANK' Enter",
        "ray start --head\nexport A=1\nray job submit -- RANK",
    ],
)  # fmt: skip
def test_what_was_started_before_is_not_sure_to_have_what_came_later(tmp_path: Path, text: str) -> None:
    assert starts(tree(tmp_path, {"run.sh": text + "\n"}))[-1].sees.get("A") != "1"


def test_workers_of_a_cluster_have_what_began_it(tmp_path: Path) -> None:
    (head,) = starts(tree(tmp_path, {"run.sh": "export A=1\nB=2\nray start --head\n"}))
    assert (head.what, head.sees, head.lost) == ("ray start > ", {"A": "1"}, {"B": "2 not-exported:3"})
    (node,) = starts(tree(tmp_path, {"run.sh": "export A=1\nssh n1 ray start --address h\n"}))
    assert (node.sees, node.lost) == ({}, {"A": "1 not-forwarded:2"})


def test_a_root_without_ranks_tells_what_it_leaves(tmp_path: Path) -> None:
    result = tree(tmp_path, {"env.sh": "export A=1\nB=2\n"})
    assert [(e.root.path, {n: values(s) for n, s in e.visible.items() if n in "AB"}) for e in result.ended] == [
        ("env.sh", {"A": "1", "B": "nothing"})
    ]


def test_scripts_of_tests_come_last(tmp_path: Path) -> None:
    files = {"tests/run.sh": "export A=1\nRANK\n", "z/run.sh": "export A=2\nRANK\n"}
    assert [one.at for one in starts(tree(tmp_path, files))] == ["z/run.sh:2", "tests/run.sh:2"]


@pytest.mark.parametrize(
    ("text", "what", "found"),
    [
        ("torchrun src/train.py", "torchrun > src/train.py", "src/train.py"),
        ("srun torchrun src/train.py", "srun > torchrun > src/train.py", "src/train.py"),
        ("sudo docker run img python src/train.py", "sudo > docker run > python > src/train.py", "src/train.py"),
        ("ssh n1 'cd x && torchrun src/train.py'", "ssh > torchrun > src/train.py", "src/train.py"),
        ("mpirun -np 2 python src/train.py", "mpirun > python > src/train.py", "src/train.py"),
        ("python -m src.train", "python > -m src.train", "src/train.py"),
        ("torchrun -m src.train", "torchrun > -m src.train", "src/train.py"),
        ("CMD='torchrun src/train.py'\nsrun $CMD", "srun > torchrun > src/train.py", "src/train.py"),
        ("D=src\naccelerate launch $D/train.py", "accelerate launch > src/train.py", "src/train.py"),
        ("torchrun /opt/train.py", "torchrun > /opt/train.py", ""),
        ("torchrun $WHERE/train.py", "torchrun > $WHERE/train.py", ""),
        ("torchrun missing.py", "torchrun > missing.py", ""),
        ("python -m pkg", "python > -m pkg", "pkg/__main__.py"),
        ("python -m pkg.main", "python > -m pkg.main", ""),
        ("python -m cProfile -o out src/train.py", "python > src/train.py", "src/train.py"),
        ("nsys profile -o a torchrun src/train.py", "torchrun > src/train.py", "src/train.py"),
        ("srun ./bench -b 8", "srun > ./bench", ""),
        ("torchrun --no-python ./bench", "torchrun > ./bench", ""),
    ],
)  # fmt: skip
def test_commands_and_the_programs_they_start(tmp_path: Path, text: str, what: str, found: str) -> None:
    programs = {"src/train.py": "x = 1\n", "pkg/__main__.py": "x = 1\n", "pkg/__init__.py": "main = 1\n"}
    result = tree(tmp_path, {"run.sh": text + "\n", **programs})
    start = next(s for s in result.starts if s.place.path == "run.sh")
    assert (" > ".join((*start.launchers, start.program)), start.path) == (what, found)


def mpijob(kind: str, command: str) -> dict[str, str]:
    pod = "template: {spec: {containers: [{name: a, image: i"
    return {
        "job.yaml": f"apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nspec:\n{kind}  mpiReplicaSpecs:\n    Launcher:\n"
        f"      {pod}, env: [{{name: A, value: '1'}}],\n        command: [{command}]}}]}}}}\n"
        f"    Worker:\n      replicas: 2\n      {pod}}}]}}}}\n"
    }


@pytest.mark.parametrize(
    ("kind", "command", "lost"),
    [
        ("", "mpirun, -np, '16', python, t.py", True),
        ("", "mpirun, -np, '16', -x, A, python, t.py", False),
        ("  mpiImplementation: OpenMPI\n", "mpirun, -np, '16', python, t.py", True),
        ("  mpiImplementation: MPICH\n", "mpirun, -n, '16', python, t.py", False),
        ("  mpiImplementation: Intel\n", "mpirun, -n, '16', python, t.py", False),
        ("  mpiImplementation: Intel\n", "mpirun, -n, '16', -genvnone, python, t.py", True),
    ],
)
def test_the_operator_tells_the_launcher_of_an_mpijob_its_hosts(
    tmp_path: Path, kind: str, command: str, lost: bool
) -> None:
    (start,) = starts(tree(tmp_path, mpijob(kind, command)))
    assert ("A" in start.lost, "A" in start.sees) == (lost, not lost)


def composed(env: str, service: str = "", program: str = "import torch\n") -> dict[str, str]:
    text = f"services:\n  a:\n    image: x\n{service}    command: [python, own.py]\n"
    return {"compose.yaml": text, ".env": env, "own.py": program}


@pytest.mark.parametrize(
    ("files", "lost"),
    [
        (composed("A=1\n"), {"A": "1 not-forwarded:4"}),
        (composed("A=1\n", "    environment:\n    - A\n"), {}),
        (composed("A=1\n", "    environment: {B: '${A}'}\n"), {}),
        (composed("A=1\n", "    env_file: .env\n"), {}),
        (composed("A=1\n", program="import dotenv\ndotenv.load_dotenv()\n"), {}),
    ],
)
def test_what_stands_beside_a_compose_file_reaches_no_container(
    tmp_path: Path, files: dict[str, str], lost: dict[str, str]
) -> None:
    found = [start for start in starts(tree(tmp_path, files)) if start.at.startswith("compose.yaml")]
    assert [one.lost for one in found] == [lost]
