"""Finds the shim for this machine, or compiles it on first use into the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from envdoctor.node.trace.launch import environment_for
from envdoctor.node.trace.records import NamePattern, create, read

SOURCES = Path(__file__).parent
FLAGS = ("-O2", "-fPIC", "-shared", "-std=gnu11", "-fvisibility=hidden", "-fno-stack-protector",
         "-fno-optimize-sibling-calls", "-U_FORTIFY_SOURCE")  # fmt: skip
COMPILERS = ("cc", "gcc", "clang")
UNSAFE = re.compile(r"[\s:$]")
"""The dynamic linker splits LD_PRELOAD at spaces and colons, and expands dollar signs."""


class ShimError(Exception):
    """There is no shim for this machine and none can be made; the text says what to do."""


def shim_library(scratch: Path) -> Path:
    """The shim: the one that came with envdoctor, one compiled before, or a fresh one. Raises ShimError.

    `scratch` is a private folder, used where the cache folder cannot be written or preloaded from.
    """
    if sys.platform != "linux":
        raise ShimError(f"a program can be traced on Linux only, not on {sys.platform}")
    if sys.maxsize < 2**32:
        raise ShimError("a program can be traced by a 64-bit Python only")
    prebuilt = SOURCES / f"libenvdoctor_trace-{platform.machine()}.so"
    failure = ""
    if prebuilt.exists():
        failure = why_not_working(prebuilt, scratch)
        if not failure:
            return _preloadable(prebuilt, scratch)
    compiler = find_compiler()
    if compiler is None:
        came = (
            f"the one that came with envdoctor does not work here ({failure})"
            if failure
            else "none came with envdoctor"
        )
        raise ShimError(
            f"to trace a program, a small library has to be preloaded into it: {came} for {platform.machine()}, "
            "and there is no C compiler (cc, gcc or clang) to make one. Install one, or set CC"
        )
    return _preloadable(_compiled(compiler, scratch), scratch)


def find_compiler() -> str | None:
    """The C compiler: $CC, cc, gcc or clang."""
    for name in (os.environ.get("CC", ""), *COMPILERS):
        if name and (found := shutil.which(name)):
            return found
    return None


def cache_folder() -> Path:
    """Where a compiled shim is kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if base.startswith("/") else Path("~/.cache").expanduser()) / "envdoctor"


def _compiled(compiler: str, scratch: Path) -> Path:
    """The shim made by this compiler from this source for this C library; from the cache where it is there."""
    cache = cache_folder()
    cached = cache / f"libenvdoctor_trace-{_key(compiler)}.so"
    if _trusted(cached):
        return cached
    made = scratch / "libenvdoctor_trace.so"
    compile_shim(compiler, made)
    failure = why_not_working(made, scratch)
    if failure:
        raise ShimError(f"the library that was compiled to trace programs does not work here: {failure}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=cache, suffix=".tmp")
        with os.fdopen(descriptor, "wb") as file:
            file.write(made.read_bytes())
        Path(name).chmod(0o700)
        Path(name).replace(cached)
    except OSError:
        return made
    return cached if _trusted(cached) and not why_not_working(cached, scratch) else made


def compile_shim(compiler: str, target: Path) -> None:
    """Compile the shim. Raises ShimError with the compiler's first complaint."""
    command = [compiler, *FLAGS, "-o", str(target), str(SOURCES / "shim.c"), "-ldl"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ShimError(f"{compiler} could not be run: {error}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        reason = lines[0] if lines else f"status {done.returncode}"
        raise ShimError(f"the library that traces programs could not be compiled with {compiler}: {reason}")


def _key(compiler: str) -> str:
    digest = hashlib.sha256()
    for source in sorted(SOURCES.glob("shim*.[ch]")):
        digest.update(source.read_bytes())
    program = Path(compiler).resolve()
    status = program.stat()
    digest.update(repr((FLAGS, str(program), status.st_size, status.st_mtime_ns, platform.machine())).encode())
    digest.update(repr(platform.libc_ver()).encode())
    return f"{platform.machine()}-{digest.hexdigest()[:16]}"


def _trusted(path: Path) -> bool:
    """The file is there and nobody else can have written it: it will be loaded into the user's programs."""
    try:
        status = path.stat()
    except OSError:
        return False
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not writable


def _preloadable(shim: Path, scratch: Path) -> Path:
    """The same library at a path that LD_PRELOAD can carry. Raises ShimError."""
    if not UNSAFE.search(str(shim)):
        return shim
    if UNSAFE.search(str(scratch)):
        raise ShimError(f"LD_PRELOAD cannot carry a path with spaces, colons or dollar signs: set TMPDIR ({scratch})")
    copy = scratch / "libenvdoctor_trace.so"
    if copy != shim:
        shutil.copyfile(shim, copy)
    return copy


def why_not_working(shim: Path, scratch: Path) -> str:
    """Runs this Python with the shim; empty if it recorded something, else the reason for a user."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    try:
        path = folder / "records"
        create(path, [NamePattern("ENVDOCTOR_TRACE")], size=128 * 1024)
        environment = environment_for(os.environ, _preloadable(shim, folder), path)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", ""], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=30,
        )  # fmt: skip
        if any(record.kind == "environment" for record in read(path).records):
            return ""
        lines = done.stderr.strip().splitlines()
        return lines[0] if lines else "it is loaded and records nothing"
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
