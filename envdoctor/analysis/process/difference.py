"""How two launches differ: variables that reach the ranks, number of ranks, launcher, program and its arguments.

What is known to change the bits of a sum comes first, what is known not to comes last; between them stands what nobody
has shown either way. A variable that the catalogue does not know is named, and its value is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from envdoctor.analysis.process.interpreter.state import Starter
from envdoctor.analysis.process.results import RankStart, Walked, in_order
from envdoctor.analysis.process.show import distinct
from envdoctor.analysis.process.sizes import options
from envdoctor.core.credentials import MASKED, is_credential
from envdoctor.core.errors import UserError
from envdoctor.core.facts import FileFacts, Setting
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.launchers import load_launchers

Bits = Literal["yes", "unknown", "no"]
BITS: tuple[Bits, ...] = ("yes", "unknown", "no")
HEADINGS: Mapping[str, str] = {
    "yes": "can change bits", "unknown": "not known whether they change bits", "no": "change no bits",
}  # fmt: skip
KINDS = ("setting", "ranks", "launcher", "program", "argument")
NOT_SHOWN = "(not shown)"
GIVES = ("set", "default", "append")
LONGEST = 100


class LaunchView(NamedTuple):
    """One launch as it is compared: for each kind, names and what each has."""

    label: str
    has: Mapping[str, Mapping[str, str]]


class Difference(NamedTuple):
    """One thing that the two launches do not share; None: that one has none."""

    bits: Bits
    kind: str
    name: str
    first: str | None
    second: str | None


def launch(walked: Walked, facts: FileFacts | None, path: str, line: int | None, catalog: Catalog) -> LaunchView:
    """The launch of ranks in a file; in a file without one, what the whole file sets.

    `UserError`: nothing there starts or sets anything, or several launches do and no line says which is meant.
    """
    if facts is None or not (facts.launches or facts.settings):
        raise UserError(f"{path}: starts no ranks and sets nothing that envdoctor reads")
    starts = [start for start in distinct(walked.starts) if start.place.path == path]
    if line is not None:
        starts = [start for start in starts if start.place.line <= line <= start.place.end_line]
        if not starts:
            raise UserError(f"{path}:{line}: no launch of ranks stands there (--show-launches lists them)")
    places = list(dict.fromkeys(start.place.line for start in starts))
    if len(places) > 1:
        listed = ", ".join(f"{path}:{number}" for number in places[:10])
        raise UserError(f"{path}: starts ranks {len(places)} times; say which one is meant: {listed}")
    if not starts:
        return LaunchView(path, {"setting": _whole(facts, catalog)})
    return LaunchView(f"{path}:{starts[0].place.line}", _parts(starts[0], walked, catalog))


def _whole(facts: FileFacts, catalog: Catalog) -> dict[str, str]:
    """What a file gives that starts nothing by itself: the environment of a manifest or an image."""
    found: dict[str, list[Setting]] = {}
    for setting in facts.settings:
        if setting.op in GIVES and setting.exported != "no":
            found.setdefault(setting.name, []).append(setting)
    texts = {n: [s.value.text if s.value.kind != "unknown" else "?" for s in settings] for n, settings in found.items()}
    return {name: _values(name, values, catalog) for name, values in texts.items()}


def _parts(one: RankStart, walked: Walked, catalog: Catalog) -> dict[str, dict[str, str]]:
    launchers = load_launchers()
    given = [(starter, flag, value) for starter in one.chain for flag, value in options(own_words(starter)).items()]
    sizes: dict[str, str] = {}
    others: dict[str, str] = {}
    for starter, flag, value in given:
        kind = sizes if flag in launchers.sizes_of(starter.name) else others
        kind[f"{starter.name} {flag}"] = value
    return {
        "setting": _reaching(one, walked, catalog),
        "ranks": sizes,
        "launcher": {"chain": " > ".join(one.launchers), **others},
        "program": {"entry": one.path or one.program} if one.path or one.program else {},
        "argument": dict(options(one.arguments)),
    }


def _reaching(one: RankStart, walked: Walked, catalog: Catalog) -> dict[str, str]:
    """Variables that ranks have, from the launch and from the program that it starts."""
    found = {
        name: [a.text if a.kind == "literal" else "?" for a in in_order(slot) if a.arrives]
        for name, slot in one.reaching().items()
        if any(a.origins for a in slot) or catalog.variable(name) is None
    }
    facts = next((facts for facts in walked.files if facts.path == one.path), None)
    for setting in facts.settings if facts is not None else ():
        if setting.channel == "python-environ" and setting.op in GIVES and not setting.guarded:
            found.setdefault(setting.name, []).append(setting.value.text if setting.value.kind != "unknown" else "?")
    return {name: _values(name, values, catalog) for name, values in found.items()}


def _values(name: str, values: Sequence[str], catalog: Catalog) -> str:
    """The values that may hold, in order; several where conditions decide."""
    text = " or ".join(dict.fromkeys(values))
    if catalog.variable(name) is None:
        # The text is compared and never shown; equal values stay equal.
        return f"\0{text}"
    return f"\0{text}" if is_credential(name, text) else text


def own_words(one: Starter) -> Sequence[str]:
    """The words of a launcher without the command that it runs."""
    end = len(one.words) - len(one.inner)
    return one.words[1:end] if one.inner and one.words[end:] == one.inner else one.words[1:]


def between(one: LaunchView, other: LaunchView, catalog: Catalog) -> list[Difference]:
    """What the launches do not share, what can change bits first."""
    found = []
    for kind in KINDS:
        first, second = one.has.get(kind, {}), other.has.get(kind, {})
        for name in dict.fromkeys((*first, *second)):
            if first.get(name) != second.get(name):
                shown = [_shown(name, side.get(name)) for side in (first, second)]
                found.append(Difference(_bits(kind, name, catalog), kind, name, *shown))
    return sorted(found, key=lambda d: (BITS.index(d.bits), KINDS.index(d.kind)))


def _bits(kind: str, name: str, catalog: Catalog) -> Bits:
    """Whether something changes bits. How many ranks there are does: a sum over other ranks has another order."""
    if kind == "ranks":
        return "yes"
    variable = catalog.variable(name) if kind == "setting" else None
    known = variable.changes_bits if variable is not None else ""
    return "yes" if known == "yes" else "no" if known == "no" else "unknown"


def _shown(name: str, value: str | None) -> str | None:
    if value is None:
        return None
    if value.startswith("\0"):
        return NOT_SHOWN
    if is_credential(name.lstrip("-").replace("-", "_"), value):
        return MASKED
    value = " ".join(value.split())
    return value if len(value) <= LONGEST else value[: LONGEST - 3] + "..."


def lines(one: LaunchView, other: LaunchView, differences: Sequence[Difference]) -> Iterator[str]:
    """The differences as text, under a heading for each degree of what is known."""
    yield f"--- {one.label}"
    yield f"+++ {other.label}"
    if not differences:
        yield "no difference in what envdoctor reads of them"
    for bits in BITS:
        mine = [d for d in differences if d.bits == bits]
        if mine:
            yield ""
            yield f"{HEADINGS[bits]}:"
        for row in mine:
            label = row.name if row.kind == "setting" else f"{row.kind}: {row.name}"
            yield f"  {label}"
            yield f"    - {_side(row.first)}"
            yield f"    + {_side(row.second)}"


def _side(value: str | None) -> str:
    return "(none)" if value is None else value or "(given)"
