"""Devices that a manifest asks for: `nvidia.com/gpu: 4` of a container, `device_ids` and `count` of a service."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.analysis.process.beginnings.outline import Outline, OutlineNode, scalar
from envdoctor.analysis.process.job_values import JobValue
from envdoctor.core.facts import Place
from envdoctor.core.numbers import whole
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.records import Tells

_RESOURCE = regex(r"[\"']?((?:nvidia|amd)\.com/gpu)[\"']?\s*:\s*[\"']?(\d+)[\"']?")
_NAMES = ("nvidia.com/gpu", "amd.com/gpu")


def requested(outline: Outline, line: int, path: str) -> tuple[JobValue, ...]:
    """The devices of the container that a line stands in."""
    at = outline.item(line, "containers", "initContainers")
    for node in _below(outline, at):
        if node.key in _NAMES and scalar(node.value).isdigit():
            return (_value("devices", node.key, scalar(node.value), node, path),)
        match = _RESOURCE.search(node.value) if node.value.startswith("{") else None
        if match is not None:
            return (_value("devices", match[1], match[2], node, path),)
    return ()


def reserved(outline: Outline, service: int, path: str) -> tuple[JobValue, ...]:
    """The devices of a service: `deploy.resources.reservations.devices`."""
    found = []
    for node in _below(outline, service):
        text = scalar(node.value)
        if node.key == "count" and text.isdigit() and _under(outline, node, "devices"):
            found.append(_value("devices", "count", text, node, path))
        if node.key == "device_ids" and _under(outline, node, "devices"):
            listed = re.findall(r"\d+", node.value) or outline.words(outline.nodes.index(node))
            found.append(_value("device-list", "device_ids", ",".join(listed), node, path))
    return tuple(found)


def replicas(outline: Outline, document: int, path: str) -> tuple[JobValue, ...]:
    """The nodes of a job by the replicas of its roles, where each runs ranks; the ranks that MPI has room for."""
    if outline.find(document, "spec", "elasticPolicy") >= 0:
        return ()  # their number changes
    at = outline.find(document, "spec", "pytorchReplicaSpecs")
    if at >= 0:
        counts = [_replicas(outline, outline.nodes.index(node)) for node in outline.keys(at).values()]
        return (
            ()
            if None in counts
            else (_value("nodes", "replicas", str(sum(filter(None, counts))), outline.nodes[at], path),)
        )
    return _slots(outline, document, path)


def _replicas(outline: Outline, role: int) -> int | None:
    keys = outline.keys(role)
    return whole(scalar(keys["replicas"].value)) if "replicas" in keys else 1


def _slots(outline: Outline, document: int, path: str) -> tuple[JobValue, ...]:
    """`slotsPerWorker` of an MPIJob for each of its workers."""
    at = outline.find(document, "spec", "slotsPerWorker")
    worker = outline.find(document, "spec", "mpiReplicaSpecs", "Worker")
    workers = _replicas(outline, worker) if worker >= 0 else None
    each = whole(scalar(outline.nodes[at].value)) if at >= 0 else None
    if not workers or not each:
        return ()
    return (_value("ranks", "slotsPerWorker x replicas", str(workers * each), outline.nodes[at], path),)


def _below(outline: Outline, top: int) -> Iterator[OutlineNode]:
    """The nodes inside another one, in order."""
    inside = {top}
    for at in range(top + 1, len(outline.nodes)) if top >= 0 else ():
        node = outline.nodes[at]
        if node.parent not in inside:
            return
        inside.add(at)
        yield node


def _under(outline: Outline, node: OutlineNode, key: str) -> bool:
    return any(outline.nodes[at].key == key for at in outline.around(node.line))


def _value(tells: Tells, flag: str, text: str, node: OutlineNode, path: str) -> JobValue:
    place = Place(path, node.line, node.column + 1, node.line, node.column + 1 + len(node.key))
    return JobValue(tells, flag, text, place)
