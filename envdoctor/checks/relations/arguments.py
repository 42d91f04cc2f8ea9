"""ED202: arguments of a known program that exclude each other, where the release that is used plainly refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks.context import UnitContext
from envdoctor.checks.findings import finding
from envdoctor.core.facts import Launch
from envdoctor.core.findings import Finding
from envdoctor.knowledge.catalog.releases import version_numbers
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.relations import Arguments, ExcludedPair


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Launches with two arguments of which the program accepts one alone."""
    for command in context.unit.commands:
        words = command.launch.words
        for pair in cast("Arguments", rule.parameters)["arguments"]:
            if pair["asks"] in words and pair["word"] in words and _refuses(pair, context):
                message = f"{pair['word']} beside {pair['asks']}: {pair['says']}"
                yield finding(rule, command.launch.place, message, help=f"without {pair['word']}",
                              evidence=tuple(pair["evidence"]))  # fmt: skip


def _refuses(pair: ExcludedPair, context: UnitContext) -> bool:
    """Whether the release that the unit fetches is one of those that refuse the pair."""
    first, last = (version_numbers(bound) for bound in pair["releases"])
    for fetched in context.unit.commands:
        release = _release(fetched.launch, pair["repository"])
        if release is not None and first is not None and last is not None and first <= release <= last:
            return True
    return False


def _release(launch: Launch, repository: str) -> tuple[int, ...] | None:
    """The release that `git clone --branch core_v0.12.0 .../repository` names."""
    if launch.launcher != "git clone" or not any(repository in word for word in launch.words):
        return None
    for at, word in enumerate(launch.words[:-1]):
        if word in ("-b", "--branch") and (match := re.search(r"\d+(?:\.\d+)+", launch.words[at + 1])):
            return version_numbers(match[0])
    return None
