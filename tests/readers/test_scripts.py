"""The scripts in files of every kind: bodies with places of the file, scope, branch, order and shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell_bodies_notation import shown

from envdoctor.core.facts import Branch, Scope
from envdoctor.core.operations import Script
from envdoctor.core.source import Source
from envdoctor.project.files import Files
from envdoctor.readers import registry
from envdoctor.readers.scripts import program_of, scripts_of
from envdoctor.readers.shared.embedded import ShellText, merge, moved
from envdoctor.readers.store import FactStore


def scripts(text: str, kind: str, path: str = "x") -> list[Script]:
    return scripts_of(Source(path, text), kind)


def bodies(text: str, kind: str, path: str = "x") -> list[str]:
    return [shown(script.body) for script in scripts(text, kind, path)]


DOCKERFILE = """\
FROM a AS base
ENV X=1
RUN --mount=type=cache,target=/x export A=1 && \\
    # a comment
    ./b.sh "$C" \\
  --d
CMD ["torchrun", "a b.py", "--x=$Y"]
ENTRYPOINT ["/bin/bash", "-c", "exec a $B"]
ENTRYPOINT ["./one.sh"]
CMD run me
RUN <<EOF
c d
EOF
COPY <<EOF /etc/f
A=1
EOF
"""


def test_instructions_of_a_dockerfile() -> None:
    found = scripts(DOCKERFILE, "dockerfile")
    assert [shown(script.body) for script in found] == [
        "and 3:45 {declare 3:34 export assign 3:41 A=[1 3:43]} {call 5:5-6:6 [./b.sh 5:5] "
        '["$C" 5:13 5:12-5:16] [--d 6:3]}',
        "call 7:7-7:35 [torchrun 7:7] [a b.py 7:19] ['--x=$Y' 7:29]",
        "call 8:33-8:42 [exec 8:33] [a 8:38] [$B 8:40 8:40-8:42]",
        "call 9:14-9:22 [./one.sh 9:14]",
        "call 10:5-10:11 [run 10:5] [me 10:9]",
        "call 12:1-12:4 [c 12:1] [d 12:3]",
        "call 14:6-14:9 [cat 14:6] >[/etc/f 14:12] <<[A=1\\n 15:1 15:1-16:1]",
    ]
    assert [script.shell for script in found] == ["sh", "", "bash", "", "sh", "sh", "sh"]
    layer, image = Scope("subshell", "layer at line 3"), Scope("container", "base")
    assert [script.scope for script in found[:3]] == [layer, image, image]


WORKFLOW = """\
on: push
jobs:
  a:
    runs-on: x
    env: {E: 1}
    steps:
      - run: |
          export A=1
          cmd "$A" \\
            --b
      - env: {F: 2}
        run: "export B=\\"x\\"; c d"
      - run: 'echo ''a''; c d'
      - run: >
          torchrun a
          --b
      - shell: python
        run: |
          import os
          os.system("export A=1; b")
"""


def test_steps_of_a_workflow() -> None:
    found = scripts(WORKFLOW, "yaml", ".github/workflows/x.yml")
    assert [shown(script.body) for script in found] == [
        'declare 8:11 export assign 8:18 A=[1 8:20]; call 9:11-10:16 [cmd 9:11] ["$A" 9:16 9:15-9:19] [--b 10:13]',
        "declare 12:15 export assign 12:22 B=[x 12:26 12:24-12:28]; call 12:31-12:34 [c 12:31] [d 12:33]",
        "call 13:15-13:24 [echo 13:15] [a 13:22 13:20-13:24]; call 13:27-13:30 [c 13:27] [d 13:29]",
        "call 15:11-16:14 [torchrun 15:11] [a 15:20] [--b 16:11]",
        "declare 20:22 export assign 20:29 A=[1 20:31]; call 20:34-20:35 [b 20:34]",
    ]
    settings = registry.read(Source(".github/workflows/x.yml", WORKFLOW), "yaml").settings
    orders = {setting.name: setting.order for setting in reversed(settings)}
    assert orders["E"] < found[0].order <= orders["A"] < orders["F"] < found[1].order <= orders["B"]
    assert [script.scope.name for script in found[:2]] == ["a/step at line 7", "a/step at line 11"]


def test_commands_of_manifests() -> None:
    pod = """\
kind: Pod
apiVersion: v1
spec:
  containers:
  - name: c
    command: ["/bin/sh", "-c"]
    args:
    - |
      export A=1
      torchrun x
  - name: d
    command: [torchrun]
    args: ["--x", "y $z"]
"""
    assert bodies(pod, "yaml") == [
        "declare 9:7 export assign 9:14 A=[1 9:16]; call 10:7-10:17 [torchrun 10:7] [x 10:16]",
        "call 12:15-13:24 [torchrun 12:15] [--x 13:13] ['y $z' 13:20]",
    ]
    assert [(script.shell, script.scope.name) for script in scripts(pod, "yaml")] == [("sh", "c"), ("", "d")]
    compose = "services:\n  a:\n    image: x\n    command: bash -c 'run $$A b'\n"
    assert bodies(compose, "yaml", "compose.yaml") == [
        "call 4:14-4:33 [bash 4:14] [-c 4:19] ['run $' 4:23, A b 4:29 4:22-4:33]"
    ]


def test_commands_of_python() -> None:
    text = '''\
import os, subprocess
cmd = f"export A={value}; srun {options()} python 'a.py' --b\\tc"
subprocess.run(cmd, shell=True)
def f(c):
    if c:
        subprocess.run(["torchrun", "--n", str(n), "a b"])
    os.system("""export B=1
torchrun $B""")
subprocess.run(["bash", "-c", "export C=1; torchrun c"])
'''
    found = scripts(text, "python", "a.py")
    assert [shown(script.body) for script in found] == [
        "declare 2:9 export assign 2:16 A=[?{...} 2:18 2:18-2:19]; call 2:27-2:64 [srun 2:27] "
        "[?{...} 2:32 2:32-2:33] [python 2:44] [a.py 2:52 2:51-2:57] [--b 2:58] [c 2:63]",
        "call 6:26-6:56 [torchrun 6:26] [--n 6:38] [?{...} 6:44 6:44-6:45] [a b 6:53]",
        "declare 7:18 export assign 7:25 B=[1 7:27]; call 8:1-8:12 [torchrun 8:1] [$B 8:10 8:10-8:12]",
        "declare 9:32 export assign 9:39 C=[1 9:41]; call 9:44-9:54 [torchrun 9:44] [c 9:53]",
    ]
    assert [script.shell for script in found] == ["sh", "", "sh", "bash"]
    assert [script.scope for script in found] == [Scope("subshell", name) for name in ("", "f", "f", "")]
    assert [branch.arm for branch in found[1].branch] == ["if"]


def test_cells_of_a_notebook() -> None:
    cells = [["import os\n", "!export A=1; torchrun a\n"], ["%%bash\n", "export B=1\n", "torchrun $B"]]
    notebook = {
        "cells": [{"cell_type": "code", "source": source} for source in cells],
        "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    text = json.dumps(notebook, indent=1)
    lines = text.split("\n")
    found = scripts(text, "notebook")
    assert len(found) == 2
    (*_, first), (*_, second) = found[0].body[1][6][0][4], found[1].body[1][6][0][4]
    for _, word, line, column in (first, second):
        assert word == "torchrun"
        assert lines[line - 1].startswith(word, column - 1)
    assert first[2] < second[2]


OTHERS = [
    ("make", "all: b\n\t@A=1 torchrun x \\\n\t  --c $$D\n",
     ["call 2:3-3:11 assign 2:3 A=[1 2:5] [torchrun 2:7] [x 2:16] [--c 3:4] [$D 3:8 3:8-3:11]"]),
    ("ini", '[Service]\nExecStart=-/bin/bash -c "torchrun $B"\n',
     ['call 2:12-2:38 [/bin/bash 2:12] [-c 2:22] [torchrun  2:26, "$B" 2:35 2:25-2:38]']),
    ("markup", "```bash\nsrun a\n```\n", ["call 2:1-2:7 [srun 2:1] [a 2:6]"]),
    ("shell", "#!/bin/csh\nsrun b\n", ["call 2:1-2:7 [srun 2:1] [b 2:6]"]),
    ("unknown", "a", []),
    ("env-file", "A=1", []),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "expected"), OTHERS)
def test_other_kinds(kind: str, text: str, expected: list[str]) -> None:
    assert bodies(text, kind) == expected


def test_a_script_is_one_with_its_here_documents() -> None:
    text = "cat > a.py <<EOF\nimport os\nos.system('export A=1; b c')\nEOF\nbash <<E\nx\nE\n"
    (script,) = scripts(text, "shell")
    assert (script.scope, script.branch, script.order, script.shell) == (Scope(), (), 0, "sh")
    assert [operation[0] for operation in script.body] == ["call", "call"]


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("#!/bin/bash -e", "bash"),
        ("#! /usr/bin/env sh", "sh"),
        ("#!/usr/bin/env -S A=1 zsh -x", "zsh"),
        ("#!bash", "bash"),
        ("# a", ""),
        ("", ""),
    ],
)
def test_the_shell_is_that_of_the_first_line(line: str, program: str) -> None:
    assert program_of(f"{line}\na") == program
    assert scripts(f"{line}\na", "shell")[0].shell == (program or "sh")


def test_options_that_a_reader_puts_a_command_before_are_no_script() -> None:
    assert scripts("job:\n  container:\n    image: x\n    options: -e NCCL_DEBUG=INFO --gpus all\n", "yaml") == []
    assert scripts("jobs:\n  a:\n    steps:\n    - run: docker run -e A=1 x\n", "yaml", ".github/workflows/a.yml")


def test_what_is_moved_and_merged_takes_its_scripts_along() -> None:
    inner, outer = Branch("a", "if"), Branch("b", "else")
    facts = registry.read(Source("x", ""), "unknown")
    own = ShellText(Source("x", "a"), Scope("function", "f"), (inner,), 1)
    facts.scripts = [own, ShellText(Source("x", "b"))]
    into = registry.read(Source("y", ""), "unknown")
    merge(into, moved(facts, 10, Scope("container", "c"), (outer,)))
    assert [(text.order, text.scope.name) for text in into.scripts] == [(11, "f"), (10, "c")]
    assert [text.branch for text in into.scripts] == [(outer, inner), (outer,)]


def test_ordinary_facts_hold_no_scripts() -> None:
    assert registry.read(Source("x", DOCKERFILE), "dockerfile").scripts == []


def store(root: Path, **overlay: bytes) -> FactStore:
    return FactStore(Files(root, root, overlay=overlay))


def test_the_store_reads_scripts_once_and_only_what_is_ours(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("torchrun a\n")
    (tmp_path / "b.bin").write_bytes(b"torchrun\n")
    (tmp_path / "c.sh").write_bytes(b"a\0\x01\x02" * 400)
    facts = store(tmp_path)
    (script,) = facts.scripts("a.sh")
    assert facts.scripts("a.sh")[0] is script
    assert [facts.scripts(path) for path in ("b.bin", "c.sh", "no.sh")] == [(), (), ()]
    edited = facts.edited(Files(tmp_path, tmp_path, overlay={"a.sh": b"srun b\n"}))
    assert shown(edited.scripts("a.sh")[0].body) == "call 1:1-1:7 [srun 1:1] [b 1:6]"
    kept = facts.edited(Files(tmp_path, tmp_path, overlay={"z.sh": b""}))
    assert kept.scripts("a.sh")[0] is script


@pytest.mark.internal_errors
def test_an_error_of_ours_is_kept_to_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.sh").write_text("a\n")
    monkeypatch.setattr("envdoctor.readers.scripts.body", lambda source: {}["a key"])
    facts = store(tmp_path)
    assert facts.scripts("a.sh") == ()
    assert "a.sh: internal error" in facts.files.internal.messages()[0]
