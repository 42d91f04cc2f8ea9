"""ED302 around programs that start others: Ray drivers, compose files."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.analysis.process.results import RankStart
from envdoctor.analysis.python.programs import holds
from envdoctor.analysis.references.paths import folder
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import GIVES, MASKS, judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import Call, FileFacts, Launch, Place, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.knowledge.rulebook import Rule

RAY = ("measured with Ray 2.60.0 (attach to a ray start head)",)
COMPOSE_FILES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")


def faults(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Settings of a program or script that those it starts do not get."""
    for facts in context.facts:
        if facts.kind == "python":
            yield from _driver_only(rule, facts, context)
        elif facts.kind == "shell":
            yield from _to_compose(rule, facts, context)
    yield from _to_driver(rule, context)


def _driver_only(rule: Rule, facts: FileFacts, context: LaunchContext) -> Iterator[Finding]:
    """`os.environ` of a driver that attaches to a running Ray cluster: workers have what `ray start` had."""
    attach = _attaching(facts)
    if attach is None:
        return
    given = {s.name for s in facts.settings if s.channel == "runtime-env"}
    if not given and _hands_on(facts):
        return
    remote = {d.name for d in facts.definitions if any(x.startswith("ray.remote") for x in d.decorators)}
    for setting in facts.settings:
        if setting.channel != "python-environ" or setting.op not in GIVES or setting.guarded:
            continue
        in_worker = any(setting.scope.name == name or setting.scope.name.startswith(name + ".") for name in remote)
        if (
            in_worker
            or setting.name in given
            or setting.name in MASKS
            or judged(setting.name, context, facts.path) is None
        ):
            continue
        if _set_elsewhere(setting.name, facts.path, context):
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


def _set_elsewhere(name: str, path: str, context: LaunchContext) -> bool:
    """Another file of the project gives the variable: a worker module, or the script that starts Ray on each node."""
    return any(
        s.name == name and s.op in GIVES
        for other in context.files.values() if other.path != path for s in other.settings
    )  # fmt: skip


def _attach_of(facts: FileFacts) -> Call | None:
    """The call by which a program attaches to a running cluster and hands nothing on; None: it does not, or it does."""
    if any(s.channel == "runtime-env" for s in facts.settings) or _hands_on(facts):
        return None
    return _attaching(facts)


def _attaching(facts: FileFacts) -> Call | None:
    return next((call for call in facts.calls if call.name == "ray.init" and _attaches(call)), None)


def _hands_on(facts: FileFacts) -> bool:
    """Whether a `runtime_env` is given somewhere."""
    return any(a.keyword == "runtime_env" for call in facts.calls for a in call.arguments)


def _to_driver(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """A script exports for a driver whose workers run elsewhere, with what `ray start` had."""
    said: set[tuple[Place, str]] = set()
    for start in context.starts:
        entry = context.files.get(start.path) if start.path else None
        attach = _attach_of(entry) if entry is not None and entry.kind == "python" else None
        if attach is None or _starts_cluster(start, context):
            continue
        for name, slot in start.reaching().items():
            place = next((o.place for a in slot for o in a.origins), None)
            if place is None or name in MASKS or judged(name, context, place.path) is None or (place, name) in said:
                continue
            if _set_elsewhere(name, place.path, context):
                continue
            said.add((place, name))
            message = f"{name} reaches the driver alone: it attaches to a running cluster, whose workers do not get it"
            related = (Related(start.place, "starts the driver", name), Related(attach.place, "attaches", name))
            yield finding(rule, place, message, name, related=related, evidence=RAY,
                          help=f"export it before ray start on every node, or name {name} in runtime_env")  # fmt: skip


def _starts_cluster(start: RankStart, context: LaunchContext) -> bool:
    """Whether the scripts on the way start the cluster too."""
    paths = {start.place.path, start.root.path, *(place.path for place in start.callers)}
    files = (context.files.get(path) for path in paths)
    return any(
        context.launchers.begins_cluster(launch.launcher) for facts in files if facts for launch in facts.launches
    )


def _to_compose(rule: Rule, facts: FileFacts, context: LaunchContext) -> Iterator[Finding]:
    """`docker compose up`: a service has what its file names, and the shell only fills in what the file asks for."""
    for launch in facts.launches:
        words = launch.words
        if not context.launchers.starts_services(launch.launcher):
            continue
        files = _compose_files(words, facts.path, context)
        if not files or any(i.kind == "env-file" for file in files for i in file.inclusions):
            continue
        if not any(context.launchers.starts_ranks(one.launcher) for file in files for one in file.launches):
            continue
        texts = [context.text(file.path) for file in files]
        for name, setting in _exported_before(launch, facts).items():
            if judged(name, context, facts.path) is not None and not any(name in text for text in texts):
                message = f"{name} does not reach the services: {files[0].path} does not name it"
                related = (Related(launch.place, "started here", name),)
                yield finding(rule, place_of(setting), message, name, related=related,
                              help=f"environment: - {name}")  # fmt: skip


def _exported_before(launch: Launch, facts: FileFacts) -> dict[str, Setting]:
    """What a script has exported where it starts a command."""
    return {
        s.name: s for s in facts.settings
        if s.order < launch.order and s.channel == "shell" and s.exported == "yes" and s.op in GIVES
        and (s.scope == launch.scope or s.scope.kind == "process") and holds(s.branch, launch.branch)
    }  # fmt: skip


def _compose_files(words: tuple[str, ...], path: str, context: LaunchContext) -> list[FileFacts]:
    """The compose files that a command reads, where all of them are in the scan."""
    home = folder(path)
    named = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-f", "--file")]
    named += [word.partition("=")[2] for word in words if word.startswith("--file=")]
    prefix = f"{home}/" if home else ""
    if named:
        found = [context.files.get(prefix + name.removeprefix("./")) for name in named]
        return [facts for facts in found if facts is not None] if None not in found else []
    return [context.files[prefix + name] for name in COMPOSE_FILES if prefix + name in context.files][:1]
