"""How xargs reads words: blanks and line ends part them, quotes and backslashes are its own.

POSIX xargs, and GNU findutils 4.9: a quote that its line does not close ends the reading; what was read so far is used.
"""

from __future__ import annotations

from envdoctor.core.regexes import regex

_WORD = regex(r"(?:[^\s'\"\\]|\\(?:.|\Z)|'[^'\n]*'|\"[^\"\n]*\")+|\s+", 16)  # DOTALL: a backslash takes a line end too


def stops_at(text: str) -> int:
    """The line, from 1, of the quote at which xargs stops reading; 0 where it reads all."""
    at = 0
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:  # nothing is said of a quote that is the very last, and begins a word
            is_last = at == len(text) - 1 and text[:at].rstrip("'\"")[-1:] in ("", " ", "\t", "\n")
            return 0 if is_last else text.count("\n", 0, at) + 1
        at = match.end()
    return 0
