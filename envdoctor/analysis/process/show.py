"""Launch units as text: which script starts which program with what, what it sources, and which settings it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.environment import Binding
from envdoctor.analysis.process.model import Command, Unit
from envdoctor.core.facts import FileFacts, Launch
from envdoctor.knowledge.launchers import Launchers

LONGEST = 60
MOST_COMMANDS = 50
Matters = Callable[[str], object]
Runners = Mapping[int, Command]
Copied = Callable[[FileFacts], Mapping[str, str]]


def _nothing(_: FileFacts) -> Mapping[str, str]:
    return {}


def lines(units: Sequence[Unit], launchers: Launchers, matters: Matters, copied: Copied = _nothing) -> Iterator[str]:
    """The lines to print; `matters` says of a variable whether it is shown.

    `copied` gives the files of the tree that an image holds, by their paths in it.
    """
    for unit in units:
        runners = runners_of(unit)
        ends = ends_of(unit, launchers, runners)
        if not ends:
            continue
        yield unit.path
        yield from _about(unit)
        held = copied(unit.facts)
        for index, command in ends[:MOST_COMMANDS]:
            yield from _command(unit, index, command, matters, runners, held)
        if len(ends) > MOST_COMMANDS:
            yield f"  and {len(ends) - MOST_COMMANDS} further launches"
        yield ""


def ends_of(unit: Unit, launchers: Launchers, runners: Runners) -> list[tuple[int, Command]]:
    """The innermost commands of the launches of ranks, with their indexes in the unit."""
    ran = {runner.at for runner in runners.values()}
    return [(i, c) for i, c in enumerate(unit.commands) if c.at not in ran and _is_end(c, unit, launchers, runners)]


def _is_end(command: Command, unit: Unit, launchers: Launchers, runners: Runners) -> bool:
    """A command inside which there is no other one, where ranks are started by it or by what carries it."""
    if any(command.at < other.at < command.end for other in unit.commands):
        return False
    chain = (*carriers_of(unit, command, runners), command)
    return any(launchers.starts_ranks(one.launch.launcher) for one in chain)


def carriers_of(unit: Unit, command: Command, runners: Runners) -> list[Command]:
    """The commands that carry one, outermost first; text that is written to a file is carried by what runs the file."""
    around = {id(launch) for launch in command.around}
    found = [other for other in unit.commands if id(other.launch) in around] if around else []
    runner = runners.get(command.at)
    return [*carriers_of(unit, runner, runners), runner, *found] if runner is not None else found


def runners_of(unit: Unit) -> dict[int, Command]:
    """What runs the file that a command is written into, where the script does that further down, by `Command.at`:
    `cat > worker.sh <<EOF` and then `torchrun --no-python bash worker.sh`."""
    written = [command for command in unit.commands if unit.steps[command.at].scope.kind == "file"]
    if not written:
        return {}
    there = [
        command for command in unit.commands if unit.steps[command.at].scope.kind != "file" and command.launch.inner
    ]
    files = {unit.steps[command.at].scope.name for command in written}
    names = {file: {_base(file)} - {""} for file in files}
    for setting in unit.settings():
        for file in (f"${setting.name}", f"${{{setting.name}}}"):
            if file in names and setting.value.text:
                names[file].add(_base(setting.value.text))
    runs = {file: [c for c in there if _base(c.launch.inner[0]) in names[file]] for file in files}
    found: dict[int, Command] = {}
    for command in written:
        later = [runner for runner in runs[unit.steps[command.at].scope.name] if runner.at > command.at]
        if later:
            found[command.at] = later[0]
    return found


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


def _command(
    unit: Unit, index: int, command: Command, matters: Matters, runners: Runners, copied: Mapping[str, str]
) -> Iterator[str]:
    carriers = carriers_of(unit, command, runners)
    unknown = command.launch.launcher.startswith("$")
    chain = " > ".join(one.launch.launcher for one in (carriers if unknown else [*carriers, command]))
    program = command.launch.launcher if unknown else _started(unit, index, command, copied)
    yield f"  {command.launch.place.line}: {chain or '?'}" + (f" -> {program}" if program else "")
    runner = runners.get(command.at)
    for part in (command,) if runner is None else (runner, command):
        yield from _held(unit, part, matters)
    for other in (*carriers, command):
        for setting in other.given:
            if matters(setting.name):
                value = f"={_short(setting.value.text)}" if setting.op != "pass" else ""
                yield f"      {setting.name}{value} (with {other.launch.launcher})"


def _held(unit: Unit, command: Command, matters: Matters) -> Iterator[str]:
    there = unit.steps[command.at]
    for name, entry in environment.at(unit.steps, command.at, there.scope, there.branch).items():
        if matters(name) and entry.exported != "no":
            yield f"      {_setting(name, entry, unit)}"


def _started(unit: Unit, index: int, command: Command, copied: Mapping[str, str]) -> str:
    """What a command starts: a file of the tree, or the program as it is written, and what is known of where it is."""
    if index in unit.started:
        return unit.started[index]
    program = _program(command.launch)
    if program in copied:
        return f"{copied[program]} ({program} in the image)"
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


def _setting(name: str, held: Binding, unit: Unit) -> str:
    setting = held.last
    place = setting.place
    where = f"line {place.line}" if place.path == unit.path else f"{place.path}:{place.line}"
    value = _short(setting.value.text) if setting.value.kind != "unknown" else "?"
    several = f", one of {len(held.steps)} that may hold" if len(held.steps) > 1 else ""
    return f"{name}={value} ({where}{several})"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
