"""Findings of a node: the settings of its process and what its probes observed, judged by the rules that apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from envdoctor.checks import registry as checks
from envdoctor.checks.context import FileContext, LaunchContexts, LaunchProject
from envdoctor.checks.shared import Shared
from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.findings import SEVERITIES, Finding
from envdoctor.core.internal_errors import InternalErrors
from envdoctor.core.records import replace
from envdoctor.core.target import Target
from envdoctor.engine import one_fault_one_finding
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.intent import asking
from envdoctor.knowledge.rulebook import LEVELS, Rule
from envdoctor.node.live.job import RANKS
from envdoctor.node.live.names import with_library
from envdoctor.node.live.target import library_in_use, target_of
from envdoctor.node.probes.report import Node


@dataclass(frozen=True, slots=True)
class Judge:
    """The rules that were selected, what is known of variables, and the level that was asked for."""

    rules: Sequence[Rule]
    catalog: Catalog
    level: str = "auto"
    internal: InternalErrors = field(default_factory=InternalErrors)
    """Errors of ours, each kept to the rule that it came up in."""

    def findings(self, node: Node) -> tuple[list[Finding], Target, str]:
        """(findings with the worst first, target, level) of an examined node."""
        target, level = target_of(node), level_of(self.level, node.facts.settings)
        facts = FileFacts("/proc/self/environ", "process", settings=node.facts.settings)
        context = FileContext(facts, target, Shared(self.catalog), observations=node.facts.observations)
        observed: list[Finding] = []
        settings: list[Finding] = []
        for rule in self.rules:
            if applies(rule, target):
                with self.internal.guard(node.name, f"judging it by {rule.name}"):
                    observed += checks.on_node(rule, context)
                    settings += checks.in_file(rule, context)
        with self.internal.guard(node.name, "judging settings beside each other"):
            settings += related(node, self.rules, self.catalog, target)
        with self.internal.guard(node.name, "comparing the ranks of a job"):
            settings += disagreeing(node, self.rules, self.catalog)
        # Several findings of one rule about observations may share a place: each says something else.
        settings = one_fault_one_finding(with_library(settings, library_in_use(node), how_called(node)))
        # What only a higher level asks for is a hint.
        levels = {rule.name: rule.level for rule in self.rules}
        found = [f.as_info() if asks_more(levels[f.name], level) else f for f in (*settings, *observed)]
        return worst_first(found), target, level


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """The findings in the order in which they are shown."""
    return sorted(found, key=lambda f: (-SEVERITIES.index(f.severity), f.rule))


def related(node: Node, rules: Sequence[Rule], catalog: Catalog, target: Target) -> Iterator[Finding]:
    """Settings of the process that cancel each other or have no effect beside each other."""
    chosen = [rule for rule in rules if checks.codes_of(rule, ("relations",))]
    effective = in_effect(node.facts.settings)
    if not chosen or not effective:
        return
    from envdoctor.analysis.process.given import of_process
    from envdoctor.knowledge.launchers import load_launchers

    path = effective[0].place.path
    # A rank has its whole environment: what it lacks is not set anywhere else, as at a launch in a script.
    ranks = any(
        setting.name in RANKS and setting.name != "SLURM_PROCID" for setting in effective
    )  # batch shells have it
    walked = of_process(effective, ranks)
    files = {path: FileFacts(path, "process", settings=effective)}
    contexts = LaunchContexts(LaunchProject(walked, files, Shared(catalog), load_launchers(), lambda _: target))
    for rule in chosen:
        yield from checks.in_launches(rule, contexts.of(path))


def in_effect(settings: Iterable[Setting]) -> list[Setting]:
    """The settings that hold in the process: of each variable the environment's own, else the first conf file's."""
    held: dict[str, Setting] = {}
    for setting in sorted(settings, key=lambda s: s.op == "default"):
        held.setdefault(setting.name, replace(setting, op="set"))
    return list(held.values())


def disagreeing(node: Node, rules: Sequence[Rule], catalog: Catalog) -> Iterator[Finding]:
    """Variables that decide on bits and are not the same for all ranks of a running job."""
    rule = next((rule for rule in rules if rule.name == "inconsistent-launch"), None)
    for observation in node.facts.observations if rule else ():
        variable = catalog.variable(observation.detail) if observation.key == "job.differs" else None
        if rule and variable and variable.changes_bits == "yes":
            message = f"ranks of one job have different {variable.name}: {observation.value}"
            yield Finding(rule.id, rule.name, "warning", "high", observation.place, message, rule.fix, variable.name)


def applies(rule: Rule, target: Target) -> bool:
    """Whether a rule is for the node's platform."""
    return target.platform is None or rule.platform in ("both", target.platform)


def asks_more(wanted: str, level: str) -> bool:
    """Whether a rule's level is above the one that was asked for."""
    return LEVELS.index(wanted) > LEVELS.index(level)


def level_of(asked: str, settings: Iterable[Setting]) -> str:
    """The level to judge by: `auto` is run-to-run where a setting asks for determinism."""
    if asked != "auto":
        return asked
    return "run-to-run" if any(asking(settings)) else "hygiene"


def how_called(node: Node) -> str:
    """How the library whose names count is called: it is loaded, or it is the only one there is."""
    return "loaded library" if node.ccl and node.ccl.loaded else "only collectives library of this node"
