"""Is a file after its fixes still what its reader and its language take? Nothing else is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from envdoctor.core.decoding import decode
from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source
from envdoctor.knowledge.files import loads_toml
from envdoctor.readers import registry as readers
from envdoctor.readers.kinds import kind_of


def facts_of(path: str, data: bytes) -> FileFacts:
    """What the reader of a file states about some bytes of it."""
    kind = kind_of(path, data[:256]) or "markup"
    return readers.read(Source(path, decode(path, data).text), kind)


def still_parses(path: str, before: bytes, after: bytes) -> bool:
    """No new problem for the reader, and no error of the language that was not there before."""
    old, new = facts_of(path, before), facts_of(path, after)
    if Counter(p.message for p in new.problems) - Counter(p.message for p in old.problems):
        return False
    parse = PARSERS.get(old.kind)
    if parse is None:
        return True
    had, has = parse(decode(path, before).text), parse(decode(path, after).text)
    return has <= had


def _python(text: str) -> int:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 1
    return 0


def _json(text: str) -> int:
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return 1
    return 0


def _toml(text: str) -> int:
    try:
        loads_toml(text)
    except (ValueError, RecursionError):
        return 1
    return 0


def _yaml(text: str) -> int:
    """How many keys have nothing behind them, which a schema may refuse; more than any such number on an error."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return sum(
            isinstance(event, yaml.ScalarEvent) and not event.value and not event.style
            for event in yaml.parse(text, Loader=loader)
        )
    except (yaml.YAMLError, ValueError, RecursionError):
        return len(text) + 1


def _shell(text: str) -> int:
    """How many places the grammar cannot read; those that it had before count for nothing."""
    from envdoctor.readers.shell.syntax.parse import parse

    tree = parse(text.encode("utf-8", "replace"))
    if tree is None:
        return 0
    errors, nodes = 0, [tree.root_node]
    while nodes:
        node = nodes.pop()
        errors += node.is_error or node.is_missing
        if node.has_error:
            nodes += node.children
    return errors


PARSERS: dict[str, Callable[[str], int]] = {
    "python": _python, "json": _json, "notebook": _json, "toml": _toml, "yaml": _yaml, "shell": _shell,
}  # fmt: skip
"""Kind of file -> how many errors its language sees in a text."""
