"""site-packages folders of a node, in the order in which torch is looked for, and the interpreters they belong to."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from envdoctor.node.probes.base import NodeView
from envdoctor.node.probes.files import NodeFiles

_PACKAGES = re.compile(r"(/.*?/(?:site|dist)-packages)/")
_PREFIX = re.compile(r"(?P<prefix>/.*?)/lib(?:64)?/python(?P<version>3(?:\.[0-9]+)?)/(?:site|dist)-packages$")
USUAL_PREFIXES = ("/opt/venv", "/opt/conda", "/usr/local", "/usr")
"""Where images and distributions keep their Python."""


def expand(files: NodeFiles, prefix: str) -> Iterator[str]:
    """site-packages folders below a prefix; the newest Python first."""
    for library in ("lib", "lib64"):
        for name in reversed(files.names(f"{prefix}/{library}", "python3*")):
            yield f"{prefix}/{library}/{name}/site-packages"
            yield f"{prefix}/{library}/{name}/dist-packages"


def prefixes(view: NodeView) -> Iterator[str]:
    """Prefixes of Python installs: the active environment, PATH, then the usual places."""
    environment = view.environment
    yield from (environment.get(name, "") for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    for folder in environment.get("PATH", "").split(":"):
        if folder.endswith("/bin") and any(view.files.exists(f"{folder}/{name}") for name in ("python3", "python")):
            yield folder.removesuffix("/bin")
    yield from USUAL_PREFIXES
    yield f"{environment.get('HOME', '')}/.local"


def candidates(view: NodeView, interpreter: str) -> Iterator[str]:
    """Folders that may be site-packages, the likeliest first."""
    yield from (match[1] for path in view.mapped if (match := _PACKAGES.match(path)))
    if "/bin/" in interpreter:
        yield from expand(view.files, interpreter.rpartition("/bin/")[0])
    yield from (path for path in view.environment.get("PYTHONPATH", "").split(":") if path.startswith("/"))
    for prefix in dict.fromkeys(prefixes(view)):
        if prefix.startswith("/") and prefix != "/.local":
            yield from expand(view.files, prefix)
    if view.files.live:
        yield from (path for path in sys.path if path.endswith(("site-packages", "dist-packages")))


def site_packages(view: NodeView, interpreter: str = "") -> list[str]:
    """site-packages folders that are there, each once, the one of the examined process first."""
    found: dict[str, str] = {}
    for folder in dict.fromkeys(candidates(view, interpreter)):
        if view.files.is_folder(folder):
            found.setdefault(view.files.resolve(folder), folder)
    return list(found.values())


def interpreter_of(files: NodeFiles, folder: str) -> str:
    """The interpreter that imports from a site-packages folder; "" where none can be told."""
    match = _PREFIX.match(folder)
    if not match:
        return ""
    names = (f"python{match['version']}", "python3", "python")
    paths = (f"{match['prefix']}/bin/{name}" for name in names)
    return next((path for path in paths if files.exists(path)), "")


def interpreter_with(files: NodeFiles, folders: Iterable[str], module: str) -> str:
    """An interpreter whose site-packages hold a module; "" where none does."""
    for folder in folders:
        if files.exists(f"{folder}/{module}") and (interpreter := interpreter_of(files, folder)):
            return interpreter
    return ""
