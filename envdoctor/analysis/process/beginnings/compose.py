"""Compose files: each service is a container with its environment, above that of its `env_file`.

Source: compose specification: `environment` wins over `env_file`; `command` is handed to the ENTRYPOINT of the image
unless `entrypoint` is there; an image is built from `build`; a name without a value comes from the shell; `.env` beside
the file fills in `${...}` and gives no variables to containers.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from envdoctor.analysis.process.beginnings.common import declared, line_of
from envdoctor.analysis.process.beginnings.outline import Outline, OutlineNode, scalar
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.devices import reserved
from envdoctor.analysis.references.paths import folder
from envdoctor.core.facts import FileFacts, Scope
from envdoctor.core.operations import Script

DEEPEST = 8


def roots(facts: FileFacts, scripts: Sequence[Script], outline: Outline) -> list[Root]:
    """The services in order."""
    names = dict.fromkeys(outline.keys(outline.find(0, "services")))
    scopes = [*(s.scope for s in declared(facts, scripts)), *(s.scope for s in scripts)]
    names |= dict.fromkeys(scope.name.split("/", 1)[0] for scope in scopes if scope.kind == "container")
    found: list[Root] = []
    for name in names:
        whole = _service(facts, scripts, outline, name)
        by_name = [[s for s in scripts if _service_of(s) == one] for one in (name, *_bases(outline, name))]
        mine = next(filter(None, by_name), [])
        found += [whole._replace(script=script, line=line_of(script)) for script in mine] or [whole]
    left = [script for script in scripts if _service_of(script) not in names]
    return found + [Root(facts.path, "script", s.scope.name, line_of(s), s, exact=False) for s in left]


def _service_of(script: Script) -> str:
    return script.scope.name.split("/", 1)[0]


def _service(facts: FileFacts, scripts: Sequence[Script], outline: Outline, name: str) -> Root:
    at = outline.find(0, "services", name)
    bases = _bases(outline, name)
    scopes = [Scope("container", one) for one in (*bases[::-1], name)]
    settings = [s for scope in scopes for s in declared(facts, scripts) if s.scope == scope]
    files = [i for scope in scopes for i in facts.inclusions if i.kind == "env-file" and i.scope == scope]
    image = next((part.version for one in (name, *bases) for part in facts.components
                  if part.name == "image" and part.detail == one), "")  # fmt: skip
    dockerfile, stage = _build(facts, outline, at)
    line = outline.nodes[at].line if at >= 0 else settings[0].place.line if settings else 1
    return Root(facts.path, "container", name, line, None, tuple(settings), tuple(files), image=image,
                dockerfile=dockerfile, stage=stage, after_entrypoint=not _has_entrypoint(outline, at),
                exact=not _extends_file(outline, at), beside=posixpath.join(folder(facts.path), ".env"),
                devices=reserved(outline, at, facts.path))  # fmt: skip


def _has_entrypoint(outline: Outline, at: int) -> bool:
    """Whether a service says what its ENTRYPOINT is, itself or by what it merges."""
    keys = outline.keys(at)
    return "entrypoint" in keys or ("<<" in keys and any(node.key == "entrypoint" for node in outline.nodes))


def _build(facts: FileFacts, outline: Outline, at: int) -> tuple[str, str]:
    """The Dockerfile that a service is built from, as a path of the tree, and the stage."""
    keys = outline.keys(at)
    if "build" not in keys:
        return "", ""
    inner = outline.keys(outline.nodes.index(keys["build"])) if keys["build"] in outline.nodes else {}
    context = _text(inner, "context") if inner else scalar(keys["build"].value)
    home = folder(facts.path)
    path = posixpath.normpath(posixpath.join(home, context or ".", _text(inner, "dockerfile") or "Dockerfile"))
    return path, _text(inner, "target")


def _bases(outline: Outline, name: str) -> list[str]:
    """The services of this file that a service extends, the nearest first."""
    found: list[str] = []
    while len(found) < DEEPEST:
        at = outline.find(0, "services", name, "extends")
        keys = outline.keys(at)
        if at < 0 or "file" in keys:
            break
        name = _text(keys, "service") or scalar(outline.nodes[at].value)
        if not name or name in found:
            break
        found.append(name)
    return found


def _extends_file(outline: Outline, at: int) -> bool:
    keys = outline.keys(at)
    return "extends" in keys and "file" in outline.keys(outline.nodes.index(keys["extends"]))


def _text(keys: dict[str, OutlineNode], key: str) -> str:
    return scalar(keys[key].value) if key in keys else ""
