"""Shell text in YAML: block scalars, lists of commands, lists of words, options of container runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from envdoctor.core.facts import Scope
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.readers.kinds import NAMES, kind_of, shebang_kind
from envdoctor.readers.shared.collector import Collector
from envdoctor.readers.shared.command_words import CommandWord, command_source, script_of
from envdoctor.readers.shared.embedded import mapped, read_embedded
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode, SequenceNode, TreeNode
from envdoctor.readers.shared.quoted_text import undollared
from envdoctor.readers.yaml.keys import lists_commands
from envdoctor.readers.yaml.kinds import YamlContext, keys_of
from envdoctor.readers.yaml.nodes import Document

EXPORT = regex(r"^[ \t]*export[ \t]+[A-Za-z_]\w*=", re.MULTILINE)
COMMAND = regex(
    r"\b[A-Z_]{2,}\w*=|\b(?:torchrun|python3?|mpirun|mpiexec|srun|sbatch|deepspeed|accelerate|docker|podman|ray|bash|sh"
    r"|colossalai|horovodrun|singularity|apptainer|export|source)\s"
)
"""What makes one line under a key of the project's own a command, and not a title."""
OPTION = regex(r"(?:^|\s)(?:-e|--env)[\s=]")
OTHER_SHELLS = ("pwsh", "powershell", "cmd")


class ScriptReader:
    """Hands shell text to the shell reader, each character with its place."""

    def __init__(self, document: Document, out: Collector) -> None:
        self.document = document
        self.out = out

    def embed(self, node: ScalarNode, kind: str, scope: Scope) -> None:
        """Read a scalar with the reader of a kind."""
        source = self.document.scalar_source(node)
        self.out.embed(source, kind, scope, self.document.masked.around(self.document.span(node)[0]))

    def value(self, key: str, node: TreeNode, context: YamlContext) -> None:
        """The value of a key that names a script."""
        if isinstance(node, ScalarNode):
            self.scalar(node, context)
        elif isinstance(node, SequenceNode) and self.is_list_of_commands(key, node, context):
            self.commands(node, context)
        elif isinstance(node, SequenceNode):
            self.command([node], context)

    def is_list_of_commands(self, key: str, node: SequenceNode, context: YamlContext) -> bool:
        """Whether each item of a list is a command of its own, and not a word of one command."""
        if context.kind.channel == "ci" or lists_commands(key):
            return True
        if context.kind.name in ("kubernetes", "compose") or not node.value:
            return False
        first = self.document.text(node.value[0])
        return " " in first.strip() and "\n" not in first

    def scalar(self, node: ScalarNode, context: YamlContext, kind: str = "shell") -> None:
        """A command line or a script."""
        text = self.document.text(node)
        if text.startswith("#!"):
            kind = shebang_kind(text.encode("utf-8", "replace")) or ""
        if context.kind.name == "configuration" and "\n" not in text and not COMMAND.search(text):
            return
        if len(text.split(None, 1)) > 1 and kind:
            self.embed(node, kind, context.scope)

    def commands(self, node: SequenceNode, context: YamlContext) -> None:
        """A list of commands that one shell runs one after another (`script:` of GitLab CI)."""
        pieces: list[str] = []
        offsets: list[int] = []
        for item in self.scalars(node):
            text, places = self.document.mapped_text(item)
            pieces.append(text.rstrip("\n") + "\n")
            offsets += places[: len(pieces[-1]) - 1]
            offsets.append(places[-1] if places else 0)
        branch = self.document.masked.around(self.document.span(node)[0])
        self.out.embed(mapped(self.document.source, "".join(pieces), offsets), "shell", context.scope, branch)

    def scalars(self, node: TreeNode) -> Iterable[ScalarNode]:
        """Scalars of a list and of the lists in it (GitLab CI flattens them)."""
        if isinstance(node, ScalarNode):
            yield node
        elif isinstance(node, SequenceNode):
            for item in node.value:
                if isinstance(item, ScalarNode):
                    yield item
                elif isinstance(item, SequenceNode) and item.tag != "!reference":
                    yield from (inner for inner in item.value if isinstance(inner, ScalarNode))

    def command(self, nodes: Iterable[TreeNode], context: YamlContext) -> None:
        """One command: the words of all nodes (`command` and `args`); text that is not a list is shell text."""
        words = [word for node in nodes for word in self.words(node, context)]
        if not words:
            return
        scripts = [script_of(words)] if script_of(words) else [word for word in words if "\n" in word.text.strip()]
        branch = self.document.masked.around(words[0].offsets[0]) if words[0].offsets else ()
        for script in scripts:
            if script:
                self.out.embed(script.source(self.document.source), "shell", context.scope, branch)
        if not scripts:
            self.out.embed(command_source(self.document.source, words), "shell", context.scope, branch)

    def words(self, node: TreeNode, context: YamlContext) -> list[CommandWord]:
        """Words of a node: items of a list, or a whole text as it is."""
        raw = isinstance(node, ScalarNode)
        texts = [self.document.mapped_text(item) for item in self.scalars(node)]
        if context.kind.name == "compose":
            texts = [undollared(text) for text in texts]
        return [CommandWord(*text, raw=raw) for text in texts]

    def options(self, node: TreeNode, context: YamlContext) -> None:
        """Options of a container run (`-e A=1`), read as the words after `docker run`.

        The settings belong to what the options stand in; the command itself is none of the file's.
        """
        texts = [CommandWord(*self.document.mapped_text(item), raw=True) for item in self.scalars(node)]
        if not any(OPTION.search(word.text) for word in texts):
            return
        start = self.document.span(node)[0]
        run, image = (CommandWord(text, [start] * len(text), raw=True) for text in ("docker run", "image"))
        source = command_source(self.document.source, [run, *texts, image])
        facts = read_embedded(source, "shell", self.out.order, context.scope, self.document.masked.around(start))
        facts.launches.clear()
        facts.settings = [replace(setting, scope=context.scope) for setting in facts.settings]
        self.out.take(facts)

    def file(self, name: str, node: ScalarNode, context: YamlContext) -> bool:
        """A file kept in a map (`data` of a ConfigMap) under its name; True where it was read."""
        kind = kind_of_file(name, self.document.text(node))
        if kind:
            self.embed(node, kind, context.scope)
        return kind is not None

    def written(self, path: str, node: ScalarNode) -> None:
        """A file that is written at a path, which something else then reads."""
        kind = kind_of_file(path, self.document.text(node))
        if kind:
            self.embed(node, kind, Scope("file", path))

    def foreign(self, node: MappingNode) -> str | None:
        """The kind of the script of a step whose `shell:` says so; `""` for one that is not ours to read."""
        shell = self.document.text(keys_of(self.document, node).get("shell", node)).split(" ", 1)[0]
        if shell.startswith("python"):
            return "python"
        return "" if shell in OTHER_SHELLS else None


def kind_of_file(path: str, text: str) -> str | None:
    """The kind of a file that is kept as text, by its path or else by what the text looks like."""
    name = PurePosixPath(path).name.lower()
    plain = "." in name or name in NAMES or path.startswith("/")
    head = text[:200].encode("utf-8", "replace")
    if kind := kind_of(path, head) if plain else shebang_kind(head) if text.startswith("#!") else None:
        return kind
    return "shell" if "\n" in text.strip() and EXPORT.search(text) else None
