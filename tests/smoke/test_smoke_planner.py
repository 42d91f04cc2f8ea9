from __future__ import annotations

import pytest
from smoke_lab import CPU, EIGHT_GPUS, MI300X, ONE_GPU, made

from envdoctor.core.records import replace
from envdoctor.node.smoke import placement, values
from envdoctor.node.smoke.model import Experiment, ExperimentResult, SmokeRequest, Suspect, TestedGpu, TestedNode
from envdoctor.node.smoke.plan import cases
from envdoctor.node.smoke.plan.planner import plan, plan_further

STANDING = ["user", "restart", "pinned", "control"]
GHOST = Suspect("NCCL_DETERMINISTIC", "ghost", "1")
WRONG_NAME = Suspect("RCCL_ALGO", "misnamed", "Tree", meant="NCCL_ALGO")
SETTINGS = {"NCCL_DETERMINISTIC": "1", "RCCL_ALGO": "Tree", "NCCL_IB_DISABLE": "1"}
WIDE = "wide/fp32/1024"
REFUSAL = """h:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Rign
h:1:1 [0] graph/tuning.cc:104 NCCL WARN Unrecognized element token "Rign" when parsing "Rign"
"""


def ids(planned: list[Experiment]) -> list[str]:
    return [experiment.id for experiment in planned]


def by_id(planned: list[Experiment], identity: str) -> Experiment:
    return next(experiment for experiment in planned if experiment.id == identity)


def test_nothing_suspected_four_launches() -> None:
    assert ids(plan(SmokeRequest(SETTINGS), EIGHT_GPUS)) == STANDING


def test_pins_and_their_baselines() -> None:
    planned = plan(SmokeRequest(), EIGHT_GPUS)
    assert by_id(planned, "pinned").changes == (("NCCL_ALGO", "Ring"), ("NCCL_PROTO", "Simple"))
    assert by_id(planned, "control").changes == (("NCCL_ALGO", "Tree"), ("NCCL_PROTO", "Simple"))
    assert by_id(planned, "control").baseline == "pinned"
    assert by_id(planned, "restart").needs == ("user",)
    newer = replace(MI300X, rocm_version=(7, 0, 51831))
    assert by_id(plan(SmokeRequest(), newer), "pinned").changes[2:] == (
        ("RCCL_OVERRIDE_ALGO", "Ring"),
        ("RCCL_OVERRIDE_PROTO", "Simple"),
    )
    assert len(by_id(plan(SmokeRequest(), MI300X), "pinned").changes) == 2


def test_the_cpu_has_pairs_for_a_control() -> None:
    assert by_id(plan(SmokeRequest(), CPU), "control").reduction == "pairs"
    assert by_id(plan(SmokeRequest(), ONE_GPU), "control").reduction == "library"


def test_all_suspected_no_ops_share_one_experiment() -> None:
    planned = plan(SmokeRequest(SETTINGS, (GHOST, WRONG_NAME)), ONE_GPU)
    assert ids(planned) == [*STANDING, "without NCCL_DETERMINISTIC RCCL_ALGO"]
    assert planned[-1].changes == (("NCCL_DETERMINISTIC", None), ("RCCL_ALGO", None))


@pytest.mark.parametrize(
    "suspect",
    [Suspect("NCCL_DETERMINISTIC", "ghost"), Suspect("NCCL_DEBUG_FILE", "ghost", "x")],
    ids=["not set", "the test's own"],
)
def test_names_that_cannot_be_taken_away(suspect: Suspect) -> None:
    assert ids(plan(SmokeRequest({"NCCL_DEBUG_FILE": "x"}, (suspect,)), ONE_GPU)) == STANDING


@pytest.mark.parametrize(
    ("kind", "trace", "planned"),
    [("ghost", True, True), ("ghost", False, False), ("late", False, True), ("late", True, True),
     ("unpinned", True, False), ("bad-value", True, False)],
)  # fmt: skip
def test_a_traced_run_where_a_finding_needs_one(kind: str, trace: bool, planned: bool) -> None:
    suspect = Suspect("NCCL_X", kind, "1")  # type: ignore[arg-type]
    found = plan(SmokeRequest({"NCCL_X": "1"}, (suspect,), trace=trace), ONE_GPU)
    assert ("traced" in ids(found)) == planned
    if planned:
        traced = by_id(found, "traced")
        assert (traced.trace, traced.fresh) == (trace, trace)
        assert traced.late == ((("NCCL_X", "1"),) if kind == "late" else ())
        assert traced.changes == ((("NCCL_X", None),) if kind == "late" else ())


def test_toggles_only_where_asked() -> None:
    suspects = (Suspect("NCCL_IB_HCA", "ineffective", "mlx5", other="NCCL_IB_DISABLE"),
                Suspect("MIOPEN_FIND_MODE", "ineffective", "1"))  # fmt: skip
    settings = {"NCCL_IB_HCA": "mlx5", "NCCL_IB_DISABLE": "1", "MIOPEN_FIND_MODE": "1"}
    request = SmokeRequest(settings, suspects, toggles=(("NCCL_NVLS_ENABLE", "0"), ("NCCL_IB_DISABLE", "1")))
    assert ids(plan(request, ONE_GPU)) == [*STANDING, "NCCL_NVLS_ENABLE=0", "no NCCL_IB_HCA", "no NCCL_IB_DISABLE"]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (EIGHT_GPUS, ["NCCL_NVLS_ENABLE=0"]),
        (replace(EIGHT_GPUS, library_version=(2, 16, 5)), []),
        (MI300X, ["RCCL_MSCCL_ENABLE=0"]),
        (replace(MI300X, rocm_version=(6, 4, 1)), ["RCCL_MSCCL_ENABLE=0", "RCCL_MSCCLPP_ENABLE=0"]),
        (replace(MI300X, rocm_version=(7, 13, 0)), []),
        (replace(MI300X, rocm_version=(7, 14, 0)), ["RCCL_DDA_ENABLE=0"]),
        (CPU, []),
    ],
)
def test_hidden_paths_by_library(node: TestedNode, expected: list[str]) -> None:
    planned = ids(plan(SmokeRequest(thorough=True), node))
    assert planned == [*STANDING, "NCCL_MAX_NCHANNELS=1", "NCCL_BUFFSIZE=1048576", *expected]


def test_what_is_read_at_load_time_gets_an_interpreter_of_its_own() -> None:
    request = SmokeRequest(SETTINGS, (GHOST,), toggles=(("HSA_X", "1"),), load_time=frozenset({"HSA_X"}))
    planned = plan(request, ONE_GPU)
    assert [experiment.id for experiment in planned if experiment.fresh] == ["HSA_X=1"]


def test_sizes() -> None:
    quick = [case for case in plan(SmokeRequest(), EIGHT_GPUS)[0].cases if case.data == "wide" and case.mode == "plain"]
    assert {case.bytes for case in quick if case.dtype == "fp32"} >= {1024, 1028, 16 << 20, (16 << 20) + 4}
    assert {case.dtype for case in quick} == {"fp32", "bf16", "fp16"}
    assert all(case.repeats == (2 if case.bytes > 2 << 20 else 3) for case in quick)
    thorough = plan(SmokeRequest(thorough=True), EIGHT_GPUS)[0].cases
    assert max(case.bytes for case in thorough) == (32 << 20) + 4
    assert {case.mode for case in thorough} == {"plain", "overlap", "halves"}
    assert {case.dtype for case in thorough if case.data == "integer"} == {"fp32", "bf16", "fp16"}


@pytest.mark.parametrize(
    ("value", "node", "largest"),
    [("LL", ONE_GPU, 1 << 20), ("^Simple,LL128", ONE_GPU, 1 << 20), ("LL,LL128", ONE_GPU, 16 << 20),
     ("LL", EIGHT_GPUS, 16 << 20), ("Simple", ONE_GPU, 16 << 20), ("", CPU, 64 << 10)],
)  # fmt: skip
def test_no_large_message_where_it_takes_minutes(value: str, node: TestedNode, largest: int) -> None:
    assert max(cases.sizes(SmokeRequest({"NCCL_PROTO": value}), node)) == largest


def test_case_ids_are_distinct_in_each_experiment() -> None:
    for request in (SmokeRequest(level="topology"), SmokeRequest(level="topology", thorough=True)):
        for node in (CPU, ONE_GPU, EIGHT_GPUS):
            for experiment in plan(request, node):
                identities = [case.id for case in experiment.cases]
                assert len(set(identities)) == len(identities), experiment.id


def test_topology_adds_numbers_of_ranks_and_ring_orders() -> None:
    planned = plan(SmokeRequest(level="topology"), EIGHT_GPUS)
    assert ids(planned) == [*STANDING, "1 of 8 ranks", "2 of 8 ranks", "4 of 8 ranks", "8 of 8 ranks", "ring orders"]
    assert {case.shards for case in planned[4].cases} == {8}
    assert {case.order[:4] for case in planned[-1].cases} == {(0, 1, 2, 3), (0, 2, 1, 3), (1, 2, 0, 3)}
    three = replace(EIGHT_GPUS, gpus=EIGHT_GPUS.gpus[:3])
    assert "3 of 3 ranks" in ids(plan(SmokeRequest(level="topology"), three))


class TestFurther:
    request = SmokeRequest({**SETTINGS, "NCCL_ALGO": "Rign"}, (GHOST, WRONG_NAME))

    def further(
        self, *results: ExperimentResult, request: SmokeRequest | None = None, node: TestedNode = ONE_GPU
    ) -> list[str]:
        return ids(plan_further(request or self.request, node, results))

    def test_nothing_more_where_all_is_equal(self) -> None:
        results = [made(identity, {WIDE: "a"}) for identity in ("user", "restart", "pinned")]
        group = made("without NCCL_DETERMINISTIC RCCL_ALGO", {WIDE: "a"}, role="without", baseline="user",
                     changes=(("NCCL_DETERMINISTIC", None), ("RCCL_ALGO", None)))  # fmt: skip
        assert self.further(*results, group) == []

    def test_a_group_that_differs_is_divided(self) -> None:
        group = made("without NCCL_DETERMINISTIC RCCL_ALGO", {WIDE: "b"}, role="without", baseline="user",
                     changes=(("NCCL_DETERMINISTIC", None), ("RCCL_ALGO", None)))  # fmt: skip
        user = made("user", {WIDE: "a"})
        assert self.further(user, group) == ["without NCCL_DETERMINISTIC", "without RCCL_ALGO"]
        single = made("without RCCL_ALGO", {WIDE: "b"}, role="without", baseline="user", changes=(("RCCL_ALGO", None),))
        assert self.further(user, group, single) == ["without NCCL_DETERMINISTIC"]

    def test_refused_settings_are_left_out(self) -> None:
        user = made("user", {}, REFUSAL, status="refused")
        found = plan_further(self.request, ONE_GPU, [user])
        assert ids(found) == ["without NCCL_ALGO", "without NCCL_ALGO NCCL_DETERMINISTIC RCCL_ALGO"]
        assert found[0].baseline == "pinned" and found[1].baseline == "without NCCL_ALGO"
        assert found[0].needs == () and found[1].needs == ("without NCCL_ALGO",)
        traced = plan_further(replace(self.request, trace=True), ONE_GPU, [user])[-1]
        assert (traced.id, traced.role, traced.changes) == (
            "traced without NCCL_ALGO", "traced", (("NCCL_ALGO", None),)
        )  # fmt: skip

    def test_a_group_with_refused_settings_is_divided_without_them(self) -> None:
        user = made("user", {}, REFUSAL, status="refused")
        rest = made("without NCCL_ALGO", {WIDE: "a"}, role="without", baseline="pinned", changes=(("NCCL_ALGO", None),))
        names = ("NCCL_ALGO", "NCCL_DETERMINISTIC", "RCCL_ALGO")
        group = made("without " + " ".join(names), {WIDE: "b"}, role="without", baseline=rest.id,
                     changes=tuple((name, None) for name in names))  # fmt: skip
        assert self.further(user, rest, group) == [
            "without NCCL_ALGO NCCL_DETERMINISTIC",
            "without NCCL_ALGO RCCL_ALGO",
        ]

    @pytest.mark.parametrize("status", ["hung", "died", "error"])
    def test_other_failures_are_not_rescued(self, status: str) -> None:
        assert self.further(made("user", {}, status=status)) == []

    def test_changing_results_are_attributed(self) -> None:
        unstable = made("user", {WIDE: (("a", "b"),) * 4})
        assert self.further(unstable, node=MI300X) == ["RCCL_MSCCL_ENABLE=0"]
        assert self.further(unstable, made("NCCL_NVLS_ENABLE=0", {WIDE: "a"})) == []
        restarted = [made("user", {WIDE: "a"}), made("restart", {WIDE: "b"})]
        assert self.further(*restarted) == ["NCCL_NVLS_ENABLE=0"]
        assert self.further(unstable, request=SmokeRequest({"NCCL_NVLS_ENABLE": "0"})) == []

    def test_corruption_is_tried_without_ll128(self) -> None:
        assert self.further(made("user", {WIDE: ("a", "a", "b", "a")})) == ["NCCL_PROTO=^LL128"]
        assert self.further(made("user", {WIDE: "a"}, wrong={"integer/fp32/1024": 2})) == ["NCCL_PROTO=^LL128"]


@pytest.mark.parametrize(
    ("name", "value", "allowed", "unknown"),
    [
        ("NCCL_ALGO", "Ring", {"RING"}, ()),
        ("NCCL_ALGO", "ring,TREE", {"RING", "TREE"}, ()),
        ("NCCL_ALGO", "allreduce:tree;ring", {"TREE"}, ()),
        ("NCCL_ALGO", "ring;broadcast:tree", {"RING"}, ()),
        ("NCCL_ALGO", "Rign", set(), ("RIGN",)),
        ("NCCL_PROTO", "^LL128", {"LL", "SIMPLE"}, ()),
        ("NCCL_PROTO", "", set(), ()),
    ],
)
def test_values(name: str, value: str, allowed: set[str], unknown: tuple[str, ...]) -> None:
    assert values.allowed(name, value) == allowed
    assert values.unknown(name, value) == unknown


class TestPlacement:
    def test_seats(self) -> None:
        two = replace(ONE_GPU, gpus=ONE_GPU.gpus * 2)
        assert [(seat.device, seat.host) for seat in placement.seats(ONE_GPU)] == [
            (0, f"simulated{rank}") for rank in range(4)
        ]
        assert [(seat.device, seat.host) for seat in placement.seats(two)] == [
            (0, "simulated0"), (1, "simulated0"), (0, "simulated1"), (1, "simulated1"),
        ]  # fmt: skip
        assert [(seat.device, seat.host) for seat in placement.seats(EIGHT_GPUS)] == [(rank, "") for rank in range(8)]
        assert [seat.device for seat in placement.seats(CPU)] == [None] * 4
        assert placement.seats(TestedNode("cuda")) == ()

    def test_labels_say_what_is_not_exercised(self) -> None:
        two = replace(MI300X, gpus=MI300X.gpus[:2])
        assert "P2P, shared memory and NVLS are not exercised" in placement.label(ONE_GPU)
        assert "MSCCL is not exercised" in placement.label(two)
        assert "the network path is not exercised" in placement.label(EIGHT_GPUS)
        assert "no GPU" in placement.label(CPU)

    def test_a_full_or_shared_gpu(self) -> None:
        full = replace(ONE_GPU, gpus=(TestedGpu("H200", "sm_90", 1 << 30, 140 << 30),))
        assert placement.memory_problem(full) == "GPU 0 has 1024 MiB free of 143360; its ranks need 4096 MiB"
        assert placement.sharing(full) == ("GPU 0 is shared: 142336 MiB were in use before the test began",)
        assert placement.memory_problem(ONE_GPU) == "" and placement.sharing(ONE_GPU) == ()
