"""The walk over JSON, TOML and HCL: that of YAML, with the keys that only these formats have."""

from __future__ import annotations

from envdoctor.core.facts import Inclusion, Scope
from envdoctor.core.records import replace
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode, SequenceNode, TreeNode
from envdoctor.readers.yaml.keys import names_environment
from envdoctor.readers.yaml.kinds import YamlContext, keys_of
from envdoctor.readers.yaml.nodes import items
from envdoctor.readers.yaml.walk import YamlWalker

ENVIRONMENTS = {"setenv", "set_env", "set-env", "_env"}
"""Keys that name an environment and do not say so by a word of their own (tox)."""
TERMINAL = "terminal.integrated.env."
ENV_FILES = {"envFile", "envFiles", "env-file", "env-files", "dotenv", "dotenv-files", "environmentFiles"}
NAMED_COMMANDS = {"scripts", "tasks"}
"""Maps from the name of a command to it (package.json, pixi, poe, hatch)."""


class JsonWalker(YamlWalker):
    """Walks one document of JSON, TOML or HCL."""

    def is_environment(self, key: str, context: YamlContext) -> bool:
        """Whether a key names an environment in this kind of document."""
        return key in ENVIRONMENTS or key.startswith(TERMINAL) or super().is_environment(key, context)

    def special(self, key: str, key_node: TreeNode, value: TreeNode, context: YamlContext, inner: YamlContext) -> bool:
        """Keys whose meaning does not follow from an environment or a script; True where one was handled."""
        if key in ENV_FILES:
            for item in value.value if isinstance(value, SequenceNode) else [value]:
                self.env_file(keys_of(self.document, item).get("value", item))
        elif key == "inline" and isinstance(value, SequenceNode) and self.plain(value):
            self.scripts.commands(value, replace(context, scope=Scope("subshell", ".".join(inner.path))))
        elif key in NAMED_COMMANDS and isinstance(value, MappingNode):
            self.named_commands(value, inner)
        else:
            return super().special(key, key_node, value, context, inner)
        return True

    def env_file(self, node: TreeNode) -> None:
        """A file of variables (VS Code, ECS)."""
        if target := self.document.text(node):
            self.out.add(Inclusion("env-file", target, self.document.inner_place(node), 0))

    def named_commands(self, node: MappingNode, context: YamlContext) -> None:
        """Commands by name: each is run by a shell of its own."""
        for item in items(self.document, node, self.budget):
            name, _, value = item
            if isinstance(value, ScalarNode):
                self.scripts.scalar(value, replace(context, scope=Scope("subshell", name)))
            else:
                self.entry(node, item, context)

    def root(self, node: TreeNode, context: YamlContext, title: str) -> None:
        """A whole document, whose `title` may say that it is an environment itself."""
        if names_environment(title) and isinstance(node, MappingNode) and self.environments.is_plain(node):
            self.environments.read(node, context)
        else:
            self.walk(node, context)
