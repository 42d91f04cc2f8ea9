"""How far the settings of a part of a YAML document reach: container, service, job, step, section."""

from __future__ import annotations

from envdoctor.core.facts import Scope
from envdoctor.core.records import replace
from envdoctor.readers.shared.nodes import TreeNode
from envdoctor.readers.yaml.kinds import YamlContext, keys_of
from envdoctor.readers.yaml.nodes import Document

CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers", "sidecars")
GITLAB_GLOBALS = ("variables", "default", "stages", "include", "workflow", "image", "services", "cache", "spec")
CONTAINER_MARKS = {"image", "command", "args"}
ROLE_LISTS = {
    "workerGroupSpecs": "groupName", "replicatedJobs": "name", "tasks": "name", "templates": "name", "steps": "name",
}  # fmt: skip
"""Lists whose items are groups of equal pods, and the key that names the group."""
ROLE_KEYS = {
    "headGroupSpec": "head", "leaderTemplate": "leader", "workerTemplate": "worker", "trainer": "trainer",
    "launcher": "launcher", "driver": "driver", "executor": "executor", "master": "master", "worker": "worker",
}  # fmt: skip


def below(document: Document, context: YamlContext, key: str, node: TreeNode) -> YamlContext:
    """The context of the value of a key."""
    path = (*context.path, key)
    name = context.kind.name
    if name in ("configuration", "helm", "conda"):
        return YamlContext(context.kind, Scope("manifest", ".".join(path)), path, context.role)
    found = YamlContext(context.kind, context.scope, path, context.role)
    if name == "kubernetes":
        return _kubernetes_key(document, found, node)
    if name == "compose":
        return replace(found, scope=Scope("container", key)) if len(path) == 2 and path[0] == "services" else found
    if name in ("github", "circle"):
        return _job(found)
    if name == "gitlab":
        job = len(path) == 1 and key not in GITLAB_GLOBALS and bool(keys_of(document, node))
        return replace(found, scope=Scope("container", key)) if job else found
    return found


def _job(context: YamlContext) -> YamlContext:
    path = context.path
    if len(path) == 2 and path[0] in ("jobs", "executors"):
        return replace(context, scope=Scope("container", path[1]))
    if len(path) == 4 and path[2] == "services":
        return replace(context, scope=Scope("container", f"{path[1]}/{path[3]}"))
    return context


def _kubernetes_key(document: Document, context: YamlContext, node: TreeNode) -> YamlContext:
    key = context.path[-1]
    parent = context.path[-2] if len(context.path) > 1 else ""
    if parent.endswith("ReplicaSpecs"):
        return replace(context, role=key, scope=Scope("container", key))
    if key == "exec":
        return replace(context, scope=step_scope(document, context, node, "hook"))
    if key in ROLE_KEYS and keys_of(document, node):
        return replace(context, role=ROLE_KEYS[key], scope=Scope("container", ROLE_KEYS[key]))
    return context


def item_of(document: Document, context: YamlContext, number: int, node: TreeNode) -> YamlContext:
    """The context of an item of a sequence."""
    name = context.kind.name
    key = context.path[-1] if context.path else ""
    keys = keys_of(document, node)
    if name == "kubernetes":
        return _kubernetes_item(document, context, key, node)
    if name == "azure" and key in ("jobs", "stages") and {"job", "stage", "deployment"} & keys.keys():
        title = next(document.text(keys[mark]) for mark in ("job", "deployment", "stage") if mark in keys)
        return replace(context, scope=Scope("container", title))
    if context.kind.channel == "ci" and key == "steps":
        return replace(context, scope=step_scope(document, context, node))
    if name == "ansible" and ("hosts" not in keys):
        return replace(context, scope=Scope("subshell", f"task at line {document.line(node)}"))
    if name in ("configuration", "helm"):
        title = document.text(keys["name"]) if "name" in keys else str(number)
        return replace(context, path=(*context.path, title), scope=Scope("manifest", ".".join((*context.path, title))))
    return context


def step_scope(document: Document, context: YamlContext, node: TreeNode, word: str = "step") -> Scope:
    """The scope of one step: what it exports is gone in the next one."""
    job = context.scope.name
    return Scope("subshell", f"{job}/{word} at line {document.line(node)}".lstrip("/"))


def _kubernetes_item(document: Document, context: YamlContext, key: str, node: TreeNode) -> YamlContext:
    keys = keys_of(document, node)
    if key in CONTAINER_LISTS:
        return replace(context, scope=container_scope(context, document.text(keys["name"]) if "name" in keys else ""))
    if key in ROLE_LISTS and ROLE_LISTS[key] in keys:
        role = document.text(keys[ROLE_LISTS[key]])
        return replace(context, role=role, scope=Scope("container", role))
    return context


def container_scope(context: YamlContext, name: str) -> Scope:
    """The scope of a container: its name, after the role of its replica where there is one."""
    parts = [part for part in (context.role, name) if part]
    return Scope("container", "/".join(dict.fromkeys(parts)))
