"""Env files that docker reads by its own rules, and text that is not UTF-8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import found, scan_json

from envdoctor.readers.docker_env_files import read_by_docker
from envdoctor.readers.kinds import kind_of

Tree = Callable[[Mapping[str, str]], Path]


def given(files: dict[str, str]) -> frozenset[str]:
    return read_by_docker(sorted(files), lambda path: files[path].encode(), kind_of) & set(files)


@pytest.mark.parametrize(
    "command",
    [
        "docker run --rm --env-file gpu.env image python train.py",
        "docker run --gpus all \\\n  --env-file=gpu.env \\\n  image",
        'podman run --env-file "./gpu.env" image',
        "sudo docker container run --env-file ../jobs/gpu.env image",
        "nerdctl exec --env-file jobs/gpu.env name python train.py",
    ],
)
def test_given_to_docker(command: str) -> None:
    assert given({"jobs/run.sh": command, "jobs/gpu.env": ""}) == {"jobs/gpu.env"}


@pytest.mark.parametrize(
    "command",
    [
        "docker compose --env-file gpu.env up",
        "source gpu.env; docker run --env-file gpu.env image",
        "set -a\n. ./gpu.env\nset +a\ndocker run --env-file gpu.env image",
        "docker run image; tool --env-file gpu.env",
        "docker run --env-file $HERE/gpu.env image",
        "echo gpu.env",
    ],
)
def test_not_given_to_docker_or_to_others_as_well(command: str) -> None:
    assert given({"jobs/run.sh": command, "jobs/gpu.env": ""}) == frozenset()


def test_quotes_are_part_of_the_value_for_docker_alone(tree: Tree) -> None:
    root = tree({"gpu.env": 'NCCL_ALGO="Ring"\n', "run.sh": "source gpu.env\npython train.py\n"})
    assert [name for path, _, name, _ in found(scan_json(root)) if path == "gpu.env" and name == "bad-value"] == []
    tree({"run.sh": "docker run --env-file gpu.env image python train.py\n"})
    assert ("gpu.env", 1, "bad-value", "NCCL_ALGO") in found(scan_json(root))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_with_a_mark_is_read(tree: Tree, encoding: str) -> None:
    root = tree({})
    mark = "" if encoding == "utf-16" else "\ufeff"
    (root / "run.sh").write_bytes(f"{mark}echo\nexport NCCL_DETERMINISTIC=1\n".encode(encoding))
    assert found(scan_json(root)) == [("run.sh", 2, "ghost-variable", "NCCL_DETERMINISTIC")]
