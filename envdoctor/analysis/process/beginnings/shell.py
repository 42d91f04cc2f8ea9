"""Shell scripts: one process, or a job where directives of a batch system stand in the head."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.core.facts import FileFacts
from envdoctor.core.operations import Script, head_end
from envdoctor.core.regexes import regex

_DIRECTIVE = regex(r"^#(?:SBATCH|PBS|BSUB|FLUX:|flux:|COBALT|\$)[ \t]+\S", 8)


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """The script itself; `scripts` is its one body."""
    return [of_script(facts, script, text) for script in scripts[:1]]


def of_script(facts: FileFacts, script: Script, text: str) -> Root:
    """The root of a whole file. What directives give to a job are words of the launcher that they belong to."""
    name = facts.path.rpartition("/")[2]
    return Root(facts.path, "job" if is_job(text) else "script", name, 1, script)


def is_job(text: str) -> bool:
    """Whether directives of a batch system stand in the head of a script, before its first command."""
    return _DIRECTIVE.search(text, 0, head_end(text)) is not None
