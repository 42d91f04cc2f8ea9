"""Expansion of words: what the variables in them hold on this path, split into fields as the shell does it.

POSIX Shell Command Language 2.6. What nobody knows stays in the text as it is written, as an unknown piece.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence

from envdoctor.analysis.process.interpreter.slots import Alternative
from envdoctor.analysis.process.interpreter.state import Shell
from envdoctor.analysis.process.interpreter.text import Piece, Text
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body, Part, Word, literal
from envdoctor.core.regexes import regex

MOST_FIELDS = 300
"""Words that one array or list becomes."""
MOST_PIECES = 3000
"""Pieces of one value; one that grows beyond (`A="$A$A"` again and again) is not known."""
DEEPEST = 12
"""References inside operands that are followed."""
_EMPTY = ("", ":-", "-", ":=", "=", ":?", "?", ":+", "+")
_BRACES = regex(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_GLOB = regex(r"[*?]|\[[^\]]*\]")
_MANY = regex(r"[*?]|\[[^\]]*\]|\{[^{}]*(?:,|\.\.)[^{}]*\}|^~")
_HOME = regex(r"(?:^|:)~")


def place_of(word: Word, path: str) -> Place:
    """The place of a word."""
    return Place(path, word[0], word[1], word[2], word[3])


def text_of(walker: Walker, word: Word, shell: Shell) -> Text:
    """A word that is not split: a value, a here-document, the subject of a `case`."""
    pieces: list[Piece] = []
    for part in word[4]:
        for number, field in enumerate(_part(walker, part, shell, 0)):
            if number:
                last = field[0] if field else Piece("", True, shell.path, word[0], word[1])
                pieces.append(Piece(" ", True, last.path, last.line, last.column))
            pieces += _alone(field)
        if len(pieces) > MOST_PIECES:
            return Text([Piece("...", False, shell.path, word[0], word[1])], place_of(word, shell.path))
    return Text(pieces, place_of(word, shell.path), _is_quoted(word))


def _is_quoted(word: Word) -> bool:
    parts = word[4]
    return bool(parts) and all(part[0] != "text" and _quoted(part) for part in parts)


def _quoted(part: Part) -> bool:
    return bool(part[5]) if part[0] == "ref" else bool(part[2]) if part[0] == "command" else False


def fields_of(walker: Walker, words: Sequence[Word], shell: Shell) -> list[Text]:
    """The words of a command as the program gets them."""
    found: list[Text] = []
    for word in words:
        if len(found) > MOST_FIELDS:
            break
        parts = word[4]
        if len(parts) == 1 and parts[0][0] == "text":
            _, text, line, column = parts[0]
            several = _MANY.search(text) is not None and _is_bare(word)
            found.append(
                Text((Piece(text, True, shell.path, line, column, several=several),), place_of(word, shell.path))
            )
        else:
            found += _split(walker, word, shell)
    return found


def _is_bare(word: Word) -> bool:
    """Whether a word of one text stands without quotes and backslashes."""
    (part,) = word[4]
    return bool(part[3] == word[1] and part[2] == word[0] == word[2] and word[3] - word[1] == len(part[1]))


def has_braces(word: Word) -> bool:
    """`{a,b}` or `{1..3}` without quotes, as far as that can be seen."""
    first = [part for part in word[4] if part[0] == "text" and _BRACES.search(part[1])]
    return bool(first) and (len(word[4]) > 1 or _is_bare(word))


def unknown_word(word: Word) -> Word:
    """A word whose text nobody knows."""
    text = "".join(part[1] for part in word[4] if part[0] == "text")
    return (*word[:4], (("unknown", text, word[0], word[1]),))


def with_home(text: Text, word: Word) -> Text:
    """The value of an assignment in which `~` stands for a home."""
    parts = word[4]
    if not parts or parts[0][0] != "text" or not _HOME.search(parts[0][1]) or parts[0][3] != word[1]:
        return text
    if len(parts) == 1 and not _is_bare(word):
        return text
    return Text([text.pieces[0]._replace(known=False), *text.pieces[1:]], text.used, text.quoted)


def is_open(listed: Sequence[Text]) -> bool:
    """Whether nobody knows how many words there are."""
    return any(text.several for text in listed)


def splits_plainly(shell: Shell) -> bool:
    """Whether words are split at blanks: IFS is what it is in the beginning."""
    return all(a.kind == "unset" for a in shell.visible.get("IFS", ()))


def _split(walker: Walker, word: Word, shell: Shell) -> Iterator[Text]:
    """The fields of one word: unquoted expansions are split at blanks, `"${A[@]}"` is a field each."""
    used = place_of(word, shell.path)
    quoted = _is_quoted(word)
    current: list[Piece] = []
    open_field = not word[4] or any(part[0] == "text" or _quoted(part) for part in word[4])
    for part in word[4]:
        values = _part(walker, part, shell, 0)
        if not _quoted(part) and part[0] in ("ref", "command"):
            likely = [piece for value in values for piece in value if piece.likely]
            values = _unquoted(values, shell)
            if not values:
                current += likely
                continue
            open_field = True
        elif part[0] == "ref" and "@" in (part[1], part[2]):
            open_field = open_field if values else bool(current)
            if _listed(shell, part[1]) is None or part[3] not in _EMPTY:
                values = [[piece._replace(several=True) for piece in value] for value in values]
        else:
            values = [_alone(value) for value in values]
        for number, value in enumerate(values):
            if number:
                yield Text(current, used, quoted)
                current = []
            current += value
    if open_field or any(piece.text for piece in current):
        yield Text(current, used, quoted)


def _unquoted(values: Sequence[Sequence[Piece]], shell: Shell) -> list[list[Piece]]:
    """Values without quotes: split, and each piece that nobody knows may be any number of words."""
    if not splits_plainly(shell):
        return [[piece._replace(known=False, several=True) for piece in value] for value in values if value]
    fields = [field for value in values for field in _blanks(value)]
    return [
        [p._replace(several=p.several or not p.known or _GLOB.search(p.text) is not None) for p in field]
        for field in fields
    ]


def _alone(value: list[Piece]) -> list[Piece]:
    """A value that is one word, whatever it is."""
    return [piece._replace(several=False) if piece.several else piece for piece in value]


def _blanks(value: Sequence[Piece]) -> list[list[Piece]]:
    """An unquoted value at its blanks; unknown pieces stay whole."""
    found: list[list[Piece]] = [[]]
    for piece in value:
        if not piece.known:
            found[-1].append(piece)
            continue
        at = 0
        for match in re.finditer(r"\s+", piece.text):
            if match.start() > at:
                found[-1].append(_cut(piece, at, match.start()))
            if found[-1]:
                found.append([])
            at = match.end()
        if at < len(piece.text):
            found[-1].append(_cut(piece, at, len(piece.text)))
    return [field for field in found if field]


def _cut(piece: Piece, start: int, end: int) -> Piece:
    return piece._replace(text=piece.text[start:end], column=piece.column + start)


def _part(walker: Walker, part: Part, shell: Shell, depth: int) -> list[list[Piece]]:
    """The fields of one part of a word, each as pieces; one but for arrays and arguments."""
    kind = part[0]
    if kind == "text":
        return [[Piece(part[1], True, shell.path, part[2], part[3])]]
    if kind == "ref":
        return _reference(walker, part, shell, depth)
    if kind == "command":
        return [_substituted(walker, part, shell)]
    return [[Piece(part[1], False, shell.path, part[2], part[3])]]


def _substituted(walker: Walker, part: Part, shell: Shell) -> list[Piece]:
    """`$(...)`: the text of an echo, the program that `which` looks for; else unknown. What it starts is walked."""
    _, body, _, line, column = part
    told = _told(walker, body, shell)
    if told is not None:
        return _without_line_ends([piece for piece in told.pieces if piece.text or piece.likely])
    walker.aside(body, shell)
    written = walker.written(shell.path, line, column)
    return [Piece(written, False, shell.path, line, column)]


def _without_line_ends(pieces: list[Piece]) -> list[Piece]:
    while pieces and pieces[-1].known and pieces[-1].text.endswith("\n"):
        last = pieces.pop()
        if kept := last.text.rstrip("\n"):
            pieces.append(last._replace(text=kept))
    return pieces


def _told(walker: Walker, body: Body, shell: Shell) -> Text | None:
    """What a command plainly prints."""
    if len(body) != 1 or body[0][0] != "call" or body[0][5]:
        return None
    words, redirects = body[0][6], body[0][7]
    program = literal(words[0]) if words else None
    if program in shell.functions:
        return None
    if program == "cat" and len(words) == 1 and len(redirects) == 1 and redirects[0][1].startswith("<<"):
        return text_of(walker, redirects[0][2], shell)
    if redirects:
        return None
    if program == "echo" and len(words) > 1 and not (literal(words[1]) or "").startswith("-"):
        fields = fields_of(walker, words[1:], shell)
        if any(field.several and field.known for field in fields):
            return None
        pieces = [
            p._replace(several=False)
            for number, f in enumerate(fields)
            for p in (*((_blank(f),) if number else ()), *f.pieces)
        ]
        return Text(pieces, place_of(words[0], shell.path))
    asks = program == "which" or (program == "command" and len(words) == 3 and literal(words[1]) in ("-v", "-V"))
    if not asks or len(words) < 2:
        return None
    asked = text_of(walker, words[-1], shell)
    return Text([piece._replace(likely=True) for piece in asked.pieces], asked.used, asked.quoted)  # if it is there


def _blank(field: Text) -> Piece:
    first = field.origin()
    return Piece(" ", True, first.path, first.line, first.column)


def _reference(walker: Walker, part: Part, shell: Shell, depth: int) -> list[list[Piece]]:
    """A variable, an argument, an array."""
    _, name, subscript, operator, operand, _, line, column = part
    if depth > DEEPEST:
        return [[Piece(f"${name}", False, shell.path, line, column, name)]]
    if operator in ("#len", "other"):
        return [[Piece(walker.written(shell.path, line, column), False, shell.path, line, column)]]
    if operator == "!":
        held = _single(shell, name)
        if held is None or held.kind != "literal" or not held.text.isidentifier():
            return [[Piece(walker.written(shell.path, line, column), False, shell.path, line, column)]]
        name, operator = held.text, ""
    if name in ("@", "*") or subscript in ("@", "*"):
        listed = _listed(shell, name)
        if listed is not None:
            return _many(walker, part, listed, shell, depth)
    elif (value := _value(walker, name, subscript, shell, line, column)) is not None:
        return [_operated(walker, value, operator, operand, shell, depth)]
    return [_missing(walker, part, shell, depth)]


def _listed(shell: Shell, name: str) -> tuple[Text, ...] | None:
    """All arguments, or all elements of an array; None: nobody knows."""
    if name in ("@", "*"):
        return shell.arguments
    return shell.arrays.get(name)


def _many(walker: Walker, part: Part, listed: Sequence[Text], shell: Shell, depth: int) -> list[list[Piece]]:
    _, name, subscript, operator, operand, quoted, *_ = part
    if not listed and operator in (":-", "-") and operand is not None:
        return [list(text_of(walker, operand, shell).pieces)]
    if operator in ("+", ":+") and operand is not None:
        return [field for inner in operand[4] for field in _part(walker, inner, shell, depth + 1)] if listed else []
    if operator not in ("", ":-", "-", ":=", "=", ":?", "?"):
        return [_missing(walker, part, shell, depth)]
    if (name == "*" or subscript == "*") and not splits_plainly(shell):
        return [[Piece(f"${name}", False, shell.path, part[6], part[7], several=not quoted)]]
    if name == "*" or (subscript == "*" and quoted):
        pieces = [p for number, f in enumerate(listed) for p in (*((_blank(f),) if number else ()), *f.pieces)]
        return [pieces]
    return [list(field.pieces) for field in listed[:MOST_FIELDS]]


def _single(shell: Shell, name: str) -> Alternative | None:
    """The one alternative of a name on this path; None: several, or nothing bound it."""
    slot = shell.held(name)
    if slot is None:
        return None
    first = slot[0]
    if len(slot) > 1 and any((a.kind, a.text) != (first.kind, first.text) for a in slot):
        return None
    return first


def _value(walker: Walker, name: str, subscript: str, shell: Shell, line: int, column: int) -> list[Piece] | None:
    """What a name holds for sure, or in text that nobody knows; None: it is not bound."""
    if name.isdigit() or name == "#":
        return _argument(shell, name, line, column)
    if name in shell.arrays and subscript not in ("@", "*"):
        return _element(shell, name, subscript, line, column)
    slot = shell.held(name)
    if slot is None:
        return None
    held = _single(shell, name)
    if held is None:
        return [Piece(f"${name}", False, shell.path, line, column, name)]
    if held.kind == "unset":
        return [Piece("", True, shell.path, line, column, name, likely=True)] if held.likely else []
    if held.kind == "unknown":
        unknown = Piece(held.text or f"${name}", False, shell.path, line, column, name)
        return list(walker.texts.get((name, held.text), (unknown,))) if held.text else [unknown]
    return _pieces_of(walker, name, held, shell, line, column)


def _pieces_of(walker: Walker, name: str, held: Alternative, shell: Shell, line: int, column: int) -> list[Piece]:
    """A known value with the places at which its text was written."""
    whole = Piece(held.text, True, shell.path, line, column, name, held.likely)
    return list(walker.texts.get((name, held.text)) or (whole,))


def _argument(shell: Shell, name: str, line: int, column: int) -> list[Piece] | None:
    if name == "0":
        return [Piece(shell.script, True, shell.path, line, column, "0")] if shell.script else None
    if shell.arguments is None:
        return None
    if name == "#":
        if is_open(shell.arguments):
            return None
        return [Piece(str(len(shell.arguments)), True, shell.path, line, column)]
    number = int(name) if len(name) < 4 else 999
    if is_open(shell.arguments[:number]):
        return None
    return list(shell.arguments[number - 1].pieces) if number <= len(shell.arguments) else []


def _element(shell: Shell, name: str, subscript: str, line: int, column: int) -> list[Piece] | None:
    listed = shell.arrays[name]
    number = int(subscript) if subscript.isdigit() and len(subscript) < 4 else 0 if not subscript else -1
    if listed is None or number < 0 or is_open(listed[: number + 1]):
        return [Piece(f"${{{name}[{subscript}]}}", False, shell.path, line, column, name)]
    return list(listed[number].pieces) if number < len(listed) else []


def _operated(
    walker: Walker, value: list[Piece], operator: str, operand: Word | None, shell: Shell, depth: int
) -> list[Piece]:
    """A bound value under `:-`, `:+`, `%` and the like."""
    if operator in ("=", "-") and operand is not None and not value:  # it is unset
        return _operand(walker, operand, shell, depth)
    if not operator or operand is None or operator in ("=", "-", "?", ":?"):
        return value
    empty = not any(piece.text for piece in value)
    if operator in (":-", ":=", ":+", "+"):
        if operator in (":-", ":="):
            given = _operand(walker, operand, shell, depth) if empty else value
        else:
            given = [] if (empty and operator == ":+") or not value else _operand(walker, operand, shell, depth)
        sure = given is value or all(piece.known and not piece.likely for piece in value)
        return given if sure else [piece._replace(likely=True) for piece in given] or value
    if all(piece.known for piece in value):
        return _trimmed(walker, value, operator, operand, shell)
    return [value[0]._replace(known=False)]


def _operand(walker: Walker, operand: Word, shell: Shell, depth: int) -> list[Piece]:
    return [piece for part in operand[4] for field in _part(walker, part, shell, depth + 1) for piece in field]


def _trimmed(walker: Walker, value: list[Piece], operator: str, operand: Word, shell: Shell) -> list[Piece]:
    """`${X%/*}` and `${X##*/}`."""
    pattern = text_of(walker, operand, shell)
    if any(part[0] == "ref" and part[5] for part in operand[4]) and _GLOB.search(pattern.text):
        return [value[0]._replace(known=False)] if value else []  # `"$P"` is no pattern
    text = "".join(piece.text for piece in value)
    if not pattern.known:
        return [value[0]._replace(text=text, known=False)] if value else []
    kept = trim(text, operator, pattern.text)
    whole = Text(value, Place(shell.path, 1, 1, 1, 1))
    return list((whole.part(len(text) - len(kept)) if operator.startswith("#") else whole.part(0, len(kept))).pieces)


def trim(text: str, operator: str, pattern: str) -> str:
    """A value without the shortest or longest part at one end that fits a pattern."""
    fits = re.compile(fnmatch.translate(pattern)).match
    length = len(text)
    if operator.startswith("#"):
        ends = range(length, -1, -1) if operator == "##" else range(length + 1)
        return next((text[end:] for end in ends if fits(text[:end])), text)
    starts = range(length + 1) if operator == "%%" else range(length, -1, -1)
    return next((text[:start] for start in starts if fits(text[start:])), text)


def _missing(walker: Walker, part: Part, shell: Shell, depth: int) -> list[Piece]:
    """A name that nothing bound: its default is likely, without one nobody knows."""
    _, name, subscript, operator, operand, _, line, column = part
    if operator in (":-", "-", ":=", "=") and operand is not None:
        pieces = [piece._replace(likely=True) for piece in _operand(walker, operand, shell, depth)]
        return pieces or [Piece("", True, shell.path, line, column, likely=True)]
    if operator in (":+", "+"):
        return [Piece("", True, shell.path, line, column, likely=True)]
    shown = f"${{{name}[{subscript}]}}" if subscript else f"${name}"
    return [Piece(shown, False, shell.path, line, column, name)]


def references_in(word: Word, deep: bool = True) -> Iterator[str]:
    """The names that a word refers to, in operands too."""
    for part in word[4]:
        if part[0] == "ref":
            yield part[1]
            if deep and part[4] is not None:
                yield from references_in(part[4])
