from __future__ import annotations

import pytest
from smoke_lab import CPU, EIGHT_GPUS, ONE_GPU, made

from envdoctor.node.smoke.compare import verdicts
from envdoctor.node.smoke.model import ExperimentResult, SmokeRequest, SmokeVerdict, TestedNode

A, B, SUM = "wide/fp32/1024", "wide/fp32/65536", "integer/fp32/1024"
SAME = {A: "a", B: "b"}
OTHER = {A: "c", B: "d"}
CONTROLLED = [made("pinned", SAME), made("control", OTHER)]


def rules(*results: ExperimentResult, request: SmokeRequest | None = None, node: TestedNode = ONE_GPU) -> list[str]:
    return [verdict.rule for verdict in verdicts.verdicts(request or SmokeRequest(), node, results)]


def only(*results: ExperimentResult, request: SmokeRequest | None = None, node: TestedNode = ONE_GPU) -> SmokeVerdict:
    (verdict,) = verdicts.verdicts(request or SmokeRequest(), node, [*results, *CONTROLLED])
    return verdict


def test_all_equal_and_the_control_differs() -> None:
    results = [made("user", {A: (("a", "a"),) * 4}), made("restart", {A: "a"}), *CONTROLLED]
    assert rules(*results) == []
    claim = verdicts.claim(ONE_GPU, results)
    assert (
        claim == "no difference in 11 comparisons of AllReduce results, 1 of them across a restart (4 ranks, 1 cases)"
    )


def test_no_text_ever_promises_more_than_was_compared() -> None:
    every = [
        verdicts.claim(ONE_GPU, [made("user", SAME), *CONTROLLED]),
        *(
            verdict.message
            for verdict in verdicts.verdicts(SmokeRequest(), CPU, [made("user", {A: (("a", "b"),) * 4})])
        ),
        verdicts.not_run("no-gpu", "torch sees no GPU").message,
    ]
    assert not any("deterministic" in text for text in every)


@pytest.mark.parametrize(
    ("hashes", "odd"),
    [(("a", "a", "b", "a"), "rank 2"), (("a", "b", "a", "a"), "rank 1"), (("a", "a", "b", "b"), "rank 0, 1, 2, 3")],
)
def test_ranks_differ(hashes: tuple[str, ...], odd: str) -> None:
    verdict = only(made("user", {A: hashes, B: "b"}))
    assert verdict.rule == "ranks-differ" and f"({odd})" in verdict.message and verdict.cases == (A,)


def test_a_rank_that_differs_now_and_then_is_no_change_between_repeats() -> None:
    assert only(made("user", {A: (("a", "a"), ("a", "x"), ("a", "a"), ("a", "a"))})).rule == "ranks-differ"


def test_repeats_differ_and_what_steadies_them() -> None:
    changing = made("user", {A: (("a", "b"),) * 4})
    assert "stable with" not in only(changing).message
    verdict = only(changing, made("NCCL_NVLS_ENABLE=0", {A: (("a", "a"),) * 4}))
    assert verdict.rule == "repeats-differ" and verdict.message.endswith("stable with NCCL_NVLS_ENABLE=0")


def test_overlap_that_changes_bits() -> None:
    verdict = only(made("user", {A: "a", f"{A}/overlap": "b", f"{A}/halves": "c"}))
    assert verdict.rule == "repeats-differ" and verdict.cases == (f"{A}/overlap",)


def test_halves_may_differ() -> None:
    assert rules(made("user", {A: "a", f"{A}/halves": "c"}), *CONTROLLED) == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [("", "", ""), ("0/2 : 0 1 2 3", "0/2 : 0 1 2 3", "; the rings and trees are the same"),
     ("0/2 : 0 1 2 3", "0/2 : 0 2 1 3", "; the logs show other rings or trees")],
)  # fmt: skip
def test_restart_differs(before: str, after: str, words: str) -> None:
    logs = [f"h:1:1 [0] NCCL INFO Channel {text}" if text else "" for text in (before, after)]
    verdict = only(made("user", SAME, logs[0]), made("restart", {A: "x", B: "b"}, logs[1], baseline="user"))
    assert verdict.rule == "restart-differs" and verdict.cases == (A,)
    assert verdict.message.endswith(f"{A}{words}")


def test_wrong_sum() -> None:
    verdict = only(made("user", {SUM: "a"}, wrong={SUM: 7}))
    assert verdict.rule == "wrong-sum" and "up to 7 elements" in verdict.message


class TestNoEffect:
    def log(self, *choices: str) -> str:
        return "\n".join(f"h:1:1 [0] NCCL INFO AllReduce: {choice}" for choice in choices)

    @pytest.mark.parametrize(
        ("settings", "choice", "words"),
        [
            (
                {"NCCL_ALGO": "Ring"},
                "1024 Bytes -> Algo TREE proto LL",
                "NCCL_ALGO=Ring was not followed for AllReduce of",
            ),
            ({"NCCL_ALGO": "^Tree"}, "1024 Bytes -> Algo 0 proto 0 time 1.0", "1024 bytes (ran TREE)"),
            ({"NCCL_PROTO": "Simple"}, "1024 Bytes -> Algo RING proto LL", "1024 bytes (ran LL)"),
        ],
    )
    def test_not_followed(self, settings: dict[str, str], choice: str, words: str) -> None:
        verdict = only(made("user", SAME, self.log(choice)), request=SmokeRequest(settings))
        assert verdict.rule == "no-effect" and words in verdict.message

    @pytest.mark.parametrize(
        "settings",
        [{"NCCL_ALGO": "Tree,Ring"}, {"NCCL_ALGO": "allreduce:tree"}, {"NCCL_ALGO": "Rign"}, {"NCCL_X": "1"}, {}],
    )
    def test_followed_or_not_for_this_rule(self, settings: dict[str, str]) -> None:
        user = made("user", SAME, self.log("1024 Bytes -> Algo TREE proto LL"))
        assert rules(user, *CONTROLLED, request=SmokeRequest(settings)) == []

    def test_another_path_took_the_call(self) -> None:
        call = "opCount 0 sendbuff 0x1 recvbuff 0x1 count 256 datatype 7 op 0 root 0 comm 0x2 [nranks=8] stream 0x3"
        lines = ("Using MSCCL files from /opt/rocm", f"AllReduce: {call}", "65536 Bytes -> Algo 1 proto 2 time 5.0")
        log = "\n".join(f"h:1:1 [0] NCCL INFO {line}" for line in lines)
        verdict = only(made("user", SAME, log), request=SmokeRequest({"NCCL_ALGO": "Ring"}))
        assert verdict.rule == "no-effect" and "1024 bytes (ran MSCCL)" in verdict.message

    def test_the_pinned_run_counts_too(self) -> None:
        pinned = made("pinned", SAME, self.log("1024 Bytes -> Algo TREE proto LL"), changes=(("NCCL_ALGO", "Ring"),))
        assert rules(made("user", SAME), pinned, CONTROLLED[1]) == ["no-effect"]


class TestHostStaged:
    def log(self, *lines: str) -> str:
        return "\n".join(f"h:1:1 [0] NCCL INFO Channel 00/0 : {line}" for line in lines)

    @pytest.mark.parametrize("via", ["SHM/direct/direct", "NET/Socket/0"])
    def test_gpus_of_one_node(self, via: str) -> None:
        user = made("user", SAME, self.log(f"0[0] -> 1[1] [send] via {via}", "1[1] -> 2[2] via P2P/CUMEM/read"))
        verdict = only(user, node=EIGHT_GPUS)
        assert verdict.rule == "host-staged" and f"0 -> 1 via {via}" in verdict.message and "2" not in verdict.cases

    @pytest.mark.parametrize("line", ["0[0] -> 1[1] via P2P/IPC", "0[0] -> 1[1] via PSM_P2P/direct pointer"])
    def test_direct(self, line: str) -> None:
        assert rules(made("user", SAME, self.log(line)), *CONTROLLED, node=EIGHT_GPUS) == []

    def test_simulated_nodes_are_not_meant(self) -> None:
        user = made("user", SAME, self.log("0[0] -> 1[0] [send] via NET/Socket/0", "2[0] -> 9[0] via NET/Socket/0"))
        assert rules(user, *CONTROLLED) == []


class TestInconclusive:
    def test_the_control_is_blind(self) -> None:
        (verdict,) = verdicts.verdicts(
            SmokeRequest(), ONE_GPU, [made("user", SAME), made("pinned", SAME), made("control", SAME)]
        )
        assert (verdict.rule, verdict.reason) == ("inconclusive", "control")
        assert "in all 2 comparisons" in verdict.message

    def test_the_control_did_not_run(self) -> None:
        control = made("control", {}, status="hung", reason="no end within 25 s")
        (verdict,) = verdicts.verdicts(SmokeRequest(), ONE_GPU, [made("user", SAME), CONTROLLED[0], control])
        assert verdict.message == "the positive control did not run (no end within 25 s)"
        claim = verdicts.claim(ONE_GPU, [made("user", SAME), CONTROLLED[0], control])
        assert claim.endswith("see the inconclusive verdict")

    def test_what_failed_is_named_once(self) -> None:
        user = made("user", {}, status="refused", reason="the library refuses NCCL_ALGO=Rign")
        restart = made("restart", {}, status="not run", reason="'user' did not succeed")
        verdict = only(user, restart)
        assert (verdict.rule, verdict.reason) == ("inconclusive", "refused")
        assert verdicts.claim(ONE_GPU, [user, restart, *CONTROLLED]) == ""

    def test_the_cpu_and_two_ranks(self) -> None:
        assert verdicts.verdicts(SmokeRequest(), CPU, [made("user", SAME), *CONTROLLED])[0].reason == "cpu"
        assert verdicts.inconclusive(TestedNode("cuda"), [])[0].reason == "ranks"

    def test_the_hash_on_the_host(self) -> None:
        good = made("user", SAME, sha256={A: "s", B: "t"})
        assert rules(good, *CONTROLLED) == []
        collision = made("restart", {A: "a"}, sha256={A: "u"}, role="toggle")
        assert only(good, collision).reason == "hash"
        weak = made("restart", {A: "z"}, sha256={A: "s"}, role="toggle")
        assert only(good, weak).reason == "hash"


def test_a_claim_is_made_only_where_nothing_differs() -> None:
    for hashes, wrong in (({A: ("a", "a", "b", "a")}, {}), ({A: (("a", "b"),) * 4}, {}), ({A: "a"}, {SUM: 1})):
        broken = made("user", hashes, wrong=wrong)  # type: ignore[arg-type]
        assert verdicts.claim(ONE_GPU, [broken, *CONTROLLED]) == ""
    assert verdicts.claim(ONE_GPU, [made("user", SAME), made("restart", OTHER, baseline="user"), *CONTROLLED]) == ""


def test_the_rest_of_refused_settings_stands_for_the_user() -> None:
    user = made("user", {}, status="refused", reason="no")
    rest = made("without NCCL_ALGO", SAME, role="without", baseline="pinned", changes=(("NCCL_ALGO", None),))
    assert verdicts.claim(ONE_GPU, [user, rest, *CONTROLLED]).startswith("no difference in 6 comparisons")
