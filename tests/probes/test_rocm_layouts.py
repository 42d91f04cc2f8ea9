"""Where ROCm lies: the Core SDK with and without its links, tarballs, distributions, nightly versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import by_detail, observed, view_of

from envdoctor.knowledge.nodes.rocm_layout import belongs, parse_version, root_of, sort_key, version_of_names
from envdoctor.node.probes.amd.layout import home_of
from envdoctor.node.probes.amd.rocm import rocm_probe
from envdoctor.node.probes.base import Absent
from envdoctor.node.probes.libraries.search import find_libraries
from envdoctor.node.probes.process import environment_probe

CORE, OLD = "/opt/rocm/core-7.14", "/opt/rocm-6.4.1"
SITE = "/venv/lib/python3.12/site-packages"


def core(version: str, root: str = "") -> dict[str, str]:
    root = root or f"/opt/rocm/core-{'.'.join(version.split('.')[:2])}"
    return {f"{root}/.info/version": f"{version}\n", f"{root}/lib/libamdhip64.so.7": "", f"{root}/lib/librccl.so.1": ""}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7.14.0a20260612\n", ("7.14.0a20260612", "")),
        ("7.10.0rc1", ("7.10.0rc1", "")),
        ("7.9.0.dev0+abc123", ("7.9.0.dev0", "abc123")),
        ("10.0.0", ("10.0.0", "")),
        ("7.14.0~20260612", ("7.14.0", "20260612")),
        ("6.2.0-66", ("6.2.0", "66")),
        ("7.14", None),
        ("7.14.0 or so", None),
    ],
)
def test_versions_of_nightly_and_candidate_builds(text: str, found: tuple[str, str] | None) -> None:
    assert parse_version(text) == found


def test_a_candidate_comes_before_its_release_and_ten_after_seven() -> None:
    versions = ["10.0.0", "7.14.0", "7.14.0a20260612", "7.9.0", "10.0.0rc1"]
    assert sorted(versions, key=sort_key) == ["7.9.0", "7.14.0a20260612", "7.14.0", "10.0.0rc1", "10.0.0"]


@pytest.mark.parametrize(
    ("names", "release"),
    [
        (["libamdhip64.so.6.2.60204"], "6.2.4"),
        (["libamdhip64.so.6", "libamdhip64.so.6.4.43484"], "6.4"),
        (["libamdhip64.so.5.2.21153"], "5.2"),
        (["libamdhip64.so.6.4.43484", "librocm-core.so.1.0.60403"], "6.4.3"),
        (["librocm-core.so.1.0.100000"], "10.0.0"),
        (["libamdhip64.so", "libamdhip64.so.7"], ""),
        ([], ""),
    ],
)
def test_releases_in_the_names_of_libraries(names: list[str], release: str) -> None:
    assert version_of_names(names) == release


ROOTS = ["/opt/rocm", CORE, "/usr", "/home/u/rocm"]


@pytest.mark.parametrize(
    ("path", "root"),
    [
        (f"{CORE}/lib/librccl.so.1", CORE),
        ("/opt/rocm/lib/librccl.so.1", "/opt/rocm"),
        ("/opt/rocm/core-7.1/lib/x", "/opt/rocm"),
        ("/usr/lib64/libamdhip64.so.6", "/usr"),
        ("/usr/lib/x86_64-linux-gnu/librccl.so.1", "/usr"),
        ("/usr/lib64/rocm/gfx11/lib/librocblas.so.4", "/usr"),
        ("/usr/lib64/python3.14/site-packages/torch/lib/libtorch.so", ""),
        ("/usr/lib/python3/dist-packages/torch/lib/libamdhip64.so", ""),
        ("/usr/local/lib/libamdhip64.so", ""),
        ("/home/u/rocm", "/home/u/rocm"),
        ("/home/u/rocm2/lib/x", ""),
    ],
)
def test_the_longest_root_that_fits(path: str, root: str) -> None:
    assert root_of(path, ROOTS) == root


@given(st.text(max_size=60), st.sampled_from(ROOTS))
def test_any_path(path: str, root: str) -> None:
    assert belongs(path, root) in (True, False)


def test_links_into_the_core_sdk_are_no_install(tmp_path: Path) -> None:
    files = core("7.14.0") | {"/opt/rocm/lib": "-> core-7.14/lib", "/opt/rocm/bin": "-> core-7.14/bin"}
    view = view_of(tmp_path, files, environment={"ROCM_PATH": "/opt/rocm"})
    rocm = rocm_probe(view, [])
    assert (rocm.root, rocm.installs, rocm.version) == (CORE, [CORE], "7.14.0")
    environment_probe(view)
    assert by_detail(view.facts, "rocm.rocm_path_env") == {"ROCM_PATH": CORE}


def test_several_cores_without_links(tmp_path: Path) -> None:
    files = core("7.14.0a20260612") | core("10.0.0") | core("6.4.1", OLD)
    rocm = rocm_probe(view_of(tmp_path, files), [])
    assert rocm.installs == [OLD, CORE, "/opt/rocm/core-10.0"]
    assert rocm.root == "/opt/rocm/core-10.0"
    chosen = rocm_probe(view_of(tmp_path, environment={"ROCM_PATH": CORE}), [])
    assert (chosen.root, chosen.version) == (CORE, "7.14.0a20260612")


def test_a_rocm_of_its_own_in_opt_rocm_beside_a_core(tmp_path: Path) -> None:
    rocm = rocm_probe(view_of(tmp_path, core("7.2.0", "/opt/rocm") | core("7.14.0")), [])
    assert rocm.versions == {"/opt/rocm": "7.2.0", CORE: "7.14.0"}
    assert rocm.root == "/opt/rocm"


def test_folders_that_are_no_homes(tmp_path: Path) -> None:
    view = view_of(tmp_path, {"/opt/a/lib": "-> /opt/b/share", "/opt/b/share/x": "", "/opt/c/lib": "-> /gone/lib"})
    assert [home_of(view.files, f"/opt/{name}") for name in "abc"] == ["/opt/a", "/opt/b", "/opt/c"]


def test_a_tarball_that_the_process_uses(tmp_path: Path) -> None:
    tar = "/home/u/rocm-tarball"
    files = core("7.10.0rc1", tar)
    for view in (
        view_of(tmp_path, files, mapped=[f"{tar}/lib/libamdhip64.so.7"]),
        view_of(tmp_path, environment={"LD_LIBRARY_PATH": f"/x:{tar}/lib/"}),
        view_of(tmp_path, {"/etc/ld.so.conf.d/rocm.conf": f"# rocm\n{tar}/lib\n"}),
    ):
        assert rocm_probe(view, []).installs == [tar]
    found = find_libraries(view.files, {}, installs=[tar])
    assert [library.path for library in found] == [f"{tar}/lib/librccl.so.1"]


def test_a_runtime_in_a_wheel_is_no_install(tmp_path: Path) -> None:
    path = f"{SITE}/torch/lib/libamdhip64.so"
    with pytest.raises(Absent):
        rocm_probe(view_of(tmp_path, {path: ""}, mapped=[path]), [SITE])


@pytest.mark.parametrize("folder", ["/usr/lib64", "/usr/lib/x86_64-linux-gnu"])
def test_distributions(tmp_path: Path, folder: str) -> None:
    rocm = rocm_probe(view_of(tmp_path, {f"{folder}/libamdhip64.so.6.4.43484": ""}), [])
    assert (rocm.root, rocm.version) == ("/usr", "6.4")


def test_a_header_in_usr_alone_is_no_install(tmp_path: Path) -> None:
    text = "#define ROCM_VERSION_MAJOR 6\n#define ROCM_VERSION_MINOR 4\n#define ROCM_VERSION_PATCH 0\n"
    with pytest.raises(Absent):
        rocm_probe(view_of(tmp_path, {"/usr/include/rocm-core/rocm_version.h": text}), [])


def test_a_header_that_agrees_with_a_nightly_version(tmp_path: Path) -> None:
    text = "#define ROCM_VERSION_MAJOR 7\n#define ROCM_VERSION_MINOR 14\n#define ROCM_VERSION_PATCH 0\n"
    view = view_of(tmp_path, core("7.14.0a20260612") | {f"{CORE}/include/rocm-core/rocm_version.h": text})
    rocm_probe(view, [])
    assert observed(view.facts, "rocm.header_version") == []


def test_a_wheel_that_its_distribution_tells_of(tmp_path: Path) -> None:
    files = {
        f"{SITE}/_rocm_sdk_core/lib/libamdhip64.so.7": "",
        f"{SITE}/rocm_sdk_core-7.10.0rc1.dist-info/METADATA": "",
    }
    assert rocm_probe(view_of(tmp_path, files), [SITE]).version == "7.10.0rc1"
