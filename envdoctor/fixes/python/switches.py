"""Switches of frameworks that a repeatable run needs put in (ED501), and options that cost it put back (ED502).

What is to be written stands in the help of the finding, as the rule gives it: `benchmark=False`, `False`,
`without warn_only`, `torch.use_deterministic_algorithms(True)`.
"""

from __future__ import annotations

import re

import libcst as cst

from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.fixes.python import arguments
from envdoctor.fixes.python.moves import Trees, start_of, taken_out
from envdoctor.fixes.python.moves import calls as calls_name
from envdoctor.fixes.python.names import add_import, reference
from envdoctor.fixes.python.spawned import spawned_function, top_of
from envdoctor.fixes.python.tree import PythonTree, TreeStatement, unsafe

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


def put_in(finding: Finding, trees: Trees) -> Fix | None:
    """A switch that is absent: a keyword, a variable beside the switch, or the switch itself."""
    path = finding.place.path
    if not path.endswith(".py"):
        path = next((r.place.path for r in finding.related if r.place.path.endswith(".py")), "")
    tree = trees(path) if path else None
    if tree is None:
        return None
    if finding.help == "call it in the spawned function":
        return _in_spawned(finding, tree, trees)
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


def at_start(tree: PythonTree, first: int, calls: list[tuple[str, str]]) -> Fix | None:
    """Calls where the program begins, with the imports that they need. `first`: the line that they must come before."""
    names = [reference(tree, dotted) for dotted, _ in calls]
    if not tree.top.statements or any(name is None for name in names):
        return None
    known = [name for name in names if name is not None]
    target, below = start_of(tree, first)
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


def environment(finding: Finding, settings: list[tuple[str, str]], trees: Trees) -> Fix | None:
    """Variables given where a program begins, unless the environment has them."""
    tree = trees(finding.place.path)
    calls = [("os.environ", f'.setdefault("{name}", "{value}")') for name, value in settings]
    return at_start(tree, finding.place.line, calls) if tree is not None and calls else None


def by_rank(finding: Finding, trees: Trees) -> Fix | None:
    """A seed that differs by rank, for a test that all ranks have to see."""
    tree = trees(finding.place.path)
    call = tree.call_at(finding.place) if tree is not None else None
    if tree is None or call is None or len(call.args) != 1 or finding.help != "seed + rank for the inputs":
        return None
    statement = tree.statement_at(finding.place.line)
    rank = reference(tree, "torch.distributed.get_rank")
    if statement is None or rank is None or rank.bound is None or not tree.at(call.func).endswith("seed"):
        return None
    earlier = statement.block.statements[: statement.index]
    if not any(calls_name(s.node, "init_process_group") for s in earlier):
        return None
    given = tree.at(call.args[0].value)
    value = f"{rank.text}()" if given == "0" else f"{given} + {rank.text}()"
    return unsafe(f"seed with {value}", arguments.value(tree, call.args[0], value))
