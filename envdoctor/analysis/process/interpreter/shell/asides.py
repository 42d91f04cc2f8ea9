"""Command substitutions: most ask for a date, a host or a value, and nothing that they run can start ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from envdoctor.analysis.process.interpreter.state import Function
from envdoctor.core.operations import Body, Operation, literal

_TEXT_OF_PYTHON = ("-c", "-", "-V", "--version")
"""`$(python -c "print(...)")` asks for a value."""
_RUN_TEXT = ("eval", "source", ".", "exec", "command", "builtin")


class BodyCalls(NamedTuple):
    """What a body runs: whether some of it may start ranks by itself, and the names it calls besides."""

    body: Body
    starts: bool
    names: frozenset[str]


class Asides:
    """What the bodies of a project call, looked at once each; `may_start` says it of a program."""

    def __init__(self, may_start: Callable[[str], bool]) -> None:
        self._may_start = may_start
        self._known: dict[int, BodyCalls] = {}

    def may_start(self, body: Body, functions: Mapping[str, Function]) -> bool:
        """Whether a body, or a function that it calls, may start ranks."""
        waiting = [body]
        seen: set[str] = set()
        while waiting:
            calls = self._calls(waiting.pop())
            if calls.starts:
                return True
            for name in calls.names - seen:
                seen.add(name)
                if name in functions:
                    waiting.append(functions[name].body)
        return False

    def _calls(self, body: Body) -> BodyCalls:
        found = self._known.get(id(body))
        if found is None or found.body is not body:
            found = self._known[id(body)] = self._looked_at(body)
        return found

    def _looked_at(self, body: Body) -> BodyCalls:
        names: set[str] = set()
        waiting: list[object] = [body]
        while waiting:
            item = waiting.pop()
            if not isinstance(item, tuple) or not item:
                continue
            if item[0] == "call" and len(item) == 8 and item[6]:
                words = [literal(word) for word in item[6]]
                if self._starts(item, words):
                    return BodyCalls(body, True, frozenset())
                names.add(words[0] or "")
            elif item[0] == "gap":
                return BodyCalls(body, True, frozenset())
            waiting += item
        return BodyCalls(body, False, frozenset(names))

    def _starts(self, call: Operation, words: list[str | None]) -> bool:
        first = words[0]
        is_python = first is not None and first.rstrip("0123456789.") == "python"
        if is_python and (len(words) == 1 or words[1] in _TEXT_OF_PYTHON):
            return False
        if first is None or first in _RUN_TEXT or self._may_start(first):
            return True
        return any(word is not None and self._may_start(word) for word in words[1:] if first not in ("echo", "printf"))
