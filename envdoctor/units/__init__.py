"""Launch units: which script starts which program with which launcher, and what happens on the way."""

from __future__ import annotations

from envdoctor.units.build import build
from envdoctor.units.model import Command, Step, Unit

__all__ = ["Command", "Step", "Unit", "build"]
