"""ED302: a setting that the launcher, the container or the scheduler does not hand on to the ranks.

What each of them passes stands in `rules/launchers/`. Only a launch that plainly goes elsewhere is judged, and only
where all of its flags can be read; what runs there may still set the variable itself, and is looked at where it is in
the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.build import within
from envdoctor.analysis.process.model import Command, Step, Unit
from envdoctor.analysis.process.starts import Start
from envdoctor.checks.context import UnitContext
from envdoctor.checks.delivery import drivers as delivery_drivers
from envdoctor.checks.delivery import places as delivery_places
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.delivery.flags import Flags, flags_of, listed, names_hosts
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import Inclusion, Launch, Setting, Use
from envdoctor.core.findings import Finding, Related
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launchers import Delivery
from envdoctor.knowledge.rulebook import Rule

MOST_COMMANDS = 300
"""Launches of one unit that are judged: each looks at the environment anew."""
TRIVIAL = {
    "hostname", "nvidia-smi", "rocm-smi", "amd-smi", "echo", "printf", "ls", "mkdir", "rm", "cp", "mv", "cat", "env",
    "printenv", "pkill", "killall", "kill", "true", "date", "sleep", "uname", "which", "lscpu", "ibstat", "apt",
    "apt-get", "yum", "pip", "pip3", "make", "cmake", "git", "tar", "wget", "curl", "chmod", "chown", "sync", "sh",
    "setup.py", "docker", "enroot", "systemctl", "mount", "modprobe", "sysctl", "tee", "nvcc", "hipcc",
}  # fmt: skip
"""Programs that are no ranks of a job, whatever starts them."""
CALLERS = ("shell", "kubernetes", "compose", "ci", "python-environ", "service")
"""Channels of settings that a process has when it starts others."""
_NAME_VALUE = regex(r"([A-Z][A-Z0-9_]+)(?:=|\Z)")
_SEVERAL = regex(r"[A-Z][A-Z0-9_]+(?:,[A-Z][A-Z0-9_]+)+\Z|[A-Z][A-Z0-9_]+=[^,\s]*,(?:[A-Z][A-Z0-9_]+=[^,\s]*)+\Z")
_BROUGHT = regex(r"\benv\s+\$|\bexport\s+\$|printenv|\bbash -l|-lc\b|\$\{?\w*(?:ENV|EXPORT)\w*\}?\s")
"""Text behind a launch that brings variables along in a way that cannot be followed, or starts a login shell."""
_BATCH = (("SLURM_", "slurm"), ("PBS_", "pbs"), ("LSB_", "lsf"))


@dataclass(slots=True)
class Loss:
    """One launch that does not hand on what its caller has, but for some names."""

    command: Command
    delivery: Delivery
    why: str
    keeps: set[str] = field(default_factory=set)
    prefixes: tuple[str, ...] = ()

    def loses(self, name: str) -> bool:
        """Whether a variable of the caller is gone behind this launch."""
        if name in self.keeps or name.startswith(self.prefixes):
            return False
        return not any(kept.endswith("*") and name.startswith(kept[:-1]) for kept in self.keeps)


@dataclass(slots=True)
class Lost:
    """A setting and the launches that lose it."""

    setting: Setting
    losses: list[Loss] = field(default_factory=list)


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Settings of a unit that some launch does not hand on: one finding for each variable."""
    lost: dict[str, Lost] = {}
    for command in context.unit.commands[:MOST_COMMANDS]:
        yield from _mistaken_flags(rule, command, context)
        loss = loss_of(command, context)
        if loss is None:
            continue
        for name, setting in _caller(command, context).items():
            if loss.loses(name) and judged(name, context) is not None and not _used(name, context.unit):
                lost.setdefault(name, Lost(setting)).losses.append(loss)
    for name, entry in lost.items():
        yield _finding(rule, name, entry)
    yield from delivery_places.faults(rule, context)
    yield from delivery_drivers.faults(rule, context, _caller)


def loss_of(command: Command, context: UnitContext) -> Loss | None:
    """What a launch loses, where that is plain; None: nothing, or it cannot be told."""
    unit, launch = context.unit, command.launch
    row = context.launchers.command_of(launch.launcher)
    flags = flags_of(launch, row)
    if flags.opaque:
        return None
    for delivery in context.launchers.deliveries_of(launch.launcher):
        if delivery.only_with and not flags.has(delivery.only_with):
            continue
        why = _why(delivery, flags, command, context)
        if not why or not _starts_ranks(command, context) or _unknown_inside(command, context):
            return None
        loss = Loss(command, delivery, f"{launch.launcher} {why}", _kept(command, unit, delivery))
        loss.keeps |= _named(delivery, flags, unit)
        loss.prefixes = delivery.prefixes
        return loss
    return None


def _why(delivery: Delivery, flags: Flags, command: Command, context: UnitContext) -> str:
    """Why a launch does not hand everything on; empty where it does, or where that is not plain."""
    unit = context.unit
    if flags.has(delivery.everything) or _cannot_tell(delivery, flags, command, unit):
        return ""
    if delivery.elsewhere == "hosts" and not _goes_elsewhere(delivery, flags, command, unit):
        return ""
    if delivery.lists:
        return _by_list(delivery, flags, unit)
    if delivery.passes == "everything":
        used = sorted(flag for flag in delivery.nothing if flag in flags.values)
        return f"{used[0]} {delivery.says}" if used else ""
    return delivery.says


def _cannot_tell(delivery: Delivery, flags: Flags, command: Command, unit: Unit) -> bool:
    """A flag that brings in more than its words say, or a file that is written in a way nobody can follow."""
    for flag in delivery.unknown & flags.values.keys():
        missing = any(within(i.place, command.launch.place) for i in unit.unresolved)
        if flag != "--env-file" or missing:
            return True
    for name in delivery.files:
        written = any(_file_name(step) == name for step in unit.steps if isinstance(step.fact, Setting))
        if (name in unit.text and not written and not unit.env_files.get(name)) or "DS_ENV_FILE" in unit.text:
            return True
    return False


def _goes_elsewhere(delivery: Delivery, flags: Flags, command: Command, unit: Unit) -> bool:
    if delivery.inherits_under and (batch_system(unit) or any(x.launcher == "srun" for x in command.around)):
        return False
    return names_hosts(flags, delivery, dict(unit.host_files))


def batch_system(unit: Unit) -> str:
    """The batch system that a unit shows: then it starts the daemons, and they inherit."""
    if unit.batch:
        return next(iter(unit.batch))
    if any(command.launch.launcher in ("srun", "sbatch", "salloc") for command in unit.commands):
        return "slurm"
    return next((system for mark, system in _BATCH if mark in unit.text), "")


def _by_list(delivery: Delivery, flags: Flags, unit: Unit) -> str:
    """`--export=LIST`: what it says is all that goes, unless ALL is in it."""
    given = flags.given(delivery.lists)
    if given:
        return _list_says(given[-1], f"with {next(iter(delivery.lists))}=", delivery)
    words = list(unit.batch.get("slurm", ()))
    values = [w.partition("=")[2] for w in words if w.startswith("--export=")]
    values += [words[i + 1] for i, w in enumerate(words[:-1]) if w == "--export"]
    if not values or "SLURM_EXPORT_ENV" in unit.text or "SRUN_EXPORT_ENV" in unit.text:
        return ""
    return _list_says(values[-1], "obeys #SBATCH --export=", delivery)


def _list_says(value: str, lead: str, delivery: Delivery) -> str:
    parts = [part.upper() for part in listed(value)]
    if "ALL" in parts or "$" in value or "`" in value:
        return ""
    return f"{lead}{value} {delivery.says}" if lead.startswith("with") else f"{lead}{value} of the job"


def _named(delivery: Delivery, flags: Flags, unit: Unit) -> set[str]:
    """Names that a list of the command line, or of the job, lets through."""
    if not delivery.lists:
        return set()
    given = flags.given(delivery.lists)
    value = given[-1] if given else ",".join(w.partition("=")[2] for w in unit.batch.get("slurm", ()) if "export" in w)
    return {part.split("=", 1)[0] for part in listed(value)}


def _kept(command: Command, unit: Unit, delivery: Delivery) -> set[str]:
    """Names that the launch hands on, that are set behind it, or that a file of the launcher brings."""
    kept = {s.name for s in command.given if s.channel != "shell" or s.op == "pass"}
    for step in unit.inside(command):
        if isinstance(step.fact, Setting) and step.fact.op in environment.GIVES:
            kept.add(step.fact.name)
    for index, other in enumerate(unit.commands):
        entry = Start(unit, index).facts if command.at <= other.at < command.end else None
        if entry is not None:
            kept |= {s.name for s in entry.settings if s.op in environment.GIVES}
    for step in unit.steps:
        fact = step.fact
        if isinstance(fact, Setting):
            contained = step.scope.kind == "container" and fact.via.endswith("ENV")
            if contained or (delivery.files and _file_name(step) in delivery.files):
                kept.add(fact.name)
    for name in delivery.files:
        kept |= unit.env_files.get(name, frozenset())
    return kept


def _file_name(step: Step) -> str:
    return PurePosixPath(step.scope.name).name if step.scope.kind == "file" else ""


def _starts_ranks(command: Command, context: UnitContext) -> bool:
    """Whether ranks come out of a launch in the end, and no node is only looked after."""
    inner = [c for c in context.unit.commands if command.at <= c.at < command.end]
    for other in inner:
        if context.launchers.starts_ranks(other.launch.launcher):
            program = other.launch.inner[0].rsplit("/", 1)[-1] if other.launch.inner else ""
            return program not in TRIVIAL and "$" not in program[:1]
    return False


def _unknown_inside(command: Command, context: UnitContext) -> bool:
    """What runs behind the launch pulls in files that are not in the tree, and may set anything."""
    unit = context.unit
    for index, other in enumerate(unit.commands):
        shell = other.launch.launcher in ("bash", "sh", "zsh", "ksh", "dash")
        if shell and command.at <= other.at < command.end and not Start(unit, index).path:
            return True
    if any(isinstance(step.fact, Inclusion) and step.fact in unit.unresolved for step in unit.inside(command)):
        return True
    return bool(_BROUGHT.search(" ".join(command.launch.inner)))


def _caller(command: Command, context: UnitContext) -> dict[str, Setting]:
    """What the caller has exported where it starts the command: name and the setting that holds."""
    unit = context.unit
    there = unit.steps[command.at]
    held = environment.at(unit.steps, command.at, there.scope, there.branch)
    found = {
        name: entry.last
        for name, entry in held.items()
        if entry.exported == "yes" and not entry.unset and entry.last.channel in CALLERS
    }
    found |= {s.name: s for s in command.given if s.channel == "shell" and s.op == "set" and s.exported == "yes"}
    return found


def _used(name: str, unit: Unit) -> bool:
    """The script itself does something with the variable: it may hand it on in its own way."""
    for step in unit.steps:
        fact = step.fact
        if isinstance(fact, Use) and fact.name == name:
            return True
        if isinstance(fact, Setting) and fact.name != name and name in fact.value.references:
            return True
    return False


def _mistaken_flags(rule: Rule, command: Command, context: UnitContext) -> Iterator[Finding]:
    """Flags that look as if they passed a variable: `srun -x A=1`, `mpirun -x A,B`."""
    launch = command.launch
    deliveries = context.launchers.deliveries_of(launch.launcher)
    if not any(d.wrong_flags or d.single or d.names_only for d in deliveries):
        return
    flags = flags_of(launch, context.launchers.command_of(launch.launcher))
    for delivery in deliveries:
        for flag, does in delivery.wrong_flags.items():
            for value in flags.values.get(flag, ()):
                name = _NAME_VALUE.match(value)
                if name and ("=" in value or context.catalog.variable(name[1]) is not None):
                    message = f"{launch.launcher} {flag} {does}: {name[1]} does not reach the ranks"
                    yield finding(rule, launch.place, message, name[1], evidence=delivery.evidence,
                                  help=f"export {name[1]} before {launch.launcher}, which passes it on")  # fmt: skip
        for value in flags.given(delivery.single):
            if _SEVERAL.match(value):
                yield _several(rule, launch, value, delivery)
        for flag in delivery.names_only & flags.values.keys():
            yield from _with_values(rule, command, flag, ",".join(flags.values[flag]), delivery, context)


def _with_values(
    rule: Rule, command: Command, flag: str, value: str, delivery: Delivery, context: UnitContext
) -> Iterator[Finding]:
    """`--container-env=A=1`, where a name is asked for."""
    launcher = command.launch.launcher
    for part in listed(value):
        name, equals, given = part.partition("=")
        if equals and judged(name, context) is not None:
            place = next((place_of(s) for s in command.given if s.name == name), command.launch.place)
            message = f"{launcher} {flag} takes names only: of {name}={given} the ranks do not get the value"
            remedy = f"export {name}={given} before {launcher}, and {flag}={name} where the image sets it too"
            yield finding(rule, place, message, name, evidence=delivery.evidence, help=remedy)


def _several(rule: Rule, launch: Launch, value: str, delivery: Delivery) -> Finding:
    first = value.split(",")[0].split("=")[0]
    last = value.split(",")[-1].split("=")[0]
    effect = f"{first} gets the rest as part of its value, {last} is not passed" if "=" in value else "none is passed"
    message = f"{launch.launcher} -x takes one variable at a time: of {value} {effect}"
    return finding(rule, launch.place, message, last, evidence=delivery.evidence, help="one -x for each variable")


def _finding(rule: Rule, name: str, lost: Lost) -> Finding:
    loss = lost.losses[0]
    message = f"{name} does not reach the ranks: {loss.why}"
    related = tuple(Related(x.command.launch.place, "lost here", name) for x in lost.losses[:5])
    return finding(
        rule, place_of(lost.setting), message, name, related=related, confidence=loss.delivery.sure,
        help=loss.delivery.remedy.format(name=name) or rule.fix, evidence=loss.delivery.evidence[:3],
    )  # fmt: skip
