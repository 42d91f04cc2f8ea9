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
Matters = Callable[[str], object]


def lines(units: Sequence[Unit], launchers: Launchers, matters: Matters) -> Iterator[str]:
    """The lines to print; `matters` says of a variable whether it is shown."""
    for unit in units:
        runners = {id(_runner(unit, command)) for command in unit.commands}
        ends = [
            (i, c) for i, c in enumerate(unit.commands) if id(c) not in runners and _is_end(c, unit, launchers)
        ]  # fmt: skip
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
    """A command inside which there is no other one, where ranks are started by it or by what carries it."""
    if any(command.at < other.at < command.end for other in unit.commands):
        return False
    chain = (*carriers_of(unit, command), command)
    return any(launchers.starts_ranks(one.launch.launcher) for one in chain)


def carriers_of(unit: Unit, command: Command) -> list[Command]:
    """The commands that carry one, outermost first. Text that the script writes to a file is carried by what runs the
    file: `cat > worker.sh <<EOF` and then `torchrun --no-python bash worker.sh`."""
    around = {id(launch) for launch in command.around}
    found = [other for other in unit.commands if id(other.launch) in around]
    runner = _runner(unit, command)
    return [*carriers_of(unit, runner), runner, *found] if runner is not None else found


def _runner(unit: Unit, command: Command) -> Command | None:
    """What runs the file that a command is written into, where the script does that further down."""
    scope = unit.steps[command.at].scope
    if scope.kind != "file":
        return None
    names = {_base(scope.name)} - {""}
    if scope.name.startswith("$"):
        variable = scope.name.strip("${}")
        names |= {_base(s.value.text) for s in unit.settings() if s.name == variable and s.value.text}
    later = (other for other in unit.commands if other.at > command.at and unit.steps[other.at].scope.kind != "file")
    return next((other for other in later if names & {_base(w) for w in other.launch.inner[:1]}), None)


def _base(path: str) -> str:
    return path.strip("\"'").rsplit("/", 1)[-1]


def _about(unit: Unit) -> Iterator[str]:
    if unit.batch:
        yield f"  batch system: {', '.join(unit.batch)}"
    sourced = dict.fromkeys(step.path for step in unit.steps if step.through)
    if sourced:
        yield f"  sources: {', '.join(sourced)}"
    if unit.unresolved:
        names = dict.fromkeys(f"{_short(i.target)} (line {i.place.line})" for i in unit.unresolved)
        yield f"  not found in the tree: {', '.join(names)}"


def _command(unit: Unit, index: int, command: Command, matters: Matters) -> Iterator[str]:
    carriers = carriers_of(unit, command)
    unknown = command.launch.launcher.startswith("$")
    chain = " > ".join(one.launch.launcher for one in (carriers if unknown else [*carriers, command]))
    program = command.launch.launcher if unknown else _started(unit, index, command)
    yield f"  {command.launch.place.line}: {chain or '?'}" + (f" -> {program}" if program else "")
    runner = _runner(unit, command)
    for part in (command,) if runner is None else (runner, command):
        yield from _held(unit, part, matters)
    for other in (*carriers, command):
        for setting in other.given:
            if matters(setting.name):
                value = f"={_short(setting.value.text)}" if setting.op != "pass" else ""
                yield f"      {setting.name}{value} (with {other.launch.launcher})"


def _held(unit: Unit, command: Command, matters: Matters) -> Iterator[str]:
    there = unit.steps[command.at]
    held = environment.at(unit.steps, command.at, there.scope, there.branch)
    for name, entry in held.items():
        if matters(name) and entry.exported != "no":
            yield f"      {_setting(name, entry, unit)}"


def _started(unit: Unit, index: int, command: Command) -> str:
    """What a command starts: a file of the tree, or the program as it is written, and what is known of where it is."""
    if index in unit.started:
        return unit.started[index]
    program = _program(command.launch)
    if not program or ("/" not in program and not program.endswith((".py", ".sh"))):
        return program
    if any(step.scope.kind == "file" and _base(step.scope.name) == _base(program) for step in unit.steps):
        return f"{_short(program)} (written by this script)"
    computed = any(mark in program for mark in "$`{*")
    return f"{_short(program)} ({'its place is not known' if computed else 'not found in the tree'})"


def _program(launch: Launch) -> str:
    """The program or module that a launch starts, as it is written; empty where it cannot be told."""
    words = launch.inner
    if words[:1] == ("-m",):
        return " ".join(words[:2])
    first = words[0] if words else ""
    return "" if first.startswith("-") or any(char in first for char in "\n;") else first


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
