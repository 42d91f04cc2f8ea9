"""Faults in a setting itself: a name that nothing reads, a value outside its grammar, one node that differs."""

from __future__ import annotations

import random
import re

from inject.edits import Edit, Planting, edited, lines_with, put
from inject.places import Launch, Script
from inject.settings import POOL, Named, own_exports, real_names, top_of

GHOST, VALUE, NODE = ("ED101", "ED102"), ("ED201",), ("ED602", "ED303")
BAD = {
    "NCCL_IB_TIMEOUT": "1800", "NCCL_BUFFSIZE": "8M", "NCCL_IB_RETRY_CNT": "seven", "NCCL_SHM_DISABLE": "true",
    "NCCL_CROSS_NIC": "yes", "NCCL_SOCKET_NTHREADS": "auto", "NCCL_MAX_NCHANNELS": "all", "NCCL_PROTO": "ring",
    "NCCL_ALGO": "fastest", "NCCL_DEBUG": "verbose", "NCCL_NET_GDR_READ": "on", "NCCL_IGNORE_CPU_AFFINITY": "true",
}  # fmt: skip
"""Values that the library refuses or reads as something else."""
_NODE = re.compile(r"--node[_-]rank[= ]\"?(\$\{?\w+)")


def ghost(repository: str, named: Named, script: Script, launch: Launch, chance: random.Random) -> Planting | None:
    """A name that nearly exists in the place of a real one."""
    own = [setting for setting in own_exports(script, launch, named) if setting.name.startswith("NCCL_")]
    free = named.unnamed()
    if not own and not free:
        return None
    name = chance.choice(own).name if own else chance.choice(free)
    shape, wrong = chance.choice(_misspelt(name, chance))
    text = script.text if own else edited(script.text, [_line(script, launch, f"export {name}={POOL[name][0]}")])
    if wrong in real_names() or wrong in text:
        return None
    fault = {script.path: re.sub(rf"\b{name}\b", wrong, text)}
    return _planting("ghost", shape, repository, script.path, wrong, GHOST, text, fault)


def value(repository: str, named: Named, script: Script, launch: Launch, chance: random.Random) -> Planting | None:
    """A value that its reader refuses or takes for another."""
    own = [setting for setting in own_exports(script, launch, named) if setting.name in BAD]
    free = [name for name in named.unnamed() if name in BAD]
    if own:
        setting = chance.choice(own)
        fault = re.sub(rf"\b{setting.name}=\S+", f"{setting.name}={BAD[setting.name]}", script.text)
        return _planting(
            "value", "own", repository, script.path, setting.name, VALUE, script.text, {script.path: fault}
        )
    if not free:
        return None
    name = chance.choice(free)
    base, fault = (
        edited(script.text, [_line(script, launch, f"export {name}={given}")]) for given in (POOL[name][0], BAD[name])
    )
    return _planting("value", "given", repository, script.path, name, VALUE, base, {script.path: fault})


def one_node(repository: str, named: Named, script: Script, launch: Launch, chance: random.Random) -> Planting | None:
    """A setting that one node alone has."""
    match = _NODE.search(launch.words)
    free = named.unnamed()
    if match is None or not free or launch.launcher != "torchrun":
        return None
    name = chance.choice(free)
    indent = script.indent(launch.statement)
    rank = match[1].replace("${", "$").removeprefix("$")
    line = f"export {name}={POOL[name][0]}"
    guarded = f'{indent}if [ "${{{rank}}}" = 0 ]; then\n{indent}    {line}\n{indent}fi\n'
    base = edited(script.text, [put(launch.statement, f"{indent}{line}\n")])
    fault = edited(script.text, [put(launch.statement, guarded)])
    return _planting("one-node", launch.shape, repository, script.path, name, NODE, base, {script.path: fault})


def _misspelt(name: str, chance: random.Random) -> list[tuple[str, str]]:
    """Names that nearly are this one, each with what was done."""
    at = chance.randrange(len("NCCL_") + 1, len(name) - 1)
    under = name.rindex("_") if name.count("_") > 1 else 0
    found = [("letter left out", name[:at] + name[at + 1 :]), ("plural", f"{name}S")]
    if under:
        found.append(("underscore left out", name[:under] + name[under + 1 :]))
    if name[at] != name[at + 1]:
        found.append(("letters swapped", name[:at] + name[at + 1] + name[at] + name[at + 2 :]))
    return found


def _line(script: Script, launch: Launch, text: str) -> Edit:
    at = top_of(script, launch)
    return put(at, f"{script.indent(at)}{text}\n")


def _planting(
    kind: str,
    shape: str,
    repository: str,
    path: str,
    name: str,
    rules: tuple[str, ...],
    base: str,
    fault: dict[str, str],
) -> Planting:
    places = tuple(lines_with(fault, name))
    return Planting(kind, shape, repository, path, places[0][1], name, rules, {path: base}, fault, places)
