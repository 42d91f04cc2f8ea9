"""References to variables inside values: `$A`, `${A:-d}`, `$(A)`, `{{ template }}`, `${oc.env:A,d}`.

Sources of the forms: the Dockerfile reference and the Compose specification (`${A:-d}`), Kubernetes dependent
variables (`$(A)`), OmegaConf resolvers (`oc.env`), Helm and Jinja (`{{ }}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from envdoctor.core.facts import Value
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex

LONGEST = 2000
"""A reference longer than this is read as text: the search for its end stays bounded."""

MOST_UNCLOSED = 20
"""References without an end after which the rest of a text is read as it stands."""

_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = regex(r"([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+?=]|##?|%%?|//?)(.*))?", re.DOTALL)
_RESOLVER = regex(r"(?:oc\.)?env:([A-Za-z_][A-Za-z0-9_]*)(?:\s*,\s*(.*))?", re.DOTALL)
_DEFAULT = regex(r"""\bdefault\b[\s(]*(?:"([^"]*)"|'([^']*)'|([\w.]+))""")
_CONTEXT = regex(r"\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*")
_DEFAULT_OPERATORS = (":-", "-", ":=", "=")


@dataclass(frozen=True, slots=True)
class VariableReference:
    """One reference. `name` is empty where it names no variable (a template expression, a command)."""

    name: str
    operator: str = ""
    word: str = ""


Part = str | VariableReference


def reference_at(text: str, at: int) -> tuple[VariableReference, int] | None:
    """The reference that starts at `text[at]` and the offset of its end; None where none starts there."""
    if text.startswith("{{", at) or text.startswith("${{", at):
        return _expression(text, at)
    if text[at] != "$" or at + 1 >= len(text):
        return None
    if text[at + 1] == "{":
        return _braced(text, at)
    if text[at + 1] == "(":
        return _parenthesised(text, at)
    match = _NAME.match(text, at + 1)
    return (VariableReference(match.group()), match.end()) if match else None


def parts_of(text: str, dollar_escape: bool = True) -> list[Part]:
    """Text cut into literal pieces and references; `$$` is one dollar where `dollar_escape` says so."""
    if "$" not in text and "{{" not in text:
        return [text] if text else []
    parts: list[Part] = []
    done = failures = 0
    for match in re.finditer(r"\$\$|\$|\{\{", text):
        at = match.start()
        if at < done or failures > MOST_UNCLOSED:
            continue
        if match.group() == "$$" and dollar_escape:
            parts.append(text[done:at] + "$")
            done = match.end()
        elif found := reference_at(text, at):
            parts += [text[done:at], found[0]]
            done = found[1]
        else:
            failures += 1
    parts.append(text[done:])
    return [part for part in parts if part != ""]


def value_of(parts: list[Part], text: str, known: Mapping[str, str] | None = None) -> Value:
    """literal where no part is a reference, else template; `known` gives defaults for the fallback."""
    references = [part for part in parts if isinstance(part, VariableReference)]
    if not references:
        return Value("literal", "".join(part for part in parts if isinstance(part, str)))
    names = dict.fromkeys(name for part in references for name in _names(part))
    return Value("template", text, tuple(names), resolve(parts, known or {}))


def resolve(parts: Iterable[Part], known: Mapping[str, str]) -> str | None:
    """The text with each reference replaced by what is known or by its default; None where one has neither."""
    done: list[str] = []
    for part in parts:
        piece = part if isinstance(part, str) else _replacement(part, known)
        if piece is None:
            return None
        done.append(piece)
    return "".join(done)


def _replacement(reference: VariableReference, known: Mapping[str, str]) -> str | None:
    value = known.get(reference.name)
    if reference.operator in ("+", ":+"):
        return resolve(parts_of(reference.word), known) if value else ""
    if reference.operator in _DEFAULT_OPERATORS and not value:
        return resolve(parts_of(reference.word), known)
    return None if reference.operator[:1] in ("#", "%", "/") else value


def _names(reference: VariableReference) -> list[str]:
    inner = (
        [part for part in parts_of(reference.word) if isinstance(part, VariableReference)]
        if "$" in reference.word
        else []
    )
    return [name for name in (reference.name, *(part.name for part in inner)) if name]


def _braced(text: str, at: int) -> tuple[VariableReference, int] | None:
    end = _closing(text, at + 1)
    if end is None:
        return None
    inside = text[at + 2 : end]
    if match := _BRACED.fullmatch(inside):
        return VariableReference(match[1], match[2] or "", match[3] or ""), end + 1
    if match := _RESOLVER.fullmatch(inside):
        return VariableReference(match[1], "" if match[2] is None else ":-", (match[2] or "").strip("'\" ")), end + 1
    return VariableReference(""), end + 1


def _closing(text: str, at: int) -> int | None:
    depth = 0
    for offset in range(at, min(len(text), at + LONGEST)):
        depth += (text[offset] == "{") - (text[offset] == "}")
        if depth == 0:
            return offset
    return None


def _parenthesised(text: str, at: int) -> tuple[VariableReference, int] | None:
    end = text.find(")", at, at + LONGEST)
    if end == -1:
        return None
    inside = text[at + 2 : end]
    return VariableReference(inside if _NAME.fullmatch(inside) else ""), end + 1


def _expression(text: str, at: int) -> tuple[VariableReference, int] | None:
    start = text.index("{{", at) + 2
    end = text.find("}}", start, start + LONGEST)
    if end == -1:
        return None
    inside = text[start:end]
    if match := _CONTEXT.fullmatch(inside):
        return VariableReference(match[1]), end + 2
    if match := _DEFAULT.search(inside):
        return VariableReference("", ":-", next(group for group in match.groups() if group is not None)), end + 2
    return VariableReference(""), end + 2
