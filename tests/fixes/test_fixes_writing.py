"""Files are written whole or not at all, keep what they are, and only those that were scanned are written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from envdoctor.cli.main import main
from envdoctor.fixes import apply, verify, writing
from envdoctor.fixes.writing import Change, write

Tree = Callable[[Mapping[str, str]], Path]
LINE = b"export NCCL_DETERMINISTIC=1"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to scan in, with something beside it."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\n" + LINE + b"\r\nb\r\n", b"a\r\nb\r\n"),
        (b"\xef\xbb\xbf" + LINE + b"\nb\n", b"\xef\xbb\xbfb\n"),
        (b"# caf\xe9\n" + LINE + b"  # caf\xe9\nb \xff\n", b"# caf\xe9\nb \xff\n"),
        (b"# caf\xe9\nexport B=1 \xe9=2 NCCL_DETERMINISTIC=1 C=1\r\n", None),
        (LINE + b"\nb\r\nc\rd\n", b"b\r\nc\rd\n"),
        (b"a\n\n" + LINE, b"a\n"),
        (f"é\r\n{LINE.decode()}\r\nb".encode("utf-16"), "é\r\nb".encode("utf-16")),
    ],
)
def test_bytes_are_kept(here: Path, before: bytes, after: bytes | None) -> None:
    (here / "a.sh").write_bytes(before)
    main(["scan", "--fix"])
    got = (here / "a.sh").read_bytes()
    assert got == (before.replace(b"NCCL_DETERMINISTIC=1 ", b"") if after is None else after)


TRAINS = b"torch.nn.Linear(4, 1)(x).sum().backward()"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"import torch\r\n" + TRAINS + b"\r\n", b"import torch\r\n\r\ntorch.manual_seed(0)\r\n\r\n" + TRAINS + b"\r\n"),
        (b"\xef\xbb\xbfimport torch\n" + TRAINS, b"\xef\xbb\xbfimport torch\n\ntorch.manual_seed(0)\n\n" + TRAINS),
        (b"# -*- coding: latin-1 -*-\nimport torch\ny = '\xe9'\n" + TRAINS + b"  # \xe9\n",
         b"# -*- coding: latin-1 -*-\nimport torch\n\ntorch.manual_seed(0)\n\ny = '\xe9'\n" + TRAINS + b"  # \xe9\n"),
        (b"import torch\ny = '\xf0\x9f\x99\x82'; z = 1\r\n" + TRAINS + b"\r\n",
         b"import torch\n\ntorch.manual_seed(0)\n\ny = '\xf0\x9f\x99\x82'; z = 1\r\n" + TRAINS + b"\r\n"),
        (b"import torch\x0c\n" + TRAINS, b"import torch\x0c\n" + TRAINS),
        ("import torch\r\nz = 'é🙂'\r\n".encode("utf-16") + TRAINS.decode().encode("utf-16-le"),
         "import torch\r\n\r\ntorch.manual_seed(0)\r\n\r\nz = 'é🙂'\r\n".encode("utf-16") + TRAINS.decode().encode("utf-16-le")),
    ],
    ids=["CRLF", "mark", "latin-1", "mixed", "form feed", "UTF-16"],
)  # fmt: skip
def test_bytes_of_python_are_kept(here: Path, before: bytes, after: bytes) -> None:
    (here / "train.py").write_bytes(before)
    main(["scan", "--fix", "--unsafe-fixes"])
    assert (here / "train.py").read_bytes() == after


@pytest.mark.parametrize("mode", [0o755, 0o640, 0o600, 0o664])
def test_the_mode_is_kept(here: Path, mode: int) -> None:
    path = here / "a.sh"
    path.write_bytes(LINE)
    path.chmod(mode)
    main(["scan", "--fix"])
    assert path.read_bytes() == b""
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert [p.name for p in here.iterdir()] == ["a.sh"]


def test_a_read_only_file_is_named_and_the_others_are_fixed(here: Path, capsys: pytest.CaptureFixture) -> None:
    for name in ("a.sh", "b.sh", "c.sh"):
        (here / name).write_bytes(LINE)
    (here / "b.sh").chmod(0o444)
    assert main(["scan", "--fix"]) == 2
    said = capsys.readouterr()
    assert "b.sh: not written: is read-only" in said.err
    assert [(here / n).read_bytes() for n in ("a.sh", "b.sh", "c.sh")] == [b"", LINE, b""]
    assert "b.sh" in said.out
    assert "a.sh" not in said.out


def test_nothing_is_written_through_a_link(here: Path) -> None:
    outside = here.parent / "outside.sh"
    outside.write_bytes(LINE)
    (here / "inside.sh").write_bytes(LINE)
    (here / "out.sh").symlink_to(outside)
    (here / "in.sh").symlink_to("inside.sh")
    main(["scan", "--fix"])
    assert outside.read_bytes() == LINE
    assert (here / "inside.sh").read_bytes() == b""
    assert (here / "in.sh").is_symlink()
    assert main(["scan", "--fix", "out.sh"]) == 2
    assert outside.read_bytes() == LINE


def test_only_what_was_named_is_written(here: Path) -> None:
    outside = here.parent / "outside.sh"
    for path in (outside, here / "a.sh", here / "b.sh"):
        path.write_bytes(LINE)
    main(["scan", "--fix", "a.sh", str(outside)])
    assert [p.read_bytes() for p in (outside, here / "a.sh", here / "b.sh")] == [b"", b"", LINE]


@pytest.mark.parametrize("name", ["../outside.sh", "link.sh", "gone.sh", "folder"])
def test_refusals(here: Path, name: str) -> None:
    (here.parent / "outside.sh").write_bytes(b"x")
    (here / "link.sh").symlink_to("other.sh")
    (here / "other.sh").write_bytes(b"x")
    (here / "folder").mkdir()
    assert write(here, Change(name, b"x", b"y"), (here,))
    assert (here.parent / "outside.sh").read_bytes() == b"x"
    assert (here / "other.sh").read_bytes() == b"x"


def test_a_file_that_changed_is_left_alone(here: Path) -> None:
    (here / "a.sh").write_bytes(b"new")
    assert write(here, Change("a.sh", b"old", b"fixed"), (here,)) == "changed since it was scanned"
    assert (here / "a.sh").read_bytes() == b"new"


def test_a_file_that_changes_while_it_is_fixed(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (here / "a.sh").write_bytes(LINE)
    (here / "b.sh").write_bytes(LINE)
    make = apply.make

    def slow(*words):
        made = make(*words)
        (here / "a.sh").write_bytes(LINE + b"\nnew\n")
        return made

    monkeypatch.setattr(apply, "make", slow)
    assert main(["scan", "--fix"]) == 2
    assert (here / "a.sh").read_bytes() == LINE + b"\nnew\n"
    assert (here / "b.sh").read_bytes() == b""
    assert "a.sh: not written: changed since it was scanned" in capsys.readouterr().err


def test_a_failed_write_leaves_the_file_and_nothing_beside_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "a.sh").write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert write(here, Change("a.sh", b"old", b"new"), (here,)) == "No space left on device"
    assert (here / "a.sh").read_bytes() == b"old"
    assert [p.name for p in here.iterdir()] == ["a.sh"]


def test_trees(here: Path) -> None:
    (here / "a.sh").write_bytes(b"")
    (here / "link.sh").symlink_to("a.sh")
    assert writing.trees([]) == (here.resolve(),)
    assert writing.trees(["a.sh", "link.sh"]) == ((here / "a.sh").resolve(),)


@pytest.mark.parametrize(
    ("name", "before", "after", "holds"),
    [
        ("a.py", "x = 1\n", "x = 2\n", True),
        ("a.py", "if x:\n    y = 1\n", "if x:\n", False),
        ("a.py", "if x:\n", "if x:\n\n", True),
        ("a.json", '{"a": 1, "b": 2}', '{"a": 1, }', False),
        ("a.toml", "a = 1\n", "a =\n", False),
        ("a.yaml", "a:\n  b: 1\n", "a:\n", False),
        ("a.yaml", "a:\n  b: 1\n", "a: [\n", False),
        ("a.yaml", "a:\n  b: 1\n  c: 2\n", "a:\n  b: 1\n", True),
        ("a.sh", "if true; then\n  :\nfi\n", "if true; then\n  :\n", False),
        ("a.sh", "echo 'a'\n", "echo 'a\n", False),
    ],
)
def test_what_would_not_parse_is_not_written(name: str, before: str, after: str, holds: bool) -> None:
    assert verify.still_parses(name, before.encode(), after.encode()) is holds
