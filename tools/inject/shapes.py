"""The same launch written with one more step: equivalent scripts, made of a real one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from inject.edits import Edit, edited
from inject.places import Launch, Script, launches, script_of

CALLED = "launch_ranks.sh"
_ARGUMENTS = re.compile(r"\$[@*#0-9]|\$\{[@*#0-9]")


class Site(NamedTuple):
    """A launch in a script, and further files that belong to it."""

    script: Script
    launch: Launch
    files: Mapping[str, str] = {}


def as_variable(script: Script, launch: Launch) -> Site | None:
    """`LAUNCH="torchrun ..."`, then `$LAUNCH`."""
    return _stored(script, launch, "$LAUNCH", "variable") if not re.search(r"[\"'`\\]", _core(launch)) else None


def as_eval(script: Script, launch: Launch) -> Site | None:
    """`LAUNCH="torchrun ..."`, then `eval "$LAUNCH"`."""
    return _stored(script, launch, 'eval "$LAUNCH"', "eval")


def as_array(script: Script, launch: Launch) -> Site | None:
    """`LAUNCH=(torchrun ...)`, then `"${LAUNCH[@]}"`."""
    if not _simple(script, launch):
        return None
    indent, core = script.indent(launch.statement), script.text[launch.command.start : launch.command.bare_end]
    return _again(script, launch, f'LAUNCH=({core})\n{indent}"${{LAUNCH[@]}}"', "array")


def as_function(script: Script, launch: Launch) -> Site | None:
    """`run_ranks() { "$@"; }`, then `run_ranks torchrun ...`."""
    if not _simple(script, launch) or any(place.startswith("function") for place in launch.command.within):
        return None
    indent, core = script.indent(launch.statement), script.text[launch.command.start : launch.command.bare_end]
    return _again(script, launch, f'run_ranks() {{\n{indent}    "$@"\n{indent}}}\n{indent}run_ranks {core}', "function")


def as_called(script: Script, launch: Launch) -> Site | None:
    """The launch in a script of its own, which this one calls."""
    core = script.text[launch.command.start : launch.command.bare_end]
    if not _simple(script, launch) or _ARGUMENTS.search(core) or CALLED in script.text:
        return None
    call = f'bash "$(dirname "$0")/{CALLED}"'
    text = edited(script.text, [Edit(launch.command.start, launch.command.bare_end, call)])
    folder = script.path.rpartition("/")[0]
    new = script_of(script.path, text.encode())
    if new is None:
        return None
    command = next(command for command in new.commands if command.start == launch.command.start)
    at = command.start
    moved = launch._replace(program=at, flags=at, end=text.find("\n", at), shape="called", command=command)
    return Site(new, moved, {f"{folder}/{CALLED}".lstrip("/"): f"#!/bin/bash\n{core}\n"})


SHAPES: dict[str, Callable[[Script, Launch], Site | None]] = {
    "variable": as_variable,
    "eval": as_eval,
    "array": as_array,
    "function": as_function,
    "called": as_called,
}


def _simple(script: Script, launch: Launch) -> bool:
    """Whether the launch is a plain command whose first word is the launcher."""
    return launch.shape == "plain" and launch.program == launch.command.start


def _core(launch: Launch) -> str:
    """The command on one line."""
    return re.sub(r"\s*\\\n\s*", " ", launch.words)


def _stored(script: Script, launch: Launch, use: str, shape: str) -> Site | None:
    if not _simple(script, launch):
        return None
    value = re.sub(r"([\"\\`])", r"\\\1", _core(launch))
    return _again(script, launch, f'LAUNCH="{value}"\n{script.indent(launch.statement)}{use}', shape)


def _again(script: Script, launch: Launch, instead: str, shape: str) -> Site | None:
    """The script with other text for the command, read again."""
    if "LAUNCH" in re.findall(r"\w+", script.text):
        return None
    text = edited(script.text, [Edit(launch.command.start, launch.command.bare_end, instead)])
    new = script_of(script.path, text.encode())
    found = [other for other in launches(new) if other.shape == shape] if new else []
    near = [other for other in found if launch.statement <= other.statement <= launch.end + len(instead)]
    return Site(new, near[0]) if new and len(near) == 1 else None
