"""Facts of shell text as short lines, so that tables of scripts and what is read from them stay readable.

set NCCL_ALGO=Ring                                  an exported literal in the whole file
set A=<${B:-c}|c> exported=no scope=function:f      a template with its fallback, in a function
pass A channel=launcher-argument via=mpirun         forwarded by name
launch srun -> python x.py                          a launch and the command in it
"""

from __future__ import annotations

from envdoctor.core.facts import FileFacts, Setting, Value
from envdoctor.core.source import Source
from envdoctor.readers import registry


def read(text: str, path: str = "job.sh") -> FileFacts:
    return registry.read(Source(path, text), "shell")


def value(given: Value) -> str:
    if given.kind == "literal":
        return given.text
    if given.kind == "unknown":
        return "?"
    return f"<{given.text}>" if given.fallback is None else f"<{given.text}|{given.fallback}>"


def setting(fact: Setting) -> str:
    words = [fact.op, f"{fact.name}={value(fact.value)}" if fact.op in ("set", "default", "append") else fact.name]
    if fact.exported != "yes":
        words.append(f"exported={fact.exported}")
    if fact.channel != "shell":
        words.append(f"channel={fact.channel}")
    if fact.scope.kind != "process":
        words.append(f"scope={fact.scope.kind}:{fact.scope.name}")
    if fact.via:
        words.append(f"via={fact.via}")
    if fact.branch:
        words.append("branch=" + ",".join(branch.arm for branch in fact.branch))
    return " ".join(words)


def settings(text: str) -> list[str]:
    return [setting(fact) for fact in read(text).settings]


def names(text: str) -> list[str]:
    """Operation, name and value alone."""
    return [" ".join(line.split(" ")[:2]) for line in settings(text)]


def launches(text: str) -> list[str]:
    return [f"{fact.launcher} -> {' '.join(fact.inner)}" for fact in read(text).launches]


def uses(text: str) -> list[str]:
    return [fact.name for fact in read(text).uses]


def inclusions(text: str) -> list[str]:
    return [f"{fact.kind} {fact.target}" for fact in read(text).inclusions]
