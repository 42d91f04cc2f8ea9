"""Which scripts name which files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import here

from envdoctor.analysis.project import open_project
from envdoctor.analysis.references.graph import MOST_AROUND, References

Links = Callable[[dict[str, str]], References]


@pytest.fixture
def links(tree: Callable[[Mapping[str, str]], Path]) -> Links:
    def links(files: dict[str, str]) -> References:
        root = tree(files).resolve()
        return open_project(root, root).references

    return links


@pytest.mark.parametrize(
    ("home", "text", "other"),
    [
        ("run.sh", "source common.sh", "common.sh"),
        ("run.sh", ". ./common.sh", "common.sh"),
        ("jobs/run.sh", "source ../common.sh", "common.sh"),
        ("jobs/run.slurm", "source $ROOT/env/common.sh", "env/common.sh"),
        ("jobs/run.sh", "torchrun --nproc_per_node 8 src/train.py --lr 1", "src/train.py"),
        ("jobs/run.sh", "docker run --env-file gpu.env image", "jobs/gpu.env"),
        ("Makefile", "train:\n\tpython src/train.py", "src/train.py"),
    ],
)
def test_a_word_that_names_a_file(links: Links, home: str, text: str, other: str) -> None:
    found = links({home: text, other: ""})
    assert found.around(other) == [[home]]
    assert found.around(home) == [[other]]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("# source common.sh", ["common.sh"]),
        ("source common.sh", ["lib/common.sh"]),
        ("python pkg/train.py", ["a/pkg/train.py", "b/pkg/train.py"]),
        ("python train.pyc", ["train.py"]),
        ("source run.sh", []),
    ],
)
def test_a_word_that_names_none(links: Links, text: str, files: list[str]) -> None:
    found = links({"run.sh": text, **dict.fromkeys(files, "")})
    assert all(found.around(path) == [] for path in ["run.sh", *files])


def test_what_starts_the_script_that_starts_a_program_is_further_away(links: Links) -> None:
    found = links({"job.slurm": "bash run.sh", "run.sh": "python train.py", "train.py": ""})
    assert found.around("train.py") == [["run.sh"], ["job.slurm"]]
    assert found.around("run.sh") == [["job.slurm", "train.py"]]


def test_python_names_nothing_and_loops_end(links: Links) -> None:
    found = links({"a.py": "run('b.sh')", "b.sh": "bash c.sh", "c.sh": "bash b.sh"})
    assert found.around("b.sh") == [["c.sh"]]


def test_a_file_that_everything_names_is_bounded(links: Links) -> None:
    found = links({"common.sh": "", **{f"run{i}.sh": "source common.sh" for i in range(100)}})
    assert [len(group) for group in found.around("common.sh")] == [MOST_AROUND]


IMAGE = """FROM rocm/pytorch
COPY --from=builder train.py /other.py
COPY run.sh common.sh /app/
COPY ["train.py", "/app/t.py"]
ADD \\
  scripts/start.sh /start.sh
COPY gone.sh /gone.sh
COPY . /src
"""


def test_what_an_image_holds_of_the_tree(tree: Callable[[Mapping[str, str]], Path]) -> None:
    root = tree({"Dockerfile": IMAGE, "run.sh": "", "common.sh": "", "train.py": "", "scripts/start.sh": ""}).resolve()
    project = open_project(root, root)
    image = project.facts.whole("Dockerfile")
    assert image is not None
    assert project.references.copied(image) == {
        "/app/run.sh": "run.sh", "/app/common.sh": "common.sh", "/app/t.py": "train.py", "/start.sh": "scripts/start.sh",
    }  # fmt: skip


def test_a_launch_in_an_image_shows_which_file_of_the_tree_it_starts(
    tree: Callable[[Mapping[str, str]], Path],
) -> None:
    text = 'FROM rocm/pytorch\nCOPY train.py /app/\nENV NCCL_DEBUG=INFO\nCMD ["torchrun", "/app/train.py"]\n'
    root = tree({"docker/Dockerfile": text, "train.py": "import torch\n"})
    run = here("scan", "--no-cache", "--show-launches", cwd=root)
    assert "  4: torchrun -> train.py (/app/train.py in the image)\n" in run.stdout
