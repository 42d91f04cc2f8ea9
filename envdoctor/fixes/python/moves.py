"""Moves a Python statement up: a write into the environment above what reads it, a seed above what draws.

A statement is moved only if what it needs has its value there already, and only out of conditions that are the fault.
Pure functions of the trees of files and places; what is not plain gives no edit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from envdoctor.core.facts import FileFacts, Place
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.fixes.python.names import bound, imports, used
from envdoctor.fixes.python.tree import PythonTree, TreeStatement
from envdoctor.fixes.workshop import Workshop, unsafe

Trees = Callable[[str], "PythonTree | None"]
"""The tree of a file; None where it has none."""
HARMLESS = frozenset({"str", "int", "True", "False", "None"})
ENVIRONMENT = frozenset({"os", "environ"})
"""Names through which the environment is written: writing it gives them no new meaning."""
_LONG = regex("\"{3}|'{3}")
_MAIN = regex(r"__name__\s*==\s*[\"']__main__[\"']")


def move(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """A variable that is set too late, set in time."""
    del facts
    where = "out of the branch" if "on one rank only" in finding.message else "up"
    return unsafe(f"move {finding.variable} {where}", *_above_reader(finding, workshop.tree))


def _above_reader(finding: Finding, trees: Trees) -> tuple[Edit, ...]:
    """A late write above the call that reads it, or to the top of the file; or out of the branch of one rank."""
    tree = trees(finding.place.path)
    statement = tree.statement_at(finding.place.line) if tree is not None else None
    if tree is None or statement is None or not _writes_environment(statement):
        return ()
    if not finding.related:
        return out_of_branch(tree, statement) if "on one rank only" in finding.message else ()
    reader = finding.related[0].place
    return above(tree, statement, reader, trees) or _to_the_top(tree, statement, reader)


def above_draw(finding: Finding, trees: Trees) -> tuple[Edit, ...]:
    """A seed that comes too late above the draw that comes first."""
    seed = finding.related[0].place
    tree = trees(seed.path)
    statement = tree.statement_at(seed.line) if tree is not None else None
    if tree is None or statement is None or not _seeds(statement):
        return ()
    return above(tree, statement, finding.place, trees)


def is_call(statement: TreeStatement) -> bool:
    """Whether a statement is one call and nothing else."""
    small = statement.small()
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.Call)


def _seeds(statement: TreeStatement) -> bool:
    """A call alone in a statement, by a name that says that it seeds: what else it may do is not known."""
    small = statement.small()
    call = small.value if isinstance(small, cst.Expr) else None
    name = call.func if isinstance(call, cst.Call) else None
    last = name.attr if isinstance(name, cst.Attribute) else name
    return isinstance(last, cst.Name) and "seed" in last.value.lower()


def _writes_environment(statement: TreeStatement) -> bool:
    """`os.environ[...] = ...`, `os.environ.setdefault(...)` and the like, alone in a statement."""
    small = statement.small()
    if isinstance(small, cst.Assign):
        target = small.targets[0].target
        return len(small.targets) == 1 and isinstance(target, cst.Subscript)
    if (
        isinstance(small, cst.Expr)
        and isinstance(small.value, cst.Call)
        and isinstance(small.value.func, cst.Attribute)
    ):
        return small.value.func.attr.value in ("setdefault", "putenv", "update")
    return False


def above(tree: PythonTree, statement: TreeStatement, other: Place, trees: Trees) -> tuple[Edit, ...]:
    """A statement above the one of its block that leads to another place."""
    target = _leads_to(tree, statement, other, trees)
    if target is None or target.index >= statement.index:
        return ()
    between = [s.node for s in statement.block.statements[target.index : statement.index]]
    return moved(tree, statement, target, between)


def _leads_to(tree: PythonTree, statement: TreeStatement, other: Place, trees: Trees) -> TreeStatement | None:
    """The statement of the same block in which a place is, or which calls the function that it is in."""
    earlier = statement.block.statements[: statement.index]
    if other.path == tree.path:
        for candidate in earlier:
            if candidate.covers(other.line) and not isinstance(candidate.node, (cst.FunctionDef, cst.ClassDef)):
                return candidate
    there = trees(other.path)
    inner = there.statement_at(other.line) if there is not None else None
    function = there.function_of(inner) if there is not None and inner is not None else None
    if function is None or not isinstance(function.node, cst.FunctionDef):
        return None
    name = function.node.name.value
    return next((s for s in earlier if calls(s.node, name)), None)


def calls(node: cst.CSTNode, name: str) -> bool:
    """Whether something calls a function of this name, outside of functions that it defines."""
    if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        return False
    if isinstance(node, cst.Call):
        last = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        if isinstance(last, cst.Name) and last.value == name:
            return True
    return any(calls(child, name) for child in node.children)


def _needs(statement: TreeStatement) -> set[str]:
    return used(statement.node) - HARMLESS


def moved(
    tree: PythonTree, statement: TreeStatement, target: TreeStatement, between: Sequence[cst.CSTNode]
) -> tuple[Edit, ...]:
    """The statement above another one; `import os` comes along where it would be below."""
    needed = _needs(statement)
    given = bound(between) & needed
    imported = {name for node in between for name in _imported(node)} & ENVIRONMENT & needed
    if given - ENVIRONMENT or (imported and imported != {"os"}):
        return ()
    code = _code(tree, statement)
    if code is None:
        return ()
    return (*taken_out(tree, statement), tree.before(target, f"import os\n{code}" if imported else code))


def _imported(node: cst.CSTNode) -> set[str]:
    """Names that a statement imports."""
    if isinstance(node, cst.SimpleStatementLine):
        return {name for part in node.body if isinstance(part, (cst.Import, cst.ImportFrom)) for name in bound(part)}
    return set()


def _code(tree: PythonTree, statement: TreeStatement) -> str | None:
    """The lines of a statement and of the comments above it, without its indent; None where text would change."""
    indent = statement.block.indent
    lines = tree.lines[statement.lead - 1 : statement.last]
    if any(line and not line.startswith(indent) for line in lines) or (len(lines) > 1 and _LONG.search("".join(lines))):
        return None
    return "\n".join(line[len(indent) :] for line in lines)


def taken_out(tree: PythonTree, statement: TreeStatement) -> tuple[Edit, ...]:
    """The statement away, with the comments above it; `pass` where its block would be empty."""
    if len(statement.block.statements) == 1 and statement.block.owner is not None:
        end = len(tree.lines[statement.last - 1]) + 1
        place = Place(tree.path, statement.lead, len(statement.block.indent) + 1, statement.last, end)
        return (Edit(place, "pass"),)
    first, last = statement.lead, statement.last
    blank_below = last >= len(tree.lines) or not tree.lines[last].strip()
    if first > 1 and not tree.lines[first - 2].strip() and blank_below:
        first -= 1
    if last < len(tree.lines):
        return (Edit(Place(tree.path, first, 1, last + 1, 1), ""),)
    end = len(tree.lines[last - 1]) + 1
    return (Edit(Place(tree.path, max(1, first - 1), len(tree.lines[first - 2]) + 1, last, end), ""),)


def _to_the_top(tree: PythonTree, statement: TreeStatement, reader: Place) -> tuple[Edit, ...]:
    """A write that needs nothing but the environment below the import that brings it; out of no condition."""
    if not _unconditional(statement) or _needs(statement) - ENVIRONMENT:
        return ()
    code = _code(tree, statement)
    source = next((s for name, (_, s) in imports(tree).items() if name in ("os", "os.environ")), None)
    if code is None or source is None or source.block is statement.block:
        return ()
    if reader.path == tree.path and reader.line < source.last:
        return ()
    return (*taken_out(tree, statement), tree.after(source, code))


def _unconditional(statement: TreeStatement) -> bool:
    """Only functions and the `__main__` block are around it."""
    owner = statement.block.owner
    while owner is not None:
        if isinstance(owner.node, cst.If):
            if not is_main(owner) or owner.blocks[0].statements[0].block is not owner.blocks[0]:
                return False
        elif not isinstance(owner.node, cst.FunctionDef):
            return False
        owner = owner.block.owner
    return True


def is_main(statement: TreeStatement) -> bool:
    """Whether a statement is `if __name__ == "__main__":`."""
    return isinstance(statement.node, cst.If) and bool(_MAIN.search(cst.Module([]).code_for_node(statement.node.test)))


def out_of_branch(tree: PythonTree, statement: TreeStatement) -> tuple[Edit, ...]:
    """A statement of an `if` without `else` in front of it."""
    owner = statement.block.owner
    if owner is None or not isinstance(owner.node, cst.If) or owner.node.orelse is not None:
        return ()
    between = [s.node for s in statement.block.statements[: statement.index]]
    return moved(tree, statement, owner, between)
