"""`envdoctor: ignore[...]` comments: on the line, on the line above, or for a whole file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rulebook

MARK = "envdoctor:"
PATTERN = regex(
    r"(?P<lead>#|//|--|;|%|<!--|\.\.)\s*envdoctor:\s*(?P<form>ignore-file|ignore)"
    r"(?:\[(?P<names>[^\]]*)\])?(?P<rest>[^\n]*)"
)


@dataclass(slots=True)
class Ignore:
    """One ignore comment: the rules it names (empty: all), the line it covers (0: the file), and its use."""

    names: tuple[str, ...]
    place: Place
    covers: int
    reason: str = ""
    used: set[str] = field(default_factory=set)
    whole: Place | None = None
    """What goes with the comment: the line that it stands on alone, or the blanks in front of it."""
    names_place: Place | None = None

    def silences(self, finding: Finding) -> bool:
        """Whether this comment is about the finding; the name that matched counts as used."""
        if self.covers and finding.place.line != self.covers:
            return False
        if not self.names:
            self.used.add("*")
            return True
        for name in self.names:
            if name.lower() in (finding.rule.lower(), finding.name):
                self.used.add(name)
                return True
        return False


def ignores_in(path: str, text: str) -> list[Ignore]:
    """All ignore comments of a file. A comment alone on its line covers the next line that is no comment."""
    if MARK not in text:
        return []
    found = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if MARK not in line or not (match := PATTERN.search(line)):
            continue
        names = tuple(n.strip() for n in (match["names"] or "").split(",") if n.strip())
        place = Place(path, number, match.start() + 1, number, match.start() + 1 + len(match[0].rstrip()))
        covers = 0 if match["form"] == "ignore-file" else _covered(lines, number, match)
        ignore = Ignore(names, place, covers, match["rest"].strip().lstrip("-").strip())
        ignore.whole = _whole(place, lines, match)
        if match["names"] is not None:
            ignore.names_place = Place(path, number, match.start("names") + 1, number, match.end("names") + 1)
        found.append(ignore)
    return found


def _whole(place: Place, lines: Sequence[str], match: re.Match[str]) -> Place:
    before = lines[place.line - 1][: match.start()].rstrip(" \t")
    if before or place.line == len(lines):
        return Place(place.path, place.line, len(before) + 1, place.line, len(lines[place.line - 1]) + 1)
    return Place(place.path, place.line, 1, place.line + 1, 1)


def _covered(lines: Sequence[str], number: int, match: re.Match[str]) -> int:
    """The line that an `ignore` on line `number` is about."""
    if lines[number - 1][: match.start()].strip():
        return number
    for following, line in enumerate(lines[number:], number + 1):
        if line.strip() and not line.lstrip().startswith(match["lead"]):
            return following
    return len(lines) + 1


def apply(findings: Sequence[Finding], ignores: Sequence[Ignore]) -> list[Finding]:
    """The findings that no comment silences. Every comment that matches counts as used."""
    return [f for f in findings if not any(ignore.silences(f) for ignore in ignores)]


def complaints(ignores: Sequence[Ignore], rulebook: Rulebook, selected: set[str]) -> list[Finding]:
    """Unused and unknown names in ignore comments. A rule that was not run cannot be unused."""
    rule = rulebook.named("unused-ignore")
    found = []
    for ignore in ignores:
        for name in ignore.names or ("*",):
            known = rulebook.find(name) if name != "*" else None
            if name != "*" and known is None:
                message = f"no rule is named {name}"
            elif name in ignore.used or (known is not None and known.id not in selected):
                continue
            else:
                what = f"{known.id} {known.name}" if known else "anything"
                message = f"this comment silences nothing: {what} is not reported here"
            found.append(
                Finding(rule.id, rule.name, rule.severity, rule.confidence, ignore.place, message, rule.fix,
                        fix=_removal(ignore, rulebook, selected))
            )  # fmt: skip
    return found


def _removal(ignore: Ignore, rulebook: Rulebook, selected: set[str]) -> Fix | None:
    """Take out the names that silence nothing, or the comment where all do.

    Unsafe where a name is unknown: it was meant for some rule, and the reason beside it may be worth keeping.
    """
    known = {name: rulebook.find(name) for name in ignore.names}
    stale = [name for name, rule in known.items() if rule is None or (name not in ignore.used and rule.id in selected)]
    safe = all(known[name] is not None for name in stale)
    kept = [name for name in ignore.names if name not in stale]
    if not kept and ignore.whole is not None:
        return Fix("remove the comment", (Edit(ignore.whole, ""),), safe)
    if ignore.names_place is None:
        return None
    return Fix(f"ignore only {', '.join(kept)}", (Edit(ignore.names_place, ", ".join(kept)),), safe)
