"""Each launcher that can run here forwards what its file under `rules/launchers/` says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from launch_fixtures import (
    CALLER,
    PROBE,
    REMOTE_SHELL,
    await_,
    daemon,
    free_port,
    ranks,
    run,
    script,
    slurm,
    there,
)

from envdoctor.knowledge.launchers import Delivery, load_launchers

pytestmark = pytest.mark.nightly
ALL = {"T_A", "T_B", "NCCL_TA"}
ROOT = os.geteuid() == 0


def delivery(launcher: str, title: str = "") -> Delivery:
    """What the file of a launcher says."""
    found = [d for d in load_launchers().deliveries_of(launcher) if title in ("", d.title)]
    assert len(found) == 1
    return found[0]


def expected(says: Delivery, named: set[str]) -> set[str]:
    """The names of the caller that get through, by the file."""
    if says.passes == "everything":
        return ALL
    return named | {name for name in ALL if name.startswith(says.prefixes)}


@pytest.fixture
def probe(tmp_path: Path) -> str:
    return script(tmp_path, "probe", PROBE)


@pytest.fixture
def shell(tmp_path: Path) -> str:
    return script(tmp_path, "ssh", REMOTE_SHELL)


@pytest.mark.skipif(not there("mpirun.openmpi"), reason="no Open MPI")
@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ([], set()),
        (["-x", "T_A"], {"T_A"}),
        (["-x", "T_A", "-x", "NCCL_TA=9"], {"T_A", "NCCL_TA"}),
        (["-x", "T_A,T_B"], set()),
        (["--mca", "mca_base_env_list", "T_A;T_B=7"], {"T_A", "T_B"}),
    ],
)
def test_open_mpi(tmp_path: Path, probe: str, shell: str, flags: list[str], named: set[str]) -> None:
    words = ["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", shell,
             "--mca", "plm_rsh_no_tree_spawn", "1", "-H", "nodea,nodeb", "-np", "2", *flags, probe]  # fmt: skip
    found = ranks(run(words, tmp_path))
    says = delivery("mpirun", "Open MPI")
    assert found == dict.fromkeys(("nodea", "nodeb"), expected(says, named))


@pytest.mark.skipif(not there("mpiexec.mpich"), reason="no MPICH")
@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ([], ALL),
        (["-genvnone"], set()),
        (["-genvlist", "T_A"], {"T_A"}),
        (["-genvnone", "-genv", "T_B", "3"], {"T_B"}),
        (["-genv", "T_A", "3"], ALL),
    ],
)
def test_mpich(tmp_path: Path, probe: str, shell: str, flags: list[str], names: set[str]) -> None:
    words = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", shell, "-hosts", "nodea,nodeb", "-ppn", "1",
             *flags, "-n", "2", probe]  # fmt: skip
    assert ranks(run(words, tmp_path)) == dict.fromkeys(("nodea", "nodeb"), names)
    restricted = set(flags) & delivery("mpiexec", "MPICH and Intel MPI").only_with
    assert bool(restricted) == (names != ALL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    if not there("srun", "slurmctld", "slurmd", "munged") or not ROOT:
        pytest.skip("no Slurm, or not root")
    with slurm(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ([], ALL),
        (["--export=ALL"], ALL),
        (["--export=NONE"], set()),
        (["--export=T_A"], {"T_A"}),
        (["--export=ALL,T_NEW=1"], {*ALL, "T_N"}),
        (["--export=T_A,NCCL_TA=1"], {"T_A", "NCCL_TA"}),
        (["--export=NCCL_*"], set()),
    ],
)
def test_srun(tmp_path: Path, cluster: dict[str, str], probe: str, flags: list[str], names: set[str]) -> None:
    (found,) = ranks(run(["srun", "-n1", *flags, "/bin/sh", probe], tmp_path, cluster)).values()
    assert found == names - {"T_N"}
    says = delivery("srun")
    assert says.passes == "everything"
    assert says.lists == {"--export"}


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (["srun /bin/sh probe"], set()),
        (["srun --export=ALL /bin/sh probe"], {"T_I"}),
        (["unset SLURM_EXPORT_ENV", "srun /bin/sh probe"], {"T_I"}),
    ],
)
def test_the_directive_of_a_job_holds_for_its_steps(
    tmp_path: Path, cluster: dict[str, str], probe: str, lines: list[str], names: set[str]
) -> None:
    text = "\n".join(["#!/bin/sh", "#SBATCH --export=NONE", "#SBATCH --output=out.txt", f"cd {tmp_path}",
                      "PATH=/usr/bin:/bin; export PATH", "export T_I=1", *lines, ""])  # fmt: skip
    (tmp_path / "job.sh").write_text(text)
    run(["sbatch", "--wait", "job.sh"], tmp_path, cluster)
    (found,) = ranks((tmp_path / "out.txt").read_text()).values()
    assert found == names


@pytest.mark.skipif(not (ROOT and there("sshd", "ssh", "ssh-keygen")), reason="no sshd, or not root")
def test_ssh(tmp_path: Path, probe: str) -> None:
    os.makedirs("/run/sshd", exist_ok=True)  # noqa: PTH103  where sshd drops its rights
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", str(tmp_path / name)], check=True)
    port = str(free_port())
    (tmp_path / "conf").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\nStrictModes no\nUsePAM no\n"
        f"PermitRootLogin yes\nAcceptEnv T_B\nPidFile {tmp_path}/pid\nListenAddress 127.0.0.1\n"
    )
    base = ["ssh", "-F", "none", "-i", str(tmp_path / "user"), "-p", port, "-o", "StrictHostKeyChecking=no",
            "-o", f"UserKnownHostsFile={tmp_path}/known", "-o", "BatchMode=yes"]  # fmt: skip
    with daemon(["/usr/sbin/sshd", "-D", "-f", str(tmp_path / "conf"), "-p", port]):
        assert await_([*base, "127.0.0.1", "true"], os.environ)
        plain = ranks(run([*base, "127.0.0.1", probe], tmp_path))
        sent = ranks(run([*base, "-o", "SendEnv=T_*", "127.0.0.1", probe], tmp_path))
        inside = ranks(run([*base, "127.0.0.1", f"export T_A=1; {probe}"], tmp_path))
    assert (plain, sent, inside) == ({"here": set()}, {"here": {"T_B"}}, {"here": {"T_A"}})
    assert delivery("ssh").passes == "named"


@pytest.mark.skipif(not there("pdsh"), reason="no pdsh")
def test_pdsh(tmp_path: Path, probe: str, shell: str) -> None:
    extra = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PDSH_RCMD_TYPE": "ssh"}
    assert ranks(run(["pdsh", "-w", "nodea", probe], tmp_path, extra)) == {"nodea": set()}
    given = ranks(run(["pdsh", "-w", "nodea", f"export T_A=1; {probe}"], tmp_path, extra))
    assert given == {"nodea": {"T_A"}}


@pytest.mark.skipif(not there("clush"), reason="no ClusterShell")
def test_clush(tmp_path: Path, probe: str, shell: str) -> None:
    extra = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert ranks(run(["clush", "-w", "nodea,nodeb", probe], tmp_path, extra)) == {"nodea": set(), "nodeb": set()}
    given = ranks(run(["clush", "-w", "nodea", f"export T_A=1; {probe}"], tmp_path, extra))
    assert given == {"nodea": {"T_A"}}
    assert delivery("clush").passes == "named"


@pytest.mark.skipif(not there("parallel"), reason="no GNU parallel")
@pytest.mark.parametrize(
    ("flags", "host", "names"),
    [
        ([], "here", ALL),
        (["-S", "1/nodea"], "nodea", set()),
        (["-S", "1/nodea", "--env", "T_A,NCCL_TA"], "nodea", {"T_A", "NCCL_TA"}),
        (["-S", "1/nodea", "--env", "NCCL_*"], "nodea", set()),
    ],
)
def test_parallel(tmp_path: Path, probe: str, shell: str, flags: list[str], host: str, names: set[str]) -> None:
    words = ["parallel", "--will-cite", "--ssh", shell, *flags, f"{probe} {{}}", ":::", "1"]
    assert ranks(run(words, tmp_path, {"HOME": str(tmp_path)})) == {host: names}
    assert bool(set(flags) & delivery("parallel").hosts) == (names != ALL)


@pytest.mark.skipif(not (ROOT and there("sudo")), reason="no sudo, or not root")
@pytest.mark.parametrize(
    ("flags", "names"),
    [([], set()), (["-E"], ALL), (["T_A=1"], {"T_A"}), (["--preserve-env=T_A,NCCL_TA"], {"T_A", "NCCL_TA"})],
)
def test_sudo(tmp_path: Path, probe: str, flags: list[str], names: set[str]) -> None:
    assert ranks(run(["sudo", "-n", *flags, "sh", probe], tmp_path)) == {"here": names}
    assert bool(set(flags) & delivery("sudo").everything) == (names == ALL)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["env"], ALL), (["env", "-i", "T_A=1"], {"T_A"}), (["env", "-u", "T_A"], ALL - {"T_A"}),
        (["nohup"], ALL), (["timeout", "5"], ALL), (["setsid", "-w"], ALL), (["nice"], ALL),
    ],
)  # fmt: skip
def test_env_and_wrappers(tmp_path: Path, probe: str, words: list[str], names: set[str]) -> None:
    assert ranks(run([*words, "/bin/sh", probe], tmp_path)) == {"here": names}


@pytest.mark.skipif(not (ROOT and there("su")), reason="no su, or not root")
@pytest.mark.parametrize(("flags", "names"), [([], ALL), (["-"], set()), (["-l"], set())])
def test_su(tmp_path: Path, probe: str, flags: list[str], names: set[str]) -> None:
    assert ranks(run(["su", *flags, "root", "-c", f"sh {probe}"], tmp_path)) == {"here": names}
    assert bool(set(flags) & delivery("su").nothing) == (names != ALL)


def _python(module: str) -> str:
    """A Python that has a module: that of the tests, or the one that the environment names."""
    for python in filter(None, (os.environ.get("ENVDOCTOR_TORCH_PYTHON"), "python3")):
        done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, timeout=120, check=False)
        if done.returncode == 0:
            return python
    pytest.skip(f"no {module}")


RANK = (
    "import os\nnames = sorted(f'{k}={v}' for k, v in os.environ.items() if k.startswith(('T_', 'NCCL_T')))\n"
    "rank = os.environ.get('RANK', '0')\n"
    "open('out' + rank, 'w').write(f'rank on {rank}: ' + ' '.join(names))\n"
)
"""A program that writes down what its rank has."""


@pytest.mark.parametrize(
    ("launcher", "module", "flags", "started"),
    [
        ("torchrun", "torch.distributed.run", ["--standalone", "--nproc-per-node", "2"], 2),
        ("accelerate launch", "accelerate.commands.launch", ["--cpu", "--num_processes", "1"], 1),
    ],
)
def test_launchers_of_one_node_pass_everything(
    tmp_path: Path, launcher: str, module: str, flags: list[str], started: int
) -> None:
    python = _python(module.split(".")[0])
    (tmp_path / "t.py").write_text(RANK)
    run([python, "-m", module, *flags, "t.py"], tmp_path, {"HOME": str(tmp_path)}, timeout=300)
    written = "\n".join((tmp_path / f"out{rank}").read_text() for rank in range(started))
    assert ranks(written) == {str(rank): ALL for rank in range(started)}
    assert load_launchers().deliveries_of(launcher) == []


def test_deepspeed(tmp_path: Path, probe: str, shell: str) -> None:
    python = _python("deepspeed")
    if not there("pdsh"):
        pytest.skip("no pdsh")
    (tmp_path / "hosts").write_text("nodea slots=1\nnodeb slots=1\n")
    (tmp_path / ".deepspeed_env").write_text("T_B=file\n")
    extra = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PDSH_RCMD_TYPE": "ssh", "DS_ACCELERATOR": "cuda",
             "HOME": str(tmp_path)}  # fmt: skip
    words = [python, "-m", "deepspeed.launcher.runner", "--hostfile", "hosts", "--master_addr", "127.0.0.1",
             "--no_ssh_check", "--no_python", probe]  # fmt: skip
    found = ranks(run(words, tmp_path, extra, timeout=300))
    assert found
    says = delivery("deepspeed")
    assert all(names == expected(says, {"T_B"}) for names in found.values())


def test_what_the_caller_exports_is_what_the_tests_think() -> None:
    assert {name for name in CALLER if name.startswith(("T_", "NCCL"))} == ALL
