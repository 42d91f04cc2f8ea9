"""One small project with a file of every kind and a fault of every rule, each in a folder of its own."""

from __future__ import annotations

import json
from pathlib import Path

from envdoctor.knowledge.rulebook import Rule, load_rulebook

GHOST = "NCCL_DETERMINISTIC"
KINDS = {
    "shell": ("run.sh", f"export {GHOST}=1\ntorchrun --nproc_per_node 8 train.py\n"),
    "python": ("train.py", f'import os\n\nos.environ["{GHOST}"] = "1"\n'),
    "dockerfile": ("Dockerfile", f"FROM ubuntu:22.04\nENV {GHOST}=1\n"),
    "yaml": ("job.yaml", f"env:\n  {GHOST}: '1'\n"),
    "json": ("job.json", json.dumps({"env": {GHOST: "1"}}, indent=1)),
    "toml": ("job.toml", f'[env]\n{GHOST} = "1"\n'),
    "ini": ("job.service", f"[Service]\nEnvironment={GHOST}=1\n"),
    "csh": ("run.csh", f"setenv {GHOST} 1\n"),
    "fish": ("run.fish", f"set -gx {GHOST} 1\n"),
    "make": ("Makefile", f"export {GHOST}=1\nall:\n\ttrue\n"),
    "justfile": ("justfile", f'export {GHOST} := "1"\nall:\n\ttrue\n'),
    "notebook": (
        "train.ipynb",
        json.dumps({"cells": [{"cell_type": "code", "source": [f'import os\nos.environ["{GHOST}"] = "1"\n']}],
                    "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}),
    ),
    "modulefile": ("module.tcl", f"#%Module\nsetenv {GHOST} 1\n"),
    "lua-modulefile": ("module.lua", f'setenv("{GHOST}", "1")\n'),
    "terraform": ("main.tf", f'resource "x" "y" {{\n  environment = {{\n    {GHOST} = "1"\n  }}\n}}\n'),
    "markup": ("notes.md", f"# Notes\n\n```bash\nexport {GHOST}=1\n```\n"),
    "env-file": ("job.env", f"{GHOST}=1\n"),
    "docker-env-file": ("env.list", f"{GHOST}=1\n"),
    "deepspeed-env": (".deepspeed_env", f"{GHOST}=1\n"),
    "launcher-env-file": ("etc/environment", f"{GHOST}=1\n"),
    "cmake": (
        "CMakeLists.txt",
        f"# {GHOST}\npybind11_add_module(x x.cpp)\ntarget_compile_options(x PRIVATE -ffast-math)\n",
    ),
    "nccl-conf": ("nccl.conf", f"{GHOST}=1\n"),
    "conf": ("job.conf", f"{GHOST}=1\n"),
}  # fmt: skip
"""Kind of file -> a name and a content in which something is found."""


def scan_rules() -> list[tuple[Rule, int]]:
    """The rules that speak about files, each with the number of an example that it speaks about."""
    found = []
    for rule in load_rulebook():
        bad = [i for i, e in enumerate(rule.examples) if e.kind == "bad" and not e.node]
        if bad and rule.check != "own":
            found.append((rule, bad[0]))
    return found


def write_example(root: Path, rule: Rule, number: int) -> None:
    """The files of an example of a rule."""
    example = rule.examples[number]
    for name, code in ((example.file, example.code), *((f["file"], f.get("code", "")) for f in example.files)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code.lstrip("\n"), encoding="utf-8")


def write_kinds(root: Path) -> None:
    """A file of every kind."""
    for kind, (name, text) in KINDS.items():
        path = root / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_everything(root: Path) -> None:
    """A file of every kind, an example of every rule, ignore comments and a script that sources another."""
    write_kinds(root)
    for rule, number in scan_rules():
        write_example(root / rule.name, rule, number)
    targets = {rule.name: rule.examples[number].target for rule, number in scan_rules() if rule.examples[number].target}
    lines = [f'"{name}/*" = {json.dumps(target)}' for name, target in targets.items()]
    (root / "envdoctor.toml").write_text("\n".join(["[targets]", *lines, ""]))
    (root / "ignored.sh").write_text(f"export {GHOST}=1  # envdoctor: ignore[ghost-variable]\n")
    (root / "unused.sh").write_text("export NCCL_DEBUG=INFO  # envdoctor: ignore[ghost-variable]\n")
    (root / "env.sh").write_text("NCCL_IB_HCA=mlx5\n")
    (root / "start.sh").write_text("source env.sh\ntorchrun --nproc_per_node 8 train.py\n")
