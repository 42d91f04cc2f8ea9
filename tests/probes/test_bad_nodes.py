"""Nodes in bad shape: each probe fails alone, is reported, and the rest goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from node_helpers import Answers, by_detail, failed, observed, write
from recorded import folder_of

from envdoctor.node.probes import node as node_module
from envdoctor.node.probes.base import ProbeStatus
from envdoctor.node.probes.node import AFTER, BEFORE, ExaminationState, Probe, attempt, examine
from envdoctor.node.probes.report import Node
from envdoctor.node.probes.runner import CommandResult, RecordedRunner, SystemRunner

HEALTHY = "mi300x-8gpu-rocm-6.2"


def statuses(node: Node) -> Mapping[str, ProbeStatus]:
    return {probe.name: probe for probe in node.probes}


def test_an_empty_container(tmp_path: Path) -> None:
    node = examine(tmp_path, Answers(), "torch")
    assert node.as_json() == {"vendor": "", "gpu": {"count": 0, "physical": 0}}
    assert [probe.name for probe in node.probes] == [probe.name for probe in (*BEFORE, *AFTER)]
    assert {probe.name for probe in node.probes if probe.status == "failed"} == {"limits", "shared memory", "torch"}


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    assert examine(tmp_path / "none", Answers(), "files").gpu.count == 0


@pytest.mark.parametrize("answer", ["garbage", "[", "\0", "{}", "[]", "[" * 200_000, "nul\n" * 9])
def test_helpers_that_print_garbage_change_no_fact_of_the_files(answer: str) -> None:
    garbage = Answers(dict.fromkeys(("rocm", "amd", "hip", "nvidia", "lspci", "stat", "df", "id", "test"), answer))
    node = examine(folder_of(HEALTHY) / "root", garbage, "torch")
    wanted = examine(folder_of(HEALTHY) / "root", Answers(), "files").as_json()
    assert {key: value for key, value in node.as_json().items() if wanted.get(key) != value} == {}
    assert statuses(node)["amd-smi"].status in ("failed", "ok")
    assert "stopped by a fault" not in repr(node.probes)


@pytest.mark.parametrize(
    "result", [failed(0, timed_out=True), failed(-9), failed(1, stderr="x" * 10_000), failed(0, truncated=True)]
)
def test_helpers_that_fail_are_facts(result: CommandResult) -> None:
    node = examine(
        folder_of(HEALTHY) / "root", Answers(dict.fromkeys(("rocm", "amd-smi", "nvidia", "lspci"), result)), "torch"
    )
    assert (node.gpu.count, node.gpu.arch) == (8, "gfx942")
    assert {statuses(node)[name].status for name in ("rocminfo", "amd-smi")} == {"failed"}
    assert all(len(probe.why) < 400 for probe in node.probes)


@pytest.mark.slow
def test_a_hung_rocm_smi_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts that hang stand for all of AMD's helpers; amdgpu's files do not tell the performance level."""
    folder = tmp_path / "bin"
    for name in ("rocm-smi", "amd-smi", "rocminfo"):
        write(folder, {f"/{name}": "#!/bin/sh\nsleep 60\n"})
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(node_module.amd_tools, "SECONDS", 0.3)
    shutil.copytree(folder_of(HEALTHY) / "root", tmp_path / "root")
    for level in (tmp_path / "root/sys/class/drm").glob("card*/device/power_dpm_force_performance_level"):
        level.unlink()
    begin = time.monotonic()
    node = examine(tmp_path / "root", SystemRunner(), "torch", interpreter="/no/such/python")
    assert time.monotonic() - begin < 8
    for name in ("rocm-smi", "amd-smi", "rocminfo"):
        assert (statuses(node)[name].status, statuses(node)[name].why) == ("failed", f"{name} did not answer in time")
    assert (node.gpu.count, node.gpu.perf_level, node.rocm and node.rocm.version) == (8, None, "6.2.0")


class Vanishing(Answers):
    """While the first helper runs, files of the node vanish."""

    def __init__(self, action: Callable[[], None]) -> None:
        super().__init__()
        self.action = action

    def run(self, argv, timeout):  # type: ignore[no-untyped-def]
        self.action()
        return super().run(argv, timeout)


def test_files_that_vanish_while_the_node_is_examined(tmp_path: Path) -> None:
    shutil.copytree(folder_of(HEALTHY) / "root", tmp_path / "root")
    kfd = tmp_path / "root/sys/class/kfd/kfd/topology/nodes"
    node = examine(tmp_path / "root", Vanishing(lambda: shutil.rmtree(kfd / "5", ignore_errors=True)), "files")
    assert (node.gpu.count, node.gpu.all_xgmi) == (7, True)


def test_a_kfd_properties_file_that_vanishes_after_it_was_listed(tmp_path: Path) -> None:
    shutil.copytree(folder_of(HEALTHY) / "root", tmp_path / "root")
    (tmp_path / "root/sys/class/kfd/kfd/topology/nodes/5/properties").unlink()
    node = examine(tmp_path / "root", RecordedRunner(folder_of(HEALTHY) / "commands"), "files")
    assert node.gpu.count == 7
    assert statuses(node)["KFD topology"].status == "ok"


def hanging(state: ExaminationState) -> None:
    time.sleep(30)


def test_a_probe_that_hangs_is_given_up(tmp_path: Path) -> None:
    node = Node()
    view = node_module.NodeView(node_module.NodeFiles(tmp_path), Answers(), node.facts)
    begin = time.monotonic()
    status = attempt(Probe("slow", hanging, seconds=0.2), ExaminationState(view, node))
    assert (status.status, status.why) == ("failed", "no answer in 0 s")
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize(
    "error", [OSError("disk"), ValueError("number"), KeyError("key"), TypeError("type"), IndexError()]
)
def test_a_probe_that_meets_data_nobody_foresaw(tmp_path: Path, error: Exception) -> None:
    def work(state: ExaminationState) -> None:
        state.view.facts.observe("gpu.count", 8, "/half")
        raise error

    node = Node()
    state = ExaminationState(node_module.NodeView(node_module.NodeFiles(tmp_path), Answers(), node.facts), node)
    status = attempt(Probe("odd", work), state)
    assert status.status == "failed"
    assert status.why.startswith(f"unexpected data: {type(error).__name__}")
    assert observed(node.facts, "gpu.count") == [8]


def test_a_fact_that_the_table_of_keys_does_not_know(tmp_path: Path) -> None:
    node = Node()
    state = ExaminationState(node_module.NodeView(node_module.NodeFiles(tmp_path), Answers(), node.facts), node)
    for key, value in (("no.such.key", 1), ("gpu.count", "eight"), ("gpu.count", True), ("gpu.count", None)):
        status = attempt(Probe("odd", lambda s, k=key, v=value: s.view.facts.observe(k, v, "/x")), state)  # type: ignore[misc]
        assert status.status == "failed"
        assert "table of keys" in status.why


def test_64_logical_gpus_in_good_time() -> None:
    folder = folder_of("mi300x-cpx-nps4-rocm-6.3")
    begin = time.monotonic()
    node = examine(folder / "root", RecordedRunner(folder / "commands"), "files")
    assert time.monotonic() - begin < 3
    assert (node.gpu.count, node.gpu.physical, len(node.devices)) == (64, 8, 64)


@pytest.mark.slow
def test_64_gpus_with_all_their_links(tmp_path: Path) -> None:
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    files = {}
    for number in range(64):
        files[f"{nodes}/{number}/properties"] = (
            f"simd_count 152\nsimd_per_cu 4\nio_links_count 63\nunique_id {number // 8}1\n"
        )
        for other in range(64):
            if other != number:
                link = f"type 11\nnode_from {number}\nnode_to {other}\nweight 15\n"
                files[f"{nodes}/{number}/io_links/{other}/properties"] = link
    write(tmp_path, files)
    begin = time.monotonic()
    node = examine(tmp_path, Answers(), "files")
    assert time.monotonic() - begin < 5
    assert (len(node.links), node.gpu.all_xgmi, node.gpu.physical) == (64 * 63 // 2, True, 8)


AS_NOBODY = """
import os, sys
from pathlib import Path
from envdoctor.node.probes.node import examine
from envdoctor.node.probes.runner import RecordedRunner
runner = RecordedRunner(Path(sys.argv[1]))
examine(Path(sys.argv[1]) / "none", runner, "torch")  # imports all there is, which another user may not be able to
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
node = examine(Path(sys.argv[1]), runner, "torch")
print(node.as_json())
for probe in node.probes:
    print(probe.name, probe.status, probe.why, sep="|")
"""


def test_no_permission_anywhere(tmp_path: Path) -> None:
    shutil.copytree(folder_of(HEALTHY) / "root", tmp_path / "root")
    for path in (tmp_path / "root").rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0)
    for path in (tmp_path, *tmp_path.parents):
        if path.owner() == "root" and str(path).startswith("/tmp/"):
            path.chmod(0o755)
    code = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(tmp_path / "root")], cwd="/", capture_output=True, text=True, timeout=60,
        env={"PYTHONPATH": str(code), "PATH": os.environ["PATH"]}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "KFD topology|failed|/sys/class/kfd/kfd/topology/nodes: 10 nodes may not be read" in done.stdout
    assert "environment|failed|/proc/self/environ: permission denied" in done.stdout
    assert "limits|failed|/proc/self/limits: permission denied" in done.stdout


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_file_of_a_node_may_be_garbage(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """One file of a node holds random bytes: nothing raises, and no probe dies of a fault of its own."""
    target = tmp_path_factory.mktemp("node")
    source = folder_of("mi300x-two-rocm-installs") / "root"
    shutil.copytree(source, target / "root", symlinks=True)
    files = sorted(path for path in (target / "root").rglob("*") if path.is_file())
    victim = data.draw(st.sampled_from(files))
    victim.write_bytes(data.draw(st.binary(max_size=400)))
    node = examine(target / "root", Answers(), "torch")
    assert "fault of its own" not in repr(node.probes)
    assert "table of keys" not in repr(node.probes)
    shutil.rmtree(target)


def test_progress_is_told_as_it_happens() -> None:
    heard: list[str] = []
    node = examine(folder_of(HEALTHY) / "root", Answers(), "files", told=lambda status: heard.append(status.name))
    assert heard == [probe.name for probe in node.probes]
    assert {p.name for p in node.probes if p.status == "skipped"} == {"torch", "rocminfo", "amd-smi", "rocm-smi"}


def test_the_name_of_a_node_stands_in_its_facts() -> None:
    node = examine(folder_of(HEALTHY) / "root", RecordedRunner(folder_of(HEALTHY) / "commands"), "files", name="node-3")
    assert node.as_json()["name"] == "node-3"
    assert {o.place.node for o in node.facts.observations} == {"node-3"}


def test_the_predicate_says_what_is_recorded() -> None:
    folder = folder_of("h100-8gpu-cuda-12.4")
    node = examine(folder / "root", RecordedRunner(folder / "commands"), "files", known=lambda name: name == "LANG")
    assert [s.name for s in node.facts.settings] == ["LANG"]


def test_a_plain_machine_is_quick() -> None:
    begin = time.monotonic()
    node = examine(Path("/"), SystemRunner(), "files")
    assert time.monotonic() - begin < 3
    assert isinstance(node.as_json()["gpu"]["count"], int)
    assert by_detail(node.facts, "host.kernel") == {"": Path("/proc/sys/kernel/osrelease").read_text().strip()}


def test_a_probe_whose_module_is_missing_says_which(tmp_path: Path) -> None:
    def work(state: ExaminationState) -> None:
        raise ModuleNotFoundError("No module named 'rapidfuzz'")

    state = ExaminationState(node_module.NodeView(node_module.NodeFiles(tmp_path), Answers(), Node().facts), Node())
    status = attempt(Probe("odd", work), state)
    assert (status.status, status.why) == (
        "failed",
        "a module that envdoctor needs is missing: No module named 'rapidfuzz'",
    )
