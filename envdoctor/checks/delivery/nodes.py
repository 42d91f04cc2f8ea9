"""ED602 of the launches of several nodes: where they meet, how many there are, images and arguments that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.job_values import JobValue, told
from envdoctor.analysis.process.jobs import Member
from envdoctor.analysis.process.results import RankStart
from envdoctor.analysis.process.sizes import options
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import place_given
from envdoctor.checks.delivery.counts import shown
from envdoctor.checks.findings import finding
from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.records import Tells
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.delivery import Inconsistent

_EQUAL: tuple[Tells, ...] = ("nodes", "ranks", "ranks-per-node", "address", "port", "endpoint", "job")
_HERE = regex(r"localhost|127\.0\.0\.1|0\.0\.0\.0|::1?")
"""How the first node may call itself."""
_DISAGREE = "the ranks of one job disagree"
_UNKNOWN = regex(r"[$`*{<]")
_NUMBER = regex(r"\d+")
_ONE_IMAGE = ("PyTorchJob", "PaddleJob", "JAXJob", "LeaderWorkerSet", "ElasticJob")
"""Manifests in which each role runs ranks of one job."""


class JobFact(NamedTuple):
    """One thing that a launch says: what is compared, how it is written, where."""

    value: str
    says: str
    place: Place


class Contrast(NamedTuple):
    """What two launches say of one thing, and where."""

    here: str
    there: str
    place: Place
    other: Place


def faults(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """What the launches of one job say differently, each at the launch that is not of the first node."""
    groups = (*_differing(rule, context), *_doubled(rule, context), *_incomplete(rule, context))
    found = (*groups, *_images_of_roles(rule, context))
    return (one for one in found if one.place.path == context.path)


def _differing(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    roles = (group for group in context.jobs.roles if group[0].start and _is_of_one_job(group[0].start.root))
    for group in (*context.jobs.jobs, *roles):
        if not _is_one_run(rule, group):
            continue
        first = min(group, key=lambda member: member.rank)
        for member in group:
            if member is not first:
                yield from _between(rule, member, first, context)


def _is_one_run(rule: Rule, group: Sequence[Member]) -> bool:
    """Whether launches write to one place under one name, as far as they say so."""
    wanted = cast("Inconsistent", rule.parameters)["run_arguments"]
    told_by = [
        {flag: _NUMBER.sub("#", value) for flag, value in _arguments(member).items() if re.search(wanted, flag)}
        for member in group
    ]
    return all(one == told_by[0] for one in told_by)


def _arguments(member: Member) -> Mapping[str, str]:
    found = options(member.start.arguments) if member.start is not None else {}
    return {flag: value for flag, value in found.items() if flag.startswith("-")}


def _between(rule: Rule, member: Member, first: Member, context: LaunchContext) -> Iterator[Finding]:
    """How a launch differs from that of the first node, in one finding for each line."""
    lines: dict[int, list[Contrast]] = {}
    for one in _contrasts(rule, member, first, context):
        lines.setdefault(one.place.line, []).append(one)
    for found in lines.values():
        here, there = ", ".join(one.here for one in found), ", ".join(one.there for one in found)
        message = f"{here} here, {there} {_name(first)}: {_DISAGREE}"
        yield finding(rule, found[0].place, message, related=(Related(found[0].other, f"{found[0].there} there"),))


def _name(member: Member) -> str:
    """Which node a launch is for, or which role."""
    role = member.start.root.role if member.start is not None else ""
    return f"for {role}" if role else f"on node {member.rank}"


def _contrasts(rule: Rule, member: Member, first: Member, context: LaunchContext) -> Iterator[Contrast]:
    mine, others = _facts(member, context), _facts(first, context)
    for what, fact in mine.items():
        other = others.get(what)
        if other is not None and fact.value != other.value and not _is_itself(what, other):
            place = fact.place if fact.place.path == member.place.path else member.place
            yield Contrast(fact.says, other.says, place, other.place)
    for here, there in _differing_arguments(rule, member, first):
        yield Contrast(here, there, member.place, first.place)


def _is_itself(what: str, other: JobFact) -> bool:
    """Whether the first node only calls itself by another name."""
    return what in ("address", "endpoint") and bool(_HERE.match(other.value))


def _facts(member: Member, context: LaunchContext) -> dict[str, JobFact]:
    """What a launch says that all nodes have to say alike."""
    values = [value for tells in _EQUAL if (value := member.told(tells))]
    found: dict[str, JobFact] = {
        value.tells: JobFact(value.text, shown(value), _place(value, member, context)) for value in values if value.sure
    }
    image = _image(member)
    if image is not None and image.sure:
        found["image"] = JobFact(image.text, f"image {image.text}", image.place)
    return found


def _place(value: JobValue, member: Member, context: LaunchContext) -> Place:
    """Where a value stands: that of a variable where it is set."""
    if value.flag.startswith("-") or member.start is None:
        return value.place
    return place_given(value.flag, value.text, member.start, context)


def _image(member: Member) -> JobValue | None:
    chain = member.start.chain if member.start is not None else ()
    return next((value for one in reversed(chain) if (value := told(one.job, "image"))), _image_of_root(member))


def _image_of_root(member: Member) -> JobValue | None:
    """The image of the container that a launch begins in."""
    root = member.start.root if member.start is not None else None
    if root is None or not root.image or root.role or _UNKNOWN.search(root.image):
        return None
    return JobValue("image", "", root.image, member.place)


def _differing_arguments(rule: Rule, member: Member, first: Member) -> Iterator[tuple[str, str]]:
    """Arguments of the program that only one of two launches has, or with another value."""
    parameters = cast("Inconsistent", rule.parameters)
    allowed = f"{parameters['node_arguments']}|{parameters['run_arguments'].removeprefix('(?i)')}"
    mine, others = _arguments(member), _arguments(first)
    complete = not any(_UNKNOWN.search(word) for one in (member, first) for word in _words(one))
    for flag in dict.fromkeys((*mine, *others)):
        pair = _said(flag, mine), _said(flag, others)
        known = complete if None in (mine.get(flag), others.get(flag)) else not _UNKNOWN.search("".join(pair))
        if known and pair[0] != pair[1] and not re.search(allowed, flag):
            yield pair


def _words(member: Member) -> Sequence[str]:
    return member.start.arguments if member.start is not None else ()


def _said(flag: str, arguments: Mapping[str, str]) -> str:
    return f"{flag} {arguments[flag]}".strip() if flag in arguments else f"no {flag}"


def _doubled(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """One number for two nodes."""
    for group in context.jobs.doubled:
        if not _is_one_run(rule, group):
            continue
        seen: dict[int, JobValue] = {}
        for member in group:
            rank = member.told("node-rank")
            other = seen.setdefault(member.rank, rank) if rank is not None else None
            if rank is None or other is None or other is rank:
                continue
            message = f"{shown(rank)} is given to two nodes of one job"
            yield finding(rule, rank.place, message, related=(Related(other.place, f"{shown(other)} there too"),))


def _incomplete(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """A script that starts some nodes of a job on their hosts, and not all of them."""
    for group in context.jobs.jobs:
        nodes = [member.told("nodes") for member in group]
        hosts = [member.start is not None and _on_host(member.start) for member in group]
        numbers = {value.number if value is not None else None for value in nodes}
        count = numbers.pop() if len(numbers) == 1 else None
        starts_some = {member.rank for member in group} == set(range(len(group))) and hosts.count(False) <= 1
        if not count or count <= len(group) or not starts_some or len({m.place.path for m in group}) > 1:
            continue
        value = nodes[-1]
        if value is not None:
            message = f"{shown(value)}, and {len(group)} nodes are started here: the job waits for the others"
            yield finding(rule, value.place, message, confidence="medium")


def _on_host(start: RankStart) -> bool:
    """Whether a launch plainly runs on a host that is named."""
    host = next((value for one in start.chain if (value := told(one.job, "host"))), None)
    return host is not None and host.sure


def _images_of_roles(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Roles of one manifest that run in different images."""
    first: dict[tuple[str, str], Root] = {}
    starts = (start.root for start in context.walked.starts if start.root.path == context.path)
    for root in (*starts, *(ended.root for ended in context.ended)):
        if not _is_of_one_job(root) or not root.image or _UNKNOWN.search(root.image):
            continue
        other = first.setdefault((root.group, root.name.partition("/")[2]), root)
        if other.role != root.role and other.image != root.image:
            message = f"image {root.image} for {root.role}, {other.image} for {other.role}: {_DISAGREE}"
            related = (Related(_image_place(other, context), f"{other.image} there"),)
            yield finding(rule, _image_place(root, context), message, related=related)


def _is_of_one_job(root: Root) -> bool:
    return root.group.split(" ")[0] in _ONE_IMAGE


def _image_place(root: Root, context: LaunchContext) -> Place:
    """Where a manifest names the image of a container: the nearest line above what the container runs, or below."""
    facts = context.files.get(root.path)
    places = [
        part.place for part in (facts.components if facts is not None else ())
        if part.name == "image" and part.detail == root.name and part.version == root.image
    ]  # fmt: skip
    fallback = Place(root.path, root.line, 1, root.line, 1)
    return min(places, key=lambda place: abs(place.line - root.line), default=fallback)
