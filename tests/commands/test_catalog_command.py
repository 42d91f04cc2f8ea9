"""`envdoctor catalog diff`: a library's file against the catalogue."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from native import collectives_library, compile_c, needs_compiler
from support import here

from envdoctor.cli.catalog_difference import compare, releases_of
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.node.probes.libraries.library import LibraryFile, library_file

NCCL = 'const char *const v = "NCCL version 2.28.9+cuda12.9";'


def library(*names: str, kind: str = "nccl", version: str = "2.28.9", built_for: str = "") -> LibraryFile:
    return LibraryFile("lib", kind, version=version, built_for=built_for, names=frozenset(names))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "releases"),
    [
        (library(version="2.28.9"), ("2.28.9",)),
        (library(kind="rccl", version="2.22.3", built_for="rocm6.4.0.0-47"), ("6.4.0",)),
        (library(kind="rccl", version="2.13.4", built_for="hip5.7"), ("5.4",)),
        (library(kind="rccl", version="2.27.7"), ("7.1", "7.2")),
        (library(kind="rccl", version="1.2.3"), ()),
        (library(version=""), ()),
        (library(kind="neither"), ()),
    ],
)
def test_releases_a_file_may_be(file: LibraryFile, releases: tuple[str, ...]) -> None:
    assert releases_of(file, load_catalog()) == releases


def names_read(kind: str, release: str) -> set[str]:
    """Names that the catalogue says a release reads itself, whatever the build."""
    catalog = load_catalog()
    return {
        name
        for name, variable in catalog.variables.items()
        if name.startswith(("NCCL_", "RCCL_", "MSCCL_", "NPKIT_"))
        and kind in variable.read_by
        and variable.read_by[kind].component == "core"
        and not variable.read_by[kind].condition
        and variable.read_in(catalog, kind, release)
    }


@pytest.mark.parametrize(("kind", "release"), [("nccl", "2.18.3"), ("nccl", "2.28.9"), ("rccl", "6.2")])
def test_agreement(kind: str, release: str) -> None:
    names = names_read(kind, release)
    diff = compare(library(*names, kind=kind), load_catalog(), (release,))
    assert diff.empty
    assert diff.agreed == diff.found == len(names) > 100


def test_every_difference() -> None:
    names = names_read("nccl", "2.18.3") - {"NCCL_ALGO"}
    file = library(*names, "NCCL_NO_SUCH_SWITCH", "NCCL_NO_CACHE", "RCCL_MSCCL_ENABLE")
    diff = compare(file, load_catalog(), ("2.18.3",))
    assert diff.unknown == ("NCCL_NO_SUCH_SWITCH",)
    assert diff.other_release == ("NCCL_NO_CACHE", "RCCL_MSCCL_ENABLE")
    assert diff.missing == ("NCCL_ALGO",)
    assert "NCCL_PROXY_PROFILE" in diff.conditional
    assert not diff.empty


def test_unknown_release_judges_unknown_names_only() -> None:
    diff = compare(library("NCCL_NO_SUCH_SWITCH", "NCCL_ALGO"), load_catalog(), ())
    assert (diff.unknown, diff.other_release, diff.missing) == (("NCCL_NO_SUCH_SWITCH",), (), ())


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return here("catalog", "diff", "--library", *map(str, words), cwd=cwd)


@needs_compiler
def test_command(tmp_path: Path) -> None:
    names = "".join(f'const char *const n{i} = "{n}";\n' for i, n in enumerate(sorted(names_read("nccl", "2.28.9"))))
    same = compile_c(NCCL + names, "-shared", "-fPIC", name="libnccl.so.2")
    done = run(same, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "NCCL version 2.28.9+cuda12.9\ncompared with NCCL 2.28.9\n187 names in the file, 187 of them" in done.stdout
    more = compile_c(NCCL + names + 'const char *const m = "NCCL_NO_SUCH_SWITCH";', "-shared", "-fPIC", name="l.so")
    done = run(more, cwd=tmp_path)
    assert done.returncode == 1
    assert "and not in the catalogue:\n  NCCL_NO_SUCH_SWITCH\n" in done.stdout
    done = run(more, "--format", "json", "--output", tmp_path / "diff.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    report = json.loads((tmp_path / "diff.json").read_text())
    assert report["unknown"] == ["NCCL_NO_SUCH_SWITCH"]
    assert report["library"]["version"] == "2.28.9"
    done = run(more, "--release", "2.18.3", cwd=tmp_path)
    assert "and by the catalogue not in this release, or by" in done.stdout


@needs_compiler
def test_files_that_cannot_be_compared(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no library")
    for path, message in (
        (tmp_path / "missing", "cannot be opened: No such file"),
        (text, "not an ELF file"),
        (Path(sys.executable), "it is neither NCCL nor RCCL"),
    ):
        done = run(path, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    done = run(collectives_library(), "--output", "/nowhere/x", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


@needs_compiler
def test_rccl_of_a_distribution(tmp_path: Path) -> None:
    """Debian builds RCCL 5.4.3 with HIP 5.7: the release follows the NCCL version it is based on."""
    path = collectives_library("RCCL", "2.13.4+hip5.7", 21304, soname="librccl.so.1")
    assert library_file(path).built_for == "hip5.7"
    assert "compared with RCCL of ROCm 5.4\n" in run(path, cwd=tmp_path).stdout
