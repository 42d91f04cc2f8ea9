"""How two launches differ: variables that reach the ranks, number of ranks, launcher, program and its arguments.

What is known to change the bits of a sum comes first, what is known not to comes last; between them stands what nobody
has shown either way. A variable that the catalogue does not know is named, and its value is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.model import Unit
from envdoctor.analysis.process.show import ends_of, runners_of
from envdoctor.analysis.process.starts import Start, options, own_words
from envdoctor.core.credentials import MASKED, is_credential
from envdoctor.core.errors import UserError
from envdoctor.core.facts import Setting
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.launchers import load_launchers

Bits = Literal["yes", "unknown", "no"]
BITS: tuple[Bits, ...] = ("yes", "unknown", "no")
HEADINGS: Mapping[str, str] = {
    "yes": "can change bits", "unknown": "not known whether they change bits", "no": "change no bits",
}  # fmt: skip
KINDS = ("setting", "ranks", "launcher", "program", "argument")
NOT_SHOWN = "(not shown)"
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


def launch(units: Sequence[Unit], path: str, line: int | None, catalog: Catalog) -> LaunchView:
    """The launch of ranks in a file; in a file without one, what the whole file sets.

    `UserError`: nothing there starts or sets anything, or several launches do and no line says which is meant.
    """
    unit = next((u for u in units if u.path == path), None)
    if unit is None or not (unit.commands or unit.settings()):
        raise UserError(f"{path}: starts no ranks and sets nothing that envdoctor reads")
    ends = ends_of(unit, load_launchers(), runners_of(unit))
    if line is not None:
        ends = [(i, c) for i, c in ends if c.launch.place.line <= line <= c.launch.place.end_line]
        if not ends:
            raise UserError(f"{path}:{line}: no launch of ranks stands there (--show-launches lists them)")
    if len({c.launch.place.line for _, c in ends}) > 1:
        lines = ", ".join(f"{path}:{c.launch.place.line}" for _, c in ends[:10])
        raise UserError(f"{path}: starts ranks {len(ends)} times; say which one is meant: {lines}")
    if not ends:
        return LaunchView(path, {"setting": _whole(unit, catalog)})
    index, command = ends[0]
    return LaunchView(f"{path}:{command.launch.place.line}", _parts(Start(unit, index), catalog))


def _whole(unit: Unit, catalog: Catalog) -> dict[str, str]:
    """What a file gives that starts nothing by itself: the environment of a manifest or an image."""
    found: dict[str, list[Setting]] = {}
    for setting in unit.settings():
        if setting.op in environment.GIVES and setting.exported != "no":
            found.setdefault(setting.name, []).append(setting)
    return {name: _values(name, settings, catalog) for name, settings in found.items()}


def _parts(one: Start, catalog: Catalog) -> dict[str, dict[str, str]]:
    launchers = load_launchers()
    chain = {
        f"{launch.launcher} {flag}": value
        for launch in one.chain()
        for flag, value in options(own_words(launch)).items()
        if flag not in launchers.sizes_of(launch.launcher)
    }
    program = one.path or one.program
    return {
        "setting": _reaching(one, catalog),
        "ranks": one.sizes(launchers),
        "launcher": {"chain": " > ".join(launch.launcher for launch in one.chain()), **chain},
        "program": {"entry": program} if program else {},
        "argument": dict(options(one.arguments)),
    }


def _reaching(one: Start, catalog: Catalog) -> dict[str, str]:
    """Variables that a launch has, from its script, from its own words, and from the program it starts."""
    held = one.environment()
    found = {n: [s.fact for s in h.steps if isinstance(s.fact, Setting)] for n, h in held.items() if h.exported != "no"}
    found |= {name: [setting] for name, setting in one.given().items()}
    for setting in one.facts.settings if one.facts is not None else ():
        if setting.channel == "python-environ" and setting.op in environment.GIVES and not setting.guarded:
            found.setdefault(setting.name, []).append(setting)
    return {name: _values(name, settings, catalog) for name, settings in found.items()}


def _values(name: str, settings: Sequence[Setting], catalog: Catalog) -> str:
    """The values that may hold, in order; several where conditions decide."""
    texts = dict.fromkeys(s.value.text if s.value.kind != "unknown" else "?" for s in settings)
    text = " or ".join(texts)
    if catalog.variable(name) is None:
        # The text is compared and never shown; equal values stay equal.
        return f"\0{text}"
    return f"\0{text}" if is_credential(name, text) else text


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
