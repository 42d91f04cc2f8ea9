"""ED303: written into the environment after the library has read it, or on one rank only.

When a variable is read stands in the catalogue (`read_at`); which calls bring a program to that point are the rule's
parameters. Only order that is certain counts: the steps of a program as it runs, with their conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.process.results import LateValue
from envdoctor.analysis.python.program import Step
from envdoctor.analysis.python.programs import holds
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import GIVES, TELLS, judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import Call, FileFacts, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.catalog.model import Variable
from envdoctor.knowledge.rulebook import Rule
from envdoctor.project.files import is_test

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.delivery import Calls, TooLate

_RANK_ZERO = regex(
    r"(?<![\w.])(?:\w+\.)*(?:(?:global_|world_|local_|node_)?rank|get_(?:global_|local_)?rank\(\)|LOCAL_RANK|RANK)(?!\w)"
    r"[\w\"'\])(,. ]{0,20}==\s*[\"']?0\b"
    r"|(?<!not )\bis_(?:main|master|global_zero|local_main)\w*\b(?:\(\))?\s*$",
    re.IGNORECASE,
)
"""A condition that holds on one rank (of the job, or of a node) only."""
_ON_DEVICE = regex(r"\.(?:cuda|to)\(\)|DistributedDataParallel\(\)")
_MODULE = regex(r"torch\.nn\.[\w.]+\(\)")
STAGES = {
    "process-group": "the process group was made", "first-communicator": "the first communicator was made",
    "each-communicator": "the communicator was made", "runtime-init": "the GPU runtime had started",
    "allocator-init": "the allocator had started",
    "first-gemm": "the first matrix product had run", "first-conv": "the first convolution had run",
    "backend-start": "the backend had started",
}  # fmt: skip
"""When a variable is read -> how a finding says that this is over."""
RANKED = (
    "process-group", "first-communicator", "each-communicator", "first-gemm", "first-conv", "runtime-init",
    "allocator-init",
)  # fmt: skip


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Settings that a program writes too late, or on one rank, and those of a script whose ranks run already."""
    reached = {journey.origin.key for journey in context.journeys if journey.reached}
    for late in context.late:
        origin = late.origin
        plain = late.value.text and not (origin.default or origin.likely) and origin.key not in reached
        if plain and judged(origin.name, context, context.path) is not None:
            yield _after_launch(rule, late)
    for facts in context.facts:
        for number, steps in enumerate(context.steps_of(facts)):
            for at, step in enumerate(steps):
                fact = step.fact
                if not isinstance(fact, Setting) or fact.channel != "python-environ" or fact.guarded:
                    continue
                if fact.op not in GIVES or step.path != facts.path:
                    continue
                variable = judged(fact.name, context, facts.path)
                if variable is not None:
                    yield from _judge(rule, variable, steps, at, facts, context, whole=number == 0)


def _judge(
    rule: Rule, variable: Variable, steps: Sequence[Step], at: int, facts: FileFacts, context: LaunchContext, *,
    whole: bool,
) -> Iterator[Finding]:  # fmt: skip
    """`whole`: the steps are those of a whole program, and not of a function that others call."""
    step = steps[at]
    fact = step.fact
    assert isinstance(fact, Setting)
    calls = cast("TooLate", rule.parameters)["calls"]
    if variable.read_at == "process-start":
        if not _for_children(facts, calls["children"]) and not _given_at_start(fact.name, facts, context):
            yield _at_start(rule, fact, variable)
        return
    if any(_is_one_of(s.fact, calls["children"]) for s in steps[at + 1 :]):
        return
    open_end = variable.read_at == "each-communicator" and not whole
    reader = None if open_end else _reader_before(variable.read_at, steps, at, calls)
    if reader is not None:
        yield _late(rule, fact, variable, reader)
    elif variable.read_at in RANKED and not TELLS.search(fact.name) and (why := _one_rank(step, fact, facts)):
        message = f"{fact.name} is set on one rank only ({why}); the others run without it"
        yield finding(rule, place_of(fact), message, fact.name, confidence="medium", help="set it on every rank",
                      evidence=variable.evidence)  # fmt: skip


def _is_one_of(fact: object, names: Sequence[str]) -> bool:
    """Whether a fact is a call by one of some names; `a.*` stands for all of a module, `?.a` for a method."""
    if not isinstance(fact, Call) or fact.kind != "call":
        return False
    name = fact.name
    last = name.rsplit(".", 1)[-1]
    for wanted in names:
        if name == wanted or (wanted.endswith("*") and name.startswith(wanted[:-1])):
            return True
        if wanted.startswith("?.") and last == wanted[2:] and (name[0] == "?" or "()" in name):
            return True
    return False


def _reader_before(stage: str, steps: Sequence[Step], at: int, calls: Calls) -> Call | None:
    """The call before a step by which the library has read the variable for sure; None: there is none."""
    if stage not in STAGES:
        return None
    branch = steps[at].branch
    found: Call | None = None
    nccl = True
    for step in steps[:at]:
        fact = step.fact
        if not isinstance(fact, Call) or not holds(step.branch, branch):
            continue
        if _is_one_of(fact, calls["process-group"]):
            nccl = _uses_nccl(fact)
        if found is None and _reaches(stage, fact, calls) and (nccl or stage not in _OF_NCCL):
            found = fact
    if found is not None and stage == "each-communicator" and _another_follows(steps[at + 1 :], calls):
        return None
    return found


_OF_NCCL = ("process-group", "first-communicator", "each-communicator")


def _reaches(stage: str, call: Call, calls: Calls) -> bool:
    """Whether a call brings the program to the point where variables of a stage are read."""
    if stage == "process-group":
        return _is_one_of(call, calls["process-group"])
    if stage in ("first-communicator", "each-communicator"):
        eager = any(a.keyword == "device_id" and a.text != "None" for a in call.arguments)
        return _is_one_of(call, calls["communicator"]) or (eager and _is_one_of(call, calls["process-group"]))
    if stage in ("first-gemm", "first-conv"):
        forward = call.name.endswith("()") and _MODULE.match(call.name) and _ON_DEVICE.search(call.name)
        wanted = calls["first-gemm"] if stage == "first-gemm" else calls["first-conv"]
        return bool(forward) or _is_one_of(call, wanted)
    if stage in ("runtime-init", "allocator-init"):
        moved = call.name.endswith(".to") and any(_is_device(a.literal) for a in call.arguments)
        started = _is_one_of(call, calls["allocator-init"]) or moved or _on_device(call)
        return started or (stage == "runtime-init" and _is_one_of(call, calls["runtime-init"]))
    return _is_one_of(call, calls["backend-start"])


def _on_device(call: Call) -> bool:
    """A tensor made on the GPU: `torch.ones(4, device="cuda")`."""
    return call.name.startswith("torch.") and call.kind == "call" and any(
        a.keyword == "device" and _is_device(a.literal) for a in call.arguments
    )  # fmt: skip


def _is_device(literal: object) -> bool:
    return isinstance(literal, str) and literal.startswith("cuda")


def _uses_nccl(call: Call) -> bool:
    """Whether a process group may use NCCL: not if it plainly names another back end."""
    given = [a for i, a in enumerate(call.arguments) if a.keyword == "backend" or (a.keyword is None and i == 0)]
    text = given[0].literal if given and given[0].is_literal else None
    return not isinstance(text, str) or "nccl" in text.lower() or text == ""


def _another_follows(steps: Sequence[Step], calls: Calls) -> bool:
    """Another communicator is made later, which reads the variable anew."""
    return any(_is_one_of(s.fact, calls["another"]) or _is_one_of(s.fact, calls["process-group"]) for s in steps)


def _for_children(facts: FileFacts, children: Sequence[str]) -> bool:
    """The file starts itself again, or other interpreters, which then read it."""
    return any(_is_one_of(call, children) for call in facts.calls) or bool(facts.launches)


def _given_at_start(name: str, facts: FileFacts, context: LaunchContext) -> bool:
    """Some launch of the project gives the variable before the interpreter starts; or nothing but tests set it."""
    if is_test(facts.path):
        return True
    return any(
        s.name == name and s.exported == "yes" and s.channel != "python-environ"
        for other in context.files.values() if other.kind != "python" for s in other.settings
    )  # fmt: skip


def _one_rank(step: Step, fact: Setting, facts: FileFacts) -> str:
    """The condition that keeps a setting to one rank; empty where there is none, or where another arm sets it too."""
    for branch in step.branch:
        if branch.arm in ("if", "then", "body", "and") and _RANK_ZERO.search(branch.condition):
            if " or " in branch.condition or _other_arm(branch.id, branch.arm, fact, facts):
                return ""
            return branch.condition
    return ""


def _other_arm(identity: str, arm: str, fact: Setting, facts: FileFacts) -> bool:
    return any(s.name == fact.name and any(b.id == identity and b.arm != arm for b in s.branch) for s in facts.settings)


def _at_start(rule: Rule, fact: Setting, variable: Variable) -> Finding:
    message = f"{fact.name} is read when the interpreter starts: set in the running program it changes nothing"
    help_ = f"export {fact.name} before the program starts, or start it again with os.execv"
    return finding(rule, place_of(fact), message, fact.name, help=help_, evidence=variable.evidence)


def _after_launch(rule: Rule, late: LateValue) -> Finding:
    message = f"{late.origin.name} is exported when all ranks have been started: none of them gets it"
    related = (Related(late.after, "the last ranks are started here", late.origin.name),)
    return finding(rule, late.origin.place, message, late.origin.name, related=related, help="move it above the launch")


def _late(rule: Rule, fact: Setting, variable: Variable, reader: Call) -> Finding:
    message = f"{fact.name} is set after {STAGES[variable.read_at]}: it is not read again"
    related = (Related(reader.place, f"read by then: {reader.name.lstrip('.')}", fact.name),)
    return finding(rule, place_of(fact), message, fact.name, related=related, evidence=variable.evidence)
