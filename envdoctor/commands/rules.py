"""`envdoctor rules`: list the rules."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from envdoctor.rulebook import Rule, load_rulebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `rules`."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to list them")


def run(arguments: argparse.Namespace) -> int:
    """List all rules."""
    rules = load_rulebook()
    if arguments.format == "json":
        sys.stdout.write(json.dumps([as_json(rule) for rule in rules], indent=2) + "\n")
        return 0
    for rule in rules:
        print(f"{rule.id}  {rule.severity:<7}  {rule.name:<28}  {rule.title}")
    return 0


def as_json(rule: Rule) -> dict[str, Any]:
    """A rule without its examples."""
    keys = ("id", "name", "title", "severity", "confidence", "level", "check", "since", "why", "fix", "exceptions")
    return {key: getattr(rule, key).strip() for key in keys}
