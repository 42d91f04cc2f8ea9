"""Where a program in Python begins, and what is put in there: seeds, switches, and the block that a level needs."""

from __future__ import annotations

import libcst as cst

from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.fixes.python.moves import Trees, is_main
from envdoctor.fixes.python.names import add_import, is_import, reference
from envdoctor.fixes.python.tree import PythonTree, StatementBlock, TreeStatement


def environment(finding: Finding, settings: list[tuple[str, str]], trees: Trees) -> Fix | None:
    """Variables given where a program begins, unless the environment has them."""
    tree = trees(finding.place.path)
    calls = [("os.environ", f'.setdefault("{name}", "{value}")') for name, value in settings]
    return at_start(tree, finding.place.line, calls) if tree is not None and calls else None


def at_start(tree: PythonTree, first: int, calls: list[tuple[str, str]]) -> Fix | None:
    """Calls where the program begins, with the imports that they need. `first`: the line that they must come before."""
    names = [reference(tree, dotted) for dotted, _ in calls]
    if not tree.top.statements or any(name is None for name in names):
        return None
    known = [name for name in names if name is not None]
    target, below = _start_of(tree, first)
    late = [n.bound for n in known if n.bound is not None and n.bound.last >= target.first and n.bound is not target]
    if late and target.block.owner is None:
        target, below = max(late, key=lambda s: s.last), True
    if first and target.block.owner is None and target.last >= first:
        return None
    lines = [f"{name.text}{rest}" for name, (_, rest) in zip(known, calls, strict=True)]
    imports = list(dict.fromkeys(name.missing for name in known if name.missing))
    where = _placed(tree, target, "\n".join(lines), below)
    return Fix(f"add {'; '.join(lines)}", (*(add_import(tree, line) for line in imports), where), safe=False)


def _placed(tree: PythonTree, target: TreeStatement, code: str, below: bool) -> Edit:
    """Code above or below a statement; below the imports of a file with a blank line in between."""
    if not below:
        return tree.before(target, code)
    edit = tree.after(target, code)
    follows = tree.lines[target.last : target.last + 1]
    return Edit(edit.place, f"\n{edit.text}" if not follows or not follows[0].strip() else f"\n{edit.text}\n")


def _start_of(tree: PythonTree, first: int) -> tuple[TreeStatement, bool]:
    """Where the program that a file is begins, for something that line `first` needs: the statement, and whether what
    is put there goes below it (else above)."""
    outer = next((s for s in tree.top.statements if s.covers(first)), None)
    block = _main_block(tree)
    defined = outer is None or isinstance(outer.node, (cst.FunctionDef, cst.ClassDef))
    if block is not None and (defined or (outer is not None and outer is block.owner)):
        rest = (s for s in block.statements if not is_import(s))
        return next(rest, block.statements[0]), False
    end = next((s.index for s in tree.top.statements if isinstance(s.node, (cst.FunctionDef, cst.ClassDef))), None)
    if not defined and outer is not None:
        end = outer.index if end is None else min(end, outer.index)
    head = [s for s in tree.top.statements[:end] if is_import(s)]
    if head:
        return head[-1], True
    return tree.top.statements[end or 0], False


def _main_block(tree: PythonTree) -> StatementBlock | None:
    """The block of `if __name__ == "__main__":`."""
    for statement in tree.top.statements:
        if is_main(statement) and statement.blocks and statement.blocks[0].statements:
            return statement.blocks[0]
    return None
