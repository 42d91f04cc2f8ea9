"""Findings become suspects, and answers stand beside the findings."""

from __future__ import annotations

import pytest

from envdoctor.core.facts import Place, Setting, Value
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.node.smoke.findings import KINDS, applied, confirmed, request, suspects, verdict_findings
from envdoctor.node.smoke.model import SmokeConfirmation, SmokeRequest, SmokeVerdict, Suspect
from envdoctor.node.smoke.run.session import Session

PLACE = Place("train.sh", 1, 1, 1, 2)


def setting(name: str, value: str | None, op: str = "set", exported: str = "yes") -> Setting:
    given = Value("literal", value) if value is not None else Value("unknown", "$X")
    return Setting(op, name, given, PLACE, "shell", 0, exported)  # type: ignore[arg-type]


def finding(rule: str, variable: str | None, meant: str = "") -> Finding:
    fix = Fix("rename", (Edit(PLACE, meant),)) if meant else None
    return Finding("ED000", rule, "error", "high", PLACE, "m", "", variable, fix=fix)


def test_each_finding_is_asked_about_once() -> None:
    settings = [setting("NCCL_DETERMINISTIC", "1"), setting("RCCL_ALGO", "Tree")]
    found = suspects(
        [
            finding("ghost-variable", "NCCL_DETERMINISTIC"),
            finding("ghost-variable", "NCCL_DETERMINISTIC"),
            finding("misnamed-variable", "RCCL_ALGO", "NCCL_ALGO"),
            finding("unseeded-rng", None),
            finding("missing-collective-setting", None),
        ],
        settings,
    )
    assert found == (
        Suspect("NCCL_DETERMINISTIC", "ghost", "1"),
        Suspect("RCCL_ALGO", "misnamed", "Tree", meant="NCCL_ALGO"),
        Suspect("NCCL_ALGO", "unpinned"),
    )


@pytest.mark.parametrize(
    ("events", "holds"),
    [
        ([("set", "1"), ("set", "2")], "2"),
        ([("set", "1"), ("default", "2")], "1"),
        ([("default", "2")], "2"),
        ([("set", "1"), ("unset", "")], None),
        ([("set", None)], None),
    ],
)
def test_the_last_value_holds(events: list[tuple[str, str | None]], holds: str | None) -> None:
    assert applied([setting("NCCL_ALGO", value, op) for op, value in events]).get("NCCL_ALGO") == holds


def test_a_value_that_no_rank_gets_is_not_applied() -> None:
    assert applied([setting("NCCL_ALGO", "Ring", exported="no")]) == {}


def test_only_known_families_are_passed_on() -> None:
    settings = [setting("NCCL_ALGO", "Ring"), setting("SECRET_TOKEN", "x"), setting("PYTHONHASHSEED", "0")]
    asked = request([], settings, load_catalog(), "auto")
    assert dict(asked.settings) == {"NCCL_ALGO": "Ring", "PYTHONHASHSEED": "0"}
    assert asked.load_time == {"PYTHONHASHSEED"}
    assert asked.level == "run-to-run"


def test_answers_stand_beside_their_findings() -> None:
    ghost, other = finding("ghost-variable", "NCCL_DETERMINISTIC"), finding("bad-value", "NCCL_ALGO")
    answer = SmokeConfirmation(Suspect("NCCL_DETERMINISTIC", "ghost", "1"), "confirmed", "never asked for")
    first, second = confirmed([ghost, other], [answer])
    assert first.confirmation is not None
    assert (first.confirmation.state, first.confirmation.reason) == ("confirmed", "never asked for")
    assert second.confirmation is None


def test_an_inconclusive_test_changes_no_exit_status() -> None:
    session = Session(SmokeRequest())
    session.verdicts = (
        SmokeVerdict("inconclusive", "hung", "hung", ("user",)),
        SmokeVerdict("ranks-differ", "rank 3 alone", experiments=("user", "pinned")),
    )
    inconclusive, differ = verdict_findings(session, load_rulebook(), "node-a")
    assert (inconclusive.rule, inconclusive.severity) == ("ED807", "info")
    assert (differ.rule, differ.severity, differ.place.node) == ("ED801", "error", "node-a")
    assert differ.evidence == ("experiments: user, pinned",)


def test_every_rule_that_is_asked_about_will_exist() -> None:
    names = {rule.name for rule in load_rulebook()}
    assert {"ghost-variable", "misnamed-variable", "bad-value"} <= names & set(KINDS)
