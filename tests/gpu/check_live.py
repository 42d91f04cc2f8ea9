"""What has to be seen of `envdoctor live` and `envdoctor trace` on a real GPU node, as one command.

    python3 tests/gpu/check_live.py --out FOLDER

Runs every part as a user would, times it, and prints one line a check. Needs torch with CUDA and at least one GPU.
Exit status: 0 all hold, 1 one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


class Checks:
    """Runs commands and keeps what came out."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.failed: list[str] = []
        self.seconds: dict[str, float] = {}

    def holds(self, what: str, fact: object) -> None:
        """One line a check."""
        print(f"{'ok  ' if fact else 'FAIL'} {what}", flush=True)
        if not fact:
            self.failed.append(what)

    def run(self, name: str, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """One command, timed; its output is kept."""
        start = time.monotonic()
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", **(env or {})}
        result = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        self.seconds[name] = round(time.monotonic() - start, 2)
        (self.out / f"{name}.txt").write_text(f"{result.stdout}\n--- {result.returncode}\n{result.stderr}")
        return result

    def live(self, name: str, *words: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """`envdoctor live --format json`."""
        result = self.run(name, sys.executable, "-m", "envdoctor", "live", "--format", "json", *words, env=env)
        try:
            found: dict[str, Any] = json.loads(result.stdout)
        except ValueError:
            self.holds(f"{name}: a report", False)
            print(result.stderr[-1500:])
            return {"findings": [], "experiments": [], "node": {}, "smoke": "", "smoke_test": {}}
        return found


def smi(field: str) -> list[str]:
    """What nvidia-smi says, one value a GPU."""
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"]
    return [line.strip() for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines()]


def sheet(checks: Checks) -> None:
    """The fact sheet against nvidia-smi, and its record examined again."""
    files = checks.live("files", "--no-torch")
    checks.holds("--no-torch under 3 s", checks.seconds["files"] < 3)
    whole = checks.live("torch", "--no-smoke", "--record", str(checks.out / "record"))
    text = json.dumps([whole["node"], whole["details"]])
    checks.holds("driver version as nvidia-smi", smi("driver_version")[0] in text)
    checks.holds("GPU name as nvidia-smi", smi("name")[0] in text)
    checks.holds("number of GPUs", len(smi("name")) == (whole["node"].get("gpu") or {}).get("count"))
    checks.holds(
        "the files-only sheet has no other GPU", files["node"].get("gpu", {}).get("count") in (None, len(smi("name")))
    )
    again = checks.live("recorded", "--recorded", str(checks.out / "record"))
    checks.holds("the record gives the same node", again["node"] == whole["node"])


def smoke(checks: Checks) -> None:
    """Confirmations on launches with planted faults."""
    faulty = checks.live("faulty", "--script", "tests/gpu/faulty.sh", "--level", "run-to-run")
    states = {f["variable"]: f["confirmation"] for f in faulty["findings"] if f["confirmation"]}
    print(json.dumps(states, indent=1))
    checks.holds("ghost confirmed", (states.get("NCCL_DETERMINISTIC") or {}).get("state") == "confirmed")
    checks.holds("misnamed confirmed", (states.get("RCCL_ALGO") or {}).get("state") == "confirmed")
    refused = checks.live("refused", "--script", "tests/gpu/refused.sh")
    states = {f["variable"]: f["confirmation"] for f in refused["findings"] if f["confirmation"]}
    checks.holds("bad value confirmed", (states.get("NCCL_ALGO") or {}).get("state") == "confirmed")
    golden = str(checks.out / "golden.json")
    clean = checks.live("clean", "--script", "tests/gpu/clean.sh", "--save", golden)
    wrong = [f for f in clean["findings"] if f["severity"] == "error" and f["path"].endswith("clean.sh")]
    checks.holds("nothing on a clean script", not wrong)
    checks.holds("a claim of what was compared", "no difference in" in clean["smoke"])
    kept = checks.live("against", "--script", "tests/gpu/clean.sh", "--against", golden)
    checks.holds("equal to the golden hashes", "against the saved hashes: 0 of" in kept["smoke"])
    for level in ("placement", "topology"):
        found = checks.live(level, "--script", "tests/gpu/clean.sh", "--level", level)
        checks.holds(f"{level}: ran", all(e["status"] == "ok" for e in found["experiments"]) and found["experiments"])


def trace(checks: Checks) -> None:
    """One ghost, one misnamed, one real and one late setting told apart in a traced AllReduce."""
    output = checks.out / "trace.json"
    ranks = str(min(2, len(smi("name"))))
    # NCCL 2.28.9 asks for its tuning only where there is something to tune: not for a single rank.
    real = {"NCCL_DEBUG": "VERSION"} if ranks == "1" else {"NCCL_DEBUG": "VERSION", "NCCL_PROTO": "Simple"}
    env = {"NCCL_DETERMINISTIC": "1", "RCCL_ALGO": "Tree", **real}
    words = ["-m", "envdoctor", "trace", "--output", str(output), "--", sys.executable, "-m", "torch.distributed.run"]
    result = checks.run("trace", sys.executable, *words, f"--nproc_per_node={ranks}", "tests/gpu/allreduce.py", env=env)
    checks.holds("the traced program's own output and status", result.returncode == 0 and "sum" in result.stdout)
    settings = {s["variable"]: s for s in json.loads(output.read_text())["settings"]} if output.exists() else {}
    asked = {name: [a["library"] for a in settings.get(name, {}).get("asked", [])] for name in (*env, "NCCL_BUFFSIZE")}
    print(json.dumps(asked), {n: settings.get(n, {}).get("late") for n in asked})
    checks.holds("ghost never asked for", asked["NCCL_DETERMINISTIC"] == [] and "NCCL_DETERMINISTIC" in settings)
    checks.holds("misnamed never asked for", asked["RCCL_ALGO"] == [] and "RCCL_ALGO" in settings)
    for name in real:
        checks.holds(f"{name} asked for by libnccl", any("nccl" in library for library in asked[name]))
    checks.holds("late said to be late", settings.get("NCCL_BUFFSIZE", {}).get("late"))


def agents(checks: Checks) -> None:
    """torchrun with one agent, and with two as two simulated nodes."""
    single = ["-m", "torch.distributed.run", "--nproc_per_node=1", "tests/gpu/allreduce.py"]
    checks.holds("one agent", "sum" in checks.run("one-agent", sys.executable, *single).stdout)
    if len(smi("name")) < 2:
        return
    script = (
        f"for r in 0 1; do NCCL_HOSTID=node$r CUDA_VISIBLE_DEVICES=$r {sys.executable} -m torch.distributed.run "
        "--nnodes=2 "
        "--node_rank=$r --nproc_per_node=1 --rdzv_endpoint=127.0.0.1:29511 --master_addr=127.0.0.1 --master_port=29511 "
        "tests/gpu/allreduce.py & done; wait"
    )
    result = checks.run("two-agents", "bash", "-c", script, env={"NCCL_SOCKET_IFNAME": "lo"})
    checks.holds("two agents, two simulated nodes", "of 2 ranks" in result.stdout)


def blocks(checks: Checks) -> None:
    """The blocks that `envdoctor env` prints: repeats and restarts agree, and the log shows each setting read."""
    for level in ("run-to-run", "placement"):
        target = "nccl-2.28.9,torch-2.11,h100"
        command = (sys.executable, "-m", "envdoctor", "env", "--level", level, "--target", target, "--format", "shell")
        printed = checks.run(f"env-{level}", *command).stdout
        # The graph file is the site's own: there is none on this node.
        block = "\n".join(line for line in printed.splitlines() if "NCCL_GRAPH_FILE" not in line)
        script = checks.out / f"block-{level}.sh"
        script.write_text(f"#!/bin/bash\n{block}\ntorchrun --nproc_per_node=2 tests/gpu/allreduce.py\n")
        found = checks.live(f"block-{level}", "--script", str(script), "--level", level)
        user = next((e for e in found["experiments"] if e["role"] == "user"), {"status": "", "read": {}})
        checks.holds(f"{level} block: ran", user["status"] == "ok")
        differing = [f for f in found["findings"] if f["name"] in ("repeats-differ", "restart-differs", "ranks-differ")]
        checks.holds(f"{level} block: repeats, restarts and ranks agree", not differing)
        names = [line.split()[1].split("=")[0] for line in block.splitlines() if line.startswith("export NCCL_")]
        unread = [name for name in names if name not in user["read"]]
        checks.holds(f"{level} block: each of {names} is read (not seen: {unread})", names and not unread)


def attempt(name: str, part: Callable[[Checks], None], checks: Checks) -> None:
    """Run one part; one that breaks is a check that does not hold, and the others run all the same."""
    try:
        part(checks)
    except (subprocess.TimeoutExpired, KeyError, ValueError, OSError) as error:
        checks.holds(f"{name}: {type(error).__name__}: {error}", False)


def main() -> int:
    """Run every part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=["sheet", "trace", "smoke", "agents", "blocks"])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    checks = Checks(arguments.out)
    parts = {"sheet": sheet, "smoke": smoke, "trace": trace, "agents": agents, "blocks": blocks}
    for name in arguments.only:
        attempt(name, parts[name], checks)
    print(json.dumps(checks.seconds))
    print(f"failed: {checks.failed}")
    return int(bool(checks.failed))


if __name__ == "__main__":
    sys.exit(main())
