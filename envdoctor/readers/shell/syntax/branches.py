"""Branches as the grammar has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


def clause(node: Node) -> tuple[list[Node], list[Node]]:
    """Conditions and body of an if, elif or else."""
    tests: list[Node] = []
    body: list[Node] = []
    current = body if node.type == "else_clause" else tests
    for child in node.children:
        if child.type == "then":
            current = body
        elif child.is_named and child.type not in ("elif_clause", "else_clause", "comment"):
            current.append(child)
    return tests, body
