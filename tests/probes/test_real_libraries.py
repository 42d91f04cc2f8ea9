"""Real NCCL wheels and Debian's RCCL: names against the catalogue, time, and a trace of `ncclGetUniqueId`.

They are downloaded (some 800 MB); ENVDOCTOR_LIBRARIES names a folder that keeps them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from asked_version import asked_version

from envdoctor.cli.catalog_difference import compare, releases_of
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.node.probes.libraries.library import LibraryFile, library_file, version_of_code

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(sys.platform != "linux", reason="libraries for Linux")]

WHEELS = ("2.18.3", "2.21.5", "2.28.9")
TRIXIE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main\n"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("ENVDOCTOR_LIBRARIES")
    return Path(kept) if kept else tmp_path_factory.mktemp("libraries")


def wheel_library(folder: Path, version: str) -> Path:
    """libnccl.so.2 of a wheel."""
    target = folder / f"nccl-{version}" / "nvidia/nccl/lib/libnccl.so.2"
    if not target.exists():
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*download, "-d", str(folder), f"nvidia-nccl-cu12=={version}"], check=True)
        (wheel,) = folder.glob(f"nvidia_nccl_cu12-{version}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extract("nvidia/nccl/lib/libnccl.so.2", folder / f"nccl-{version}")
        wheel.unlink()
    return target


def rccl_library(folder: Path) -> Path:
    """librccl of Debian 13, unpacked and not installed."""
    root = folder / "rccl"
    if not list(root.rglob("librccl.so.1.*")):
        if not shutil.which("apt-get") or not shutil.which("dpkg"):
            pytest.skip("no apt-get to download librccl1 with")
        apt = folder / "apt"
        for part in ("lists/partial", "cache/archives/partial"):
            (apt / part).mkdir(parents=True, exist_ok=True)
        (apt / "sources.list").write_text(TRIXIE)
        (apt / "status").touch()
        options = [
            f"Dir::Etc::sourcelist={apt}/sources.list", "Dir::Etc::sourceparts=-", f"Dir::State::lists={apt}/lists",
            f"Dir::Cache={apt}/cache", f"Dir::State::status={apt}/status",
        ]  # fmt: skip
        command = ["apt-get", "-q", *(word for option in options for word in ("-o", option))]
        subprocess.run([*command, "update"], check=True)
        subprocess.run([*command, "download", "librccl1"], check=True, cwd=folder)
        (package,) = folder.glob("librccl1_*.deb")
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    (library,) = (path for path in root.rglob("librccl.so.1.*") if not path.is_symlink())
    return library


def judged(path: Path) -> tuple[LibraryFile, float, float]:
    """The library, and precision and recall of the catalogue's names for it against the file."""
    library = library_file(path)
    catalog = load_catalog()
    diff = compare(library, catalog, releases_of(library, catalog))
    wrong = len(diff.unknown) + len(diff.other_release)
    return library, diff.agreed / (diff.agreed + len(diff.missing)), diff.agreed / (diff.agreed + wrong)


@pytest.mark.parametrize("version", WHEELS)
def test_nccl_wheel(folder: Path, version: str) -> None:
    path = wheel_library(folder, version)
    library, precision, recall = judged(path)
    assert (library.kind, library.version, library.build, library.problems) == ("nccl", version, "release", ())
    assert (library.soname, library.architecture) == ("libnccl.so.2", "x86_64")
    assert library.names_complete
    assert {"NCCL_DETERMINISTIC", "NCCL_ALOG", "RCCL_ALGO"}.isdisjoint(library.names)
    assert (precision, recall) == (1.0, 1.0)
    assert version_of_code(asked_version(path)) == version


def test_debian_rccl(folder: Path) -> None:
    library, precision, recall = judged(rccl_library(folder))
    assert (library.kind, library.version, library.built_for) == ("rccl", "2.13.4", "hip5.7")
    assert (library.soname, library.stripped) == ("librccl.so.1", True)
    assert (precision, recall) == (1.0, 1.0)


@pytest.mark.parametrize("version", WHEELS)
def test_names_within_20_ms(folder: Path, version: str) -> None:
    path = wheel_library(folder, version)
    library_file(path)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        library_file(path)
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.020


UNIQUE_ID = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
status = library.ncclGetUniqueId(ctypes.create_string_buffer(128))
os.environ["NCCL_SOCKET_FAMILY"] = "AF_INET"
sys.exit(status)
"""


@pytest.mark.parametrize("version", ["2.21.5", "2.28.9"])
def test_trace_of_unique_id(folder: Path, version: str) -> None:
    """Without a GPU: a real, a ghost, a misnamed and a late setting, told apart."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))
    from traced import traced

    path = wheel_library(folder, version)
    environment = {
        "NCCL_DEBUG": "WARN",
        "NCCL_DETERMINISTIC": "1",
        "NCCL_SOCKET_IFNAMES": "lo",
        "NCCL_SOCKET_IFNAME": "lo",
    }
    result = traced(sys.executable, "-c", UNIQUE_ID, path, environment=environment)
    assert result.status == 0, result.err
    for name in ("NCCL_DEBUG", "NCCL_SOCKET_IFNAME"):
        assert {asked.library for asked in result.setting(name).asked} == {str(path)}
        assert result.setting(name).late == ()
    assert result.asked("NCCL_DETERMINISTIC") == []
    assert result.asked("NCCL_SOCKET_IFNAMES") == []
    (late,) = result.setting("NCCL_SOCKET_FAMILY").late
    assert late.library == str(path)
    assert late.asked < late.given
    asked = {setting.variable for setting in result.run.settings if setting.asked}
    assert asked <= library_file(path).names
