"""Shell text and command lists inside Python."""

from __future__ import annotations

import textwrap

import pytest

from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.source import Source
from envdoctor.readers import registry


def read(text: str) -> FileFacts:
    return registry.read(Source("a.py", text), "python")


def short(setting: Setting) -> str:
    value = setting.value.text if setting.value.kind == "literal" else f"<{setting.value.kind}>"
    return f"{setting.op} {setting.name}={value}"


TEXT = [
    ('os.system("export NCCL_A=1; python t.py")', ["set NCCL_A=1"]),
    ('os.system(f"export NCCL_A={x}; python t.py")', ["set NCCL_A=<template>"]),
    ('subprocess.run("NCCL_A=1 python t.py", shell=True)', ["set NCCL_A=1"]),
    ('subprocess.run(["NCCL_A=1 python t.py"], shell=True)', ["set NCCL_A=1"]),
    ('subprocess.run(["bash", "-c", "export NCCL_A=1 && python t.py"])', ["set NCCL_A=1"]),
    ('subprocess.run(["mpirun", "-x", "NCCL_A=1", "python", "t.py"])', ["set NCCL_A=1"]),
    ('cmd = ["mpirun", "-x", "NCCL_A=1"]\ncmd += ["-x", "NCCL_B=2", "python", "t.py"]\nsubprocess.run(cmd)',
     ["set NCCL_A=1", "set NCCL_B=2"]),
    ('subprocess.Popen(["docker", "run", "-e", "NCCL_A=1", image])', ["set NCCL_A=1"]),
    ('cmd = ["docker", "run", "--env=NCCL_A=1", image]', ["set NCCL_A=1"]),
    ('cmd.extend(["-x", f"NCCL_A={x}"])', ["set NCCL_A=<template>"]),
    ('cmd += ["-x", "NCCL_A"]', ["pass NCCL_A=<unknown>"]),
    ('subprocess.run(["env", "NCCL_A=1", "python", "t.py"])', ["set NCCL_A=1"]),
    ('cmd = "export NCCL_A=1; "\ncmd += "python t.py"\nos.system(cmd)', ["set NCCL_A=1"]),
    ('cmd = "NCCL_A=1 " + "python t.py"\nos.system(cmd)', ["set NCCL_A=1"]),
    ('os.system("export NCCL_A=%s; x" % n)', ["set NCCL_A=<template>"]),
    ('os.system("export NCCL_A={}; x".format(n))', ["set NCCL_A=<template>"]),
    ('lines = ["#!/bin/bash", "export NCCL_A=1", "srun t.sh"]', ["set NCCL_A=1"]),
    ('lines.append("export NCCL_A=1")', ["set NCCL_A=1"]),
    ('script = """#!/bin/bash\n#SBATCH -N 2\nexport NCCL_A=1\n"""', ["set NCCL_A=1"]),
    ('f.write("export NCCL_A=1\\n")', ["set NCCL_A=1"]),
    ('Path("x.sh").write_text("export NCCL_A=1\\nexport NCCL_B=2\\n")', ["set NCCL_A=1", "set NCCL_B=2"]),
    ('def setup_commands():\n    return ["export NCCL_A=1"]', ["set NCCL_A=1"]),
    ('commands = "\\n".join(["export NCCL_A=1", run])', ["set NCCL_A=1"]),
    ('SlurmExecutor(setup_lines="export NCCL_A=1")', ["set NCCL_A=1"]),
    ('job = {"setup": "export NCCL_A=1", "title": "export NCCL_B=1"}', ["set NCCL_A=1"]),
    ('ssh.exec_command(f"export NCCL_A={x}; python t.py")', ["set NCCL_A=<template>"]),
    ('prefix = "mpirun -np {} -x NCCL_A=1 -x PATH ".format(n)', ["set NCCL_A=1", "pass PATH=<unknown>"]),
    ('def horovod(n):\n    return "mpirun -x NCCL_A=1 " + x', ["set NCCL_A=1"]),
    ('params = f"-x NCCL_A=1 -x NCCL_B={x}"', ["set NCCL_A=1", "set NCCL_B=<template>"]),
    ('usage = "mpirun -x NCCL_A=1 python t.py"', []),
    ('parser.error("mpirun -x NCCL_A=1 python t.py")', []),
    ('script = """#!/usr/bin/env python3\nNCCL_A = 1\n"""', []),
    ('os.system("echo export NCCL_A=1")', []),
    ('print(["export NCCL_A=1"])', []),
    ('help_text = "export NCCL_A=1"', []),
    ('notes.append("export NCCL_A=1")', []),
    ('x = ["grep", "-e", "NCCL_A"]', []),
    ('subprocess.run("NCCL_A=1 x")', []),
    ('subprocess.run(["pip", "install", "-e", "."])', []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TEXT)
def test_settings_in_shell_text(text: str, expected: list[str]) -> None:
    facts = read("import os, subprocess\n" + text)
    assert [short(s) for s in facts.settings] == expected


def test_what_only_python_knows_is_no_variable_of_the_shell() -> None:
    facts = read('import os\nos.system(f"export NCCL_A={a}:$HOME; export NCCL_B={a}")')
    assert [(s.value.text, s.value.references) for s in facts.settings] == [("{...}:$HOME", ("HOME",)), ("{...}", ())]
    assert [use.name for use in facts.uses if use.name.startswith("_")] == []


def test_names_stand_where_they_are_written() -> None:
    text = 'import os\nos.system("echo \\"a\\" && "\n          f"export NCCL_A={x} NCCL_B=2")\n'
    places = [s.name_place for s in read(text).settings]
    lines = text.split("\n")
    assert [lines[p.line - 1][p.column - 1 : p.end_column - 1] for p in places if p] == ["NCCL_A", "NCCL_B"]


def test_launches() -> None:
    facts = read('import subprocess, sys\nsubprocess.run(["torchrun", "--nproc_per_node", str(n), "t.py"])\n')
    assert [(launch.launcher, launch.words) for launch in facts.launches] == [
        ("torchrun", ("torchrun", "--nproc_per_node", "{...}", "t.py"))
    ]


def test_scope_and_branch_of_a_command() -> None:
    text = 'import os\ndef go():\n    if rank == 0:\n        os.system("export NCCL_A=1")\n'
    (setting,) = read(text).settings
    assert (setting.scope.kind, setting.scope.name) == ("subshell", "go")
    assert [(b.arm, b.condition) for b in setting.branch] == [("if", "rank == 0")]


def test_comment_beside_a_line_of_a_script() -> None:
    (setting,) = read('lines.append("export NCCL_A=1")  # keep for old nodes\n').settings
    assert setting.comment == "keep for old nodes"


def test_a_command_that_was_run_is_read_once() -> None:
    text = 'import os\ncommand = "export NCCL_A=1; python t.py"\nos.system(command)\n'
    assert [short(s) for s in read(text).settings] == ["set NCCL_A=1"]


SCRIPTS_IN_CODE = {
    "two names": (
        """
        env_script = "export NCCL_ALGO=Ring\\n"
        launch_script = "#!/bin/bash\\nexport NCCL_PROTO=LL\\nsrun --export=NONE python train.py\\n"
        """,
        False,
    ),
    "one name, built": (
        """
        script = "export NCCL_ALGO=Ring\\n"
        script += "export NCCL_PROTO=LL\\nsrun --export=NONE python train.py\\n"
        """,
        True,
    ),
    "one name, gathered": (
        """
        script_lines = []
        script_lines.append("export NCCL_ALGO=Ring")
        script_lines.append("export NCCL_PROTO=LL; srun --export=NONE python train.py")
        """,
        True,
    ),
    "one file, written": (
        """
        f.write("export NCCL_ALGO=Ring\\n")
        f.write("export NCCL_PROTO=LL\\nsrun --export=NONE python train.py\\n")
        """,
        True,
    ),
    "one name, used twice": (
        """
        script = "export NCCL_ALGO=Ring\\n"
        write(script)
        script = "export NCCL_PROTO=LL\\nsrun --export=NONE python train.py\\n"
        """,
        False,
    ),
    "two functions": (
        """
        def one():
            script = "export NCCL_ALGO=Ring\\n"
            return script
        def other():
            script = "export NCCL_PROTO=LL\\nsrun --export=NONE python train.py\\n"
            return script
        """,
        False,
    ),
}


@pytest.mark.parametrize("name", SCRIPTS_IN_CODE)
def test_texts_that_are_one_script_and_texts_that_are_two(name: str) -> None:
    code, one = SCRIPTS_IN_CODE[name]
    facts = read(textwrap.dedent(code))
    scopes = {s.name: s.scope for s in facts.settings}
    assert (scopes["NCCL_ALGO"] == scopes["NCCL_PROTO"]) is one
    assert [launch.scope for launch in facts.launches if launch.launcher == "srun"] == [scopes["NCCL_PROTO"]]
