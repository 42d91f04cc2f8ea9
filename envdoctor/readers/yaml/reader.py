"""YAML files: manifests, compose files, CI pipelines, tasks, and configurations with an environment in them.

Each document is masked, composed and walked on its own. What does not parse is read line by line.
"""

from __future__ import annotations

from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector
from envdoctor.readers.shared.template_mask import MaskedTemplate
from envdoctor.readers.yaml.compose import NotYamlError
from envdoctor.readers.yaml.kinds import YamlContext, kind_of
from envdoctor.readers.yaml.lines import read_lines
from envdoctor.readers.yaml.nodes import Document, documents, masked_text
from envdoctor.readers.yaml.walk import BUDGET, YamlWalker

LARGEST_COMPOSED = 2_000_000
"""Characters above which a file is read by lines only: its nodes would take more than 100 MB."""
LARGEST = 16_000_000


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one YAML file: environments first, then scripts, within each part that has both."""
    if source.text.startswith("\ufeff"):
        source = source.part(1, len(source.text))
    out = Collector(source, kind)
    if len(source.text) > LARGEST:
        out.problem(f"larger than {LARGEST} characters: not read", 0, 0)
        return out.facts
    if len(source.text) > LARGEST_COMPOSED:
        out.problem(f"larger than {LARGEST_COMPOSED} characters: read line by line", 0, 0)
        read_lines(out, MaskedTemplate(source.text), 0, len(source.text))
        return out.facts
    masked, altered = masked_text(source.text)
    budget = [BUDGET]
    for start, end in documents(masked.text):
        read_document(Document(source, masked, start, altered), end, out, budget)
    if budget[0] <= 0:
        out.problem("too many nodes (aliases): the rest was left out", 0, 0)
    if out.full:
        out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return out.facts


def read_document(document: Document, end: int, out: Collector, budget: list[int]) -> None:
    """One document up to offset `end`; by lines where it is no YAML."""
    try:
        root = document.compose(end)
    except NotYamlError as error:
        at = document.base + error.index
        out.problem(f"not parsed as YAML ({error}): read line by line", at, at)
        read_lines(out, document.masked, document.base, end)
        return
    if root is not None:
        YamlWalker(document, out, budget).walk(root, YamlContext(kind_of(document, root)))
