"""Launches as text and as data: which script starts which program with what, what its ranks see, and what they do not.

Printed is what the walk tells and nothing else, so that no display can contradict a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from envdoctor.analysis.process.coverage import coverage, not_followed
from envdoctor.analysis.process.interpreter.slots import Alternative, Loss, Slot
from envdoctor.analysis.process.results import RankStart, Walked, in_order
from envdoctor.core.credentials import MASKED, is_credential
from envdoctor.core.facts import Place

LONGEST = 60
MOST_LAUNCHES = 50
"""Launches of one file that are printed."""
Matters = Callable[[str], object]


def distinct(starts: Iterable[RankStart]) -> list[RankStart]:
    """The launches, each once: a loop that is gone through twice starts one, as does each caller of a script."""
    found: dict[tuple[object, ...], RankStart] = {}
    for start in starts:
        if start.chain or not start.opaque:
            found[start.place, start.launchers, start.program, start.callers] = start
    return list(found.values())


def lines(walked: Walked, matters: Matters, paths: Sequence[str]) -> Iterator[str]:
    """The lines to print for some files; `matters` says of a variable whether it is shown."""
    by_path: dict[str, list[RankStart]] = {}
    for start in distinct(walked.starts):
        by_path.setdefault(start.place.path, []).append(start)
    for path in paths:
        starts = sorted(by_path.get(path, ()), key=lambda s: (s.place.line, s.place.column))
        if not starts:
            continue
        yield path
        yield from _about(path, walked)
        for start in starts[:MOST_LAUNCHES]:
            yield from _launch(start, matters)
        if len(starts) > MOST_LAUNCHES:
            yield f"  and {len(starts) - MOST_LAUNCHES} further launches"
        yield ""


def _about(path: str, walked: Walked) -> Iterator[str]:
    if sourced := walked.sourced.get(path):
        yield f"  sources: {', '.join(sourced)}"
    if missing := walked.missing.get(path):
        yield f"  not found in the tree: {', '.join(f'{_short(text)} (line {line})' for text, line in missing)}"


def _launch(start: RankStart, matters: Matters) -> Iterator[str]:
    own = [one.name for one in start.chain if one.place.path == start.place.path]
    chain = " > ".join(own or start.launchers) or "?"
    yield f"  {start.place.line}: {chain}" + (f" -> {_program(start)}" if _program(start) else "")
    if start.callers:
        yield f"      started by {' > '.join(f'{place.path}:{place.line}' for place in start.callers)}"
    for name in sorted(start.visible):
        slot = _there(start.slot(name))
        if slot and matters(name):
            yield f"      {name}={_values(name, slot)} ({_origin(slot, start.place.path)}){_perhaps(start.slot(name))}"
    for name, alternative, loss in _gone(start):
        if matters(name):
            where = _place(alternative.origins[0].place, start.place.path)
            yield f"      - {name}={_value(name, alternative)} ({where}) does not arrive: {loss.said or loss.what}"


def _program(start: RankStart) -> str:
    """The file of the tree, or the program as it is written, and what is known of where it is."""
    if start.path:
        return f"{start.path} ({start.program} in the image)" if start.program.startswith("/") else start.path
    program = start.program
    if not program or program.startswith("-") or ("/" not in program and not program.endswith((".py", ".sh"))):
        return program
    computed = any(mark in program for mark in "$`{*")
    return f"{_short(program)} ({'its place is not known' if computed else 'not found in the tree'})"


def _there(slot: Slot) -> Slot:
    return in_order(tuple(a for a in slot if a.arrives))


def _gone(start: RankStart) -> Iterator[tuple[str, Alternative, Loss]]:
    """What a launch does not get, each name once."""
    for name in sorted(start.lost):
        if not _there(start.slot(name)):
            alternative, loss = start.lost[name][-1]
            if alternative.origins:
                yield name, alternative, loss


def _values(name: str, slot: Slot) -> str:
    return " or ".join(dict.fromkeys(_value(name, alternative) for alternative in slot))


def _value(name: str, alternative: Alternative) -> str:
    if alternative.kind == "unknown":
        return _short(alternative.text) or "?"
    return MASKED if is_credential(name, alternative.text) else _short(alternative.text)


def _origin(slot: Slot, path: str) -> str:
    places = dict.fromkeys(_place(o.place, path) for a in slot for o in a.origins[:1])
    if places:
        return " or ".join(places)
    return "from outside" if any(a.text.startswith("$") for a in slot) else "set by the launcher"


def _place(place: Place, path: str) -> str:
    return f"line {place.line}" if place.path == path else f"{place.path}:{place.line}"


def _perhaps(slot: Slot) -> str:
    sure = all(a.kind != "unset" and a.exported == "yes" for a in slot)
    return "" if sure else ", perhaps"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def unknown_lines(walked: Walked, paths: Collection[str]) -> Iterator[str]:
    """The launches in some files that were not followed, and why."""
    for one in not_followed(walked, paths):
        what = f": {_short(one.what)}" if one.what else ""
        yield f"{one.place.path}:{one.place.line}: {' > '.join(one.chain) or '?'}: {one.why}{what}"
    for bound in walked.bounded if paths else ():
        yield f"{bound}: not followed further"


def as_json(walked: Walked, matters: Matters, paths: Collection[str]) -> dict[str, Any]:
    """The launches in some files as data."""
    return {
        "version": 1,
        "launches": [_json(s, matters) for s in distinct(walked.starts) if s.place.path in paths],
        "coverage": coverage(walked, paths),
        "unknown": [
            {"path": one.place.path, "line": one.place.line, "chain": list(one.chain), "why": one.why, "what": one.what}
            for one in not_followed(walked, paths)
        ],
    }


def _json(start: RankStart, matters: Matters) -> dict[str, Any]:
    seen = [(name, _there(start.slot(name))) for name in sorted(start.visible) if matters(name)]
    return {
        "path": start.place.path, "line": start.place.line, "chain": list(start.launchers), "program": _program(start),
        "callers": [{"path": place.path, "line": place.line} for place in start.callers],
        "settings": [_seen(name, slot, start.slot(name)) for name, slot in seen if slot],
        "lost": [
            {**_seen(name, (alternative,), (alternative,)), "edge": loss.kind, "why": loss.said or loss.what}
            for name, alternative, loss in _gone(start) if matters(name)
        ],
    }  # fmt: skip


def _seen(name: str, slot: Slot, whole: Slot) -> dict[str, Any]:
    origins = [o for a in slot for o in a.origins[:1]]
    return {
        "variable": name,
        "values": list(dict.fromkeys(_value(name, a) if a.kind == "literal" else None for a in slot)),
        "sure": not _perhaps(whole),
        "from": [{"path": o.place.path, "line": o.place.line} for o in origins],
    }
