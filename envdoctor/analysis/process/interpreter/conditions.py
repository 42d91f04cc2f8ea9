"""Tests: which of two ways a path can take, and what each of them says about the variables in the test.

A test that the state decides takes one way. `-z` and `-n`, `!=` and `=`, and `!` are one test with two sides.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.interpreter import assign, expand
from envdoctor.analysis.process.interpreter.slots import Alternative, Atom, Guard
from envdoctor.analysis.process.interpreter.state import Shell, met
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.operations import Body, Operation, Word, literal

_EQUAL = ("=", "==")
_UNEQUAL = ("!=",)
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b, "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b, "-le": lambda a, b: a <= b, "-gt": lambda a, b: a > b, "-ge": lambda a, b: a >= b,
}  # fmt: skip
_PATTERN = re.compile(r"[*?\[\\]|[@+!]\(")
_PLAIN_PATTERN = re.compile(r"(?:[^\[\\@+!(|)]|\[!?[\w-]+\])*")
"""What means the same to `fnmatch` as to the shell."""
_QUOTED = re.compile(r"'([^']*)'|\"([^\"\\$`]*)\"|\\(.)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_BLANK_OR_PATTERN = re.compile(r"[\s*?\[]")
_JOINING = {"-o": "or", "||": "or", "-a": "and", "&&": "and"}


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
    """Both sides, but for one that the path rules out; the shell itself goes on as one of them."""
    opposite = atom.opposite()
    if not shell.can(opposite):
        return Ways(shell.narrowed(atom), None)
    if not shell.can(atom):
        return Ways(None, shell.narrowed(opposite))
    return Ways(shell.on(atom), shell.narrowed(opposite), atom)


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
    guard = shell.guard
    first, *rest = chain(operation)
    found = ways(walker, first, shell)
    for part in rest:
        if found.yes is None:
            break
        found = _anded(found, ways(walker, part, found.yes), guard)
    return found


def _anded(found: Ways, second: Ways, guard: Guard) -> Ways:
    """`found && second`, the second of which was run where the first holds."""
    no = met(second.no, found.no, found.atom, guard)
    atom = second.atom if found.no is None else None if second.no is not None else found.atom
    return Ways(second.yes, no, atom)


def _ored(found: Ways, second: Ways, guard: Guard) -> Ways:
    """`found || second`, the second of which was run where the first does not hold: it fails as `! a && ! b` holds."""
    return _anded(found.opposite(), second.opposite(), guard).opposite()


def _or(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    guard = shell.guard
    first, *rest = chain(operation)
    found = ways(walker, first, shell)
    for part in rest:
        if found.no is None:
            break
        found = _ored(found, ways(walker, part, found.no), guard)
    return found


def _group(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    return ways(walker, operation[3], shell)


def _test(walker: Walker, operation: Operation, shell: Shell) -> Ways:
    _, line, column, text, words, *sign = operation
    if not words:
        assign.computed(walker, text, line, column, shell)
        return _by_text(text, (), shell)
    assign.defaulted(walker, words, shell)
    return _joined(walker, words, text, bool(sign and sign[0]), shell)


def _joined(walker: Walker, words: Sequence[Word], text: str, double: bool, shell: Shell) -> Ways:
    """`a -a b`, `a -o b`, `a && b` in one test: -o binds less."""
    if any(literal(word) in ("(", ")") for word in words):
        return _by_text(text, sorted({name for word in words for name in expand.references_in(word)}), shell)
    for kind in ("or", "and"):
        at = next((n for n, word in enumerate(words) if _joins(word, double) == kind and 0 < n < len(words) - 1), 0)
        if not at or len(words) <= 3:
            continue
        return _both_tests(walker, kind, (words[:at], words[at + 1 :]), text, double, shell)
    return _negatable(walker, words, text, double, shell)


def _joins(word: Word, double: bool) -> str:
    sign = literal(word) or ""
    return _JOINING.get(sign, "") if sign.startswith("-") is not double else ""


def _both_tests(
    walker: Walker, kind: str, sides: tuple[Sequence[Word], Sequence[Word]], text: str, double: bool, shell: Shell
) -> Ways:  # fmt: skip
    guard = shell.guard
    first = _joined(walker, sides[0], _shown(sides[0], text), double, shell)
    goes = first.yes if kind == "and" else first.no
    if goes is None:
        return first
    second = _joined(walker, sides[1], _shown(sides[1], text), double, goes)
    return _anded(first, second, guard) if kind == "and" else _ored(first, second, guard)


def _shown(words: Sequence[Word], text: str) -> str:
    """What tells one side of a joined test from others."""
    first, last = words[0], words[-1]
    return f"{text} ({first[0]}:{first[1]} to {last[2]}:{last[3]})"


def _negatable(walker: Walker, words: Sequence[Word], text: str, double: bool, shell: Shell) -> Ways:
    negated = False
    while words and literal(words[0]) == "!":
        negated, words = not negated, words[1:]
    found = _simple(walker, words, text, double, shell)
    return found.opposite() if negated else found


def _by_text(text: str, names: Sequence[str], shell: Shell) -> Ways:
    return _open(shell, Atom(" ".join(text.split()), shell.stamp(sorted(names)), True))


def _simple(walker: Walker, words: Sequence[Word], text: str, double: bool, shell: Shell) -> Ways:
    """One test without `!` in front."""
    texts = [literal(word) for word in words]
    if not words:
        return Ways(None, shell)
    if len(words) == 1:
        return _emptiness(walker, words[0], shell, filled=True)
    if len(words) == 2 and texts[0] in ("-n", "-z"):
        if texts[0] == "-n" and not double and _vanishes(walker, words[1], shell):
            return _by_text(text, sorted(expand.references_in(words[1])), shell)
        return _emptiness(walker, words[1], shell, filled=texts[0] == "-n")
    if len(words) == 2 and texts[0] == "-v" and texts[1]:
        return _bound(walker, texts[1], shell)
    decided = len(words) == 3 and (double or not any(_vanishes(walker, words[n], shell) for n in (0, 2)))
    if decided and texts[1] in (*_EQUAL, *_UNEQUAL):
        return _equality(walker, words[0], words[2], shell, texts[1] in _EQUAL, double)
    if decided and texts[1] in _ORDER:
        return _order(walker, words, str(texts[1]), text, double, shell)
    return _by_text(text, sorted({name for word in words for name in expand.references_in(word)}), shell)


def _vanishes(walker: Walker, word: Word, shell: Shell) -> bool:
    """Whether a word of `[ ]` stands without quotes, and may be no word or many: the test fails, or asks otherwise."""
    parts = word[4]
    if not any(part[0] in ("ref", "command") and not part[2 if part[0] == "command" else 5] for part in parts):
        return False
    name = _only_reference(word)
    values = [a.text for a in shell.held(name) or () if a.kind != "unknown"] if name else []
    if not values:
        values = [expand.text_of(walker, word, shell).text]
    return any(not text or _BLANK_OR_PATTERN.search(text) for text in values)


def _emptiness(walker: Walker, word: Word, shell: Shell, filled: bool) -> Ways:
    """`-n`, `-z` and a word alone."""
    name = _only_reference(word)
    found = _filled(walker, name, word, shell)
    return found if filled else found.opposite()


def _filled(walker: Walker, name: str, word: Word, shell: Shell) -> Ways:
    if name:
        if word[4][0][3] == "+":
            return _bound(walker, name, shell)
        slot = shell.held(name)
        if slot is None:
            return _never_bound(walker, name, shell, "-n $")
        return _refined(shell, name, lambda a: None if a.kind == "unknown" else bool(a.text), f"-n ${name}")
    value = expand.text_of(walker, word, shell)
    if value.sure:
        return Ways(shell, None) if value.text else Ways(None, shell)
    if any(piece.known and piece.text and not piece.likely for piece in value.pieces):
        return Ways(shell, None)
    return _by_text(f"-n {value.text}", sorted(expand.references_in(word)), shell)


def _never_bound(walker: Walker, name: str, shell: Shell, asked: str) -> Ways:
    """A name that only who starts the script can have set: where it is set, it has come exported from outside."""
    found = _by_text(f"{asked}{name}", (name,), shell)
    if not walker.is_known(name) or found.yes is None or found.no is None:
        return found
    found.yes.visible[name] = (Alternative("unknown", f"${name}", "yes"),)
    found.no.defaulting = found.no.defaulting | {name}
    return found


def _bound(walker: Walker, name: str, shell: Shell) -> Ways:
    if not name.isidentifier() or name in shell.arrays:
        return _by_text(f"-v {name}", (), shell)
    if shell.held(name) is None:
        return _never_bound(walker, name, shell, "-v ")
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


def _equality(walker: Walker, left: Word, right: Word, shell: Shell, equal: bool, double: bool) -> Ways:
    found = _equal(walker, left, right, double, shell)
    return found if equal else found.opposite()


def _equal(walker: Walker, left: Word, right: Word, double: bool, shell: Shell) -> Ways:
    pattern = expand.text_of(walker, right, shell)
    names = sorted({*expand.references_in(left), *expand.references_in(right)})
    if double and _PATTERN.search(pattern.text) and not _is_pattern(right, pattern.text):
        return _by_text(f"{expand.text_of(walker, left, shell).text} = {pattern.text} as written", names, shell)
    fits: Callable[[str], bool | None] = pattern.text.__eq__
    if double and _PATTERN.search(pattern.text):
        fits = _fitting(pattern.text, shell)
    return _compared(walker, left, fits if pattern.sure else None, f"= {pattern.text}", names, shell)


def _is_pattern(word: Word, text: str) -> bool:
    """Whether the right side of `[[ a == b ]]` is a pattern for sure: one text without quotes."""
    parts = word[4]
    return len(parts) == 1 and parts[0][0] == "text" and parts[0][3] == word[1] and len(text) == word[3] - word[1]


def _fitting(pattern: str, shell: Shell) -> Callable[[str], bool | None]:
    """Whether a text fits a pattern; None: nobody knows."""
    if _PLAIN_PATTERN.fullmatch(pattern) is None or "nocasematch" in shell.options:
        return lambda text: None
    return lambda text: fnmatch.fnmatchcase(text, pattern)


def _compared(
    walker: Walker, left: Word, fits: Callable[[str], bool | None] | None, asked: str, names: Sequence[str],
    shell: Shell,
) -> Ways:  # fmt: skip
    """Compare a word; `fits` None: with what nobody knows."""
    value = expand.text_of(walker, left, shell)
    name = _only_reference(left)
    plain = name if name and left[4][0][3] not in ("+", ":+") and name not in shell.arrays else ""
    slot = shell.held(plain) if plain else None
    if slot is not None and fits is not None:
        return _refined(shell, plain, lambda a: None if a.kind == "unknown" else fits(a.text), f"{plain} {asked}")
    found = fits(value.text) if value.sure and fits is not None and not (name and shell.held(name) is None) else None
    if found is not None:
        return Ways(shell, None) if found else Ways(None, shell)
    return _by_text(f"{value.text} {asked}", names, shell)


def _order(walker: Walker, words: Sequence[Word], sign: str, text: str, double: bool, shell: Shell) -> Ways:
    right = expand.text_of(walker, words[2], shell)
    names = sorted({name for word in words for name in expand.references_in(word)})
    other = int(right.text) if right.sure and _NUMBER.fullmatch(right.text) else None

    def fits(value: str) -> bool | None:
        one = int(value) if _NUMBER.fullmatch(value) else None
        return _ORDER[sign](one, other) if one is not None and other is not None else None

    return _compared(walker, words[0], fits if other is not None else None, f"{sign} {right.text}", names, shell)


def choices(walker: Walker, subject: Word, patterns: Sequence[str], shell: Shell) -> Ways:
    """One arm of a `case`: the shell where a pattern fits, and where it does not."""
    if "*" in patterns:
        return Ways(shell, None)
    assign.defaulted(walker, (subject,), shell)
    fitting = [_case_fitting(pattern, shell) for pattern in patterns]

    def fits(text: str) -> bool | None:
        told = [one(text) for one in fitting]
        return True if True in told else None if None in told else False

    names = sorted(expand.references_in(subject))
    return _compared(walker, subject, fits, f"in {'|'.join(patterns)}", names, shell)


def _case_fitting(pattern: str, shell: Shell) -> Callable[[str], bool | None]:
    """What fits a pattern as it is written, with its quotes."""
    bare = _QUOTED.sub("", pattern)
    if "$" in bare or "`" in bare or '"' in bare or "'" in bare or bare.startswith("~"):
        return lambda text: None
    literal_text = _QUOTED.sub(lambda found: found[1] or found[2] or found[3] or "", pattern)
    if _PATTERN.search(bare) is None and "nocasematch" not in shell.options:
        return literal_text.__eq__
    return _fitting(bare, shell) if bare == pattern else lambda text: None


_WAYS: dict[str, Callable[[Walker, Operation, Shell], Ways]] = {
    "not": _not, "and": _and, "or": _or, "test": _test, "group": _group,
}  # fmt: skip
