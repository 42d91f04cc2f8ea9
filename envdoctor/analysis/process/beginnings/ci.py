"""CI: each step is a shell of its own, with the environment of the workflow, then of its job, then its own.

Sources: the reference of GitHub Actions, GitLab CI (`before_script` and `script` are one shell, `after_script` is
another; a job's own `before_script` takes the place of the one for all; `extends` merges maps and replaces lists),
Azure Pipelines, CircleCI, Buildkite, whose steps are jobs apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.analysis.process.beginnings.common import declared, given_to, joined, line_of
from envdoctor.analysis.process.beginnings.outline import Outline, scalar
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.core.facts import FileFacts, Scope, Setting
from envdoctor.core.operations import Script
from envdoctor.core.regexes import regex

TITLES = ("name", "displayName", "label", "title", "key")
APART = ("pipeline",)
"""Kinds whose steps are jobs of their own: none comes before another."""
DEEPEST = 10

_STEP = regex(r"(?:^|/)(?:step|hook) at line \d+$")
_NAMES = regex(r"[\w.:/-]+")


class Jobs:
    """The jobs of one file: what holds in each, and the image its steps run in."""

    def __init__(self, facts: FileFacts, scripts: Sequence[Script], outline: Outline) -> None:
        self.facts = facts
        self.outline = outline
        self.settings = declared(facts, scripts)
        self.images = {part.detail: part.version for part in reversed(facts.components) if part.name == "image"}

    def given(self, script: Script, *others: str) -> tuple[Setting, ...]:
        """What a script has when it starts; `others` are scopes whose settings its job takes over, weakest first."""
        mine = given_to(script.scope, [s for s in self.settings if s.order < script.order or s.scope == Scope()])
        if not others:
            return mine
        taken = [s for name in others for s in self.settings if s.scope == Scope("container", name)]
        outside = [s for s in mine if s.scope == Scope()]
        return (*outside, *taken, *(s for s in mine if s.scope != Scope()))

    def root(self, script: Script, name: str, before: int, *others: str) -> Root:
        """The root of one step, whose job takes over from `others`; an image without a scope is that of all jobs."""
        settings = self.given(script, *others)
        places = (script.scope.name, job_of(script.scope), *reversed(others), "")
        image = next((self.images[place] for place in places if place in self.images), "")
        return Root(self.facts.path, "step", name, line_of(script), script, settings, image=image, before=before)


def roots(facts: FileFacts, scripts: Sequence[Script], outline: Outline, kind: str) -> list[Root]:
    """The steps of all jobs, in order."""
    if kind == "gitlab":
        return _gitlab(Jobs(facts, scripts, outline), scripts)
    jobs = Jobs(facts, scripts, outline)
    found: list[Root] = []
    last: dict[str, int] = {}
    composite = "runs" in outline.top(0)
    for script in scripts:
        job = job_of(script.scope)
        before = -1 if kind in APART else last.get(job, -1)
        root = jobs.root(script, _step_name(script, outline), before, *_above(outline, script, kind))
        last[job] = len(found)
        found.append(root._replace(exact=not composite))
    return found


def job_of(scope: Scope) -> str:
    """The job of a step; empty where a file has only one."""
    return _STEP.sub("", scope.name)


def _step_name(script: Script, outline: Outline) -> str:
    """Job and title of a step, or the line that it stands on."""
    keys = outline.keys(outline.item(line_of(script), "steps"))
    title = next((scalar(keys[key].value) for key in TITLES if key in keys and keys[key].value), "")
    job = job_of(script.scope)
    if title:
        return f"{job}/{title}" if job else title
    return script.scope.name or f"line {line_of(script)}"


def _above(outline: Outline, script: Script, kind: str) -> tuple[str, ...]:
    """What a job takes settings over from: `executor: gpu` of CircleCI, the stage of Azure Pipelines."""
    if kind == "circle":
        keys, key = outline.keys(outline.find(0, "jobs", job_of(script.scope))), "executor"
    else:
        keys, key = outline.keys(outline.item(line_of(script), "stages")) if kind == "azure" else {}, "stage"
    return (scalar(keys[key].value),) if key in keys and keys[key].value else ()


def _gitlab(jobs: Jobs, scripts: Sequence[Script]) -> list[Root]:
    """One shell for each job, and one for its `after_script`; hidden jobs only where nobody takes up their script."""
    shared = [s for s in scripts if s.scope == Scope()]
    own: dict[str, list[Script]] = {}
    for script in scripts:
        if script.scope.kind == "container":
            own.setdefault(script.scope.name, []).append(script)
    names = list(dict.fromkeys([*own, *_extending(jobs.outline)]))
    taken: set[str] = set()
    bodies = {name: _bodies(jobs.outline, name, own, taken) for name in names}
    found: list[Root] = []
    last: dict[str, int] = {}
    for name in names:
        if bodies[name] and not (name in taken and name.startswith(".")):
            last[name] = len(found)
            found.append(_gitlab_job(jobs, name, bodies[name], shared))
    found += [_after(jobs, s, last) for s in scripts if s.scope.kind != "container" and s.scope != Scope()]
    if shared and not any(_begins_with(root.script, shared[0]) for root in found):
        found.append(jobs.root(_all(shared), "before_script", -1))
    return found


def _begins_with(script: Script | None, first: Script) -> bool:
    return script is not None and script.body[: len(first.body)] == first.body


def _after(jobs: Jobs, script: Script, last: dict[str, int]) -> Root:
    """`after_script` of a job, and files that one writes."""
    job = job_of(script.scope)
    if script.scope.kind != "subshell":
        return jobs.root(script, script.scope.name, -1)._replace(kind="script", settings=(), exact=False)
    bases = _bases(jobs.outline, job)[::-1]
    return jobs.root(script, f"{job}/after_script", last.get(job, -1), *bases)


def _gitlab_job(jobs: Jobs, name: str, bodies: list[Script], shared: list[Script]) -> Root:
    has_own = any(_under(jobs.outline, script, "before_script") for script in bodies)
    script = _all(bodies if has_own else [*shared, *bodies])
    bases = _bases(jobs.outline, name)[::-1]
    scoped = script._replace(scope=Scope("container", name))
    return jobs.root(scoped, name, -1, *bases)._replace(line=line_of(bodies[0]))


def _all(scripts: Sequence[Script]) -> Script:
    whole = scripts[0]
    for script in scripts[1:]:
        whole = joined(whole, script)
    return whole


def _bodies(outline: Outline, job: str, own: dict[str, list[Script]], taken: set[str]) -> list[Script]:
    """The scripts of a job, each of `before_script` and `script` its own or that of the nearest job it extends."""
    mine = own.get(job, [])
    for base in _bases(outline, job):
        for key in ("before_script", "script"):
            if not any(_under(outline, script, key) for script in mine):
                more = [script for script in own.get(base, []) if _under(outline, script, key)]
                mine = [*more, *mine] if key == "before_script" else [*mine, *more]
                taken.update([base] if more and key == "script" else ())
    return mine


def _under(outline: Outline, script: Script, key: str) -> bool:
    """Whether a script is the value of a key, as far as indentation tells; what is no other one is the `script`."""
    keys = [outline.nodes[at].key for at in outline.around(line_of(script))]
    named = next((name for name in keys if name in ("before_script", "script", "after_script")), "script")
    return named == key


def _extending(outline: Outline) -> list[str]:
    return [key for key in outline.top(0) if "extends" in outline.keys(outline.find(0, key)) and key[:1] != "."]


def _bases(outline: Outline, job: str) -> list[str]:
    """The jobs that a job extends, the nearest first: the last of a list wins."""
    found: list[str] = []
    left = [job]
    while left and len(found) < DEEPEST:
        name = left.pop(0)
        at = outline.find(0, name, "extends")
        if at >= 0:
            listed = _NAMES.findall(scalar(outline.nodes[at].value)) or outline.words(at)
            more = [one for one in reversed(listed) if one not in found and one != job]
            found += more
            left += more
    return found
