"""Writes `envdoctor: ignore[...]` comments for findings that are to stay: at the end of the line, else above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envdoctor.core.decoding import decode
from envdoctor.core.facts import FileFacts
from envdoctor.core.findings import Edit
from envdoctor.fixes import verify
from envdoctor.fixes.apply import Judge, Made, read
from envdoctor.fixes.spans import FileBytes, FixRefused, on_line
from envdoctor.fixes.writing import Change
from envdoctor.project import suppressions

TRAILING = ("shell", "csh", "fish", "python", "yaml", "toml")
"""Kinds of files in which a comment may stand behind something on a line."""
WITHOUT_COMMENTS = ("json", "notebook", "markup")
OWN = ("unparsable-file", "unused-ignore", "bad-configuration", "unknown-name-in-configuration")
"""Rules about envdoctor's own input, which have no comment to silence them."""


def add(judge: Judge, files: Sequence[str], overlay: Mapping[str, bytes]) -> Made:
    """Comments for all findings of the files that were scanned, in memory; what cannot have one is named."""
    engine, result = judge(dict(overlay))
    made = Made()
    wanted: dict[str, dict[int, dict[str, None]]] = {}
    for finding in result.findings:
        if finding.name not in OWN and finding.place.path in files:
            wanted.setdefault(finding.place.path, {}).setdefault(finding.place.line, {})[finding.name] = None
    for path, lines in wanted.items():
        try:
            before = overlay[path] if path in overlay else read(engine, path)
            after = _commented(FileBytes(path, before), lines, made)
        except FixRefused as refusal:
            made.refused.append(f"{path}: no comment written: {refusal}")
            continue
        except Exception as error:
            engine.internal.add(path, "writing ignore comments into it", error)
            continue
        if after != before:
            made.changes.append(Change(path, before, after))
    made.errors = engine.errors()
    return made


def _commented(source: FileBytes, wanted: Mapping[int, Mapping[str, None]], made: Made) -> bytes:
    """The file with a comment for each line, from the last one up, so that the places above hold."""
    for line in sorted(wanted, reverse=True):
        names = list(wanted[line])
        for edit in _places(source, line, names):
            after = source.apply([source.span(edit)])
            if _only_comment(source.path, source.data, after):
                source = FileBytes(source.path, after)
                made.ignored += len(names)
                break
        else:
            made.refused.append(f"{source.path}:{line}: no comment can stand here to ignore {', '.join(names)}")
    return source.data


def _places(source: FileBytes, line: int, names: Sequence[str]) -> Iterator[Edit]:
    """Ways of writing the comment, the best first."""
    kind = verify.facts_of(source.path, source.data).kind
    text = source.lines[line - 1]
    if kind in WITHOUT_COMMENTS or text.lstrip().startswith("#"):
        return
    for ignore in suppressions.ignores_in(source.path, source.text):
        if ignore.covers == line and ignore.names_place is not None:
            place = ignore.names_place
            end = on_line(source.path, place.line, place.end_column - 1, place.end_column - 1)
            yield Edit(end, "".join(f", {name}" for name in names))
            return
    comment = f"{'--' if kind == 'lua-modulefile' else '#'} envdoctor: ignore[{', '.join(names)}]"
    continues = text.rstrip().endswith("\\")
    continued = line > 1 and source.lines[line - 2].rstrip().endswith("\\")
    if kind in TRAILING and not continues:
        end_of_line = len(text.rstrip())
        yield Edit(on_line(source.path, line, end_of_line, end_of_line), f"  {comment}")
    if not continued or kind == "dockerfile":
        indent = text[: len(text) - len(text.lstrip())]
        yield Edit(on_line(source.path, line, 0, 0), f"{indent}{comment}\n")


def _only_comment(path: str, before: bytes, after: bytes) -> bool:
    """The file says the same as before to its reader, and to Python: what was added is a comment there."""
    if not verify.still_parses(path, before, after):
        return False
    old, new = verify.facts_of(path, before), verify.facts_of(path, after)
    return _said(old) == _said(new) and (old.kind != "python" or _same_program(path, before, after))


def _said(facts: FileFacts) -> list[Any]:
    """What a file states, without places and comments."""
    said: list[Any] = [(s.op, s.name, s.value, s.channel, s.exported, s.scope.kind) for s in facts.settings]
    said += [(launch.launcher, launch.words, launch.inner) for launch in facts.launches]
    said += [(call.name, [a.text for a in call.arguments]) for call in facts.calls]
    return said + [use.name for use in facts.uses] + [i.target for i in facts.inclusions]


def _same_program(path: str, before: bytes, after: bytes) -> bool:
    import ast

    try:
        old, new = (ast.dump(ast.parse(decode(path, data).text)) for data in (before, after))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return old == new
