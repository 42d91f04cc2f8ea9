"""From the code that a rule names to the function that does the work, in one step.

A rule's `code` is one name or several, each `topic.what`. The topic says what the function is called for: each file
(`names`, `values`, `python`), the launches of a project (`delivery`, `relations`, `levels`) or a node (`node`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from envdoctor.checks.context import FileContext, LaunchContext
from envdoctor.core.findings import Finding
from envdoctor.knowledge.rulebook import Rule

CHECKS = {
    "names.verdicts": "envdoctor.checks.names.names:check",
    "names.options": "envdoctor.checks.python.versions:check",
    "values.grammar": "envdoctor.checks.values.values:check",
    "python.seeds": "envdoctor.checks.python.seeds:check",
    "python.missing_switches": "envdoctor.checks.python.missing:check",
    "python.options": "envdoctor.checks.python.options:check",
    "python.option_arguments": "envdoctor.checks.python.arguments:check",
    "python.option_builds": "envdoctor.checks.python.builds:check",
    "python.blind_tests": "envdoctor.checks.python.blind:check",
    "delivery.not_exported": "envdoctor.checks.delivery.export:check",
    "delivery.not_forwarded": "envdoctor.checks.delivery.lost:check",
    "delivery.too_late": "envdoctor.checks.delivery.late:check",
    "delivery.inconsistent": "envdoctor.checks.delivery.jobs:check",
    "delivery.misread_commands": "envdoctor.checks.delivery.commands:check",
    "delivery.conf_files": "envdoctor.checks.delivery.conf_files:check",
    "relations.twice": "envdoctor.checks.relations.twice:check",
    "relations.pairs": "envdoctor.checks.relations.pairs:check",
    "relations.code": "envdoctor.checks.relations.code:check",
    "relations.arguments": "envdoctor.checks.relations.arguments:check",
    "relations.idle": "envdoctor.checks.relations.idle:check",
    "levels.missing_settings": "envdoctor.checks.levels.levels:check",
    "node.several_rocm": "envdoctor.checks.node.rocm:several_rocm",
    "node.mixed_rocm": "envdoctor.checks.node.rocm:mixed_rocm",
    "node.driver_pair": "envdoctor.checks.node.rocm:driver_pair",
    "node.gfx_override": "envdoctor.checks.node.rocm:gfx_override",
    "node.library_differs": "envdoctor.checks.node.libraries:library_differs",
    "node.library_override": "envdoctor.checks.node.libraries:library_override",
    "node.conf_file": "envdoctor.checks.node.libraries:conf_file",
    "node.debug_library": "envdoctor.checks.node.libraries:debug_library",
    "node.tuning_databases": "envdoctor.checks.node.libraries:tuning_databases",
    "node.no_gpu": "envdoctor.checks.node.gpus:no_gpu",
    "node.partition_mode": "envdoctor.checks.node.gpus:partition_mode",
    "node.unequal_gpus": "envdoctor.checks.node.gpus:unequal_gpus",
    "node.device_denied": "envdoctor.checks.node.access:device_denied",
    "node.missing_gpu": "envdoctor.checks.node.access:missing_gpu",
    "node.gpu_health": "envdoctor.checks.node.health:gpu_health",
    "node.busy_gpu": "envdoctor.checks.node.health:busy_gpu",
    "node.network_device": "envdoctor.checks.node.network:network_device",
    "node.shared_gpu": "envdoctor.checks.node.gpus:shared_gpu",
    "node.clock_cap": "envdoctor.checks.node.gpus:clock_cap",
    "node.missing_link": "envdoctor.checks.node.links:missing_link",
    "node.nvls": "envdoctor.checks.node.links:nvls",
    "node.small_limits": "envdoctor.checks.node.host:small_limits",
    "node.host_tuning": "envdoctor.checks.node.host:host_tuning",
    "node.precision_override": "envdoctor.checks.node.host:precision_override",
}
"""Code -> module and function `(rule, context) -> Iterator[Finding]`; imported when a rule is first asked for.
Functions about a node are given the facts of it and say what they saw (`node.common.NodeCheck`)."""
FILE_TOPICS = ("names", "values", "python")
LAUNCH_TOPICS = ("delivery", "relations", "levels")


@cache
def function(code: str) -> Callable[..., Iterator[Any]]:
    """The function behind a code."""
    module, name = CHECKS[code].split(":")
    found: Callable[..., Iterator[Any]] = getattr(importlib.import_module(module), name)
    return found


def codes_of(rule: Rule, topics: tuple[str, ...]) -> list[str]:
    """The codes of a rule that belong to some topics."""
    return [code for code in rule.code if code.partition(".")[0] in topics]


def in_file(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Findings of one rule in one file."""
    for code in codes_of(rule, FILE_TOPICS):
        if context.entry_points is not None or not code.startswith("python."):
            yield from function(code)(rule, context)


def in_launches(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Findings of one rule about the launches of a project."""
    for code in codes_of(rule, LAUNCH_TOPICS):
        yield from function(code)(rule, context)


def on_node(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Findings of one rule about what was observed of a node; none where there is no node."""
    if not context.observations:
        return
    from envdoctor.checks.node.common import told

    for code in codes_of(rule, ("node",)):
        yield from told(rule, context, function(code))
