"""All bounds of the code in one table: the last part of `docs/architecture.md`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMIT = re.compile(r"_?(?:[A-Z]+_)*(?:MOST|LARGEST|DEEPEST|DEPTH|MAXIMUM|LONGEST|SMALLEST|NEAR)(?:_[A-Z]+)*$")
"""Names of constants that bound something."""
FROM_HERE = "<!-- Generated from here on by tools/generate_docs.py from the constants in envdoctor/. -->"
HEAD = """## Bounds

What is looked at at most, so that any input ends. Each stands beside the code that keeps it.

| bound | value | module | why |
| --- | --- | --- | --- |"""


def architecture_page() -> str:
    """The page about the inside: what was written by hand, and all bounds."""
    path = ROOT / "docs" / "architecture.md"
    by_hand = path.read_text(encoding="utf-8").partition(FROM_HERE)[0].rstrip()
    return "\n".join([by_hand, "", FROM_HERE, "", HEAD, *rows()]) + "\n"


def rows() -> Iterator[str]:
    """A row for each bound: name, value, module, and the text that stands below it."""
    for path in sorted((ROOT / "envdoctor").rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.BinOp)):
                name = ast.unparse(node.targets[0])
                if LIMIT.match(name):
                    where = path.relative_to(ROOT / "envdoctor").as_posix()
                    yield f"| `{name}` | {ast.unparse(node.value)} | `{where}` | {_said(after)} |"


def _said(node: ast.stmt | None) -> str:
    """The text of a statement that is nothing but text."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split()).replace("|", "\\|")
    return ""
