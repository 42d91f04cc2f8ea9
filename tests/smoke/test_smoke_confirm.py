from __future__ import annotations

import pytest
from smoke_lab import CPU, ONE_GPU, made

from envdoctor.node.smoke.compare.confirm import Evidence, confirmations
from envdoctor.node.smoke.model import Ask, ExperimentResult, Kind, SmokeConfirmation, SmokeRequest, Suspect, TestedNode

A, B = "wide/fp32/1024", "wide/fp32/65536"
SAME, OTHER = {A: "a", B: "b"}, {A: "c", B: "d"}
NAMES = frozenset({"NCCL_ALGO", "NCCL_PROTO", "NCCL_P2P_DISABLE"})
ASKED = (Ask("NCCL_ALGO", "libnccl.so.2", "Ring"), Ask("NCCL_PROTO", "libnccl.so.2"))
CONTROLLED = [made("pinned", SAME), made("control", OTHER)]
TRACED = made("traced", SAME, role="traced")


def of(suspect: Suspect, *results: ExperimentResult, names: frozenset[str] | None = NAMES, asked: tuple[Ask, ...] | None = ASKED,
       node: TestedNode = ONE_GPU) -> SmokeConfirmation:  # fmt: skip
    evidence = Evidence(node, [*results, *CONTROLLED], names, asked)
    (found,) = confirmations(SmokeRequest(suspects=(suspect,)), evidence)
    return found


def without(name: str, hashes: dict[str, object]) -> ExperimentResult:
    return made(f"without {name}", hashes, role="without", baseline="user", changes=((name, None),))


def log(*messages: str) -> str:
    return "\n".join(f"h:1:1 [0] NCCL INFO {message}" for message in messages)


class TestGhost:
    suspect = Suspect("NCCL_DETERMINISTIC", "ghost", "1")

    def test_confirmed(self) -> None:
        found = of(self.suspect, made("user", SAME), TRACED, without("NCCL_DETERMINISTIC", SAME))
        assert found.state == "confirmed"
        assert "not among the 3 names" in found.reason and "2 AllReduce calls" in found.reason
        assert found.reason.endswith("no difference in 2 comparisons with and without it")

    def test_refuted_by_the_names_of_the_library(self) -> None:
        assert of(self.suspect, TRACED, names=NAMES | {"NCCL_DETERMINISTIC"}).state == "refuted"

    def test_refuted_by_the_trace(self) -> None:
        found = of(self.suspect, TRACED, asked=(Ask("NCCL_DETERMINISTIC", "libother.so", "1"),))
        assert (found.state, found.reason) == ("refuted", "libother.so asked for it in a traced run")

    def test_refuted_by_the_log(self) -> None:
        user = made("user", SAME, log("NCCL_DETERMINISTIC set by environment to 1."))
        assert of(self.suspect, user, TRACED).state == "refuted"

    def test_refuted_by_other_bits(self) -> None:
        user = made("user", SAME)
        assert of(self.suspect, user, TRACED, without("NCCL_DETERMINISTIC", OTHER)).state == "refuted"
        group = made("without both", OTHER, role="without", baseline="user",
                     changes=(("NCCL_DETERMINISTIC", None), ("RCCL_ALGO", None)))  # fmt: skip
        assert of(self.suspect, user, TRACED, group).state == "confirmed", "the other name may be the one that acts"

    @pytest.mark.parametrize(
        ("results", "names", "asked", "words"),
        [
            ([TRACED], None, ASKED, "names in the loaded library"),
            ([], NAMES, None, "no run was traced"),
            ([TRACED], NAMES, None, "no run was traced"),
            ([TRACED], NAMES, (), "no request at all"),
            (
                [made("traced", {}, role="traced", status="died", reason="gone")],
                NAMES,
                ASKED,
                "made no AllReduce: gone",
            ),
        ],
    )
    def test_equal_hashes_alone_confirm_nothing(self, results: list[ExperimentResult], names: frozenset[str] | None,
                                                asked: tuple[Ask, ...] | None, words: str) -> None:  # fmt: skip
        equal = [made("user", SAME), without("NCCL_DETERMINISTIC", SAME)]
        found = of(self.suspect, *equal, *results, names=names, asked=asked)
        assert found.state == "not testable here" and words in found.reason

    def test_a_rescued_trace_counts(self) -> None:
        refused = made("traced", {}, role="traced", status="refused", reason="no")
        rest = made("traced without NCCL_ALGO", SAME, role="traced")
        assert of(self.suspect, refused, rest).state == "confirmed"


class TestMisnamed:
    suspect = Suspect("RCCL_ALGO", "misnamed", "Tree", meant="NCCL_ALGO")

    def test_confirmed_by_the_trace_or_by_the_names(self) -> None:
        assert "libnccl.so.2 asks for NCCL_ALGO" in of(self.suspect, TRACED).reason
        found = of(self.suspect, TRACED, asked=ASKED[1:])
        assert found.state == "confirmed" and "the loaded library has NCCL_ALGO" in found.reason

    def test_not_testable_where_nobody_reads_the_right_name_either(self) -> None:
        found = of(self.suspect, TRACED, names=NAMES - {"NCCL_ALGO"}, asked=ASKED[1:])
        assert found.state == "not testable here"

    def test_refuted(self) -> None:
        assert of(self.suspect, TRACED, names=NAMES | {"RCCL_ALGO"}).state == "refuted"


class TestUnpinned:
    suspect = Suspect("NCCL_ALGO", "unpinned")

    def test_confirmed_by_other_bits(self) -> None:
        found = of(self.suspect, made("user", {A: "c", B: "b"}, log("AllReduce: 1024 Bytes -> Algo TREE proto LL x")))
        assert found.state == "confirmed"
        assert "differ in 1 of 2 comparisons; the library ran TREE/LL at 1024 bytes" in found.reason

    def test_confirmed_by_choices_that_change_with_the_size(self) -> None:
        choices = log("1024 Bytes -> Algo 1 proto 0 time 1.0", "65536 Bytes -> Algo 1 proto 2 time 1.0")
        found = of(self.suspect, made("user", SAME, choices))
        assert found.state == "confirmed" and "RING/LL at 1024 bytes, RING/SIMPLE at 65536 bytes" in found.reason

    def test_refuted_where_one_choice_gives_the_same_bits(self) -> None:
        found = of(self.suspect, made("user", SAME, log("1024 Bytes -> Algo 1 proto 2 time 1.0")))
        assert found.state == "refuted" and found.reason.startswith("on this node, at these sizes")

    def test_not_testable_without_a_control(self) -> None:
        evidence = Evidence(ONE_GPU, [made("user", OTHER), CONTROLLED[0], made("control", SAME)])
        (found,) = confirmations(SmokeRequest(suspects=(self.suspect,)), evidence)
        assert found.state == "not testable here" and "blind" in found.reason
        assert of(self.suspect, made("user", {}, status="hung", reason="stuck")).reason.endswith("stuck")


class TestLate:
    suspect = Suspect("NCCL_ALGO", "late", "Ring")

    def test_confirmed(self) -> None:
        found = of(self.suspect, TRACED, asked=(Ask("NCCL_ALGO", "libnccl.so.2"),))
        assert found.state == "confirmed" and found.reason.startswith("libnccl.so.2 asked for it while it was not set")

    def test_refuted(self) -> None:
        assert of(self.suspect, TRACED, asked=(Ask("NCCL_ALGO", "l"), Ask("NCCL_ALGO", "l", "Ring"))).state == "refuted"
        read = made("traced", SAME, log("NCCL_ALGO set by environment to Ring"), role="traced")
        assert of(self.suspect, read, asked=None).state == "refuted"

    @pytest.mark.parametrize(
        ("results", "asked", "words"),
        [([TRACED], None, "was not traced"), ([TRACED], (), "nothing asked for it"), ([], ASKED, "not planned")],
    )
    def test_not_testable(self, results: list[ExperimentResult], asked: tuple[Ask, ...] | None, words: str) -> None:
        found = of(self.suspect, *results, asked=asked)
        assert found.state == "not testable here" and words in found.reason


class TestBadValue:
    @pytest.mark.parametrize(
        ("name", "value", "messages", "state", "words"),
        [
            ("NCCL_BUFFSIZE", "9" * 30, [f"Invalid value {'9' * 30} for NCCL_BUFFSIZE, using default -2."], "confirmed",
             "replaced by -2"),
            ("NCCL_MAX_NCHANNELS", "abc", ["NCCL_MAX_NCHANNELS set by environment to 0."], "confirmed", "read as 0"),
            ("NCCL_BUFFSIZE", "4M", ["NCCL_BUFFSIZE set by environment to 4."], "confirmed", "read as 4"),
            ("NCCL_BUFFSIZE", "0x10", ["NCCL_BUFFSIZE set by environment to 16."], "refuted", "read as 16"),
            ("NCCL_P2P_DISABLE", "1", ["NCCL_P2P_DISABLE set by environment to 1."], "refuted", "read as 1"),
            ("NCCL_ALGO", "Rign", ["NCCL_ALGO set by environment to Rign", "1024 Bytes -> Algo 1 proto 2 time 1.0"],
             "confirmed", "passed over in silence: the library ran RING at 1024 bytes"),
            ("NCCL_ALGO", "Ring", ["NCCL_ALGO set by environment to Ring", "1024 Bytes -> Algo 1 proto 2 time 1.0"],
             "refuted", "followed: every call ran RING"),
            ("NCCL_PROTO", "LL", ["NCCL_PROTO set by environment to LL", "1024 Bytes -> Algo 1 proto 2 time 1.0"],
             "confirmed", "ran SIMPLE at 1024 bytes"),
            ("NCCL_ALGO", "Rign", ["NCCL_ALGO set by environment to Rign"], "not testable here", "does not log"),
            ("NCCL_ALGO", "Rign", [], "not testable here", "does not show that it was read"),
        ],
    )  # fmt: skip
    def test_by_the_log(self, name: str, value: str, messages: list[str], state: str, words: str) -> None:
        found = of(Suspect(name, "bad-value", value), made("user", SAME, log(*messages)))
        assert found.state == state and words in found.reason

    def test_refused(self) -> None:
        warning = 'graph/tuning.cc:1 NCCL WARN Unrecognized element token "Rign" when parsing "Rign"'
        text = log("NCCL_ALGO set by environment to Rign") + f"\n[2026-01-02 03:04:05] h:1:1 [0] {warning}"
        found = of(Suspect("NCCL_ALGO", "bad-value", "Rign"), made("user", {}, text, status="refused", reason="no"))
        assert found.state == "confirmed" and found.reason.startswith("refused by this library")

    def test_refused_without_a_line_in_the_log(self) -> None:
        found = of(
            Suspect("NCCL_ALGO", "bad-value", "Rign"), made("user", {}, status="refused", reason="invalid usage")
        )
        assert (found.state, found.reason) == ("confirmed", "invalid usage")

    def test_not_testable_where_nothing_ran(self) -> None:
        found = of(Suspect("NCCL_ALGO", "bad-value", "Rign"), made("user", {}, status="died", reason="rank 0"))
        assert found.state == "not testable here"


class TestContradictory:
    def test_the_value_that_won(self) -> None:
        suspect = Suspect("NCCL_ALGO", "contradictory", values=("Ring", "Tree"))
        found = of(suspect, made("user", SAME, log("NCCL_ALGO set by environment to Tree")), asked=None)
        assert (found.state, found.reason) == ("confirmed", "Tree won, of Ring, Tree")
        assert of(suspect, made("user", SAME)).reason == "Ring won, of Ring, Tree"
        assert of(suspect, made("user", SAME), asked=None).state == "not testable here"

    @pytest.mark.parametrize(
        ("first", "second", "state", "words"),
        [(OTHER, SAME, "confirmed", "NCCL_A won"), (SAME, OTHER, "confirmed", "NCCL_B won"),
         (OTHER, OTHER, "refuted", "each of the two"), (SAME, SAME, "not testable here", "changes nothing")],
    )  # fmt: skip
    def test_the_variable_that_won(self, first: dict[str, str], second: dict[str, str], state: str, words: str) -> None:
        suspect = Suspect("NCCL_A", "contradictory", other="NCCL_B")
        found = of(suspect, made("user", SAME), made("no NCCL_A", first), made("no NCCL_B", second))
        assert found.state == state and words in found.reason
        assert of(suspect, made("user", SAME), made("no NCCL_A", first)).state == "not testable here"


class TestIneffective:
    suspect = Suspect("NCCL_IB_HCA", "ineffective", "mlx5", other="NCCL_IB_DISABLE")
    read = log("NCCL_IB_HCA set to mlx5", "Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
               "1024 Bytes -> Algo 0 proto 2 time 1.0")  # fmt: skip

    def test_confirmed(self) -> None:
        found = of(self.suspect, made("user", SAME, self.read), made("no NCCL_IB_HCA", SAME, self.read))
        assert found.state == "confirmed" and found.reason.startswith("read, but results")
        found = of(self.suspect, made("user", SAME), made("no NCCL_IB_HCA", SAME), made("no NCCL_IB_DISABLE", OTHER))
        assert found.reason.endswith("taking NCCL_IB_DISABLE away does change them")

    @pytest.mark.parametrize(
        ("hashes", "text", "words"),
        [(OTHER, read, "other bits"),
         (SAME, read.replace("Socket", "IB").replace("NET", "P2P"), "another transport"),
         (SAME, read.replace("Algo 0", "Algo 1"), "another algorithm")],
    )  # fmt: skip
    def test_refuted(self, hashes: dict[str, str], text: str, words: str) -> None:
        found = of(self.suspect, made("user", SAME, self.read), made("no NCCL_IB_HCA", hashes, text))
        assert found.state == "refuted" and words in found.reason

    def test_not_testable(self) -> None:
        assert of(self.suspect, made("user", SAME)).state == "not testable here"
        other = Suspect("MIOPEN_FIND_MODE", "ineffective", "1")
        assert "does not exercise" in of(other, made("user", SAME)).reason


@pytest.mark.parametrize("kind", ["ghost", "misnamed", "unpinned", "late", "bad-value", "contradictory", "ineffective"])
def test_never_a_guess(kind: Kind) -> None:
    """With nothing to go by, no kind of finding is confirmed or refuted."""
    assert of(Suspect("NCCL_X", kind), names=None, asked=None).state == "not testable here"
    everything = [made("user", SAME), TRACED]
    assert of(Suspect("NCCL_X", kind), *everything, node=CPU).state == "not testable here"
    assert of(Suspect("NCCL_DEBUG_FILE", kind), *everything).state == "not testable here"
