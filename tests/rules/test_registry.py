"""Every code that a rule names leads to a function that does its work, and no function is left without a rule."""

from __future__ import annotations

import inspect

import pytest

from envdoctor.checks import registry
from envdoctor.checks.registry import CHECKS
from envdoctor.knowledge.kinds import KINDS, TOPICS
from envdoctor.knowledge.parameters.records import RECORDS
from envdoctor.knowledge.rulebook import load_rulebook

NAMED = {code for rule in load_rulebook() for code in rule.code}
PUBLIC = {code for kind in KINDS.values() for codes in kind.codes.values() for code in codes}


def test_codes_checks_and_records_are_the_same() -> None:
    assert NAMED - {"own"} == set(CHECKS)
    assert PUBLIC.issubset(CHECKS)
    assert set(RECORDS) == {*CHECKS, "own"}
    assert {code.partition(".")[0] for code in NAMED} == set(TOPICS)


def test_the_topics_of_checks_are_asked() -> None:
    topics = {code.partition(".")[0] for code in CHECKS}
    assert topics == {*registry.FILE_TOPICS, *registry.LAUNCH_TOPICS, "node"}


@pytest.mark.parametrize("code", CHECKS)
def test_a_check_is_called_with_what_its_topic_gives(code: str) -> None:
    check = registry.function(code)
    wanted = {
        **{topic: ["FileContext"] for topic in registry.FILE_TOPICS},
        **{topic: ["LaunchContext"] for topic in registry.LAUNCH_TOPICS},
        "node": [],
    }[code.partition(".")[0]]
    signature = inspect.signature(check, eval_str=False)
    taken = [str(one.annotation).rpartition(".")[2] for one in signature.parameters.values()]
    assert taken == (["Rule", *wanted] if wanted else ["Seen"])
    assert signature.return_annotation == ("Iterator[Finding]" if wanted else "Iterator[Told]")
    assert check.__doc__


def test_kinds_lead_back_to_themselves() -> None:
    for name, kind in KINDS.items():
        for codes in kind.codes.values():
            assert {TOPICS[code.partition(".")[0]] for code in codes} == {name}
