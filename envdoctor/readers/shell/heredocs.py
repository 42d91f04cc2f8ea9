"""Where output goes, and here-documents: what they are read as is decided by where they go.

Source: POSIX Shell Command Language 2.7.4: with an unquoted delimiter `$`, backquote and backslash before them and
before a line end are special in the body; `<<-` removes leading tabs.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envdoctor.core.facts import Scope
from envdoctor.core.regexes import regex
from envdoctor.readers.shell import (
    output as shell_output,
)
from envdoctor.readers.shell import (
    run as shell_run,
)
from envdoctor.readers.shell import (
    targets as shell_targets,
)
from envdoctor.readers.shell import (
    uses as shell_uses,
)
from envdoctor.readers.shell.commands import words_of
from envdoctor.readers.shell.launchers import SHELLS
from envdoctor.readers.shell.state import ShellContext, ShellOutput, ShellState, VariableDefinition
from envdoctor.readers.shell.syntax import repair as shell_repair
from envdoctor.readers.shell.syntax.words import Expansion, Word, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

_BODY_ESCAPE = regex(r"\\([$`\\\n])")
_BODY_REFERENCE = regex(r"(?<!\\)\$(?:\{([A-Za-z_]\w*)[^}\n]*\}|([A-Za-z_]\w*))", re.ASCII)
_PYTHON = regex(r"(?:\S*/)?(?:python|pypy)[\d.]*\Z")
PIPE = ShellOutput("pipe")


def output_of(state: ShellState, redirects: Sequence[Node]) -> ShellOutput | None:
    """The file that standard output is sent to, if any of the redirections does that."""
    result: ShellOutput | None = None
    for redirect in redirects:
        for node in (redirect, *(redirect.named_children if redirect.type == "heredoc_redirect" else ())):
            if node.type == "file_redirect":
                result = _file(state, node) or result
    return result


def _file(state: ShellState, node: Node) -> ShellOutput | None:
    destination = node.child_by_field_name("destination")
    descriptor = node.child_by_field_name("descriptor")
    if destination is None:
        return None
    if node.end_byte > destination.end_byte and not state.tolerant:
        shell_repair.check(state.text, node.named_children)
    operator = state.text[node.start_byte : destination.start_byte].strip()
    if descriptor is not None and state.text[descriptor.start_byte : descriptor.end_byte] != "1":
        return None
    if operator.lstrip("1") not in (">", ">>", "&>", "&>>", ">|"):
        return None
    return ShellOutput("file", read_word(state.source, destination.start_byte, destination.end_byte).text)


def sink(state: ShellState, node: Node, context: ShellContext) -> ShellOutput:
    """Where the output of a pipeline member goes: what the next member does with it."""
    command, output = node, None
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if body is None or child.id != body.id]
        command, output = body or node, output_of(state, redirects)
    if command.type != "command":
        return PIPE
    words = words_of(state, command)
    return consumer(words, output or context.output) or PIPE if words else PIPE


def consumer(words: Sequence[Word], output: ShellOutput | None) -> ShellOutput | None:
    """What a command does with its input: keeps it in a file, runs it, or passes it on; None: nothing known."""
    while words:
        texts = [word.text for word in words]
        program = texts[0].rsplit("/", 1)[-1]
        if program == "cat":
            return output
        if program == "tee":
            files = [text for text in texts[1:] if not text.startswith("-") and text not in shell_targets.NOWHERE]
            return ShellOutput("file", files[0]) if files else None
        if program in SHELLS:
            return None if _given_script(texts[1:]) else ShellOutput("shell")
        if _PYTHON.match(program):
            return ShellOutput("python") if texts[1:2] in ([], ["-"]) else None
        found = shell_run.row_of(program, words)
        if found is None:
            return _kubernetes(program, texts)
        inner = shell_run.carried(found[0], words, found[1])
        if found[0].inner == "script" and not inner:
            return ShellOutput("shell")
        if found[0].inner == "shell":
            return _remote(inner)
        words = inner
    return None


def _given_script(texts: Sequence[str]) -> bool:
    """Whether a shell has a script of its own, so that its input is only data."""
    return any("c" in text for text in texts if re.fullmatch(r"-[a-zA-Z]+", text)) or any(
        not text.startswith("-") for text in texts if "-s" not in texts
    )


def _kubernetes(program: str, texts: Sequence[str]) -> ShellOutput | None:
    if program in ("kubectl", "oc", "helm") and "-" in texts and ("apply" in texts or "create" in texts):
        return ShellOutput("yaml")
    return None


def _remote(inner: Sequence[Word]) -> ShellOutput | None:
    """`ssh host <<EOF` and `ssh host bash -s <<EOF` run their input; `ssh host 'cat >> file'` keeps it."""
    text = " ".join(word.text for word in inner)
    if not inner or re.fullmatch(r"(?:sudo\s+)?(?:/bin/)?(?:bash|sh)(?:\s+-[ls]+)*(?:\s+--)?", text):
        return ShellOutput("shell")
    match = re.search(r"(?:cat\s*>>?|tee(?:\s+-a)?)\s*[\"']?([^\s\"';&|>]+)", text)
    return ShellOutput("file", match[1]) if match else None


def here_documents(
    state: ShellState, body: Node | None, redirects: Sequence[Node], context: ShellContext
) -> list[Node]:
    """Read the here-documents and here-strings of a statement; what else stands in them is given back to visit."""
    rest: list[Node] = []
    for redirect in redirects:
        if redirect.type == "heredoc_redirect":
            rest += [c for c in redirect.named_children if c.type not in _OWN_PARTS and c.type != "file_redirect"]
            text = body_of(state, redirect)
            if text is not None:
                _place(state, text, body, rest, context)
        elif redirect.type == "herestring_redirect" and redirect.named_children:
            node = redirect.named_children[-1]
            _place(state, read_word(state.source, node.start_byte, node.end_byte), body, rest, context)
    return [node for node in rest if node.type not in _WORDS]


_OWN_PARTS = ("heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor")
_WORDS = ("word", "string", "raw_string", "concatenation", "number", "simple_expansion", "expansion")


def _place(state: ShellState, text: Word, body: Node | None, rest: Sequence[Node], context: ShellContext) -> None:
    """Read the text of a here-document as what its consumer takes it for."""
    words = words_of(state, body) if body is not None and body.type == "command" else []
    output = consumer(words, context.output) if words else context.output
    piped = next((node for node in rest if node.type == "pipeline"), None)
    if piped is not None and piped.named_children:
        output = sink(state, piped.named_children[0], context)
    if words and words[0].text == "read":
        _into_variable(state, text, words, context)
    elif output is not None and output.kind == "capture":
        if output.target:
            state.definitions[output.target] = [VariableDefinition([text], context.branch)]
    elif output is not None and output.kind not in ("pipe", "argument"):
        _read_as(state, text, output, _carrier(state, words, context))


def _carrier(state: ShellState, words: Sequence[Word], context: ShellContext) -> ShellContext:
    """`ssh host <<EOF` and `docker exec -i c bash <<EOF`: the text runs elsewhere."""
    program = words[0].text.rsplit("/", 1)[-1] if words else ""
    found = shell_run.row_of(program, words)
    if found and (found[0].container or found[0].inner == "shell"):
        name = shell_run.name_of(found[0], found[1], program, words)
        return context.scoped(Scope("container", state.scope_name(name, words[0].start)))
    return context


def _into_variable(state: ShellState, text: Word, words: Sequence[Word], context: ShellContext) -> None:
    """`read -r -d '' VAR <<EOF`: the text is what the variable holds."""
    name = words[-1].text
    if name.isidentifier():
        state.definitions[name] = [VariableDefinition([text], context.branch)]


def _read_as(state: ShellState, text: Word, output: ShellOutput, context: ShellContext) -> None:
    kind = output.kind
    if kind == "file":
        known = shell_targets.file_kind(output.target)
        kept = shell_targets.keeps_settings(output.target)
        kind = known or (shell_targets.content_kind(text.text) if kept else None) or ""
        if not kind:
            _uses(state, text, context)
    shell_output.read_written(state, text, kind, output.target, context.into(output))


def _uses(state: ShellState, text: Word, context: ShellContext) -> None:
    """A file of an unknown kind: the variables put into it are used."""
    if text.expansions:
        shell_uses.scan(state, text.start, text.end, context)


def body_of(state: ShellState, redirect: Node) -> Word | None:
    """The body of a here-document as one word, unescaped where its delimiter is unquoted."""
    delimiter = next((child for child in redirect.named_children if child.type == "heredoc_start"), None)
    body = next((child for child in redirect.named_children if child.type == "heredoc_body"), None)
    if delimiter is None or body is None:
        return None
    start = state.text.rfind("\n", 0, body.start_byte) + 1
    start = max(start, delimiter.end_byte)
    end = body.end_byte
    if re.search(r"[\"'\\]", state.text[delimiter.start_byte : delimiter.end_byte]):
        return Word(state.source, state.text[start:end], start, end, range(start, end))
    return _unquoted(state, start, end)


def _unquoted(state: ShellState, start: int, end: int) -> Word:
    source = state.text[start:end]
    found = _BODY_REFERENCE.finditer(source)
    expansions = tuple(Expansion("plain", match[1] or match[2], match.start(), match.end()) for match in found)
    if "\\" not in source:
        return Word(state.source, source, start, end, range(start, end), expansions)
    text: list[str] = []
    offsets = array("I")
    done = 0
    for match in _BODY_ESCAPE.finditer(source):
        text += [source[done : match.start()], "" if match[1] == "\n" else match[1]]
        offsets.extend(range(start + done, start + match.start()))
        if match[1] != "\n":
            offsets.append(start + match.start(1))
        done = match.end()
    text.append(source[done:])
    offsets.extend(range(start + done, end))
    return Word(state.source, "".join(text), start, end, offsets, expansions)
