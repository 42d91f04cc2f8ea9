"""`echo` and `printf` into files that hold settings: env files, conf files, start files, scripts."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

from envdoctor.core.facts import Scope
from envdoctor.core.regexes import regex
from envdoctor.readers.shell import targets as shell_targets
from envdoctor.readers.shell.state import ShellContext, ShellState
from envdoctor.readers.shell.syntax.words import Expansion, Word, joined

_ESCAPED = regex(r"\\(n|t|\\|\"|')")
_DIRECTIVE = regex(r"%%|%[-+ #0]*\d*(?:\.\d+)?[sdibqfxX]")
_ESCAPES = {"n": "\n", "t": "\t"}


def echo(state: ShellState, words: list[Word], context: ShellContext) -> None:
    """`echo "A=1" >> file`: the text is what the file is given."""
    at = 1
    while at < len(words) and re.fullmatch(r"-[neE]+", words[at].text):
        at += 1
    if at < len(words):
        escapes = any("e" in word.text for word in words[1:at])
        whole = joined(words[at:])
        written(state, unescaped(whole) if escapes else whole, context)


def printf(state: ShellState, words: list[Word], context: ShellContext) -> None:
    """`printf 'A=%s\\n' 1 > file`; `printf -v A ...` assigns."""
    if len(words) > 2 and words[1].text == "-v":
        if words[2].text.isidentifier():
            state.setting("set", words[2], words[3] if len(words) > 3 else None, context, exported="no", known=False)
        return
    if len(words) > 1 and context.output is not None:
        written(state, unescaped(formatted(words[1], words[2:])), context)


def written(state: ShellState, text: Word, context: ShellContext) -> None:
    """Read text that goes into a file or a command, where that holds settings."""
    output = context.output
    if output is None or output.kind in ("pipe", "capture", "argument"):
        return
    kind = output.kind
    if kind == "file":
        kind = shell_targets.file_kind(output.target) or ""
        if not kind and shell_targets.keeps_settings(output.target) and re.match(r"\s*export\s+\w+=", text.text):
            kind = "shell"
    read_written(state, text, kind, output.target, context)


def read_written(state: ShellState, text: Word, kind: str, target: str, context: ShellContext) -> None:
    """Read text of a kind that becomes a file of its own (`target`) or the input of another program."""
    if not kind:
        return
    scope = Scope("file", target) if target else Scope("subshell", state.scope_name("input", text.start))
    if context.output is not None and context.output.kind != "file" and context.scope.kind == "container":
        scope = context.scope
    state.embed(text.as_source(), kind, scope, context.branch)


def formatted(template: Word, values: Sequence[Word]) -> Word:
    """What printf makes of its format and arguments; the format is used again while arguments are left."""
    parts: list[Word] = []
    pending = list(values)
    for _ in range(100):
        used = len(pending)
        done = 0
        for match in _DIRECTIVE.finditer(template.text):
            parts.append(template.part(done, match.start()))
            done = match.end()
            if match[0] == "%%":
                parts.append(template.part(match.start(), match.start() + 1))
            elif pending:
                parts.append(pending.pop(0))
        parts.append(template.part(done))
        if not pending or len(pending) == used:
            break
    return _concatenated(template, parts)


def _concatenated(first: Word, parts: Sequence[Word]) -> Word:
    text: list[str] = []
    offsets = array("I")
    expansions: list[Expansion] = []
    for part in parts:
        shift = len(offsets)
        expansions += [Expansion(e.kind, e.name, e.start + shift, e.end + shift, e.operand) for e in part.expansions]
        text.append(part.text)
        offsets.extend(part.offsets)
    return Word(first.source, "".join(text), first.start, first.end, offsets, tuple(expansions))


def unescaped(word: Word) -> Word:
    """`\\n` and `\\t` as `echo -e` and `printf` understand them."""
    if "\\" not in word.text:
        return word
    text: list[str] = []
    offsets = array("I")
    done = 0
    for match in _ESCAPED.finditer(word.text):
        text += [word.text[done : match.start()], _ESCAPES.get(match[1], match[1])]
        offsets.extend(word.offsets[done : match.start()])
        offsets.append(word.offsets[match.start()])
        done = match.end()
    text.append(word.text[done:])
    offsets.extend(word.offsets[done:])
    return Word(word.source, "".join(text), word.start, word.end, offsets, word.expansions)
