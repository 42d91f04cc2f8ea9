"""What a level needs of the collectives and a launch leaves to the library: one finding a script, with the block.

What a level needs is data (`rules/levels/`), and so is what shows that a program has ranks (the rule's parameters).
Whatever may set a name for the launch counts as setting it: a miss costs less than a false alarm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from envdoctor.analysis.process.results import RankStart
from envdoctor.analysis.python.timeline import MAIN, Timeline
from envdoctor.checks import context as checks
from envdoctor.checks.findings import finding
from envdoctor.checks.python.patterns import events_named
from envdoctor.core.facts import Branch, Call, FileFacts, Place, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.core.target import UNKNOWN, Target
from envdoctor.knowledge.intent import asking, command_asks
from envdoctor.knowledge.levels import Demand, LevelNeed, Levels, is_met, load_levels
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.levels import MissingSettings

GIVES = ("set", "default", "append", "pass")
SWITCHES = {"torch.use_deterministic_algorithms", "torch.set_deterministic_debug_mode"}
IMAGES = ("dockerfile", "env-file", "envfile")
ATTRIBUTE = regex(r"\b(?:args|opts?|options|cfg|config|hparams|params|FLAGS)\.(\w+)")
"""An option of the command line, as a condition asks for it."""


@dataclass(slots=True)
class JudgedLaunch:
    """A program with ranks as a unit starts it: at `place`, with these words, timelines and settings.

    `certain` is False where something that is not in the tree may set more.
    """

    place: Place
    words: tuple[str, ...] = ()
    timelines: list[Timeline] = field(default_factory=list)
    settings: dict[str, str | None] = field(default_factory=dict)
    intent: Place | None = None
    certain: bool = True
    in_shell: bool = True


def check(rule: Rule, context: checks.LaunchContext) -> Iterator[Finding]:
    """The first launch of a script that lacks something; a program that nothing here launches counts as one."""
    if context.entry_points is None:
        return
    done: set[str] = set()
    for start in context.starts:
        if start.place.path not in done and not start.hint and not start.opaque:
            job = _launched(rule, context, start)
            found = _judged(rule, context, job, start.place.path) if job is not None else None
            if found is not None:
                done.add(start.place.path)
                yield found
    launched = {start.path for start in context.walked.starts}
    for facts in context.facts:
        if facts.kind in PYTHON and facts.path not in launched:
            yield from _unlaunched(rule, context, facts)


def _parameters(rule: Rule) -> MissingSettings:
    return cast("MissingSettings", rule.parameters)


def _launched(rule: Rule, context: checks.LaunchContext, start: RankStart) -> JudgedLaunch | None:
    """A launch whose program is here, or whose framework wants something; None: it is neither."""
    words = start.chain[-1].words if start.chain else ()
    demanded = bool(_demands(words, load_known(), {}, context, start.place.path))
    entry_points = context.entry_points
    if entry_points is None:
        return None
    started = [p for p in entry_points.launched(words, start.place.path) if _has_ranks(p, start, rule)]
    return _job(context, start, started) if started or demanded else None


def _unlaunched(rule: Rule, context: checks.LaunchContext, facts: FileFacts) -> Iterator[Finding]:
    """A program with ranks that nothing in the tree launches."""
    timeline = context.entry_points.timeline(facts) if context.entry_points is not None else None
    place = _ranks_place(timeline, _parameters(rule)["ranks"]) if timeline is not None else None
    if timeline is None or place is None:
        return
    job = _own_job(timeline, place, _around(context, {facts.path}), context, facts.path)
    found = _judged(rule, context, job, facts.path)
    if found is not None:
        yield found


@lru_cache(maxsize=1)
def load_known() -> Levels:
    """The needs of levels, loaded once."""
    return load_levels()


def _job(context: checks.LaunchContext, start: RankStart, timelines: list[Timeline]) -> JudgedLaunch:
    words = start.chain[-1].words if start.chain else ()
    paths = _paths(context, start)
    before = _around(context, paths)
    settings = [*_images(context), *_written_in(timelines)]
    job = JudgedLaunch(start.place, words, timelines, {**_values(settings), **_seen(start)})
    job.intent = _asked_at(context, before, timelines, words)
    if job.intent is None and command_asks(words):
        job.intent = start.place
    job.certain = not any(context.walked.missing.get(path) for path in paths)
    job.in_shell = start.root.kind in ("script", "job")
    return job


def _paths(context: checks.LaunchContext, start: RankStart) -> set[str]:
    """The files on the way to a launch."""
    found = {start.root.path, start.place.path, *(place.path for place in start.callers)}
    for path in sorted(found):
        found.update(context.walked.sourced.get(path, ()))
    return found


def _around(context: checks.LaunchContext, paths: set[str]) -> list[Setting]:
    """All settings of some files, and of images and env files of the project."""
    files = (context.files.get(path) for path in sorted(paths))
    return [*(s for facts in files if facts is not None for s in facts.settings), *_images(context)]


def _images(context: checks.LaunchContext) -> list[Setting]:
    return [s for facts in context.files.values() if facts.kind in IMAGES for s in facts.settings]


def _seen(start: RankStart) -> dict[str, str | None]:
    """What the ranks see, or would see if it were not lost on the way: of that another rule speaks."""
    found: dict[str, str | None] = dict.fromkeys(start.lost)
    for name, slot in start.visible.items():
        if all(a.kind == "unset" for a in slot):
            continue
        values = {a.text if a.kind == "literal" else None for a in start.slot(name)}
        found[name] = values.pop() if len(values) == 1 else None
    return found


def _own_job(
    timeline: Timeline, place: Place, before: Sequence[Setting], context: checks.LaunchContext, path: str
) -> JudgedLaunch:
    """A program that nothing in the tree launches: who does may set anything, so at `auto` it is a hint."""
    settings = [*before, *_written_in([timeline])]
    job = JudgedLaunch(
        place, (), [timeline], _values(settings), _asked_at(context, before, [timeline], ()), in_shell=False
    )
    job.certain = context.level_of(path) != "auto"
    return job


def _written_in(timelines: Iterable[Timeline]) -> list[Setting]:
    return [setting for timeline in timelines for facts in timeline.files.values() for setting in facts.settings]


def _values(settings: Iterable[Setting]) -> dict[str, str | None]:
    """The value of each name that is given; None where it is not known or given in several ways."""
    found: dict[str, str | None] = {}
    for setting in settings:
        if setting.op not in GIVES or setting.guarded:
            continue
        value = setting.value.known if setting.op in ("set", "default") else None
        found[setting.name] = value if found.get(setting.name, value) == value else None
    return found


def _asked_at(
    context: checks.LaunchContext, settings: Iterable[Setting], timelines: Iterable[Timeline], words: Sequence[str]
) -> Place | None:
    """Where determinism is asked for by more than seeds, and not only under a condition that nothing here meets."""
    options = {word.partition("=")[0].lstrip("-").replace("-", "_") for word in words if word.startswith("--")}
    for timeline in timelines:
        for event in context.shared.intents.of(timeline).events:
            if _meets(event.conditions, options):
                return event.call.place
        run = {event.function.name for event in timeline.events if event.function is not None}
        for setting in context.shared.intents.of(timeline).settings:
            if _meets(setting.branch, options) and (setting.scope.kind != "function" or setting.scope.name in run):
                return setting.place
    return next((s.place for s in asking(settings) if _meets(s.branch, options)), None)


def _meets(conditions: Iterable[Branch], options: set[str]) -> bool:
    """Whether conditions hold as far as can be told: those that ask for an option do where the command gives it."""
    return all(
        MAIN.search(c.condition) or (c.arm == "if" and not options.isdisjoint(ATTRIBUTE.findall(c.condition)))
        for c in conditions
    )  # fmt: skip


def _has_ranks(timeline: Timeline, start: RankStart, rule: Rule) -> bool:
    """Whether a program that a command starts has several ranks that talk through NCCL or RCCL."""
    parameters = _parameters(rule)
    names = list(parameters["ranks"])
    if set(start.launchers) & set(parameters["launchers"]):
        names += parameters["launched_ranks"]
    words = start.chain[-1].words if start.chain else ()
    return not _is_single(words, parameters) and _ranks_place(timeline, names) is not None


def _ranks_place(timeline: Timeline, names: Sequence[str]) -> Place | None:
    """The call that makes ranks; None where there is none, or they talk through another library."""
    calls = [event.call for event in events_named(timeline, names) if event.call.kind == "call"]
    if any(_other_backend(call) for call in calls):
        return None
    return calls[0].place if calls else None


def _other_backend(call: Call) -> bool:
    """`init_process_group("gloo")` and the like: no word of nccl in a backend that is written out."""
    if not call.name.endswith("init_process_group"):
        return False
    given = [a for i, a in enumerate(call.arguments) if a.keyword == "backend" or (a.keyword is None and i == 0)]
    return any(isinstance(a.literal, str) and "nccl" not in a.literal.lower() for a in given)


def _is_single(words: Sequence[str], parameters: MissingSettings) -> bool:
    """Whether a command plainly starts one process."""
    counts = list(_values_after(words, parameters["counts"]))
    nodes = list(_values_after(words, parameters["nodes"]))
    return bool(counts) and all(value == "1" for value in (*counts, *nodes))


def _values_after(words: Sequence[str], flags: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in flags and (equals or index + 1 < len(words)):
            yield value if equals else words[index + 1]


def _level(asked: str, job: JudgedLaunch) -> str:
    if asked != "auto":
        return asked
    return "run-to-run" if job.intent is not None else "hygiene"


def _judged(rule: Rule, context: checks.LaunchContext, job: JudgedLaunch, path: str) -> Finding | None:
    """The finding about a job, if its level lacks something; what nobody has examined is a hint."""
    levels = load_known()
    level = _level(context.level_of(path), job)
    calls = _calls(job.timelines, context)
    missing = levels.open(level, _plain(context.target_of(path)), job.settings, calls) if job.timelines else []
    demands = _demands(job.words, levels, job.settings, context, path)
    plain = [need for need in missing if not need.weak and not need.unexamined]
    if plain or demands:
        closed: list[LevelNeed | Demand] = [*demands, *(need for need in missing if not need.unexamined)]
        hint = not job.certain and not demands
        return _finding(rule, context, job, level, closed, hint, path)
    hidden = [need for need in missing if need.unexamined]
    return _finding(rule, context, job, level, hidden, True, path) if hidden else None


def _plain(target: Target) -> Target:
    """The target, with its platform only if what the program runs on makes it plain."""
    return target if target.plain else UNKNOWN


def _calls(timelines: Iterable[Timeline], context: checks.LaunchContext) -> set[str]:
    """The names of all calls; of torch's switches, only if they are on."""
    found: set[str] = set()
    for timeline in timelines:
        found |= {event.call.name for event in timeline.events if event.call.kind == "call"} - SWITCHES
        if "torch" in context.shared.intents.of(timeline).switches:
            found.add("torch.use_deterministic_algorithms")
    return found


def _demands(
    words: Sequence[str], levels: Levels, settings: Mapping[str, str | None], context: checks.LaunchContext, path: str
) -> list[Demand]:
    """What a framework's own arguments want of the collectives and the settings do not give."""
    return [
        demand for demand in levels.demands
        if demand.argument in words
        and any(re.search(program, word) for program in demand.programs for word in words)
        and not is_met(demand.met, settings, (), context.target_of(path))
    ]  # fmt: skip


def _finding(
    rule: Rule,
    context: checks.LaunchContext,
    job: JudgedLaunch,
    level: str,
    missing: Sequence[LevelNeed | Demand],
    hint: bool,
    path: str,
) -> Finding:
    plain = [need for need in missing if not (isinstance(need, LevelNeed) and need.weak)]
    lacks = "; ".join(dict.fromkeys(need.lacks for need in plain))
    more: dict[str, Any] = {"help": _help(rule, job, missing, context, path)}
    more["evidence"] = tuple(dict.fromkeys(e for need in missing for e in need.evidence)) or rule.evidence
    if job.intent is not None and job.intent != job.place:
        more["related"] = (Related(job.intent, "determinism is asked for here"),)
    if hint:
        more |= {"severity": "info", "confidence": "low"}
    return finding(rule, job.place, f"at level {level} this launch leaves open: {lacks}", **more)


def _help(
    rule: Rule, job: JudgedLaunch, missing: Sequence[LevelNeed | Demand], context: checks.LaunchContext, path: str
) -> str:
    """The block to paste, in one line; the rule's own words where no setting helps."""
    lines = load_known().paste(missing, _plain(context.target_of(path)))
    if not lines:
        ordered = any(need.id == "ordered-reduction" for need in missing)
        return "an ordered reduction: docs/ordered-reduction.md" if ordered else rule.fix
    block = " ".join(f"{line.name}={line.value}" for line in lines)
    return f"export {block}" if job.in_shell else f"set in the environment of all ranks: {block}"
