"""Nodes of other kinds than the first ones: what their node.toml says comes out, and rules speak or are silent."""

from __future__ import annotations

from typing import Any

import pytest
from node_helpers import observed
from node_trees import judged_as_recorded
from recorded import UNLIKE, told

from envdoctor.core.findings import SEVERITIES
from envdoctor.node.probes.keys import KEYS, fits
from envdoctor.node.probes.report import Node

ABOUT = {"name", "summary", "source", "expect"}


def expected(name: str) -> list[tuple[str, str, Any]]:
    """(table, key, value) of every fact; a value outside a table has the key ""."""
    facts = {key: value for key, value in told(name).items() if key not in ABOUT}
    return [
        (table, key, wanted)
        for table, value in facts.items()
        for key, wanted in (value.items() if isinstance(value, dict) else [("", value)])
    ]


@pytest.mark.parametrize("name", UNLIKE)
def test_facts(name: str) -> None:
    node = judged_as_recorded(name).node
    found = node.as_json()
    wanted = expected(name)
    assert [(t, k, found.get(t, {}).get(k) if k else found.get(t)) for t, k, _ in wanted] == wanted
    for key, values in told(name)["expect"].get("observations", {}).items():
        assert observed(node.facts, key) == values, key


@pytest.mark.parametrize("name", UNLIKE)
def test_rules_that_speak_and_rules_that_are_silent(name: str) -> None:
    findings = judged_as_recorded(name).findings
    worst: dict[str, int] = {}
    for finding in findings:
        worst[finding.rule] = max(worst.get(finding.rule, -1), SEVERITIES.index(finding.severity))
    for word in told(name)["expect"]["rules"]:
        rule, _, severity = word.partition(":")
        assert worst.get(rule, -1) >= SEVERITIES.index(severity or "warning"), word
    for word in told(name)["expect"]["no_rules"]:
        rule, _, severity = word.partition(":")
        assert worst.get(rule, -1) < SEVERITIES.index(severity or "info"), word


def failing(node: Node) -> set[str]:
    return {probe.name for probe in node.probes if probe.status == "failed"}


@pytest.mark.parametrize("name", UNLIKE)
def test_no_probe_breaks_and_every_fact_has_its_place(name: str) -> None:
    node = judged_as_recorded(name).node
    assert failing(node) <= {"torch", "shared memory"}, name
    for observation in node.facts.observations:
        assert fits(observation.key, observation.value), observation
        assert observation.place.path, observation
        assert bool(observation.detail) >= bool(KEYS[observation.key].each), observation


def test_there_are_nodes() -> None:
    assert len(UNLIKE) >= 19
