"""Walks the syntax tree of a script in source order, with an explicit stack, and states facts on the way.

Structure is here: scopes, branches, where output goes. What a command means stands in `commands`, what an
assignment means in `assignments`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from envdoctor.core.facts import Branch, Scope
from envdoctor.core.regexes import regex
from envdoctor.readers.shell import (
    assignments as shell_assignments,
)
from envdoctor.readers.shell import (
    commands as shell_commands,
)
from envdoctor.readers.shell import (
    heredocs as shell_heredocs,
)
from envdoctor.readers.shell import (
    uses as shell_uses,
)
from envdoctor.readers.shell.recovery import recover
from envdoctor.readers.shell.state import ShellContext, ShellOutput, ShellState
from envdoctor.readers.shell.syntax.branches import clause
from envdoctor.readers.shell.syntax.repair import REDIRECTS

if TYPE_CHECKING:
    from tree_sitter import Node

LEAVES = frozenset((
    "word", "comment", "number", "raw_string", "ansi_c_string", "variable_name", "special_variable_name",
    "heredoc_start", "heredoc_end", "heredoc_content", "file_descriptor", "regex", "string_content", "test_operator",
    "simple_expansion", "extglob_pattern",
))  # fmt: skip
ARGUMENT = ShellOutput("argument")
MOST_BRANCHES = 40
MOST_SUBSTITUTIONS = 30
_SUBSTITUTION = regex(r"\$\(|`|[<>]\(")
EXPORT = regex(r"export[ \t]+([A-Za-z_]\w*\+?=(?:[^\s\"'`$\\(]*|\"(?:[^\"\\`$]|\$(?!\())*\"|'[^']*'))", re.ASCII)
"""`export A=value` with nothing more and no command in it: most declarations are that."""
EXPORTED = shell_assignments.Manner("export", "yes")
_BACKGROUND = regex(r"[ \t]*&(?![&>])")


class ShellWalker:
    """The stack of nodes still to visit."""

    def __init__(self, state: ShellState) -> None:
        self.state = state
        self.stack: list[tuple[Node, ShellContext]] = []

    def walk(self, root: Node, context: ShellContext) -> None:
        """Visit a tree."""
        self.stack.append((root, context))
        while self.stack:
            node, around = self.stack.pop()
            handler = HANDLERS.get(node.type)
            if handler is not None:
                handler(self, node, around)
            elif node.type not in LEAVES:
                self.push(node.named_children, around)

    def push(self, nodes: Iterable[Node], context: ShellContext) -> None:
        """Visit nodes next, in their order."""
        visits = [(node, context) for node in nodes]
        visits.reverse()
        self.stack += visits

    def push_substitutions(self, nodes: Iterable[Node], context: ShellContext) -> None:
        """Visit the words that hold commands: `$(...)`, backquotes, `<(...)`."""
        text = self.state.text
        self.push([node for node in nodes if _SUBSTITUTION.search(text, node.start_byte, node.end_byte)], context)


def in_branch(context: ShellContext, branch: Branch) -> ShellContext:
    """A context with one more condition around it."""
    if len(context.branch) >= MOST_BRANCHES:
        return context
    return context.within((*context.branch, branch))


def in_subshell(walker: ShellWalker, node: Node, context: ShellContext, what: str = "subshell") -> ShellContext:
    """The context of a shell of its own; one in a container sees that container and not the script around it."""
    name = walker.state.scope_name(what, node.start_byte)
    if context.scope.kind == "container":
        return context.scoped(Scope("container", f"{context.scope.name}/{name}"))
    return context.scoped(Scope("subshell", name))


def settled(walker: ShellWalker, node: Node, context: ShellContext) -> ShellContext:
    """The context of a statement: a shell of its own where `&` follows."""
    if _BACKGROUND.match(walker.state.text, node.end_byte):
        return in_subshell(walker, node, context, "background")
    return context


def _assignment(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    context = settled(walker, node, context)
    parts = node.named_children if node.type == "variable_assignments" else [node]
    for part in parts:
        shell_assignments.assign(walker.state, part, context, node)
    _values(walker, parts, context)


def _values(walker: ShellWalker, nodes: Iterable[Node], context: ShellContext) -> None:
    """Visit the commands whose output becomes a value."""
    text = walker.state.text
    for node in reversed(list(nodes)):
        if _SUBSTITUTION.search(text, node.start_byte, node.end_byte):
            inner = context.into(ShellOutput("capture", shell_assignments.name_of(walker.state, node)))
            walker.push_substitutions(node.named_children or [node], inner)


def _declaration(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    state, start, end = walker.state, node.start_byte, node.end_byte
    inner = settled(walker, node, context)
    if match := EXPORT.fullmatch(state.text, start, end):
        shell_assignments.assign_at(state, (match.start(1), end), inner, (start, end), EXPORTED)
    else:
        shell_assignments.declare(state, node, inner)
        _values(walker, node.named_children, context)


def _unset(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    shell_assignments.unset(walker.state, node, context)


def _command(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    state, start, end = walker.state, node.start_byte, node.end_byte
    if shell_commands.plain(state, start, end, context):
        if _SUBSTITUTION.search(state.text, start, end):
            walker.push_substitutions(node.named_children, context.into(ARGUMENT))
        return
    children = node.named_children
    redirects = [child for child in children if child.type in REDIRECTS]
    if redirects:
        context = context.into(shell_heredocs.output_of(walker.state, redirects) or context.output)
    shell_commands.command(walker.state, node, children, context)
    if redirects:
        shell_heredocs.here_documents(walker.state, node, redirects, context)
    if _SUBSTITUTION.search(walker.state.text, node.start_byte, node.end_byte):
        walker.push_substitutions(children, context.into(ARGUMENT))


def _redirected(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    body = node.child_by_field_name("body")
    redirects = [child for child in node.named_children if body is None or child.id != body.id]
    output = shell_heredocs.output_of(walker.state, redirects) or context.output
    inner = context.into(output)
    waiting = len(walker.stack)
    if body is not None and body.type == "command":
        _command(walker, body, inner)
    elif body is not None:
        walker.push([body], inner)
    inside = walker.stack[waiting:]
    del walker.stack[waiting:]
    rest = shell_heredocs.here_documents(walker.state, body, redirects, inner)
    walker.push(rest, context)
    walker.push_substitutions(redirects, context)
    walker.stack += inside


def _pipeline(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    members = [child for child in node.named_children if child.type != "comment"]
    visits: list[tuple[Node, ShellContext]] = []
    for index, member in enumerate(members):
        inner = context
        if index + 1 < len(members):
            inner = context.into(shell_heredocs.sink(walker.state, members[index + 1], context))
        if not _is_command(member) and len(members) > 1:
            inner = in_subshell(walker, member, inner, "pipeline")
        visits.append((member, inner))
    walker.stack.extend(reversed(visits))


def _is_command(node: Node) -> bool:
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        return body is not None and body.type == "command"
    return node.type in ("command", "test_command")


def _list(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    """`a && b || c`: what stands after the first operator is conditional; `&&` and `||` arms share an identity."""
    parts: list[tuple[str, Node]] = []
    while node.type == "list" and node.child_count >= 3:
        left, operator, right = node.children[0], node.children[1], node.children[-1]
        parts.append((operator.type, right))
        node = left
    first = node
    visits = [(first, context)]
    identity = walker.state.branch_id("list", first.start_byte)
    condition = walker.state.condition(first.start_byte, first.end_byte)
    previous = ""
    for operator_type, part in reversed(parts):
        if operator_type == "&&" and previous == "||":
            identity = walker.state.branch_id("list", part.start_byte)
        arm = "and" if operator_type == "&&" else "or"
        visits.append((part, in_branch(context, Branch(identity, arm, condition))))
        previous = operator_type
    walker.stack.extend(reversed(visits))


def _if(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    state = walker.state
    identity = state.branch_id("if", node.start_byte)
    visits: list[tuple[Node, ShellContext]] = []
    condition = ""
    clauses = [node, *[child for child in node.children if child.type in ("elif_clause", "else_clause")]]
    for arm, part in enumerate(clauses):
        tests, body = clause(part)
        if part.type != "else_clause" and tests:
            condition = state.condition(tests[0].start_byte, tests[-1].end_byte)
        name = {"if_statement": "if", "else_clause": "else"}.get(part.type, f"elif {arm}")
        visits += [(test, context) for test in tests]
        inner = in_branch(context, Branch(identity, name, condition))
        visits += [(part, inner) for part in body]
    walker.stack.extend(reversed(visits))


def _loop(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    state = walker.state
    context = settled(walker, node, context)
    body = node.child_by_field_name("body")
    start = body.start_byte if body is not None else node.end_byte
    condition = state.condition(node.start_byte, start)
    head = [child for child in node.named_children if body is None or child.id != body.id]
    if node.type == "for_statement":
        shell_assignments.loop(state, node)
    if node.type != "while_statement":
        shell_uses.scan(state, node.start_byte, start, context)
    if body is not None:
        branch = Branch(state.branch_id("loop", node.start_byte), "loop", condition)
        walker.push([body], in_branch(context, branch))
    if node.type == "while_statement":
        walker.push(head, context)
    else:
        walker.push_substitutions(head, context)


def _case(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    state = walker.state
    value = node.child_by_field_name("value")
    identity = state.branch_id("case", node.start_byte)
    subject = state.condition(value.start_byte, value.end_byte) if value is not None else ""
    visits: list[tuple[Node, ShellContext]] = []
    if value is not None:
        shell_uses.scan(state, value.start_byte, value.end_byte, context)
        visits.append((value, context))
    for item in node.named_children:
        if item.type != "case_item":
            continue
        closing = next((child for child in item.children if child.type == ")"), None)
        at = closing.start_byte if closing is not None else item.start_byte
        pattern = state.condition(item.start_byte, at)
        inner = in_branch(context, Branch(identity, pattern, f"{subject} in {pattern}"))
        visits += [(child, inner) for child in item.named_children if child.start_byte >= at]
    walker.stack.extend(reversed(visits))


def _function(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if body is None:
        return
    label = walker.state.text[name.start_byte : name.end_byte] if name is not None else ""
    inner = context.scoped(Scope("function", label)).into(None)
    walker.push(body.named_children if body.type == "compound_statement" else [body], inner)


def _subshell(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    walker.push(node.named_children, in_subshell(walker, node, context))


def _compound(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    if walker.state.text.startswith("((", node.start_byte):
        shell_uses.scan_test(walker.state, node.start_byte, node.end_byte, context)
    else:
        walker.push(node.named_children, settled(walker, node, context))


def _substitution(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    if context.depth >= MOST_SUBSTITUTIONS:
        return
    output = context.output if context.output and context.output.kind in ("capture", "argument") else None
    inner = ShellContext(context.scope, context.branch, output or ARGUMENT, context.depth + 1, context.recovered)
    walker.push(node.named_children, in_subshell(walker, node, inner))


def _test(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    shell_uses.scan_test(walker.state, node.start_byte, node.end_byte, context)
    walker.push_substitutions(node.named_children, context)


def _error(walker: ShellWalker, node: Node, context: ShellContext) -> None:
    recover(walker.state, walker.push, node, context)


HANDLERS: dict[str, Callable[[ShellWalker, Node, ShellContext], None]] = {
    "variable_assignment": _assignment,
    "variable_assignments": _assignment,
    "declaration_command": _declaration,
    "unset_command": _unset,
    "command": _command,
    "redirected_statement": _redirected,
    "pipeline": _pipeline,
    "list": _list,
    "if_statement": _if,
    "while_statement": _loop,
    "for_statement": _loop,
    "c_style_for_statement": _loop,
    "case_statement": _case,
    "function_definition": _function,
    "subshell": _subshell,
    "compound_statement": _compound,
    "command_substitution": _substitution,
    "process_substitution": _substitution,
    "test_command": _test,
    "ERROR": _error,
}
