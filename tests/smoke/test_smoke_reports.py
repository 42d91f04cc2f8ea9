"""The hash matrix, golden hashes, the two demonstrations, and the session as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from smoke_lab import CPU, EIGHT_GPUS, ONE_GPU, made

from envdoctor.core.records import replace
from envdoctor.node.smoke.compare import agreement, golden
from envdoctor.node.smoke.compare.matrix import LEGEND, matrix, render
from envdoctor.node.smoke.export import session_data
from envdoctor.node.smoke.model import Case, ExperimentResult, SmokeRequest, TestedNode
from envdoctor.node.smoke.plan.planner import plan
from envdoctor.node.smoke.run.session import Session, judge

A, B, C = "wide/fp32/1024", "wide/fp32/1028", "wide/bf16/2097154"
RESULTS = [
    made("user", {A: "x", B: "y", C: (("z", "z"),) * 4, "integer/fp32/1024": "i", f"{A}/overlap": "x"}),
    made("restart", {A: "x", B: ("y", "y", "q", "y"), C: (("z", "w"),) * 4}),
    made("pinned", {A: "p", B: "y"}),
    made("control", {}, status="hung"),
]


def test_matrix() -> None:
    found = matrix(RESULTS)
    assert found.columns == (A, B, C)
    assert found.titles == (("fp32", "1K"), ("fp32", "1K+"), ("bf16", "2M+"))
    assert [row.cells for row in found.rows] == [("A", "A", "A"), ("A", "!", "~"), ("B", "A", "-"), ("-", "-", "-")]


def test_rendered() -> None:
    assert render(matrix(RESULTS)).splitlines() == [
        "        fp32 fp32 bf16",
        "          1K  1K+  2M+",
        "user       A    A    A",
        "restart    A    !    ~",
        "pinned     B    A    -",
        "control    -    -    -  hung",
        LEGEND,
    ]


def test_equal_letters_have_equal_colours() -> None:
    lines = render(matrix(RESULTS), colour=True).splitlines()
    assert lines[2].count("\x1b[32m") == 3 and "\x1b[33m" in lines[4] and "\x1b[41m" in lines[3]


def test_an_empty_matrix() -> None:
    assert render(matrix([])).splitlines()[-1] == LEGEND


def test_more_hashes_than_letters() -> None:
    found = matrix([made(f"run {number}", {A: str(number)}) for number in range(30)])
    assert [row.cells[0] for row in found.rows][24:] == ["Y", "Z", "Z", "Z", "Z", "Z"]


class TestGolden:
    def kept(
        self, node: TestedNode = ONE_GPU, request: SmokeRequest | None = None, changed: str = "x"
    ) -> dict[str, Any]:
        results = [made("user", {A: changed, B: "y"}), made("pinned", {A: "p"}), made("NCCL_X=1", {A: "t"})]
        return json.loads(json.dumps(golden.golden(request or SmokeRequest(), node, results)))

    def test_what_is_kept(self) -> None:
        kept = self.kept(request=SmokeRequest({"NCCL_ALGO": "Ring"}, facts={"partition": "SPX"}))
        assert kept["hashes"] == {"user": {A: "x", B: "y"}, "pinned": {A: "p"}}
        assert kept["settings"] == {"NCCL_ALGO": "Ring"}
        assert kept["conditions"]["library"] == "nccl 2.28.9" and kept["conditions"]["partition"] == "SPX"

    def test_unstable_hashes_are_not_kept(self) -> None:
        results = [made("user", {A: (("x", "q"),) * 4, B: "y"}), made("pinned", {A: "p"}, status="died")]
        assert golden.golden(SmokeRequest(), ONE_GPU, results)["hashes"] == {"user": {B: "y"}}

    def test_equal_and_differing(self) -> None:
        assert golden.against(self.kept(), self.kept()) == golden.Comparison((), 3)
        found = golden.against(self.kept(), self.kept(changed="other"))
        assert (found.refused, found.compared, found.differing) == ((), 3, (("user", A),))

    def test_other_settings_are_named_not_refused(self) -> None:
        found = golden.against(
            self.kept(request=SmokeRequest({"NCCL_ALGO": "Ring"})), self.kept(request=SmokeRequest({"A": "1"}))
        )
        assert found.refused == () and found.settings == ("A", "NCCL_ALGO")

    @pytest.mark.parametrize(
        ("now", "request_", "words"),
        [
            (
                replace(ONE_GPU, library_version=(2, 29, 0)),
                SmokeRequest(),
                ["library: nccl 2.28.9 then, nccl 2.29.0 now"],
            ),
            (EIGHT_GPUS, SmokeRequest(), ["ranks: 4 then, 8 now", "placement: "]),
            (
                replace(ONE_GPU, gpus=(replace(ONE_GPU.gpus[0], arch="sm_80"),)),
                SmokeRequest(),
                ["GPU architecture: sm_90 then"],
            ),
            (ONE_GPU, SmokeRequest(facts={"partition": "CPX"}), ["partition: not recorded then, CPX now"]),
        ],
    )
    def test_what_is_not_comparable_is_refused(self, now: TestedNode, request_: SmokeRequest, words: list[str]) -> None:
        found = golden.against(self.kept(), self.kept(now, request_))
        assert found.compared == 0
        assert len(found.refused) == len(words)
        assert all(reason.startswith(word) for reason, word in zip(found.refused, words, strict=True))

    def test_the_banner_of_the_run_names_the_library(self) -> None:
        run = made("user", {A: "x"}, "RCCL version 2.20.5+hip6.2 HEAD:abc")
        assert golden.library(ONE_GPU, run) == "rccl 2.20.5 rccl-build hip6.2 HEAD:abc"
        assert golden.library(replace(CPU, torch="2.13.0"), None) == "gloo 2.13.0"

    def test_nothing_in_common(self) -> None:
        other = {**self.kept(), "hashes": {"user": {"wide/fp32/4": "a"}}}
        assert golden.against(self.kept(), other).refused == ("the two runs have no experiment and case in common",)
        assert "version" in golden.against({**self.kept(), "version": 0}, self.kept()).refused[0]

    def test_files(self, tmp_path: Path) -> None:
        path = tmp_path / "golden.json"
        golden.save(path, self.kept())
        assert golden.load(path) == self.kept()
        path.write_text("[]")
        with pytest.raises(ValueError, match="holds no golden hashes"):
            golden.load(path)
        path.write_text("{")
        with pytest.raises(ValueError):
            golden.load(path)


def topology(world: int, plain: str, ordered: str) -> ExperimentResult:
    hashes: dict[str, object] = {A: plain, f"{A}/ordered": ordered}
    return made(f"{world} of 4 ranks", hashes, role="topology", ranks=world)


def test_agreements() -> None:
    results = [topology(1, "a", "o"), topology(2, "b", "o"), topology(4, "a", "o")]
    plain, ordered = agreement.agreements(results)
    assert (plain.letters, plain.agrees, plain.ordered) == (("A", "B", "A"), False, False)
    assert (ordered.letters, ordered.agrees, ordered.worlds) == (("A", "A", "A"), True, (1, 2, 4))
    assert agreement.agreements([]) == ()


def test_blindness() -> None:
    cases = tuple(
        Case(data, "fp32", 4, order=order)  # type: ignore[arg-type]
        for data in ("equal", "wide")
        for order in ((0, 1, 2, 3), (0, 2, 1, 3))
    )
    names = [case.id for case in cases]
    run = made("ring orders", {A: "a"}, role="blind")
    for hashes, shown in ((("e", "e", "p", "q"), True), (("e", "f", "p", "q"), False), (("e", "e", "p", "p"), False)):
        rows = dict(zip(names, ((hash_,) for hash_ in hashes), strict=True))
        ranks = tuple(replace(rank, hashes=rows) for rank in run.ranks)
        found = agreement.blindness([replace(run, experiment=replace(run.experiment, cases=cases), ranks=ranks)])
        assert found is not None and found.shown == shown
    assert agreement.blindness([]) is None
    assert agreement.Blindness(3, 1, 3).sentence() == (
        "3 ring orders: 1 hash when every rank adds the same numbers, 3 when each adds its own"
    )


def test_a_session_is_plain_data() -> None:
    session = Session(SmokeRequest({"NCCL_ALGO": "Ring"}), ONE_GPU, results=list(RESULTS))
    judge(session, None)
    data = json.loads(json.dumps(session_data(session)))
    assert data["matrix"]["rows"][0]["cells"] == ["A", "A", "A"]
    assert [entry["id"] for entry in data["experiments"]] == ["user", "restart", "pinned", "control"]
    assert [rank["rank"] for rank in data["experiments"][0]["ranks"]] == [0, 1, 2, 3]
    assert {"ranks-differ", "repeats-differ", "inconclusive"} <= {verdict["rule"] for verdict in data["verdicts"]}
    assert data["claim"] == ""


def test_every_planned_plain_case_has_a_column() -> None:
    results = [ExperimentResult(experiment, "not run") for experiment in plan(SmokeRequest(level="topology"), ONE_GPU)]
    assert len(matrix(results).columns) == 12 and len(matrix(results).rows) == 4
