"""Python programs: each command that they run starts with what was written into os.environ before, or with `env=`.

What a program has from whoever started it comes below (`inherits`), unless `env=` is a mapping of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from envdoctor.analysis.process.beginnings.common import line_of
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.core.facts import Branch, Call, FileFacts, Setting
from envdoctor.core.operations import Script
from envdoctor.readers.python.emit import ORDERS
from envdoctor.readers.python.shell import PROGRAM_CALLS, SHELL_CALLS

ENV_AT = {"os.execve": 2, "os.execvpe": 2, "os.spawnve": 3, "os.spawnvpe": 3, "os.posix_spawn": 2}
"""Calls that take the environment by position."""
RUNNERS = SHELL_CALLS | PROGRAM_CALLS
MOST_LINES = 200
"""Lines of one assignment."""


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """One root for each command that the program runs, and for each script that it writes."""
    calls = _with_environment(facts.calls)
    found: list[Root] = []
    last: dict[str, int] = {}
    for script in scripts:
        if script.scope.kind == "file":
            found.append(Root(facts.path, "script", script.scope.name, line_of(script), script, exact=False))
            continue
        function = script.scope.name
        before = last.get(function, -1)
        last[function] = len(found)
        found.append(_program(facts, script, calls.get(script.order >> ORDERS), text)._replace(before=before))
    return found


def _program(facts: FileFacts, script: Script, call: Call | None, text: str) -> Root:
    written = written_before(facts.settings, script)
    name = call.name if call else script.scope.name
    root = Root(facts.path, "program", name, line_of(script), script, written, inherits=True)
    argument = environment_of(call)
    if call is None or argument is None:
        return root
    spans = _spans(argument, text, call.place.line)
    child = tuple(s for s in facts.settings if s.channel == "child-environment" and _is_of(s, call, spans))
    inherits = _inherits(argument, spans, text)
    if inherits and _is_thinned(argument, spans, text, call.place.line):
        inherits = None
    if inherits is False:
        return root._replace(settings=child, inherits=False, unexported=written)
    return root._replace(settings=(*written, *child), exact=inherits is True)


def written_before(settings: Iterable[Setting], script: Script) -> tuple[Setting, ...]:
    """What the program has plainly written into its environment before: in the same function, or outside of all."""
    function = script.scope.name
    return tuple(
        s for s in settings
        if s.channel == "python-environ" and not s.guarded and s.order < script.order
        and (s.scope.kind == "process" or s.scope.name == function) and _holds(s.branch, script.branch)
    )  # fmt: skip


def _holds(branch: Iterable[Branch], given: Iterable[Branch]) -> bool:
    """Whether a setting is made whenever what stands under the conditions `given` is done."""
    there = {(part.id, part.arm) for part in given}
    return all((part.id, part.arm) in there or part.condition.startswith("__name__") for part in branch)


def _with_environment(calls: Iterable[Call]) -> dict[int, Call]:
    """Calls that start programs, by their statement."""
    found: dict[int, Call] = {}
    for call in calls:
        statement = call.order >> ORDERS
        if statement not in found or environment_of(call) or call.name in RUNNERS:
            found[statement] = call
    return found


def environment_of(call: Call | None) -> str | None:
    """The source text of the environment that a call gives to its child."""
    if call is None:
        return None
    named = next((a.text for a in call.arguments if a.keyword == "env"), None)
    if named is None and call.name in ENV_AT and len(call.arguments) > ENV_AT[call.name]:
        named = call.arguments[ENV_AT[call.name]].text
    return None if named in (None, "None", "os.environ") else named


def _is_of(setting: Setting, call: Call, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a variable is one of the mapping of a call: written in it, or where its name gets its value."""
    if setting.order >> ORDERS == call.order >> ORDERS:
        return True
    return setting.order < call.order and any(first <= setting.place.line <= last for first, last in spans)


def _spans(argument: str, text: str, until: int) -> list[tuple[int, int]]:
    """Lines on which a name gets its value or one of its entries, before the line of its use."""
    if not argument.isidentifier():
        return []
    name = re.escape(argument)
    pattern = re.compile(rf"^[ \t]*{name}[ \t]*(?::[^=\n]+)?(?:=(?!=)|\|=|\[|\.(?:update|setdefault)\()", re.M)
    found: list[tuple[int, int]] = []
    lines = text.split("\n")
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if line <= until:
            found.append((line, _last_line(lines, line)))
    return found


def _last_line(lines: Sequence[str], first: int) -> int:
    """The line on which the brackets of a statement are closed."""
    depth = 0
    for number in range(first, min(len(lines), first + MOST_LINES) + 1):
        line = lines[number - 1]
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0:
            return number
    return first


def _inherits(argument: str, spans: Sequence[tuple[int, int]], text: str) -> bool | None:
    """Whether a mapping holds what the program itself has; None: cannot be told."""
    if spans:
        lines = text.split("\n")
        argument = "\n".join(line for first, last in spans for line in lines[first - 1 : last])
    if "environ" in argument:
        return True
    own = argument.partition("=")[2].lstrip() if spans else argument
    return False if own.startswith(("{", "dict(")) and "**" not in own else None


def _is_thinned(argument: str, spans: Sequence[tuple[int, int]], text: str, until: int) -> bool:
    """Whether something may be taken out of a copy of the environment before it is given to the child."""
    lines = text.split("\n")
    made = "\n".join(line for first, last in spans for line in lines[first - 1 : last]) if spans else argument
    if re.search(r"\bfor\b.*\bif\b", made, re.S):
        return True
    name = re.escape(argument)
    taken = rf"\bdel[ \t]+{name}\[|\b{name}\.(?:pop|popitem|clear)\("
    return argument.isidentifier() and re.search(taken, "\n".join(lines[:until])) is not None
