"""Where a walk begins: roots with what they are given, steps after one another, programs that start others."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.analysis.process import edges
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.interpreter import crossing, variables
from envdoctor.analysis.process.interpreter.notes import SHELL_WRITES
from envdoctor.analysis.process.interpreter.slots import Alternative, Loss, ValueOrigin, excludes
from envdoctor.analysis.process.interpreter.state import Shell, ShellProcess
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.interpreter.walker import MOST_IN_ALL, Walker
from envdoctor.analysis.process.job_values import job_values
from envdoctor.analysis.process.results import EndedRoot, LateValue, RankStart
from envdoctor.analysis.references.paths import folder
from envdoctor.core.facts import Place, Setting
from envdoctor.readers.kinds import kind_of

MOST_PROGRAMS = 2
"""Callers of one program in Python that are each gone through, for what it starts itself."""
IMAGES = ("image", "build")
STARTED_WITH = ("container", "service")
"""Roots whose file says what this one process is started with; an image, or CI, gives defaults to whatever runs."""
_NOWHERE = Place("", 1, 1, 1, 1)
_OUTSIDE = {
    ("argument", "image"): Loss(
        "build", _NOWHERE, "an argument of the build",
        "it is an argument of the build, which the container does not get", "ENV {name}=...", "medium",
    ),
    ("python-environ", "program"): Loss(
        "not-forwarded", _NOWHERE, "an environment of its own",
        "the ranks are started with an environment of their own, which leaves it out", "env={{**os.environ, ...}}",
    ),
    ("env-file", "container"): Loss(
        "not-forwarded", _NOWHERE, "docker compose",
        "docker compose only fills in ${...} from .env, and hands on what the service names", "environment: - {name}",
        "medium", ("compose specification: environment files, interpolation",),
    ),
}  # fmt: skip
"""What a file sets by a channel, and a process of some kind does not get: how that is said."""
_ENDED = {
    "step": "a step of its own", "build": "a layer of the image, whose shell ends with it",
    "recipe": "a line of a recipe, which has a shell of its own", "cell": "a shell that ends with the line",
}  # fmt: skip


def begin(walker: Walker, root: Root, previous: Shell | None = None) -> Shell | None:
    """Run a root; the shell at its end is given back. `previous` is that of the step before."""
    if walker.operations >= MOST_IN_ALL:
        walker.notes.bound("operations of the scan", root.path)
        return None
    walker.began(root)
    place = Place(root.path, root.line, 1, root.line, 1)
    shell = Shell(ShellProcess(root.kind, place, 0, job=root.devices), root.path)
    if previous is not None:
        _after(shell, previous)
    count = walker.count
    after = run_root(walker, root, shell)
    if after is not None:
        if root.kind in ("script", "job"):
            ended(walker, after, count)
        _uncalled(walker, after)
        if walker.count == count:
            walker.notes.ends.append(EndedRoot(root, after.told()))
    return after


def run_root(walker: Walker, root: Root, shell: Shell) -> Shell | None:
    """Give a shell what a root has, and run its script."""
    if not root.over:
        _files(walker, root, shell)
    shell.remembered.update(root.remembers)
    for setting in root.settings:
        variables.give(walker, setting, shell, "manifest" if root.kind in STARTED_WITH else root.kind)
    if root.over:
        _files(walker, root, shell)
    if not root.exact and root.kind in ("container", "service"):
        shell.open = True
    if not root.exact and root.kind == "program":
        variables.may_lack(shell)
    if root.kind in IMAGES and (facts := walker.project.facts.whole(root.path)) is not None:
        shell.copied = walker.project.references.copied(facts)
    _header(walker, root, shell)
    for setting in root.unexported:
        _meant(walker, root, setting, shell)
    if root.beside:
        _beside(walker, root, shell)
    if root.script is None:
        return shell
    shell.path = root.path
    return walker.run_file(root.path, root.script.body, shell, "process")


def _files(walker: Walker, root: Root, shell: Shell) -> None:
    for inclusion in root.env_files:
        path = walker.project.references.find(inclusion.target, folder(root.path), {})
        if path is not None:
            variables.load(walker, path, shell)
        else:
            variables.may_have_more(shell)


def _meant(walker: Walker, root: Root, setting: Setting, shell: Shell) -> None:
    """A setting of the file that its author may have meant for the process, and that never gets there."""
    if not walker.is_known(setting.name) or setting.name in shell.visible:
        return
    place = setting.name_place or setting.place
    value = setting.value.known
    origin = ValueOrigin(setting.name, place, "manifest", 0, setting.op == "default" and setting.channel != "argument")
    one = Alternative("literal" if value is not None else "unknown", value or "", "no", (origin,))
    what = f"a variable of {kind_of(setting.place.path) or 'the file'} itself"
    loss = _OUTSIDE.get((setting.channel, root.kind), Loss("not-exported", place, what))
    shell.lose(setting.name, (one,), loss._replace(place=shell.process.place))


def _beside(walker: Walker, root: Root, shell: Shell) -> None:
    """What stands in a file that only fills in the one that the process is started from, and is not asked for there."""
    facts = walker.project.facts.whole(root.beside)
    text = walker.project.files.text(root.path) if facts is not None else ""
    for setting in facts.settings if facts is not None else ():
        if setting.name not in text:
            _meant(walker, root, setting, shell)


def _header(walker: Walker, root: Root, shell: Shell) -> None:
    """Directives in the head of a job: they count as flags of the command that submits it."""
    if root.kind != "job" or root.script is None:
        return
    for found in crossing.headers(walker, root.script.body, shell):
        shell.process = shell.process._replace(job=(*shell.process.job, *job_values(found, shell.process.place)))
        crossed = edges.cross(found, crossing.surroundings(walker, shell))
        shell.remembered.update(crossed.remembers)
        for given in crossed.gives:
            crossing.give(walker, shell, given, {}, found.name, given.name.used)


def _after(shell: Shell, previous: Shell) -> None:
    """What the step before had exported, and this one does not get."""
    kind = previous.process.kind
    loss = Loss(kind, previous.process.place, _ENDED.get(kind, "a shell of its own"))
    for name, slot in previous.visible.items():
        gone = [a for a in slot if a.exported == "yes" and any(o.operation == "export" for o in a.origins)]
        shell.lose(name, gone, loss)
    for name, pairs in previous.lost.items():
        for alternative, before in pairs:
            if before.kind == kind:
                shell.lose(name, (alternative,), before)


def _uncalled(walker: Walker, shell: Shell) -> None:
    """Functions that nobody calls: what they start is told as a hint."""
    walker.hinting = True
    for function in list(shell.functions.values()):
        if function not in walker.entered and function.path == shell.script and walker.operations < walker.limit:
            inner = shell.copy()
            inner.in_function, inner.arguments = True, None
            with walker.exiting(), walker.within(function):
                walker.run(function.body, inner)
    walker.hinting = False


def _emptied(shell: Shell, place: Place) -> None:
    """A process that a program starts with an environment of its own."""
    for name, slot in shell.visible.items():
        shell.lose(name, slot, _OUTSIDE["python-environ", "program"]._replace(place=place))
    shell.visible = {}


def _loads_file(walker: Walker, path: str) -> bool:
    """Whether a program reads a file of variables into its environment itself (python-dotenv)."""
    facts = walker.project.facts.whole(path)
    return facts is not None and any(call.name.endswith("load_dotenv") for call in facts.calls)


def program(walker: Walker, shell: Shell, place: Place, name: str, path: str, arguments: Sequence[Text]) -> None:
    """A Python program starts: a rank, and what it starts itself gets what it has."""
    if path and _loads_file(walker, path):
        variables.may_have_more(shell)
    walker.rank(shell, place, name, path, arguments)
    if not path or not walker.may_enter(path) or walker.contexts.get(path, 0) >= MOST_PROGRAMS:
        return
    walker.contexts[path] = walker.contexts.get(path, 0) + 1
    for root in walker.roots_of(path):
        if root.script is not None:
            inner = shell.copy()
            if not root.inherits:
                _emptied(inner, place)
            inner.process = inner.process._replace(callers=(*inner.process.callers, place))
            run_root(walker, root, inner)


# The end of a script that has started ranks: what it has exported since reaches nobody


def ended(walker: Walker, shell: Shell | None, count: int) -> None:
    """Note what a script has exported behind its last launch. `count` is how many ranks there were when it began."""
    if shell is None or walker.count == count or shell.open:
        return
    mine = [start for start in walker.notes.starts[count - walker.count :] if start.number > count]
    for name, slot in shell.visible.items():
        for alternative in slot:
            after = _last_before(walker, alternative, mine)
            if after is not None and not any(start.visible.get(name) for start in mine):
                walker.notes.late[LateValue(alternative.origins[0], alternative, after.place)] = None


def _last_before(walker: Walker, value: Alternative, starts: list[RankStart]) -> RankStart | None:
    """The last launch before a value that no program has seen; None: some may have, or nothing was launched before."""
    origin = value.origins[0] if value.origins else None
    if origin is None or value.exported != "yes" or value.kind != "literal" or origin.operation not in SHELL_WRITES:
        return None
    if walker.bound_at.get(origin.key) != (walker.count, walker.programs):
        return None
    before = (start for start in reversed(starts) if not excludes(value.guard, start.guard))
    return next(before, None)
