"""Input, output and files that a script writes: what they hold, as far as that is plain."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.analysis.process.interpreter import expand
from envdoctor.analysis.process.interpreter.state import Shell
from envdoctor.analysis.process.interpreter.text import Piece, Text, joined
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body, Redirect, literal

PRINTING = ("echo", "printf", "cat", "tee")
_PRINTED_AS_IT_IS = {"%d": r"-?(?:0|[1-9][0-9]*)", "%q": r"[\w./:=@%+-]+"}


def formatted(fields: Sequence[Text], place: Place) -> Text | None:
    """What printf makes of a format and words, where that is plain; None: nobody knows."""
    pattern, words = fields[0], list(fields[1:])
    if not pattern.known or re.search(r"\\(?![nt])", pattern.text):
        return None
    pieces: list[Piece] = []
    at = 0
    text = pattern.text.replace("\\n", "\n").replace("\\t", "\t")
    first = pattern.origin()
    for match in re.finditer(r"%[sqd]|%%|%", text):
        pieces.append(Piece(text[at : match.start()], True, first.path, first.line, first.column))
        at = match.end()
        if match[0] == "%%":
            pieces.append(Piece("%", True, first.path, first.line, first.column))
        elif (
            match[0] == "%"
            or not words
            or (match[0] != "%s" and not re.fullmatch(_PRINTED_AS_IT_IS[match[0]], words[0].text))
        ):
            return None
        else:
            pieces += words.pop(0).pieces
    pieces.append(Piece(text[at:], True, first.path, first.line, first.column))
    return None if words else Text([p for p in pieces if p.text or p.likely], place, quoted=True)


def input_of(walker: Walker, redirects: Sequence[Redirect], shell: Shell) -> Text | None:
    """The text of a here-document or here-string, or of a file that this script wrote."""
    for _, operator, word in redirects:
        if operator in ("<<", "<<<", "<<-"):
            return expand.text_of(walker, word, shell)
        if operator == "<":
            target = expand.text_of(walker, word, shell)
            kept = shell.files.get(target.text)
            return _lines(kept) if kept else file_text(walker, target, shell)
    return None


def file_text(walker: Walker, word: Text, shell: Shell) -> Text | None:
    """What a file of the tree holds that nothing has changed on the way."""
    path = walker.find(word, shell) if word.known and not is_changed(shell, word.text) else None
    if path is None:
        return None
    lines = re.findall(r"[^\n]*\n|[^\n]+", walker.project.files.text(path))
    pieces = [Piece(line, True, path, number, 1) for number, line in enumerate(lines, start=1)]
    return Text(pieces, word.used, quoted=True)


def _lines(kept: Sequence[Text]) -> Text:
    pieces = [piece for text in kept for piece in text.pieces]
    return Text(pieces, kept[0].used, quoted=True)


def output_of(walker: Walker, redirects: Sequence[Redirect], shell: Shell) -> str:
    """The file that standard output goes to; empty: none."""
    for descriptor, operator, word in redirects:
        if descriptor in ("", "1") and operator in (">", ">>", "&>", "&>>", ">|"):
            return expand.text_of(walker, word, shell).text
    return ""


def changed(program: str, fields: Sequence[Text], redirects: Sequence[Redirect], shell: Shell) -> None:
    """Files that a command moves, removes or edits hold from here on what nobody knows."""
    edits = program == "sed" and any(field.text.startswith(("-i", "--in-place")) for field in fields)
    if edits or program in ("rm", "mv", "cp", "ln", "truncate", "install", "patch", "unlink"):
        for field in fields[1:]:
            if not field.text.startswith("-") and ("/" in field.text or "." in field.text):
                write(shell, field.text, None, appends=False)


def note_written(
    walker: Walker, fields: Sequence[Text], redirects: Sequence[Redirect], stdin: Text | None, shell: Shell
) -> None:
    """`cat > file <<EOF`, `echo A=1 >> file`, `tee file`: what the file holds from here on."""
    target = output_of(walker, redirects, shell)
    if fields[0].text == "tee":
        files = [f.text for f in fields[1:] if not f.text.startswith("-")]
        target = files[0] if files else ""
    if not target or target.startswith("/dev/"):
        return
    appends = any(operator in (">>", "&>>") for _, operator, _ in redirects) or (
        fields[0].text == "tee" and any(f.text == "-a" for f in fields[1:])
    )
    told_text = _told_by(walker, fields, stdin, Place(shell.path, 1, 1, 1, 1), shell)
    if appends and target not in shell.files and walker.find_text(target, shell) is not None:
        told_text = None  # more than what is written here
    write(shell, target, [told_text] if told_text is not None else None, appends=appends)


def write(shell: Shell, target: str, lines: Sequence[Text] | None, appends: bool) -> None:
    """Remember what a file holds; None: nobody knows."""
    before = shell.files.get(target, ()) if appends else ()
    known = lines is not None and before is not None
    shell.files[target] = (*(before or ()), *(lines or ())) if known else None


def told(walker: Walker, body: Body, shell: Shell) -> Text | None:
    """What a body plainly prints: an echo, a printf, a here-document given to cat."""
    if len(body) != 1 or body[0][0] != "call" or not body[0][6]:
        return None
    words, redirects = body[0][6], body[0][7]
    if literal(words[0]) not in PRINTING:
        return None
    fields = expand.fields_of(walker, words, shell)
    stdin = input_of(walker, redirects, shell)
    place = Place(shell.path, body[0][1], body[0][2], body[0][3], body[0][4])
    return _told_by(walker, fields, stdin, place, shell)


def _told_by(
    walker: Walker, fields: Sequence[Text], stdin: Text | None, place: Place, shell: Shell
) -> Text | None:  # fmt: skip
    program = fields[0].text if fields else ""
    if program in shell.functions or any(field.several and field.known for field in fields):
        return None
    if program == "cat" and len(fields) == 2 and fields[1].text != "-":
        return file_text(walker, fields[1], shell)
    if program in ("cat", "tee"):
        return stdin if program == "tee" or len(fields) == 1 or fields[1].text == "-" else None
    words = list(fields[1:])
    if program == "printf":
        return formatted(words, place) if words and words[0].text != "-v" else None
    flags = ""
    while words and re.fullmatch(r"-[neE]+", words[0].text):
        flags += words.pop(0).text
    line = joined(words, place)
    if "e" in flags and "\\" in line.text:
        return None
    if "n" in flags or not words:
        return (
            line if words or "n" in flags else Text((Piece("\n", True, place.path, place.line, place.column),), place)
        )
    last = line.pieces[-1] if line.pieces else piece_at_end(place)
    return Text((*line.pieces, Piece("\n", True, last.path, last.line, last.column + len(last.text))), place, True)


def piece_at_end(place: Place) -> Piece:
    """An empty piece where a command stands."""
    return Piece("", True, place.path, place.line, place.column)


def is_changed(shell: Shell, name: str) -> bool:
    """Whether something has written a file on the way of which nobody knows what it holds by now."""
    base = name.rsplit("/", 1)[-1]
    return any(kept is None and (path == name or path.rsplit("/", 1)[-1] == base) for path, kept in shell.files.items())
