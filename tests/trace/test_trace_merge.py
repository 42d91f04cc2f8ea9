"""From records to settings: ranks, values, lateness."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from envdoctor.node.trace.merge import Run, TracedSetting, merge
from envdoctor.node.trace.records import EXEC_FAILED, FORKED, NO_PROCESS, VALUE_HIDDEN, Kind, Recording, TraceRecord

NCCL = "/lib/libnccl.so.2"
START = 1000.0


@dataclass
class Host:
    """Builds the recording of one host, record after record, one second apart."""

    name: str = "node1"
    records: list[TraceRecord] = field(default_factory=list)

    def add(self, kind: Kind, process: int, name: str = "", value: str | None = None, **fields: object) -> int:
        time = START + len(self.records) + 1.0
        unit = len(self.records) + 1
        given: dict[str, object] = {
            "library": NCCL if kind == "ask" else "", "first": time, "last": time, "count": 1, "pid": 0,
            "parent_pid": 0, "flags": 0,
        }  # fmt: skip
        self.records.append(
            TraceRecord(kind=kind, unit=unit, process=process or unit, name=name, value=value, **{**given, **fields})  # type: ignore[arg-type]
        )
        return unit

    def process(self, pid: int = 1, parent: int = 0, fork_of: int = 0, program: str = "/bin/p", **env: str) -> int:
        flags = FORKED if fork_of else 0
        unit = self.add("process", fork_of, library=program, pid=pid, parent_pid=parent, flags=flags)
        for name, value in env.items():
            self.add("environment", unit, name, value)
        return unit

    def merged(self, *others: Host, lost: int = 0, unset: bool = False) -> Run:
        recordings = [Recording(host.name, tuple(host.records), lost) for host in (self, *others)]
        return merge(recordings, START, unset=unset, relevant=lambda name: name.startswith("NCCL_"))


def one(run: Run) -> TracedSetting:
    (setting,) = run.settings
    return setting


def test_counts_of_one_library_and_rank_add_up() -> None:
    """The shim may write a question down twice, and workers of one rank are one rank."""
    host = Host()
    for pid in (1, 2):
        process = host.process(pid, RANK="3", LOCAL_RANK="0", NCCL_A="x")
        host.add("ask", process, "NCCL_A", "x", count=5)
        host.add("ask", process, "NCCL_A", "x", count=2)
    setting = one(host.merged())
    assert [(a.library, a.rank, a.count, a.value) for a in setting.asked] == [(NCCL, 3, 14, "x")]
    assert setting.ranks == (3,)
    assert setting.asked[0].seconds == host.records[4].first - START


@pytest.mark.parametrize(
    ("environments", "ranks"),
    [
        ([{}], [None]),
        ([{"RANK": "2"}], [2]),
        ([{"OMPI_COMM_WORLD_RANK": "1", "PMIX_RANK": "7"}], [1]),
        ([{"PMI_RANK": "1"}], [1]),
        ([{"SLURM_PROCID": "5"}], [5]),
        # torchrun under srun: SLURM_PROCID counts nodes
        ([{"SLURM_PROCID": "1"}, {"SLURM_PROCID": "1", "RANK": "9", "LOCAL_RANK": "1"}], [None, 9]),
        # a pod of the PyTorch operator: RANK of the launcher counts nodes
        ([{"RANK": "1"}, {"RANK": "1", "LOCAL_RANK": "1"}], [None, 1]),
        ([{"RANK": "many"}], [None]),
        ([{"RANK": "-1"}], [None]),
    ],
)
def test_ranks(environments: list[dict[str, str]], ranks: list[int | None]) -> None:
    host = Host()
    for pid, environment in enumerate(environments):
        host.process(pid, **environment)
    assert [process.rank for process in host.merged().processes] == ranks


def test_rank_given_while_the_program_runs() -> None:
    """torch.multiprocessing.spawn: the child itself sets RANK."""
    host = Host()
    parent = host.process(1)
    for rank in (0, 1):
        child = host.process(2 + rank, 1, fork_of=parent)
        host.add("set", child, "RANK", str(rank))
    assert host.merged().ranks == (0, 1)


def test_world_size() -> None:
    host = Host()
    host.process(1, RANK="0", WORLD_SIZE="8")
    assert host.merged().world_size == 8
    alone = Host()
    alone.process(1, WORLD_SIZE="8")
    assert alone.merged().world_size is None


def test_set_in_some_ranks_only() -> None:
    host = Host()
    host.process(1, NCCL_A="x")
    for rank in range(4):
        environment = {"RANK": str(rank), "LOCAL_RANK": "0", **({"NCCL_A": "x"} if rank < 2 else {})}
        process = host.process(10 + rank, **environment)
        host.add("ask", process, "NCCL_A", environment.get("NCCL_A"))
    setting = one(host.merged())
    assert setting.ranks == (0, 1)
    assert [(a.rank, a.value) for a in setting.asked] == [(0, "x"), (1, "x"), (2, None), (3, None)]


def test_set_in_the_launcher_only() -> None:
    host = Host()
    host.process(1, NCCL_A="x")
    process = host.process(2, RANK="0", LOCAL_RANK="0")
    host.add("ask", process, "NCCL_A", None)
    setting = one(host.merged())
    assert (setting.value, setting.ranks) == ("x", ())
    assert [(a.rank, a.value) for a in setting.asked] == [(0, None)]


def test_values_that_differ_between_ranks() -> None:
    host = Host()
    for rank in range(3):
        process = host.process(rank, RANK=str(rank), NCCL_A="even" if rank != 1 else "odd")
        host.add("ask", process, "NCCL_A", "even" if rank != 1 else "odd")
    settings = host.merged().settings
    assert [(s.value, s.ranks, [a.rank for a in s.asked]) for s in settings] == [
        ("even", (0, 2), [0, 2]),
        ("odd", (1,), [1]),
    ]


def test_ranks_of_several_hosts() -> None:
    hosts = [Host("node1"), Host("node2")]
    for rank, host in enumerate(hosts):
        process = host.process(7, RANK=str(rank), NCCL_A="x")
        host.add("ask", process, "NCCL_A", "x")
    setting = one(hosts[0].merged(hosts[1]))
    assert setting.ranks == (0, 1)
    assert [a.rank for a in setting.asked] == [0, 1]


def test_a_shell_around_the_program_does_not_count() -> None:
    """The program changed the value; the shell, which asks for nothing, still has the old one."""
    host = Host()
    host.process(1, program="/bin/sh", NCCL_A="old")
    process = host.process(2, 1, NCCL_A="old")
    host.add("set", process, "NCCL_A", "new")
    host.add("ask", process, "NCCL_A", "new")
    setting = one(host.merged())
    assert (setting.value, setting.late) == ("new", ())


def test_late() -> None:
    host = Host()
    process = host.process()
    asked = host.add("ask", process, "NCCL_A", None)
    host.add("ask", process, "NCCL_A", "1", library="/lib/other.so")
    given = host.add("set", process, "NCCL_A", "1")
    (late,) = one(host.merged()).late
    assert (late.library, late.rank, late.asked, late.given) == (NCCL, None, asked, given)


@pytest.mark.parametrize(
    "events",
    [
        [("set", "1"), ("ask", "1")],
        [("ask", None), ("set", "1"), ("ask", "1")],
        [("ask", "1"), ("set", "1")],
        [("set", "0"), ("ask", "0")],
        [("ask", "0")],
    ],
)
def test_not_late(events: list[tuple[Kind, str | None]]) -> None:
    host = Host()
    process = host.process(NCCL_A="start")
    for kind, value in events:
        host.add(kind, process, "NCCL_A", value)
    assert one(host.merged()).late == ()


def test_late_by_the_last_of_several_settings() -> None:
    host = Host()
    process = host.process()
    host.add("set", process, "NCCL_A", "1")
    host.add("ask", process, "NCCL_A", "1")
    host.add("set", process, "NCCL_A", "2")
    setting = one(host.merged())
    assert setting.value == "2"
    assert len(setting.late) == 1


def test_set_back_to_the_first_value() -> None:
    """A repeated setting is one record whose last time moves on."""
    host = Host()
    process = host.process()
    host.add("set", process, "NCCL_A", "1", last=START + 50)
    host.add("ask", process, "NCCL_A", "1")
    host.add("set", process, "NCCL_A", "2")
    setting = one(host.merged())
    assert (setting.value, setting.late) == ("1", ())


def test_fork_keeps_the_answers_it_was_born_with() -> None:
    host = Host()
    server = host.process(1)
    host.add("ask", server, "NCCL_A", None)
    worker = host.process(2, 1, fork_of=server)
    host.add("set", worker, "NCCL_A", "1")
    host.add("ask", server, "NCCL_B", None)
    late_only = host.process(3, 1, fork_of=worker)
    host.add("set", late_only, "NCCL_B", "1")
    settings = {setting.variable: setting for setting in host.merged().settings}
    assert [late.library for late in settings["NCCL_A"].late] == [NCCL]
    assert settings["NCCL_B"].late == ()


def test_set_for_children_is_not_late() -> None:
    host = Host()
    parent = host.process(1)
    host.add("ask", parent, "NCCL_A", None)
    host.add("set", parent, "NCCL_A", "1")
    middle = host.process(2, 1, NCCL_A="1")
    assert middle
    child = host.process(3, 2, NCCL_A="1")
    host.add("ask", child, "NCCL_A", "1")
    assert one(host.merged()).late == ()


def test_hidden_values_are_still_late() -> None:
    host = Host()
    process = host.process()
    host.add("ask", process, "NCCL_A", None)
    host.add("set", process, "NCCL_A", "", flags=VALUE_HIDDEN)
    setting = one(host.merged())
    assert setting.value == "(not recorded)"
    assert len(setting.late) == 1


def test_names_asked_for_and_set_by_nobody() -> None:
    host = Host()
    process = host.process(NCCL_A="1")
    host.add("ask", process, "NCCL_B", None)
    assert [s.variable for s in host.merged().settings] == ["NCCL_A"]
    settings = host.merged(unset=True).settings
    assert [(s.variable, s.value) for s in settings] == [("NCCL_A", "1"), ("NCCL_B", None)]
    assert settings[1].asked[0].library == NCCL


def test_programs_without_a_record() -> None:
    host = Host()
    host.process(1)
    host.add("exec", NO_PROCESS, value="/bin/traced", pid=2)
    host.process(2)
    host.add("exec", NO_PROCESS, value="/sbin/static", pid=3)
    host.add("exec", NO_PROCESS, value="/sbin/static", pid=4)
    host.add("exec", NO_PROCESS, value="/bin/failed", pid=5, flags=EXEC_FAILED)
    assert host.merged().untraced == ("/sbin/static",)
    assert host.merged(lost=1).untraced == ()


def test_records_of_an_unknown_process_are_left_out() -> None:
    host = Host()
    host.add("ask", 77, "NCCL_A", "1")
    assert host.merged().settings == ()
    assert Host().merged().settings == ()
