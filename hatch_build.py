"""Build hook: a wheel carries the rule files as JSON too, so that no run parses TOML.

With `ENVDOCTOR_SHIM=1` in the environment it also carries the library that `envdoctor trace` preloads, compiled here,
and is then a wheel for this machine's platform; a release builds such wheels for Linux on x86-64 and aarch64.
"""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
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
            from envdoctor.knowledge.compile import compile_all
            from envdoctor.knowledge.files import COMPILED
            from envdoctor.node.trace.build import compile_shim, find_compiler
        finally:
            sys.path.remove(str(root))
        out = Path(tempfile.mkdtemp(prefix="envdoctor-rules-"))
        for path in compile_all(root / "rules", out):
            build_data["force_include"][str(path)] = f"envdoctor/rules/{COMPILED}/{path.name}"
        if os.environ.get("ENVDOCTOR_SHIM") == "1":
            compiler = find_compiler()
            if compiler is None:
                raise RuntimeError("ENVDOCTOR_SHIM=1 needs a C compiler (cc, gcc or clang)")
            name = f"libenvdoctor_trace-{platform.machine()}.so"
            compile_shim(compiler, out / name)
            build_data["force_include"][str(out / name)] = f"envdoctor/node/trace/{name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
