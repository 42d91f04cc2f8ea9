"""What the walk states as certain is so in real bash: small scripts of each kind are run by both.

KNOWN scripts are decidable, and the walk has to know every launch and value of them. OPEN ones depend on what is
outside, or on what the walk does not compute: they are run under several outsides, and it may state nothing that one of
them contradicts. Commands before `&&` are taken to succeed, and text that nobody knows is taken to leave values alone
that are exported already: scripts that break these two on purpose are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bash_cases_flow
import bash_cases_names
import bash_cases_processes
import bash_cases_words
import pytest
from bash_runs import BashRuns, Environment, contradictions, is_recent, undecided, with_launch
from walked import tree, write

from envdoctor.analysis.process.results import Walked

BESIDE = {
    "env.sh": "export B=5\nC=6\n",
    "vars.env": "B=5\nC=6\n",
    "quoted.env": "# of the test\nB=\"5 6\"\n\nC='x'\n",
    "lib.sh": "f() { export A=7; }\n",
    "args.sh": "export A=$1\n",
    "start.sh": "A=$1 torchrun train.py\n",
    "in.sh": "export A=3\ntorchrun train.py\n",
    "train.py": "",
}
"""What stands beside each script."""
OUTSIDES: tuple[Environment, ...] = ({}, {"X": "1"}, {"X": "a b"}, {"X": "A=1"}, {"X": "A"}, {"X": ""})
TABLES = (bash_cases_words, bash_cases_names, bash_cases_flow, bash_cases_processes)
KNOWN = [(kind, text) for table in TABLES for kind, texts in table.KNOWN.items() for text in texts]
OPEN = [(kind, text) for table in TABLES for kind, texts in table.OPEN.items() for text in texts]
WRONG = {
    "export A=a\\\nb": "a line that goes on in the middle of a word is two words to the grammar",
    "bash -c 'export A=$0; torchrun train.py' x 1": "the name that `bash -c` is given is not kept",
    "A=1; for v in $X; do export $v=2; done": "a name that nobody knows is taken to be none that has a value already",
    "export() { builtin export B=1; }; export A=1": "functions that take the place of `export` are not read",
    "unset() { :; }; export A=1; unset A": "functions that take the place of `unset` are not read",
    "export A=1; env ${X:+-u A} torchrun train.py": "a flag that may be there is taken not to be",
    "export A=1; env ${X:+-i PATH=$PATH} torchrun train.py": "a flag that may be there is taken not to be",
    'bash <<E\nexport A="${X:-1}"\ntorchrun train.py\nE': "a default in text that is run is taken for what is written",
    "set -k; torchrun train.py A=1": "`set -k` is not known",
    "export A=1; coproc A { true; }": "the array that `coproc` makes is not known",
}
"""Scripts of which the walk states what is not so, and why."""


pytestmark = pytest.mark.skipif(not is_recent(), reason="needs bash 5.1 or later")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BashRuns]:
    yield BashRuns(tmp_path_factory.mktemp("bash"))


def walk(folder: Path, text: str) -> Walked:
    """The starts of a script that stands beside the others."""
    result = tree(folder, {"run.sh": with_launch(text), **BESIDE})
    return result._replace(starts=tuple(start for start in result.starts if start.root.path == "run.sh"))


def outsides(text: str) -> tuple[Environment, ...]:
    """What a script is run under."""
    return OUTSIDES if "X" in text else OUTSIDES[:1]


@pytest.mark.parametrize(("kind", "text"), KNOWN, ids=[f"{kind}: {text}" for kind, text in KNOWN])
def test_what_can_be_told_is_told(tmp_path: Path, runs: BashRuns, kind: str, text: str) -> None:
    result = walk(tmp_path, text)
    assert undecided(runs.run(tmp_path, {}), result) == []


@pytest.mark.parametrize(("kind", "text"), OPEN, ids=[f"{kind}: {text}" for kind, text in OPEN])
def test_what_cannot_be_told_is_not_stated(tmp_path: Path, runs: BashRuns, kind: str, text: str) -> None:
    check(tmp_path, runs, text)


@pytest.mark.parametrize(
    "text", [pytest.param(t, marks=pytest.mark.xfail(strict=True, reason=WRONG[t])) for t in WRONG]
)
def test_what_is_stated_wrongly(tmp_path: Path, runs: BashRuns, text: str) -> None:
    check(tmp_path, runs, text)


def check(folder: Path, runs: BashRuns, text: str) -> None:
    """Run a script under each outside; the walk is of the files as they are before."""
    result = walk(folder, text)
    for outside in outsides(text):
        write(folder, {"run.sh": with_launch(text), **BESIDE})  # the last run may have changed them
        assert contradictions(runs.run(folder, outside), result) == [], outside
