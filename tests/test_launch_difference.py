"""`scan --diff-launch A B`: what differs between two launches, what can change bits first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import here

Tree = Callable[[Mapping[str, str]], Path]
ONE = """
export NCCL_ALGO=Ring
export NCCL_DEBUG=WARN
export RUN_NAME=first
srun --nodes 2 torchrun --nnodes 2 --nproc_per_node=8 train.py --lr 0.1 --seed 1
"""


def rows(root: Path, one: str, other: str) -> list[dict[str, Any]]:
    run = here("scan", "--format", "json", "--diff-launch", one, other, cwd=root)
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    assert report["version"] == 1
    assert run.returncode == int(bool(report["differences"]))
    differences: list[dict[str, Any]] = report["differences"]
    return differences


def said(root: Path, one: str = "a.sh", other: str = "b.sh") -> list[tuple[str, str, str | None, str | None]]:
    return [(r["bits"], r["name"], r["first"], r["second"]) for r in rows(root, one, other)]


def test_what_can_change_bits_comes_first(tree: Tree) -> None:
    other = (
        ONE.replace("Ring", "Tree").replace("WARN", "INFO").replace("first", "second").replace("nnodes 2", "nnodes 4")
    )
    assert said(tree({"a.sh": ONE, "b.sh": other.replace("--lr 0.1", "--lr 0.2")})) == [
        ("yes", "NCCL_ALGO", "Ring", "Tree"),
        ("yes", "torchrun --nnodes", "2", "4"),
        ("unknown", "RUN_NAME", "(not shown)", "(not shown)"),
        ("unknown", "--lr", "0.1", "0.2"),
        ("no", "NCCL_DEBUG", "WARN", "INFO"),
    ]


def test_equal_launches_written_in_two_ways(tree: Tree) -> None:
    other = ONE.replace("--nproc_per_node=8", "--nproc-per-node 8")
    root = tree({"a.sh": ONE, "b.sh": other})
    assert said(root) == []
    run = here("scan", "--diff-launch", "a.sh", "b.sh", cwd=root)
    assert (run.returncode, run.stdout.splitlines()[-1]) == (0, "no difference in what envdoctor reads of them")


def test_settings_of_sourced_files_launchers_and_programs(tree: Tree) -> None:
    files = {
        "env.sh": "export NCCL_MAX_NCHANNELS=4\n",
        "a.sh": "source env.sh\nmpirun -np 8 -x NCCL_PROTO=Simple python train.py\n",
        "b.sh": "mpirun -np 8 python other.py\n",
        "train.py": "import os\nos.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'\n",
        "other.py": "",
    }
    found = {name: (first, second) for _, name, first, second in said(tree(files))}
    assert found["NCCL_MAX_NCHANNELS"] == ("4", None)
    assert found["NCCL_PROTO"] == ("Simple", None)
    assert found["CUBLAS_WORKSPACE_CONFIG"] == (":4096:8", None)
    assert found["entry"] == ("train.py", "other.py")


def test_what_is_not_exported_reaches_nothing(tree: Tree) -> None:
    root = tree({"a.sh": "NCCL_ALGO=Ring\ntorchrun train.py\n", "b.sh": "torchrun train.py\n"})
    assert said(root) == []


def test_values_under_conditions_are_all_named(tree: Tree) -> None:
    one = "export NCCL_ALGO=Ring\nif [ $N -gt 1 ]; then export NCCL_ALGO=Tree; fi\ntorchrun train.py\n"
    root = tree({"a.sh": one, "b.sh": "export NCCL_ALGO=Ring\ntorchrun train.py\n"})
    assert said(root) == [("yes", "NCCL_ALGO", "Ring or Tree", "Ring")]


def test_credentials_are_not_shown(tree: Tree) -> None:
    secret = "hf_abcdefghijklmnopqrstuv"
    files = {
        "a.sh": f"export HF_TOKEN={secret}\ntorchrun train.py --api-key {secret}\n",
        "b.sh": "export HF_TOKEN=x\ntorchrun train.py --api-key other\n",
    }
    root = tree(files)
    for words in ((), ("--format", "json")):
        run = here("scan", "--diff-launch", "a.sh", "b.sh", *words, cwd=root)
        assert "api-key" in run.stdout
        assert secret not in run.stdout
        assert "other" not in run.stdout


def test_one_of_several_launches(tree: Tree) -> None:
    root = tree({"a.sh": "torchrun --nnodes 1 a.py\ntorchrun --nnodes 2 a.py\n"})
    assert said(root, "a.sh:1", "a.sh:2") == [("yes", "torchrun --nnodes", "1", "2")]
    run = here("scan", "--diff-launch", "a.sh", "a.sh:2", cwd=root)
    assert run.returncode == 2
    assert "a.sh: starts ranks 2 times; say which one is meant: a.sh:1, a.sh:2" in run.stderr


def test_manifests_that_start_nothing_by_themselves(tree: Tree) -> None:
    pod = "kind: Pod\nspec:\n  containers:\n  - name: c\n    env:\n    - name: NCCL_ALGO\n      value: {}\n"
    root = tree({"a.yaml": pod.format("Ring"), "b.yaml": pod.format("Tree")})
    assert said(root, "a.yaml", "b.yaml") == [("yes", "NCCL_ALGO", "Ring", "Tree")]


@pytest.mark.parametrize(
    ("one", "says"),
    [
        ("nowhere.sh", "nowhere.sh: no such file"),
        ("empty.sh", "empty.sh: starts no ranks and sets nothing that envdoctor reads"),
        ("picture.png", "picture.png: starts no ranks and sets nothing that envdoctor reads"),
        ("a.sh:7", "a.sh:7: no launch of ranks stands there"),
    ],
)
def test_what_cannot_be_compared(tree: Tree, one: str, says: str) -> None:
    root = tree({"a.sh": ONE, "empty.sh": "", "picture.png": "x"})
    run = here("scan", "--diff-launch", one, "a.sh", cwd=root)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr
