"""`--format github`: workflow commands, which GitHub Actions turns into annotations of a pull request."""

from __future__ import annotations

from envdoctor.core.findings import Finding
from envdoctor.engine import ScanResult
from envdoctor.reports.base import paragraphs, printable, refuted

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


class GithubReport:
    """One `::error file=...,line=...::message` a finding."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """The commands; nothing where there is nothing to say."""
        commands = [workflow_command(f) for f in [*result.findings, *result.problems]]
        commands += [f"::error title=envdoctor::{_data(printable(error))}" for error in result.errors]
        return "".join(f"{command}\n" for command in commands)


def workflow_command(finding: Finding) -> str:
    """The command of one finding. What an experiment refuted is a notice."""
    place = finding.place
    kind = "notice" if refuted(finding) else COMMANDS[finding.severity]
    properties = {"title": f"{finding.rule} {finding.name}", "file": place.path, "line": place.line}
    if place.end_line == place.line:
        # Columns are refused where an annotation spans lines; the end is inclusive here.
        properties |= {"col": place.column, "endColumn": max(place.column, place.end_column - 1)}
    else:
        properties |= {"endLine": place.end_line}
    shown = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    lines = [finding.message, *(f"{heading}: {text}" for heading, text in paragraphs(finding))]
    return f"::{kind} {shown}::{_data(chr(10).join(printable(line) for line in lines))}"


def _data(text: str) -> str:
    """Escapes of the message, as the runner undoes them: actions/toolkit, packages/core/src/command.ts."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escapes of a property, which may hold neither `:` nor `,` as it is."""
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
