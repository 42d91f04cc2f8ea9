"""Rule and catalogue files of users: what kind each is, whether it is valid, and how its examples go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from envdoctor.cache import dependency_log
from envdoctor.core.errors import UserError
from envdoctor.core.records import dataclass
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.files import loads_toml, rules_dir, suggestion
from envdoctor.knowledge.rule_check import check_own, check_shipped
from envdoctor.knowledge.rule_errors import Key, RuleError, RuleKeyError
from envdoctor.knowledge.rulebook import Example, Rule, Rulebook, load_rulebook, made, rule_from
from envdoctor.knowledge.toml_lines import located

Kind = Literal["rule", "catalogue"]
SECTIONS = ("library", "prefix", "parser", "variable")
"""Tables of a catalogue file."""
MARKS = ("id", "name", "severity", "level", "check", "code", "since", "why", "fix", "parameters", "triggers")
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
    try:
        data = dependency_log.read(str(path))
    except (OSError, ValueError) as error:  # ValueError: no name of a file
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        text = data.decode("utf-8")
        content = loads_toml(text)
    except (ValueError, RecursionError) as error:  # more digits or brackets than the parser takes, too
        said = "nested too deep" if isinstance(error, RecursionError) else error
        raise RuleError(f"{path}: not valid TOML: {said}") from error
    if kind_of(content, path) == "rule":
        with located(text):
            rule = _rule(content, path)
            for number, example in enumerate(rule.examples):
                check_example(example, str(path), ("example", number))
        return OwnFile(path, "rule", content, rule)
    from envdoctor.knowledge.catalog.schema import check_file

    check_file(content, str(path))
    return OwnFile(path, "catalogue", content)


def _rule(content: Mapping[str, Any], path: Path) -> Rule:
    if _is_shipped(path):
        check_shipped(content, str(path))
        return rule_from(content)
    return made(content, *check_own(content, str(path)))


def _is_shipped(path: Path) -> bool:
    """Whether a file is one of envdoctor itself."""
    return path.resolve().is_relative_to(rules_dir().resolve())


def kind_of(content: Mapping[str, Any], path: Path) -> Kind:
    """What a file is, by its keys."""
    if any(key in SECTIONS for key in content):
        return "catalogue"
    if not content or any(key in MARKS for key in content):
        return "rule"
    first = next(iter(content))
    hint = suggestion(first, [*SECTIONS, *MARKS])
    raise RuleError(f"{path}: {first}: neither a key of a rule nor a table of the catalogue{hint}")


def check_example(example: Example, where: str, key: Key) -> None:
    """What can be told of an example at `key` without running it."""
    from envdoctor.core.target import TargetError
    from envdoctor.knowledge.targets.given import parse_target

    paths = [((*key, "file"), example.file)]
    paths += [((*key, "files", index, "file"), file["file"]) for index, file in enumerate(example.files)]
    for there, name in paths if not example.node else ():
        path = PurePosixPath(name)
        if not name or path.is_absolute() or ".." in path.parts:
            raise RuleKeyError(where, there, f"expected a path inside the example, got {name!r}")
    for index, expected in enumerate(example.expect):
        if not example.node and "line" not in expected:
            raise RuleKeyError(where, (*key, "expect", index, "line"), "missing")
    try:
        parse_target(example.target) if example.target else None
    except TargetError as error:
        raise RuleKeyError(where, (*key, "target"), str(error)) from error


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
