"""HCL files (Terraform, Packer, Nomad): environments in blocks, maps and `jsonencode`; scripts in here-documents."""

from __future__ import annotations

from envdoctor.facts import FileFacts
from envdoctor.readers.collector import MOST_SETTINGS, Collector
from envdoctor.readers.json_document import JsonDocument
from envdoctor.readers.json_walk import JsonWalker
from envdoctor.readers.nodes import MappingNode, ScalarNode
from envdoctor.readers.terraform_scan import Hcl
from envdoctor.readers.yaml_kinds import Context, Kind
from envdoctor.readers.yaml_walk import BUDGET
from envdoctor.source import Source

HCL = Kind("configuration", "task", "HCL")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one HCL file."""
    out = Collector(source, kind)
    scanner = Hcl(source.text)
    root = scanner.read()
    if scanner.problem:
        message, at = scanner.problem
        out.problem(f"not quite HCL: {message}", at, at)
    own = list(out.facts.problems)
    HclWalker(JsonDocument(source), out, [BUDGET]).walk(root, Context(HCL))
    out.facts.problems = own  # what is wrong with a command is mostly an expression of HCL in it
    if out.full:
        out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return out.facts


class HclWalker(JsonWalker):
    """The walk of JSON, with JSON that stands as text in a here-document."""

    def scalar(self, node: MappingNode, key: str, value: ScalarNode, context: Context, inner: Context) -> None:
        """A scalar that may be a script, or JSON as text."""
        if value.style == "|" and value.value.lstrip()[:1] in ("{", "["):
            self.out.embed(self.document.scalar_source(value), "json", inner.scope)
        else:
            super().scalar(node, key, value, context, inner)
