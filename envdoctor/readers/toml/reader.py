"""TOML files: `[env]` of mise, cargo and pixi, `env-vars` of hatch, `pytest_env`, and any other environment."""

from __future__ import annotations

from pathlib import PurePosixPath

from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source
from envdoctor.readers.json.document import JsonDocument
from envdoctor.readers.json.walk import JsonWalker
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector
from envdoctor.readers.shared.template_mask import mask
from envdoctor.readers.toml.scan import Toml
from envdoctor.readers.yaml.kinds import CONFIGURATION, YamlContext
from envdoctor.readers.yaml.walk import BUDGET


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
    JsonWalker(JsonDocument(source, masked), out, [BUDGET]).root(root, YamlContext(CONFIGURATION), title)
    if out.full:
        out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return out.facts
