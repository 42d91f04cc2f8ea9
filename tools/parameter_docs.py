"""The part of docs/own-rules.md that says which keys a rule of a user may have, from the records that validate them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, is_typeddict

from envdoctor.knowledge.kinds import KINDS
from envdoctor.knowledge.parameters.forms import Common, Name, NameFrom, SomeNames, SomeTexts
from envdoctor.knowledge.parameters.records import RECORDS
from envdoctor.knowledge.parameters.validation import described, record_of
from envdoctor.knowledge.rule_records import OwnRuleFile
from envdoctor.knowledge.rulebook import Rule

KNOWLEDGE = Path(__file__).parent.parent / "envdoctor" / "knowledge"
SOURCES = (
    KNOWLEDGE / "rule_records.py",
    KNOWLEDGE / "parameters" / "forms.py",  # which the others build on
    *sorted((KNOWLEDGE / "parameters").glob("*.py")),
)
WORDS = {
    "name": "Settings, by what the catalogue says of their names.",
    "value": "Settings whose value is none that the catalogue says the library accepts.",
    "relation": "Settings that do not fit one another, or the program.",
    "delivery": "Settings that do not reach the process that reads them.",
    "call": "Calls of Python programs.",
    "observation": "What `envdoctor live` observes of a node.",
}


@cache
def explanations() -> dict[str, dict[str, str]]:
    """Record -> key -> the string under it, its bases' included."""
    classes = [node for path in SOURCES for node in ast.parse(path.read_text(encoding="utf-8")).body]
    found: dict[str, dict[str, str]] = {}
    for one in classes:
        if isinstance(one, ast.ClassDef):
            bases = [base.id for base in one.bases if isinstance(base, ast.Name)]
            found[one.name] = {key: text for base in bases for key, text in found.get(base, {}).items()}
            found[one.name] |= _strings(one)
    return found


def _strings(one: ast.ClassDef) -> dict[str, str]:
    """Key -> the string under it."""
    return {
        key.target.id: " ".join(text.value.value.split())
        for key, text in zip(one.body, one.body[1:], strict=False)
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
        and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }  # fmt: skip


def shown(kind: Any) -> str:
    """A type in words, with what it has to look like."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind == Name:
        return "a name"
    if origin is Annotated and kind in (SomeNames, SomeTexts):
        return f"{shown(inner[0])} with something in it"
    if origin is Annotated:
        return described(inner[0]) if isinstance(inner[1], NameFrom) else str(inner[1].words)
    if origin is list:
        one = shown(inner[0])
        return {"a name": "a list of names", "a list of two strings": "a list of lists of two strings"}.get(
            one, described(kind)
        )
    return described(kind)


def key_lines(kinds: tuple[type, ...], without: frozenset[str] = frozenset(), depth: int = 0) -> list[str]:
    """A list of the keys of a table, those that there must be first."""
    record = record_of(*kinds)
    words = {key: text for kind in kinds for key, text in explanations()[kind.__name__].items()}
    keys = sorted((key for key in record.types if key not in without), key=lambda key: key not in record.required)
    lines = []
    for key in keys:
        kind = record.types[key]
        needed = "" if key in record.required else ", may be left out"
        lines.append(f"{'  ' * depth}- `{key}` ({shown(kind)}{needed}): {words[key]}")
        inside = get_args(kind)[0] if get_origin(kind) is list else kind
        if is_typeddict(inside) and inside.__name__ in explanations():
            lines += key_lines((inside,), depth=depth + 1)
    return lines


def parameter_lines(rules: list[Rule]) -> list[str]:
    """The keys of a rule file, and the parameters of every kind."""
    lines = ["## Keys of a rule file", "", *key_lines((OwnRuleFile,)), "", "## Parameters", ""]
    lines += ["Every rule may have these:", "", *key_lines((Common,)), ""]
    for name, kind in KINDS.items():
        lines += [f'### `check = "{name}"`', "", WORDS[name], ""]
        if kind.chooser:
            lines += [f"`{kind.chooser}` says which of these is looked for:", ""]
        for word, codes in kind.codes.items():
            lines += choice_lines(kind.chooser, word, codes, rules)
    return lines


def choice_lines(chooser: str, word: str, codes: tuple[str, ...], rules: list[Rule]) -> list[str]:
    """One choice of a kind: the rules of envdoctor that are of it, and its parameters."""
    like = ", ".join(f"[{rule.name}](rules/{rule.name}.md)" for rule in rules if set(codes) & set(rule.code))
    lines = [f'#### `{chooser} = "{word}"`', ""] if chooser else []
    keys = key_lines(tuple(RECORDS[code] for code in codes), frozenset(record_of(Common).types))
    return [
        *lines,
        f"As {like}." + ("" if keys else " It has no parameters of its own."),
        "",
        *keys,
        *[""] * bool(keys),
    ]
