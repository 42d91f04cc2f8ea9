"""The tool that plants faults: what each kind changes, where it plants none, and what is counted."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from inject.chains import chains
from inject.command import main
from inject.draw import places_of, spread
from inject.edits import Planting
from inject.kinds import CHAINS, Place, asked, kinds
from inject.modules import Module, modules, without_seed, without_switch
from inject.places import launches, script_of, scripts
from inject.settings import POOL, real_names
from inject.shapes import SHAPES
from inject.shell import commands
from inject.trial import Copy, judged

TRAIN = """#!/bin/bash
set -e
NODES=4
torchrun --nproc_per_node 8 \\
    train.py --size big 2>&1 | tee log
"""


def tree(folder: Path, **files: str) -> Path:
    checkout = folder / "owner+name"
    for name, text in files.items():
        path = checkout / name.replace("__", "/").replace("_sh", ".sh").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return checkout


def places(folder: Path, **files: str) -> tuple[list[Place], list[Place]]:
    return places_of(tree(folder, **files))


def plant(kind: str, folder: Path, **files: str) -> Planting | None:
    single, called = places(folder, **files)
    found = called if kind in CHAINS else single
    return kinds()[kind](found[0], random.Random(1)) if found else None


def changed(planting: Planting | None) -> list[str]:
    """What the fault takes away and adds, with NAME for the variable and without line numbers."""
    assert planting is not None
    rows = [row.split(": ", 1)[1].replace(planting.name or "\0", "NAME") for row in planting.changed()]
    for first, second in POOL.values():
        rows = [row.replace(f"NAME={first}", "NAME=v").replace(f"NAME={second}", "NAME=w") for row in rows]
    return rows


def test_commands_are_read_with_what_they_stand_in() -> None:
    text = 'if [ -z "$X" ]; then\n  A=1 run x | tee l\nfi\nf() { "$@"; }\nfor i in a b; do g $i; done\ncat <<E\nh \'\nE\ncase $x in\n a|b) k;;\nesac\nL=(a \'b c\')\n'
    found = commands(text)
    assert found is not None
    assert [(command.texts(), command.within, command.after) for command in found] == [
        (("[", "-z", '"$X"', "]"), ("if",), ";"),
        (("A=1", "run", "x"), ("if",), "|"),
        (("tee", "l"), ("if",), "\n"),
        (('"$@"',), ("function f",), ";"),
        (("g", "$i"), ("loop",), ";"),
        (("cat",), (), "\n"),
        (("k",), ("case",), ";"),
        (("L=(a 'b c')",), (), "\n"),
    ]


@pytest.mark.parametrize("text", ["echo 'open", "if true; then x", "f() { a", "echo $(a"])
def test_what_is_not_closed_is_not_read(text: str) -> None:
    assert commands(text) is None


@pytest.mark.parametrize(
    ("text", "launcher", "shape"),
    [
        ("torchrun t.py\n", "torchrun", "plain"),
        ("A=1 python3 -u -m torch.distributed.run t.py &\n", "torchrun", "plain"),
        ("srun -N 2 python train.py\n", "srun", "plain"),
        ('CMD="torchrun t.py"\n$CMD --x\n', "torchrun", "variable"),
        ('CMD="deepspeed t.py"\neval "$CMD"\n', "deepspeed", "eval"),
        ('CMD=(accelerate launch t.py)\n"${CMD[@]}"\n', "accelerate", "array"),
        ('go() {\n  "$@"\n}\ngo torchrun t.py\n', "torchrun", "function"),
    ],
)
def test_launches_in_every_shape(text: str, launcher: str, shape: str) -> None:
    script = script_of("a.sh", text.encode())
    assert script is not None
    assert [(launch.launcher, launch.shape) for launch in launches(script)] == [(launcher, shape)]


@pytest.mark.parametrize(
    "text",
    [
        "torchrun --help\n",
        "echo torchrun t.py\n",
        "srun hostname\n",
        "exit 0\ntorchrun t.py\n",
        "never() {\n torchrun t.py\n}\n",
        "cat <<E\ntorchrun t.py\nE\n",
        "sudo torchrun t.py\n",
        "srun --export=NONE torchrun t.py\n",
        "x; torchrun t.py\n",
        "torchrun convert_checkpoint.py\n",
        "python serve.py\n",
        "deepspeed --num_gpus 1 t.py\n",
        "torchrun --nnodes=1 --nproc-per-node=1 t.py\n",
        'CMD="torchrun a.py"\nCMD="torchrun b.py"\n$CMD\n',
    ],
)
def test_no_place_for_a_fault(text: str) -> None:
    script = script_of("a.sh", text.encode())
    assert script is not None
    assert not launches(script)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("unexported", ["- export NAME=v", "+ NAME=v"]),
        ("sudo", ["- torchrun --nproc_per_node 8 \\", "+ sudo torchrun --nproc_per_node 8 \\"]),
        ("export-none", ["- torchrun --nproc_per_node 8 \\", "+ srun --export=NONE torchrun --nproc_per_node 8 \\"]),
        ("too-late", ["- export NAME=v", "+ export NAME=v"]),
        ("unexported/eval", ["- export NAME=v", "+ NAME=v"]),
        ("sudo/array", ['- "${LAUNCH[@]}" 2>&1 | tee log', '+ sudo "${LAUNCH[@]}" 2>&1 | tee log']),
        ("sudo/function", ['- "$@"', '+ sudo "$@"']),
        ("sudo/called", ['- bash "$(dirname "$0")/launch_ranks.sh" 2>&1 | tee log', '+ sudo bash "$(dirname "$0")/launch_ranks.sh" 2>&1 | tee log']),
        ("caller-export/made", ["- export NAME=v", "+ NAME=v"]),
        ("caller-prefix/made", ["+ export NAME=w"]),
        ("caller-sudo/made", ["- bash run.sh", "+ sudo bash run.sh"]),
        ("ci-step", ["- export NAME=v", "+ NAME=v"]),
        ("image-run", ["- ENV NAME=v", "+ RUN export NAME=v"]),
    ],
)  # fmt: skip
def test_a_planting_changes_what_it_says_and_nothing_else(kind: str, rows: list[str], tmp_path: Path) -> None:
    assert changed(plant(kind, tmp_path, run_sh=TRAIN)) == rows


def test_docker_is_put_in_front(tmp_path: Path) -> None:
    removed, added = changed(plant("docker", tmp_path, run_sh=TRAIN))
    assert added.startswith("+ docker run --rm")
    assert added.endswith(removed.removeprefix("- "))


def test_the_export_of_the_script_itself_is_taken(tmp_path: Path) -> None:
    text = TRAIN.replace("NODES=4", "export NCCL_IB_HCA=mlx5")
    planting = plant("unexported", tmp_path, run_sh=text)
    assert planting is not None
    assert planting.own
    assert planting.base == {"run.sh": text}
    assert planting.fault == {"run.sh": text.replace("export NCCL", "NCCL")}


def test_an_export_that_the_project_reads_is_left_alone(tmp_path: Path) -> None:
    text = TRAIN.replace("NODES=4", "export NCCL_IB_HCA=mlx5")
    planting = plant("unexported", tmp_path, run_sh=text, train_py="os.environ['NCCL_IB_HCA']")
    assert planting is not None
    assert planting.name != "NCCL_IB_HCA"


def test_no_name_is_given_that_the_project_has(tmp_path: Path) -> None:
    single, _ = places(tmp_path, run_sh=TRAIN, notes_sh="\n".join(POOL))
    assert all(kinds()[kind](single[0], random.Random(1)) is None for kind in ("unexported", "sudo", "ci-step"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("unexported", "set -a\n" + TRAIN),
        ("too-late", TRAIN + "bash next.sh\n"),
        ("too-late", "for i in 1 2; do\n torchrun t.py\ndone\n"),
        ("docker", "srun torchrun t.py\n"),
        ("export-none", "srun -N 2 --export ALL torchrun t.py\n"),
        ("left-out", "mpirun -np 8 python train.py\n"),
        ("left-out", "mpirun -np 8 -H localhost:8 python train.py\n"),
        ("left-out", "#SBATCH -N 2\nmpirun -np 8 --hostfile hosts python train.py\n"),
        ("left-out", "mpirun -np 8 -x A all_reduce_perf -f 2\n"),
        ("sudo/variable", "torchrun t.py --name 'a b'\n"),
        ("caller-none/made", TRAIN),
        ("one-node", TRAIN),
    ],
)
def test_what_would_be_no_fault_is_not_planted(kind: str, text: str, tmp_path: Path) -> None:
    assert plant(kind, tmp_path, run_sh=text) is None


def test_no_place_where_a_container_is_started_below(tmp_path: Path) -> None:
    files = {
        "run_sh": "srun bash train.sh\n",
        "train_sh": "docker run image torchrun t.py\n",
        "all_sh": "bash run.sh\n",
    }
    assert places(tmp_path, **files) == ([], [])
    single, called = places(tmp_path, **(files | {"train_sh": "torchrun t.py\n"}))
    assert [place.script.path for place in single] == ["run.sh", "train.sh"]
    assert [place.script.path for place in called] == ["run.sh"]


def test_a_name_is_left_out(tmp_path: Path) -> None:
    mpirun = "mpirun -np 16 --hostfile hosts python train.py\n"
    assert changed(plant("left-out", tmp_path, run_sh=mpirun)) == [
        "- mpirun -x NAME -np 16 --hostfile hosts python train.py",
        "+ mpirun -np 16 --hostfile hosts python train.py",
    ]
    hydra = tree(tmp_path / "other", run_sh="mpiexec -ppn 8 -f hosts python train.py\n")
    planting = kinds()["genvlist"](places_of(hydra)[0][0], random.Random(1))
    assert [row.split(" -ppn")[0] for row in changed(planting)] == [
        "- mpiexec -genvlist PATH,LD_LIBRARY_PATH,NAME",
        "+ mpiexec -genvlist PATH,LD_LIBRARY_PATH",
    ]


def test_real_chains(tmp_path: Path) -> None:
    checkout = tree(
        tmp_path,
        run_sh=TRAIN,
        jobs__all_sh='bash "$ROOT/run.sh" a\nsource ../run.sh\n../run.sh\nsbatch --export=NONE ../run.sh\nexit\nbash ../run.sh\n',
    )
    found = list(chains(list(scripts(checkout))))
    assert [(chain.caller.path, chain.starter, chain.caller.line(chain.program)) for chain in found] == [
        ("jobs/all.sh", "bash", 1),
        ("jobs/all.sh", "path", 3),
    ]
    planting = kinds()["caller-sudo"](places_of(checkout)[1][0], random.Random(1))
    assert changed(planting) == ['- bash "$ROOT/run.sh" a', '+ sudo bash "$ROOT/run.sh" a']


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_keeps_the_command_and_what_is_behind_it(shape: str) -> None:
    script = script_of("run.sh", TRAIN.encode())
    assert script is not None
    site = SHAPES[shape](script, launches(script)[0])
    assert site is not None
    text = " ".join([site.script.text, *site.files.values()]).replace("\\\n", "")
    assert " ".join(text.split()).count("torchrun --nproc_per_node 8 train.py --size big") == 1
    assert "2>&1 | tee log" in site.script.text


def test_faults_in_the_setting_itself(tmp_path: Path) -> None:
    text = "export NCCL_IB_TIMEOUT=22\ntorchrun --node_rank $RANK train.py\n"
    single, _ = places(tmp_path, run_sh=text)
    ghost = kinds()["ghost"](single[0], random.Random(1))
    assert ghost is not None
    assert ghost.name not in real_names()
    assert ghost.fault["run.sh"] == text.replace("NCCL_IB_TIMEOUT", ghost.name)
    value = kinds()["value"](single[0], random.Random(1))
    assert value is not None
    assert value.fault["run.sh"] == text.replace("=22", "=1800")
    node = changed(kinds()["one-node"](single[0], random.Random(1)))
    assert [row for row in node if row[0] == "+"] == ['+ if [ "${RANK}" = 0 ]; then', "+ export NAME=v", "+ fi"]


PROGRAM = """import torch
torch.manual_seed(
    1)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False
if __name__ == "__main__":
    loss.backward()
    optimizer.step()
"""


def test_seed_and_switch_are_removed(tmp_path: Path) -> None:
    (module,) = modules(tree(tmp_path, train_py=PROGRAM))
    seed = without_seed(module, random.Random(1))
    assert seed is not None
    assert seed.fault["train.py"] == PROGRAM.replace("torch.manual_seed(\n    1)\n", "pass\n\n")
    switch = without_switch(module, random.Random(1))
    assert switch is not None
    assert switch.fault["train.py"] == PROGRAM.replace("torch.backends.cudnn.deterministic = True", "pass")
    assert without_seed(Module("r", "t.py", PROGRAM + "loader(seed=1)\n"), random.Random(1)) is None


def finding(**given: object) -> dict[str, object]:
    return {"rule": "ED301", "severity": "warning", "path": "a.sh", "line": 3, "variable": "N", "message": "m", "related": []} | given  # fmt: skip


PLANTING = Planting("unexported", "plain", "r", "a.sh", 3, "N", ("ED301",), {}, {}, (("a.sh", 3, 3), ("a.sh", 5, 6)))


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([], [finding()], "found"),
        ([], [finding(line=9, related=[{"path": "a.sh", "line": 6}])], "found"),
        ([], [], "missed"),
        ([], [finding(severity="info")], "missed"),
        ([], [finding(rule="ED302")], "missed"),
        ([], [finding(variable="OTHER")], "missed"),
        ([], [finding(line=9)], "missed"),
        ([finding()], [finding()], "already"),
        ([finding(severity="info")], [finding()], "found"),
    ],
)
def test_what_counts_as_found(before: list[dict[str, object]], after: list[dict[str, object]], verdict: str) -> None:
    assert judged(PLANTING, before, after).verdict == verdict


STUB = """
import json, pathlib, re, sys
found = []
for path in sys.argv[sys.argv.index("--") + 1:]:
    text = pathlib.Path(path).read_text()
    for number, line in enumerate(text.splitlines(), 1):
        if (match := re.match(r"(NCCL_\\w+)=", line)) and "deepspeed" not in text:
            found.append({"rule": "ED301", "severity": "warning", "path": path, "line": number, "variable": match[1], "message": "m"})
print(json.dumps({"findings": found}, indent=1))
"""


def command_of(folder: Path) -> str:
    return f"{sys.executable} {folder / 'stub.py'}"


def test_a_found_and_a_missed_one_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stub.py").write_text(STUB)
    checkout = tree(tmp_path / "all", a__run_sh=TRAIN, b__run_sh=TRAIN.replace("torchrun", "deepspeed"))
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    record = tmp_path / "out.json"
    command = [str(checkout.parent), "--seed", "3", "--kinds", "unexported", "--json", str(record)]
    assert main([*command, "--envdoctor", command_of(tmp_path), "--work", str(tmp_path)]) == 0
    rows = json.loads(record.read_text())
    assert sorted((row["path"], row["verdict"]) for row in rows) == [("a/run.sh", "found"), ("b/run.sh", "missed")]
    text = capsys.readouterr().out
    again = [str(checkout.parent), "--again", str(record), "--work", str(tmp_path), "--envdoctor", command_of(tmp_path)]
    assert main(again) == 0
    assert capsys.readouterr().out == text
    assert [line.split()[-2:] for line in text.splitlines() if line.startswith("all ")] == [["1", "2"]]
    assert "owner+name:b/run.sh" in text.partition("Missed:")[2]
    assert before == {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}


def test_a_copy_is_as_before_after_a_scan(tmp_path: Path) -> None:
    (tmp_path / "stub.py").write_text(STUB)
    checkout = tree(tmp_path, run_sh=TRAIN)
    copy = Copy(checkout, tmp_path / "work", [sys.executable, str(tmp_path / "stub.py")])
    assert [row["line"] for row in copy.scan({"run.sh": "NCCL_A=1\n", ".ci/x/y.sh": "true\n"})] == [1]
    assert [path.relative_to(copy.folder).as_posix() for path in copy.folder.rglob("*")] == ["run.sh"]
    assert (copy.folder / "run.sh").read_text() == (checkout / "run.sh").read_text() == TRAIN


def test_places_are_drawn_by_seed_and_spread(tmp_path: Path) -> None:
    found: list[Place] = []
    for name, number in (("a+b", 3), ("c+d", 1)):
        tree(tmp_path, **{f"{letter}_sh": TRAIN for letter in "xyz"[:number]}).rename(tmp_path / name)
        found += places_of(tmp_path / name)[0]
    drawn = list(spread(found, "1"))
    assert sorted(place.repository for place in drawn[:2]) == ["a+b", "c+d"]
    assert drawn == list(spread(found, "1"))
    assert len(drawn) == 4


def test_kinds_are_asked_for_by_pattern() -> None:
    assert asked("sudo:3,too-late", 9) == {"sudo": 3, "too-late": 9}
    assert asked("", 9) == dict.fromkeys([*kinds(), "seed", "switch"], 9)
    with pytest.raises(ValueError, match="nothing-such"):
        asked("nothing-such", 9)


def test_every_name_of_the_pool_is_real() -> None:
    assert set(POOL) <= real_names()
