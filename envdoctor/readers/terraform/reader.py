"""HCL files (Terraform, Packer, Nomad): environments in blocks, maps and `jsonencode`; scripts in here-documents."""

from __future__ import annotations

from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source
from envdoctor.readers.json.document import JsonDocument
from envdoctor.readers.json.walk import JsonWalker
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode
from envdoctor.readers.terraform.scan import Hcl
from envdoctor.readers.yaml.kinds import ManifestKind, YamlContext
from envdoctor.readers.yaml.walk import BUDGET

HCL = ManifestKind("configuration", "task", "HCL")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one HCL file."""
    out = Collector(source, kind)
    scanner = Hcl(source.text)
    root = scanner.read()
    if scanner.problem:
        message, at = scanner.problem
        out.problem(f"not quite HCL: {message}", at, at)
    own = list(out.facts.problems)
    HclWalker(JsonDocument(source), out, [BUDGET]).walk(root, YamlContext(HCL))
    out.facts.problems = own  # what is wrong with a command is mostly an expression of HCL in it
    if out.full:
        out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return out.facts


class HclWalker(JsonWalker):
    """The walk of JSON, with JSON that stands as text in a here-document."""

    def scalar(self, node: MappingNode, key: str, value: ScalarNode, context: YamlContext, inner: YamlContext) -> None:
        """A scalar that may be a script, or JSON as text."""
        if value.style == "|" and value.value.lstrip()[:1] in ("{", "["):
            self.out.embed(self.document.scalar_source(value), "json", inner.scope)
        else:
            super().scalar(node, key, value, context, inner)
