"""Seeds put in where a training lacks them (ED401), with the value that its other generators get, else 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import libcst as cst

from envdoctor.analysis.python.timeline import Process, only_rank_zero
from envdoctor.checks.python.patterns import named
from envdoctor.core.facts import Call, FileFacts, Place
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.fixes.python import arguments
from envdoctor.fixes.python.moves import Trees, above_draw, is_call, out_of_branch
from envdoctor.fixes.python.names import add_import, bound, reference
from envdoctor.fixes.python.spawned import can_be_told, spawned_function, top_of
from envdoctor.fixes.python.start import at_start
from envdoctor.fixes.python.training import Training
from envdoctor.fixes.python.tree import PythonTree
from envdoctor.fixes.workshop import Workshop, unsafe

SEED = "0"
"""Any number does; it is there to be seen and changed."""
_CALLS = regex(r"([\w.]+)\(seed\)")
_ALONE = regex(r"([\w.]+)\(seed\) (before it|on every rank|in it)\Z")


RESEEDING = {"a fixed seed, written to the log", "give it a value"}
"""What findings about a seed say that is there and differs from run to run."""
Trainings = Callable[[str], "Training | None"]
"""What is known of the training that a file starts."""


def seed(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """The seed that a finding asks for. One that is there and varies gets its value first."""
    del facts
    if finding.help not in RESEEDING and not RESEEDING.isdisjoint(workshop.helps(finding)):
        return None
    return _seeded(finding, workshop.tree, workshop.training)


def _seeded(finding: Finding, trees: Trees, trainings: Trainings) -> Fix | None:
    tree = trees(finding.place.path)
    if tree is None:
        return None
    if make := _BY_HELP.get(finding.help):
        return make(finding, tree, trees)
    if found := _ALONE.match(finding.help):
        name, how = found.groups()
        if how == "on every rank":
            statement = tree.statement_at(finding.place.line)
            return unsafe("seed on every rank", *(out_of_branch(tree, statement) if statement is not None else ()))
        if how == "in it":
            return _in_spawned(finding, name, trees)
        return _never(finding, name, tree, trees, trainings)
    names = _CALLS.findall(finding.help)
    return _nothing(finding, names, trees, trainings) if names else None


def _nothing(finding: Finding, names: Sequence[str], trees: Trees, trainings: Trainings) -> Fix | None:
    """A training that seeds nothing: where it begins, or in the function that each of its processes runs."""
    path = _entry(finding)
    known = trainings(path)
    function = spawned_function(finding.place, trees, plainly=True)
    if function is not None or (known is not None and _in_other_process(known, finding.place)):
        function = function or spawned_function(finding.place, trees)
        made = [(name, reference(function[0], name)) for name in names] if function is not None else []
        if function is None or any(written is None for _, written in made):
            return None
        tree, statement = function
        imports = [add_import(tree, w.missing) for _, w in made if w is not None and w.missing]
        code = "\n".join(f"{w.text}({SEED})" for _, w in made if w is not None)
        return unsafe(f"add {code} in each process".replace("\n", "; "), *imports, top_of(tree, statement, code))
    entry = trees(path)
    calls = [(name, f"({SEED})") for name in names]
    return at_start(entry, _line_in(finding, entry), calls) if entry is not None else None


def _in_other_process(training: Training, place: Place) -> bool:
    """Whether what draws at a place, or is called there and draws, runs in a process that is started bare."""
    draws = [d for stream in training.streams.values() for d in stream.draws]
    mine = [d for d in draws if place in (d.call.place, d.site)]
    return bool(mine) and all(d.process.kind in ("spawn", "remote") for d in mine)


def _entry(finding: Finding) -> str:
    """The file that starts the training that a finding is about."""
    runs = (r.place.path for r in finding.related if r.message == "the training that runs this")
    return next(runs, finding.place.path)


def _line_in(finding: Finding, entry: PythonTree) -> int:
    """The line that a seed has to stand before, as far as it is in the entry."""
    return finding.place.line if finding.place.path == entry.path else 0


def _never(finding: Finding, name: str, tree: PythonTree, trees: Trees, trainings: Trainings) -> Fix | None:
    """One generator of several has no seed: beside the seed of another one, with the same value."""
    entry = _entry(finding)
    known = trainings(entry)
    seed = _beside(known, name, finding.place) if known is not None else None
    if known is not None and (own := _own_argument(finding, tree, known)):
        return own
    there = trees(seed.place.path) if seed is not None else None
    statement = there.statement_at(seed.place.line) if seed is not None and there is not None else None
    if seed is not None and there is not None and statement is not None and is_call(statement):
        written = reference(there, name)
        if written is not None:
            imports = (add_import(there, written.missing),) if written.missing else ()
            code = f"{written.text}({_fitting(name, seed.arguments[0].text)})"
            return unsafe(f"add {code}", *imports, there.after(statement, code))
    start = trees(entry)
    return at_start(start, _line_in(finding, start), [(name, f"({SEED})")]) if start is not None else None


def _own_argument(finding: Finding, tree: PythonTree, training: Training) -> Fix | None:
    """A call that takes a seed of its own: `train_test_split(x, random_state=0)`."""
    call = tree.call_at(finding.place)
    facts = training.timeline.files.get(finding.place.path)
    name = next((c.name for c in facts.calls if c.place == finding.place), "") if facts is not None else ""
    if call is None or not name or arguments.is_spread(call):
        return None
    keywords = [data["keywords"][0] for data in training.parameters["argument_draw"] if named(name, data["names"])]
    if not keywords or keywords[0] == "generator":
        return None
    given = arguments.argument(call, keywords[0])
    text = f"{keywords[0]}={SEED}"
    return unsafe(text, arguments.value(tree, given, SEED) if given else arguments.added(tree, call, text))


def _beside(training: Training, name: str, draw: Place) -> Call | None:
    """The call that seeds another generator, plainly and before a draw."""
    found = training.streams
    mine = next((s for s in found.values() if str(s.data["call"]).startswith(f"{name}(")), None)
    first = min((d.index for d in mine.draws if d.call.place == draw), default=None) if mine is not None else None
    for stream in found.values():
        for event in (*stream.seeds, *stream.partial):
            plain = named(event.call.name, (*stream.data["seeds"], *stream.data.get("partial", ())))
            late = first is not None and event.index > first
            everywhere = event.ordered and event.process == Process() and not only_rank_zero(event.conditions)
            if plain and everywhere and not late and _has_plain_seed(event.call):
                return event.call
    return None


def _fitting(name: str, value: str) -> str:
    """A seed as a function takes it: NumPy wants 32 bits without a sign."""
    plain = name != "numpy.random.seed" or regex(r"[\w.]+|.*% *2 *\*\* *3[12]").fullmatch(value)
    return value if plain else f"({value}) % 2**32"


def _has_plain_seed(call: Call) -> bool:
    """A seed alone, in code that is there to start a program: not in a method of something that is made by others."""
    if call.scope.kind == "function" and "." in call.scope.name and "seed" not in call.scope.name.lower():
        return False
    return len(call.arguments) == 1 and call.arguments[0].keyword is None and "\n" not in call.arguments[0].text


def _in_spawned(finding: Finding, name: str, trees: Trees) -> Fix | None:
    """A seed in the function that spawned processes run: they start without the parent's."""
    function = spawned_function(finding.place, trees)
    seed = next((r.place for r in finding.related if r.message.startswith("acts in the process")), None)
    if function is None or seed is None:
        return None
    tree, statement = function
    written = reference(tree, name)
    parent = trees(seed.path)
    call = parent.call_at(seed) if parent is not None else None
    if written is None or parent is None or call is None or len(call.args) != 1:
        return None
    value = parent.at(call.args[0].value)
    if not can_be_told(statement, value):
        return None
    imports = (add_import(tree, written.missing),) if written.missing else ()
    code = f"{written.text}({value})"
    return unsafe(f"add {code} in the spawned function", *imports, top_of(tree, statement, code))


def _fixed_value(finding: Finding, tree: PythonTree, trees: Trees) -> Fix | None:
    """A number in place of the clock."""
    del trees
    call = tree.call_at(finding.place)
    if call is None or len(call.args) != 1 or call.args[0].star:
        return None
    return unsafe(f"seed with {SEED}", arguments.value(tree, call.args[0], SEED))


def _some_value(finding: Finding, tree: PythonTree, trees: Trees) -> Fix | None:
    """A number where none is given: `random.seed()`; `torch.seed()` takes none, and has a sister that does."""
    del trees
    call = tree.call_at(finding.place)
    if call is None or len(call.args) > 1 or arguments.is_spread(call):
        return None
    shown = finding.message.split(" ", 1)[0].removesuffix("()")
    if shown == "torch.Generator":
        end = tree.place(call)
        point = Place(tree.path, end.end_line, end.end_column, end.end_line, end.end_column)
        return unsafe(f"seed with {SEED}", Edit(point, f".manual_seed({SEED})"))
    if isinstance(call.func, cst.Attribute) and shown.startswith("torch.") and call.func.attr.value.startswith("seed"):
        name = call.func.attr.value.replace("seed", "manual_seed", 1)
        end = tree.place(call)
        attribute = tree.place(call.func.attr)
        place = Place(tree.path, attribute.line, attribute.column, end.end_line, end.end_column)
        return unsafe(f"{name}({SEED})", Edit(place, f"{name}({SEED})"))
    if call.args and (call.args[0].keyword is None or tree.at(call.args[0].value) == "None"):
        return unsafe(f"seed with {SEED}", arguments.value(tree, call.args[0], SEED))
    return unsafe(f"seed with {SEED}", arguments.added(tree, call, SEED))


def _without_rank(finding: Finding, tree: PythonTree, trees: Trees) -> Fix | None:
    """`seed + rank` without the rank."""
    del trees
    call = tree.call_at(finding.place)
    for given in call.args if call is not None else ():
        if given.keyword is None or given.keyword.value not in ("seed", "random_state"):
            continue
        if re.fullmatch(r"(?i)[\w.]*rank[\w.]*(?:\(\))?", tree.at(given.value)):
            return unsafe("the same seed on all ranks", arguments.value(tree, given, SEED))
        sides = _sides(given.value)
        kept = [side for side in sides if not re.search(r"(?i)rank|process_index", tree.at(side))]
        if len(sides) == 2 and len(kept) == 1:
            return unsafe("the same seed on all ranks", arguments.value(tree, given, tree.at(kept[0])))
    return None


def _sides(node: cst.BaseExpression) -> tuple[cst.BaseExpression, ...]:
    plus = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add)
    return (node.left, node.right) if isinstance(node, cst.BinaryOperation) and plus else ()


def _seed_first(finding: Finding, tree: PythonTree, trees: Trees) -> Fix | None:
    del tree
    return unsafe("seed before the first draw", *above_draw(finding, trees))


def _set_epoch(finding: Finding, tree: PythonTree, trees: Trees) -> Fix | None:
    """The epoch told to the sampler, first thing in the one loop over epochs."""
    del trees
    call = tree.call_at(finding.place)
    statement = tree.statement_at(finding.place.line)
    small = statement.small() if statement is not None else None
    if call is None or statement is None or not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    if not isinstance(target, cst.Name) or not isinstance(small.value, cst.Call):
        return None
    name = target.value if small.value is call else f"{target.value}.sampler"
    if small.value is not call and arguments.argument(small.value, "sampler") is None:
        return None
    later = (s for s in tree.statements(statement.block) if s.first > statement.last)
    loops = [s for s in later if isinstance(s.node, cst.For) and "epoch" in tree.at(s.node.target)]
    loop = loops[0].node if len(loops) == 1 and loops[0].blocks else None
    if not isinstance(loop, cst.For) or not isinstance(loop.target, cst.Name):
        return None
    code = f"{name}.set_epoch({loop.target.value})"
    return unsafe(f"add {code}", tree.before(loops[0].blocks[0].statements[0], code))


def _worker_seed(finding: Finding, tree: PythonTree, trees: Trees) -> Fix | None:
    """Workers that seed NumPy from the seed that torch gives to each."""
    del trees
    call = tree.call_at(finding.place)
    statement = tree.statement_at(finding.place.line)
    numpy, torch = reference(tree, "numpy.random.seed"), reference(tree, "torch.initial_seed")
    free = reference(tree, "seed_worker")
    if call is None or statement is None or numpy is None or torch is None or free is None or free.bound is not None:
        return None
    outer = tree.outer(statement)
    if any(name.bound is None or name.bound.last >= outer.first for name in (numpy, torch)):
        return None
    space = "\n" if outer.block.owner is None else ""
    code = f"def seed_worker(worker_id):\n    {numpy.text}({torch.text}() % 2**32)\n\n"
    above = tree.before(outer, code.rstrip("\n"))
    added = arguments.added(tree, call, "worker_init_fn=seed_worker")
    return unsafe("seed NumPy in each worker", Edit(above.place, f"{above.text}{space}\n"), added)


def _split_key(finding: Finding, tree: PythonTree, trees: Trees) -> Fix | None:
    """A key of its own for the second draw: `key, subkey = jax.random.split(key)` above it."""
    del trees
    call = tree.call_at(finding.place)
    statement = tree.statement_at(finding.place.line)
    split = reference(tree, "jax.random.split")
    given = arguments.argument(call, "key", 0) if call is not None else None
    if given is None or statement is None or statement.small() is None or split is None or split.bound is None:
        return None
    if not isinstance(given.value, cst.Name) or "subkey" in bound(tree.module):
        return None
    code = f"{given.value.value}, subkey = {split.text}({given.value.value})"
    return unsafe(f"add {code}", tree.before(statement, code), arguments.value(tree, given, "subkey"))


Make = Callable[[Finding, PythonTree, Trees], "Fix | None"]
_BY_HELP: dict[str, Make] = {
    "a fixed seed, written to the log": _fixed_value,
    "give it a value": _some_value,
    "give it a seed": _some_value,
    "the same seed on all ranks": _without_rank,
    "seed first, then build and draw": _seed_first,
    "call set_epoch(epoch) at the start of each epoch": _set_epoch,
    "jax.random.split the key before each use": _split_key,
    "worker_init_fn that seeds NumPy from torch.initial_seed(), and a seeded generator": _worker_seed,
}
