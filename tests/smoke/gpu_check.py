"""What has to be seen on a real GPU, as one command: `python3 tests/smoke/gpu_check.py [--out DIR]`.

Prints JSON: for each scenario its verdicts, confirmations and timings, and the checks with what was expected. Needs
nothing but the Python that torch is installed for. Exit status: 0 all checks hold, 1 one does not, 2 no GPU to test.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent.parent), str(HERE)]

from smoke_lab import marked  # noqa: E402

from envdoctor.node.smoke.compare import golden  # noqa: E402
from envdoctor.node.smoke.compare.matrix import matrix, render  # noqa: E402
from envdoctor.node.smoke.export import session_data  # noqa: E402
from envdoctor.node.smoke.model import SmokeRequest, Suspect  # noqa: E402
from envdoctor.node.smoke.run.runner import SmokeSetup, Tracing  # noqa: E402
from envdoctor.node.smoke.run.session import Session, run_smoke  # noqa: E402
from envdoctor.node.smoke.run.tracing import shim_tracing  # noqa: E402
from envdoctor.node.trace.build import ShimError  # noqa: E402

GOAL = 30.0
FAULTY = {"NCCL_DETERMINISTIC": "1", "RCCL_ALGO": "Tree"}
FAULTS = (
    Suspect("NCCL_DETERMINISTIC", "ghost", "1"),
    Suspect("RCCL_ALGO", "misnamed", "Tree", meant="NCCL_ALGO"),
    Suspect("NCCL_ALGO", "unpinned"),
    Suspect("NCCL_BUFFSIZE", "late", "1048576"),
)
REFUSED = {"NCCL_ALGO": "Rign", "NCCL_DETERMINISTIC": "1"}
PINNED = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
HANG = """
import time
import torch.distributed as dist
def all_reduce(tensor, context):
    if context["rank"] == 1 and context["case"].startswith("wide/fp32/65536"):
        time.sleep(1000)
    dist.all_reduce(tensor)
"""


class Check:
    """The scenarios, what came out, and the checks."""

    def __init__(self, out: Path | None, cpu: bool) -> None:
        self.out, self.cpu = out, cpu
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
        self.mark = f"mark-{uuid.uuid4()}"
        self.environment = {**os.environ, "ENVDOCTOR_TEST": self.mark}
        self.checks: dict[str, bool] = {}
        self.scenarios: dict[str, Any] = {}
        self.tracing: Tracing | None = None
        self.no_trace = ""

    def expect(self, words: str, holds: bool) -> None:
        """Note one check."""
        self.checks[words] = bool(holds)

    def run(self, name: str, request: SmokeRequest, environment: Mapping[str, str] | None = None, hook: str | None = None,
            python: str = sys.executable) -> Session:  # fmt: skip
        """Run one scenario and keep what it gave."""
        begin = time.monotonic()
        setup = SmokeSetup((python,), {**self.environment, **(environment or {})}, self.cpu, self.tracing, hook)
        session = run_smoke(request, setup)
        data = session_data(session)
        self.scenarios[name] = shortened(data, session) | {"wall": round(time.monotonic() - begin, 2)}
        if self.out:
            (self.out / f"{name.replace(' ', '-')}.json").write_text(json.dumps(data, indent=1))
        self.expect(f"{name}: no process is left", not marked(self.mark) and not session.left)
        return session


def shortened(data: dict[str, Any], session: Session) -> dict[str, Any]:
    """What fits a terminal: all but the hashes."""
    kept = ("reason", "message", "placement", "library", "notes", "claim", "timings", "agreements", "blind", "node")
    found = {name: data[name] for name in kept if data[name]}
    found["verdicts"] = [f"{verdict.rule} ({verdict.reason}): {verdict.message}" for verdict in session.verdicts]
    found["confirmations"] = [
        f"{item.suspect.name} ({item.suspect.kind}): {item.state}: {item.reason}" for item in session.confirmations
    ]
    found["experiments"] = [
        {
            "id": result.id,
            "status": result.status,
            "reason": result.reason,
            "seconds": result.seconds,
            "communicator": [rank.communicator_seconds for rank in result.ranks],
            "cases": [round(rank.cases_seconds, 2) for rank in result.ranks],
            "peak MiB": [rank.peak >> 20 for rank in result.ranks],
        }
        for result in session.results
    ]
    found["choices"] = {entry["id"]: entry["choices"] for entry in data["experiments"]}
    found["asked"] = sorted({f"{ask.variable} by {ask.library}: {ask.value}" for ask in session.asked or ()})[:80]
    found["matrix"] = render(matrix(session.results)).splitlines() if session.results else []
    return found


def states(session: Session) -> dict[str, str]:
    """Kind of finding -> state."""
    return {item.suspect.kind: item.state for item in session.confirmations}


def faulty(check: Check) -> None:
    """The script with a ghost, a wrong name, an unpinned algorithm and a late write: the timed quick matrix."""
    session = check.run("faulty", SmokeRequest(FAULTY, FAULTS, trace=check.tracing is not None))
    if session.node is None:
        return
    found = states(session)
    check.expect("faulty: all experiments ended well", all(result.status == "ok" for result in session.results))
    check.expect("faulty: unpinned confirmed", found["unpinned"] == "confirmed")
    check.expect("faulty: the library in use is known", session.library)
    if check.tracing:
        for kind in ("ghost", "misnamed", "late"):
            check.expect(f"faulty: {kind} confirmed", found[kind] == "confirmed")
    check.expect("faulty: no verdict", not session.verdicts)
    check.expect("faulty: a claim of what was compared", session.claim.startswith("no difference in "))
    check.expect(f"faulty: quick matrix under {GOAL:.0f} s", session.timings["total"] < GOAL)


def refused(check: Check) -> None:
    """A value that this library refuses: a verdict, and the rest is examined all the same."""
    suspects = (Suspect("NCCL_ALGO", "bad-value", "Rign"), Suspect("NCCL_DETERMINISTIC", "ghost", "1"))
    session = check.run("refused", SmokeRequest(REFUSED, suspects, trace=check.tracing is not None))
    found = states(session)
    check.expect("refused: bad value confirmed", found.get("bad-value") == "confirmed")
    if check.tracing:
        check.expect("refused: ghost confirmed all the same", found.get("ghost") == "confirmed")
    check.expect("refused: a verdict, not a crash", any(v.reason == "refused" for v in session.verdicts))
    check.expect("refused: the rest was compared", session.claim.startswith("no difference in "))


def clean(check: Check) -> None:
    """The same script without faults: nothing, and no claim beyond what was compared; golden hashes and back."""
    session = check.run("clean", SmokeRequest(PINNED, sha256=True))
    check.expect("clean: no verdict", not session.verdicts and session.node is not None)
    check.expect("clean: the claim counts comparisons", session.claim.startswith("no difference in "))
    if session.node is None:
        return
    user, pinned = (next(r for r in session.results if r.id == name) for name in ("user", "pinned"))
    case = user.experiment.cases[0].id
    check.expect(
        "clean: the pinned run equals the user's, which is pinned too", user.agreed(case) == pinned.agreed(case)
    )
    kept = golden.golden(session.request, session.node, session.results)
    again = check.run("clean again", SmokeRequest(PINNED))
    assert again.node is not None
    found = golden.against(kept, golden.golden(again.request, again.node, again.results))
    check.scenarios["golden"] = {"compared": found.compared, "differing": found.differing, "refused": found.refused}
    check.expect("clean: equal to the golden hashes of a minute before", found.compared and not found.differing)


def topology(check: Check) -> None:
    """Which sums survive another number of ranks; what a blind test sees; the thorough toggles."""
    session = check.run("topology", SmokeRequest({}, level="topology", toggles=(("NCCL_MAX_NCHANNELS", "1"),)))
    data = session_data(session)
    ordered = [item["agrees"] for item in data["agreements"] if item["ordered"]]
    check.expect("topology: the ordered reduction agrees for all numbers of ranks", ordered and all(ordered))
    check.expect("topology: equal inputs hide the ring order", data["blind"] and data["blind"]["shown"])


def hang(check: Check) -> None:
    """One rank never comes, the others' kernels spin on the GPU: ended within the limit and named."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(HANG)
        file.flush()
        session = check.run("hang", SmokeRequest({}), hook=file.name)
    hung = [result for result in session.results if result.status == "hung"]
    check.expect("hang: two launches hung, no more were tried", len(hung) == 2)
    check.expect("hang: the rank is named", hung and "rank 1 in all_reduce" in hung[0].reason)


def ended(check: Check) -> None:
    """SIGTERM and SIGKILL to the whole program in the middle of a launch."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        command = [sys.executable, "-m", "envdoctor.node.smoke", *(["--cpu"] if check.cpu else [])]
        environment = {**check.environment, "PYTHONPATH": sys.path[0]}
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
        deadline = time.monotonic() + 60
        while len(marked(check.mark)) < 6 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        seen = len(marked(check.mark))
        time.sleep(0.5)
        process.send_signal(number)
        process.wait(30)
        time.sleep(2)
        check.expect(f"{number.name}: ranks ran ({seen} processes), none is left", seen >= 6 and not marked(check.mark))


def masked(check: Check) -> None:
    """No GPU visible, and no torch: answers, not crashes."""
    session = check.run("masked", SmokeRequest({}), {"CUDA_VISIBLE_DEVICES": ""})
    check.expect("masked: no GPU, and why", session.reason == "no-gpu" and "set and empty" in session.message)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "torch.py").write_text("raise ModuleNotFoundError('No module named torch', name='torch')")
        session = check.run("no torch", SmokeRequest({}), {"PYTHONPATH": folder})
    check.expect("no torch: said so", session.reason == "no-torch")


def main() -> int:
    """Run all scenarios."""
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path, help="folder for the full JSON of each scenario")
    options.add_argument("--only", nargs="*", default=[], help="names of scenarios")
    options.add_argument("--cpu", action="store_true", help="rehearse the script on gloo; what needs a GPU fails")
    chosen = options.parse_args()
    check = Check(chosen.out, chosen.cpu)
    scenarios: tuple[Callable[[Check], None], ...] = (faulty, refused, clean, topology, hang, ended, masked)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            names = [suspect.name for suspect in FAULTS]
            check.tracing = shim_tracing(Path(scratch), names)
        except ShimError as error:
            check.no_trace = str(error)
        for scenario in scenarios:
            if not chosen.only or scenario.__name__ in chosen.only:
                scenario(check)
            if scenario is faulty and check.scenarios.get("faulty", {}).get("node") is None and not chosen.only:
                break
    failed = [words for words, holds in check.checks.items() if not holds]
    report = {"no_trace": check.no_trace, "scenarios": check.scenarios, "checks": check.checks, "failed": failed}
    print(json.dumps(report, indent=1, default=str))
    print(f"{len(check.checks) - len(failed)} of {len(check.checks)} checks hold; failed: {failed}", file=sys.stderr)
    if "faulty" in check.scenarios and check.scenarios["faulty"].get("node") is None:
        return 2
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
