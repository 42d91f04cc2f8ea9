"""The arguments of a launcher: which of them carry variables, and where the command begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.core.facts import Channel, Exported, Op
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.readers.shell import assignments as shell_assignments
from envdoctor.readers.shell.launchers import (
    ENVIRONMENT_LIST,
    SHELLS,
    TWO_VALUES,
    Form,
    Launcher,
    LauncherOption,
    by_program,
)
from envdoctor.readers.shell.scripts import embed_script
from envdoctor.readers.shell.state import ShellContext, ShellState
from envdoctor.readers.shell.syntax.words import Word

_WORDS_OF_LISTS = ("ALL", "NONE", "NIL", "")
_PATTERN = regex(r"[A-Za-z_][A-Za-z0-9_]*\*?\Z")
_PROGRAM = regex(
    r"(?:\S*/)?(?:python[\d.]*|bash|sh|torchrun|deepspeed|accelerate|env|numactl|nsys|rocprof\w*|hostname|printenv)\Z"
    r"|(?:\.{0,2}|\$\{?\w+\}?)/\S+\Z|\S+\.(?:sh|py|exe|x|sbatch|slurm)\Z"
)
_FLAGS = regex(r"(?i)flag|opt|arg|param|extra|mount|env|vol|devices|prefix")
"""Names of variables that hold options."""
_JSON_OPENING = regex(r"[\"']env_vars[\"']\s*:\s*\{")
_JSON_PAIR = regex(r"[\"']([^\"'\s]+)[\"']\s*:\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s,}\"']+))|\}")


@dataclass(frozen=True, slots=True)
class LauncherArgument:
    """Words that carry variables in one form."""

    form: Form
    words: tuple[Word, ...]
    channel: Channel = "launcher-argument"
    delimiter: str = ","


@dataclass(slots=True)
class CommandSegment:
    """One set of options and the command after it."""

    arguments: list[LauncherArgument] = field(default_factory=list)
    inner: list[Word] = field(default_factory=list)


def segments(row: Launcher, words: Sequence[Word], start: int) -> list[CommandSegment]:
    """The options and commands of a launcher, cut at `:` where the launcher knows that."""
    result: list[CommandSegment] = []
    at = start
    while at <= len(words):
        end = _segment_end(row, words, at)
        result.append(_segment(row, words[at:end]))
        at = end + 1
    return result


def _segment_end(row: Launcher, words: Sequence[Word], at: int) -> int:
    if row.segments:
        for index in range(at, len(words)):
            if words[index].text == ":":
                return index
    return len(words)


def _segment(row: Launcher, words: Sequence[Word]) -> CommandSegment:
    segment = CommandSegment()
    operands = row.operands
    last = _last_program(words)
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "--":
            segment.inner = list(words[at + 1 :])
            break
        if text.startswith("-") and len(text) > 1 and not (words[at].expansions and words[at].expansions[0].start == 0):
            if row.inner == "python" and text in ("-m", "--module", "--no_python", "--no-python"):
                segment.inner = list(words[at:])
                break
            at = _option(row, words, at, segment, last)
        elif row.assigns and (words[at].assignment() or _removal(row, text)):
            channel: Channel = "shell" if "time" in row.programs.split() else "launcher-argument"
            segment.arguments.append(LauncherArgument("assignment", (words[at],), channel))
            at += 1
        elif row.inner in ("none", "dashes") or _may_be_flags(words, at, last, operands):
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            segment.inner = list(words[at:])
            break
    return segment


def _may_be_flags(words: Sequence[Word], at: int, last: int, operands: int) -> bool:
    """Whether a variable nobody knows stands for options rather than for the image, the host or the command."""
    word = words[at]
    if not word.variable() or _is_program(word.text):
        return False
    if at >= last:
        following = words[at + 1] if at + 1 < len(words) else None
        more = following is not None and (following.text.startswith("-") or bool(following.variable()))
        return more and not word.quoted and not operands and bool(_FLAGS.search(word.variable()))
    if not operands or re.search(r"\[[@*]\]", word.text):
        return True
    return not word.quoted and bool(_FLAGS.search(word.variable()) or words[at + 1].text.startswith("-"))


def _removal(row: Launcher, text: str) -> bool:
    return row.inner == "none" and bool(re.fullmatch(r"[A-Z][A-Z0-9_]*-", text))


def _last_program(words: Sequence[Word]) -> int:
    """The last word that looks like a program, or -1."""
    for index in range(len(words) - 1, -1, -1):
        if _is_program(words[index].text):
            return index
    return -1


def _is_program(text: str) -> bool:
    return bool(_PROGRAM.match(text)) or text in by_program() or text in SHELLS


def _option(row: Launcher, words: Sequence[Word], at: int, segment: CommandSegment, last: int) -> int:
    """Take one option; the index of the word after it and its values is given back."""
    text = words[at].text
    flag, equals, _ = text.partition("=")
    option = row.option(flag)
    if option is not None:
        return _variables(option, words, at, segment, len(flag) + 1 if equals else 0)
    if flag in TWO_VALUES:
        if at + 2 < len(words) and words[at + 1].text == ENVIRONMENT_LIST:
            segment.arguments.append(LauncherArgument("list", (words[at + 2],), delimiter=";"))
        return at + 3
    if attached := _attached(row, words[at]):
        segment.arguments.append(attached)
        return at + 1
    if equals or row.inner in ("none", "dashes"):
        return at + 1
    if row.takes_value(flag):
        return at + 2
    unknown_value = at + 1 < last and not words[at + 1].text.startswith("-") and not _is_program(words[at + 1].text)
    if unknown_value and not row.operands and len(flag) > 2 and not row.is_bare(flag) and not words[at + 1].variable():
        return at + 2
    return at + 1


def _attached(row: Launcher, word: Word) -> LauncherArgument | None:
    """`-eA=1`, `-oSendEnv=A`: a short flag with its value in one word."""
    option = row.option(word.text[:2]) if not word.text.startswith("--") else None
    rest = word.text[2:]
    if option is not None and (re.match(r"[A-Z][A-Z0-9_]*=", rest) or rest.startswith(("SendEnv", "SetEnv"))):
        return LauncherArgument(option.form, (word.part(2),), option.channel)
    return None


def _variables(option: LauncherOption, words: Sequence[Word], at: int, segment: CommandSegment, attached: int) -> int:
    """Take an option that carries variables, with its value attached after `=` or in the words after it."""
    if attached:
        segment.arguments.append(LauncherArgument(option.form, (words[at].part(attached),), option.channel))
        return at + 1
    taken = list(words[at + 1 : at + 2])
    if option.form == "pair" and taken and not taken[0].assignment():
        taken = list(words[at + 1 : at + 3])
    elif option.form == "words":
        taken = []
        while at + 1 + len(taken) < len(words) and not words[at + 1 + len(taken)].text.startswith("-"):
            taken.append(words[at + 1 + len(taken)])
    if taken:
        segment.arguments.append(LauncherArgument(option.form, tuple(taken), option.channel))
    return at + 1 + len(taken)


def state_arguments(
    state: ShellState, name: str, arguments: Sequence[LauncherArgument], inner: ShellContext, context: ShellContext
) -> None:
    """State what the arguments of a launcher give to the processes it starts (`inner`), or to the whole script."""
    for argument in arguments:
        if argument.form in ("env-file", "configuration"):
            state.inclusion(argument.form, argument.words[0], context)
        elif argument.form == "script":
            embed_script(state, argument.words[0], context, name)
        elif argument.form == "json":
            _json(state, argument, name, inner)
        else:
            for word in _pieces(argument):
                _give(state, argument, word, name, inner)


def _pieces(argument: LauncherArgument) -> Iterator[Word]:
    """The words of an argument that stand for one variable each."""
    first = argument.words[0]
    if argument.form == "pair" and len(argument.words) == 2:
        yield first
    elif argument.form in ("list", "names"):
        delimiter = argument.delimiter
        if match := re.match(r"\^(.+?)\^", first.text):  # gcloud topic escaping: another delimiter
            delimiter, first = match[1], first.part(match.end())
        yield from _split(first, delimiter)
    elif argument.form == "ssh":
        keyword, _, rest = first.text.partition("=")
        if keyword in ("SendEnv", "SetEnv"):
            yield from first.part(len(first.text) - len(rest)).split()
    else:
        yield from argument.words


def _split(word: Word, delimiter: str) -> Iterator[Word]:
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


def _stripped(word: Word, start: int, end: int) -> Word:
    """`text[start:end]` without the blanks around it: `"all, A=1"`."""
    text = word.text[start:end]
    return word.part(start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip()))


def _give(state: ShellState, argument: LauncherArgument, word: Word, name: str, context: ShellContext) -> None:
    """State one variable: set with a value, or forwarded by its name."""
    exported: Exported = "no" if argument.channel == "argument" else "yes"
    if argument.form == "pair" and len(argument.words) == 2:
        state.setting("set", word, argument.words[1], context, channel=argument.channel, via=name)
        return
    if word.text.upper() in _WORDS_OF_LISTS:
        return
    if argument.form == "unset" or (word.text.endswith("-") and _PATTERN.match(word.text[:-1])):
        label = word.text.rstrip("-")
        state.setting("unset", word.part(0, len(label)), None, context, channel=argument.channel, via=name)
        return
    found = list(shell_assignments.assignments_in(state, word))
    for given in found:
        op: Op = "pass" if given.value is None else "set"
        state.setting(
            op, given.name, given.value, context,
            channel=argument.channel, exported=exported, via=name, carrier=given.carrier,
        )  # fmt: skip
    if not found and _PATTERN.match(word.text):
        state.setting("pass", word, None, context, channel=argument.channel, via=name)


def _json(state: ShellState, argument: LauncherArgument, name: str, context: ShellContext) -> None:
    """`{"env_vars": {"A": "1"}}`: each key with its own place."""
    for word in _json_texts(state, argument.words[0]):
        opening = _JSON_OPENING.search(word.text)
        if opening is None:
            continue
        for match in _JSON_PAIR.finditer(word.text, opening.end()):
            if match[0] == "}":
                break
            group = next(index for index in (2, 3, 4) if match[index] is not None)
            value = word.part(*match.span(group))
            if match.end(1) > match.start(1) and _PATTERN.match(match[1]):
                state.setting("set", word.part(*match.span(1)), value, context, channel="runtime-env", via=name)


def _json_texts(state: ShellState, word: Word) -> list[Word]:
    """The text itself, or what the variable holds that stands for it."""
    name = word.variable()
    return [a[0] for a in state.alternatives(name) if a] if name else [word]
