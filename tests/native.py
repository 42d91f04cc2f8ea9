"""Real ELF files for tests: small C sources, compiled once a session."""

from __future__ import annotations

import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")

COLLECTIVES = """
#include <stdio.h>
#include <stdlib.h>
const char *const version = "%(kind)s version %(version)s";
const char *const packed = "/sys/class/net/%%sNCCL_IB_HCA";
const char *const braces = "NCCL_CONFIG_INITIALIZER";
const char *const message = "see NCCL_DEBUG=INFO";
int ncclGetVersion(int *code) { *code = %(code)d; return 0; }
int ask(void) {
  return !!getenv("NCCL_DEBUG") + !!getenv("NCCL_ALGO") + !!getenv("RCCL_MSCCL_ENABLE") + !!getenv("HOME");
}
"""
"""A stand-in for a collectives library, with the traps of real ones: packed literals, initialiser names."""
COLLECTIVES_NAMES = {"NCCL_DEBUG", "NCCL_ALGO", "NCCL_IB_HCA", "RCCL_MSCCL_ENABLE"}


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="envdoctor-native-"))
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def compile_c(source: str, *flags: str, suffix: str = ".c", name: str = "native") -> Path:
    """The file made of a C (or, by suffix, C++) source; the same source and flags give the same file."""
    key = hashlib.sha256(repr((source, flags, suffix, name)).encode()).hexdigest()[:16]
    target = _folder() / key / name
    if target.exists():
        return target
    target.parent.mkdir(parents=True)
    code = target.with_suffix(suffix)
    code.write_text(source)
    assert COMPILER is not None
    compiler = COMPILER if suffix == ".c" else COMPILER.replace("gcc", "g++").replace("/cc", "/c++")
    done = subprocess.run([compiler, "-o", str(target), str(code), *flags], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{compiler} {' '.join(flags)}: {done.stderr}")
    return target


def collectives_library(
    kind: str = "NCCL", version: str = "2.21.5+cuda12.4", code: int = 22105, *flags: str, soname: str = "libnccl.so.2"
) -> Path:
    """A stand-in for libnccl or librccl."""
    source = COLLECTIVES % {"kind": kind, "version": version, "code": code}
    return compile_c(source, "-shared", "-fPIC", f"-Wl,-soname,{soname}", *flags, name=soname)
