"""What the readers say a child gets is what it gets from the real programs, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from facts_shown import facts_of

SHOW = "env | grep '^A_' | sort\n"
CSH = r"""setenv A_A "x y"
setenv A_B 'a$b'
setenv A_C a\ b
setenv A_D "a\"
setenv A_F
setenv A_G 'x'"y"z
setenv A_H ^docker0,lo
set A_I=1
setenv A_J x#y
setenv A_K a=b; setenv A_L 1
"""
FISH = r"""set -gx A_A "x y" z
set -gx A_B 'a$b'
set -gx A_C a\ b
set -gx A_D "a\$b"
set -gx A_E 'it\'s'
set -gx A_F x#y
set -gx A_G
set A_H 1
set -gx A_I 1; set A_I 2
export A_J=1
set -gx A_K "a\"b"
set -gx A_PATH /x /y
set -gx A_L "a\nb"
set -gx A_M 1; set -e A_M
"""
MAKE = """export A_A = "x"   # c
export A_B := a$$b
A_C = 1
A_D ?= 2
export A_D
export A_E = 1 \\
   2
export A_F = it's
A_G = 1
unexport A_G
t: export A_H=3
t:
\t@env | grep '^A_' | sort
"""
PROGRAMS = {
    "tcsh": ("x.csh", CSH + SHOW, ["tcsh", "-f", "x.csh"]),
    "fish": ("x.fish", FISH + SHOW, ["fish", "--no-config", "x.fish"]),
    "make": ("Makefile", MAKE, ["make", "t"]),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_child_gets_what_the_reader_says(program: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    name, text, command = PROGRAMS[program]
    (tmp_path / name).write_text(text, encoding="utf-8")
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    given: dict[str, str] = {}
    for setting in facts_of(text, name).settings:
        if setting.exported == "yes" and setting.op in ("set", "default"):
            given[setting.name] = setting.value.text
        elif setting.op == "unset":
            given.pop(setting.name, None)
    assert sorted(f"{key}={value}" for key, value in given.items()) == sorted(run.stdout.splitlines())
