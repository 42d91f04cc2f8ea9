"""What a script does, as plain tuples: the form in which readers hand bodies of commands to the process model.

A body is a tuple of operations; an operation is a tuple whose first item says what it is, followed by the line and the
column (both from 1) of the token that it stands at. They are kept as they are (`marshal`) and never packed into
records: a project holds hundreds of thousands. All places are those of the file, however
deep the text was embedded in it.

Words
    `(line, column, end_line, end_column, parts)`; the end is exclusive. A part is one of
    `("text", text, line, column)`             text after quote removal, one column each character
    `("ref", name, subscript, operator, operand, quoted, line, column)`
        a variable; `operator` is "", ":-", "-", ":=", "=", ":+", "+", ":?", "?", "#", "##", "%", "%%", "!" (indirect),
        "#len" (length) or "other"; `operand` is a word or None; `subscript` is "", "@", "*" or text. Positional
        parameters and special ones (`1`, `@`, `*`, `#`, `?`, `$`, `0`) have their sign as name
    `("command", body, quoted, line, column)`  `$(...)` and backquotes
    `("unknown", text, line, column)`          arithmetic, process substitution and all that is not followed

Operations of a shell
    `("assign", line, column, name, subscript, sign, value)`     sign is "=" or "+="; value: word or `("array", words)`
    `("declare", line, column, keyword, flags, items)`           export, declare, typeset, local, readonly; an item is
        an "assign" or a word; flags are letters without their dash, in order, `+` before those that are taken away
    `("unset", line, column, flags, words)`
    `("call", line, column, end_line, end_column, assigns, words, redirects)`
        a simple command; a redirect is `(descriptor, operator, word)`: ">", ">>", "<", "<<" (a here-document whose text
        is the word), "<<<"; the descriptor is "" where none is written
    `("redirected", line, column, redirects, body)`              a compound command with redirects
    `("and", line, column, left, right)`, `("or", ...)`, `("not", line, column, body)`; left and right are bodies
    `("test", line, column, text, words)`                        `[ ... ]`, `test ...` without brackets;
        `[[ ... ]]` has the sign "[[" behind the words, for `(( ... ))` there are no words
    `("if", line, column, arms, otherwise)`                      an arm: `(condition, body)`; `otherwise`: body or None
    `("case", line, column, word, arms)`                         an arm is `(patterns, body)`, patterns as written
    `("for", line, column, name, words, body)`                   words None: over the arguments; name "": a C style
        loop, whose one word is its head
    `("while", line, column, condition, body, until)`
    `("pipe", line, column, bodies)`
    `("subshell", line, column, body)`, `("group", ...)`, `("background", ...)`
    `("function", line, column, name, body)`
    `("gap", line, column, text)`                                text that could not be read; with "cut" behind it,
        more than the reader follows: nobody knows what it changes
    `("directive", line, column, sign, words)`                   `#SBATCH --export=NONE`: before the first command of a
        script, for the scheduler that runs it; `sign` is "SBATCH", "PBS", "BSUB", "FLUX"; nothing is expanded in it
    A condition of a template (`{% if x %}`) is an "if" whose condition is a "test" with that text and no words.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from envdoctor.core.facts import Branch, Scope
from envdoctor.core.regexes import regex

Part: TypeAlias = tuple[Any, ...]
Word: TypeAlias = tuple[int, int, int, int, tuple[Part, ...]]
Operation: TypeAlias = tuple[Any, ...]
Body: TypeAlias = tuple[Operation, ...]
Redirect: TypeAlias = tuple[str, str, Word]

NOTHING: Body = ()
_HEAD = regex(r"(?:[ \t]*(?:#[^\n]*)?\n)*(?:[ \t]*#[^\n]*)?")


class Script(NamedTuple):
    """A body and where in its file it stands: text of a shell in a manifest, an image or a program, or a whole script.

    `scope`, `branch` and `order` are those of facts: settings of the same file with that scope are there when it runs.
    `shell` is the program that runs it as written ("bash", "sh"), empty for a list of words given to no shell.
    """

    body: Body
    scope: Scope = Scope()
    branch: tuple[Branch, ...] = ()
    order: int = 0
    shell: str = "sh"


def literal(word: Word) -> str | None:
    """The text of a word that holds nothing but text; None for others."""
    parts = word[4]
    if len(parts) == 1:
        return parts[0][1] if parts[0][0] == "text" else None
    return "".join(part[1] for part in parts) if all(part[0] == "text" for part in parts) else None


def plain(text: str, line: int, column: int) -> Word:
    """A word of text that stands on one line."""
    return (line, column, line, column + len(text), (("text", text, line, column),) if text else ())


def head_end(text: str) -> int:
    """Where the head of a script ends: comments and blank lines before its first command, behind which no batch system
    reads directives (sbatch(1), qsub(1B))."""
    match = _HEAD.match(text)
    return match.end() if match else 0
