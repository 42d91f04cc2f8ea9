"""Commands of units and supervised programs are read whatever they look like."""

from __future__ import annotations

from facts_shown import facts_of


def test_a_unit_that_starts_a_script_of_any_name() -> None:
    found = facts_of("[Service]\nExecStart=/opt/train/run.sh --x\n", "train.service").inclusions
    assert [(i.kind, i.target) for i in found] == [("run", "/opt/train/run.sh")]


def test_a_supervised_program_that_starts_a_script() -> None:
    found = facts_of("[program:a]\ncommand=/opt/run.sh\n[other]\ncommand=/opt/no.sh\n", "supervisor.ini").inclusions
    assert [i.target for i in found] == ["/opt/run.sh"]
