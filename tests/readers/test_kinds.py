"""Which reader a file is for, that every kind has one, and files of these kinds in a scan: found, refused, bounded."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml
from support import ROOT, found, scan_json

from envdoctor.readers.kinds import NAMES, PROGRAMS, SUFFIXES, kind_of
from envdoctor.readers.registry import READERS

Tree = Callable[[Mapping[str, str]], Path]

KINDS = [
    ("a.sh", b"", "shell"), ("a.sh.j2", b"", "shell"), ("a.yaml-template", b"", "yaml"), ("launch.sh.example", b"", "shell"),
    ("a.slrm", b"#!/bin/bash\n", "shell"), ("a.nhc", b"#!/usr/bin/env bash\n", "shell"), ("a.slrm", b"", None),
    ("run", b"#!/bin/tcsh -f\n", "csh"), ("a.sh", b"#!/encs/bin/tcsh\n", "csh"), ("a.sbatch", b"#!/bin/sh\n", "shell"),
    ("a.sh", b"#!/usr/bin/expect\n", "shell"), ("run", b"#!/usr/bin/env fish\n", "fish"), ("m", b"#!/usr/bin/make -f\n", "make"),
    ("run", b"#!/usr/bin/env python3\n", "python"), ("run", b"#!/usr/bin/perl\n", None), ("run", b"", None),
    ("rccl/2.1", b"#%Module1.0\n", "modulefile"), ("rccl/2.1", b"", None), ("rccl/2.1.lua", b"", "lua-modulefile"),
    ("Makefile", b"", "make"), ("makefile.am", b"", "make"), ("x.mk", b"", "make"), ("GNUmakefile", b"", "make"),
    ("justfile", b"", "justfile"), (".justfile", b"", "justfile"), ("a.just", b"", "justfile"),
    ("Dockerfile.rocm", b"", "dockerfile"), ("dockerfile.json", b"", "json"), ("a.ipynb", b"", "notebook"),
    ("launch.json", b"", "json"), ("a.code-workspace", b"", "json"), ("a.jsonc", b"", "json"), ("a.tf.json", b"", "json"),
    ("pyproject.toml", b"", "toml"), ("Pipfile", b"", "toml"), ("a.lock", b"", None), ("tox.ini", b"", "ini"),
    ("a.service", b"", "ini"), ("a.service.tmpl", b"", "ini"), ("a.container", b"", "ini"), ("setup.cfg", b"", "ini"),
    ("main.tf", b"", "terraform"), ("a.tfvars", b"", "terraform"), ("a.hcl", b"", "terraform"), ("a.nomad", b"", "terraform"),
    ("CMakeLists.txt", b"", "cmake"), ("cmake/flags.cmake", b"", "cmake"), ("x.cmake.in", b"", "cmake"),
    ("nccl.conf", b"", "nccl-conf"), ("etc/rccl.conf", b"", "nccl-conf"), (".nccl.conf", b"", "nccl-conf"),
    ("a.conf", b"", "conf"), ("spark.properties", b"", "conf"), (".cshrc", b"", "csh"), ("config.fish", b"", "fish"),
    ("README.md", b"", None), ("a.txt", b"", None), ("a.png", b"", None),
]  # fmt: skip


@pytest.mark.parametrize(("path", "head", "kind"), KINDS)
def test_kind(path: str, head: bytes, kind: str | None) -> None:
    assert kind_of(path, head) == kind


def test_every_kind_has_a_reader() -> None:
    named = {*NAMES.values(), *SUFFIXES.values(), *PROGRAMS.values()}
    assert named <= set(READERS)
    for module in set(READERS.values()):
        assert callable(importlib.import_module(module).read)


GHOST = "NCCL_DETERMINISTIC"
FILES = {
    ".env": f"{GHOST}=1\n",
    ".env.local": f"{GHOST}=1\n",
    ".deepspeed_env": f"{GHOST}=1\n",
    "nccl.conf": f"{GHOST}=1\n",
    ".vscode/launch.json": f'{{"configurations": [{{"name": "x", "env": {{"{GHOST}": "1"}}}}]}}\n',
    ".devcontainer/devcontainer.json": f'{{"containerEnv": {{"{GHOST}": "1"}}}}\n',
    "mise.toml": f'[env]\n{GHOST} = "1"\n',
    "x.service": f"[Service]\nEnvironment={GHOST}=1\n",
    "x.csh": f"setenv {GHOST} 1\n",
    ".cshrc": f"setenv {GHOST} 1\n",
    "x.fish": f"set -gx {GHOST} 1\n",
    "Makefile": f"export {GHOST}=1\n",
    "justfile": f'export {GHOST} := "1"\n',
    "x.ipynb": f'{{"cells": [{{"cell_type": "code", "source": ["%env {GHOST}=1"]}}]}}\n',
    "rccl/2.1": f"#%Module\nsetenv {GHOST} 1\n",
    "x.lua": f'setenv("{GHOST}", "1")\n',
    "x.tf": f'env = {{ {GHOST} = "1" }}\n',
}


def test_all_kinds_are_found_in_a_folder(tree: Tree) -> None:
    report = scan_json(tree(FILES))
    assert sorted({path for path, _, name, _ in found(report) if name == "ghost-variable"}) == sorted(FILES)
    assert report["summary"]["problems"] == []


def test_a_makefile_variable_that_is_not_exported_is_makes_own(tree: Tree) -> None:
    root = tree({"Makefile": f"{GHOST}=1\nNCCL_HOME ?= /opt\nall:\n\tcc -I$(NCCL_HOME)/include x.c\n"})
    assert found(scan_json(root)) == []


def test_what_a_makefile_looks_at_is_private(tree: Tree) -> None:
    root = tree({"Makefile": "ifdef NCCL_SITE\nX = 1\nendif\n", "run.sh": f"export NCCL_SITE=1\nexport {GHOST}=1\n"})
    assert [variable for *_, variable in found(scan_json(root))] == [GHOST]


def test_code_blocks_are_read_where_documents_are_asked_for(tree: Tree) -> None:
    root = tree({"README.md": f"```bash\nexport {GHOST}=1\n```\n", "x.sh": f"export {GHOST}=1\n"})
    assert [path for path, *_ in found(scan_json(root))] == ["x.sh"]
    assert [path for path, *_ in found(scan_json(root, "--docs"))] == ["README.md", "x.sh"]


def test_the_hook_is_given_every_kind_of_file(tmp_path: Path) -> None:
    identify = pytest.importorskip("identify.identify")
    hook = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))[0]
    names = [path for path, head, kind in KINDS if kind and not head]
    for name in [*names, *(f"x{suffix}" for suffix in SUFFIXES), *NAMES]:
        path = tmp_path / Path(name).name
        path.write_text("A=1\n", encoding="utf-8")
        tags = identify.tags_from_path(str(path))
        assert set(hook["types"]) <= tags, name
        assert not tags & set(hook["exclude_types"]), name


BINARY = [
    bytes(range(256)) * 40,
    b"\x7fELF" + b"\0" * 60 + b"NCCL_DEBUG=INFO\n",
    "NCCL_DEBUG=INFO\n".encode("utf-16-le"),
]


@pytest.mark.parametrize("name", ["a.env", "a.json", "a.ipynb", "a.sh", "Makefile"])
@pytest.mark.parametrize("data", BINARY, ids=["bytes", "elf", "utf-16"])
def test_binary_content_with_the_name_of_a_text(tree: Tree, name: str, data: bytes) -> None:
    root = tree({"good.sh": f"export {GHOST}=1\n"})
    (root / name).write_bytes(data + f"\nexport {GHOST}=1\n".encode())
    report = scan_json(root)
    assert [path for path, *_ in found(report)] == ["good.sh"]
    assert [(p["path"], p["message"]) for p in report["summary"]["problems"]] == [(name, "holds no text: not read")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "limit"), [("a.ipynb", 50), ("a.json", 5), ("a.env", 5)])
def test_files_that_are_too_large_are_refused_at_once(tree: Tree, name: str, limit: int) -> None:
    root = tree({name: FILES["x.ipynb"]})
    with (root / name).open("r+b") as file:
        file.truncate(200_000_000)
    start = time.monotonic()
    report = scan_json(root)
    assert time.monotonic() - start < 30
    assert found(report) == []
    messages = [(p["path"], p["message"]) for p in report["summary"]["problems"]]
    assert messages == [(name, f"larger than {limit} MB: not read")]


@pytest.mark.slow
def test_a_notebook_may_be_large_for_what_it_printed(tree: Tree) -> None:
    printed = '"outputs": ["' + "x" * 20_000_000 + '"], "source"'
    root = tree({"x.ipynb": FILES["x.ipynb"].replace('"source"', printed)})
    assert [variable for *_, variable in found(scan_json(root))] == [GHOST]
