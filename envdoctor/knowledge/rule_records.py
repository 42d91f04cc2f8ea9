"""What a rule file holds, as records; what each kind of rule may have as parameters is in `parameters`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from envdoctor.core.findings import Confidence as Confidence
from envdoctor.core.findings import Severity as Severity
from envdoctor.knowledge.parameters.forms import Form, SomeTexts, Texts

Level = Literal["hygiene", "run-to-run", "placement", "topology"]
Line = Annotated[int, Form("the number of a line", lambda number: number > 0)]


class Expected(TypedDict, total=False):
    """What an example wants to be said."""

    line: Line
    """The line of the finding."""
    variable: str
    """The variable that it is about."""
    says: str
    """Of a node: a part of the message."""


class _FileOptions(TypedDict, total=False):
    code: str
    """Its text."""
    remove: str
    """Of a recorded node: the file is left out."""
    replace: str
    """Of a recorded node: the part of the file that `code` takes the place of."""


class ExampleFile(_FileOptions):
    """A further file of an example."""

    file: str
    """Its path inside the example."""


class _ExampleOptions(TypedDict, total=False):
    file: str
    """The path of the file that is judged."""
    code: str
    """Its text."""
    expect: list[Expected]
    """What is found in it; a bad example has something here, a good one nothing."""
    target: str
    """What it runs on, as for `scan --target`."""
    note: str
    """What the example shows."""
    files: list[ExampleFile]
    """Further files beside it."""
    level: Literal["auto", "hygiene", "run-to-run", "placement", "topology"]
    """The level that is asked for."""
    node: str
    """Of envdoctor's own rules: the recorded node that is judged instead of a file."""


class ExampleTable(_ExampleOptions):
    """Code that a rule must or must not speak about."""

    kind: Literal["bad", "good"]
    """Whether something is found."""


class _RuleOptions(TypedDict, total=False):
    parameters: dict[str, Any]
    """What the check compares with."""
    triggers: Texts
    """Texts of which one stands in every file that the rule speaks about, where that is no name of the catalogue."""
    exceptions: str
    """Where it says nothing, and why."""
    evidence: Texts
    """Where its claim is to be seen."""
    experiment: str
    """The experiment of the smoke test that confirms or refutes it."""
    platform: Literal["both", "cuda", "rocm"]
    """The platform that it is about."""
    example: list[ExampleTable]
    """Examples, which are its tests."""


class _RuleFile(_RuleOptions):
    id: str
    """`ED` and a number that no other rule has."""
    name: str
    """Its name: small letters and hyphens."""
    title: str
    """What it says, in one line."""
    severity: Severity
    """How bad it is."""
    confidence: Confidence
    """How sure a finding is."""
    level: Level
    """The level from which on it matters."""
    since: str
    """The release in which it came."""
    why: str
    """Why it matters."""
    fix: str
    """The way out."""


class OwnRuleFile(_RuleFile):
    """A rule of a user."""

    check: str
    """The kind of check."""


class ShippedRuleFile(_RuleFile):
    """A rule of envdoctor."""

    code: str | SomeTexts
    """The functions that look for it."""
