"""What a collectives library file says of itself, on real ELF files made for the tests."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest
from native import COLLECTIVES_NAMES, collectives_library, compile_c, needs_compiler

from envdoctor.node.probes.libraries import library as module
from envdoctor.node.probes.libraries.library import foreign, library_file, version_of_code

pytestmark = needs_compiler

CPP = """
#include <vector>
extern "C" __attribute__((visibility("default"))) int add(std::vector<int> *ranks, int rank) {
  ranks->push_back(rank);
  int sum = 0;
  for (int r : *ranks) sum += r;
  return sum + (int)ranks->size();
}
"""


def messages(path: Path) -> list[str]:
    return [problem.message for problem in library_file(path).problems]


@pytest.mark.parametrize(
    ("kind", "text", "version", "built_for"),
    [
        ("NCCL", "2.21.5+cuda12.4", "2.21.5", "cuda12.4"),
        ("NCCL", "2.28.9 compiled with CUDA 12.9", "2.28.9", "cuda12.9"),
        ("RCCL", "2.13.4+hip5.7", "2.13.4", "hip5.7"),
        ("RCCL", "2.18.6", "2.18.6", ""),
    ],
)
def test_kind_version_and_names(kind: str, text: str, version: str, built_for: str) -> None:
    path = collectives_library(kind, text)
    library = library_file(path)
    assert (library.kind, library.version, library.built_for) == (kind.lower(), version, built_for)
    assert library.version_text == f"{kind} version {text}"
    assert library.names == COLLECTIVES_NAMES
    assert library.names_complete
    assert (library.soname, library.bits, library.problems) == ("libnccl.so.2", 64, ())
    assert not foreign(library, platform.machine())
    assert foreign(library, "riscv64")


def test_banner_of_recent_rccl() -> None:
    source = """
    const char *const a = "RCCL version : 2.22.3";
    const char *const b = "HEAD:0a1b2c3";
    const char *const c = "ROCm version : 6.4.0.0-47";
    const char *const d = "NCCL_DEBUG";
    """
    library = library_file(compile_c(source, "-shared", "-fPIC", "-Wl,-soname,librccl.so", name="librccl.so"))
    assert (library.kind, library.version, library.built_for) == ("rccl", "2.22.3", "rocm6.4.0.0-47")
    assert library.soname == "librccl.so"


def test_most_telling_version_string_wins() -> None:
    source = """
    const char *const a = "NCCL version 2.10.3";
    const char *const b = "NCCL version 2.27.7+cuda12.9";
    const char *const c = "RCCL version 2.27.7+hip7.1";
    """
    library = library_file(compile_c(source, "-shared", "-fPIC"))
    assert (library.kind, library.version_text) == ("rccl", "RCCL version 2.27.7+hip7.1")


def test_other_library() -> None:
    library = library_file(compile_c("int x = 3;", "-shared", "-fPIC", name="libother.so"))
    assert (library.kind, library.version, library.names_complete) == ("neither", "", False)
    assert library.problems == ()


def test_stand_in_without_names_proves_no_absence() -> None:
    """Every release reads NCCL_DEBUG. Where it is missing, nothing may be concluded from a missing name."""
    source = 'const char *const v = "NCCL version 2.20.5+cuda12.1";'
    library = library_file(compile_c(source, "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2"))
    assert library.kind == "nccl"
    assert not library.names_complete


def test_debug_strings_are_not_names() -> None:
    """Enumerators stand in the debug information of real wheels, which is not looked at."""
    source = 'enum level { NCCL_LOG_INFO = 3 }; enum level l = NCCL_LOG_INFO; const char *const d = "NCCL_DEBUG";'
    path = compile_c(source, "-shared", "-fPIC", "-g")
    assert b"NCCL_LOG_INFO\0" in path.read_bytes()
    library = library_file(path)
    assert library.names == {"NCCL_DEBUG"}
    assert library.debug_information


def test_names_that_need_care() -> None:
    source = """
    const char *const all[] = { "NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS", "RCCL_RCCL_INTRANET_THRESHOLD", "NPKIT_DUMP_DIR",
      "NCCL_GIN_CONNECTION_FULL", "NCCL_IB_MAX_DEVS_PER_NIC", "bad NCCL_IB_RECV_WR_ID_DUMMY", "NCCL_lower", "NCCL_A",
      "NCCL_IB_RESILIENCY_PORT_RECOVERY_ACK_MSG_ID", "MSCCL_ALGO_DIR", "xNCCL_PROTO", "NCCL_DEBUG text after" };
    """
    library = library_file(compile_c(source, "-shared", "-fPIC"))
    assert library.names == {
        "NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS",
        "RCCL_RCCL_INTRANET_THRESHOLD",
        "NPKIT_DUMP_DIR",
        "MSCCL_ALGO_DIR",
        "NCCL_PROTO",
    }


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "expected"), [(("-O0",), "debug"), (("-O0", "-g"), "debug"), (("-O2",), "release")])
def test_build_of_cpp_library(flags: tuple[str, ...], expected: str) -> None:
    library = library_file(compile_c(CPP, "-shared", "-fPIC", "-fvisibility=hidden", *flags, suffix=".cc"))
    assert library.build == expected
    assert library.build_evidence


def test_build_of_library_without_evidence() -> None:
    library = library_file(collectives_library())
    assert (library.build, library.build_evidence) == ("unknown", "")


def test_release_wheels_with_debug_information_are_no_debug_build() -> None:
    library = library_file(compile_c(CPP, "-shared", "-fPIC", "-fvisibility=hidden", "-O3", "-g", suffix=".cc"))
    assert library.debug_information
    assert library.build == "release"
    assert library.build_evidence == "compiled with -O3"


def test_sha256_only_when_asked() -> None:
    path = collectives_library()
    assert library_file(path).sha256 is None
    assert library_file(path, hash_content=True).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_shown_path(tmp_path: Path) -> None:
    library = library_file(tmp_path / "missing", shown="/opt/rocm/lib/librccl.so.1")
    assert library.path == "/opt/rocm/lib/librccl.so.1"
    assert library.problems[0].place.path == "/opt/rocm/lib/librccl.so.1"


# Bad input


def test_missing_and_odd_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "script").write_text("GROUP ( libnccl.so.2 )")
    assert messages(tmp_path / "missing") == ["cannot be opened: No such file or directory"]
    assert messages(tmp_path) == ["cannot be examined: not a regular file"]
    assert messages(tmp_path / "fifo") == ["cannot be examined: not a regular file"]
    assert messages(tmp_path / "script") == ["cannot be examined: not an ELF file"]


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root reads every file")
def test_no_read_permission(tmp_path: Path) -> None:
    path = tmp_path / "libnccl.so.2"
    shutil.copy(collectives_library(), path)
    path.chmod(0)
    if os.geteuid():
        assert messages(path) == ["cannot be opened: Permission denied"]
        return
    code = f"from pathlib import Path\nfrom envdoctor.node.probes.libraries.library import library_file\n" \
           f"print(library_file(Path({str(path)!r})).problems[0].message)"  # fmt: skip
    for folder in [tmp_path, *tmp_path.parents][:-2]:
        folder.chmod(0o755)
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=0", "--", *python(code)]
    done = subprocess.run(drop, capture_output=True, text=True, check=False, cwd=Path(module.__file__).parents[2])
    if done.returncode:
        pytest.skip(f"capabilities cannot be dropped here: {done.stderr.strip()[-80:]}")
    assert done.stdout.strip() == "cannot be opened: Permission denied"


def python(code: str) -> list[str]:
    import sys

    return [sys.executable, "-c", code]


def test_stripped(tmp_path: Path) -> None:
    stripped = collectives_library("NCCL", "2.21.5+cuda12.4", 22105, "-s")
    assert b".symtab" not in stripped.read_bytes()
    assert library_file(stripped).stripped
    assert not library_file(collectives_library()).stripped
    assert library_file(stripped).names == COLLECTIVES_NAMES


def test_section_table_removed(tmp_path: Path) -> None:
    """Names are still found in the loaded parts, and it is said that this is the weaker way."""
    data = bytearray(collectives_library().read_bytes())
    struct.pack_into("<Q", data, 0x28, 0)
    struct.pack_into("<HHH", data, 0x3A, 0, 0, 0)
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(data)
    library = library_file(path)
    assert library.names >= COLLECTIVES_NAMES
    assert not library.names_complete
    assert library.version == "2.21.5"
    assert "no section table" in library.problems[0].message


@pytest.mark.parametrize("keep", [20, 100, 2000, 5000])
def test_truncated(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(collectives_library().read_bytes()[:keep])
    library = library_file(path)
    assert not library.names_complete
    assert any("cut" in problem.message for problem in library.problems)


def test_32_bit_and_foreign_architecture(tmp_path: Path) -> None:
    data = bytearray(collectives_library().read_bytes())
    struct.pack_into("<H", data, 18, 243)
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(data)
    library = library_file(path)
    assert library.architecture == "riscv"
    assert library.names == COLLECTIVES_NAMES
    assert foreign(library, "x86_64")
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 3, 3, 1, 0, 0, 0, 0, 52, 32, 0, 40, 0, 0)
    path.write_bytes(header + bytes(64))
    assert "a 32-bit library: no 64-bit process can load it" in messages(path)


def test_program_is_no_library() -> None:
    program = compile_c("int main(void) { return 0; }", "-no-pie", "-fno-pie")
    assert messages(program) == ["not a shared library (executable file)"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("replace", "replaced while it was read: the facts are those of the old file"),
        ("write", "changed while it was read"),
        ("remove", "removed while it was read"),
    ],
)
def test_changed_while_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, message: str) -> None:
    path = tmp_path / "libnccl.so.2"
    shutil.copy(collectives_library(), path)
    read = module.read_elf

    def read_and_disturb(descriptor: int) -> object:
        """The other process that replaces the library, at the worst moment."""
        elf = read(descriptor)
        if change == "replace":
            shutil.copy(path, tmp_path / "new")
            (tmp_path / "new").replace(path)
        elif change == "write":
            path.write_bytes(path.read_bytes()[:9000])
        else:
            path.unlink()
        return elf

    monkeypatch.setattr(module, "read_elf", read_and_disturb)
    library = library_file(path, hash_content=True)
    assert [problem.message for problem in library.problems][-1] == message
    assert (change == "write") == (library.sha256 is None)
    assert library.names_complete == (change != "write")


def test_truncated_again_and_again_while_read(tmp_path: Path) -> None:
    """A mapping would die of SIGBUS here."""
    whole = collectives_library().read_bytes()
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(whole)
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            os.truncate(path, 64)
            path.write_bytes(whole)

    thread = threading.Thread(target=disturb)
    thread.start()
    end = time.monotonic() + 0.5
    try:
        while time.monotonic() < end:
            library = library_file(path)
            assert library.problems or library.names == COLLECTIVES_NAMES
    finally:
        stop.set()
        thread.join()


# ncclGetVersion


@pytest.mark.parametrize(("code", "version"), [(22005, "2.20.5"), (21803, "2.18.3"), (2804, "2.8.4"), (2708, "2.7.8")])
def test_version_of_code(code: int, version: str) -> None:
    assert version_of_code(code) == version
