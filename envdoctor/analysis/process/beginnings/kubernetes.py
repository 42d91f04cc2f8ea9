"""Manifests of Kubernetes: each container is a process with its environment; pods of one job are told by their roles.

Sources: Kubernetes API (`env` wins over `envFrom`; `command` takes the place of the ENTRYPOINT, `args` of the CMD);
Kubeflow training operator, KubeRay, LeaderWorkerSet, JobSet, Volcano: each replica has a template of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.beginnings.common import declared, given_to, line_of
from envdoctor.analysis.process.beginnings.outline import Outline, OutlineNode, scalar
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.devices import replicas, requested
from envdoctor.core.facts import FileFacts, Inclusion, Scope, Setting
from envdoctor.core.operations import Script
from envdoctor.core.records import replace

FIRST_ROLES = {
    "PyTorchJob": ("Master",), "MPIJob": ("Launcher",), "RayCluster": ("head",), "RayJob": ("head",),
    "RayService": ("head",), "LeaderWorkerSet": ("leader",), "PaddleJob": ("Master",), "TFJob": ("Chief", "Master"),
    "XGBoostJob": ("Master",), "MXJob": ("Scheduler",), "JAXJob": (), "JobSet": (), "TrainJob": (),
    "SparkApplication": ("driver",), "ElasticJob": (), "Job": (),
}  # fmt: skip
"""Kinds of manifests whose roles run side by side -> the roles that go first (Job: that of Volcano, by its tasks)."""
HOST_FILES = {
    "OpenMPI": "OMPI_MCA_orte_default_hostfile", "Intel": "I_MPI_HYDRA_HOST_FILE", "IntelMPI": "I_MPI_HYDRA_HOST_FILE",
    "MPICH": "HYDRA_HOST_FILE",
}  # fmt: skip
"""MPI of an MPIJob -> the variable that its launcher gets (kubeflow/mpi-operator: pkg/controller/mpi_job_controller.go:
ompiEnvVars, intelEnvVars, mpichEnvVars)."""
STORES = ("ConfigMap", "Secret")
CONTAINER_KEYS = {"image", "command", "args"}


class Container(NamedTuple):
    """One container: the document it stands in and its scope."""

    document: int
    scope: Scope


def roots(facts: FileFacts, scripts: Sequence[Script], outline: Outline) -> list[Root]:
    """One root for each container and each command in it, in the order of the file, and for scripts that are kept."""
    settings = declared(facts, scripts)
    held: dict[Container, list[Script]] = {}
    lines: dict[Container, int] = {}
    for scope, line, script in _parts(facts, scripts, settings):
        container = Container(outline.document(line), scope)
        lines.setdefault(container, line)
        held.setdefault(container, []).extend([script] if script else [])
    found: list[Root] = []
    for container, mine in held.items():
        whole = _root(facts, container, lines[container], settings, outline)
        found += [_with(whole, script, outline) for script in mine]
        found += [whole] if not mine and (whole.image or whole.settings) else []
    return found


def _parts(
    facts: FileFacts, scripts: Sequence[Script], settings: Sequence[Setting]
) -> Iterator[tuple[Scope, int, Script | None]]:
    """Scopes of containers with a line in each, and the scripts in them, in the order of the lines."""
    images = [part for part in facts.components if part.name == "image" and part.detail]
    found: list[tuple[int, Scope, Script | None]] = [
        (part.place.line, Scope("container", part.detail), None) for part in images
    ]
    found += [(s.place.line, s.scope, None) for s in settings if s.scope.kind == "container"]
    found += [(line_of(script), script.scope, script) for script in scripts]
    for line, scope, script in sorted(found, key=lambda part: part[0]):
        yield scope, line, script


def _root(facts: FileFacts, container: Container, line: int, settings: Sequence[Setting], outline: Outline) -> Root:
    """A container without what it runs."""
    scope = container.scope
    if scope.kind == "manifest" or scope.kind == "file":
        return _kept(facts, scope, line, outline)
    here = [s for s in settings if outline.document(s.place.line) == container.document and _is_in(scope, s.scope)]
    stored, open_ = _stored(facts, container, outline, settings)
    image = next(
        (part.version for part in facts.components
         if part.name == "image" and part.detail == scope.name and outline.document(part.place.line)
         == container.document), "",
    )  # fmt: skip
    devices = (*requested(outline, line, facts.path), *replicas(outline, container.document, facts.path))
    group, role = ("", "") if _goes_first(outline, line) else _job(container, outline)
    return Root(
        facts.path, "container", scope.name, line, None, (*stored, *given_to(scope, _own(here))),
        tuple(open_), group, role, image, exact=not open_, remembers=_hosts(container, outline, group, role),
        devices=devices,
    )  # fmt: skip


def _is_in(scope: Scope, given_in: Scope) -> bool:
    """Whether a process has what its container has: a hook does, a container beside one that is named as their role is
    has its own."""
    return scope == given_in or scope.kind == "subshell" or given_in == Scope()


def _own(settings: Sequence[Setting]) -> list[Setting]:
    """What stands in a container; what a store of the same document holds is there by `envFrom` alone."""
    return [s for s in settings if s.via not in STORES]


def _kept(facts: FileFacts, scope: Scope, line: int, outline: Outline) -> Root:
    """A file that is kept in a ConfigMap or written; whoever mounts it starts it."""
    key = next((outline.nodes[at].key for at in outline.around(line) if outline.nodes[at].key), "")
    return Root(facts.path, "script", key or scope.name, line, None, exact=False)


def _with(root: Root, script: Script, outline: Outline) -> Root:
    line = line_of(script)
    return root._replace(script=script, line=line, after_entrypoint=_only_arguments(outline, line))


def _only_arguments(outline: Outline, line: int) -> bool:
    """Whether a container has `args` and no `command`."""
    for at in outline.around(line):
        keys = outline.keys(at)
        if CONTAINER_KEYS & keys.keys():
            return "args" in keys and "command" not in keys
    return False


def _stored(
    facts: FileFacts, container: Container, outline: Outline, settings: Sequence[Setting]
) -> tuple[list[Setting], list[Inclusion]]:
    """Variables of stores of this file that `envFrom` names, and the stores that stand elsewhere."""
    found: list[Setting] = []
    missing: list[Inclusion] = []
    for inclusion in facts.inclusions:
        mine = inclusion.scope == container.scope and outline.document(inclusion.place.line) == container.document
        if inclusion.kind not in ("configuration", "env-file") or not mine:
            continue
        kind, _, name = inclusion.target.partition("/")
        held = [s for s in settings if s.via == kind and s.scope.name == name]
        found += [replace(s, exported="yes") for s in held]
        missing += [] if held else [inclusion]
    return found, missing


def _goes_first(outline: Outline, line: int) -> bool:
    """Whether a line stands in a container that has ended when those of the job start."""
    return any(outline.nodes[at].key == "initContainers" for at in outline.around(line))


def _job(container: Container, outline: Outline) -> tuple[str, str]:
    """Document and role, where the document is a job of several roles."""
    top = outline.top(container.document)
    kind = _text(top, "kind")
    if kind not in FIRST_ROLES or (kind == "Job" and "volcano" not in _text(top, "apiVersion")):
        return "", ""
    metadata = outline.keys(outline.find(container.document, "metadata"))
    name = _text(metadata, "name") or _text(metadata, "generateName") or str(container.document)
    return f"{kind} {name}", container.scope.name.split("/", 1)[0]


def _hosts(container: Container, outline: Outline, group: str, role: str) -> tuple[tuple[str, str], ...]:
    """The file of hosts that the MPI operator writes for the launcher, under the name that its MPI reads."""
    if not group.startswith("MPIJob ") or role != "Launcher":
        return ()
    spec = outline.keys(outline.find(container.document, "spec"))
    kind = _text(spec, "mpiImplementation") or _text(spec, "mpiDistribution") or "OpenMPI"
    name = HOST_FILES.get(kind)
    return ((name, "/etc/mpi/hostfile"),) if name else ()


def _text(keys: dict[str, OutlineNode], key: str) -> str:
    return scalar(keys[key].value) if key in keys else ""
