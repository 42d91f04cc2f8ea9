"""The scripts in a file of any kind: all text that a reader hands to the shell reader, as bodies of operations.

The reader of the kind runs as it always does, with a `Source.inside` that notes the body of each shell text beside its
facts. Scope, branch and order are then carried outward as those of the facts are, and can be compared with them.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import cast

from envdoctor.core.facts import FileFacts
from envdoctor.core.operations import Script
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers import registry
from envdoctor.readers.kinds import SHELLS
from envdoctor.readers.shared.embedded import MappedSource, ShellText
from envdoctor.readers.shell.bodies.reader import body

_CSH = regex(r"#![^\n]*\bt?csh\b")
_SHEBANG = regex(r"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+|\w+=\S*[ \t]+)*)?(?:\S*/)?([\w.+-]+)")
_SHELL_FLAG = regex(
    r"(?<![\w.-])(\w*sh)[\"']?[\s,\[\]\"'-](?:[\s,\[\]\"'-]|[-+]?\w*(?:errexit|pipefail)|(?<=-)\w{1,8})*\Z"
)
"""The shell in `["bash", "-c", ...]`, before the text that it runs."""
LOOK_BACK = 120
"""Characters before a text in which the shell stands that runs it."""
_WITHOUT_SHELL = ("ini",)
"""Kinds whose commands are split and run by a service manager."""
_STAND_INS = ("docker run ", "mpirun ")
"""Put before options by readers that know only the options: no such command is run."""


def scripts_of(source: Source, kind: str) -> list[Script]:
    """The scripts in a file, in the order in which its reader meets them; the whole file for one of kind "shell"."""
    if kind == "shell" and not _CSH.match(source.text):
        return [Script(body(source), shell=program_of(source.text) or "sh")]
    return made_of(noting(source, kind).scripts, kind)


def made_of(texts: Sequence[ShellText], kind: str) -> list[Script]:
    """The bodies of texts that a reader met in a file of a kind."""
    return [
        Script(body(text.source), text.scope, text.branch, text.order, _shell_of(text.source, kind)) for text in texts
    ]


def noting(source: Source, kind: str) -> FileFacts:
    """Facts of a file or of text inside one, with the scripts in it."""
    if kind == "shell" and _CSH.match(source.text):
        kind = "csh"
    if kind == "shell":
        facts = registry.read(source, kind)
        if not _is_stand_in(source):
            facts.scripts.append(ShellText(source))
        return facts
    if kind not in registry.READERS:
        return FileFacts(source.path, kind)
    source.inside = noting
    return cast("registry.Reader", importlib.import_module(registry.READERS[kind])).read(source, kind)


def program_of(text: str) -> str:
    """The program that a `#!` line names, without its folder; empty where there is none."""
    match = _SHEBANG.match(text)
    return match[1] if match else ""


def _shell_of(source: Source, kind: str) -> str:
    """The shell that runs a text embedded in a file of a kind; empty where nobody gives it to a shell."""
    if named := program_of(source.text):
        return named
    if kind in _WITHOUT_SHELL:
        return ""
    if not isinstance(source, MappedSource) or not source.offsets:
        return "sh"
    start = source.offsets[0]
    match = _SHELL_FLAG.search(source.origin.text[max(0, start - LOOK_BACK) : start])
    if match and match[1] in SHELLS:
        return match[1]
    return "" if _is_list(source.text, source.offsets) else "sh"


def _is_list(text: str, offsets: Sequence[int]) -> bool:
    """Whether a text was made of a list of words.

    The blanks between them and the quotes around them have no place of their own (`shared.command_words`); a single
    word says nothing, and no shell would make another one of it.
    """
    if len(text) > 1 and text[0] in "\"'" and offsets[0] == offsets[1]:
        return True
    blanks = [at for at, char in enumerate(text) if char.isspace()]
    return not blanks or any(at and text[at] == " " and offsets[at] == offsets[at - 1] for at in blanks)


def _is_stand_in(source: Source) -> bool:
    """Whether the command is one that the reader put before options: it stands where they begin, with its blank."""
    if not isinstance(source, MappedSource):
        return False
    prefix = next((prefix for prefix in _STAND_INS if source.text.startswith(prefix)), "")
    return bool(prefix) and len(set(source.offsets[: len(prefix)])) == 1
