"""Entry of the child processes, run by path: `python start.py PARENT_PID DESCRIPTOR`.

The folder of a script stands first on `sys.path`, where a module of ours could hide one of the user's; it is taken
away, and the package is loaded from its place under a name of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

PACKAGE = "envdoctor_rank"


def load() -> None:
    """Make this folder importable as `envdoctor_rank`, without adding any folder to `sys.path`."""
    here = Path(__file__).resolve().parent
    if sys.path and sys.path[0] and Path(sys.path[0]).resolve() == here:
        del sys.path[0]
    spec = importlib.util.spec_from_file_location(PACKAGE, here / "__init__.py", submodule_search_locations=[str(here)])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    load()
    server = importlib.import_module(PACKAGE + ".server")
    os._exit(server.serve(int(sys.argv[1]), int(sys.argv[2])))  # torch takes half a second to end in good order
