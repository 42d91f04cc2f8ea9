"""Ignore comments: written where the language has comments, taken out where they silence nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from envdoctor.cli.main import main

Tree = Callable[[Mapping[str, str]], Path]
MARK = "# envdoctor: ignore[ghost-variable]"
WRITTEN = [
    ("a.sh", "export NCCL_DETERMINISTIC=1\n", f"export NCCL_DETERMINISTIC=1  {MARK}\n"),
    ("a.sh", "export NCCL_DETERMINISTIC=1  # why", f"export NCCL_DETERMINISTIC=1  # why  {MARK}"),
    ("a.sh", "  NCCL_DETERMINISTIC=1 \\\n  python t.py\n", f"  {MARK}\n  NCCL_DETERMINISTIC=1 \\\n  python t.py\n"),
    ("a.sh", "# envdoctor: ignore[bad-value]\nexport NCCL_DETERMINISTIC=1\n",
     "# envdoctor: ignore[bad-value, ghost-variable]\nexport NCCL_DETERMINISTIC=1\n"),
    ("a.py", 'import os\nos.environ["NCCL_DETERMINISTIC"] = "1"\n',
     f'import os\nos.environ["NCCL_DETERMINISTIC"] = "1"  {MARK}\n'),
    ("Dockerfile", "FROM x\nENV NCCL_DETERMINISTIC=1\n", f"FROM x\n{MARK}\nENV NCCL_DETERMINISTIC=1\n"),
    ("Dockerfile", "FROM x\nENV A=1 \\\n    NCCL_DETERMINISTIC=1\n",
     f"FROM x\nENV A=1 \\\n    {MARK}\n    NCCL_DETERMINISTIC=1\n"),
    (".env", "NCCL_DETERMINISTIC=1\n", f"{MARK}\nNCCL_DETERMINISTIC=1\n"),
    ("docker-compose.yml", "services:\n  t:\n    environment:\n      - NCCL_DETERMINISTIC=1\n",
     f"services:\n  t:\n    environment:\n      - NCCL_DETERMINISTIC=1  {MARK}\n"),
    ("a.sh", "export RCCL_DEBUG=INFO NCCL_DETERMINISTIC=1\n",
     "export RCCL_DEBUG=INFO NCCL_DETERMINISTIC=1  # envdoctor: ignore[misnamed-variable, ghost-variable]\n"),
    ("a.yaml", "jobs:\n  t:\n    steps:\n      - run: |\n          export NCCL_DETERMINISTIC=1\n          ls\n",
     f"jobs:\n  t:\n    steps:\n      - run: |\n          export NCCL_DETERMINISTIC=1  {MARK}\n          ls\n"),
]  # fmt: skip
REFUSED = [
    ("a.sh", "mpirun -np 2 \\\n  -x NCCL_DETERMINISTIC=1 \\\n  python t.py\n"),
    ("a.sh", "export A=1 \\\n  NCCL_DETERMINISTIC=1 \\\n  B=1\n"),
    ("env.json", '{"env_vars": {"NCCL_DETERMINISTIC": "1"}}\n'),
]
STALE = [
    ("a.sh", "ls  # envdoctor: ignore[ghost-variable] -- old\nls\n", "ls\nls\n"),
    ("a.sh", "# envdoctor: ignore[ghost-variable]\nls\n", "ls\n"),
    ("a.sh", "ls\n# envdoctor: ignore[ghost-variable]", "ls\n"),
    ("a.sh", "export NCCL_DETERMINISTIC=1  # envdoctor: ignore[bad-value, ghost-variable] -- why\n",
     "export NCCL_DETERMINISTIC=1  # envdoctor: ignore[ghost-variable] -- why\n"),
    ("a.sh", "# envdoctor: ignore-file[bad-value]\nexport NCCL_ALGO=Ring\n", "export NCCL_ALGO=Ring\n"),
    ("a.sh", "ls  # why # envdoctor: ignore[ghost-variable]\n", "ls  # why\n"),
    ("a.sh", "ls  # envdoctor: ignore[gost-variable]\n", "ls  # envdoctor: ignore[gost-variable]\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "after"), WRITTEN)
def test_comments_are_written_once_and_silence(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str
) -> None:
    root = tree({})
    (root / name).write_text(before, encoding="utf-8")
    monkeypatch.chdir(root)
    left = main(["scan", "--add-ignores", "--format", "json"])
    assert (root / name).read_text(encoding="utf-8") == after
    assert left == (1 if "bad-value" in after else 0)  # the one that was there silences nothing
    main(["scan", "--add-ignores"])
    assert (root / name).read_text(encoding="utf-8") == after


@pytest.mark.parametrize(("name", "text"), REFUSED)
def test_where_no_comment_can_stand_it_says_so(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, name: str, text: str
) -> None:
    root = tree({name: text})
    monkeypatch.chdir(root)
    assert main(["scan", "--add-ignores"]) == 1
    assert (root / name).read_text() == text
    assert f"{name}:" in capsys.readouterr().err


def test_nothing_is_added_to_text_in_a_string(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    code = 'import subprocess\nsubprocess.run("""\nexport NCCL_DETERMINISTIC=1\npython t.py\n""", shell=True)\n'
    root = tree({"a.py": code})
    monkeypatch.chdir(root)
    main(["scan", "--add-ignores"])
    assert (root / "a.py").read_text() == code


def test_a_file_that_a_script_writes_gets_no_comment(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "cat > .deepspeed_env <<EOF\nNCCL_DETERMINISTIC=1\nEOF\n"
    root = tree({"a.sh": code})
    monkeypatch.chdir(root)
    main(["scan", "--add-ignores"])
    assert "NCCL_DETERMINISTIC=1  #" not in (root / "a.sh").read_text()


@pytest.mark.parametrize(("name", "before", "after"), STALE)
def test_stale_comments_go(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str) -> None:
    lead = "export NCCL_ALGO=Ring\n"
    root = tree({name: lead + before})
    monkeypatch.chdir(root)
    main(["scan", "--fix"])
    assert (root / name).read_text(encoding="utf-8") == lead + after


def test_what_is_left_after_fixing_is_ignored(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1\nexport NCCL_P2P_DISABLE=true\n"})
    monkeypatch.chdir(root)
    assert main(["scan", "--fix", "--add-ignores", "--format", "json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["findings"] == []
    assert "1 fixed, 1 ignored by new comments; 1 file written" in said.err
    assert (root / "a.sh").read_text() == "export NCCL_P2P_DISABLE=true  # envdoctor: ignore[bad-value]\n"


def test_what_the_baseline_holds_gets_no_comment(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    old = "export NCCL_DETERMINISTIC=1\n"
    root = tree({"a.sh": old})
    monkeypatch.chdir(root)
    assert main(["scan", "--write-baseline", "b.json"]) == 0
    (root / "a.sh").write_text(f"{old}export NCCL_P2P_DISABLE=true\n")
    (root / "c.sh").write_text(old)
    assert main(["scan", "--baseline", "b.json", "--add-ignores"]) == 0
    assert (root / "a.sh").read_text() == f"{old}export NCCL_P2P_DISABLE=true  # envdoctor: ignore[bad-value]\n"
    assert (root / "c.sh").read_text() == f"{old.rstrip()}  {MARK}\n"


def test_a_diff_of_standard_input(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tree({}))
    text = b"a\nexport NCCL_DETERMINISTIC=1\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["scan", "--diff", "--stdin-filename", "new.sh", "-"]) == 1
    assert b"\n-export NCCL_DETERMINISTIC=1\n" in capsysbinary.readouterr().out
