"""Scripts that start other scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from inject.places import Launch, Script, in_container, launches, own_line, script_of

MADE = "submit_training.sh"
_COMPUTED = re.compile(r"^(\$\{?\w+\}?|\$\([^()]*\)|\.)/")
_CALLED = re.compile(r"[\w./-]+\.(sh|bash|slurm|sbatch|job)$")


class Chain(NamedTuple):
    """A command of one script that starts another, which starts ranks.

    `statement` is where the line of the call starts, `program` where something can be put in front, `flags` where an
    option of its first word can be put, `end` where the call ends.
    """

    caller: Script
    callee: Script
    launch: Launch
    starter: str
    statement: int
    program: int
    flags: int
    end: int


def chains(scripts: Sequence[Script]) -> Iterator[Chain]:
    """Every call of a script that starts ranks."""
    launching = {script.path: (script, found[0]) for script in scripts if (found := _always(script, scripts))}
    for caller in scripts:
        for command in caller.commands:
            texts = command.texts()
            if texts[0] == "exit" and not command.within:
                break
            starter = texts[0].rpartition("/")[2]
            named = _called(texts)
            if not named or not own_line(caller, command) or command.before not in ("\n", ";") or command.here:
                continue
            if any(place.startswith("function") for place in command.within) or command.after in ("&&", "||"):
                continue
            path = _resolved(caller.path, named, launching)
            if path and path != caller.path:
                callee, launch = launching[path]
                statement = caller.text.rfind("\n", 0, command.start) + 1
                yield Chain(
                    caller, callee, launch, starter if starter in ("sbatch", "bash", "sh") else "path", statement,
                    command.start, command.words[0].end, command.end,
                )  # fmt: skip


def _always(script: Script, others: Sequence[Script]) -> list[Launch]:
    """The launches of a script that need no condition, and go on in no container."""
    found = [launch for launch in launches(script) if not {"if", "case"} & set(launch.command.within)]
    return [launch for launch in found if not in_container(launch, others)]


def _called(texts: Sequence[str]) -> str:
    """The script that a command starts; empty where it starts none."""
    words = [text.strip("\"'") for text in texts]
    if words[0] in ("bash", "sh", "sbatch"):
        rest = [word for word in words[1:] if not word.startswith("-")]
        found = next((word for word in rest if _CALLED.match(_COMPUTED.sub("", word))), "")
        exact = words[0] == "sbatch" or (bool(rest) and rest[0] == found)
        return _COMPUTED.sub("", found) if exact and not re.search(r"--export|-c\b", " ".join(texts)) else ""
    return _COMPUTED.sub("", words[0]) if "/" in words[0] and _CALLED.match(_COMPUTED.sub("", words[0])) else ""


def _resolved(caller: str, named: str, known: dict[str, tuple[Script, Launch]]) -> str:
    """The path of a called script: beside the caller, from the top, or the only one that ends so."""
    folder = caller.rpartition("/")[0]
    parts = [*folder.split("/")] if folder else []
    for part in named.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", "..", ""):
            parts.append(part)
    for path in ("/".join(parts), named):
        if path in known:
            return path
    return ""


def made_caller(script: Script, launch: Launch) -> Chain | None:
    """A made script beside a real one that starts it."""
    folder, _, name = script.path.rpartition("/")
    starter = "sbatch" if "#SBATCH" in script.text else "bash"
    if not re.match(r"[\w.-]+$", name) or {"if", "case"} & set(launch.command.within):
        return None
    text = f'#!/bin/bash\ncd "$(dirname "$0")"\n{starter} {name}\n'
    caller = script_of(f"{folder}/{MADE}".lstrip("/"), text.encode())
    if caller is None:
        return None
    at = text.index(f"{starter} {name}")
    return Chain(caller, script, launch, starter, at, at, at + len(starter), len(text) - 1)
