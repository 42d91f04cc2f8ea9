"""A conf file of a collectives library with the name that the other vendor's library reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from envdoctor.checks.context import LaunchContext
from envdoctor.checks.findings import finding
from envdoctor.core.facts import FileFacts
from envdoctor.core.findings import Finding
from envdoctor.core.versions import at_least
from envdoctor.knowledge.rulebook import Rule

FIRST_RCCL_CONF = "5.2.3"
"""The first ROCm release whose RCCL reads rccl.conf and no longer nccl.conf."""


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """A conf file with the other vendor's name, in the tree or written by a script: never read here."""
    written = [facts for facts in context.facts if any(setting.channel == "conf-file" for setting in facts.settings)]
    if not written or any(s.name == "NCCL_CONF_FILE" for facts in context.files.values() for s in facts.settings):
        return
    for facts in written:
        yield from _in_file(rule, facts, context)


def _in_file(rule: Rule, facts: FileFacts, context: LaunchContext) -> Iterator[Finding]:
    target = context.target_of(facts.path)
    old = at_least(target.versions.get("rocm", ""), FIRST_RCCL_CONF) is False
    if target.platform not in ("cuda", "rocm") or old:
        return
    wrong, right = ("nccl.conf", "rccl.conf") if target.platform == "rocm" else ("rccl.conf", "nccl.conf")
    seen: set[str] = set()
    for setting in facts.settings:
        written = setting.scope.name if setting.scope.kind == "file" else setting.place.path
        name = PurePosixPath(written).name
        if setting.channel != "conf-file" or name.lstrip(".") != wrong or written in seen:
            continue
        seen.add(written)
        library = "RCCL" if target.platform == "rocm" else "NCCL"
        message = f"{name} is never read here: {library} reads {right}"
        yield finding(rule, setting.place, message, evidence=rule.evidence)
