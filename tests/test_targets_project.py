"""Small projects of every vendor situation, and which files speak for which launch unit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from envdoctor.analysis.target.infer import folders_near, hint_files, infer
from envdoctor.core.target import UNKNOWN, Target
from envdoctor.knowledge.files import loads_toml

FIXTURES = Path(__file__).parent / "fixtures" / "targets"


def load(folder: Path) -> dict[str, str]:
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "expect.toml")
    return {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def units() -> list[Any]:
    found = []
    for folder in sorted(FIXTURES.iterdir()):
        expected = loads_toml((folder / "expect.toml").read_text(encoding="utf-8"))
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
        ("# pip install -r requirements-amd.txt", None),
        ("  # or requirements-nv.txt\npip install -r requirements-amd.txt # not requirements.txt", "rocm"),
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


AMD = "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\n"
NGC = "FROM nvcr.io/nvidia/pytorch:24.05-py3\n"


@pytest.mark.parametrize(
    ("starters", "platform"),
    [
        ({"run-amd.sh": "export HSA_XNACK=1\n. ./model.sh\n"}, "rocm"),
        ({"run-amd.sh": "export HSA_XNACK=1\n. ./model.sh\n", "run.sh": ". ./model.sh\n"}, None),
        ({"run-amd.sh": "export HSA_XNACK=1\n. ./model.sh\n", "run.sh": "rocm-smi || true\n. ./model.sh\n"}, None),
        ({"a.sh": "module load rocm/6.2\n. ./model.sh\n", "b.sh": "module load rocm/6.2\n. ./model.sh\n"}, "rocm"),
    ],
)
def test_scripts_that_share_a_file_must_all_speak(starters: dict[str, str], platform: str | None) -> None:
    assert infer([("model.sh", "export A=1\n")], [], [list(starters.items())]).platform == platform


def test_of_several_starters_only_what_they_have_in_common_counts() -> None:
    load = "module load rocm/{}\n#SBATCH --gres=gpu:{}:8\nbash run.sh\n"
    first, second = ("a.sh", load.format("6.2", "mi250")), ("b.sh", load.format("6.3", "mi250"))
    target = infer([("run.sh", "torchrun x.py\n")], [], [[first, second]])
    assert (target.platform, dict(target.versions), target.gpus) == ("rocm", {}, ("gfx90a",))
    assert infer([("run.sh", "torchrun x.py\n")], [], [[first]]).versions["rocm"] == "6.2"


def test_what_a_script_starts_may_be_silent() -> None:
    around = [("train.py", "import torch\n"), ("env.sh", "module load rocm/6.2\n")]
    assert infer([("run.sh", ". ./env.sh\npython train.py\n")], [], [around]).platform == "rocm"


def test_an_image_for_another_vendor_further_down_leaves_the_platform_open() -> None:
    files = {"docker/Dockerfile": NGC, "docker/rocm/Dockerfile": AMD}
    assert infer_in(files | {"run.sh": "torchrun x.py\n"}, ["run.sh"]).platform is None
    assert infer_in({"docker/Dockerfile": NGC, "run.sh": ""}, ["run.sh"]).platform == "cuda"
    assert infer_in({"docker/rocm/Dockerfile": AMD, "run.sh": ""}, ["run.sh"]).platform is None
    assert infer_in(files | {"docker/rocm/run.sh": ""}, ["docker/rocm/run.sh"]).platform == "rocm"


def test_files_of_images_are_near_the_folder_that_they_speak_for() -> None:
    assert folders_near("docker/rocm") == {"docker/rocm", "docker", ""}
    assert folders_near("src/rocm") == {"src/rocm", "src"}
    assert folders_near("") == {""}


def test_of_several_images_for_one_platform_only_what_they_share_is_known() -> None:
    run = [("run.sh", "torchrun x.py\n")]
    other = AMD.replace("2.3.0", "2.4.0")
    both = infer(run, [("docker/Dockerfile.a", AMD), ("docker/Dockerfile.b", other)])
    assert (both.platform, both.versions["rocm"], "torch" in both.versions) == ("rocm", "6.2", False)
    silent = infer(run, [("docker/Dockerfile.a", AMD), ("docker/Dockerfile.b", "FROM rocm/pytorch:latest\n")])
    assert (silent.platform, dict(silent.versions)) == ("rocm", {})
    lint = infer(run, [("docker/Dockerfile.a", AMD), ("docker/Dockerfile.b", "FROM python:3.12\n")])
    assert lint.versions["torch"] == "2.3.0"
    build = [("run.sh", "docker build -f docker/Dockerfile.b .\n")]
    named = infer(build, [("docker/Dockerfile.a", AMD), ("docker/Dockerfile.b", other)])
    assert named.versions["torch"] == "2.4.0"


@pytest.mark.parametrize(
    ("script", "platform"),
    [
        ("nsys profile torchrun x.py\n", "cuda"),
        ("rocm-smi --showuse\n", "rocm"),
        ("nvidia-smi || true\n", None),
        ("nvidia-smi\ncommand -v rocm-smi\n", None),
        ("export NVIDIA_TF32_OVERRIDE=0\n", None),
        ("npu-smi info\n", None),
        ("torchrun x.py\n", None),
    ],
)
def test_a_hint_of_the_unit_chooses_among_the_platforms_of_the_project(script: str, platform: str | None) -> None:
    files = [("docker/Dockerfile.cuda", NGC), ("docker/Dockerfile.rocm", AMD)]
    target = infer([("run.sh", script)], files)
    assert target.platform == platform
    assert bool(target.conflicts) is (platform is None)


def test_a_torch_pinned_in_an_image_for_another_platform_is_not_the_one_here() -> None:
    files = [("docker/Dockerfile", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch==2.6.0\n")]
    target = infer([("run_npu.sh", "export HCCL_CONNECT_TIMEOUT=100\n")], files)
    assert (target.platform, dict(target.versions)) == ("ascend", {})
    pinned = [*files, ("requirements.txt", "torch==2.5.1\n")]
    assert infer([("run_npu.sh", "")], pinned).versions == {"torch": "2.5.1"}


@pytest.mark.parametrize(
    "path",
    [".github/workflows/ci.yml", "sub/.github/workflows/ci.yaml", ".gitlab-ci.yml", ".gitlab/stages/a.yml",
     ".circleci/config.yml", "azure-pipelines.yml", ".github/scripts/run_h100.sh"],
)  # fmt: skip
def test_a_job_of_continuous_integration_runs_on_machines_of_its_own(path: str) -> None:
    assert infer([(path, "run: pytest\n")], [("Dockerfile", NGC)]).platform is None
    assert infer([(path, "run: docker build -f Dockerfile .\n")], [("Dockerfile", NGC)]).platform == "cuda"


def test_a_chart_speaks_for_the_scripts_beside_it() -> None:
    files = {
        "recipe/Chart.yaml": "name: job\n",
        "recipe/values.yaml": "image: nvcr.io/nvidia/pytorch:24.05-py3\n",
        "recipe/templates/job.yaml": "limits:\n  nvidia.com/gpu: 8\n",
        "recipe/launcher.sh": "torchrun x.py\n",
        "other/launcher.sh": "torchrun x.py\n",
    }
    target = infer_in(files, ["recipe/launcher.sh"])
    assert (target.platform, target.versions["cuda"]) == ("cuda", "12.4.1")
    assert infer_in(files, ["other/launcher.sh"]).platform is None


def test_python_bindings_of_amd_speak_together() -> None:
    run = [("run.sh", "torchrun x.py\n")]
    assert infer(run, [("requirements.txt", "hip-python\npyrsmi\n")]).platform == "rocm"
    assert infer(run, [("requirements.txt", "pynvml\npyrsmi\n")]).platform is None


def test_a_conda_environment_is_another_one_than_the_image() -> None:
    conda = ("environment.yml", "dependencies:\n  - pytorch-cuda=11.8\n")
    image = ("docker/Dockerfile", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n")
    run = [("run.sh", "torchrun x.py\n")]
    assert infer(run, [conda]).versions == {"cuda": "11.8"}
    both = infer(run, [conda, image])
    assert (both.platform, dict(both.versions)) == ("cuda", {})


def test_a_silent_image_beside_a_script_is_its_own() -> None:
    server, base = ("docker/server/Dockerfile", "FROM python:3.12\n"), ("docker/base/Dockerfile", NGC)
    assert infer([("docker/server/start.sh", "python x.py\n")], [server, base]).platform is None
    assert infer([("docker/server/start.sh", "python x.py\n")], [base]).platform == "cuda"
    assert infer([("start.sh", "python x.py\n")], [("docker/Dockerfile", NGC)]).platform == "cuda"
