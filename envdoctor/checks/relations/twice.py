"""ED202: a value that another one takes the place of.

Written twice with nothing in between that could use the first, or written nearer to the launch than the one that wins.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.analysis.process.results import Replaced
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import is_used, judged, setting_of
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import FileFacts, Launch, Setting, Use
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

_QUIET = regex(r"\s*(?:$|#|(?:os\.)?environ\b|import\s|from\s+\S+\s+import\b|[\"'])")
"""Lines of Python that start nothing and use nothing."""
_MEANT = regex(r"overrid|overwrit|re-?set|restore|instead|default", 2)
OF_SCRIPTS = ("shell", "csh", "fish")


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Pairs of which the first is lost for no reason that shows."""
    for replaced in context.replaced:
        if judged(replaced.first.name, context, replaced.second.place.path) is not None:
            yield from _replaced(rule, replaced, context)
    for facts in context.facts:
        if facts.kind not in OF_SCRIPTS:
            yield from _in_file(rule, facts, context)


def _replaced(rule: Rule, replaced: Replaced, context: LaunchContext) -> Iterator[Finding]:
    name = replaced.first.name
    second = setting_of(replaced.second, context)
    if _equal(replaced.before, replaced.after) or (second is not None and _MEANT.search(second.comment)):
        return
    if is_used(name, (), replaced.first, context):
        return
    if replaced.how == "twice":
        if replaced.first.place.path == replaced.second.place.path:
            yield _twice(rule, replaced)
        return
    winner, loser = replaced.second, replaced.first
    here = winner.place.path == loser.place.path
    where = f" in line {winner.place.line}" if here else f", which {winner.place.path} sets"
    by = f": {replaced.by} counts it only where the caller has none" if replaced.by else " afterwards"
    message = f"{name}={_short(replaced.before)} loses to {_short(replaced.after)}{where}{by}"
    related = (Related(winner.place, f"{_short(replaced.after)} is what ranks get", name),)
    yield finding(rule, loser.place, message, name, related=related, help="keep the one that is meant")


def _twice(rule: Rule, replaced: Replaced) -> Finding:
    name, first, second = replaced.first.name, replaced.first.place, replaced.second.place
    message = f"{name}={_short(replaced.after)} takes the place of {_short(replaced.before)}, set in line {first.line}"
    related = (Related(first, "set here, and lost", name),)
    return finding(rule, second, message, name, related=related, help="keep the one that is meant")


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _equal(one: str, other: str) -> bool:
    return one.strip().lower() == other.strip().lower()


# Files that are no scripts: two entries of one name in one place


def _in_file(rule: Rule, facts: FileFacts, context: LaunchContext) -> Iterator[Finding]:
    last: dict[str, Setting] = {}
    between: dict[str, bool] = {}
    every: list[Setting | Use | Launch] = [*facts.settings, *facts.uses, *facts.launches]
    for fact in sorted(every, key=lambda fact: fact.order):
        if isinstance(fact, Launch):
            between = dict.fromkeys(last, True)
        elif isinstance(fact, Use):
            between[fact.name] = True
        else:
            for name in fact.value.references:
                between[name] = True
            before = last.get(fact.name)
            if before is not None and not between.get(fact.name) and _cancels(before, fact, facts, context):
                yield _entry(rule, before, fact)
            last[fact.name] = fact
            between[fact.name] = False


def _cancels(first: Setting, second: Setting, facts: FileFacts, context: LaunchContext) -> bool:
    """Whether the first of two settings is lost to the second for no reason that shows."""
    if first.op != "set" or second.op != "set" or first.guarded or second.guarded or first.channel != second.channel:
        return False
    if first.value.kind != "literal" or second.value.kind != "literal" or _equal(first.value.text, second.value.text):
        return False
    if first.scope != second.scope or second.scope.kind == "command" or first.branch != second.branch:
        return False
    if _MEANT.search(second.comment) or any(b.arm == "loop" for b in second.branch):
        return False
    return judged(second.name, context, facts.path) is not None and _quiet(facts, first, second, context)


def _quiet(facts: FileFacts, first: Setting, second: Setting, context: LaunchContext) -> bool:
    """Whether the lines between two settings of a program start nothing."""
    if facts.kind not in PYTHON:
        return True
    lines = context.text(facts.path).split("\n")[first.place.end_line : second.place.line - 1]
    return facts.kind == "notebook" or all(_QUIET.match(line) for line in lines)


def _entry(rule: Rule, first: Setting, second: Setting) -> Finding:
    message = (
        f"{second.name}={_short(second.value.text)} takes the place of {_short(first.value.text)}, "
        f"set in line {first.place.line}"
    )
    related = (Related(place_of(first), "set here, and lost", first.name),)
    return finding(rule, place_of(second), message, second.name, related=related, help="keep the one that is meant")
