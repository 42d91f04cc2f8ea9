"""Small projects of every vendor situation, and which files speak for which launch unit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import tomli

from envdoctor.targets import UNKNOWN, Target, hint_files, infer

FIXTURES = Path(__file__).parent / "fixtures" / "targets"


def load(folder: Path) -> dict[str, str]:
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "expect.toml")
    return {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def units() -> list[Any]:
    found = []
    for folder in sorted(FIXTURES.iterdir()):
        expected = tomli.loads((folder / "expect.toml").read_text(encoding="utf-8"))
        found += [pytest.param(folder, u, id=f"{folder.name}:{'+'.join(u['files'])}") for u in expected["unit"]]
    return found


def infer_in(files: dict[str, str], unit: list[str]) -> Target:
    return infer([(name, files[name]) for name in unit], [(name, files[name]) for name in hint_files(files)])


@pytest.mark.parametrize(("folder", "unit"), units())
def test_project(folder: Path, unit: dict[str, Any]) -> None:
    target = infer_in(load(folder), unit["files"])
    assert (target.platform or "unknown") == unit["platform"], target.reasons
    assert dict(target.versions) == unit.get("versions", {})
    assert dict(target.minimums) == unit.get("minimums", {})
    assert list(target.gpus) == unit.get("gpus", [])
    assert bool(target.conflicts) is unit.get("conflicts", False), target.conflicts


def test_nothing_known_is_unknown() -> None:
    assert infer([], []) == UNKNOWN
    assert infer([("train.py", "import torch\n")], []) == UNKNOWN


def test_whole_project_without_a_unit() -> None:
    files = {"Dockerfile": "FROM rocm/pytorch:latest\n", "sub/requirements.txt": "torch>=2.6\n"}
    target = infer([], list(files.items()))
    assert target.platform == "rocm"
    assert target.minimums == {"torch": "2.6"}


def test_hint_files_by_name() -> None:
    wanted = [
        "Dockerfile", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "uv.lock",
        "docker/Dockerfile.rocm",
        "docker/train.Dockerfile", "docker-compose.yml", "environment.yml", "envs/environment-gpu.yaml",
        "requirements/base.txt", "requirements-amd.txt", "compose.yaml", ".devcontainer/Dockerfile",
    ]  # fmt: skip
    others = [
        "train.py", "README.md", "docs/requirements.txt", "tests/Dockerfile", "third_party/x/setup.py", "job.yaml",
        "requirements-docs.txt", "requirements-dev-lint.txt", ".github/Dockerfile", "dockerfile_guide.md", "run.sh",
    ]  # fmt: skip
    assert sorted(hint_files([*others, *wanted])) == sorted(wanted)


def test_hint_files_are_bounded_and_near_the_root_first() -> None:
    many = [f"pkg{i:03}/requirements.txt" for i in range(200)] + ["requirements.txt"]
    found = hint_files(many)
    assert len(found) == 40
    assert found[0] == "requirements.txt"
    assert found == hint_files(reversed(many))


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ("pip install -r requirements-amd.txt", "rocm"),
        ("pip install -r ./requirements-amd.txt", "rocm"),
        ('pip install -r "$ROOT/requirements-amd.txt"', "rocm"),
        ("pip install -r requirements-nv.txt", "cuda"),
        ("pip install -r old-requirements-amd.txt", None),
        ("pip install -r requirements-amd.txt.bak", None),
        ("pip install -r requirements.txt", None),
    ],
)
def test_a_unit_chooses_the_project_file_that_it_names(text: str, platform: str | None) -> None:
    files = [
        ("requirements-amd.txt", "torch==2.8.0+rocm6.4\n"),
        ("requirements-nv.txt", "torch==2.8.0+cu128\n"),
    ]
    assert infer([("run.sh", text + "\n")], files).platform == platform


def test_a_named_file_is_looked_for_where_the_unit_says() -> None:
    files = [("a/requirements.txt", "torch==2.8.0+rocm6.4\n"), ("b/requirements.txt", "torch==2.8.0+cu128\n")]
    text = "pip install -r requirements.txt\n"
    assert infer([("a/run.sh", text)], files).platform == "rocm"
    assert infer([("b/run.sh", text)], files).platform == "cuda"
    assert infer([("c/run.sh", text)], files).platform is None
    assert infer([("c/run.sh", "pip install -r ../b/requirements.txt\n")], files).platform == "cuda"


def test_nearest_project_file_first() -> None:
    files = [("requirements.txt", "torch==2.8.0+cu128\n"), ("amd/requirements.txt", "torch==2.7.1+rocm6.3\n")]
    near = infer([("amd/jobs/run.sh", "torchrun x.py\n")], files)
    assert (near.platform, near.versions["torch"]) == ("rocm", "2.7.1")
    assert infer([("jobs/run.sh", "torchrun x.py\n")], files).platform == "cuda"


def test_a_contradiction_near_by_is_not_settled_far_away() -> None:
    files = [
        ("requirements.txt", "torch==2.8.0+cu128\n"),
        ("job/Dockerfile.a", "FROM rocm/pytorch:latest\n"),
        ("job/Dockerfile.b", "FROM nvcr.io/nvidia/pytorch:24.05-py3\n"),
    ]
    target = infer([("job/run.sh", "torchrun x.py\n")], files)
    assert target.platform is None
    assert [r.platform for r in target.conflicts[0]] == ["rocm", "cuda"]


def test_an_image_is_not_judged_by_the_image_beside_it() -> None:
    beside = [("Dockerfile.nv", "FROM nvcr.io/nvidia/pytorch:24.05-py3\n")]
    assert infer([("Dockerfile", "FROM registry.example/base:1\n")], beside).platform is None


def test_own_image_keeps_versions_of_other_images_out() -> None:
    project = [("docker/Dockerfile", "FROM nvcr.io/nvidia/pytorch:24.05-py3\n"), ("requirements.txt", "torch==2.6.0\n")]
    target = infer([("run.sh", "docker run nvcr.io/nvidia/nemo:dev python a.py\n")], project)
    assert target.platform == "cuda"
    assert target.versions == {}


def test_torch_of_the_unit_keeps_a_later_image_out() -> None:
    project = [("docker/Dockerfile", "FROM nvcr.io/nvidia/pytorch:24.05-py3\n")]
    target = infer([("run.sh", "pip install torch==2.6.0\n")], project)
    assert target.platform == "cuda"
    assert target.versions == {"torch": "2.6.0", "cuda": "12.4", "nccl": "2.21.5", "cudnn": "9.1.0.70"}


def test_hostile_unit_text_takes_no_time() -> None:
    text = "a/" * 400_000 + "requirements.txt " + "x" * 400_000
    start = time.perf_counter()
    infer([("run.sh", text)], [("requirements.txt", "torch>=2.6\n")])
    assert time.perf_counter() - start < 5
