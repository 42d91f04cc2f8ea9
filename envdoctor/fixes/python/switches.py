"""Switches of frameworks that a repeatable run needs put in (ED501), and options that cost it put back (ED502).

What is to be written stands in the help of the finding, as the rule gives it: `benchmark=False`, `False`,
`without warn_only`, `torch.use_deterministic_algorithms(True)`.
"""

from __future__ import annotations

import re

import libcst as cst

from envdoctor.core.facts import FileFacts, Place
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.fixes.python import arguments
from envdoctor.fixes.python.moves import Trees, taken_out
from envdoctor.fixes.python.names import add_import, reference
from envdoctor.fixes.python.spawned import spawned_function, top_of
from envdoctor.fixes.python.start import at_start
from envdoctor.fixes.python.tree import PythonTree
from envdoctor.fixes.workshop import Workshop, unsafe

SWITCH = "torch.use_deterministic_algorithms"
_VALUE = r"False|True|None|-?\d+(?:\.\d+)?|\"[^\"]*\"|torch\.\w+"
_PLAIN = regex(rf"(?:(?P<name>[\w.]+) ?= ?)?(?P<value>{_VALUE})(?:[,;].*)?\Z")
_WITHOUT = regex(r"without (?P<name>\w+)(?:[,;].*)?\Z")
_DEFAULT = regex(r"the default mode\b")
_VARIABLE = regex(r"(?P<name>[A-Z][A-Z0-9_]+)=(?P<value>\S+)")
_MODES = ("mode", "torch_compile_mode")


def put_back(finding: Finding, trees: Trees) -> Fix | None:
    """An option of a call or an attribute, as the help of the finding says."""
    tree = trees(finding.place.path)
    if tree is None:
        return None
    if attribute := _assigned(tree, finding.place):
        wanted = _PLAIN.match(finding.help)
        if wanted is None:
            return None
        name, node = attribute
        return unsafe(f"{name} = {wanted['value']}", Edit(tree.place(node), wanted["value"]))
    call = tree.call_at(finding.place)
    if call is None or arguments.is_spread(call):
        return None
    if finding.help == "without the hook":
        statement = tree.statement_at(finding.place.line)
        small = statement.small() if statement is not None else None
        alone = isinstance(small, cst.Expr) and small.value is call
        return unsafe(f"remove {tree.at(call)}", *taken_out(tree, statement)) if statement and alone else None
    return _in_call(tree, call, finding.help)


def _assigned(tree: PythonTree, place: Place) -> tuple[str, cst.BaseExpression] | None:
    """The attribute that a statement at a place sets, and the value that it gets."""
    statement = tree.statement_at(place.line)
    small = statement.small() if statement is not None else None
    if not isinstance(small, cst.Assign) or not isinstance(small.targets[0].target, cst.Attribute):
        return None
    return tree.at(small.targets[0].target), small.value


def _in_call(tree: PythonTree, call: cst.Call, help_: str) -> Fix | None:
    """A keyword with another value, or taken out; the one argument that has no keyword, with another value."""
    shown = tree.at(call.func)
    if wanted := _PLAIN.match(help_):
        text = wanted["value"]
        if wanted["name"] and "." not in wanted["name"]:
            given = arguments.argument(call, wanted["name"])
            return unsafe(f"{wanted['name']}={text}", arguments.value(tree, given, text)) if given is not None else None
        given = call.args[-1] if call.args and _is_constant(call.args[-1].value) else None
        return unsafe(f"{shown}({text})", arguments.value(tree, given, text)) if given is not None else None
    names = (m["name"],) if (m := _WITHOUT.match(help_)) else _MODES if _DEFAULT.match(help_) else ()
    given = next((a for name in names if (a := arguments.argument(call, name)) is not None), None)
    if given is None or given.keyword is None:
        return None
    return unsafe(f"{shown} without {given.keyword.value}", arguments.removed(tree, call, given))


def _is_constant(node: cst.BaseExpression) -> bool:
    return isinstance(node, (cst.SimpleString, cst.Integer)) or (
        isinstance(node, cst.Name) and node.value in ("True", "False")
    )


def put_in(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """A switch that is absent: a keyword, a variable beside the switch, or the switch itself."""
    del facts
    path = finding.place.path
    if not path.endswith(".py"):
        path = next((r.place.path for r in finding.related if r.place.path.endswith(".py")), "")
    tree = workshop.tree(path) if path else None
    if tree is None:
        return None
    if finding.help == "call it in the spawned function":
        return _in_spawned(finding, tree, workshop.tree)
    if variable := _VARIABLE.match(finding.help):
        return _variable(finding, tree, variable["name"], variable["value"])
    if wanted := re.match(r"(\w+=True);", finding.help):
        call = tree.call_at(finding.place)
        if call is None or arguments.is_spread(call):
            return None
        given = arguments.argument(call, wanted[1].partition("=")[0])
        edit = arguments.value(tree, given, "True") if given is not None else arguments.added(tree, call, wanted[1])
        return unsafe(f"{tree.at(call.func)} with {wanted[1]}", edit)
    return _switch(finding, tree)


def _switch(finding: Finding, tree: PythonTree) -> Fix | None:
    """`torch.use_deterministic_algorithms(True)`, below what covers a part only, else where the program begins."""
    name = reference(tree, SWITCH)
    if name is None:
        return None
    code = f"{name.text}(True)"
    partly = "covers a part only" in finding.message and finding.place.path == tree.path
    statement = tree.statement_at(finding.place.line) if partly else None
    imported = statement is not None and name.bound is not None and name.bound.last < statement.first
    if statement is not None and imported and statement.small() is not None:
        return unsafe(f"add {code}", tree.after(statement, code))
    return at_start(tree, finding.place.line if finding.place.path == tree.path else 0, [(SWITCH, "(True)")])


def _variable(finding: Finding, tree: PythonTree, name: str, value: str) -> Fix | None:
    """A variable set above the switch that it goes with."""
    statement = tree.statement_at(finding.place.line) if finding.place.path == tree.path else None
    known = reference(tree, "os.environ")
    if statement is None or statement.small() is None or known is None:
        return None
    code = f'{known.text}.setdefault("{name}", "{value}")'
    edits = (add_import(tree, known.missing),) if known.missing else ()
    return Fix(f"add {code}", (*edits, tree.before(statement, code)), safe=False)


def _in_spawned(finding: Finding, tree: PythonTree, trees: Trees) -> Fix | None:
    """The switch again, in the function that the spawned ranks run."""
    statement = tree.statement_at(finding.place.line)
    function = spawned_function(finding.related[0].place, trees) if finding.related else None
    small = statement.small() if statement is not None else None
    if function is None or function[0] is not tree or small is None:
        return None
    code = tree.at(small)
    return unsafe(f"add {code} in the spawned function", top_of(tree, function[1], code))
