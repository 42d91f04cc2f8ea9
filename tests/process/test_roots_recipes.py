"""Recipes, units, notebooks, programs: what is exported, what stays behind, what comes before what."""

from __future__ import annotations

import json

import pytest
from roots_shown import given, lost, parts_of, roots_in, words

from envdoctor.analysis.process.roots import roots_of

MAKEFILE = """\
export NCCL_DEBUG := INFO
NCCL_IB_DISABLE = 1
NPROC ?= 8
export LATE
export CALLER
include .env

train: export OMP_NUM_THREADS = 1
train: data
\texport A=1; torchrun --nproc_per_node $(NPROC) train.py
\t@python eval.py $$HOME

data:
\tpython prep.py
LATE = 3
"""


def test_a_recipe_has_what_make_exports() -> None:
    train, evaluate, data = roots_in(MAKEFILE, "Makefile")
    assert [(r.kind, r.name, r.line, r.before) for r in (train, evaluate, data)] == [
        ("recipe", "train", 10, -1), ("recipe", "train", 11, 0), ("recipe", "data", 14, -1),
    ]  # fmt: skip
    everywhere = {"NCCL_DEBUG": "INFO", "LATE": "3", "CALLER": ""}
    assert given(train) == given(evaluate) == {**everywhere, "OMP_NUM_THREADS": "1"}
    assert given(data) == everywhere
    assert [s.op for s in data.settings] == ["set", "export", "set"]
    assert [s.name for s in train.unexported] == ["NCCL_IB_DISABLE", "NPROC"]
    assert words(train) == ["export A=1", "torchrun --nproc_per_node $NPROC train.py"]
    assert all(r.inherits and not r.env_files for r in (train, evaluate, data))


@pytest.mark.parametrize("line", ["export", "export $(shell sed 's/=.*//' .env)", ".EXPORT_ALL_VARIABLES:"])
def test_variables_of_a_file_reach_recipes_only_where_all_is_exported(line: str) -> None:
    (root,) = roots_in(f"include .env\n{line}\nt:\n\tpython train.py\n", "Makefile")
    assert [i.target for i in root.env_files] == [".env"]


def test_one_shell_for_a_recipe() -> None:
    (root,) = roots_in(".ONESHELL:\nexport A = 1\nt:\n\texport B=1\n\ttorchrun train.py\n", "gpu.mk")
    assert (words(root), given(root), root.name) == (["export B=1", "torchrun train.py"], {"A": "1"}, "t")


def test_a_variable_of_one_target_is_not_there_for_another() -> None:
    a, b = roots_in("a c: export A = 1\na:\n\tpython a.py\nb:\n\tpython b.py\n", "Makefile")
    assert (given(a), given(b)) == ({"A": "1"}, {})


def test_just_recipes() -> None:
    text = 'set dotenv-load\nexport NCCL_DEBUG := "INFO"\nlocal := "1"\ntrain $N="8":\n' \
           "    torchrun --nproc_per_node $N train.py\n    python eval.py\n" \
           "script:\n    #!/usr/bin/env bash\n    export A=1\n    torchrun train.py\n"  # fmt: skip
    train, evaluate, script = roots_in(text, "justfile")
    assert [(r.name, r.before) for r in (train, evaluate, script)] == [("train", -1), ("train", 0), ("script", -1)]
    assert (given(train), given(script)) == ({"NCCL_DEBUG": "INFO", "N": "8"}, {"NCCL_DEBUG": "INFO"})
    assert [i.target for i in train.env_files] == [".env"]
    assert [s.name for s in train.unexported] == ["local"]
    assert words(script) == ["export A=1", "torchrun train.py"]


SERVICE = """\
[Unit]
Description=training
[Service]
Environment="NCCL_DEBUG=INFO" A=1
EnvironmentFile=-/etc/train.env
PassEnvironment=HOME
UnsetEnvironment=A
ExecStart=/opt/run.sh --x \\
  --y
ExecStartPre=/usr/bin/bash /opt/prep.sh
[Install]
WantedBy=multi-user.target
"""


def test_a_unit_starts_what_comes_before_first() -> None:
    prepare, start = roots_in(SERVICE, "etc/train.service")
    assert [(r.kind, r.name, r.line, r.before) for r in (prepare, start)] == [
        ("service", "train.service ExecStartPre", 10, -1), ("service", "train.service", 8, 0),
    ]  # fmt: skip
    assert given(start) == {"HOME": "?", "NCCL_DEBUG": "INFO"}
    assert [s.op for s in start.settings] == ["pass", "set", "set", "unset"]
    assert ([i.target for i in start.env_files], start.over, start.exact) == (["/etc/train.env"], True, True)
    assert words(start) == ["/opt/run.sh --x --y"]
    assert start.script is not None
    assert start.script.shell == ""


def test_a_quadlet_is_a_container() -> None:
    (root,) = roots_in("[Container]\nImage=org/train\nEnvironment=A=1\nExec=torchrun train.py\n", "q.container")
    assert (root.kind, root.image, given(root), root.after_entrypoint) == ("container", "org/train", {"A": "1"}, True)


def test_programs_of_supervisor_have_what_all_have_and_their_own() -> None:
    text = '[supervisord]\nenvironment=G="1"\n[program:train]\ncommand=torchrun train.py\nenvironment=A="1",B="2"\n' \
           "[program:other]\ncommand=/opt/run.sh\n"  # fmt: skip
    train, other = roots_in(text, "supervisor.ini")
    assert [(r.name, given(r)) for r in (train, other)] == [
        ("program:train", {"G": "1", "A": "1", "B": "2"}), ("program:other", {"G": "1"}),
    ]  # fmt: skip


def test_environments_of_tox() -> None:
    text = "[testenv]\nset_env =\n    A = 1\npass_env = HOME\ncommands =\n    python -m pytest tests\n" \
           "[testenv:gpu]\nset_env =\n    NCCL_DEBUG = INFO\ncommands =\n    torchrun t.py\n    bash run.sh\n"  # fmt: skip
    plain, gpu = roots_in(text, "tox.ini")
    assert (given(plain), given(gpu)) == ({"HOME": "?", "A": "1"}, {"HOME": "?", "A": "1", "NCCL_DEBUG": "INFO"})
    assert words(gpu) == ["torchrun t.py", "bash run.sh"]
    assert {s.exported for s in gpu.settings} == {"yes"}


def notebook(*cells: str) -> str:
    listed = [{"cell_type": "code", "source": cell} for cell in cells]
    return json.dumps({"nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}, "cells": listed}, indent=1)


def test_shells_of_a_notebook_start_with_what_was_set_before() -> None:
    text = notebook(
        "%env NCCL_DEBUG=INFO\nimport os\nos.environ['NCCL_ALGO']='Ring'", "!torchrun train.py\nos.environ['LATE_X']='2'",
        "%%bash\nexport C=1\npython train.py", "!export Z=1",
    )  # fmt: skip
    line, cell, last = roots_in(text, "nb.ipynb")
    before = {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"}
    assert [(r.kind, r.name, r.before) for r in (line, cell, last)] == [
        ("cell", "cell 2", -1), ("cell", "cell 3", 0), ("cell", "cell 4", 1)
    ]  # fmt: skip
    assert (given(line), given(cell)) == (before, {**before, "LATE_X": "2"})
    assert words(cell) == ["export C=1", "python train.py"]


PROGRAM = """\
import os, subprocess
os.environ["NCCL_DEBUG"] = "INFO"
def main(x):
    os.environ["NCCL_ALGO"] = "Ring"
    if x:
        os.environ["NCCL_MAYBE"] = "1"
    subprocess.run(["torchrun", "train.py"])
    subprocess.run("export NCCL_Q=1; python train.py", shell=True)
    env = {
        **os.environ,
        "NCCL_B": "1",
    }
    subprocess.Popen(["bash", "run.sh"], env=env)
    subprocess.run(["torchrun", "t2.py"], env={"NCCL_C": "1"})
    other = os.environ.copy()
    other["NCCL_D"] = "1"
    subprocess.check_call(["torchrun", "t3.py"], env=other)
    os.environ["NCCL_LATE"] = "1"
    third = dict(NCCL_E="1")
    subprocess.check_call(["torchrun", "t4.py"], env=third)
    subprocess.check_call(["torchrun", "t5.py"], env=dict(os.environ, NCCL_F="1"))
    subprocess.check_call(["torchrun", "t6.py"], env=make_env())
def elsewhere():
    os.environ["NCCL_NOT"] = "1"
    os.system("bash o.sh")
"""


def test_what_a_program_starts_has_what_was_written_before_or_env() -> None:
    roots = roots_in(PROGRAM, "driver.py")
    so_far = {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"}
    later = {**so_far, "NCCL_LATE": "1"}
    assert [given(root) for root in roots] == [
        so_far, so_far, {**so_far, "NCCL_B": "1"}, {"NCCL_C": "1"}, {**so_far, "NCCL_D": "1"}, {"NCCL_E": "1"},
        {**later, "NCCL_F": "1"}, later, {"NCCL_DEBUG": "INFO", "NCCL_NOT": "1"},
    ]  # fmt: skip
    assert [root.inherits for root in roots] == [True, True, True, False, True, False, True, True, True]
    assert [root.exact for root in roots] == [True] * 7 + [False, True]
    assert [s.name for s in roots[3].unexported] == ["NCCL_DEBUG", "NCCL_ALGO"]
    assert [root.before for root in roots] == [-1, 0, 1, 2, 3, 4, 5, 6, -1]


def test_a_script_that_a_program_writes_starts_with_nothing_of_it() -> None:
    text = 'import os\nos.environ["NCCL_DEBUG"] = "INFO"\nscript = """#!/bin/bash\n#SBATCH -N 2\nexport A=1\n' \
           'srun python train.py\n"""\nopen("job.sh", "w").write(script)\n'  # fmt: skip
    (root,) = roots_in(text, "submit.py")
    assert (root.kind, given(root), root.exact) == ("script", {}, False)
    assert words(root)[-2:] == ["export A=1", "srun python train.py"]


def test_every_script_is_run_by_a_root() -> None:
    for text, path in ((MAKEFILE, "Makefile"), (SERVICE, "a.service"), (PROGRAM, "a.py")):
        facts, scripts = parts_of(text, path)
        assert lost(scripts, roots_of(facts, scripts, text)) == [], path
