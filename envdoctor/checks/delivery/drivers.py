"""ED302 around programs that start others: Ray drivers, children with an environment of their own, compose files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.model import Command, Unit
from envdoctor.analysis.process.starts import Start
from envdoctor.analysis.references.paths import folder
from envdoctor.checks.context import UnitContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import Call, FileFacts, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.knowledge.rulebook import Rule

MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
RAY = ("measured with Ray 2.60.0 (attach to a ray start head)",)
COMPOSE_FILES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
CHILDREN = ("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output")
Caller = Callable[[Command, UnitContext], dict[str, Setting]]
"""What a caller has exported where it starts a command."""


def faults(rule: Rule, context: UnitContext, caller: Caller) -> Iterator[Finding]:
    """Settings of a program or script that those it starts do not get."""
    if context.unit.facts.kind == "python":
        yield from _driver_only(rule, context)
        yield from _own_environment(rule, context)
    elif context.unit.facts.kind == "shell":
        for index, command in enumerate(context.unit.commands[:200]):
            yield from _to_driver(rule, index, command, context, caller)
            yield from _to_compose(rule, command, context, caller)


def _driver_only(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """`os.environ` of a driver that attaches to a running Ray cluster: workers have what `ray start` had."""
    facts = context.unit.facts
    attach = next((call for call in facts.calls if call.name == "ray.init" and _attaches(call)), None)
    if attach is None:
        return
    given = {s.name for s in facts.settings if s.channel == "runtime-env"}
    if not given and any(a.keyword == "runtime_env" for call in facts.calls for a in call.arguments):
        return
    remote = {d.name for d in facts.definitions if any(x.startswith("ray.remote") for x in d.decorators)}
    for setting in facts.settings:
        if setting.channel != "python-environ" or setting.op not in environment.GIVES or setting.guarded:
            continue
        in_worker = any(setting.scope.name == name or setting.scope.name.startswith(name + ".") for name in remote)
        if in_worker or setting.name in given or setting.name in MASKS or judged(setting.name, context) is None:
            continue
        if _set_elsewhere(setting.name, context):
            continue
        message = f"{setting.name} is set in the driver, which attaches to a running cluster: no worker gets it"
        yield finding(
            rule, place_of(setting), message, setting.name,
            related=(Related(attach.place, "workers keep the environment of ray start", setting.name),),
            help=f"ray.init(..., runtime_env={{'env_vars': {{'{setting.name}': ...}}}})",
            evidence=RAY,
        )  # fmt: skip


def _attaches(call: Call) -> bool:
    """An address that is plainly that of a running cluster."""
    given = [a for i, a in enumerate(call.arguments) if a.keyword == "address" or (a.keyword is None and i == 0)]
    text = given[0].literal if given and given[0].is_literal else None
    return isinstance(text, str) and text not in ("", "local")


def _set_elsewhere(name: str, context: UnitContext) -> bool:
    """Another file of the project gives the variable: a worker module, or the script that starts Ray on each node."""
    return any(
        s.name == name and s.op in environment.GIVES
        for unit in context.units if unit is not context.unit for s in unit.facts.settings
    )  # fmt: skip


def _attach_of(facts: FileFacts) -> Call | None:
    """The call by which a program attaches to a running cluster and hands nothing on; None: it does not, or it does."""
    if any(s.channel == "runtime-env" for s in facts.settings):
        return None
    if any(a.keyword == "runtime_env" for call in facts.calls for a in call.arguments):
        return None
    return next((call for call in facts.calls if call.name == "ray.init" and _attaches(call)), None)


def _to_driver(rule: Rule, index: int, command: Command, context: UnitContext, caller: Caller) -> Iterator[Finding]:
    """A script exports for a driver whose workers run elsewhere, with what `ray start` had."""
    unit = context.unit
    entry = Start(unit, index).facts
    if entry is None or entry.kind != "python" or any(c.launch.launcher == "ray start" for c in unit.commands):
        return
    attach = _attach_of(entry)
    for name, setting in caller(command, context).items() if attach is not None else ():
        if attach is None or name in MASKS or judged(name, context) is None or _set_elsewhere(name, context):
            continue
        message = f"{name} reaches the driver alone: it attaches to a running cluster, whose workers do not get it"
        related = (Related(command.launch.place, "starts the driver", name), Related(attach.place, "attaches", name))
        yield finding(rule, place_of(setting), message, name, related=related, evidence=RAY,
                      help=f"export it before ray start on every node, or name {name} in runtime_env")  # fmt: skip


def _to_compose(rule: Rule, command: Command, context: UnitContext, caller: Caller) -> Iterator[Finding]:
    """`docker compose up`: a service has what its file names, and the shell only fills in what the file asks for."""
    words = command.launch.words
    if not command.launch.launcher.endswith(" up") or words[0].rsplit("/", 1)[-1] not in _COMPOSERS:
        return
    files = _compose_files(words, context)
    if not files or any(i.kind == "env-file" for unit in files for i in unit.facts.inclusions):
        return
    if not any(context.launchers.starts_ranks(c.launch.launcher) for unit in files for c in unit.commands):
        return
    for name, setting in caller(command, context).items():
        if judged(name, context) is not None and not any(name in unit.text for unit in files):
            message = f"{name} does not reach the services: {files[0].path} does not name it"
            related = (Related(command.launch.place, "started here", name),)
            yield finding(rule, place_of(setting), message, name, related=related,
                          help=f"environment: - {name}")  # fmt: skip


_COMPOSERS = ("docker", "docker-compose", "podman", "podman-compose")


def _compose_files(words: tuple[str, ...], context: UnitContext) -> list[Unit]:
    """The units of the compose files that a command reads, where all of them are in the scan."""
    home = folder(context.unit.path)
    named = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-f", "--file")]
    named += [word.partition("=")[2] for word in words if word.startswith("--file=")]
    prefix = f"{home}/" if home else ""
    by_path = {unit.path: unit for unit in context.units}
    if named:
        found = [by_path.get(prefix + name.removeprefix("./")) for name in named]
        return [unit for unit in found if unit is not None] if None not in found else []
    return [by_path[prefix + name] for name in COMPOSE_FILES if prefix + name in by_path][:1]


def _own_environment(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """`subprocess.run(..., env={...})` without os.environ in it: the child has that and nothing else."""
    unit = context.unit
    for call in unit.facts.calls:
        given = next((a for a in call.arguments if a.keyword == "env"), None)
        if call.name not in CHILDREN or given is None or not given.text.startswith("{") or "environ" in given.text:
            continue
        if "**" in given.text or not _starts_ranks(call, context):
            continue
        for name, setting in _written_before(call, unit).items():
            if f'"{name}"' in given.text or f"'{name}'" in given.text or judged(name, context) is None:
                continue
            message = f"{name} is set here, and {call.name} starts the ranks with an environment that leaves it out"
            related = (Related(given.place or call.place, "an environment of its own", name),)
            yield finding(rule, place_of(setting), message, name, related=related,
                          help="env={**os.environ, ...}")  # fmt: skip


def _starts_ranks(call: Call, context: UnitContext) -> bool:
    statement = call.order >> 10
    return any(
        launch.order >> 10 == statement and context.launchers.starts_ranks(launch.launcher)
        for launch in context.unit.facts.launches
    )


def _written_before(call: Call, unit: Unit) -> dict[str, Setting]:
    """What the program has written into its environment before a call, in the same function or outside of all."""
    return {
        s.name: s
        for s in unit.facts.settings
        if s.channel == "python-environ" and s.op in environment.GIVES and not s.guarded and s.order < call.order
        and (s.scope == call.scope or s.scope.kind == "process") and environment.holds(s.branch, call.branch)
    }  # fmt: skip
