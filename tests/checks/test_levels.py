"""ED601: who lacks something of the collectives, at which level, said once a unit, with a block that closes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import found, known_catalog, scan_json

from envdoctor.analysis.project import open_project
from envdoctor.checks.levels.levels import _is_single
from envdoctor.core.findings import Finding
from envdoctor.engine import Engine, selected, triggers
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.knowledge.targets.given import parse_target
from envdoctor.project.discovery import find

BOOK = load_rulebook()
RULE = BOOK.named("missing-collective-setting")
Tree = Callable[[Mapping[str, str]], Path]
STRICT = """
import torch
import torch.distributed as dist

def main():
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("nccl")

main()
"""
OPTION = STRICT.replace("    torch.use", "    if args.exact_repeat:\n        torch.use")
NEVER_CALLED = """
import os

def exact():
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
"""
SEEDED = STRICT.replace("use_deterministic_algorithms(True)", "manual_seed(3)")
RUN = "torchrun --nproc_per_node=8 fit.py\n"
OLD = "cuda,torch-2.6,h100"


def judged(root: Path, monkeypatch: pytest.MonkeyPatch, level: str = "auto", target: str = OLD) -> list[Finding]:
    """The findings of ED601 in a small project, hints too."""
    monkeypatch.chdir(root)
    wanted = triggers([RULE], known_catalog())
    project = open_project(root, root, wanted, target=parse_target(target) if target else None)
    engine = Engine(project, known_catalog(), BOOK, selected(BOOK, ["ED601"], []), show_hints=True)
    engine.level = level
    return engine.judge(find(["."], root).files).findings


def places(judgements: list[Finding]) -> list[tuple[str, int, str]]:
    return [(f.place.path, f.place.line, f.severity) for f in judgements]


def test_determinism_is_asked_for_and_nvls_is_not_excluded(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    said = judged(tree({"run.sh": RUN, "fit.py": STRICT}), monkeypatch)
    assert places(said) == [("run.sh", 1, "warning")]
    assert said[0].help == "export NCCL_NVLS_ENABLE=0"
    assert [(r.place.path, r.place.line) for r in said[0].related] == [("fit.py", 5)]


@pytest.mark.parametrize("target", ["cuda,torch-2.6,a100", "cuda,torch-2.8,h100", "cuda", "rocm-6.2", "nccl-2.14", ""])
def test_where_nothing_is_lacking(target: str, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(tree({"run.sh": RUN, "fit.py": STRICT}), monkeypatch, target=target) == []


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"run.sh": RUN, "fit.py": SEEDED}, "seeds alone ask for too little"),
        ({"run.sh": RUN}, "the program is not here"),
        ({"run.sh": "torchrun --nproc_per_node=1 fit.py\n", "fit.py": STRICT}, "one process"),
        ({"run.sh": "python fit.py\n", "fit.py": STRICT.replace("dist.init", "dist.other_init")}, "no ranks"),
        ({"run.sh": RUN, "fit.py": OPTION}, "an option that is not given"),
        ({"run.sh": RUN, "fit.py": NEVER_CALLED + SEEDED}, "a function that nothing calls"),
        ({"run.sh": 'if [ "$X" = 1 ]; then export CUBLAS_WORKSPACE_CONFIG=:4096:8; fi\n' + RUN, "fit.py": SEEDED},
         "a condition that nothing here meets"),
        ({"run.sh": RUN, "fit.py": STRICT.replace('"nccl"', '"gloo"')}, "another library"),
        ({"run.sh": "export NCCL_ALGO=Ring\n" + RUN, "fit.py": STRICT}, "set before the launch"),
        ({"run.sh": "NCCL_NVLS_ENABLE=0 " + RUN, "fit.py": STRICT}, "set in front of the launch"),
        ({"run.sh": "source ./env.sh\n" + RUN, "env.sh": "export NCCL_NVLS_ENABLE=0\n", "fit.py": STRICT}, "sourced"),
        ({"run.sh": RUN, "fit.py": "import os\nos.environ['NCCL_ALGO'] = 'Ring'\n" + STRICT}, "set by the program"),
        ({"run.sh": RUN, "fit.py": STRICT, "Dockerfile": "FROM x\nENV NCCL_ALGO=Ring\n"}, "set by the image"),
        ({"outer.sh": "export NCCL_ALGO=Ring\nbash run.sh\n", "run.sh": RUN, "fit.py": STRICT}, "set by the caller"),
        ({"run.sh": "export NCCL_ALGO=$CHOICE\n" + RUN, "fit.py": STRICT}, "a value that is not known"),
        ({"tests/test_fit.py": STRICT}, "a test"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_silence(files: Mapping[str, str], why: str, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(tree(files), monkeypatch) == [], why


@pytest.mark.parametrize(
    "asking", ["export CUBLAS_WORKSPACE_CONFIG=:4096:8\n", "export NCCL_DETERMINISTIC=1\n",
             "export NVTE_ALLOW_NONDETERMINISTIC_ALGO=0\n"],
)  # fmt: skip
def test_the_environment_asks_too(asking: str, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    said = judged(tree({"run.sh": asking + RUN, "fit.py": SEEDED}), monkeypatch)
    assert places(said) == [("run.sh", 2, "warning")]


BENCH = """
import torch.distributed as dist

dist.init_process_group("nccl")
dist.all_reduce(None)
"""
DEEP = """
import torch
import torch.distributed as dist

def a(): b()
def b(): c()
def c(): d()
def d(): e()
def e(): torch.use_deterministic_algorithms(True)

if __name__ == "__main__":
    dist.init_process_group("nccl")
    a()
"""
"""Calls so deep that the modules which they lead to are read only where they say something."""


def test_another_program_changes_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "run.sh": "export CUBLAS_WORKSPACE_CONFIG=:4096:8\ntorchrun --nproc_per_node=8 bench.py\n",
        "bench.py": BENCH,
    }
    alone = places(judged(tree(files), monkeypatch))
    assert alone == [("run.sh", 2, "warning")]
    beside = judged(tree({"deep.py": DEEP}), monkeypatch)
    assert [place for place in places(beside) if place[0] != "deep.py"] == alone


def test_an_option_that_the_command_gives(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"run.sh": RUN.replace("fit.py", "fit.py --exact-repeat"), "fit.py": OPTION})
    assert places(judged(root, monkeypatch)) == [("run.sh", 1, "warning")]


def test_one_finding_a_unit_at_the_innermost_launch(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "srun --ntasks-per-node=1 \\\n    torchrun --nproc_per_node=8 fit.py\ntorchrun --nproc_per_node=4 fit.py\n"
    assert places(judged(tree({"run.sh": script, "fit.py": STRICT}), monkeypatch)) == [("run.sh", 2, "warning")]


def test_a_sourced_file_that_is_not_here_may_set_everything(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    said = judged(tree({"run.sh": "source /etc/cluster/env.sh\n" + RUN, "fit.py": STRICT}), monkeypatch)
    assert places(said) == [("run.sh", 2, "info")]


@pytest.mark.parametrize(("level", "severity"), [("auto", "info"), ("run-to-run", "warning")])
def test_a_program_that_nothing_here_launches(
    level: str, severity: str, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = judged(tree({"fit.py": STRICT}), monkeypatch, level)
    assert places(said) == [("fit.py", 6, severity)]
    assert said[0].help.startswith("set in the environment of all ranks: NCCL_NVLS_ENABLE=0")


def test_a_level_that_is_asked_for_is_enough(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"run.sh": "export RCCL_MSCCL_ENABLE=0\n" + RUN, "fit.py": SEEDED})
    (said,) = judged(root, monkeypatch, "placement", "rocm-6.2")
    assert said.severity == "warning"
    wanted = "NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_MIN_NCHANNELS=8 NCCL_MAX_NCHANNELS=8"
    assert wanted in said.help and "MSCCL" not in said.help
    assert judged(root, monkeypatch, "hygiene", "rocm-6.2") == []


def test_levels_by_path(tree: Tree) -> None:
    program = {"run.sh": RUN, "fit.py": SEEDED}
    files = {f"{part}/{name}": text for part in ("serving", "train") for name, text in program.items()}
    root = tree({**files, "envdoctor.toml": 'level = "placement"\ntarget = "cuda"\n[levels]\nserving = "hygiene"\n'})
    report = scan_json(root, "--select", "ED601")
    assert [f["path"] for f in report["findings"]] == ["train/run.sh"]
    assert found(scan_json(root, "--select", "ED601", "--level", "hygiene")) == []


def test_what_the_help_says_closes_the_finding(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"run.sh": RUN, "fit.py": SEEDED})
    for target in (OLD, "rocm-5.7", "rocm-6.4", "rocm-7.14", ""):
        (root / "run.sh").write_text(RUN, encoding="utf-8")
        (said,) = judged(root, monkeypatch, "placement", target)
        (root / "run.sh").write_text(f"{said.help}\n{RUN}", encoding="utf-8")
        assert judged(root, monkeypatch, "placement", target) == []


def test_topology_wants_an_ordered_reduction(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"run.sh": "export NCCL_ALGO=Ring\n" + RUN, "fit.py": SEEDED})
    (said,) = judged(root, monkeypatch, "topology")
    assert "docs/ordered-reduction.md" in said.help
    ordered = SEEDED.replace('("nccl")', '("nccl")\n    dist.all_to_all_single(a, b)')
    (root / "fit.py").write_text(ordered, encoding="utf-8")
    assert judged(root, monkeypatch, "topology") == []


def test_what_nobody_examined_is_a_hint(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    said = judged(tree({"run.sh": RUN, "fit.py": STRICT}), monkeypatch, target="rocm-6.4,mi300x")
    assert [f.severity for f in said] == ["info"]
    assert "not examined" in said[0].message


MEGATRON = "torchrun --nproc_per_node=8 Megatron-LM/pretrain_gpt.py --deterministic-mode --bf16\n"


@pytest.mark.parametrize(
    ("script", "count"),
    [
        (MEGATRON, 1),
        ("export NCCL_ALGO=Ring\n" + MEGATRON, 0),
        (MEGATRON.replace("--deterministic-mode ", ""), 0),
        ("python other_tool.py --deterministic-mode\n", 0),
    ],
)
def test_what_megatron_demands_by_itself(script: str, count: int, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(judged(tree({"run.sh": script}), monkeypatch, target="")) == count


@pytest.mark.parametrize(
    ("words", "single"),
    [
        (["torchrun", "--nproc_per_node=1", "a.py"], True),
        (["torchrun", "--nproc_per_node", "1", "--nnodes", "1", "a.py"], True),
        (["torchrun", "--nproc_per_node=1", "--nnodes=2", "a.py"], False),
        (["torchrun", "a.py"], False),
        (["torchrun", "--nproc_per_node=$GPUS", "a.py"], False),
    ],
)
def test_one_process(words: list[str], single: bool) -> None:
    parameters: dict[str, Any] = dict(RULE.parameters)
    assert _is_single(words, parameters) is single
