"""The tool that compares printed launch units with the judged ones: what it reads, and what it draws."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

SPEC = importlib.util.spec_from_file_location(
    "check_launches", Path(__file__).parents[2] / "tools" / "check_launches.py"
)
assert SPEC
assert SPEC.loader
tool = importlib.util.module_from_spec(SPEC)
sys.modules["check_launches"] = tool
SPEC.loader.exec_module(tool)

TEXT = """job.sh
  batch system: slurm
  6: srun > python -> a/t.py (not found in the tree)
      NCCL_ALGO=Ring (line 5)
      NCCL_PROTO=LL (with srun)
  9: mpirun
  and 3 further launches

other.sh
  1: torchrun -> $X/t.py (its place is not known)
"""


def test_units_are_read_as_they_are_printed() -> None:
    units = list(tool.units_in(TEXT))
    assert [unit.key() for unit in units] == [
        ("job.sh", 6, "srun > python", "a/t.py"),
        ("job.sh", 9, "mpirun", ""),
        ("other.sh", 1, "torchrun", "$X/t.py"),
    ]
    assert [unit.names() for unit in units] == [{"NCCL_ALGO", "NCCL_PROTO"}, set(), set()]


def test_a_sample_is_drawn_by_position_alone() -> None:
    units = [tool.Shown("a", line, "srun", "") for line in range(100)]
    assert [unit.line for unit in tool.sample(units, 5)] == [10, 30, 50, 70, 90]
    assert tool.sample(units[:3], 5) == units[:3]
