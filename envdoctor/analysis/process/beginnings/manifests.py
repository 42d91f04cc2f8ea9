"""YAML files: which of the kinds of manifests a file is decides what its scripts start with."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.analysis.process.beginnings import ci, compose, general, kubernetes
from envdoctor.analysis.process.beginnings.outline import Outline, scalar
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.core.facts import FileFacts
from envdoctor.core.operations import Script

CI_KINDS = ("github", "gitlab", "azure", "circle", "pipeline")
VIAS = {
    "GitHub Actions": "github", "GitLab CI": "gitlab", "Azure Pipelines": "azure", "CircleCI": "circle",
    "pipeline": "pipeline", "compose": "compose", "Helm values": "helm", "Ansible": "other", "SkyPilot": "other",
    "Ray cluster": "other", "task": "other",
}  # fmt: skip
GITLAB_MARKS = {"stage", "tags", "rules", "only", "except", "needs", "artifacts", "extends"}


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """The roots of a YAML file."""
    if not (scripts or facts.settings or facts.components):
        return []
    outline = Outline(text)
    kind = kind_of(facts, outline)
    if kind == "kubernetes":
        return kubernetes.roots(facts, scripts, outline)
    if kind == "compose":
        return compose.roots(facts, scripts, outline)
    if kind in CI_KINDS:
        return ci.roots(facts, scripts, outline, kind)
    return [_titled(root, outline) for root in general.roots(facts, scripts, text)]


def _titled(root: Root, outline: Outline) -> Root:
    """A root with the title of its task, or the key that it stands under, where its scope says neither."""
    if root.name and " at line " not in root.name:
        return root
    around = list(outline.around(root.line))
    titles = (outline.keys(at).get("name") for at in around if not outline.nodes[at].key)
    title = next((scalar(node.value) for node in titles if node is not None), "")
    key = next((outline.nodes[at].key for at in around if outline.nodes[at].key), "")
    return root._replace(name=title or root.name or key)


def kind_of(facts: FileFacts, outline: Outline) -> str:
    """The kind of a file: what carries its settings says so, or else the keys at the top."""
    for setting in facts.settings:
        if setting.via in VIAS:
            return VIAS[setting.via]
        if setting.channel == "kubernetes":
            return "kubernetes"
    kinds = (_kind_of_keys(outline, document) for document in range(outline.documents + 1))
    return next(filter(None, kinds), "") or _kind_of_file(facts.path, outline)


def _kind_of_keys(outline: Outline, document: int) -> str:
    keys = outline.top(document).keys()
    if {"apiVersion", "kind"} <= keys or "containers" in keys:
        return "kubernetes"
    if "services" in keys and not {"jobs", "steps"} & keys:
        return "compose"
    if "runs" in keys or ("jobs" in keys and {"on", "true"} & keys):
        return "github"
    return "circle" if "jobs" in keys and {"workflows", "orbs", "executors"} & keys else ""


def _kind_of_file(path: str, outline: Outline) -> str:
    top = outline.top(0)
    name = path.rpartition("/")[2].lower()
    jobs = (outline.keys(outline.find(0, key)) for key in top)
    if ".gitlab" in name or "gitlab" in path.split("/") or any(
        "script" in keys and GITLAB_MARKS & keys.keys() for keys in jobs
    ):  # fmt: skip
        return "gitlab"
    if {"trigger", "pool", "pr", "jobs", "stages"} & top.keys():
        return "azure"
    return "pipeline" if "steps" in top else ""
