"""ED202: arguments of a known program that exclude each other, where the release that is used plainly refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks.context import LaunchContext
from envdoctor.checks.findings import finding
from envdoctor.core.facts import FileFacts, Launch
from envdoctor.core.findings import Finding
from envdoctor.knowledge.catalog.releases import version_numbers
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.relations import Arguments, ExcludedPair


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Launches with two arguments of which the program accepts one alone."""
    for facts in context.facts:
        for launch in facts.launches:
            for pair in cast("Arguments", rule.parameters)["arguments"]:
                if pair["asks"] in launch.words and pair["word"] in launch.words and _refuses(pair, facts):
                    message = f"{pair['word']} beside {pair['asks']}: {pair['says']}"
                    yield finding(rule, launch.place, message, help=f"without {pair['word']}",
                                  evidence=tuple(pair["evidence"]))  # fmt: skip


def _refuses(pair: ExcludedPair, facts: FileFacts) -> bool:
    """Whether the release that the file fetches is one of those that refuse the pair."""
    first, last = (version_numbers(bound) for bound in pair["releases"])
    for fetched in facts.launches:
        release = _release(fetched, pair["repository"])
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
