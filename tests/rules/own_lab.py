"""The rules of envdoctor as a user would write them, to be changed and tried."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

from node_trees import edited, judged
from support import ROOT

from envdoctor.cli.rule_examples import said_of
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.files import loads_toml
from envdoctor.knowledge.kinds import KINDS
from envdoctor.knowledge.rule_check import check_own
from envdoctor.knowledge.rulebook import Example, Rule, Rulebook, load_rulebook, made
from envdoctor.node.live.judge import Judge
from envdoctor.node.probes.report import Node

BOOK = load_rulebook()
OURS = [rule for rule in BOOK if rule.check == "own"]


@cache
def _contents() -> dict[str, dict[str, Any]]:
    """Name of a rule -> the content of its file."""
    files = (loads_toml(path.read_text(encoding="utf-8")) for path in (ROOT / "rules").glob("*/*.toml"))
    return {content["name"]: content for content in files if "code" in content}


def written_as_own(rule: Rule) -> dict[str, Any] | None:
    """The content of the file of a rule with a public kind in the place of its code; None where none stands for it."""
    kind = KINDS.get(rule.check)
    chosen = next((word for word, codes in kind.codes.items() if rule.code[0] in codes), None) if kind else None
    if kind is None or chosen is None:
        return None
    content = copy.deepcopy(_contents()[rule.name])
    del content["code"]
    parameters = {**copy.deepcopy(dict(rule.parameters)), **({kind.chooser: chosen} if kind.chooser else {})}
    return {**content, "id": "ED950", "name": "mine", "check": rule.check, "parameters": parameters}


OWN = {rule.name: content for rule in BOOK if (content := written_as_own(rule)) is not None}


def valid(content: dict[str, Any]) -> Rule:
    """The rule in a file. `RuleError`: it is not valid."""
    return made(content, *check_own(content, "mine.toml"))


def tried(rule: Rule, example: Example, folder: Path) -> list[str]:
    """What could not be done when a rule was run on an example."""
    if example.node:
        judge = Judge([rule], load_catalog())
        judge.findings(_node(example, folder))
        return judge.internal.messages()
    return said_of(rule, example, folder, Rulebook((rule, *OURS)), load_catalog())[1]


_NODES: dict[str, Node] = {}


def _node(example: Example, folder: Path) -> Node:
    """The node of an example, examined once."""
    key = repr(example)
    if key not in _NODES:
        _NODES[key] = judged(edited(example.node, folder, example.files), rules=()).node
    return _NODES[key]
