"""What is said of parameters that a check cannot use: the line and key, what was expected, and the nearest right name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from own_lab import OWN, valid
from support import envdoctor

from envdoctor.knowledge.parameters.validation import check_parameters
from envdoctor.knowledge.rule_errors import RuleKeyError
from envdoctor.knowledge.rulebook import load_rulebook

Tree = Callable[[Mapping[str, str]], Path]
HEAD = """
id = "ED950"
name = "mine"
title = "t"
severity = "warning"
confidence = "high"
level = "hygiene"
since = "1"
why = '''
[parameters]
of = "bogus"
'''
fix = "f"
"""
SEEDS = """
check = "call"
[parameters]
of = "seeds"
seeds_unseen = "seed"
seeds_nothing = []
entropy = []
not_drawn_in = "port"
argument_draw = []
helper = []
generator = []
reseed = []
seed_argument = []
shared = []
loader = []
sampler = { names = [], told_by = "set_epoch", frameworks = [] }
keys = { makers = [], splitters = [], draws = [] }
"""
STREAM = """
[[parameters.stream]]
name = "random"
seeds = ["random.seed"]
call = "random.seed(seed)"
"""


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ('check = "relation"', "mine.toml: parameters.fault: missing: write one of contradictory, ineffective-setting"),
        ('check = "relation"\n[parameters]', "mine.toml:14: parameters.fault: missing: write one of contradictory, "),
        ('check = "call"\n[parameters]\nof = "bogus"', "mine.toml:15: parameters.of: 'bogus' is not one of seeds, missing"),
        ('check = "call"\n[parameters]\nof = "seed"', "is not one of seeds, missing, options, blind (did you mean seeds?)"),
        ('check = "call"\nparameters.of = 5', "mine.toml:14: parameters.of: 5 is not one of seeds, missing"),
        ('check = "observation"\nparameters.test = "nvls"', "parameters.sm_since: missing, and so is nccl_since"),
        ('check = "name"', "mine.toml: parameters.verdicts: missing\n"),
        ('check = "name"\nparameters.verdict = ["ghost"]', "mine.toml:14: parameters.verdict: unknown key (did you mean ver"),
        ('check = "name"\nparameters.verdicts = "ghost"', "mine.toml:14: parameters.verdicts: expected a list of words"),
        (
            'check = "name"\n[parameters]\nverdicts = [\n  "ghost",\n  "ghots",\n]',
            "mine.toml:17: parameters.verdicts[2]: 'ghots' is not one of ghost, ",
        ),
        ('check = "value"\nparameters.of = "seeds"', "mine.toml:14: parameters.of: unknown key"),
        ('check = "value"\nparameters = 3', "mine.toml:14: parameters: expected a table, got a whole number"),
        ('check = "value"\nparameters.unless_private = "yes"', "parameters.unless_private: expected true or false, got a str"),
        (SEEDS, "mine.toml:14: parameters.stream: missing\n"),
        (SEEDS + STREAM, ""),
        (SEEDS.replace('"seed"', '"("') + STREAM, "parameters.seeds_unseen: expected a regular expression, got '('"),
        (SEEDS + STREAM + "draws = 'a'", "mine.toml:34: parameters.stream[1].draws: expected a list of strings, got a string"),
        (SEEDS + STREAM + 'draw = ["a"]', "mine.toml:34: parameters.stream[1].draw: unknown key (did you mean draws?)"),
        (SEEDS + STREAM + STREAM.replace('"random.seed"', "3"), "mine.toml:37: parameters.stream[2].seeds[1]: expected a str"),
        (SEEDS + STREAM + STREAM.replace("call", "cal"), "mine.toml:38: parameters.stream[2].cal: unknown key (did you mean c"),
        (SEEDS + STREAM + STREAM.replace("call =", "#"), "mine.toml:35: parameters.stream[2].call: missing\n"),
        (SEEDS.replace("helper = []", 'helper = [{ names = ["x"], streams = ["randm"] }]') + STREAM,
         "mine.toml:21: parameters.helper[1].streams[1]: 'randm' is not one of random (did you mean random?)"),
        (SEEDS.replace("told_by = ", "toldby = ") + STREAM, "mine.toml:27: parameters.sampler.toldby: unknown key (did you"),
        (SEEDS.replace("argument_draw = []", 'argument_draw = [{ names = [], keywords = [], stream = "random" }]') + STREAM,
         "parameters.argument_draw[1].keywords: expected a list with something in it"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be_used(tree: Tree, rest: str, says: str) -> None:
    root = tree({"mine.toml": HEAD + rest.lstrip("\n"), "envdoctor.toml": 'rules = ["mine.toml"]\n', "a.sh": "true\n"})
    run = envdoctor("rules", "--validate", "mine.toml", cwd=root)
    assert run.stderr == ""
    assert (run.returncode, run.stdout.count("\n")) == (1 if says else 0, 1)
    assert says in run.stdout
    scan = envdoctor("scan", "--format", "concise", cwd=root)
    assert (scan.returncode, scan.stderr) == (2 if says else 0, "")
    assert says.strip().removeprefix("mine.toml") in scan.stdout


@pytest.mark.parametrize("rule", list(load_rulebook()), ids=lambda rule: rule.name)
def test_our_own_parameters_as_the_checks_get_them(rule: Any) -> None:
    check_parameters(rule.code, rule.parameters, rule.name)


@pytest.mark.parametrize("name", OWN)
def test_a_key_more_in_any_table_is_refused(name: str) -> None:
    def refused(table: dict[str, Any]) -> None:
        table["no_such_key"] = 1
        with pytest.raises(RuleKeyError):
            valid(OWN[name])
        del table["no_such_key"]

    parameters = OWN[name]["parameters"]
    refused(parameters)
    for value in parameters.values():
        for table in value if isinstance(value, list) else ():
            if isinstance(table, dict):
                refused(table)


def test_several_codes_share_one_table() -> None:
    rule = load_rulebook().named("contradictory")
    assert len(rule.code) > 1
    without = {key: value for key, value in rule.parameters.items() if key != "arguments"}
    with pytest.raises(RuleKeyError, match=r"x: parameters\.arguments: missing"):
        check_parameters(rule.code, without, "x")
    with pytest.raises(RuleKeyError, match=r"x: parameters\.same: unknown key"):
        check_parameters(["relations.arguments"], rule.parameters, "x")
