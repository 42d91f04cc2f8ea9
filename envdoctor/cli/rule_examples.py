"""The examples of a rule, each run as a scan of its own."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from envdoctor.analysis.project import open_project
from envdoctor.core.records import dataclass
from envdoctor.engine import Engine, triggers
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.rulebook import Example, Rule, Rulebook
from envdoctor.knowledge.targets.given import parse_target
from envdoctor.project import config, discovery

Said = tuple[int, str | None]
"""Line and variable of a finding."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an example of a rule went: what was missed and what was said beyond it; `skipped` says why it was not run."""

    number: int
    kind: str
    missing: tuple[Said, ...] = ()
    surplus: tuple[Said, ...] = ()
    skipped: str = ""
    errors: tuple[str, ...] = ()
    """What could not be done."""

    @property
    def failed(self) -> bool:
        """Whether the rule did not say what the example expects."""
        return bool(self.missing or self.surplus or self.errors)


def try_examples(rule: Rule, book: Rulebook, catalog: Catalog) -> Iterator[Outcome]:
    """Run the examples of a rule, each in a folder of its own, with all other rules beside it."""
    for number, example in enumerate(rule.examples, 1):
        if example.node:
            yield Outcome(number, example.kind, skipped=f"needs the recorded node {example.node}")
            continue
        expected = Counter((int(e["line"]), e.get("variable")) for e in example.expect)
        with tempfile.TemporaryDirectory(prefix="envdoctor-") as folder:
            found, errors = said_of(rule, example, Path(folder).resolve(), book, catalog)
        said = Counter(found)
        missing, surplus = (expected - said).elements(), (said - expected).elements()
        yield Outcome(number, example.kind, tuple(_sorted(missing)), tuple(_sorted(surplus)), errors=tuple(errors))


def _sorted(said: Iterable[Said]) -> list[Said]:
    return sorted(said, key=lambda one: (one[0], one[1] or ""))


def said_of(rule: Rule, example: Example, root: Path, book: Rulebook, catalog: Catalog) -> tuple[list[Said], list[str]]:
    """What a rule says about the example's own file, written with its further files under `root`, and what failed."""
    for name, code in ((example.file, example.code), *((f["file"], f.get("code", "")) for f in example.files)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code.lstrip("\n"), encoding="utf-8")
    target = parse_target(example.target) if example.target else None
    tree = open_project(root, root, triggers(book, catalog), target=target)
    settings = config.load(root)
    engine = Engine(tree, catalog, book, list(book), show_hints=rule.severity == "info")
    engine.level = example.level or settings.level
    result = engine.judge(discovery.find([str(root)], root).files, settings.complaints)
    mine = [f for f in result.findings if f.name == rule.name and f.place.path == example.file]
    return [(f.place.line, f.variable) for f in mine], result.errors
