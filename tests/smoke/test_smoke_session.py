"""The whole path: real processes, gloo on the CPU, and nodes on which nothing can be run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from smoke_lab import EIGHT_GPUS, FAULTS, ONE_GPU, Lab, has_torch, made

from envdoctor.core.records import replace
from envdoctor.node.smoke.compare import confirm
from envdoctor.node.smoke.compare.agreement import agreements, blindness
from envdoctor.node.smoke.model import Ask, ExperimentResult, SmokeRequest, Suspect
from envdoctor.node.smoke.plan.planner import plan
from envdoctor.node.smoke.run import session as session_module
from envdoctor.node.smoke.run import survey
from envdoctor.node.smoke.run.library import loaded_library, names_of
from envdoctor.node.smoke.run.outcome import classify, shortened
from envdoctor.node.smoke.run.runner import ExperimentRunner, SmokeSetup, Tracing
from envdoctor.node.smoke.run.session import hopeless, run_smoke
from envdoctor.node.smoke.run.tracing import shim_tracing
from envdoctor.node.trace.build import ShimError

pytestmark = pytest.mark.slow

needs_torch = pytest.mark.skipif(not has_torch(), reason="torch is not installed for this interpreter")
SURVEY = {
    "torch": "2.13.0", "cuda": "13.0", "hip": None, "nccl": True, "gloo": True, "masks": {}, "shm_free": 1 << 30,
    "libraries": [{"name": "nccl", "path": "/x/libnccl.so.2", "version_code": 22809}],
    "gpus": [{"name": "H200", "arch": "sm_90", "free": 140 << 30, "total": 141 << 30, "units": 132}],
}  # fmt: skip


@needs_torch
def test_the_whole_path_without_a_fault() -> None:
    seen: list[str] = []
    suspects = (Suspect("NCCL_DETERMINISTIC", "ghost", "1"),)
    request = SmokeRequest({"NCCL_DETERMINISTIC": "1"}, suspects, level="topology", sha256=True)
    session = run_smoke(request, SmokeSetup(cpu=True), progress=seen.append)
    assert [result.status for result in session.results] == ["ok"] * 9, [result.reason for result in session.results]
    assert [(verdict.rule, verdict.reason) for verdict in session.verdicts] == [("inconclusive", "cpu")]
    assert session.claim.startswith("no difference in ")
    assert [found.state for found in session.confirmations] == ["not testable here"]
    assert [(found.ordered, found.agrees) for found in agreements(session.results)] == [
        (False, False),
        (True, True),
    ] * 2
    blind = blindness(session.results)
    assert blind is not None and blind.shown
    assert seen[0] == "import torch" and len(seen) == 11 and session.left == ()
    assert {"import", "survey", "user", "total"} <= session.timings.keys()


@needs_torch
@pytest.mark.parametrize(
    ("fault", "rules"),
    [("flipped_bit", {"ranks-differ", "wrong-sum"}), ("wrong_addend", {"wrong-sum"}),
     ("order_by_repeat", {"repeats-differ"}), ("pairs", {"inconclusive"})],
)  # fmt: skip
def test_the_whole_path_with_a_fault(fault: str, rules: set[str]) -> None:
    session = run_smoke(SmokeRequest(), SmokeSetup(cpu=True, hook=str(FAULTS / f"{fault}.py")))
    found = {verdict.rule for verdict in session.verdicts if verdict.reason not in ("cpu", "hash")}
    assert found - {"inconclusive"} == rules - {"inconclusive"}
    assert (session.claim == "") == (fault != "pairs")


@needs_torch
def test_a_refused_setting_is_left_out_and_the_rest_examined() -> None:
    suspects = (Suspect("NCCL_ALGO", "bad-value", "Rign"),)
    request = SmokeRequest({"NCCL_ALGO": "Rign", "NCCL_X": "1"}, suspects)
    session = run_smoke(request, SmokeSetup(cpu=True, hook=str(FAULTS / "refuses.py")))
    statuses = {result.id: result.status for result in session.results}
    assert statuses == {
        "user": "refused", "restart": "not run", "pinned": "ok", "control": "ok", "without NCCL_ALGO": "ok",
    }  # fmt: skip
    assert session.claim.startswith("no difference in ")
    assert "the library refuses NCCL_ALGO=Rign" in session.verdicts[0].message


@needs_torch
def test_a_traced_run_has_its_own_interpreter_and_folder(tmp_path: Path) -> None:
    """The trace is made of what is there without a shim: `sitecustomize` notes that the interpreter started."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "if 'TRACE_FOLDER' in os.environ:\n"
        "    open(os.environ['TRACE_FOLDER'] + f'/{os.getpid()}', 'w').write(str(os.environ.get('NCCL_LATE')))\n"
    )

    def environment(folder: Path, before: Mapping[str, str]) -> dict[str, str]:
        assert before["NCCL_DETERMINISTIC"] == "1" and not list(folder.iterdir())
        return {"TRACE_FOLDER": str(folder)}

    def read(folder: Path) -> Sequence[Ask]:
        return [Ask("NCCL_DETERMINISTIC", path.read_text()) for path in folder.iterdir()]

    suspects = (Suspect("NCCL_DETERMINISTIC", "ghost", "1"), Suspect("NCCL_LATE", "late", "1"))
    request = SmokeRequest({"NCCL_DETERMINISTIC": "1", "NCCL_LATE": "0"}, suspects, trace=True)
    setup = SmokeSetup(
        environment={**os.environ, "PYTHONPATH": str(tmp_path)}, cpu=True, tracing=Tracing(environment, read)
    )
    session = run_smoke(request, setup)
    assert [result.status for result in session.results] == ["ok"] * 6
    assert session.asked == (Ask("NCCL_DETERMINISTIC", "None"),), "one interpreter started, without the late variable"


@pytest.mark.parametrize(
    ("changes", "cpu", "reason", "words"),
    [
        ({}, False, "", ""),
        ({"cuda": None}, False, "no-gpu-support", "torch 2.13.0 is built without CUDA and without ROCm"),
        ({"gpus": []}, False, "no-gpu", "torch sees no GPU"),
        ({"gpus": [], "masks": {"CUDA_VISIBLE_DEVICES": ""}}, False, "no-gpu", "CUDA_VISIBLE_DEVICES is set and empty"),
        ({"gpus": [], "masks": {"HIP_VISIBLE_DEVICES": "7"}}, False, "no-gpu", "(HIP_VISIBLE_DEVICES=7)"),
        ({"nccl": False}, False, "no-backend", "without the nccl backend"),
        ({"gpus": [{**SURVEY["gpus"][0], "free": 1 << 30}]}, False, "gpu-memory", "1024 MiB free"),  # type: ignore[index]
        ({"cuda": None, "gpus": []}, True, "", ""),
        ({"gloo": False}, True, "no-backend", "no gloo"),
    ],
)
def test_why_nothing_can_be_run(changes: dict[str, object], cpu: bool, reason: str, words: str) -> None:
    found = survey.problem({**SURVEY, **changes}, cpu)
    assert found[0] == reason and words in found[1]


def test_the_node_of_a_survey() -> None:
    node = survey.node_of(SURVEY, False)
    assert (node.platform, node.library, node.library_version, node.rocm_version) == ("cuda", "nccl", (2, 28, 9), ())
    rocm = survey.node_of({**SURVEY, "hip": "6.2.41133-dd7f95766", "cuda": None, "libraries": []}, False)
    assert (rocm.platform, rocm.library, rocm.library_version, rocm.rocm_version) == ("rocm", "rccl", (), (6, 2, 41133))
    assert survey.shared_memory_note(survey.node_of({**SURVEY, "shm_free": 1 << 20}, False))[0].startswith(
        "/dev/shm has 1 M"
    )
    assert survey.shared_memory_note(node) == ()


@pytest.mark.parametrize(("code", "version"), [(22809, (2, 28, 9)), (2708, (2, 7, 8)), (21805, (2, 18, 5))])
def test_library_versions(code: int, version: tuple[int, ...]) -> None:
    assert survey.library_version(code) == version


@pytest.mark.skipif(not has_torch(), reason="torch is not installed for this interpreter")
def test_a_node_without_gpu_support_is_an_answer() -> None:
    session = run_smoke(SmokeRequest({}, (Suspect("NCCL_X", "ghost"),)), SmokeSetup())
    if session.node is not None:
        pytest.skip("this machine has a GPU")
    assert session.reason in ("no-gpu-support", "no-gpu")
    assert [(verdict.rule, verdict.reason) for verdict in session.verdicts] == [("inconclusive", session.reason)]
    assert session.confirmations[0].state == "not testable here" and session.message in session.confirmations[0].reason


def test_no_torch_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('No module named torch', name='torch')")
    session = run_smoke(SmokeRequest(), SmokeSetup(environment={**os.environ, "PYTHONPATH": str(tmp_path)}, cpu=True))
    assert session.reason == "no-torch" and session.verdicts[0].reason == "no-torch"


def test_no_interpreter_and_no_room_are_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_smoke(SmokeRequest(), SmokeSetup((str(tmp_path / "python"),), cpu=True)).reason == "no-interpreter"
    monkeypatch.setattr(session_module.tempfile, "tempdir", str(tmp_path / "gone"))
    assert run_smoke(SmokeRequest(), SmokeSetup(cpu=True)).reason == "work-folder"


def test_what_hangs_again_and_again_is_not_tried_for_ever(lab: Lab) -> None:
    hung = made("user", {}, status="hung")
    assert hopeless([hung]) == "" and hopeless([hung, hung]) == "2 launches hung before"
    stuck = lab.run(fault="hang", timeout=2)
    assert hopeless([stuck]) == ""


@pytest.mark.parametrize(("given", "interface"), [({}, "lo"), ({"NCCL_SOCKET_IFNAME": "eth0"}, "eth0")])
def test_what_the_ranks_of_simulated_nodes_are_given(tmp_path: Path, given: dict[str, str], interface: str) -> None:
    runner = ExperimentRunner(
        SmokeRequest(given), SmokeSetup(environment={"NCCL_HOSTID": "mine", "HOME": "/h"}), tmp_path
    )
    control = plan(SmokeRequest(), ONE_GPU)[3]
    ranks = [entry["environment"] for entry in runner.job(control, ONE_GPU)["ranks"]]
    assert [rank["NCCL_HOSTID"] for rank in ranks] == [f"simulated{number}" for number in range(4)]
    assert {rank["NCCL_SOCKET_IFNAME"] for rank in ranks} == {interface}
    assert {(rank["NCCL_ALGO"], rank["NCCL_DEBUG"], rank["HOME"]) for rank in ranks} == {("Tree", "INFO", "/h")}
    real = runner.job(control, EIGHT_GPUS)["ranks"]
    assert {rank["environment"]["NCCL_HOSTID"] for rank in real} == {"mine"} and len(real) == 8
    assert ("NCCL_SOCKET_IFNAME" in real[0]["environment"]) == bool(given)


def ran(*paths: tuple[str, int], log: str = "") -> ExperimentResult:
    libraries = tuple({"path": path, "version_code": code} for path, code in paths)
    result = made("user", {"wide/fp32/4": "a"}, log)
    return replace(result, ranks=tuple(replace(rank, libraries=libraries) for rank in result.ranks))


@pytest.mark.parametrize(
    ("result", "path"),
    [
        (ran(("/wheel/libnccl.so.2", 22809)), "/wheel/libnccl.so.2"),
        (ran(("/a.so", 22809), ("/b.so", 22803), log="NCCL version 2.28.3+cuda13.0"), "/b.so"),
        (ran(("/a.so", 22809), ("/b.so", 22809), log="NCCL version 2.28.9+cuda13.0"), ""),
        (ran(("/a.so", 22105), ("/b.so", 22105), log="Librccl path : /b.so"), "/b.so"),
        (ran(), ""),
    ],
)
def test_the_library_in_use(result: ExperimentResult, path: str) -> None:
    assert loaded_library([result]) == path
    assert loaded_library([replace(result, status="died")]) == ""


def test_names_of_a_file_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "libnccl.so").write_text("no library")
    assert names_of(str(tmp_path / "libnccl.so")) is None


@needs_torch
def test_a_run_under_the_shim() -> None:
    """Of what gloo asks for: one name that the user set, one that was written late, and one that nobody reads."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            tracing = shim_tracing(Path(scratch), ["GLOO_SOCKET_IFNAME"])
        except ShimError as error:
            pytest.skip(str(error))
        suspects = (Suspect("NCCL_DETERMINISTIC", "ghost", "1"), Suspect("GLOO_SOCKET_IFNAME", "late", "lo"))
        request = SmokeRequest({"NCCL_DETERMINISTIC": "1"}, suspects, trace=True)
        session = run_smoke(request, SmokeSetup(cpu=True, tracing=tracing))
    assert [result.status for result in session.results] == ["ok"] * 6
    assert {ask.variable for ask in session.asked or ()} == {"GLOO_SOCKET_IFNAME"}
    ran_traced = next(result for result in session.results if result.id == "traced")
    assert "NCCL_DETERMINISTIC" not in dict(ran_traced.experiment.late)
    evidence = confirm.Evidence(ONE_GPU, session.results, frozenset({"NCCL_ALGO"}), session.asked)
    assert confirm.confirmation(suspects[0], evidence).state == "confirmed"


def test_plans_name_each_experiment_once() -> None:
    for thorough in (False, True):
        identities = [experiment.id for experiment in plan(SmokeRequest(level="topology", thorough=thorough), ONE_GPU)]
        assert len(identities) == len(set(identities))


@pytest.mark.parametrize(
    ("text", "short"),
    [("NCCL error in: x.cpp\nncclInvalidUsage: y\nLast error:\nDuplicate GPU detected", "Duplicate GPU detected"),
     ("one\ntwo", "one"), ("", ""), ("Last error:\n", "Last error:")],
)  # fmt: skip
def test_the_telling_line_of_a_long_message(text: str, short: str) -> None:
    assert shortened(text) == short


def test_a_full_shared_memory_is_named_by_the_librarys_warning(tmp_path: Path) -> None:
    warning = "Error while creating shared memory segment /dev/shm/nccl-x, error: No space left on device (28)"
    log = f"h:1:1 [0] misc/shmutils.cc:1 NCCL WARN {warning}\nh:1:1 [0] NCCL WARN Connection closed by remote peer"
    failed = made("user", {}, log)
    ranks = [failed.ranks[0].__class__(0, exit=1, error="NCCL error: unhandled system error", last="communicator")]
    assert classify(ranks, failed.log, 25, tmp_path) == ("error", f"rank 0 in communicator: {warning}")


@needs_torch
def test_the_development_entry(tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    command = [sys.executable, "-m", "envdoctor.node.smoke", "--cpu"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    saved = subprocess.run([*command, "--save", golden], env=environment, capture_output=True, text=True, check=False)
    assert (saved.returncode, saved.stderr) == (0, "")
    assert "no difference in" in saved.stdout and "control" in saved.stdout
    again = subprocess.run([*command, "--json", "--against", golden], env=environment, capture_output=True, text=True,
                           check=False)  # fmt: skip
    text, _, line = again.stdout.rpartition("}\n")
    assert line.startswith("against the saved hashes: 0 of ")
    assert json.loads(text + "}")["node"]["platform"] == "cpu"
