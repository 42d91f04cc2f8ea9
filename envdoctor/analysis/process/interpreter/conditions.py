"""Tests: which of two ways a path can take, and what each of them says about the variables in the test.

A test that the state decides takes one way. `-z` and `-n`, `!=` and `=`, and `!` are one test with two sides.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.interpreter import expand
from envdoctor.analysis.process.interpreter.slots import Alternative, Atom
from envdoctor.analysis.process.interpreter.state import Shell, met
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.numbers import whole
from envdoctor.core.operations import Body, Operation, Word, literal

_EQUAL = ("=", "==", "-eq")
_UNEQUAL = ("!=", "-ne")
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "-lt": lambda a, b: a < b, "-le": lambda a, b: a <= b, "-gt": lambda a, b: a > b, "-ge": lambda a, b: a >= b,
}  # fmt: skip
_PATTERN = re.compile(r"[*?\[]")


class Ways(NamedTuple):
    """The shell where a condition holds and where it does not; None: that cannot be. `atom` is None where one is
    certain or where nothing simple tells them apart."""

    yes: Shell | None
    no: Shell | None
    atom: Atom | None = None

    def opposite(self) -> Ways:
        """The ways of the same condition behind `!`."""
        return Ways(self.no, self.yes, self.atom.opposite() if self.atom else None)


def ways(walker: Walker, condition: Body, shell: Shell) -> Ways:
    """Run a condition."""
    if not condition:
        return Ways(shell, None)
    before: Shell | None = shell
    for operation in condition[:-1]:
        before = walker.run((operation,), before) if before is not None else None
    if before is None:
        return Ways(None, None)
    return _last(walker, condition[-1], before)


def _last(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    handler = _WAYS.get(operation[0])
    if handler is not None:
        return handler(walker, operation, shell)
    return _command(walker, operation, shell)


def _command(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    """Any command: its outcome is not known, but for `true` and `false`."""
    first = literal(operation[6][0]) if operation[0] == "call" and operation[6] else None
    if first in ("true", ":", "false"):
        return Ways(None, shell) if first == "false" else Ways(shell, None)
    after = walker.run((operation,), shell)
    if after is None:
        return Ways(None, None)
    text = f"{first or operation[0]} at {operation[1]}:{operation[2]} of {shell.path}"
    atom = Atom(text, (walker.operations,), True)  # the next time it may end otherwise
    return _open(after, atom)


def _open(shell: Shell, atom: Atom) -> Ways:
    """Both sides, but for one that the path rules out."""
    yes = shell.on(atom) if shell.can(atom) else None
    no = shell.on(atom.opposite()) if shell.can(atom.opposite()) else None
    return Ways(yes, no, atom if yes is not None and no is not None else None)


def _not(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    return ways(walker, operation[3], shell).opposite()


def chain(operation: Operation) -> list[Body]:
    """The parts of `a && b && c`, which is read as `(a && b) && c`."""
    parts = [operation[4]]
    left = operation[3]
    while len(left) == 1 and left[0][0] == operation[0]:
        parts.append(left[0][4])
        left = left[0][3]
    return [left, *reversed(parts)]


def chained(like: Operation, parts: Sequence[Body]) -> Body:
    """The parts of a chain as a body of one operation."""
    kind, line, column, *_ = like
    whole = parts[0]
    for part in parts[1:]:
        whole = ((kind, line, column, whole, part),)
    return whole


def _and(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    return _chained(walker, operation, shell, "and")


def _or(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    """`a || b` fails where `! a && ! b` holds."""
    return _chained(walker, operation, shell, "or").opposite()


def _chained(walker: Walker, operation: Operation, shell: Shell, kind: str) -> Ways:
    """The parts of a chain one after the other: `yes` goes on to the next, `no` has left it. "or" asks for the
    opposite of each part."""
    guard = shell.guard
    found = Ways(shell, None)
    for part in chain(operation):
        if found.yes is None:
            break
        second = ways(walker, part, found.yes)
        second = second if kind == "and" else second.opposite()
        atom = second.atom if found.no is None else None if second.no is not None else found.atom
        found = Ways(second.yes, met(second.no, found.no, found.atom, guard), atom)
    return found


def _group(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    return ways(walker, operation[3], shell)


def _test(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    _, _, _, text, words = operation
    if not words:
        return _by_text(text, (), shell)
    negated = False
    listed: Sequence[Word] = words
    while listed and literal(listed[0]) == "!":
        negated, listed = not negated, listed[1:]
    found = _simple(walker, listed, text, shell)
    return found.opposite() if negated else found


def _by_text(text: str, names: Sequence[str], shell: Shell) -> Ways:
    return _open(shell, Atom(" ".join(text.split()), shell.stamp(sorted(names)), True))


def _simple(walker: Walker, words: Sequence[Word], text: str, shell: Shell) -> Ways:
    """One test without `!` in front."""
    texts = [literal(word) for word in words]
    if len(words) == 1:
        return _emptiness(walker, words[0], shell, filled=True)
    if len(words) == 2 and texts[0] in ("-n", "-z"):
        return _emptiness(walker, words[1], shell, filled=texts[0] == "-n")
    if len(words) == 2 and texts[0] == "-v" and texts[1]:
        return _bound(walker, texts[1], shell)
    if len(words) == 3 and texts[1] in (*_EQUAL, *_UNEQUAL):
        return _equality(walker, words[0], words[2], shell, equal=texts[1] in _EQUAL)
    if len(words) == 3 and texts[1] in _ORDER:
        return _order(walker, words, str(texts[1]), text, shell)
    names = sorted({name for word in words for name in expand.references_in(word)})
    return _by_text(text, names, shell)


def _emptiness(walker: Walker, word: Word, shell: Shell, filled: bool) -> Ways:
    """`-n`, `-z` and a word alone."""
    name = _only_reference(word)
    found = _filled(walker, name, word, shell)
    return found if filled else found.opposite()


def _filled(walker: Walker, name: str, word: Word, shell: Shell) -> Ways:
    if name:
        slot = shell.held(name)
        if slot is None:
            return _never_bound(walker, name, shell)
        return _refined(shell, name, lambda a: None if a.kind == "unknown" else bool(a.text), f"-n ${name}")
    value = expand.text_of(walker, word, shell)
    if value.sure:
        return Ways(shell, None) if value.text else Ways(None, shell)
    if any(piece.known and piece.text and not piece.likely for piece in value.pieces):
        return Ways(shell, None)
    return _by_text(f"-n {value.text}", sorted(expand.references_in(word)), shell)


def _never_bound(walker: Walker, name: str, shell: Shell) -> Ways:
    """A name that only who starts the script can have set: where it is set, it has come exported from outside."""
    found = _by_text(f"-n ${name}", (name,), shell)
    if not walker.is_known(name) or found.yes is None or found.no is None:
        return found
    found.yes.visible[name] = (Alternative("unknown", f"${name}", "yes"),)
    found.no.defaulting = found.no.defaulting | {name}
    return found


def _bound(walker: Walker, name: str, shell: Shell) -> Ways:
    if shell.held(name) is None:
        return _never_bound(walker, name, shell)
    return _refined(shell, name, lambda a: None if a.kind == "unknown" else a.kind != "unset", f"-v ${name}")


def _only_reference(word: Word) -> str:
    """The name where a word is one variable; `${X:-}` and `${X+x}` ask for the same."""
    parts = word[4]
    if len(parts) != 1 or parts[0][0] != "ref" or parts[0][2]:
        return ""
    _, name, _, operator, operand, *_ = parts[0]
    empty = operand is None or not operand[4]
    if operator == "" or (operator in (":-", "-") and empty) or (operator in ("+", ":+") and not empty):
        return str(name) if str(name).isidentifier() else ""
    return ""


def _refined(shell: Shell, name: str, holds: Callable[[Alternative], bool | None], text: str) -> Ways:
    """Split the alternatives of a name by a test; those that it cannot decide stay on both sides."""
    slot = shell.held(name) or ()
    yes = tuple(_other(a, name) if holds(a) is False else a for a in slot if a.likely or holds(a) is not False)
    no = tuple(_other(a, name) if holds(a) is True else a for a in slot if a.likely or holds(a) is not True)
    if not no:
        return Ways(shell, None)
    if not yes:
        return Ways(None, _defaulting(shell, name))
    found = _open(shell, Atom(text, shell.stamp((name,)), True))
    if found.yes is not None:
        found.yes.visible[name] = yes
    if found.no is not None:
        found.no.visible[name] = no
    return found


def _other(likely: Alternative, name: str) -> Alternative:
    """What is there where the likely value is not: nobody knows."""
    return likely._replace(kind="unknown", text=f"${name}", likely=False)


def _defaulting(shell: Shell, name: str) -> Shell:
    """A shell where a name is empty for sure, as its own test has told."""
    shell.defaulting = shell.defaulting | {name}
    return shell


def _equality(walker: Walker, left: Word, right: Word, shell: Shell, equal: bool) -> Ways:
    found = _equal(walker, left, right, shell)
    return found if equal else found.opposite()


def _equal(walker: Walker, left: Word, right: Word, shell: Shell) -> Ways:
    pattern = expand.text_of(walker, right, shell)
    name = _only_reference(left)
    slot = shell.held(name) if name else None
    names = sorted({*expand.references_in(left), *expand.references_in(right)})
    if slot is not None and pattern.sure:
        return _refined(shell, name, lambda a: _fits(a, pattern.text), f"{name} = {pattern.text}")
    value = expand.text_of(walker, left, shell)
    if value.sure and pattern.sure and not (name and slot is None):
        return Ways(shell, None) if _matches(value.text, pattern.text) else Ways(None, shell)
    return _by_text(f"{value.text} = {pattern.text}", names, shell)


def _fits(alternative: Alternative, pattern: str) -> bool | None:
    return None if alternative.kind == "unknown" else _matches(alternative.text, pattern)


def _matches(text: str, pattern: str) -> bool:
    return text == pattern or (bool(_PATTERN.search(pattern)) and fnmatch.fnmatchcase(text, pattern))


def _order(walker: Walker, words: Sequence[Word], sign: str, text: str, shell: Shell) -> Ways:
    left, right = (expand.text_of(walker, word, shell) for word in (words[0], words[2]))
    one, other = (whole(value.text) if value.sure else None for value in (left, right))
    if one is not None and other is not None:
        return Ways(shell, None) if _ORDER[sign](one, other) else Ways(None, shell)
    return _by_text(text, sorted({name for word in words for name in expand.references_in(word)}), shell)


def choices(walker: Walker, subject: Word, patterns: Sequence[str], shell: Shell) -> Ways:
    """One arm of a `case`: the shell where a pattern fits, and where it does not."""
    if "*" in patterns:
        return Ways(shell, None)
    value = expand.text_of(walker, subject, shell)
    name = _only_reference(subject)
    if name and shell.held(name) is not None:
        return _refined(shell, name, lambda a: _any(a, patterns), f"{name} in {'|'.join(patterns)}")
    if value.sure:
        fits = any(_matches(value.text, pattern) for pattern in patterns)
        return Ways(shell, None) if fits else Ways(None, shell)
    names = sorted(expand.references_in(subject))
    return _by_text(f"{value.text} in {'|'.join(patterns)}", names, shell)


def _any(alternative: Alternative, patterns: Sequence[str]) -> bool | None:
    if alternative.kind == "unknown":
        return None
    return any(_matches(alternative.text, pattern.strip("\"'")) for pattern in patterns)


_WAYS: dict[str, Callable[[Walker, Operation, Shell], Ways]] = {
    "not": _not, "and": _and, "or": _or, "test": _test, "group": _group,
}  # fmt: skip
