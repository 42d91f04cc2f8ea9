from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import Setting, Value
from envdoctor.node.logs.nccl import DebugLog, read_log, read_logs

HEAD = "node-a:100:101 [3] NCCL INFO "


def one(*messages: str, head: str = HEAD) -> DebugLog:
    return read_log("\n".join(head + message for message in messages), "nccl.log", "node-a")


@pytest.mark.parametrize(
    ("line", "components", "paths"),
    [
        ("RCCL version 2.17.1+hip5.7 HEAD:1234abc+", [("rccl", "2.17.1"), ("rccl-build", "hip5.7 HEAD:1234abc+")], ()),
        ("RCCL version 2.13.4+hip5.7 Unknown ", [("rccl", "2.13.4"), ("rccl-build", "hip5.7 Unknown")], ()),
        ("NCCL version 2.20.5+cuda12.4", [("nccl", "2.20.5"), ("nccl-build", "cuda12.4")], ()),
        (HEAD + "NCCL version 2.28.9+cuda13.0", [("nccl", "2.28.9"), ("nccl-build", "cuda13.0")], ()),
        ("NCCL version 2.27.3 compiled with CUDA 12.9", [("nccl", "2.27.3"), ("nccl-build", "compiled with CUDA 12.9")],
         ()),
        (HEAD + "NCCL git version master 0123456", [("nccl-build", "master 0123456")], ()),
        (
            "RCCL version : 2.21.5-main:12ab34c+\nHIP version  : 6.2.41134-\nROCm version : 6.2.4.0-139\n"
            "Hostname     : node-a\nLibrccl path : /opt/lib/librccl.so.1",
            [("rccl", "2.21.5"), ("rccl-build", "main:12ab34c+"), ("hip", "6.2.41134"), ("rocm", "6.2.4.0-139"),
             ("rccl", "2.21.5")],
            ("/opt/lib/librccl.so.1",),
        ),
        (
            HEAD + "RCCL version : 2.27.7-HEAD:12ab34c\nHIP version  : 7.1.1-abc\nROCm version : 7.1.1\n"
            "Hostname     : node-a\nLibrccl path : /venv/lib/librccl.so",
            [("rccl", "2.27.7"), ("rccl-build", "HEAD:12ab34c"), ("hip", "7.1.1-abc"), ("rocm", "7.1.1"),
             ("rccl", "2.27.7")],
            ("/venv/lib/librccl.so",),
        ),
        ("Librccl path : /lost/its/banner.so", [("rccl", "")], ("/lost/its/banner.so",)),
    ],
)  # fmt: skip
def test_banners(line: str, components: list[tuple[str, str]], paths: tuple[str, ...]) -> None:
    log = read_log(line, "out")
    assert [(item.name, item.version) for item in log.components] == components
    assert log.library_paths() == paths


def test_a_banner_of_each_rank_is_one_component() -> None:
    log = read_log("\n".join(f"n:{pid}:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0" for pid in range(4)), "out")
    assert len(log.components) == 2


@pytest.mark.parametrize(
    ("message", "name", "value"),
    [
        ("NCCL_ALGO set by environment to Ring", "NCCL_ALGO", "Ring"),
        ("NCCL_MAX_NCHANNELS set by environment to 1.", "NCCL_MAX_NCHANNELS", "1"),
        ("NCCL_BUFFSIZE set by environment to -2.", "NCCL_BUFFSIZE", "-2"),
        ("RCCL_MSCCL_ENABLE set by environment to 0.", "RCCL_MSCCL_ENABLE", "0"),
        ("NCCL_SOCKET_IFNAME set by environment to eth0.100", "NCCL_SOCKET_IFNAME", "eth0.100"),
        ("NCCL_TOPO_FILE set by environment to /a path/topo.xml", "NCCL_TOPO_FILE", "/a path/topo.xml"),
        ("NET/IB : NCCL_IB_HCA set to ^mlx5_0", "NCCL_IB_HCA", "^mlx5_0"),
        ("NCCL_ALGO set by environment to ", "NCCL_ALGO", ""),
    ],
)
def test_reads(message: str, name: str, value: str) -> None:
    (read,) = one(message).reads
    assert (read.name, read.value) == (name, value)
    assert (read.place.path, read.place.line, read.place.column, read.place.node) == ("nccl.log", 1, 30, "node-a")
    assert read.origin is not None and (read.origin.host, read.origin.pid, read.origin.device) == ("node-a", 100, 3)


def test_the_last_reading_counts_and_settings_are_listed_once() -> None:
    log = one(*["NCCL_ALGO set by environment to Ring"] * 3, "NCCL_ALGO set by environment to Tree")
    assert log.value_of("NCCL_ALGO") == "Tree" and log.value_of("NCCL_PROTO") is None
    settings = log.settings()
    assert [(item.name, item.value.text, item.order) for item in settings] == [
        ("NCCL_ALGO", "Ring", 0),
        ("NCCL_ALGO", "Tree", 1),
    ]
    assert isinstance(settings[0], Setting) and settings[0].value == Value("literal", "Ring")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("1048576 Bytes -> Algo 1 proto 2 time 58.4", ("", 1048576, "RING", "SIMPLE", None)),
        ("AllReduce: 64 Bytes -> Algo 0 proto 0 time 5.0", ("AllReduce", 64, "TREE", "LL", None)),
        ("1 Bytes -> Algo 9 proto 9 time 5.0", ("", 1, "9", "9", None)),
        ("AllReduce: 512 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}", ("AllReduce", 512, "RING", "LL", (0, 1))),
        ("Broadcast:    32768 Bytes -> Algo Ring proto Simple channel{Lo..Hi}={0..31}",
         ("Broadcast", 32768, "RING", "SIMPLE", (0, 31))),
        ("Reduce: 8 Bytes -> Algo RING* proto LL channel{Lo..Hi}={0..3}", ("Reduce", 8, "RING", "LL", (0, 3))),
        ("AllReduce: 8 Bytes -> Algo NVLSTree proto Simple", ("AllReduce", 8, "NVLSTREE", "SIMPLE", None)),
    ],
)  # fmt: skip
def test_choices(message: str, expected: tuple[object, ...]) -> None:
    (choice,) = one(message).choices
    assert (choice.function, choice.bytes, choice.algorithm, choice.protocol, choice.channels) == expected


def test_a_choice_of_another_shape_is_passed_over() -> None:
    assert one("AllReduce: x Bytes -> Algo ? proto ?").choices == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (HEAD + "Invalid value 9999 for NCCL_BUFFSIZE, using default -2.", ("NCCL_BUFFSIZE", "9999", "-2")),
        (HEAD + "User asked for a maximum of 0 channels, setting it to 1", ("NCCL_MAX_NCHANNELS", "0", "1")),
        (HEAD + "User asked for a minimum of 99 channels, setting it to 64", ("NCCL_MIN_NCHANNELS", "99", "64")),
        (
            HEAD + "NCCL_PROTO set by environment to Simpel\n" + HEAD + "NCCL_ALGO set by environment to Rign\n"
            "[2026-01-02 03:04:05] node-a:100:101 [3] graph/tuning.cc:104 NCCL WARN "
            'Unrecognized element token "Simpel" when parsing "Simpel"',
            ("NCCL_PROTO", "Simpel", None),
        ),
        (
            '\nnode-a:100:101 [3] graph/tuning.cc:9 NCCL WARN Unrecognized element token "x" when parsing "x"',
            ("", "x", None),
        ),
        (
            HEAD + "NCCL_ALGO set by environment to Rign\n\n"
            "node-a:100:101 [3] enqueue.cc:1 NCCL WARN Error : no algorithm/protocol available",
            ("NCCL_ALGO", "Rign", None),
        ),
    ],
)
def test_refusals(line: str, expected: tuple[str, str, str | None]) -> None:
    (refusal,) = read_log(line, "log").refusals
    assert (refusal.name, refusal.given, refusal.used) == expected


CALL = "opCount {} sendbuff 0x1 recvbuff 0x1 count {} datatype {} op 0 root 0 comm 0x5 [nranks=8] stream 0x6 task 0"


@pytest.mark.parametrize(("kind", "size"), [(7, 1024), (6, 512), (9, 512), (8, 2048), (0, 256), (99, None)])
def test_operations(kind: int, size: int | None) -> None:
    (operation,) = one("AllReduce: " + CALL.format("1f", 256, kind)).operations
    assert (operation.function, operation.bytes, operation.ranks) == ("AllReduce", size, 8)


def test_calls_without_a_choice_went_another_way() -> None:
    log = one(
        "Using MSCCL files from /opt/rocm/share/rccl/msccl-algorithms",
        "MSCCL: Initialization finished, localSize 400",
        "AllReduce: " + CALL.format("0", 256, 7),
        "AllGather: " + CALL.format("1", 128, 7),
        "AllReduce: " + CALL.format("2", 1 << 20, 7),
        "4194304 Bytes -> Algo 1 proto 2 time 176.0",
    )
    assert log.bypassed() == (1024,)
    assert [note.kind for note in log.bypasses] == ["MSCCL", "MSCCL"]


def test_without_any_choice_line_nothing_can_be_told() -> None:
    assert one("AllReduce: " + CALL.format("0", 256, 7)).bypassed() == ()


def test_calls_of_ranks_that_write_no_choices_do_not_count() -> None:
    other = "node-a:200:201 [1] NCCL INFO AllReduce: " + CALL.format("0", 512, 7)
    mine = HEAD + "AllReduce: " + CALL.format("0", 256, 7)
    log = read_log("\n".join([mine, other, HEAD + "1024 Bytes -> Algo 1 proto 0 time 1.0"]), "log")
    assert log.bypassed() == ()


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("AllReduce impl selected: algo DDA-IPC", "DDA-IPC"),
        ("AllGather: taking DDA fabric LL path: nRanks=8 nNodes=1", "DDA fabric LL path"),
        ("mscclpp_ncclAllReduce: " + CALL.format("0", 256, 7), "MSCCL++"),
    ],
)
def test_other_paths(message: str, kind: str) -> None:
    assert [note.kind for note in one(message).bypasses] == [kind]


@pytest.mark.parametrize(
    ("message", "pair", "via"),
    [
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", (0, 1), "P2P/CUMEM/read"),
        ("Channel 01/0 : 1[0] -> 0[0] [receive] via NET/Socket/0", (1, 0), "NET/Socket/0"),
        ("Channel 00 : 3[c1000] -> 2[a1000] via SHM/direct/direct comm 0x1 nRanks 08", (3, 2), "SHM/direct/direct"),
        ("Channel 00 : 3[c1000] -> 2[a1000] via P2P/direct pointer comm 0x1", (3, 2), "P2P/direct"),
    ],
)
def test_transports(message: str, pair: tuple[int, int], via: str) -> None:
    (transport,) = one(message).transports
    assert ((transport.source, transport.target), transport.via) == (pair, via)


def test_orders_and_communicators() -> None:
    log = one(
        "Channel 00/02 :    0   1   2   3",
        "Trees [0] 2/-1/-1->0->-1 [1] -1/-1/-1->0->1",
        "comm 0x374ed7a0 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0",
        "ncclCommInitRankConfig comm 0x374 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 60 commId 0x7e8 - Init COMPLETE",
        "ncclCommInitRankConfig comm 0x375 rank 0 nranks 9 cudaDev 0 nvmlDev 0 busId 60 commId 0x7e8 - Init START",
    )
    assert [(note.kind, note.text) for note in log.orders] == [
        ("channel", "00/02 : 0 1 2 3"),
        ("trees", "[0] 2/-1/-1->0->-1 [1] -1/-1/-1->0->1"),
    ]
    assert (log.ranks, log.nodes) == (4, 2)


@pytest.mark.parametrize("before", ["0: ", "[rank0]: ", "[1,0]<stdout>:", "2026-01-02T03:04:05Z ", "worker-0 | "])
def test_launchers_put_words_in_front(before: str) -> None:
    (read,) = read_log(f"{before}{HEAD}NCCL_ALGO set by environment to Ring", "log").reads
    assert read.origin is not None and read.origin.host == "node-a" and read.place.column == len(before) + 30


def test_processes_that_write_into_one_line() -> None:
    line = f"{HEAD}globalNicFused 0 {HEAD.replace('100', '200')}NCCL_ALGO set by environment to Ring"
    (read,) = read_log(line, "log").reads
    assert read.origin is not None and read.origin.pid == 200
    line = f"{HEAD}NCCL_ALGO set by environment to Ring {HEAD}NCCL_PROTO set by environment to LL"
    assert [(read.name, read.value) for read in read_log(line, "log").reads] == [
        ("NCCL_ALGO", "Ring"),
        ("NCCL_PROTO", "LL"),
    ]


def test_warnings_with_and_without_a_time() -> None:
    lines = "\nn:1:2 [0] init.cc:9 NCCL WARN one\n[2026-01-02 03:04:05] n:1:2 [0] misc/socket.cc:7 NCCL WARN two\n"
    assert [note.text for note in read_log(lines, "log").warnings] == ["one", "two"]


def test_text_that_is_no_log() -> None:
    text = "my NCCL_ALGO set by environment to Ring\nSome version : 3\nHIP_version 4\n[INFO] NCCL is nice\n"
    assert read_log(text, "log") == DebugLog("log")


def test_several_files_of_one_run() -> None:
    first, second = HEAD + "NCCL_ALGO set by environment to Ring", "RCCL version 2.17.1+hip5.7 HEAD:1"
    log = read_logs([("a.log", first), ("b.out", second)], "node-b")
    assert log.path == "a.log" and log.reads[0].place.node == "node-b" and len(log.components) == 2
    assert read_logs([]) == DebugLog("")


PIECES = [
    HEAD, "\n", "NCCL WARN ", "n:1:2 [0] ", "set by environment to ", "NCCL_ALGO", "5 Bytes -> Algo ", "1 proto 2",
    "RCCL ", "Invalid value ", " for X, using default ", "opCount 0 count 1 datatype 1 [nranks=2]", "Librccl path : ",
    "version ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=25))
def test_nothing_raises_and_places_lie_in_the_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    lines = text.splitlines()
    log = read_log(text, "log")
    for item in [*log.reads, *log.choices, *log.warnings, *log.refusals, *log.operations, *log.bypasses, *log.orders]:
        assert 1 <= item.place.line <= len(lines)
        assert 1 <= item.place.column <= item.place.end_column <= len(lines[item.place.line - 1]) + 1


@pytest.mark.slow
def test_a_large_log_takes_no_minutes() -> None:
    line = HEAD + "AllReduce: 65536 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n"
    other = HEAD + "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read " + "x" * 200 + "\n"
    begin = time.process_time()
    log = read_log((line + other + "training step 5 loss 0.1\n") * 20_000, "log")
    assert len(log.choices) == len(log.transports) == 20_000
    assert time.process_time() - begin < 10
