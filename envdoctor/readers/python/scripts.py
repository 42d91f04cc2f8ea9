"""Which text in Python code is a shell script or a command, by how it begins and what it is given to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from envdoctor.core.regexes import regex
from envdoctor.readers.python.environment.mappings import name_of
from envdoctor.readers.python.names.scopes import Where
from envdoctor.readers.python.names.words import denies_script, says_log, says_runner, says_script
from envdoctor.readers.python.shell import Simple

EXPORT = regex(r"(?:^|[\n;&|'\"(]|\bdo\b|\bthen\b)\s*export\s+[A-Za-z_]\w*=")
PREFIX = regex(r"^\s*[A-Z][A-Z0-9_]+=\S*\s+\S")
BATCH = regex(r"^\s*#!\s*/\S*(?:/|env\s+)(?:ba|z|k|da)?sh\b|^#SBATCH|^#PBS", re.MULTILINE)
COMMAND = regex(
    r"\s*(?:[A-Z][A-Z0-9_]+=\S+\s+)*(?:/\S+/)?"
    r"(?:mpirun|mpiexec|srun|docker run|podman run|torchrun|deepspeed|horovodrun)\s"
)
FLAGS = regex(r"\s*(?:-x|-genv)\s+[A-Z][A-Z0-9_]+=")
"""Flags that set variables, to be put into a command."""
GIVES = regex(r"(?:^|\s)[A-Z][A-Z0-9_]+=")
TRANSPARENT = {
    "join", "format", "dedent", "strip", "rstrip", "lstrip", "encode", "replace", "cleandoc", "Template", "quote",
    "substitute", "list", "tuple", "expandvars",
}  # fmt: skip
"""Functions whose result is the text they are given."""
GATHERING = {"append", "extend", "insert", "appendleft", "add"}
WRITING = {"write", "writelines", "write_text", "write_bytes"}
NO, MAYBE, YES = 0, 1, 2


class ScriptRoot(NamedTuple):
    """An expression whose text is a script or a command.

    Texts with one label are parts of one script, until one is `fresh`: a name that is used again names another script.
    """

    node: ast.expr
    label: str
    fresh: bool = False


def roots(statement: Simple, where: Where) -> Iterator[ScriptRoot]:
    """Text and lists of text in a statement that plainly become a script or a command."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    labels = [name_of(target) for target in targets]
    if isinstance(statement, ast.Return):
        labels = [where.block.scope.fact().name.rsplit(".", 1)[-1]]
    said = max([_said(label) for label in labels], default=NO)
    label = next(iter(labels), "") or f"line {statement.lineno}"
    fresh = isinstance(statement, ast.Assign) and not _continues(statement, label)
    for root in _script_parts(statement.value, said, isinstance(statement, ast.Expr), label):
        yield ScriptRoot(root.node, root.label, fresh and root.label == label)


def _continues(statement: ast.Assign, label: str) -> bool:
    """Whether a name is given text with its own old text in it."""
    return any(isinstance(part, ast.Name) and part.id == label for part in ast.walk(statement.value))


def _said(label: str) -> int:
    """Whether a name says that what it names is a script."""
    if says_script(label):
        return YES
    return NO if denies_script(label) else MAYBE


def _script_parts(node: ast.expr | None, said: int, bare: bool, label: str) -> Iterator[ScriptRoot]:
    """Roots of text in an expression; `said`: whether it is said to be a script, `bare`: nothing takes it."""
    if isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp)):
        if not bare and (said == YES or _begins(node, said)):
            yield ScriptRoot(node, label)
    elif isinstance(node, (ast.List, ast.Tuple)):
        if said == YES:
            yield ScriptRoot(node, label)
    elif isinstance(node, ast.IfExp):
        yield from _script_parts(node.body, said, bare, label)
        yield from _script_parts(node.orelse, said, bare, label)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
            yield from _script_parts(value, YES if says_script(name) else NO, False, f"{label}[{name}]")
    elif isinstance(node, ast.Call):
        yield from _script_parts_of_call(node, said, label)


def _script_parts_of_call(node: ast.Call, said: int, label: str) -> Iterator[ScriptRoot]:
    name = name_of(node.func)
    if says_log(name):
        return
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in TRANSPARENT:
        if said == YES or _begins(node, said):
            yield ScriptRoot(node, label)
        return
    # What is gathered or written in several calls is one script; what is run in several calls is one a call.
    inner = f"line {node.lineno}"
    if name in GATHERING | WRITING and receiver is not None:
        inner = name_of(receiver) or inner
    if name in GATHERING and receiver is not None:
        said = _said(name_of(receiver))
    else:
        said = YES if name in WRITING or says_runner(name) else NO
    for argument in node.args:
        yield from _script_parts(argument, said, False, inner)
    for keyword in node.keywords:
        if keyword.arg:
            yield from _script_parts(keyword.value, YES if says_script(keyword.arg) else NO, False, inner)


def _begins(node: ast.AST, said: int) -> bool:
    """Whether text in an expression begins as a script does, or where it may be one, as a command."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            if BATCH.search(part.value):
                return True
            if said == MAYBE and (COMMAND.match(part.value) or FLAGS.match(part.value)):
                return True
    return False
