"""The words of a launcher, read by its row: which of them carry variables, and where the command begins.

All that is asked of a word stands in `ReadWord`, so that the words of the shell reader and those of the process model
are read by the same code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from envdoctor.core.facts import Channel
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.records import Form, LauncherCommand, LauncherOption

POSITIONAL = "="
"""The flag of NAME=VALUE words that stand before a command (`env A=1 cmd`)."""
_PROGRAM = regex(
    r"(?:\S*/)?(?:python[\d.]*|bash|sh|torchrun|deepspeed|accelerate|env|numactl|nsys|rocprof\w*|hostname|printenv)\Z"
    r"|(?:\.{0,2}|\$\{?\w+\}?)/\S+\Z|\S+\.(?:sh|py|exe|x|sbatch|slurm)\Z"
)
_FLAGS = regex(r"(?i)flag|opt|arg|param|extra|mount|env|vol|devices|prefix")
"""Names of variables that hold options."""
_WHOLE_ARRAY = regex(r"\[[@*]\]")
_REMOVAL = regex(r"[A-Z][A-Z0-9_]*-\Z")
_LETTERS = regex(r"-[A-Za-z0-9]{2,}")
_ATTACHED = regex(r"[A-Z][A-Z0-9_]*=|SendEnv|SetEnv")
_ESCAPED_DELIMITER = regex(r"\^(.+?)\^")
_KEY_NAME = regex(r"(?:C|M|S)-\S+|Enter|Space|Tab|Escape|BSpace|KPEnter|\^?[Mm]|\"\"")
"""Names of keys that `tmux send-keys` presses."""
_JSON_OPENING = regex(r"[\"']env_vars[\"']\s*:\s*\{")
_JSON_PAIR = regex(r"[\"']([^\"'\s]+)[\"']\s*:\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s,}\"']+))|\}")

R = TypeVar("R", bound="ReadWord")


class ReadWord(Protocol):
    """A word after quote removal; parts that are not known stand in `text` as they are written (`$X`)."""

    @property
    def text(self) -> str:
        """The text of the word."""

    @property
    def quoted(self) -> bool:
        """Whether it is in double quotes, so that what a variable holds is not split."""

    def variable(self) -> str:
        """The name, where the word is nothing but one variable whose value is not known; else empty."""

    def assignment(self: R) -> tuple[R, str, R] | None:
        """Name, operator and value of `NAME=VALUE`; None where the word is no assignment."""

    def part(self: R, start: int, end: int | None = None) -> R:
        """`text[start:end]` as a word of its own."""


@dataclass(frozen=True, slots=True)
class LauncherArgument(Generic[R]):
    """Words that carry variables in one form."""

    form: Form
    words: tuple[R, ...]
    channel: Channel = "launcher-argument"
    delimiter: str = ","
    flag: str = POSITIONAL


@dataclass(slots=True)
class CommandFlags(Generic[R]):
    """The options of one command: each flag with its values, `""` where it has none.

    `opaque` are words that may hold any flag (`$OPTIONS`). `attached` are `--flag=value` for each value, and `--flag=`
    where there is none.
    """

    values: dict[str, list[str]] = field(default_factory=dict)
    words: dict[str, list[R]] = field(default_factory=dict)
    attached: set[str] = field(default_factory=set)
    opaque: list[R] = field(default_factory=list)

    def has(self, flags: Iterable[str]) -> bool:
        """Whether one of some flags is there; `--flag=value` asks for that value, `--flag=` for none."""
        return any(flag in self.values or flag in self.attached for flag in flags)

    def given(self, flags: Iterable[str]) -> list[str]:
        """The values of some flags, in no order among different flags."""
        return [value for flag in flags for value in self.values.get(flag, ())]

    def note(self, flag: str, value: R | None) -> None:
        """One more use of a flag."""
        text = value.text if value is not None else ""
        self.values.setdefault(flag, []).append(text)
        self.attached.add(f"{flag}={text}")
        if value is not None:
            self.words.setdefault(flag, []).append(value)

    def add(self, other: CommandFlags[R]) -> None:
        """Take over the uses of flags of another part of the command."""
        for flag, values in other.values.items():
            self.values.setdefault(flag, []).extend(values)
        for flag, words in other.words.items():
            self.words.setdefault(flag, []).extend(words)
        self.attached |= other.attached
        self.opaque += other.opaque


@dataclass(slots=True)
class CommandSegment(Generic[R]):
    """One set of options and the command after it. `operands` are image, host, seconds; `entrypoint` the program."""

    arguments: list[LauncherArgument[R]] = field(default_factory=list)
    inner: list[R] = field(default_factory=list)
    operands: list[R] = field(default_factory=list)
    entrypoint: R | None = None
    flags: CommandFlags[R] = field(default_factory=CommandFlags)


def segments(
    row: LauncherCommand, words: Sequence[R], start: int, is_name: Callable[[str], bool]
) -> list[CommandSegment[R]]:
    """The options and commands of a launcher, cut at `:` where the launcher knows that.

    `is_name` tells whether a word is the name of a program of some launcher file.
    """
    result: list[CommandSegment[R]] = []
    at = start
    while at <= len(words):
        end = _segment_end(row, words, at)
        result.append(_Reading(row, words[at:end], is_name).segment())
        at = end + 1
    return result


def _segment_end(row: LauncherCommand, words: Sequence[ReadWord], at: int) -> int:
    if row.segments:
        for index in range(at, len(words)):
            if words[index].text == ":":
                return index
    return len(words)


class _Reading(Generic[R]):
    """Reads one segment from its first word to the command."""

    def __init__(self, row: LauncherCommand, words: Sequence[R], is_name: Callable[[str], bool]) -> None:
        self.row = row
        self.words = words
        self.is_name = is_name
        self.found: CommandSegment[R] = CommandSegment()
        self.operands = row.operands
        self.skipped: list[R] = []
        self.last = self._last_program()

    def segment(self) -> CommandSegment[R]:
        """The options, operands and command of the segment."""
        at = 0
        while at < len(self.words):
            following = self._at(at)
            if following is None:
                break
            at = following
        self._settle()
        return self.found

    def _at(self, at: int) -> int | None:
        """Read the word at an index; the index of the next one is given back, None where the command begins."""
        row, word = self.row, self.words[at]
        if word.text == "--":
            return self._command(at + 1)
        if word.text.startswith("-") and len(word.text) > 1:
            entry = row.inner == "python" and word.text in row.entries.split()
            return self._command(at) if entry else self._option(at)
        if row.assigns and (word.assignment() or (row.inner == "none" and _REMOVAL.match(word.text))):
            channel: Channel = "shell" if "time" in row.programs.split() else "launcher-argument"
            self.found.arguments.append(LauncherArgument("assignment", (word,), channel))
        elif word.text == "-" and not self.operands:
            self.found.flags.note("-", None)
            return at + 1 if self.row.is_bare("-") or row.inner == "none" else self._command(at)
        elif row.inner in ("none", "dashes") or self._may_be_flags(at):
            self.skipped.append(word)
        elif self.operands:
            self.operands -= 1
            self.found.operands.append(word)
            if row.stops and not self.operands:
                return self._command(at + 1)
        else:
            return self._command(at)
        return at + 1

    def _command(self, at: int) -> int | None:
        """The command begins at an index: nothing is read on."""
        self.found.inner = list(self.words[at:])
        return None

    def _settle(self) -> None:
        """Words that were passed over: operands where some are missing, else what may hold any flag."""
        row, found = self.row, self.found
        if row.inner in ("none", "dashes") and row.operands:
            found.operands = self.skipped[-row.operands :]
            self.skipped = self.skipped[: -row.operands]
        found.flags.opaque = [word for word in self.skipped if word.text.startswith(("$", "`"))]
        if row.inner == "keys":
            while found.inner and _KEY_NAME.fullmatch(found.inner[-1].text):
                found.inner.pop()

    def _may_be_flags(self, at: int) -> bool:
        """Whether a variable nobody knows stands for options rather than for the image, the host or the command."""
        words, word = self.words, self.words[at]
        name = word.variable()
        if not name or self._is_program(word.text):
            return False
        if at >= self.last:
            following = words[at + 1] if at + 1 < len(words) else None
            more = following is not None and (following.text.startswith("-") or bool(following.variable()))
            return more and not word.quoted and not self.operands and bool(_FLAGS.search(name))
        if not self.operands or _WHOLE_ARRAY.search(word.text):
            return True
        return not word.quoted and bool(_FLAGS.search(name) or words[at + 1].text.startswith("-"))

    def _last_program(self) -> int:
        """The last word that looks like a program, or -1."""
        return next((at for at in range(len(self.words) - 1, -1, -1) if self._is_program(self.words[at].text)), -1)

    def _is_program(self, text: str) -> bool:
        return bool(_PROGRAM.match(text)) or self.is_name(text)

    def _option(self, at: int) -> int:
        """Take one option; the index of the word after it and its values is given back."""
        row, words = self.row, self.words
        flag, equals, _ = words[at].text.partition("=")
        option = row.option(flag)
        if option is not None:
            return self._variables(option, flag, at, len(flag) + 1 if equals else 0)
        if flag in row.pairs.split():
            return self._pair(flag, at)
        if self._is_joined(words[at].text):
            return self._letters(at)
        if self._attached(words[at]):
            return at + 1
        if equals:
            self._flag(flag, words[at].part(len(flag) + 1))
            return at + 1
        taken = self._takes_next(flag, at)
        self._flag(flag, words[at + 1] if taken and at + 1 < len(words) else None)
        return at + 2 if taken else at + 1

    def _flag(self, flag: str, value: R | None) -> None:
        self.found.flags.note(flag, value)
        if flag in self.row.entrypoint.split():
            self.found.entrypoint = value

    def _takes_next(self, flag: str, at: int) -> bool:
        """Whether the word after a flag is its value. Of flags that nobody knows, one before a program may be."""
        row, words = self.row, self.words
        if row.takes_value(flag):
            return row.inner not in ("none", "dashes") or at + 1 < len(words)
        if row.inner in ("none", "dashes") or row.operands or len(flag) < 3 or row.is_bare(flag):
            return False
        value = words[at + 1] if at + 1 < self.last else None
        return not (value is None or value.text.startswith("-") or self._is_program(value.text) or value.variable())

    def _pair(self, flag: str, at: int) -> int:
        """`--mca NAME VALUE`."""
        if at + 2 < len(self.words):
            name, value = self.words[at + 1].text, self.words[at + 2]
            self.found.flags.note(flag, self.words[at + 1])
            self.found.flags.note(f"{flag}={name}", value)
            option = self.row.option(f"{flag}={name}")
            if option is not None:
                self._argument(option, f"{flag}={name}", (value,))
        return at + 3

    def _is_joined(self, text: str) -> bool:
        row = self.row
        known = row.takes_value(text) or row.is_bare(text)
        return row.joins and not known and bool(_LETTERS.match(text)) and not text.startswith("--")

    def _letters(self, at: int) -> int:
        """`-nE`, `-uroot`, `-itv a:b`: each letter is a flag; the first that takes a value takes the rest."""
        row, word = self.row, self.words[at]
        for index in range(1, len(word.text)):
            flag = f"-{word.text[index]}"
            option = row.option(flag)
            if option is None and not row.takes_value(flag):
                self._flag(flag, None)
                continue
            rest = index + 1 < len(word.text)
            if option is not None:
                return self._variables(option, flag, at, index + 1 if rest else 0)
            following = self.words[at + 1] if at + 1 < len(self.words) else None
            self._flag(flag, word.part(index + 1) if rest else following)
            return at + 1 if rest else at + 2
        return at + 1

    def _attached(self, word: R) -> bool:
        """`-eA=1`, `-oSendEnv=A`: a short flag with its value in one word."""
        option = self.row.option(word.text[:2]) if not word.text.startswith("--") else None
        if option is None or not _ATTACHED.match(word.text[2:]):
            return False
        self._argument(option, word.text[:2], (word.part(2),))
        return True

    def _argument(self, option: LauncherOption, flag: str, taken: tuple[R, ...]) -> None:
        self.found.flags.note(flag, taken[0])
        self.found.arguments.append(LauncherArgument(option.form, taken, option.channel, option.delimiter, flag))

    def _variables(self, option: LauncherOption, flag: str, at: int, attached: int) -> int:
        """Take an option that carries variables, with its value attached after `=` or in the words after it."""
        words = self.words
        if attached:
            self._argument(option, flag, (words[at].part(attached),))
            return at + 1
        taken = [] if option.attached else list(words[at + 1 : at + 2])
        if option.form == "pair" and taken and not taken[0].assignment():
            taken = list(words[at + 1 : at + 3])
        elif option.form == "words":
            taken = list(_until_option(words[at + 1 :]))
        if taken:
            self._argument(option, flag, tuple(taken))
        else:
            self.found.flags.note(flag, None)
        return at + 1 + len(taken)


def _until_option(words: Sequence[R]) -> Iterator[R]:
    for word in words:
        if word.text.startswith("-"):
            return
        yield word


def pieces(argument: LauncherArgument[R]) -> Iterator[R]:
    """The words of an argument that stand for one variable each."""
    first = argument.words[0]
    if argument.form == "pair" and len(argument.words) == 2:
        yield first
    elif argument.form in ("list", "names", "unset"):
        delimiter = argument.delimiter
        if match := _ESCAPED_DELIMITER.match(first.text):  # gcloud topic escaping: another delimiter
            delimiter, first = match[1], first.part(match.end())
        yield from _split(first, delimiter)
    elif argument.form == "ssh":
        keyword, equals, rest = first.text.partition("=")
        if keyword in ("SendEnv", "SetEnv") and equals:
            start = len(first.text) - len(rest)
            yield from (first.part(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", rest))
    else:
        yield from argument.words


def _split(word: R, delimiter: str) -> Iterator[R]:
    """The parts of a list; a delimiter in quotes that are part of the text does not count."""
    start = 0
    quote = ""
    for index, char in enumerate(word.text):
        if char in "'\"":
            quote = "" if quote == char else quote or char
        elif char == delimiter and not quote:
            yield _stripped(word, start, index)
            start = index + 1
    yield _stripped(word, start, len(word.text))


def _stripped(word: R, start: int, end: int) -> R:
    """`text[start:end]` without the blanks around it: `"all, A=1"`."""
    text = word.text[start:end]
    return word.part(start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip()))


def json_pairs(word: R) -> Iterator[tuple[R, R]]:
    """`{"env_vars": {"A": "1"}}`: each name with its value."""
    opening = _JSON_OPENING.search(word.text)
    for match in _JSON_PAIR.finditer(word.text, opening.end()) if opening is not None else ():
        if match[0] == "}":
            return
        group = next(index for index in (2, 3, 4) if match[index] is not None)
        yield word.part(*match.span(1)), word.part(*match.span(group))
