"""Places where a cell is run for real: this machine, two more hosts behind sshd, Slurm, containers.

Hosts are network namespaces with a name, an address and an sshd of their own; they share the files. Nothing of this
machine is changed: what has to lie under /etc or in a home folder is mounted for these processes alone.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = os.geteuid() == 0
HOSTS = {"head": "10.99.0.1", "nodea": "10.99.0.2", "nodeb": "10.99.0.3"}
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Runner(NamedTuple):
    """How a command is started in a place: words before it, and variables."""

    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}


def there(*programs: str) -> bool:
    """Whether all of some programs are installed."""
    return all(shutil.which(program) for program in programs)


def plain_environment() -> dict[str, str]:
    """What a login would have, and nothing of a job."""
    home = pwd.getpwuid(os.geteuid()).pw_dir
    return {"PATH": SYSTEM, "HOME": home, "LOGNAME": "root", "USER": "root", "SHELL": "/bin/bash", "TERM": "xterm"}


@contextmanager
def _here() -> Iterator[Runner]:
    yield Runner()


@contextmanager
def _with_programs(*folders: Path) -> Iterator[Runner]:
    yield Runner((), {"PATH": ":".join([*map(str, folders), SYSTEM])})


def beside_python(program: str) -> Path | None:
    """The folder of a program of a Python environment: that of the tests, or one that ENVDOCTOR_MATRIX_VENVS names."""
    named = filter(None, os.environ.get("ENVDOCTOR_MATRIX_VENVS", "").split(":"))
    for folder in (Path(sys.executable).parent, *(Path(venv) / "bin" for venv in named)):
        if (folder / program).exists():
            return folder
    return None


# Hosts


@contextmanager
def process(words: list[str], **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs for as long as the block, and no longer than this process."""
    bound = ["setpriv", "--pdeathsig", "TERM"] if there("setpriv") else []
    started = subprocess.Popen(
        [*bound, *words], env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield started
    finally:
        _end(started)


def _end(started: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if started.poll() is None:
            os.killpg(started.pid, number)
        try:
            started.wait(10)
            return
        except subprocess.TimeoutExpired:
            continue


def until(test: Callable[[], bool], seconds: float = 30) -> bool:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if test():
            return True
        time.sleep(0.1)
    return False


def call(*words: str) -> bool:
    """Run a command that is part of the setup; whether it succeeded."""
    return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 0


def _must(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


class Host(NamedTuple):
    """A host: the process that holds its namespaces."""

    name: str
    pid: int

    def into(self) -> tuple[str, ...]:
        """Words that start a command on it."""
        return ("nsenter", "-t", str(self.pid), "-n", "-m", "-u")

    def run(self, text: str) -> None:
        """Run a line of shell on it, which has to succeed."""
        _must(*self.into(), "sh", "-ec", text)


@contextmanager
def hosts(folder: Path) -> Iterator[Mapping[str, Host]]:
    """Three hosts that reach one another by name, with sshd on all but the first."""
    _files_of_hosts(folder)
    with ExitStack() as stack:
        found = {}
        for name in HOSTS:
            held = stack.enter_context(process(["unshare", "-n", "-m", "-u", "sleep", "infinity"]))
            found[name] = Host(name, held.pid)
            assert until(lambda pid=held.pid: _apart(pid))  # type: ignore[misc]
        _connect(found)
        for host in found.values():
            _furnish(host, folder)
        for name in ("nodea", "nodeb"):
            words = [*found[name].into(), "/usr/sbin/sshd", "-D", "-f", str(folder / f"sshd-{name}")]
            stack.enter_context(process(words))
            ready = [*found["head"].into(), "ssh", name, "true"]
            assert until(lambda words=ready: call(*words)), f"no sshd on {name}"  # type: ignore[misc]
        yield found


def _apart(pid: int) -> bool:
    return Path(f"/proc/{pid}/ns/uts").readlink() != Path("/proc/self/ns/uts").readlink()


def _files_of_hosts(folder: Path) -> None:
    folder.chmod(0o711)
    os.makedirs("/run/sshd", exist_ok=True)  # noqa: PTH103  where sshd drops its rights
    for name in ("host", "id"):
        _must("ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", str(folder / name))
    (folder / "etc-hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in HOSTS.items()))
    (folder / "ssh-config").write_text(
        f"Host *\n  IdentityFile {folder}/id\n  StrictHostKeyChecking no\n  UserKnownHostsFile {folder}/known\n"
        "  BatchMode yes\n  LogLevel ERROR\n"
    )
    for name, accepted in (("nodea", ""), ("nodeb", "AcceptEnv NCCL_*\n")):
        (folder / f"sshd-{name}").write_text(
            f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/id.pub\nStrictModes no\nUsePAM no\n"
            f"PermitRootLogin yes\nMaxStartups 100\nPidFile none\nListenAddress {HOSTS[name]}\n{accepted}"
        )


def _connect(found: Mapping[str, Host]) -> None:
    head = found["head"]
    head.run("ip link set lo up; ip link add name mx0 type bridge; ip link set mx0 up")
    head.run(f"ip address add {HOSTS['head']}/24 dev mx0")
    for name in ("nodea", "nodeb"):
        host = found[name]
        head.run(f"ip link add name to-{name} type veth peer name mx1 netns {host.pid}")
        head.run(f"ip link set to-{name} master mx0 up")
        host.run(f"ip link set lo up; ip address add {HOSTS[name]}/24 dev mx1; ip link set mx1 up")


def _furnish(host: Host, folder: Path) -> None:
    """A name, the names of the others, and a layer over the home folder: how to reach them, and nothing for shells."""
    home = pwd.getpwuid(0).pw_dir
    over, work = folder / f"over-{host.name}", folder / f"work-{host.name}"
    for path in (over, work):
        path.mkdir()
    layers = f"lowerdir={home},upperdir={over},workdir={work}"
    host.run(
        f"hostname {host.name}; mount --make-rprivate /; mount --bind {folder}/etc-hosts /etc/hosts; "
        f"mount -t overlay none -o {layers} {home}; mkdir -p {home}/.ssh; cp {folder}/ssh-config {home}/.ssh/config; "
        f"for file in .profile .bashrc .bash_profile .bash_login; do : > {home}/$file; done"
    )


@contextmanager
def _nodes() -> Iterator[Runner]:
    with _folder() as folder, hosts(folder) as found:
        yield Runner(found["head"].into())


@contextmanager
def _nodes_with(program: str) -> Iterator[Runner]:
    beside = beside_python(program)
    assert beside is not None
    with _nodes() as runner:
        yield Runner(runner.words, {"PATH": f"{beside}:{SYSTEM}"})


@contextmanager
def _nodes_with_deepspeed() -> Iterator[Runner]:
    """What DeepSpeed forwards depends on the accelerator that it sees, and there is none here: it is told of one."""
    with _nodes_with("deepspeed") as runner:
        yield Runner(runner.words, {**runner.environment, "DS_ACCELERATOR": "cuda", "PDSH_RCMD_TYPE": "ssh"})


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="matrix-") as name:
        yield Path(name)


# Slurm


@contextmanager
def _slurm() -> Iterator[Runner]:
    with _folder() as folder, hosts(folder) as found, ExitStack() as stack:
        _slurm_conf(folder)
        environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        munge = f"{folder}/munge.socket"
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        words = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}",
                 f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed"]  # fmt: skip
        stack.enter_context(process(words))
        assert until(Path(munge).exists), "munge does not start"
        head = found["head"].into()
        stack.enter_context(process([*head, "slurmctld", "-D"], **environment))
        for name in ("nodea", "nodeb"):
            stack.enter_context(process([*found[name].into(), "slurmd", "-D", "-N", name], **environment))
        ready = [*head, "env", f"SLURM_CONF={folder}/slurm.conf", "srun", "-N2", "--immediate=5", "true"]
        assert until(lambda: call(*ready), 60), "Slurm does not start"
        yield Runner(head, environment)


def _slurm_conf(folder: Path) -> None:
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text(f"""ClusterName=matrix
SlurmctldHost=head
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/linear
NodeName=nodea,nodeb CPUs=2 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=5 OverSubscribe=FORCE:4 State=UP
""")


# Containers


@contextmanager
def _containers() -> Iterator[Runner]:
    """Podman, and Docker's own client in front of it, with an image that is made here and `/usr` of this machine."""
    with _folder() as folder, ExitStack() as stack:
        environment = _container_files(folder)
        held = stack.enter_context(process(["unshare", "-m", "sleep", "infinity"]))
        into = ("nsenter", "-t", str(held.pid), "-m")
        assert until(lambda: Path(f"/proc/{held.pid}/ns/mnt").readlink() != Path("/proc/self/ns/mnt").readlink())
        _must(*into, "sh", "-ec", "umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup")
        variables = [f"{name}={value}" for name, value in environment.items()]
        _must(*into, "env", *variables, "podman", "import", str(folder / "image.tar"), "trainer")
        socket = f"unix://{folder}/podman.socket"
        stack.enter_context(process([*into, "env", *variables, "podman", "system", "service", "--time", "0", socket]))
        assert until((folder / "podman.socket").exists), "no podman service"
        environment["DOCKER_HOST"] = socket
        beside = beside_python("podman-compose")
        if beside is not None:
            environment["PATH"] = f"{SYSTEM}:{beside}"
        yield Runner(into, environment)
        call(*into, "env", *variables, "podman", "rm", "-af", "-t", "0")


def _container_files(folder: Path) -> dict[str, str]:
    image = folder / "image"
    for name in ("usr", "etc", "tmp", "proc", "sys", "dev", "run", "job", "root"):
        (image / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (image / name).symlink_to(f"usr/{name}")
    _must("tar", "-C", str(image), "-cf", str(folder / "image.tar"), ".")
    (folder / "containers.conf").write_text(
        '[containers]\ncgroups = "disabled"\nnetns = "none"\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
        'volumes = ["/usr:/usr:ro"]\nlog_driver = "k8s-file"\n[engine]\nevents_logger = "file"\nruntime = "crun"\n'
        'cgroup_manager = "cgroupfs"\n'
    )
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\nrunroot = "{folder}/run"\ngraphroot = "{folder}/graph"\n'
    )
    return {"CONTAINERS_CONF": f"{folder}/containers.conf", "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf"}


# Others


@contextmanager
def _at() -> Iterator[Runner]:
    with process(["/usr/sbin/atd", "-f", "-b", "1"]):
        yield Runner()


def can_have_hosts() -> bool:
    """Whether hosts can be made."""
    return ROOT and there("sshd", "ssh", "ssh-keygen", "unshare", "nsenter", "ip")


class Kind(NamedTuple):
    """A place: what it needs, how it is made, and whether that takes daemons or root beyond this machine's own."""

    needs: Callable[[], bool]
    make: Callable[[], AbstractContextManager[Runner]]
    quick: bool = False


def _programs(name: str) -> Kind:
    """A place that is this machine with a program of some Python environment."""
    return Kind(lambda: beside_python(name) is not None, lambda: _with_programs(beside_python(name) or Path()))


def _mpi(name: str) -> Kind:
    return Kind(lambda: can_have_hosts() and beside_python(name) is not None, lambda: _nodes_with(name))


PLACES: Mapping[str, Kind] = {
    "here": Kind(lambda: True, _here, True),
    "root": Kind(lambda: ROOT, _here, True),
    "torchrun": _programs("torchrun"),
    "accelerate": _programs("accelerate"),
    "uv": _programs("uv"),
    "terminal": Kind(lambda: there("tmux"), _here),
    "at": Kind(lambda: ROOT and there("at", "atd"), _at),
    "nodes": Kind(can_have_hosts, _nodes),
    "open-mpi-5": _mpi("prterun"),
    "mpich-5": _mpi("hydra_pmi_proxy"),
    "intel-mpi": _mpi("impi_info"),
    "deepspeed": Kind(lambda: can_have_hosts() and beside_python("deepspeed") is not None, _nodes_with_deepspeed),
    "slurm": Kind(lambda: can_have_hosts() and there("srun", "slurmctld", "slurmd", "munged"), _slurm),
    "containers": Kind(lambda: ROOT and there("podman", "crun"), _containers),
}
"""What can be run where; `quick` ones in every run of the tests."""
