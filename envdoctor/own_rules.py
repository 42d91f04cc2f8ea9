"""Rule and catalogue files of users: what kind each is, whether it is valid, and how its examples go."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from envdoctor import journal
from envdoctor.catalog import Catalog, load_catalog
from envdoctor.errors import UserError
from envdoctor.records import dataclass
from envdoctor.rulebook import Example, Rule, Rulebook, RuleError, load_rulebook, rule_from
from envdoctor.rulefiles import suggestion

Kind = Literal["rule", "catalogue"]
SECTIONS = ("library", "prefix", "parser", "variable")
"""Tables of a catalogue file."""
MARKS = ("id", "name", "severity", "level", "check", "since", "why", "fix", "parameters", "triggers")
"""Keys that only a rule file has; launcher files have examples too."""


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that was read: its kind, its content, and the rule in it if it holds one."""

    path: Path
    kind: Kind
    content: Mapping[str, Any]
    rule: Rule | None = None


def read(path: Path) -> OwnFile:
    """A file, checked by itself. `RuleError` or `CatalogError` names file and key; `UserError`: it cannot be read."""
    import tomli

    try:
        data = journal.read(str(path))
    except (OSError, ValueError) as error:  # ValueError: no name of a file
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        content = tomli.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # more digits or brackets than the parser takes, too
        said = "nested too deep" if isinstance(error, RecursionError) else error
        raise RuleError(f"{path}: not valid TOML: {said}") from error
    if kind_of(content, path) == "rule":
        rule = rule_from(content, str(path))
        for number, example in enumerate(rule.examples, 1):
            check_example(example, f"{path}: example {number}")
        return OwnFile(path, "rule", content, rule)
    from envdoctor.catalog_schema import check_file

    check_file(content, str(path))
    return OwnFile(path, "catalogue", content)


def kind_of(content: Mapping[str, Any], path: Path) -> Kind:
    """What a file is, by its keys."""
    if any(key in SECTIONS for key in content):
        return "catalogue"
    if not content or any(key in MARKS for key in content):
        return "rule"
    first = next(iter(content))
    hint = suggestion(first, [*SECTIONS, *MARKS])
    raise RuleError(f"{path}: {first}: neither a key of a rule nor a table of the catalogue{hint}")


def check_example(example: Example, where: str) -> None:
    """What can be told of an example without running it."""
    from envdoctor.targets import TargetError, parse_target

    for name in (example.file, *(f.get("file", "") for f in example.files)):
        path = PurePosixPath(name)
        if not example.node and (not name or path.is_absolute() or ".." in path.parts):
            raise RuleError(f"{where}: file: expected a path inside the example, got {name!r}")
    for expected in example.expect:
        if not example.node and not isinstance(expected.get("line"), int):
            raise RuleError(f"{where}: expect: line: expected a number")
    try:
        parse_target(example.target) if example.target else None
    except TargetError as error:
        raise RuleError(f"{where}: target: {error}") from error


def together(files: Sequence[OwnFile]) -> tuple[Rulebook, Catalog]:
    """The rules and the catalogue that come with envdoctor, with these files beside or over them.

    `RuleError`, `CatalogError`: an id or name is taken, or something refers to what does not exist.
    """
    catalog = load_catalog([f.path for f in files if f.kind == "catalogue"])
    shipped = load_rulebook()
    rules = list(shipped)
    taken = {key: "envdoctor's own" for rule in shipped for key in (rule.id, rule.name)}
    for file in files:
        if file.rule is None or file.rule in shipped.rules:  # a file of envdoctor itself
            continue
        for key, value in (("id", file.rule.id), ("name", file.rule.name)):
            if value in taken:
                raise RuleError(f"{file.path}: {key}: {value} is already taken by {taken[value]}")
            taken[value] = str(file.path)
        rules.append(file.rule)
    return Rulebook(tuple(sorted(rules, key=lambda rule: rule.id))), catalog


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
    from envdoctor import config, discovery
    from envdoctor.engine import Engine
    from envdoctor.project import Project
    from envdoctor.targets import parse_target

    for name, code in ((example.file, example.code), *((f["file"], f.get("code", "")) for f in example.files)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code.lstrip("\n"), encoding="utf-8")
    target = parse_target(example.target) if example.target else None
    triggers = {t.encode() for one in book for t in one.triggers} | set(catalog.triggers())
    project = Project(root, root, (), target, tuple(sorted(triggers)))
    settings = config.load(root)
    engine = Engine(project, catalog, book, list(book), show_hints=rule.severity == "info")
    engine.level = example.level or settings.level
    result = engine.judge(discovery.find([str(root)], root).files, settings.complaints)
    mine = [f for f in result.findings if f.name == rule.name and f.place.path == example.file]
    return [(f.place.line, f.variable) for f in mine], result.errors
