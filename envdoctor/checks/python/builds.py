"""Options that stand in builds and in configuration files (ED502), judged by the programs that use them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.python.timeline import Timeline
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding
from envdoctor.checks.python.options import said
from envdoctor.checks.python.users import asked_by_script, loaders, readers, wanted_by
from envdoctor.core.facts import Branch, Call, Place
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.calls import OptionBuilds

FLAG = ":compiler.flag"
CONFIGURATION = ":deepspeed."
USUAL = regex(
    r"(?i)cuda|hip|rocm|nvcc|msvc|gnu|clang|compiler|win|apple|unix|linux|darwin|platform|os\.name|available|version"
    r"|hasattr|__main__|torch|python|processor|arch"
)
"""Conditions of builds that ask what there is to build with, and choose nothing."""


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Fast math in what a repeatable program loads, and configurations that such a program reads."""
    flags = [c for c in context.facts.calls if c.name == FLAG]
    known = cast("OptionBuilds", rule.parameters).get("fast_math")
    if flags and known is not None:
        yield from _fast_math(rule, known, context, flags)
    if context.facts.kind == "json":
        yield from _configured(rule, context)


def _fast_math(rule: Rule, known: str, context: FileContext, flags: Iterable[Call]) -> Iterator[Finding]:
    pattern = re.compile(known)
    users: dict[tuple[str, ...], Timeline | None] = {}
    for call in flags:
        match = pattern.search(call.arguments[0].text)
        if match is None or _chosen(call.branch) or context.level == "hygiene":
            continue
        modules = tuple(a.text for a in call.arguments if a.keyword == "module")
        if modules not in users:
            users[modules] = wanted_by(context, loaders(context, modules))
        user = users[modules]
        if user is not None:
            message = f"{match[1]} trades exactness for speed: results change with compiler and device"
            related = _asking(user, call.place)
            yield finding(rule, call.place, message, help=f"build without {match[1]}", related=related)


def _chosen(conditions: Iterable[Branch]) -> bool:
    """Whether a condition chooses the flag, rather than the compiler it is for."""
    return any(b.arm != "loop" and b.arm != "with" and not USUAL.search(b.condition) for b in conditions)


def _asking(user: Timeline, place: Place) -> tuple[Related, ...]:
    if user.path == place.path:
        return ()
    return (Related(Place(user.path, 1, 1, 1, 1), "asks for determinism and uses what is said here"),)


def _configured(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Entries of a configuration file."""
    table = context.shared.options(rule)
    found = [
        (call, data)
        for call in context.facts.calls
        if call.name.startswith(CONFIGURATION)
        for shape, data in table.of(call)
        if shape.holds(context.target)
    ]
    if not found or context.level == "hygiene":
        return
    user = wanted_by(context, readers(context))
    if user is None and not asked_by_script(context):
        return
    for call, data in found:
        related = _asking(user, call.place) if user is not None else ()
        yield said(rule, context, call, data, related, "high")
