"""Finding and compiling the shim."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest
from native import COMPILER, needs_compiler

from envdoctor.node.trace import build
from envdoctor.node.trace.build import ShimError, compile_shim, find_compiler, shim_library, why_not_working

pytestmark = [pytest.mark.slow, needs_compiler]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "envdoctor"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's folder, where a prebuilt library may be put."""
    folder = tmp_path / "sources"
    folder.mkdir()
    for source in build.SOURCES.glob("shim*.[ch]"):
        shutil.copy(source, folder)
    monkeypatch.setattr(build, "SOURCES", folder)
    return folder


def compiled(folder: Path) -> Path:
    assert COMPILER
    target = folder / f"libenvdoctor_trace-{platform.machine()}.so"
    compile_shim(COMPILER, target)
    return target


def test_compiled_once_and_kept(cache: Path, scratch: Path, sources: Path) -> None:
    first = shim_library(scratch)
    assert first.parent == cache
    stamp = first.stat().st_mtime_ns
    assert shim_library(scratch) == first
    assert first.stat().st_mtime_ns == stamp
    assert [path.suffix for path in cache.iterdir()] == [".so"]


def test_compiled_again_for_another_source(cache: Path, scratch: Path, sources: Path) -> None:
    first = shim_library(scratch)
    with (sources / "shim.c").open("a") as file:
        file.write("/* another */\n")
    assert shim_library(scratch) != first


def test_no_warning_from_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-Wall", "-Wextra", "-Werror"))
    compile_shim(str(COMPILER), tmp_path / "shim.so")


def test_cache_that_others_may_write_is_not_trusted(cache: Path, scratch: Path, sources: Path) -> None:
    first = shim_library(scratch)
    first.write_bytes(b"planted")
    first.chmod(0o777)
    again = shim_library(scratch)
    assert why_not_working(again, scratch) == ""


def test_cache_that_cannot_be_written(cache: Path, scratch: Path, sources: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("a file where the folder should be")
    assert shim_library(scratch).parent == scratch


@pytest.mark.parametrize("name", ["with space", "with:colon", "with$dollar"])
def test_path_that_ld_preload_cannot_carry(
    tmp_path: Path, scratch: Path, sources: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    shim = shim_library(scratch)
    assert shim.parent == scratch
    odd = tmp_path / name / "scratch"
    odd.mkdir(parents=True)
    with pytest.raises(ShimError, match="set TMPDIR"):
        shim_library(odd)


def test_prebuilt_library_is_used_without_a_compiler(
    cache: Path, scratch: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prebuilt = compiled(sources)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    assert shim_library(scratch) == prebuilt
    assert not cache.exists()


def test_prebuilt_library_that_does_not_work_here(
    cache: Path, scratch: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prebuilt = compiled(sources)
    prebuilt.write_bytes(prebuilt.read_bytes()[:100])
    assert shim_library(scratch).parent == cache
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ShimError, match=r"the one that came with envdoctor does not work here \(.+\).*no C compiler"):
        shim_library(scratch)


def test_neither_prebuilt_nor_compiler(scratch: Path, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CC", "nocc")
    with pytest.raises(ShimError, match=r"no C compiler .* Install one, or set CC"):
        shim_library(scratch)


def test_compiler_of_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(COMPILER))
    assert find_compiler() == COMPILER


def test_compiler_that_fails(tmp_path: Path) -> None:
    failing = tmp_path / "cc"
    failing.write_text("#!/bin/sh\necho 'shim.c:1: fatal error: link.h: No such file' >&2\nexit 1\n")
    failing.chmod(0o755)
    with pytest.raises(ShimError, match=r"could not be compiled with .*cc: shim.c:1: fatal error: link.h"):
        compile_shim(str(failing), tmp_path / "x.so")
    with pytest.raises(ShimError, match="could not be run"):
        compile_shim("/nowhere/cc", tmp_path / "x.so")


def test_other_systems(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ShimError, match="on Linux only, not on darwin"):
        shim_library(scratch)


def test_library_that_records_nothing(scratch: Path, tmp_path: Path) -> None:
    from native import compile_c

    assert why_not_working(compile_c("int x;", "-shared", "-fPIC"), scratch) == "it is loaded and records nothing"
    assert "cannot be preloaded" in why_not_working(tmp_path / "missing.so", scratch)
