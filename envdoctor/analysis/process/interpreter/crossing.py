"""What a process hands to the one that it starts: what a shell exports, and what a launcher makes of that."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence

from envdoctor.analysis.process import edges
from envdoctor.analysis.process.interpreter import assign, expand, variables
from envdoctor.analysis.process.interpreter.slots import (
    UNSET,
    Alternative,
    Exported,
    Known,
    Loss,
    Slot,
    ValueOrigin,
    is_there,
    perhaps,
)
from envdoctor.analysis.process.interpreter.state import Shell, ShellProcess, Starter
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.analysis.process.results import Mistaken
from envdoctor.analysis.references.paths import folder
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.find import Invocation, directives, headed, with_header

_HOST = regex(r"^[ \t]*[^#\s]", 8)
_NAMED = regex(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=", 8)


def forked(shell: Shell, what: str, place: Place, kind: str = "process") -> Shell:
    """A process that starts from what the shell exports; what it does not export is lost here."""
    process = shell.process
    child = Shell(ShellProcess(kind, place, process.layer + 1, process.chain, process.callers, process.job), shell.path)
    child.script = shell.script
    child.guard = shell.guard
    child.writes = shell.writes.copy()
    child.lost = shell.lost.copy()
    child.open = shell.open
    child.copied = shell.copied
    child.files = shell.files.copy()
    child.remembered = shell.remembered.copy()
    if "export -f" in shell.options:
        child.functions, child.options = shell.functions.copy(), frozenset(("export -f",))
    loss = Loss("not-exported", place, what)
    for name, whole in shell.visible.items():
        if len(whole) == 1:
            only = whole[0]
            if only.exported == "yes" and only.kind != "unset":
                child.visible[name] = whole
                continue
            if only.exported == "no" and not only.origins and name not in shell.frames:
                continue  # a variable of the script alone, which nobody misses
        slot = _uncovered(shell, name, shell.held(name) or ())
        if all(a.exported == "yes" and a.kind != "unset" for a in slot):
            child.visible[name] = slot
            continue
        there = [a for a in slot if a.arrives]
        absent = [UNSET._replace(guard=a.guard) for a in slot if a.kind == "unset" or a.exported != "yes"]
        kept = (*there, *dict.fromkeys(absent))
        if any(a.kind != "unset" for a in kept):
            child.visible[name] = kept
        gone = [a for a in slot if a.exported == "no"]
        child.lose(name, gone, loss)
    return child


def _uncovered(shell: Shell, name: str, slot: Slot) -> Slot:
    """What children see of a name: that which an empty `local` hides from the function alone."""
    if not any(a.kind == "unset" and a.exported != "no" for a in slot):
        return slot
    if name in shell.frames:
        return (*(a for a in slot if a.kind != "unset"), *(shell.frames[name] or (UNSET,)))
    if name in shell.above:
        return (*(a for a in slot if a.kind != "unset"), Alternative("unknown", f"${name}", "maybe"), UNSET)
    return slot


def cross(
    walker: Walker, child: Shell, found: Invocation[Text], part: int, starter: Starter | None, place: Place
) -> None:
    """Change a process by what the launcher does with its environment."""
    if starter is not None:
        under(child, starter)
    crossing = edges.cross(found, surroundings(walker, child), part)
    if child.process.kind != "wrapper":  # what somebody unknown starts stays unsure
        child.process = child.process._replace(kind=crossing.kind or child.process.kind)
    for flag in crossing.mistaken:
        mistake = Mistaken(found.name, flag.how, flag.flag, flag.name, flag.word.text, flag.says, place,
                           flag.word.place(), crossing.evidence)  # fmt: skip
        walker.notes.mistaken[mistake] = None
    touched = found.row.state or crossing.daemon
    own = touched in walker.daemons and crossing.start == "daemon"
    if own:
        crossing.unknown = crossing.unknown or f"{touched} may have been started by this script"
    if found.row.state or crossing.begins:
        walker.daemons.add(touched)
    apply(walker, child, crossing, found.name, place)
    if own:
        variables.may_have_more(child)


def under(child: Shell, starter: Starter) -> None:
    """One more link of the chain."""
    child.process = child.process._replace(chain=(*child.process.chain, starter))


def apply(walker: Walker, child: Shell, crossing: edges.Crossing[Text], name: str, place: Place) -> None:
    """Take over what a crossing says, in the order that `edges` gives."""
    inherited = dict(child.visible)
    if crossing.unknown:
        variables.may_lack(child)
    elif crossing.start != "caller":
        _drop_all(child, crossing, name, place)
    for pattern in crossing.drops:
        _drop(child, pattern, crossing, name, place)
    for prefix in crossing.renames:
        _rename(child, prefix, inherited)
    for file in crossing.reads:
        _read(walker, child, file)
    for given in crossing.gives:
        give(walker, child, given, inherited, name, place)
    for value in crossing.sets:
        _set(child, value)
    for reset in crossing.resets:
        child.bind(reset, (Alternative("unknown", "", "yes"),))
    child.remembered.update(crossing.remembers)
    if crossing.more:
        variables.may_have_more(child)


def _loss(crossing: edges.Crossing[Text], name: str, place: Place) -> Loss:
    said = f"{name} {crossing.says}" if crossing.says else name
    return Loss("not-forwarded", place, name, said, crossing.remedy, crossing.sure, tuple(crossing.evidence[:3]))


def _drop_all(child: Shell, crossing: edges.Crossing[Text], name: str, place: Place) -> None:
    """All that the started process does not get."""
    loss = _loss(crossing, name, place)
    for held in list(child.visible):
        if not _kept(held, crossing.keeps):
            child.lose(held, child.held(held) or (), loss)
            del child.visible[held]


def _kept(name: str, keeps: Sequence[str]) -> bool:
    return any(name == kept or (kept.endswith("*") and name.startswith(kept[:-1])) for kept in keeps)


def _drop(child: Shell, pattern: str, crossing: edges.Crossing[Text], name: str, place: Place) -> None:
    for held in [held for held in child.visible if _kept(held, (pattern,))]:
        child.lose(held, child.held(held) or (), _loss(crossing, name, place))
        del child.visible[held]


def _rename(child: Shell, prefix: str, inherited: dict[str, Slot]) -> None:
    """`APPTAINERENV_A` arrives as A."""
    for held, slot in inherited.items():
        if held.startswith(prefix) and len(held) > len(prefix):
            child.bind(held[len(prefix) :], slot)
            child.lost.pop(held[len(prefix) :], None)


def _set(child: Shell, value: edges.LauncherValue) -> None:
    held = child.held(value.name)
    if value.wins == "under" and held is not None and is_there(held):
        return
    kind: Known = "literal" if value.value is not None else "unknown"
    child.bind(value.name, (Alternative(kind, value.value or "", "yes"),))


def give(
    walker: Walker, child: Shell, given: edges.Given[Text], inherited: dict[str, Slot], launcher: str, place: Place
) -> None:
    """A flag that sets, hands on or takes away one name."""
    name = given.name.text
    if given.op == "unset":
        if not given.name.sure:
            child.may_lack(list(child.visible))
        assign.unset(child, name)
    elif given.op == "pass":
        _hand_on(child, name, inherited, given)
    elif given.value is not None:
        _bind_flag(walker, child, given, inherited, launcher, place)


def _hand_on(child: Shell, name: str, inherited: dict[str, Slot], given: edges.Given[Text]) -> None:
    names = [n for n in inherited if n.startswith(name[:-1])] if name.endswith("*") else [name]
    for one in names:
        slot = inherited.get(one)
        if slot is not None:
            child.visible[one] = perhaps(slot) if given.maybe or given.stars == "maybe" else slot
            child.lost.pop(one, None)
        elif one not in child.visible and one not in child.lost:
            child.visible[one] = (Alternative("unknown", f"${one}", "maybe"),)


def _bind_flag(
    walker: Walker, child: Shell, given: edges.Given[Text], inherited: dict[str, Slot], launcher: str, place: Place
) -> None:
    name, value = given.name.text, given.value
    where = given.name.written()
    before = inherited.get(name)
    if value is None:
        return
    if given.wins == "under" and before is not None and is_there(before):
        if walker.is_known(name):
            walker.notes.loses(ValueOrigin(name, where, "flag", child.process.layer), value, before, launcher)
        return
    exported: Exported = "maybe" if given.maybe else "yes"
    child.visible.pop(name, None)
    child.lost.pop(name, None)
    assign.bind(walker, child, name, value, where, assign.BindingManner("flag", exported))


def _read(walker: Walker, child: Shell, file: edges.EnvironmentFile[Text]) -> None:
    """A file of variables that a launcher reads: of the tree, or written on the way."""
    kept = _written(child, file.path)
    if kept is not None:
        for text in kept:
            variables.lines(walker, text, child)
        return
    path = walker.find_text(file.path, child)
    if path is not None:
        variables.load(walker, path, child, under=file.wins == "under", maybe=file.maybe)
    else:
        variables.may_lack(child)


def _written(shell: Shell, path: str) -> tuple[Text, ...] | None:
    """A file that the script wrote, by its path or its name."""
    if path in shell.files:
        return shell.files[path]
    base = path.rsplit("/", 1)[-1]
    return next((kept for name, kept in shell.files.items() if name.rsplit("/", 1)[-1] == base), None)


# What a launcher's own rules ask for besides its words


def surroundings(walker: Walker, shell: Shell) -> edges.EdgeSurroundings:
    """What a command stands in."""
    return edges.EdgeSurroundings(
        batch(walker, shell),
        lambda text: _hosts_in(walker, text, shell),
        lambda name: _value(name, shell),
        lambda name: _lines_of(walker, name, shell),
    )


def batch(walker: Walker, shell: Shell) -> str:
    """The batch system that is in force, as far as the script or its callers show it."""
    for one in reversed(shell.process.chain):
        if system := walker.launchers.batch_of(one.name):
            return system
    paths = dict.fromkeys((shell.path, shell.script, *(place.path for place in shell.process.callers)))
    return next((system for path in paths if (system := _batch_in(walker, path))), "")


def _batch_in(walker: Walker, path: str) -> str:
    """The batch system whose directives, commands or variables a script shows."""
    if path not in walker.batches:
        launchers = walker.launchers
        text = walker.project.files.text(path)
        facts = walker.project.facts.whole(path)
        shown = [launchers.batch_of(directive.name) for directive in directives(launchers, text)]
        shown += [launchers.batch_of(launch.launcher) for launch in (facts.launches if facts else ())]
        shown += [system for mark, system in launchers.marks.items() if mark in text]
        walker.batches[path] = next(filter(None, shown), "")
    return walker.batches[path]


def _hosts_in(walker: Walker, text: str, shell: Shell) -> int | None:
    path = walker.find_text(text, shell)
    return _hosts(walker.project.files.text(path)) if path is not None else None


def _value(name: str, shell: Shell) -> str | None:
    """The value that the caller has of a variable; "?" where it has one that nobody knows."""
    if name in shell.remembered:
        return shell.remembered[name]
    slot = shell.held(name)
    if slot is None or len(slot) != 1 or slot[0].kind == "unset":
        return None
    return slot[0].text if slot[0].kind == "literal" else "$?"


def _lines_of(walker: Walker, name: str, shell: Shell) -> Collection[str] | None:
    """The names in a file that a launcher reads: of the tree, or written on the way; None: not known."""
    base = name.rsplit("/", 1)[-1]
    for path, kept in shell.files.items():
        if path.rsplit("/", 1)[-1] == base:
            return _names("".join(text.text for text in kept)) if kept is not None else None
    path = walker.find_text(name, shell) or ""
    if not path:
        homes = dict.fromkeys((folder(shell.path), walker.project.files.prefix()))
        places = (posixpath.normpath(posixpath.join(home, name)) for home in homes)
        path = next((place for place in places if walker.project.references.has(place)), "")
    if path:
        return _names(walker.project.files.text(path))
    return None if base in walker.project.files.text(shell.path) else ()


# Directives in the head of a script


def headers(walker: Walker, operations: Body, shell: Shell) -> list[Invocation[Text]]:
    """What the directives in the head of a script say: a command of flags for each batch system."""
    by_name: dict[str, list[Text]] = {}
    for operation in operations:
        if operation[0] != "directive":
            break
        name = walker.launchers.headers.get(operation[3])
        if name is not None:
            words = [expand.text_of(walker, word, shell) for word in operation[4]]
            by_name.setdefault(name, []).extend(words)
    found = (headed(walker.launchers, name, words) for name, words in by_name.items())
    return [one for one in found if one is not None]


def submitted(walker: Walker, found: Invocation[Text], shell: Shell) -> Invocation[Text]:
    """A command that submits a script, with the directives of the script, which its own flags follow."""
    inner = found.segments[0].inner
    path = walker.find(inner[0], shell) if inner else None
    for header in headers(walker, walker.body_of(path), shell) if path is not None else ():
        if header.name == found.name:
            return with_header(found, header)
    return found


def _hosts(text: str) -> int:
    """The hosts that a file lists, one a line."""
    return len(_HOST.findall(text))


def _names(text: str) -> Sequence[str]:
    """The names of a file of `NAME=VALUE` lines."""
    return tuple(_NAMED.findall(text))
