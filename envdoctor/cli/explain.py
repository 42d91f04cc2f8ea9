"""`envdoctor explain NAME`: what is known about a rule, a variable or a piece of advice, with the evidence."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator
from typing import Any

from envdoctor.checks.names import verdicts
from envdoctor.cli.explain_claims import advice_lines, claim_json, claim_lines, language_of
from envdoctor.core.errors import UserError
from envdoctor.core.target import Target, TargetError
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.model import BadValue, Catalog, Variable
from envdoctor.knowledge.claims import load_claims
from envdoctor.knowledge.files import suggestion
from envdoctor.knowledge.rulebook import Rule, load_rulebook
from envdoctor.knowledge.targets.given import parse_target

WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `explain`."""
    names = "a rule (ED101), a variable (NCCL_ALGO) or advice in your words, English or Chinese"
    parser.add_argument("name", nargs="+", metavar="NAME", help=names)
    parser.add_argument("--target", default="", help="say it for this target: rocm-6.2,torch-2.4")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to say it")


def run(arguments: argparse.Namespace) -> int:
    """Explain one name; a name that nothing is known of is said to be so."""
    try:
        target = parse_target(arguments.target) if arguments.target else Target(None, {}, (), (), ())
    except TargetError as error:
        raise UserError(f"--target: {error}") from error
    query = " ".join(arguments.name).strip()
    print("\n".join(answer(query, target, arguments.format == "json")).rstrip())
    return 0


def answer(query: str, target: Target, as_data: bool) -> list[str]:
    """The lines that answer a question: a rule, a variable, a piece of advice. Raises UserError for anything else."""
    book, catalog, claims = load_rulebook(), load_catalog(), load_claims()
    name = query.split("=")[0]
    if (rule := book.find(query)) is not None:
        return [*rule_lines(rule), *advice_lines(claims.caught_by(rule.name))]
    variable = None if " " in query else catalog.variable(name)
    if variable is not None or (" " not in query and catalog.prefix_of(name) is not None):
        if as_data:
            return [json.dumps(as_json(name, variable, catalog, target), indent=2, ensure_ascii=False)]
        return [*variable_lines(name, variable, catalog, target), *advice_lines(claims.about(name))]
    if found := claims.search(query):
        if as_data:
            return [json.dumps(claim_json(found[0]), indent=2, ensure_ascii=False)]
        return list(claim_lines(claims, found, language_of(query)))
    if (verdict := verdicts.judge(name, catalog, target)) is not None:
        return [name, "", *wrapped(verdict.message + ".")]
    known = [r.name for r in book]
    raise UserError(f"nothing is known of {query!r}: no rule, no variable of the catalogue, no prefix that it covers, "
                    f"no advice in words like these{suggestion(query, known)}")  # fmt: skip


def wrapped(text: str, indent: str = "") -> list[str]:
    """Text in lines of readable length, paragraphs kept."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += textwrap.wrap(" ".join(paragraph.split()), WIDTH, initial_indent=indent, subsequent_indent=indent,
                               break_long_words=False, break_on_hyphens=False)  # fmt: skip
    return lines


def rule_lines(rule: Rule) -> list[str]:
    """A rule as its page says it."""
    lines = [f"{rule.id} {rule.name}", "", *wrapped(rule.title + "."), ""]
    lines += [f"severity {rule.severity}, confidence {rule.confidence}, level {rule.level}, since {rule.since}", ""]
    for heading, text in (("Why", rule.why), ("What to do", rule.fix), ("Exceptions", rule.exceptions)):
        if text.strip():
            lines += [heading, *wrapped(text, "  "), ""]
    for example in rule.examples:
        note = f" ({example.note})" if example.note else ""
        target = f", target {example.target}" if example.target else ""
        title = "Reported" if example.kind == "bad" else "Not reported"
        lines += [f"{title}: {example.file or f'node {example.node}'}{target}{note}"]
        lines += [f"    {expect['says']}" for expect in example.expect if "says" in expect]
        lines += [textwrap.indent(example.code.strip("\n"), "    "), ""] if example.code else [""]
    return lines


def variable_lines(name: str, variable: Variable | None, catalog: Catalog, target: Target) -> Iterator[str]:
    """A variable: the verdict first, then who reads it, values, when, and the evidence."""
    yield name
    yield ""
    verdict = verdicts.judge(name, catalog, target)
    if verdict is not None:
        yield from wrapped(f"{verdict.message}.")
        if verdict.help:
            yield from wrapped(f"Instead: {verdict.help}.")
    elif variable is None:
        yield from wrapped(unlisted(name, catalog))
    else:
        yield from wrapped(variable.summary or "A real setting.")
    yield ""
    if variable is not None:
        yield from _readers(variable, catalog)
        yield from _details(variable)
    evidence = variable.evidence if variable is not None else verdict.evidence if verdict is not None else ()
    if evidence:
        yield "Evidence"
        for line in evidence:
            yield from wrapped(line, "  ")


def unlisted(name: str, catalog: Catalog) -> str:
    """Why nothing is said of a name under a prefix that is known."""
    prefix = catalog.prefix_of(name)
    assert prefix is not None
    if prefix.foreign:
        return f"{prefix.name}* belongs to {prefix.foreign}; it is not judged here."
    if name in prefix.build:
        return f"{name} is a name that builds use; no library reads it when a job runs."
    return f"Not known: {prefix.name}* is open or has private parts, so a name that is not listed may have a reader."


def _readers(variable: Variable, catalog: Catalog) -> Iterator[str]:
    if not variable.readings:
        yield "Read by: nothing that is catalogued"
    for reading in variable.readings:
        library = catalog.libraries[reading.library]
        counts = "ROCm " if library.counts == "rocm" else ""
        until = f"to {counts}{reading.until}" if reading.until else "and later"
        line = f"Read by: {library.title}, {counts}{reading.since or 'all covered releases'} {until}"
        yield line + (f" ({reading.condition})" if reading.condition else "")
        if reading.evidence:
            yield f"         {reading.evidence}"


def _details(variable: Variable) -> Iterator[str]:
    facts = [("Platform", variable.platform), ("Read at", variable.read_at), ("Changes bits", variable.changes_bits)]
    yield from (f"{label}: {value}" for label, value in facts if value)
    for reading in variable.readings:
        steps = "; ".join(f"{value} from {since}" if since else value for since, value in reading.default)
        if steps:
            yield from wrapped(f"Default ({reading.library}): {steps}")
    for bad in variable.bad:
        yield from wrapped(f"Value {describe(bad)}: {bad.effect}")
    for need in variable.needs:
        yield from wrapped(f"Needs: {need.text}")
    for conflict in variable.conflicts:
        winner = f"{conflict.winner} wins; " if conflict.winner else ""
        yield from wrapped(f"Meets {conflict.with_name or conflict.against}: {winner}{conflict.why}")
    if variable.note:
        yield from wrapped(f"Note: {variable.note}")
    yield ""


CONDITIONS = {
    "unknown_word": "with a word that is not known",
    "not_integer": "that is no number",
    "trailing_text": "with text after the number",
    "empty": "that is empty",
}


def describe(bad: BadValue) -> str:
    """The condition of a statement about values, in words."""
    where = f" (on {bad.platform or bad.library})" if bad.platform or bad.library else ""
    if bad.condition in CONDITIONS:
        return CONDITIONS[bad.condition] + where
    if bad.condition == "outside":
        return f"outside {bad.argument[0]} to {bad.argument[1]}{where}"
    argument = ", ".join(repr(v) for v in bad.argument) if isinstance(bad.argument, (list, tuple)) else bad.argument
    return f"{bad.condition.replace('_', ' ')} {argument}{where}".removeprefix("values ")


def as_json(name: str, variable: Variable | None, catalog: Catalog, target: Target) -> dict[str, Any]:
    """What is known of a variable, for programs."""
    verdict = verdicts.judge(name, catalog, target)
    known: dict[str, Any] = {"name": name, "verdict": verdict.kind if verdict else None}
    known["message"] = verdict.message if verdict else None
    known["help"] = verdict.help if verdict else None
    if variable is not None:
        known["status"] = variable.status
        known["platform"] = variable.platform
        keys = ("library", "since", "until", "evidence")
        known["read_by"] = [{key: getattr(reading, key) for key in keys} for reading in variable.readings]
        known["evidence"] = list(variable.evidence)
    return known
