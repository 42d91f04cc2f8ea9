"""Arguments and variables that the deterministic mode of a program refuses beside it (ED502)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, cast

from envdoctor.checks import context as checks
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.python.patterns import within
from envdoctor.core.facts import Launch, Setting
from envdoctor.core.findings import Finding
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.calls import DeterministicMode, OptionArguments, Refused, RefusedVariable

RELEASE = regex(r"core_(?:v|r)(\d+\.\d+(?:\.\d+)?)")


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """What stands beside the mode on its command line, and in the environment that the same file gives it."""
    launches = context.facts.launches
    for data in cast("OptionArguments", rule.parameters).get("arguments", ()):
        asking = [launch for launch in launches if _asks(launch, data)]
        if asking:
            release = _release(launches)
            for launch in asking:
                yield from _words(rule, launch, data["refused"], release)
            yield from _variables(rule, context.facts.settings, data, release)


def _asks(launch: Launch, data: DeterministicMode) -> bool:
    """Whether a launch starts one of the programs in the mode."""
    words = launch.words
    named = any(fnmatchcase(w.rpartition("/")[2], p) for w in words for p in data["programs"])
    return data["asks"] in words and named


def _words(rule: Rule, launch: Launch, refused: Sequence[Refused], release: str) -> Iterator[Finding]:
    for entry in refused:
        if entry["word"] in launch.words and _holds(entry, release):
            message = f"{entry['word']} beside --deterministic-mode: {entry['says']}"
            yield finding(rule, launch.place, message, help=f"without {entry['word']}")
            return


def _holds(entry: Refused, release: str) -> bool:
    """Whether an entry is about a release; `release` wants it to be known, `not_in` excludes one that is."""
    if "release" in entry and not (release and within(release, entry["release"])):
        return False
    return not ("not_in" in entry and release and within(release, entry["not_in"]))


def _variables(rule: Rule, settings: Sequence[Setting], data: DeterministicMode, release: str) -> Iterator[Finding]:
    """Variables with a value that the release stops on, or that every release does where it is not known."""
    for setting in checks.judged(list(settings)):
        entries = [e for e in data["variables"] if e["name"] == setting.name]
        value = setting.value.known
        if not entries or value is None or setting.op not in ("set", "default"):
            continue
        concerned = [e for e in entries if not release or within(release, e["release"])]
        if concerned and all(_refused(value, entry) for entry in concerned):
            entry = concerned[-1]
            message = f"{setting.name}={value} beside {data['asks']}: {entry['says']}"
            evidence = tuple(entry["evidence"])
            yield finding(rule, place_of(setting), message, setting.name, help=entry["help"], evidence=evidence)


def _refused(value: str, entry: RefusedVariable) -> bool:
    parts = [part.strip() for part in value.split(",")] if entry.get("list") else [value]
    return not all(part in entry["allowed"] for part in parts if part or not entry.get("list"))


def _release(launches: Sequence[Launch]) -> str:
    """The release of Megatron-LM that a script fetches."""
    found = (RELEASE.search(word) for launch in launches for word in launch.words)
    return next((m[1] for m in found if m), "")
