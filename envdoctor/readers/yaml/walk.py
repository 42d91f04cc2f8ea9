"""The walk over one YAML document: finds environments, scripts, images and devices by their keys."""

from __future__ import annotations

import re

from envdoctor.core.facts import Branch, Component, Inclusion, Scope
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.readers.shared.collector import Collector
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode, SequenceNode, TreeNode
from envdoctor.readers.yaml.environment import AGAIN, DEEPEST_PATH, EnvironmentReader
from envdoctor.readers.yaml.keys import (
    IMAGE,
    RESOURCE,
    SKIPPED,
    VARIABLE,
    key_words,
    names_environment,
    names_forwarding,
    names_image,
    names_options,
    names_script,
)
from envdoctor.readers.yaml.kinds import ManifestKind, YamlContext, keys_of
from envdoctor.readers.yaml.nodes import Document, Item, items, masked_text
from envdoctor.readers.yaml.scopes import CONTAINER_MARKS, below, container_scope, item_of, step_scope
from envdoctor.readers.yaml.scripts import EXPORT, ScriptReader

BUDGET = 300_000
"""Nodes looked at in one file: aliases can name one node any number of times."""
EMBEDDED_DEEPEST = 3
LAST = {"setup": 2, "before_script": 2, "script": 3, "run": 3, "commands": 3, "command": 3, "after_script": 4}
ALWAYS = regex(r"(?:\$\{\{)?\s*(?:always\(\)|success\(\)|!cancelled\(\)|always|on_success|true)?\s*(?:\}\})?")
"""Conditions under which a step is done in a run that goes well."""
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".pt", ".npy", ".sif", ".sqsh", ".img", ".iso")


class YamlWalker:
    """Walks one document. `budget` and `out` are shared by all documents of a file."""

    def __init__(self, document: Document, out: Collector, budget: list[int], level: int = 0) -> None:
        self.document = document
        self.out = out
        self.budget = budget
        self.level = level
        self.seen: set[tuple[int, str, str]] = set()
        self.visited: set[int] = set()
        self.environments = EnvironmentReader(document, out, budget, self.nested_environment, self.entry)
        self.scripts = ScriptReader(document, out)

    def walk(self, node: TreeNode, context: YamlContext) -> None:
        """State the facts of a node and of what is below it; a node is visited once in each scope."""
        mark = (id(node), context.scope.name, context.kind.channel)
        if len(context.path) > DEEPEST_PATH or mark in self.seen or self.budget[0] <= 0 or self.out.full:
            return
        self.budget[0] -= AGAIN if id(node) in self.visited else 1
        self.visited.add(id(node))
        self.seen.add(mark)
        if isinstance(node, SequenceNode):
            for number, item in enumerate(node.value):
                self.budget[0] -= 1
                if not isinstance(item, ScalarNode):
                    self.walk(item, item_of(self.document, context, number, item))
        elif isinstance(node, MappingNode):
            self.mapping(node, context)

    def mapping(self, node: MappingNode, context: YamlContext) -> None:
        """A mapping, and the condition under which what it says happens, if it has one."""
        first = self.out.order
        listed = items(self.document, node, self.budget)
        keys = {name: value for name, _, value in listed}
        self.inside(node, listed, keys, context)
        condition = self.condition(keys, context)
        if condition and self.out.order > first:
            start = self.document.span(node)[0]
            self.out.under(Branch(f"step@{start}", "if", condition), first)

    def condition(self, keys: dict[str, TreeNode], context: YamlContext) -> str:
        """When a step or a task is done: `if:` of GitHub and Buildkite, `when:` of Ansible, `condition:` of Azure."""
        if context.kind.channel != "ci" and context.kind.name != "ansible":
            return ""
        named = next((keys[key] for key in ("if", "when", "condition") if key in keys), None)
        text = self.document.text(named).strip() if isinstance(named, ScalarNode) else ""
        return "" if ALWAYS.fullmatch(text) else text

    def inside(self, node: MappingNode, listed: list[Item], keys: dict[str, TreeNode], context: YamlContext) -> None:
        """What a mapping says: its environment first, then the rest, its scripts last, as a process meets them."""
        context = self.entered(node, keys, context)
        if context.kind.via == "CustomResourceDefinition" or self.is_patch(keys, context):
            return
        if text := self.written_text(keys):
            self.scripts.written(*text)
            listed = [item for item in listed if item[2] is not text[1]]
        if combined := self.is_container(keys, context):
            listed = [item for item in listed if item[0] not in ("command", "args", "entrypoint")]
        for item in sorted(listed, key=lambda item: self.rank(item[0], context)):
            self.entry(node, item, context)
        if combined:
            order = ("entrypoint", "command") if context.kind.name == "compose" else ("command", "args")
            self.scripts.command([keys[name] for name in order if name in keys], context)

    def written_text(self, keys: dict[str, TreeNode]) -> tuple[str, ScalarNode] | None:
        """Path and text of a file that is written (`write_files` of cloud-init; `copy`, `lineinfile` of Ansible)."""
        path = next((self.document.text(keys[key]) for key in ("dest", "path", "destination") if key in keys), "")
        text = next((keys[key] for key in ("content", "block", "line") if key in keys), None)
        return (path, text) if path and isinstance(text, ScalarNode) else None

    def rank(self, key: str, context: YamlContext) -> int:
        """When a key has its effect: environments before everything, scripts after it."""
        return 0 if self.is_environment(key, context) else LAST.get(key, 3 if names_script(key) else 1)

    def entered(self, node: MappingNode, keys: dict[str, TreeNode], context: YamlContext) -> YamlContext:
        """The context inside a mapping, which may be a whole manifest or name its container."""
        if context.kind.name == "kubernetes" and {"apiVersion", "kind"} <= keys.keys():
            metadata = keys_of(self.document, keys.get("metadata"))
            name = self.document.text(metadata["name"]) if "name" in metadata else ""
            kind = replace(context.kind, via=self.document.text(keys["kind"]))
            return YamlContext(kind, Scope("manifest", name), (), context.role)
        if context.kind.name == "kubernetes" and context.scope.kind == "manifest" and CONTAINER_MARKS & keys.keys():
            name = self.document.text(keys["name"]) if "name" in keys else (context.path or ("",))[-1]
            return replace(context, scope=container_scope(context, name)) if name else context
        return context

    def is_container(self, keys: dict[str, TreeNode], context: YamlContext) -> bool:
        """Whether `command` and `args` (or `entrypoint` and `command`) of a mapping make one command."""
        if context.kind.name not in ("kubernetes", "compose") or context.kind.via == "ConfigMap":
            return False
        return bool({"command", "args", "entrypoint"} & keys.keys()) and context.path[-1:] != ("build",)

    def is_environment(self, key: str, context: YamlContext) -> bool:
        """Whether a key names an environment in this kind of document."""
        name = context.kind.name
        if key == "variables":
            return name in ("gitlab", "azure", "conda")
        if key == "secrets":
            return name == "skypilot"
        return names_environment(key) and not in_runtime(key)

    def entry(self, node: MappingNode, item: Item, context: YamlContext) -> None:
        """One key with its value."""
        key, key_node, value = item
        inner = below(self.document, context, key, value)
        if key in SKIPPED or (context.kind.name == "compose" and not context.path and key.startswith("x-")):
            return
        if in_runtime(key):
            inner = in_ray(inner)
        if self.is_environment(key, context) or names_forwarding(key):
            self.environments.read(value, replace(context, path=(*context.path, key)))
        elif not self.special(key, key_node, value, context, inner):
            if isinstance(value, ScalarNode):
                self.scalar(node, key, value, context, inner)
            elif isinstance(value, SequenceNode) and self.plain(value) and names_options(key):
                self.scripts.options(value, context)
            elif isinstance(value, SequenceNode) and self.plain(value) and names_script(key):
                self.scripts.value(key, value, self.script_context(key, value, context))
            else:
                self.walk(value, inner)

    def plain(self, node: SequenceNode) -> bool:
        """Whether a list holds scalars; what `!reference` of GitLab CI names may stand between them."""
        return any(isinstance(item, ScalarNode) for item in node.value)

    def special(self, key: str, key_node: TreeNode, value: TreeNode, context: YamlContext, inner: YamlContext) -> bool:
        """Keys whose meaning does not follow from an environment or a script; True where one was handled."""
        if key in ("env_file", "envFrom", "env_files"):
            self.inclusions(value, context)
        elif key in ("limits", "requests") and isinstance(value, MappingNode):
            self.resources(value, context)
        elif key == "configMapGenerator":
            self.generators(value, context)
        elif context.kind.via in ("ConfigMap", "Secret") and key in ("data", "stringData"):
            self.files(value, context)
        elif names_image(key):
            self.image(value, context, inner)
        elif key == "devices" and isinstance(value, SequenceNode):
            self.devices(value, context)
        elif key in ("accelerators", "runtime") and isinstance(value, ScalarNode):
            self.component(key, value, context)
        else:
            return False
        return True

    def scalar(self, node: MappingNode, key: str, value: ScalarNode, context: YamlContext, inner: YamlContext) -> None:
        """A scalar that may be a script, options, or YAML or JSON as text."""
        text = self.document.text(value)
        if self.holds_yaml(key, value, text, context):
            self.nested(value, in_ray(inner) if text.lstrip().startswith("{") else inner)
        elif names_options(key):
            self.scripts.options(value, context)
        elif names_script(key):
            kind = self.scripts.foreign(node)
            self.scripts.scalar(value, self.script_context(key, value, context), "shell" if kind is None else kind)
        elif value.style == "|" and (text.startswith("#!") or EXPORT.search(text)):
            self.scripts.scalar(value, context)

    def holds_yaml(self, key: str, value: ScalarNode, text: str, context: YamlContext) -> bool:
        """Whether a scalar holds YAML or JSON: values of a chart, the runtime environment of a Ray job."""
        block = value.style in ("|", ">")
        patch = key == "patch" and context.kind.name == "kubernetes"
        return (block and (patch or key in ("values", "valuesYaml"))) or (
            "env_vars" in text and (text.lstrip().startswith("{") or (block and not names_script(key)))
        )

    def script_context(self, key: str, value: TreeNode, context: YamlContext) -> YamlContext:
        """What one shell exports is gone in the next one: set-up and hooks have shells of their own."""
        name = context.kind.name
        if key == "after_script":
            return replace(context, scope=step_scope(self.document, context, value))
        apart = (name == "skypilot" and key == "setup") or name == "ray"
        return replace(context, scope=Scope("subshell", key)) if apart else context

    def nested(self, node: ScalarNode, context: YamlContext) -> None:
        """YAML or JSON kept in a scalar."""
        if inner := self.inner(node):
            inner[0].walk(inner[1], context)

    def nested_environment(self, node: ScalarNode, context: YamlContext) -> None:
        """An environment kept as YAML in a scalar (`extraEnv: |`)."""
        if inner := self.inner(node):
            inner[0].environments.read(inner[1], context)

    def inner(self, node: ScalarNode) -> tuple[YamlWalker, TreeNode] | None:
        """A walker for YAML kept in a scalar, and its root; None where it is no YAML."""
        from envdoctor.readers.yaml.compose import NotYamlError

        source = self.document.scalar_source(node)
        masked, altered = masked_text(source.text.replace("\t", " "))
        document = Document(source, masked, 0, altered)
        try:
            root = document.compose(len(source.text)) if self.level < EMBEDDED_DEEPEST else None
        except NotYamlError:
            return None
        return (YamlWalker(document, self.out, self.budget, self.level + 1), root) if root else None

    def inclusions(self, value: TreeNode, context: YamlContext) -> None:
        """`env_file: path` of compose, `envFrom` of Kubernetes, for the container that they stand in."""
        for item in value.value if isinstance(value, SequenceNode) else [value]:
            keys = keys_of(self.document, item)
            reference = next((keys[key] for key in ("configMapRef", "secretRef") if key in keys), None)
            names = keys_of(self.document, reference)
            target = self.document.text(keys.get("path", item))
            if "name" in names:
                kind = "ConfigMap" if "configMapRef" in keys else "Secret"
                target = f"{kind}/{self.document.text(names['name'])}"
                place = self.document.inner_place(names["name"])
                self.out.add(Inclusion("configuration", target, place, 0, scope=context.scope))
            elif target:
                place = self.document.inner_place(keys.get("path", item))
                self.out.add(Inclusion("env-file", target, place, 0, scope=context.scope))

    def component(self, name: str, node: TreeNode, context: YamlContext) -> None:
        """State a component whose version is the text of a scalar."""
        text = self.document.text(node).strip()
        if text:
            self.out.add(Component(name, text, self.document.inner_place(node), context.scope.name))

    def resources(self, node: MappingNode, context: YamlContext) -> None:
        """`nvidia.com/gpu: 8` under limits or requests."""
        for name, _, value in items(self.document, node, self.budget):
            if RESOURCE.fullmatch(name) and isinstance(value, ScalarNode):
                self.component(name, value, context)

    def devices(self, node: SequenceNode, context: YamlContext) -> None:
        """`devices: [/dev/kfd]` and `devices: [{driver: nvidia}]` of compose."""
        for item in node.value:
            if self.document.text(item).startswith("/dev/"):
                self.component("device", item, context)
            elif driver := keys_of(self.document, item).get("driver"):
                self.component("driver", driver, context)

    def image(self, node: TreeNode, context: YamlContext, inner: YamlContext) -> None:
        """A container image: a reference, or a map with `repository` and `tag`."""
        keys = keys_of(self.document, node)
        if "repository" in keys:
            tag = self.document.text(keys["tag"]) if "tag" in keys else ""
            text = self.document.text(keys["repository"]) + (f":{tag}" if tag else "")
            place = self.document.inner_place(keys["repository"])
            self.out.add(Component("image", text, place, context.scope.name))
        elif isinstance(node, ScalarNode):
            self.reference(node, context)
        elif context.path and names_environment(context.path[-1]):
            for value in keys.values():
                self.reference(value, context)
        else:
            self.walk(node, inner)

    def reference(self, node: TreeNode, context: YamlContext) -> None:
        """An image reference; in a configuration of the project's own it has to look like one."""
        text = self.document.text(node).strip()
        own = context.kind.name == "configuration"
        if own and ("/" not in text or not IMAGE.fullmatch(text) or text.endswith(PICTURES)):
            return
        if "{{" in text or (text and not re.search(r"\s", text)):
            plain = re.sub(r"^docker:(?://)?", "", text)
            self.out.add(Component("image", plain, self.document.inner_place(node), context.scope.name))

    def files(self, node: TreeNode, context: YamlContext) -> None:
        """`data` of a ConfigMap: variables for `envFrom`, and files to mount."""
        if not isinstance(node, MappingNode):
            return
        kind = replace(context.kind, exported="unknown")
        for name, key, value in items(self.document, node, self.budget):
            if not isinstance(value, ScalarNode) or self.scripts.file(name, value, context):
                continue
            if VARIABLE.fullmatch(name) and value.style not in ("|", ">"):
                self.environments.variable(name, key, value, replace(context, kind=kind))

    def generators(self, node: TreeNode, context: YamlContext) -> None:
        """`configMapGenerator` of kustomize: `literals: [A=1]`, `envs: [file]`."""
        for item in node.value if isinstance(node, SequenceNode) else ():
            keys = keys_of(self.document, item)
            name = self.document.text(keys["name"]) if "name" in keys else ""
            kind = ManifestKind("kubernetes", "kubernetes", "ConfigMap", "unknown")
            inner = YamlContext(kind, Scope("manifest", name), ("configMapGenerator", "literals"))
            if "literals" in keys:
                self.environments.read(keys["literals"], inner)
            if "envs" in keys:
                self.inclusions(keys["envs"], inner)

    def is_patch(self, keys: dict[str, TreeNode], context: YamlContext) -> bool:
        """A JSON patch of an environment: `{op: add, path: /spec/.../env/-, value: {...}}`."""
        if not {"op", "path", "value"} <= keys.keys():
            return False
        match = re.search(r"/env(?:/(?:-|\d+))?$", self.document.text(keys["path"]))
        if match and isinstance(keys["value"], (MappingNode, SequenceNode)):
            value = keys["value"]
            inner = replace(context, path=(*context.path, "env"))
            if isinstance(value, SequenceNode):
                self.environments.read(value, inner)
            else:
                self.environments.item(value, inner, 0)
        return bool(match)


def in_runtime(key: str) -> bool:
    """Whether a key holds a runtime environment of Ray (`runtime_env`, `runtimeEnvYAML`)."""
    return key_words(key)[:2] == ("runtime", "env") and key_words(key)[-1] in ("env", "yaml", "json")


def in_ray(context: YamlContext) -> YamlContext:
    """The context inside a runtime environment of Ray, which Ray gives to its workers."""
    return replace(context, kind=replace(context.kind, channel="runtime-env", via="Ray", exported="yes"))
