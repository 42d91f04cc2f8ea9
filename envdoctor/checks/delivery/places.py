"""ED302 where no launcher is to blame: roles of a manifest, layers and build arguments of an image."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import GIVES, MASKS, TELLS, judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.findings import Finding
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

FIRST_ROLES = {
    "PyTorchJob": ("Master",), "RayCluster": ("head",), "RayJob": ("head",),
    "RayService": ("head",), "LeaderWorkerSet": ("leader",), "PaddleJob": ("Master",),
}  # fmt: skip
"""Kind of manifest -> the roles that go first; all others of it are workers."""
_TAKEN_FROM = regex(r"^[ \t]*COPY[ \t]+(?:--\w+(?:=\S+)?[ \t]+)*?--from=([\w.-]+)", re.M | re.I)
_DOCUMENT = regex(r"^---", re.M)
_ONLY_EXPORTS = regex(r"(?:\s|\\\n)*(?:(?:&&|;)(?:\s|\\\n)*(?:export\s[^&;\n\\]*|true|:)(?:\s|\\\n)*)*")


def faults(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Settings that stay in one place although they are meant for another."""
    for facts in context.facts:
        if facts.kind == "yaml":
            yield from _one_role(rule, facts, context)
        elif facts.kind == "dockerfile":
            yield from _one_layer(rule, facts, context)
            yield from _one_stage(rule, facts, context)


@dataclass(slots=True)
class _Job:
    """One document of a manifest: the settings of each role, and all roles it has."""

    kind: str
    settings: dict[str, dict[str, Setting]] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    unknown: bool = False


def _one_role(rule: Rule, facts: FileFacts, context: LaunchContext) -> Iterator[Finding]:
    """A variable in the template of one role of a job, and not in that of the others."""
    for job in jobs_of(facts, context.text(facts.path)):
        first = FIRST_ROLES[job.kind]
        leaders = [role for role in job.settings if role in first]
        others = [role for role in job.settings if role not in first]
        if job.unknown or not leaders or not others:
            continue
        yield from _missing(rule, job, leaders[0], others, context)
        for role in others if job.kind == "PyTorchJob" else ():
            yield from _missing(rule, job, role, leaders, context)


def _missing(rule: Rule, job: _Job, role: str, others: list[str], context: LaunchContext) -> Iterator[Finding]:
    for name, setting in job.settings[role].items():
        if (
            judged(name, context, setting.place.path) is None
            or TELLS.search(name)
            or name in MASKS
            or name in job.passed
        ):
            continue
        lacking = [other for other in others if name not in job.settings[other]]
        if len(lacking) == len(others):
            roles = ", ".join(lacking)
            message = f"{name} is set for {role} alone and does not reach {roles}: each role has its own template"
            yield finding(rule, place_of(setting), message, name, help=f"set it for {roles} too", confidence="medium")


def jobs_of(facts: FileFacts, text: str) -> list[_Job]:
    """The jobs of a manifest whose roles have templates of their own, one for each document."""
    breaks = [text.count("\n", 0, match.start()) + 1 for match in _DOCUMENT.finditer(text)]

    def document(line: int) -> int:
        return sum(1 for at in breaks if at <= line)

    jobs: dict[int, _Job] = {}
    for setting in facts.settings:
        if setting.channel == "kubernetes" and setting.via in FIRST_ROLES and setting.scope.kind == "container":
            job = jobs.setdefault(document(setting.place.line), _Job(setting.via))
            job.settings.setdefault(_role(setting.scope.name), {})[setting.name] = setting
    for component in facts.components:
        if component.name == "image" and (found := jobs.get(document(component.place.line))):
            found.settings.setdefault(_role(component.detail), {})
    for inclusion in facts.inclusions:
        if inclusion.kind in ("configuration", "env-file") and (found := jobs.get(document(inclusion.place.line))):
            found.unknown = True
    for setting in facts.settings:
        found_job = jobs.get(document(setting.place.line))
        if found_job is not None and setting.channel in ("shell", "launcher-argument"):
            found_job.passed.add(setting.name)
    return list(jobs.values())


def _role(name: str) -> str:
    return name.split("/", 1)[0]


def _one_layer(rule: Rule, facts: FileFacts, context: LaunchContext) -> Iterator[Finding]:
    """`RUN export A=1`: gone with the layer, where nothing in it uses the variable."""
    for setting in facts.settings:
        in_layer = setting.scope.name.startswith("layer ") and setting.via == "export"
        if not in_layer or setting.op not in GIVES:
            continue
        if judged(setting.name, context, facts.path) is None or not _alone(context.text(facts.path), setting):
            continue
        if any(s.name == setting.name and s.channel == "image" for s in facts.settings):
            continue
        message = f"{setting.name} is exported in a RUN, whose shell ends with the layer: the container does not get it"
        yield finding(rule, place_of(setting), message, setting.name, help=f"ENV {setting.name}=...")


def _one_stage(rule: Rule, facts: FileFacts, context: LaunchContext) -> Iterator[Finding]:
    """`ENV A=1` in a stage that only builds something for the image: gone with the stage."""
    from envdoctor.analysis.process.beginnings.image import chain  # brings the reader of images

    text = context.text(facts.path)
    kept = {stage.name for stage in chain(facts)}
    thrown = {match[1] for match in _TAKEN_FROM.finditer(text)} - kept
    for setting in facts.settings:
        if setting.scope.name not in thrown or setting.via != "ENV" or setting.op not in GIVES:
            continue
        if judged(setting.name, context, facts.path) is None or text.count(setting.name) > 1:
            continue
        if any(_builds(setting.scope.name, context.text(path)) for path in context.files if path != facts.path):
            continue
        where = f"the stage {setting.scope.name}, which is no part of the image"
        message = f"{setting.name} is set in {where}: no container gets it"
        yield finding(rule, place_of(setting), message, setting.name, help=f"ENV {setting.name}=... in the last stage")


def _builds(stage: str, text: str) -> bool:
    """Whether a file builds an image of a stage: `--target STAGE`, `target: STAGE`."""
    return re.search(rf"target[\"']?[ :=]+[\"']?{re.escape(stage)}\b", text) is not None


def _alone(text: str, setting: Setting) -> bool:
    """Whether nothing but further exports follows in the instruction."""
    lines = text.split("\n")
    rest = [lines[setting.place.end_line - 1][setting.place.end_column - 1 :].lstrip("\"'")]
    at = setting.place.end_line
    while rest[-1].rstrip().endswith("\\") and at < len(lines):
        rest.append(lines[at])
        at += 1
    return _ONLY_EXPORTS.fullmatch("\n".join(rest)) is not None
