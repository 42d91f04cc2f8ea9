"""Launch units as text: which script starts which program with what, what it sources, and which settings it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from envdoctor import environment
from envdoctor.environment import Held
from envdoctor.facts import Launch
from envdoctor.launchers import Launchers
from envdoctor.units.model import Command, Unit

LONGEST = 60
MOST_COMMANDS = 50


def lines(units: Sequence[Unit], launchers: Launchers, matters: Callable[[str], object]) -> Iterator[str]:
    """The lines to print; `matters` says of a variable whether it is shown."""
    for unit in units:
        ends = [(i, c) for i, c in enumerate(unit.commands) if _is_end(c, unit, launchers)]
        if not ends:
            continue
        yield unit.path
        yield from _about(unit)
        for index, command in ends[:MOST_COMMANDS]:
            yield from _command(unit, index, command, matters)
        if len(ends) > MOST_COMMANDS:
            yield f"  and {len(ends) - MOST_COMMANDS} further launches"
        yield ""


def _is_end(command: Command, unit: Unit, launchers: Launchers) -> bool:
    """A launch of ranks inside which there is no other one."""
    inside = any(command.at < other.at < command.end for other in unit.commands)
    return launchers.starts_ranks(command.launch.launcher) and not inside


def _about(unit: Unit) -> Iterator[str]:
    if unit.batch:
        yield f"  batch system: {', '.join(unit.batch)}"
    sourced = dict.fromkeys(step.path for step in unit.steps if step.through)
    if sourced:
        yield f"  sources: {', '.join(sourced)}"
    if unit.unresolved:
        names = dict.fromkeys(f"{_short(i.target)} (line {i.place.line})" for i in unit.unresolved)
        yield f"  not in the tree: {', '.join(names)}"


def _command(unit: Unit, index: int, command: Command, matters: Callable[[str], object]) -> Iterator[str]:
    chain = " > ".join(launch.launcher for launch in (*command.around, command.launch))
    known = unit.started.get(index, "")
    started = known or _short(_program(command.launch))
    where = "" if known or not started else " (not in the tree)"
    yield f"  {command.launch.place.line}: {chain}" + (f" -> {started}{where}" if started else "")
    there = unit.steps[command.at]
    held = environment.at(unit.steps, command.at, there.scope, there.branch)
    for name, entry in held.items():
        if matters(name) and entry.exported != "no":
            yield f"      {_setting(name, entry, unit)}"
    carriers = {id(launch) for launch in (*command.around, command.launch)}
    for other in unit.commands[: index + 1]:
        for setting in other.given if id(other.launch) in carriers else ():
            if matters(setting.name):
                value = f"={_short(setting.value.text)}" if setting.op != "pass" else ""
                yield f"      {setting.name}{value} (with {other.launch.launcher})"


def _program(launch: Launch) -> str:
    """The file or module that a launch starts, as it is written; empty where it is a program or cannot be told."""
    words = launch.inner
    if words[:1] == ("-m",):
        return " ".join(words[:2])
    first = words[0] if words else ""
    return first if first.endswith((".py", ".sh")) or "/" in first else ""


def _setting(name: str, held: Held, unit: Unit) -> str:
    setting = held.last
    place = setting.place
    where = f"line {place.line}" if place.path == unit.path else f"{place.path}:{place.line}"
    value = _short(setting.value.text) if setting.value.kind != "unknown" else "?"
    several = f", one of {len(held.steps)} that may hold" if len(held.steps) > 1 else ""
    return f"{name}={value} ({where}{several})"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
