"""Files without a rule of their own: each script is a process with what the file gives to its scope and those around.

Ansible, Terraform, SkyPilot, values of charts, JSON and TOML configurations, code blocks of documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.analysis.process.beginnings.common import declared, given_to, line_of
from envdoctor.analysis.process.beginnings.root import Root, RootKind
from envdoctor.core.facts import FileFacts, Scope
from envdoctor.core.operations import Script

KINDS: dict[str, RootKind] = {"container": "container", "file": "script"}
"""Kind of a scope -> what a script in it is; all others are steps."""
OPTIONS = ".options"
"""What a task says about itself stands beside its command (`options: {env: ...}` of VS Code)."""


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """One root for each script; scripts of one scope run one after the other."""
    settings = declared(facts, scripts)
    images = {part.detail: part.version for part in reversed(facts.components) if part.name == "image"}
    found: list[Root] = []
    last: dict[Scope, int] = {}
    for script in scripts:
        before = last.get(script.scope, -1)
        last[script.scope] = len(found)
        kind = KINDS.get(script.scope.kind, "step")
        given = () if kind == "script" else given_to(script.scope, settings, beside=OPTIONS)
        image = next((images[name] for name in _outwards(script.scope.name) if name in images), "")
        found.append(
            Root(facts.path, kind, script.scope.name, line_of(script), script, given, image=image,
                 before=before if kind == "step" else -1, exact=False)
        )  # fmt: skip
    return found


def _outwards(name: str) -> Iterator[str]:
    """A scope and those that it lies in; an image that stands in none is that of all."""
    while name:
        yield name
        name = name[: max(name.rfind("/"), name.rfind("."), 0)]
    yield ""
