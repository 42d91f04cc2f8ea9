"""ROCm installs and versions, drivers, and how both pair."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import by_detail, observed, view_of

from envdoctor.knowledge.nodes.rocm_layout import parse_version
from envdoctor.node.probes.amd.rocm import defines, header_version, rocm_probe
from envdoctor.node.probes.base import Absent
from envdoctor.node.probes.host import pairing
from envdoctor.node.probes.host.driver import amd_driver, driver_probe, nvidia_driver, pairing_probe, parse_nvrm
from envdoctor.node.probes.parts import Driver

SITE = "/venv/lib/python3.12/site-packages"
HEADER = "#define ROCM_VERSION_MAJOR   6\n#define ROCM_VERSION_MINOR   2\n#define ROCM_VERSION_PATCH   4\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("6.2.0-66\n", ("6.2.0", "66")),
        ("6.4.0\n", ("6.4.0", "")),
        ("7.10.0", ("7.10.0", "")),
        ("5.7.0.1-63~22.04", ("5.7.0.1", "63~22.04")),
        ("6.2", None),
        ("rocm 6.2.0", None),
        ("", None),
    ],
)
def test_version_files(text: str, found: tuple[str, str] | None) -> None:
    assert parse_version(text) == found


@given(st.text())
def test_any_version_file(text: str) -> None:
    found = parse_version(text)
    assert found is None or found[0].count(".") in (2, 3)


def test_defines() -> None:
    text = '#ifndef A\n#define A\n#  define B\t"6.2.0.0-66"\n#define C 12 // no\n#define D(x) x\n'
    assert {key: value for key, value in defines(text).items() if value} == {"B": "6.2.0.0-66", "C": "12"}


@pytest.mark.parametrize(("text", "version"), [(HEADER, "6.2.4"), (HEADER.replace("2", "x"), ""), ("", "")])
def test_version_of_a_header(text: str, version: str) -> None:
    assert header_version(text, "ROCM_VERSION") == version


def install(root: str, version: str = "", **files: str) -> dict[str, str]:
    return {f"{root}/{name}": text for name, text in {".info/version": version, **files}.items() if text}


def test_the_link_names_the_default(tmp_path: Path) -> None:
    files = install("/opt/rocm-6.1.2", "6.1.2-119") | install("/opt/rocm-6.2.4", "6.2.4-139")
    files |= {"/opt/rocm": "-> /etc/alternatives/rocm", "/etc/alternatives/rocm": "-> /opt/rocm-6.1.2"}
    rocm = rocm_probe(view_of(tmp_path, files), [])
    assert (rocm.root, rocm.version, rocm.build) == ("/opt/rocm-6.1.2", "6.1.2", "119")
    assert rocm.installs == ["/opt/rocm-6.1.2", "/opt/rocm-6.2.4"]


def test_without_a_link_the_variable_names_it_then_the_newest(tmp_path: Path) -> None:
    files = install("/opt/rocm-6.9.0", "6.9.0") | install("/opt/rocm-6.10.0", "6.10.0") | install("/sw/r", "5.0.0")
    assert rocm_probe(view_of(tmp_path, files), []).root == "/opt/rocm-6.10.0"
    view = view_of(tmp_path, environment={"ROCM_PATH": "/sw/r/"})
    rocm = rocm_probe(view, [])
    assert (rocm.root, rocm.installs) == ("/sw/r", ["/opt/rocm-6.9.0", "/opt/rocm-6.10.0", "/sw/r"])


def test_what_is_no_install(tmp_path: Path) -> None:
    files = {"/opt/rocm-smi-tool/readme": "x", "/opt/rocm.txt": "6.2.0", "/opt/rocm-6.2.0/share/x": ""}
    with pytest.raises(Absent):
        rocm_probe(view_of(tmp_path, files, environment={"ROCM_PATH": "relative"}), [])


def test_an_install_known_by_its_header_or_runtime(tmp_path: Path) -> None:
    files = {"/opt/rocm-a/include/rocm-core/rocm_version.h": HEADER, "/opt/rocm-b/lib/libamdhip64.so.6": ""}
    rocm = rocm_probe(view_of(tmp_path, files), [])
    assert rocm.versions == {"/opt/rocm-a": "6.2.4", "/opt/rocm-b": ""}


def test_header_and_version_file_that_differ(tmp_path: Path) -> None:
    files = install("/opt/rocm-6.2.0", "6.2.0-66", **{"include/rocm-core/rocm_version.h": HEADER})
    view = view_of(tmp_path, files)
    rocm_probe(view, [])
    assert by_detail(view.facts, "rocm.header_version") == {"/opt/rocm-6.2.0": "6.2.4"}


def test_wheels(tmp_path: Path) -> None:
    files = install(f"{SITE}/_rocm_sdk_core", "7.10.0") | {f"{SITE}/rocm_sdk_core-7.9.0.dist-info/METADATA": ""}
    view = view_of(tmp_path, files)
    rocm = rocm_probe(view, [SITE])
    assert (rocm.root, rocm.version) == (f"{SITE}/_rocm_sdk_core", "7.10.0")
    assert by_detail(view.facts, "rocm.wheel") == {"rocm-sdk-core": "7.9.0"}


def test_an_install_below_opt_comes_before_wheels(tmp_path: Path) -> None:
    files = install(f"{SITE}/_rocm_sdk_core", "7.10.0") | install("/opt/rocm-6.2.0", "6.2.0-66")
    rocm = rocm_probe(view_of(tmp_path, files), [SITE])
    assert rocm.installs == ["/opt/rocm-6.2.0", f"{SITE}/_rocm_sdk_core"]
    assert rocm.version == "6.2.0"


def test_hip_version_of_an_install(tmp_path: Path) -> None:
    hip = "#define HIP_VERSION_MAJOR 6\n#define HIP_VERSION_MINOR 2\n#define HIP_VERSION_PATCH 41133\n"
    view = view_of(tmp_path, install("/opt/rocm-6.2.0", "6.2.0-66", **{"include/hip/hip_version.h": hip}))
    rocm_probe(view, [])
    assert by_detail(view.facts, "rocm.hip_version") == {"/opt/rocm-6.2.0": "6.2.41133"}


@pytest.mark.parametrize(
    ("files", "version", "kernel"),
    [
        ({"/sys/module/amdgpu/version": "6.8.5\n", "/sys/module/amdgpu/initstate": "live\n"}, "6.8.5", None),
        ({"/sys/module/amdgpu/srcversion": "0\n", "/proc/sys/kernel/osrelease": "6.8.0-60\n"}, "", "6.8.0-60"),
        ({"/sys/module/amdgpu/srcversion": "0\n"}, "", None),
    ],
)
def test_amd_drivers(tmp_path: Path, files: dict[str, str], version: str, kernel: str | None) -> None:
    driver = amd_driver(view_of(tmp_path, files))
    assert driver
    assert (driver.version, driver.kernel) == (version, kernel)


NVRM = "NVRM version: NVIDIA UNIX {}Kernel Module for x86_64  550.90.07  Release Build  (b@h)\nGCC version: 11.4.0\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NVRM.format("Open "), ("550.90.07", True)),
        (NVRM.format("").replace("Kernel Module for x86_64", "x86_64 Kernel Module"), ("550.90.07", False)),
        ("NVRM version: something\n", None),
        ("", None),
    ],
)
def test_nvrm(text: str, found: tuple[str, bool] | None) -> None:
    assert parse_nvrm(text) == found


def test_nvidia_driver_where_only_one_file_is_there(tmp_path: Path) -> None:
    driver = nvidia_driver(view_of(tmp_path, {"/proc/driver/nvidia/version": NVRM.format("Open ")}))
    assert driver
    assert (driver.version, driver.source) == ("550.90.07", "/proc/driver/nvidia/version")


def test_the_driver_of_the_gpus_in_use(tmp_path: Path) -> None:
    view = view_of(tmp_path, {"/sys/module/amdgpu/version": "6.8.5\n", "/sys/module/nvidia/version": "550.1\n"})
    assert driver_probe(view, "amd").name == "amdgpu"
    assert driver_probe(view, "nvidia").name == "nvidia"


def test_no_driver(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        driver_probe(view_of(tmp_path), "")


@pytest.mark.parametrize(
    ("module", "line"),
    [("6.8.5", "6.2"), ("6.2.4", "5.7"), ("6.16.13", "30.30"), ("6.8.5-2041575.24.04", "6.2"), ("6.8", ""), ("", ""),
     ("6.99.1", "")],
)  # fmt: skip
def test_driver_lines(module: str, line: str) -> None:
    assert pairing.driver_line(module) == line


@pytest.mark.parametrize(
    ("line", "rocm", "apart"),
    [("6.2", "7.0.0", 3), ("6.2", "6.4.43482-0f2d", 2), ("6.2", "6.0.2", -2), ("30.10", "7.0.0", 0),
     ("30.30", "6.4", -3), ("6.2", "7.10.0", None), ("31.50", "7.2", None), ("", "6.2", None), ("6.2", "", None)],
)  # fmt: skip
def test_releases_apart(line: str, rocm: str, apart: int | None) -> None:
    assert pairing.distance(line, rocm) == apart


def test_each_driver_line_has_a_row_and_pairs_with_its_own_release() -> None:
    for line in pairing.MODULE_TO_LINE.values():
        own = pairing.LINE_TO_RELEASE.get(line, line)
        assert own in pairing.SUPPORTED[line] or line >= "31"  # from 31.40 on drivers come out by themselves


def test_pairing_facts(tmp_path: Path) -> None:
    view = view_of(tmp_path)
    pairing_probe(view, Driver("amdgpu", "6.8.5", "/v"), {"torch": "6.4.4", "/opt/rocm": "7.0.0", "odd": "unknown"})
    assert by_detail(view.facts, "driver.rocm_distance") == {"torch": 2, "/opt/rocm": 3}
    assert by_detail(view.facts, "rocm.user_space") == {"torch": "6.4", "/opt/rocm": "7.0"}
    assert observed(view.facts, "driver.rocm_supported") == ["6.0, 6.1, 6.2, 6.3, 6.4, 7.0"]


@pytest.mark.parametrize(
    "driver", [None, Driver("nvidia", "550.1", "x"), Driver("amdgpu", "", "x"), Driver("amdgpu", "1.2.3", "x")]
)
def test_a_driver_of_no_known_line_says_nothing(tmp_path: Path, driver: Driver | None) -> None:
    view = view_of(tmp_path)
    with pytest.raises(Absent):
        pairing_probe(view, driver, {"torch": "6.4"})
    assert observed(view.facts, "driver.release") == []
