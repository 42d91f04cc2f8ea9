"""What the names of files say, and when they say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from envdoctor.analysis.target.infer import infer
from envdoctor.analysis.target.names import name_reasons
from envdoctor.knowledge.targets.table import table

WORDS = table().file_names


def cases(key: str) -> list[Any]:
    return [pytest.param(w.id, text, id=f"{w.id}: {text}") for w in WORDS for text in w.data[key]]


@pytest.mark.parametrize(("word", "name"), cases("examples"))
def test_example(word: str, name: str) -> None:
    assert [reason.hint for reason in name_reasons(f"jobs/{name}")] == [word]


@pytest.mark.parametrize(("word", "name"), cases("negatives"))
def test_negative(word: str, name: str) -> None:
    assert word not in [reason.hint for reason in name_reasons(f"jobs/{name}")]


@pytest.mark.parametrize(
    ("path", "platform", "gpus"),
    [
        ("jobs/train_mi300x.sh", "rocm", ("gfx942",)),
        ("jobs/MI355X/train.yaml", "rocm", ("gfx950",)),
        ("cases/bert_dgx_a100_1N8G/model_config.yaml", "cuda", ("sm_80",)),
        ("dgx/run.sh", "cuda", ()),
        ("rccl/run_gb200.sh", "cuda", ("sm_100",)),
        ("h100/train_npu.sh", "ascend", ()),
        ("build/gfx90a.sh", "rocm", ("gfx90a",)),
        ("scripts/amd/train.sh", None, ()),
        ("scripts/h100_vs_mi300x.sh", None, ()),
        ("h100/a_mi300x_b200.sh", None, ()),
        ("jobs/train.sh", None, ()),
        ("jobs/cuda_graphs.py", None, ()),
    ],
)
def test_the_nearest_part_counts(path: str, platform: str | None, gpus: tuple[str, ...]) -> None:
    reasons = name_reasons(path)
    assert [(r.platform, r.gpus) for r in reasons] == ([(platform, gpus)] if platform else [])


@pytest.mark.parametrize("path", ["/home/rocm/train.sh", "../mi300x/train.sh"])
def test_folders_outside_of_the_project_are_those_of_a_machine(path: str) -> None:
    assert name_reasons(path) == []
    assert name_reasons(path.replace("train", "train_mi300x"))


def test_a_name_is_a_setting_and_gives_way_to_what_the_file_runs_on() -> None:
    assert infer([("run_npu.sh", "torchrun a.py\n")], []).platform == "ascend"
    assert not infer([("run_h100.sh", "torchrun a.py\n")], []).plain
    target = infer([("run_h100.sh", "docker run rocm/pytorch:latest python a.py\n")], [])
    assert target.platform == "rocm"
    assert infer([("run_h100.sh", "export HSA_XNACK=1\n")], []).platform is None


def test_names_of_project_files_are_not_read() -> None:
    files = [("requirements-amd.txt", "torch>=2.6\n"), ("Dockerfile.rocm", "FROM registry.example/base:1\n")]
    assert infer([("run.sh", "torchrun a.py\n")], files).platform is None


def test_the_name_of_a_starter_gives_no_gpu_to_what_it_starts() -> None:
    target = infer([("train.py", "import torch\n")], [], [[("run_mi300x.sh", "python train.py\n")]])
    assert (target.platform, target.gpus) == ("rocm", ())
