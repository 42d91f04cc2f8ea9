"""Which collectives libraries lie on a node, are mapped, and are called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from native import collectives_library, needs_compiler

from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.libraries.search import find_libraries, library_in_use, mapped_libraries, preloaded

SITE = "/opt/venv/lib/python3.11/site-packages"
WHEEL = f"{SITE}/nvidia/nccl/lib/libnccl.so.2"
SYSTEM = "/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.3"


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., NodeFiles]:
    """A node with these files (path -> text, or `-> target` for a link)."""

    def build(*files: str, links: Mapping[str, str] | None = None, maps: str = "") -> NodeFiles:
        for path in files:
            real = tmp_path / path.lstrip("/")
            real.parent.mkdir(parents=True, exist_ok=True)
            real.write_text("")
        for path, target in (links or {}).items():
            real = tmp_path / path.lstrip("/")
            real.parent.mkdir(parents=True, exist_ok=True)
            real.symlink_to(target)
        if maps:
            (tmp_path / "proc/self").mkdir(parents=True)
            (tmp_path / "proc/self/maps").write_text(maps)
        return NodeFiles(tmp_path)

    return build


def found(files: NodeFiles, environment: Mapping[str, str] | None = None, **more: object) -> dict[str, tuple[str, ...]]:
    libraries = find_libraries(files, environment or {}, **more)  # type: ignore[arg-type]
    return {library.path: library.origins for library in libraries}


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("/opt/rocm-6.2.0/lib/librccl.so.1.0.60200", "rocm"),
        ("/opt/rocm/lib/librccl.so.1", "rocm"),
        (SYSTEM, "distribution"),
        ("/usr/lib64/libnccl.so.2", "distribution"),
        ("/usr/lib/x86_64-linux-gnu/librccl.so.1.0", "distribution"),
        ("/opt/nvidia/hpc_sdk/Linux_x86_64/24.5/comm_libs/nccl/lib/libnccl.so.2", "distribution"),
        (WHEEL, "wheel"),
        (f"{SITE}/torch/lib/librccl.so", "wheel"),
        (f"{SITE}/_rocm_sdk_libraries_gfx942/lib/librccl.so.1", "wheel"),
    ],
)
def test_every_usual_place(node: Callable[..., NodeFiles], path: str, origin: str) -> None:
    assert found(node(path)) == {path: (origin,)}


def test_links_are_one_library_and_resolved(node: Callable[..., NodeFiles]) -> None:
    files = node(
        "/opt/rocm-6.2.0/lib/librccl.so.1.0.60200",
        links={
            "/opt/rocm-6.2.0/lib/librccl.so.1": "librccl.so.1.0.60200",
            "/opt/rocm-6.2.0/lib/librccl.so": "librccl.so.1",
            "/opt/rocm": "/opt/rocm-6.2.0",
        },
    )
    assert found(files) == {"/opt/rocm-6.2.0/lib/librccl.so.1.0.60200": ("rocm",)}


def test_plugins_static_and_dangling_files_are_left_out(node: Callable[..., NodeFiles]) -> None:
    files = node(
        "/usr/lib64/libnccl-net.so",
        "/usr/lib64/libnccl-tuner.so",
        "/usr/lib64/libnccl_static.a",
        "/usr/lib64/librccl.so.old",
        links={"/usr/lib64/libnccl.so": "libnccl.so.9"},
    )
    assert found(files) == {}


@pytest.mark.parametrize(
    ("environment", "path", "origin"),
    [
        ({"LD_LIBRARY_PATH": "/data/nccl/lib:relative::"}, "/data/nccl/lib/libnccl.so.2", "LD_LIBRARY_PATH"),
        ({"LD_PRELOAD": "/data/x.so /data/libnccl.so.2"}, "/data/libnccl.so.2", "LD_PRELOAD"),
        ({"ROCM_PATH": "/data/rocm"}, "/data/rocm/lib/librccl.so.1", "rocm"),
        ({"VIRTUAL_ENV": "/home/u/v"}, "/home/u/v/lib/python3.12/site-packages/torch/lib/librccl.so", "wheel"),
        ({"CONDA_PREFIX": "/c"}, "/c/lib/python3.10/site-packages/nvidia/nccl/lib/libnccl.so.2", "wheel"),
        ({"PATH": "/bin:/home/v/bin"}, "/home/v/lib/python3.10/site-packages/torch/lib/libnccl.so.2", "wheel"),
    ],
)
def test_places_the_environment_names(
    node: Callable[..., NodeFiles], environment: dict[str, str], path: str, origin: str
) -> None:
    assert found(node(path), environment) == {path: (origin,)}
    assert found(node(path)) == {}


def test_linker_configuration(node: Callable[..., NodeFiles]) -> None:
    files = node("/data/rccl/lib/librccl.so.1", "/etc/ld.so.conf.d/x.conf")
    files.real("/etc/ld.so.conf.d/x.conf").write_text("# comment\n/data/rccl/lib\nrelative\n")
    assert found(files) == {"/data/rccl/lib/librccl.so.1": ("distribution",)}


def test_places_that_mapped_files_show(node: Callable[..., NodeFiles]) -> None:
    files = node("/w/site-packages/nvidia/nccl/lib/libnccl.so.2", "/build/librccl.so.1")
    mapped = ["/w/site-packages/torch/lib/libtorch_cpu.so", "/build/librccl.so.1"]
    assert found(files, mapped=mapped) == {
        "/w/site-packages/nvidia/nccl/lib/libnccl.so.2": ("wheel",),
        "/build/librccl.so.1": ("process",),
    }


def test_preloaded_names_only_collectives() -> None:
    assert preloaded({"LD_PRELOAD": "libnccl.so.2:/a/libnccl.so.2.18.3 /b/libjemalloc.so"}) == ["/a/libnccl.so.2.18.3"]
    assert preloaded({}) == []


MAPS = f"""\
7f00-7f01 r--p 00000000 00:31 1                     {SYSTEM}
7f01-7f02 r-xp 00000000 00:31 1                     {SYSTEM}
7f03-7f04 r-xp 00000000 00:31 2                     {WHEEL} (deleted)
7f05-7f06 r-xp 00000000 00:31 3                     /usr/lib64/libnccl-net.so
7f05-7f06 rw-p 00000000 00:00 0
7f05-7f06 rw-p 00000000 00:00 0                     [heap]
7f05-7f06 r-xp 00000000 00:31 3                     /a folder/libnccl.so.2
"""


def test_mapped_libraries(node: Callable[..., NodeFiles]) -> None:
    mapped = mapped_libraries(node(maps=MAPS))
    assert mapped is not None
    assert [(m.path, m.deleted) for m in mapped] == [
        (SYSTEM, False),
        (WHEEL, True),
        ("/a folder/libnccl.so.2", False),
    ]
    assert mapped_libraries(NodeFiles(Path("/nowhere"))) is None


@pytest.mark.parametrize(
    ("mapped", "environment", "banner", "path", "reason"),
    [
        ([], {}, "", None, "no collectives library is mapped"),
        ([WHEEL], {}, "", WHEEL, "the only one mapped"),
        ([WHEEL], {"LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu"}, "", WHEEL, "the only one mapped"),
        ([SYSTEM, WHEEL], {}, "", None, "2 are mapped"),
        ([SYSTEM, WHEEL], {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libnccl.so.2"}, "", SYSTEM, "LD_PRELOAD names it"),
        ([WHEEL], {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libnccl.so.2"}, "", WHEEL, "the only one mapped"),
        ([SYSTEM, WHEEL], {"LD_PRELOAD": SYSTEM}, WHEEL, WHEEL, "banner"),
    ],
)
def test_library_in_use(
    node: Callable[..., NodeFiles],
    mapped: list[str],
    environment: dict[str, str],
    banner: str,
    path: str | None,
    reason: str,
) -> None:
    files = node(SYSTEM, WHEEL, links={"/usr/lib/x86_64-linux-gnu/libnccl.so.2": "libnccl.so.2.18.3"})
    used = library_in_use(files, mapped, environment, banner=banner)
    assert used.path == path
    assert reason in used.reason


@needs_compiler
def test_real_process_with_a_replaced_library(tmp_path: Path) -> None:
    """The kernel's own map of a process whose library is replaced, as `pip install -U` does under a running job."""
    path = tmp_path / "libnccl.so.2"
    shutil.copy(collectives_library(), path)
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('loaded', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"loaded\n"
        proc = f"/proc/{process.pid}"
        mapped = mapped_libraries(NodeFiles(Path("/")), proc)
        path.unlink()
        replaced = mapped_libraries(NodeFiles(Path("/")), proc)
        process.communicate()
    assert mapped is not None
    assert replaced is not None
    assert [(m.path, m.deleted) for m in mapped] == [(str(path), False)]
    assert [(m.path, m.deleted) for m in replaced] == [(str(path), True)]
