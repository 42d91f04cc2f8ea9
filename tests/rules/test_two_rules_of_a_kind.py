"""Two rules of one kind in one scan: each looks for what its own parameters say."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_lab import BOOK, OURS, OWN, valid

from envdoctor.cli.rule_examples import said_of
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.rulebook import Example, Rulebook

TRAINING = """
import torch, ourlib
x = ourlib.draw()
y = torch.randn(3)
loss = (x * y).sum()
loss.backward()
torch.optim.SGD([x], 0.1).step()
"""
STREAM = {"name": "ours", "draws": ["ourlib.draw"], "seeds": ["ourlib.seed"], "call": "ourlib.seed(seed)"}


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_streams_are_those_of_the_rule(tmp_path: Path, first: str) -> None:
    theirs = BOOK.named("unseeded-rng")
    content = OWN["unseeded-rng"]
    changed = {"stream": [STREAM], "argument_draw": [], "helper": []}
    mine = valid({**content, "parameters": {**content["parameters"], **changed}})
    rules = (theirs, mine) if first == "theirs" else (mine, theirs)
    example = Example("bad", "train.py", TRAINING)
    for rule, line in ((mine, 2), (theirs, 3)):
        found, errors = said_of(rule, example, tmp_path, Rulebook((*rules, *OURS)), load_catalog())
        assert (found, errors) == ([(line, None)], [])
