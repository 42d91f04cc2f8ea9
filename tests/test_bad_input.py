"""Bad input: a clear message with file and line, every other file still scanned, nothing lost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import found, here, scan_json

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"
OTHER = ("good.sh", 1, "ghost-variable", "NCCL_DETERMINISTIC")


def scan_bytes(
    tree: Tree, name: str, data: bytes
) -> tuple[list[tuple[str, int, str, str | None]], list[dict[str, Any]]]:
    """(findings, problems) of a scan of one bad file beside a good one."""
    root = tree({"good.sh": GHOST})
    (root / name).write_bytes(data)
    report = scan_json(root)
    return found(report), report["summary"]["problems"]


@pytest.mark.parametrize(
    ("name", "data", "line", "says"),
    [
        ("a.sh", b"# caf\xe9\nexport NCCL_DETERMINISTIC=1\n", 1, "not UTF-8"),
        ("a.py", b'import os\n# caf\xe9\nos.environ["NCCL_DETERMINISTIC"] = "1"\n', 2, "not UTF-8"),
        ("a.sh", b"export X=1\n\0\0\nexport NCCL_DETERMINISTIC=1\n", 2, "NUL bytes"),
        ("a.py", b'import os\nos.environ["NCCL_DETERMINISTIC"] = "1"\nprint "x"\n', 3, ""),
        ("a.py", b'import os\nos.environ["NCCL_DETERMINISTIC"] = "1"\ndef broken(:\n', 3, ""),
        ("a.yaml", b"env:\n  NCCL_DETERMINISTIC: '1'\n\tbroken: [\n", 3, ""),
    ],
)
def test_a_bad_file_is_read_as_far_as_it_goes(tree: Tree, name: str, data: bytes, line: int, says: str) -> None:
    findings, problems = scan_bytes(tree, name, data)
    assert OTHER in findings
    assert [n for p, _, n, _ in findings if p == name] == ["ghost-variable"]
    assert any(p["path"] == name and p["line"] == line and says in p["message"] for p in problems), problems


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.sh", b"echo 'never closed\nexport NCCL_DEBUG=INFO\n"),
        ("a.sh", b"cat <<EOF > x.sh\nexport NCCL_DEBUG=INFO\n"),
        ("a.sh", b"export NCCL_DEBUG=INFO; if [ x; then (((\n"),
        ("Dockerfile", b"FROM x\nRUN <<EOF\nexport NCCL_DEBUG=INFO\n"),
        ("Dockerfile", b"ENV NCCL_DEBUG\\\n"),
        ("a.yaml", b"a: &a [NCCL_DEBUG]\n" + b"".join(b"k%d: &k%d [*a,*a,*a]\n" % (i, i) for i in range(50))),
        ("a.yaml", b"{{- if .Values.x }}\nenv:\n  NCCL_DEBUG: {{ .Values.y }}\n{{- end }}\n"),
        ("a.py", b"NCCL_ = " + b"(" * 5000 + b")" * 5000),
        ("a.py", b'x = "NCCL_' + b"a" * 100 + b"\nclass\n"),
        ("a.yaml", b"NCCL_:\n" + b"\n".join(b" " * i + b"- " for i in range(3000))),
        ("a.sh", b"NCCL_DEBUG=" + b"$(" * 3000),
    ],
)
def test_nothing_stops_a_scan(tree: Tree, name: str, data: bytes) -> None:
    findings, _ = scan_bytes(tree, name, data)
    assert OTHER in findings


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.sh", "a.py", "a.yaml", "Dockerfile"])
def test_a_line_of_50_megabytes_is_bounded(tree: Tree, name: str) -> None:
    start = time.monotonic()
    findings, problems = scan_bytes(tree, name, b"export NCCL_DEBUG=" + b"x" * 50_000_000)
    assert findings == [OTHER]
    assert [p["path"] for p in problems] == [name]
    assert time.monotonic() - start < 60


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")
def test_an_unreadable_file(tree: Tree) -> None:
    root = tree({"good.sh": GHOST, "closed.sh": GHOST})
    (root / "closed.sh").chmod(0)
    run = here("scan", "--format", "concise", cwd=root)
    assert run.returncode == 2
    assert "closed.sh: cannot be read" in run.stderr
    assert "good.sh:1" in run.stdout


def test_a_file_that_vanishes_is_an_error_with_its_name(tree: Tree) -> None:
    from envdoctor.analysis.project import open_project
    from envdoctor.readers.store import Triggers

    root = tree({"a.sh": GHOST})
    project = open_project(root, root, Triggers((b"NCCL_",)))
    (root / "a.sh").unlink()
    assert project.facts.read("a.sh") is None
    assert project.files.errors == ["a.sh: cannot be read: No such file or directory"]


def test_control_characters_do_not_reach_the_terminal(tree: Tree) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1 # \x1b[31mred\x07\n"})
    run = here("scan", cwd=root)
    assert "\x1b" not in run.stdout
    assert "\\x1b[31mred" in run.stdout
