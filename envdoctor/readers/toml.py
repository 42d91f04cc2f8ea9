"""TOML files: `[env]` of mise, cargo and pixi, `env-vars` of hatch, `pytest_env`, and any other environment."""

from __future__ import annotations

from pathlib import PurePosixPath

from envdoctor.facts import FileFacts
from envdoctor.readers.collector import MOST_SETTINGS, Collector
from envdoctor.readers.json_document import JsonDocument
from envdoctor.readers.json_walk import JsonWalker
from envdoctor.readers.template_mask import mask
from envdoctor.readers.toml_scan import Toml
from envdoctor.readers.yaml_kinds import CONFIGURATION, Context
from envdoctor.readers.yaml_walk import BUDGET
from envdoctor.source import Source


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one TOML file."""
    out = Collector(source, kind)
    masked = mask(source.text)
    scanner = Toml(masked.text)
    root = scanner.read()
    if scanner.builder.problem:
        message, at = scanner.builder.problem
        out.problem(f"not quite TOML: {message}", at, at)
    title = PurePosixPath(source.path).name.split(".", 1)[0]
    JsonWalker(JsonDocument(source, masked), out, [BUDGET]).root(root, Context(CONFIGURATION), title)
    if out.full:
        out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return out.facts
