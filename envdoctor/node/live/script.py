"""`--script`: the settings of a launch script, judged against the releases and the library of this node."""

from __future__ import annotations

from pathlib import Path

from envdoctor.analysis.project import open_project
from envdoctor.engine import Engine, triggers
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.node.live.examination import Examination
from envdoctor.node.live.judge import Judge, how_called, worst_first
from envdoctor.node.live.names import with_library
from envdoctor.node.live.target import library_in_use
from envdoctor.project.discovery import relative_path


def judge_script(script: Path, result: Examination, judge: Judge) -> None:
    """Add the findings of a script to those of the node. What cannot be read becomes an error of the result."""
    base = Path().resolve()
    wanted = triggers(judge.rules, judge.catalog)
    around = open_project(base, script.resolve().parent, wanted, target=result.target)
    engine = Engine(around, judge.catalog, load_rulebook(), list(judge.rules), show_hints=True, level=judge.level)
    found = engine.judge([relative_path(script.resolve(), base)])
    node = result.node
    mine = with_library(found.findings, library_in_use(node), how_called(node))
    result.findings = worst_first([*mine, *found.problems, *result.findings])
    result.script_settings = [s for facts in around.facts.found.values() for s in facts.settings if not s.guarded]
    result.errors += found.errors
    result.excerpts = found.excerpts
