"""torch read from its files, then asked in a real child process (with a stand-in for torch), and MIOpen."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import Answers, by_detail, failed, observed, view_of
from recorded import NAMES, entries_of

from envdoctor.node.probes.amd import miopen
from envdoctor.node.probes.base import Absent, ProbeFailed
from envdoctor.node.probes.children import TORCH, child_argv
from envdoctor.node.probes.parts import Device, Rocm, Torch
from envdoctor.node.probes.runner import SystemRunner
from envdoctor.node.probes.torch import probe as torch_probe
from envdoctor.node.probes.torch import pythons
from envdoctor.node.probes.torch.gpus import take_integrated
from envdoctor.node.probes.torch.probe import parse_report, parse_version_file, torch_child_probe, torch_files_probe

SITE = "/venv/lib/python3.12/site-packages"
VERSION = "__version__ = '2.5.1+rocm6.2'\ndebug = False\ncuda: Optional[str] = None\nhip: Optional[str] = '6.2.4'\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (VERSION, {"__version__": "2.5.1+rocm6.2", "cuda": None, "hip": "6.2.4"}),
        ('__version__ = "2.9.0"\ncuda = "13.0"\nhip = None\n', {"__version__": "2.9.0", "cuda": "13.0", "hip": None}),
        ("import os\n__version__ = os.environ['X']\nhip = f()\n", {}),
        ("", {}),
    ],
)
def test_version_files(text: str, found: dict[str, str | None]) -> None:
    assert parse_version_file(text) == found


@given(st.text())
def test_any_version_file(text: str) -> None:
    parse_version_file(text)


def test_torch_and_its_libraries(tmp_path: Path) -> None:
    files = {f"{SITE}/torch/version.py": VERSION, "/venv/bin/python3.12": ""}
    files |= {f"{SITE}/torch/lib/{name}": "" for name in ("librccl.so", "libtorch_hip.so", "libMIOpen.so")}
    files |= {f"{SITE}/nvidia_nccl_cu12-2.27.3.dist-info/METADATA": ""}
    view = view_of(tmp_path, files)
    torch = torch_files_probe(view, [SITE])
    assert (torch.version, torch.hip, torch.cuda) == ("2.5.1+rocm6.2", "6.2.4", None)
    assert torch.interpreter == "/venv/bin/python3.12"
    assert [str(v).rpartition("/")[2] for v in observed(view.facts, "torch.bundled")] == ["libMIOpen.so", "librccl.so"]
    assert by_detail(view.facts, "torch.wheel") == {"nvidia-nccl-cu12": "2.27.3"}


def test_the_first_torch_counts_and_each_is_told(tmp_path: Path) -> None:
    other = "/usr/lib/python3/dist-packages"
    files = {f"{SITE}/torch/version.py": VERSION, f"{other}/torch/version.py": "__version__ = '2.0.0'\n"}
    view = view_of(tmp_path, files)
    assert torch_files_probe(view, [SITE, other]).version == "2.5.1+rocm6.2"
    assert by_detail(view.facts, "torch.version") == {SITE: "2.5.1+rocm6.2", other: "2.0.0"}


def test_no_torch(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        torch_files_probe(view_of(tmp_path, {f"{SITE}/torch/version.py": "garbage"}), [SITE])


def test_where_site_packages_are_looked_for(tmp_path: Path) -> None:
    folders = [
        "/mapped/lib/python3.9/site-packages",
        "/active/lib/python3.12/site-packages", "/active/lib/python3.9/site-packages",
        "/onpath/lib64/python3.11/site-packages", "/extra/dist-packages", "/usr/lib/python3/dist-packages",
        "/home/u/.local/lib/python3.11/site-packages",
    ]  # fmt: skip
    files = {f"{folder}/x": "" for folder in folders} | {"/onpath/bin/python3": "", "/nopython/bin/x": ""}
    environment = {
        "VIRTUAL_ENV": "/active", "PATH": "/nopython/bin:/onpath/bin", "PYTHONPATH": "rel:/extra/dist-packages",
        "HOME": "/home/u",
    }  # fmt: skip
    view = view_of(tmp_path, files, environment=environment, mapped=[f"{folders[0]}/torch/lib/libtorch.so"])
    found = pythons.site_packages(view)
    assert found[0] == folders[0]
    assert found[1:] == ["/extra/dist-packages", *folders[1:4], *folders[5:]]


@pytest.mark.parametrize(
    ("folder", "program", "interpreter"),
    [
        (SITE, "/venv/bin/python3.12", "/venv/bin/python3.12"),
        (SITE, "/venv/bin/python", "/venv/bin/python"),
        ("/usr/lib/python3/dist-packages", "/usr/bin/python3", "/usr/bin/python3"),
        (SITE, "/other/bin/python3", ""),
        ("/extra", "/extra/bin/python3", ""),
    ],
)
def test_the_interpreter_of_a_folder(tmp_path: Path, folder: str, program: str, interpreter: str) -> None:
    assert pythons.interpreter_of(view_of(tmp_path, {program: ""}).files, folder) == interpreter


STAND_IN = """
import sys, types
print("noise on stdout while importing")
__version__ = "2.9.0+cpu"
class version: hip = None; cuda = None
class _Matmul: allow_tf32 = False; allow_bf16_reduced_precision_reduction = True
class backends:
    class cuda: matmul = _Matmul()
    class cudnn:
        allow_tf32 = True; benchmark = False; deterministic = False
class cuda:
    is_available = staticmethod(lambda: False)
    device_count = staticmethod(lambda: 0)
    class nccl:
        @staticmethod
        def version(): raise AttributeError("no NCCL in this build")
class __config__: show = staticmethod(lambda: "PyTorch built with:\\n  - MIOpen 3.2.0\\n  BUILD_TYPE=Release, x")
def are_deterministic_algorithms_enabled(): return False
def get_float32_matmul_precision(): return "highest"
"""


def child(folder: Path, source: str | None) -> tuple[SystemRunner, str]:
    """A runner whose Python finds the stand-in as torch."""
    if source is not None:
        (folder / "torch").mkdir(parents=True)
        (folder / "torch/__init__.py").write_text(source)
    return SystemRunner({"PYTHONPATH": str(folder)}), sys.executable


def test_the_child_prints_a_report_and_nothing_else(tmp_path: Path) -> None:
    runner, interpreter = child(tmp_path, STAND_IN)
    result = runner.run(child_argv(interpreter, TORCH), 60)
    report = json.loads(result.stdout)
    assert "noise" in result.stderr
    assert report["torch"] == "2.9.0+cpu"
    assert report["torch.cuda.nccl.version"] is None
    assert report["torch.backends.cudnn.allow_tf32"] is True
    assert report["ncclGetVersion.by_path"] == {}
    assert report["mapped"] == []


def test_the_child_imports_nothing_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('wrong json')")
    (tmp_path / "torch.py").write_text("raise SystemExit('wrong torch')")
    monkeypatch.chdir(tmp_path)
    report = json.loads(SystemRunner({}).run(child_argv(sys.executable, TORCH), 60).stdout)
    assert "wrong" not in json.dumps(report)
    if importlib.util.find_spec("torch") is None:
        assert "No module named 'torch'" in report["error"]


def test_facts_of_the_child(tmp_path: Path) -> None:
    runner, interpreter = child(tmp_path, STAND_IN)
    view = view_of(tmp_path / "node")
    view.runner = runner
    torch = torch_child_probe(view, None, interpreter)
    assert torch.version == "2.9.0+cpu"
    assert observed(view.facts, "torch.cudnn_allow_tf32") == [True]
    assert observed(view.facts, "torch.device_count") == [0]
    assert observed(view.facts, "torch.build_type") == ["Release"]
    assert {o.detail for o in view.facts.observations if o.key == "torch.matmul_allow_tf32"} == {"fresh process"}


@pytest.mark.parametrize(
    ("source", "error", "why"),
    [
        pytest.param(
            None,
            Absent,
            "has no torch",
            marks=pytest.mark.skipif(bool(importlib.util.find_spec("torch")), reason="torch is beside the tests"),
        ),
        ("raise OSError('libamdhip64.so.6: cannot open shared object file')", ProbeFailed, "libamdhip64.so.6"),
        ("raise RuntimeError('HIP error')", ProbeFailed, "HIP error"),
        ("import os; os.abort()", ProbeFailed, "ended with status -6"),
        ("raise SystemExit(4)", ProbeFailed, "ended with status 4"),
    ],
)
def test_a_torch_that_does_not_import(tmp_path: Path, source: str | None, error: type[Exception], why: str) -> None:
    runner, interpreter = child(tmp_path, source)
    view = view_of(tmp_path / "node")
    view.runner = runner
    with pytest.raises(error, match=why):
        torch_child_probe(view, None, interpreter)


@pytest.mark.parametrize("text", ["", "garbage", "[1]", "3", "{", "null", '{"a": ' * 5000])
def test_a_report_that_is_none(text: str) -> None:
    with pytest.raises(ProbeFailed):
        parse_report(text)


def test_a_report_after_other_output() -> None:
    assert parse_report('warning\n{"torch": "2"}\n') == {"torch": "2"}


def test_a_child_that_hangs(tmp_path: Path) -> None:
    runner = Answers({"python3 -c": failed(-9, timed_out=True)})
    with pytest.raises(ProbeFailed, match="did not answer in time"):
        torch_child_probe(view_of(tmp_path, runner=runner), None)


def test_values_of_other_types_are_no_facts(tmp_path: Path) -> None:
    report = {"torch": 3, "torch.cuda.device_count": "many", "torch.cuda.is_available": None, "gcnArchName": 7}
    view = view_of(tmp_path, runner=Answers({"python3": json.dumps(report)}))
    assert torch_child_probe(view, Torch("2.0")).version == "2.0"
    assert view.facts.observations == []


@pytest.mark.parametrize(
    ("report", "arch"),
    [
        ({"gcnArchName": "gfx942:sramecc+:xnack-"}, "gfx942"),
        ({"capability": [9, 0]}, "sm_90"),
        ({"capability": "9.0"}, None),
        ({}, None),
    ],
)
def test_architecture_as_torch_says_it(report: dict[str, object], arch: str | None) -> None:
    assert torch_probe.arch_of(report) == arch


MIOPEN = "#define MIOPEN_VERSION_MAJOR 3\n#define MIOPEN_VERSION_MINOR 2\n#define MIOPEN_VERSION_PATCH 0\n"


def test_miopen_of_the_default_install(tmp_path: Path) -> None:
    files = {"/opt/a/include/miopen/version.h": MIOPEN, "/opt/b/include/miopen/version.h": MIOPEN.replace("3", "9")}
    view = view_of(tmp_path, files, mapped=["/opt/b/lib/libMIOpen.so.1"])
    report = {"torch.__config__.show": "  - MIOpen 3.4.0\n"}
    found = miopen.miopen_probe(view, Rocm("6", "", "/opt/a", ["/opt/b", "/opt/a"]), report)
    assert (found.version, found.loaded) == ("3.2.0", ["/opt/b/lib/libMIOpen.so.1"])
    assert observed(view.facts, "miopen.torch_version") == ["3.4.0"]


def test_miopen_of_torch_alone_and_its_user_database(tmp_path: Path) -> None:
    folder = "/home/u/.config/miopen"
    files = {f"{folder}/gfx942130.HIP.3_2_0.ufdb.txt": "", f"{folder}/gfx942130.udb.txt": "", f"{folder}/other": ""}
    environment = {"HOME": "/home/u", "MIOPEN_FIND_MODE": "FAST", "MIOPEN_FIND_ENFORCE": "3"}
    view = view_of(tmp_path, files, environment=environment)
    found = miopen.miopen_probe(view, None, {"torch.__config__.show": "  - MIOpen 3.4.0\n"})
    assert (found.version, found.user_db) == ("3.4.0", None)
    assert by_detail(view.facts, "miopen.user_db_files") == {folder: 2}
    assert (observed(view.facts, "miopen.find_mode"), observed(view.facts, "miopen.find_enforce")) == (["FAST"], ["3"])


@pytest.mark.parametrize("report", [{}, {"torch.__config__.show": 3}, {"torch.__config__.show": "- MIOpen x"}])
def test_no_miopen(tmp_path: Path, report: dict[str, object]) -> None:
    with pytest.raises(Absent):
        miopen.miopen_probe(view_of(tmp_path), None, report)


def test_recorded_reports_are_understood() -> None:
    reports = [e.content for name in NAMES for e in entries_of(name) if e.path == "commands/torch_info.json"]
    assert len(reports) > 5
    for report in reports:
        assert parse_report(report.decode())["torch"]


def test_parts_of_the_processor_as_torch_tells_them() -> None:
    devices = [Device(0, "amd"), Device(1, "amd"), Device(2, "nvidia", integrated=True)]
    take_integrated(devices, {"devices": [{"integrated": 1}, {"integrated": 0}, {"integrated": None}]})
    assert [device.integrated for device in devices] == [True, None, True]
    take_integrated(devices[1:2], {"devices": [{"integrated": 1}, {"integrated": 1}]})  # which is which is not known
    assert devices[1].integrated is None
