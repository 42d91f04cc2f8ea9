"""Which kind of YAML document this is: Kubernetes, compose, CI, task, or a configuration of the project's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from envdoctor.core.facts import Channel, Exported, Scope
from envdoctor.core.records import dataclass, field
from envdoctor.readers.shared.nodes import MappingNode, SequenceNode, TreeNode
from envdoctor.readers.yaml.nodes import Document


@dataclass(frozen=True, slots=True)
class ManifestKind:
    """How the environments of a document are delivered."""

    name: str
    channel: Channel
    via: str
    exported: Exported = "yes"


KUBERNETES = ManifestKind("kubernetes", "kubernetes", "manifest")
HELM = ManifestKind("helm", "kubernetes", "Helm values")
COMPOSE = ManifestKind("compose", "compose", "compose")
GITHUB = ManifestKind("github", "ci", "GitHub Actions")
GITLAB = ManifestKind("gitlab", "ci", "GitLab CI")
AZURE = ManifestKind("azure", "ci", "Azure Pipelines")
CIRCLE = ManifestKind("circle", "ci", "CircleCI")
PIPELINE = ManifestKind("pipeline", "ci", "pipeline")
SKYPILOT = ManifestKind("skypilot", "task", "SkyPilot")
TASK = ManifestKind("task", "task", "task")
RAY = ManifestKind("ray", "task", "Ray cluster")
ANSIBLE = ManifestKind("ansible", "task", "Ansible")
CONDA = ManifestKind("conda", "configuration", "conda", "unknown")
RUNTIME = ManifestKind("configuration", "runtime-env", "Ray")
CONFIGURATION = ManifestKind("configuration", "configuration", "configuration", "unknown")


@dataclass(frozen=True, slots=True)
class YamlContext:
    """Where in a document a node stands: keys from the root, the role of a replica, how far settings reach."""

    kind: ManifestKind
    scope: Scope = field(default_factory=Scope)
    path: tuple[str, ...] = ()
    role: str = ""


def keys_of(document: Document, node: TreeNode | None) -> dict[str, TreeNode]:
    """Keys and values of a mapping; empty for what is none."""
    if not isinstance(node, MappingNode):
        return {}
    return {document.text(key): value for key, value in node.value}


def kind_of(document: Document, root: TreeNode) -> ManifestKind:
    """The kind of a document, by its top-level keys and by the name of its file."""
    if isinstance(root, SequenceNode):
        return kind_of_list(document, root)
    keys = keys_of(document, root)
    return kind_of_keys(document, keys) or _kind_of_file(document, keys)


def kind_of_list(document: Document, root: SequenceNode) -> ManifestKind:
    """The kind of a document that is a list, by its first item."""
    keys = keys_of(document, root.value[0] if root.value else None)
    if "apiVersion" in keys or {"op", "path"} <= keys.keys():
        return KUBERNETES
    parts = PurePosixPath(document.source.path).parts
    ansible = "hosts" in keys or ("name" in keys and {"tasks", "playbooks", "roles"} & set(parts))
    return ANSIBLE if ansible else CONFIGURATION


def kind_of_keys(document: Document, keys: Mapping[str, TreeNode]) -> ManifestKind | None:
    """The kind that the top-level keys of a document tell; None: they tell nothing."""
    names = keys.keys()
    if {"apiVersion", "kind"} <= names or "configMapGenerator" in names or "containers" in names:
        return KUBERNETES
    if "services" in names and _has_service(document, keys["services"]):
        return COMPOSE
    if "runs" in names and "steps" in keys_of(document, keys["runs"]):
        return GITHUB
    if "jobs" in names:
        return _kind_of_jobs(document, keys)
    if {"cluster_name", "provider"} <= names or "head_start_ray_commands" in names:
        return RAY
    if {"run", "setup"} & names and {"resources", "num_nodes", "envs", "file_mounts", "workdir", "service"} & names:
        return SKYPILOT
    if "phases" in names:
        return PIPELINE
    if "env_vars" in names and ({"working_dir", "excludes", "py_modules", "pip"} & names or _is_runtime(document)):
        return RUNTIME
    if "dependencies" in names and ("channels" in names or "variables" in names):
        return CONDA
    return None


def _kind_of_jobs(document: Document, keys: Mapping[str, TreeNode]) -> ManifestKind | None:
    if isinstance(keys["jobs"], SequenceNode):
        return AZURE
    if "on" in keys or "true" in keys:
        return GITHUB
    return CIRCLE if {"workflows", "orbs", "executors"} & keys.keys() or "circleci" in document.source.path else None


def _kind_of_file(document: Document, keys: Mapping[str, TreeNode]) -> ManifestKind:
    path = PurePosixPath(document.source.path)
    name = path.name.lower()
    if ".gitlab" in name or "gitlab" in path.parts or any(_is_gitlab_job(document, job) for job in keys.values()):
        return GITLAB
    if name.startswith(("docker-compose", "compose.")):
        return COMPOSE
    if {"trigger", "pool", "pr"} & keys.keys() or _has_stages(document, keys.get("stages")):
        return AZURE
    if isinstance(keys.get("steps"), SequenceNode):
        return PIPELINE
    if name.startswith(("values", "helm")) or "charts" in path.parts:
        return HELM
    if {"commands", "type"} <= keys.keys() or "$schema" in keys:
        return TASK
    return CONFIGURATION


def _is_runtime(document: Document) -> bool:
    return "runtime_env" in document.source.path.replace("-", "_").lower()


def _is_gitlab_job(document: Document, node: TreeNode) -> bool:
    keys = keys_of(document, node).keys()
    marks = {"stage", "tags", "rules", "only", "except", "needs", "artifacts", "extends"}
    return "script" in keys and bool(marks & keys)


def _has_stages(document: Document, node: TreeNode | None) -> bool:
    return isinstance(node, SequenceNode) and any("stage" in keys_of(document, item) for item in node.value)


def _has_service(document: Document, node: TreeNode) -> bool:
    wanted = {"image", "build", "command", "environment", "extends", "env_file", "entrypoint", "<<"}
    return any(wanted & keys_of(document, service).keys() for service in keys_of(document, node).values())
