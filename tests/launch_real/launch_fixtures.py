"""Real launchers on one machine: what a rank has of the caller's variables.

Other hosts are imitated where a launcher starts them through a remote shell: the shell that it calls is a script that
does what sshd does, a fresh environment and a shell. Slurm and sshd are the real daemons, started for the test alone.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

CALLER = {"T_A": "a", "T_B": "b", "NCCL_TA": "n", "OMPI_MCA_T": "o"}
"""What the caller exports; the values say the names apart."""
REMOTE_SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do
  case "$1" in -o|-l|-p|-i|-F) shift;; esac
  shift
done
host=$1; shift
[ "$1" = -- ] && shift
exec env -i HOME="$HOME" PATH="$PATH" SHELL=/bin/sh ON="$host" sh -c "$*"
"""
PROBE = """#!/bin/sh
echo "rank on ${ON:-here}:" $(env | grep -E '^(T_[A-Z]|NCCL_T[A-Z])=' | sort)
"""


def script(folder: Path, name: str, text: str) -> str:
    """Write a program and return its path."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def run(words: list[str], folder: Path, extra: Mapping[str, str] | None = None, timeout: int = 120) -> str:
    """What a command writes, started with the caller's variables."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "OMPI", "PMIX", "NCCL", "T_"))}
    environment |= {**CALLER, **(extra or {})}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
    return done.stdout + done.stderr


def ranks(output: str) -> dict[str, set[str]]:
    """Host -> names that its ranks had."""
    found: dict[str, set[str]] = {}
    for line in output.splitlines():
        if "rank on " in line:
            head, _, rest = line.partition("rank on ")[2].partition(":")
            found.setdefault(head, set()).update(word.split("=")[0] for word in rest.split())
    return found


def there(*programs: str) -> bool:
    """Whether all of some programs are installed."""
    return all(shutil.which(program) for program in programs)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def await_(command: list[str], environment: Mapping[str, str], seconds: int = 30) -> bool:
    """Run a command until it succeeds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done = subprocess.run(command, env=dict(environment), capture_output=True, timeout=20, check=False)
        if done.returncode == 0:
            return True
        time.sleep(0.5)
    return False


@contextmanager
def daemon(words: list[str], environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """A program that runs for as long as the block."""
    started = subprocess.Popen(
        words, env={**os.environ, **(environment or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        started.terminate()
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait(10)


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """A Slurm of one node; gives the variables by which its commands find it."""
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    folder.chmod(0o711)
    conf = folder / "slurm.conf"
    conf.write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.pid
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/linear
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=5 State=UP
""")
    environment = {"SLURM_CONF": str(conf)}
    munged = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket",
              f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed"]  # fmt: skip
    with daemon(munged):
        assert await_(["test", "-S", f"{folder}/munge.socket"], os.environ)
        with daemon(["slurmctld", "-D"], environment), daemon(["slurmd", "-D"], environment):
            ready = ["srun", "-n1", "--immediate=5", "true"]
            assert await_(ready, {**os.environ, **environment}, 60), "Slurm does not start"
            yield environment
