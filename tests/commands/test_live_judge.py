"""What the names in the loaded library add, what a node is judged for, and which variables may be recorded."""

from __future__ import annotations

import pytest

from envdoctor.core.facts import Place, Setting, Value
from envdoctor.core.findings import Finding, Severity
from envdoctor.core.records import replace
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.node.live.judge import Judge, level_of
from envdoctor.node.live.names import with_library
from envdoctor.node.live.target import library_in_use, target_of
from envdoctor.node.live.variables import recordable
from envdoctor.node.probes.libraries.library import LibraryFile
from envdoctor.node.probes.parts import Ccl, Gpu, Rocm, Torch
from envdoctor.node.probes.report import Node

PATH = "/opt/lib/libnccl.so.2"
LIBRARY = LibraryFile(PATH, "nccl", version="2.30.7", names=frozenset({"NCCL_DEBUG", "NCCL_NEW"}), names_complete=True)


def ghost(name: str, severity: Severity = "error", rule: str = "ghost-variable") -> Finding:
    return Finding("ED101", rule, severity, "high", Place("a", 1, 1, 1, 1), "said", variable=name, evidence=("old",))


@pytest.mark.parametrize("rule", ["ghost-variable", "misnamed-variable", "version-dependent"])
def test_a_name_that_the_library_holds_is_never_called_unread(rule: str) -> None:
    assert with_library([ghost("NCCL_NEW", rule=rule)], LIBRARY, "loaded library") == []


def test_a_name_that_it_does_not_hold_has_it_as_evidence() -> None:
    (found,) = with_library([ghost("NCCL_GONE")], LIBRARY, "loaded library")
    assert found.evidence[0] == f"the loaded library {PATH} (2.30.7) does not hold the name"
    assert found.evidence[1:] == ("old",)
    assert found.related[0].place.path == PATH
    assert (found.severity, found.message) == ("error", "said")


def test_what_was_not_known_is_known_by_the_library() -> None:
    (found,) = with_library([ghost("NCCL_GONE", "info")], LIBRARY, "loaded library")
    assert (found.severity, found.confidence) == ("warning", "medium")
    assert "not among the 2 names" in found.message


@pytest.mark.parametrize(
    ("finding", "library"),
    [
        (ghost("TORCH_NCCL_GONE"), LIBRARY),  # another library's family
        (ghost("NCCL_GONE", rule="bad-value"), LIBRARY),
        (ghost("NCCL_GONE"), None),
        (ghost("NCCL_GONE"), replace(LIBRARY, names=frozenset())),
        (ghost("NCCL_GONE"), replace(LIBRARY, names_complete=False)),
    ],
)
def test_where_the_library_says_nothing(finding: Finding, library: LibraryFile | None) -> None:
    assert with_library([finding], library, "loaded library") == [finding]


def setting(name: str, value: str = "1") -> Setting:
    place = Place("/proc/self/environ", 1, 1, 1, 1)
    return Setting("set", name, Value("literal", value), place, "process-environment", 0)


def test_the_process_is_judged_by_its_library() -> None:
    node = Node(vendor="nvidia", ccl=Ccl("nccl", [PATH], PATH, 23007), libraries={PATH: LIBRARY})
    node.facts.settings += [setting("NCCL_NEW"), setting("NCCL_DETERMINISTIC"), setting("NCCL_ALGO", "Ring")]
    found, target, level = Judge(list(load_rulebook()), load_catalog()).findings(node)
    assert {f.variable for f in found if f.variable} == {"NCCL_DETERMINISTIC"}
    assert (target.platform, target.versions) == ("cuda", {"nccl": "2.30.7"})
    assert level == "run-to-run"


@pytest.mark.parametrize(
    ("environment", "conf", "expected"),
    [
        ({"NCCL_IB_DISABLE": "1", "NCCL_IB_HCA": "mlx5"}, {}, {("ineffective-setting", "NCCL_IB_HCA")}),
        ({"NCCL_IB_DISABLE": "0", "NCCL_IB_HCA": "mlx5"}, {}, set()),
        ({"NCCL_IB_HCA": "mlx5"}, {"NCCL_IB_DISABLE": "1"}, {("ineffective-setting", "NCCL_IB_HCA")}),
        ({"NCCL_IB_DISABLE": "0", "NCCL_IB_HCA": "mlx5"}, {"NCCL_IB_DISABLE": "1"}, set()),  # the environment wins
        ({"NCCL_MIN_NCHANNELS": "32", "NCCL_MAX_NCHANNELS": "4"}, {}, {("contradictory", "NCCL_MIN_NCHANNELS")}),
        ({"NCCL_DEBUG_FILE": "/x"}, {}, set()),  # a script may still set the level
        ({"NCCL_DEBUG_FILE": "/x", "SLURM_PROCID": "0"}, {}, set()),
        ({"NCCL_DEBUG_FILE": "/x", "RANK": "0"}, {}, {("ineffective-setting", "NCCL_DEBUG_FILE")}),
        ({"NCCL_DEBUG_FILE": "/x", "RANK": "0", "NCCL_DEBUG": "INFO"}, {}, set()),
    ],
)
def test_settings_of_a_process_that_meet(
    environment: dict[str, str], conf: dict[str, str], expected: set[tuple[str, str]]
) -> None:
    node = Node(vendor="nvidia")
    node.facts.settings += [setting(name, value) for name, value in environment.items()]
    place = Place("/etc/nccl.conf", 1, 1, 1, 1)
    node.facts.settings += [
        Setting("default", name, Value("literal", value), place, "conf-file", 9) for name, value in conf.items()
    ]
    found, _, _ = Judge(list(load_rulebook()), load_catalog()).findings(node)
    assert {(f.name, f.variable) for f in found if f.severity != "info"} == expected


def rocm_node(library: LibraryFile | None = None, torch: Torch | None = None) -> Node:
    path = library.path if library else ""
    ccl = Ccl("rccl", [path], path, 22005) if library else None
    rocm = Rocm("6.3.0", "", "/opt/rocm-6.3.0", ["/opt/rocm-6.3.0", "/opt/rocm-6.2.4"],
                {"/opt/rocm-6.3.0": "6.3.0", "/opt/rocm-6.2.4": "6.2.4"})  # fmt: skip
    return Node(vendor="amd", rocm=rocm, ccl=ccl, torch=torch, libraries={path: library} if library else {},
                gpu=Gpu(8, 8, arch="gfx942"))  # fmt: skip


@pytest.mark.parametrize(
    ("library", "torch", "release"),
    [
        (LibraryFile("/w/torch/lib/librccl.so", "rccl", built_for="rocm7.0.0.0-38"), None, "7.0.0"),
        (LibraryFile("/w/torch/lib/librccl.so", "rccl", built_for="hip6.2"), None, "6.2"),
        (LibraryFile("/w/torch/lib/librccl.so", "rccl", built_for="hip6.2.41133"), None, "6.2"),
        (LibraryFile("/opt/rocm-6.2.4/lib/librccl.so.1", "rccl"), Torch("2.4", hip="6.1.4"), "6.2.4"),
        (LibraryFile("/w/librccl.so", "rccl"), Torch("2.4", hip="6.1.40091-abc"), "6.1"),
        (None, None, "6.3.0"),
    ],
)
def test_the_rocm_that_is_loaded(library: LibraryFile | None, torch: Torch | None, release: str) -> None:
    target = target_of(rocm_node(library, torch))
    assert target.versions["rocm"] == release
    assert (target.platform, target.gpus) == ("rocm", ("gfx942",))


@pytest.mark.parametrize(
    ("ccl", "path"),
    [
        (Ccl("nccl", ["/a", "/b"], "/b"), "/b"),
        (Ccl("nccl", ["/a", "/b"], None), None),
        (Ccl("nccl", ["/a"], None), "/a"),
        (Ccl("nccl", [], None, installed=["/a"]), "/a"),
        (Ccl("nccl", [], None, installed=["/a", "/b"]), None),
        (None, None),
    ],
)
def test_the_library_in_use(ccl: Ccl | None, path: str | None) -> None:
    node = Node(ccl=ccl, libraries={name: LibraryFile(name) for name in ("/a", "/b")})
    found = library_in_use(node)
    assert (found.path if found else None) == path


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("NCCL_ALGO", True), ("NCCL_WHATEVER", True), ("NCLC_DEBUG", True), ("MIOPEN_FIND_MODE", True),
        ("LD_PRELOAD", True), ("LOCAL_WORLD_SIZE", True), ("SLURM_PROCID", True), ("HSA_OVERRIDE_GFX_VERSION", True),
        ("HOME", False), ("PATH", False), ("TF_VAR_password", False), ("AWS_SECRET_ACCESS_KEY", False),
        ("PYTHONSTARTUP", False), ("SLURM_JOB_NAME", False), ("HF_TOKEN", False), ("", False),
    ],
)  # fmt: skip
def test_variables_that_may_be_recorded(name: str, answer: bool) -> None:
    assert recordable(load_catalog())(name) is answer


@pytest.mark.parametrize(
    ("asked", "settings", "level"),
    [
        ("auto", {"NCCL_ALGO": "Ring"}, "hygiene"), ("auto", {"NCCL_DETERMINISTIC": "1"}, "run-to-run"),
        ("auto", {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}, "run-to-run"),
        ("hygiene", {"NCCL_DETERMINISTIC": "1"}, "hygiene"), ("auto", {"TF_CUDNN_DETERMINISTIC": "0"}, "hygiene"),
        ("auto", {"NCCL_ALGO": "Ring", "NCCL_DETERMINISTIC": "1"}, "run-to-run"), ("topology", {}, "topology"),
    ],
)  # fmt: skip
def test_the_level(asked: str, settings: dict[str, str], level: str) -> None:
    assert level_of(asked, [setting(name, value) for name, value in settings.items()]) == level
