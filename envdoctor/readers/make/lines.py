"""Lines of makefiles and justfiles: logical lines, and recipe lines as the shell gets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from envdoctor.core.facts import Setting
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import MappedSource, mapped
from envdoctor.readers.shared.substitution import parts_of, value_of

_MAKE_PIECE = regex(r"\$\$|\$\(([A-Za-z_]\w*)\)")
_INTERPOLATION = regex(r"\{\{\s*([A-Za-z_][\w-]*)\s*\}\}|\{\{[^}\n]*\}\}")


def logical_lines(text: str) -> Iterator[tuple[int, int]]:
    """Spans of lines, those that a backslash continues as one."""
    at = 0
    while at < len(text):
        start = at
        while True:
            stop = text.find("\n", at)
            if stop == -1:
                at = stop = len(text)
                break
            at = stop + 1
            if stop == start or text[stop - 1] != "\\":
                break
        yield start, stop


def recipe_source(source: Source, spans: Sequence[tuple[int, int]]) -> MappedSource:
    """Recipe lines of a makefile: `$$` is one dollar, and `$(A)`, which make replaces, a reference of the shell."""
    pieces: list[str] = []
    offsets: list[int] = []
    for start, end in spans:
        done = start
        for match in _MAKE_PIECE.finditer(source.text, start, end):
            pieces.append(source.text[done : match.start()])
            offsets += range(done, match.start())
            done = match.end()
            if match[1]:
                pieces.append("${" + match[1] + "}")
                offsets += range(match.start(), match.end())
            else:
                pieces.append("$")
                offsets.append(match.start())
        pieces += [source.text[done:end], "\n"]
        offsets += [*range(done, end), max(end - 1, start)]
    return mapped(source, "".join(pieces)[:-1], offsets[:-1])


def just_source(source: Source, spans: Sequence[tuple[int, int]]) -> MappedSource:
    """Recipe lines of a justfile: `{{name}}`, which just replaces, is a reference of the shell."""
    pieces: list[str] = []
    offsets: list[int] = []
    for start, end in spans:
        done = start
        for match in _INTERPOLATION.finditer(source.text, start, end):
            name = (match[1] or "_").replace("-", "_")
            pieces += [source.text[done : match.start()], "${" + name + "}"]
            offsets += [*range(done, match.start()), *[match.start()] * (len(name) + 2), match.end() - 1]
            done = match.end()
        pieces += [source.text[done:end], "\n"]
        offsets += [*range(done, end), max(end - 1, start)]
    return mapped(source, "".join(pieces)[:-1], offsets[:-1])


def resolved(setting: Setting, known: Mapping[str, str]) -> Setting:
    """A setting of a recipe, with what the variables of the file hold as its fallback."""
    value = setting.value
    if value.kind != "template" or value.fallback is not None:
        return setting
    return replace(setting, value=replace(value, fallback=value_of(parts_of(value.text), "", known).known))
