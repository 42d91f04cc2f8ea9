"""Files without a rule of their own: each script is a process with what the file gives to its scope and those around.

Ansible, Terraform, SkyPilot, values of charts, JSON and TOML configurations, code blocks of documents.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.analysis.process.beginnings.common import declared, given_to, line_of
from envdoctor.analysis.process.beginnings.root import Root, RootKind
from envdoctor.core.facts import FileFacts, Scope
from envdoctor.core.operations import Script


def roots(facts: FileFacts, scripts: Sequence[Script], text: str, kind: RootKind = "step") -> list[Root]:
    """One root for each script; scripts of one scope run one after the other."""
    settings = declared(facts, scripts)
    images = {part.detail: part.version for part in reversed(facts.components) if part.name == "image"}
    found: list[Root] = []
    last: dict[Scope, int] = {}
    for script in scripts:
        before = last.get(script.scope, -1)
        last[script.scope] = len(found)
        written = script.scope.kind == "file"
        given = () if written else given_to(script.scope, settings)
        image = images.get(script.scope.name, "")
        found.append(
            Root(facts.path, "script" if written else kind, script.scope.name, line_of(script), script, given,
                 image=image, before=before, exact=False)
        )  # fmt: skip
    return found
