"""Directives of batch systems in the head of a script: `#SBATCH --export=ALL,A=1`, `#PBS -v A=1`, `#BSUB -env`.

Source: sbatch(1): directives count only before the first command of the script. No shell expands anything in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.core.operations import Operation, Part, Word, head_end
from envdoctor.core.regexes import regex
from envdoctor.readers.shell.bodies.text import BodyText

_DIRECTIVE = regex(r"^#(SBATCH|PBS|BSUB|COBALT|OAR|FLUX:|flux:|\$)[ \t]+([^\n]*)", re.MULTILINE)
_WORD = regex(r"(?:[^\s\"']|\"[^\"\n]*\"|'[^'\n]*'|[\"'])+")
_PIECE = regex(r"\"([^\"]*)\"|'([^']*)'|([^\"']+)|[\"']")


def directives(text: BodyText) -> Iterator[Operation]:
    """The directives of a script, in order."""
    source = text.text
    if "#" not in source[:1] and "\n#" not in source:
        return
    for match in _DIRECTIVE.finditer(source, 0, head_end(source)):
        words: list[Word] = []
        for found in _WORD.finditer(source, *match.span(2)):
            if found[0].startswith("#"):
                break
            words.append(_word(text, *found.span()))
        yield ("directive", *text.point(match.start()), match[1].rstrip(":"), tuple(words))


def _word(text: BodyText, start: int, end: int) -> Word:
    """A word without its quotes."""
    parts: list[Part] = []
    for match in _PIECE.finditer(text.text, start, end):
        first, last = match.span(match.lastindex) if match.lastindex else (0, 0)
        if first < last:
            parts += text.texts(first, last)
    return (*text.point(start), *text.end(start, end), tuple(parts))
