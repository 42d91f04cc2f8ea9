"""Build hook: a wheel carries the rule files as JSON too, so that no run parses TOML."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles `rules/` into `envdoctor/rules/compiled/` of a wheel; a rule file with an error stops the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the JSON to what goes into the wheel; an editable install parses and caches instead."""
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        try:
            from envdoctor.rulefiles import COMPILED, compile_all
        finally:
            sys.path.remove(str(root))
        out = Path(tempfile.mkdtemp(prefix="envdoctor-rules-"))
        for path in compile_all(root / "rules", out):
            build_data["force_include"][str(path)] = f"envdoctor/rules/{COMPILED}/{path.name}"
