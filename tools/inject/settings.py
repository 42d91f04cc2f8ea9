"""Which variable a fault is about: one that the script exports itself, or one that nothing in the project names."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from envdoctor.knowledge.files import loads_toml
from inject.places import Launch, Script, own_line

CATALOG = Path(__file__).parent.parent.parent / "rules" / "catalog"
POOL = {
    "NCCL_IB_TIMEOUT": ("22", "20"), "NCCL_IB_RETRY_CNT": ("6", "5"), "NCCL_IB_QPS_PER_CONNECTION": ("4", "2"),
    "NCCL_IB_TC": ("106", "96"), "NCCL_SOCKET_NTHREADS": ("4", "2"), "NCCL_NSOCKS_PERTHREAD": ("4", "2"),
    "NCCL_BUFFSIZE": ("8388608", "2097152"), "NCCL_CROSS_NIC": ("1", "0"), "NCCL_NET_GDR_READ": ("1", "0"),
    "NCCL_P2P_NET_CHUNKSIZE": ("524288", "262144"), "NCCL_IGNORE_CPU_AFFINITY": ("1", "0"),
    "NCCL_IB_AR_THRESHOLD": ("4096", "16384"), "NCCL_IB_PCI_RELAXED_ORDERING": ("1", "0"),
    "NCCL_NCHANNELS_PER_NET_PEER": ("4", "2"), "NCCL_IB_SPLIT_DATA_ON_QPS": ("1", "0"),
    "NCCL_SHM_DISABLE": ("1", "0"), "NCCL_MAX_NCHANNELS": ("16", "8"),
}  # fmt: skip
"""Real names that every rank reads on both platforms, each with two values that mean different things."""
_RANKS_READ = re.compile(r"(NCCL|RCCL|TORCH_NCCL|NVTE|HSA|MIOPEN)_\w+$|CUDA_DEVICE_MAX_CONNECTIONS$")
_LITERAL = re.compile(r"([A-Z]\w*)=(\"[^\"$`\\]+\"|'[^']+'|[\w.,:^/-]+)$")
_WORD = re.compile(rb"\b(?:NCCL|RCCL|TORCH_NCCL|NVTE|HSA|MIOPEN|CUDA)_\w+")
_TEXT = {
    ".py",
    ".yaml",
    ".yml",
    ".json",
    ".toml",
    ".env",
    ".cfg",
    ".conf",
    ".ini",
    ".tf",
    ".ipynb",
    ".cc",
    ".cu",
    ".cpp",
}
LARGEST = 1_000_000


class Setting(NamedTuple):
    """A name with a value; `statement` is the offset of the export that the script has of it.

    `top` is where the copy gets one instead: the first line of the script that does something, or before the launch.
    """

    name: str
    value: str
    statement: int = -1
    top: int = -1

    @property
    def own(self) -> bool:
        """Whether the script has it already."""
        return self.statement >= 0


@cache
def real_names() -> frozenset[str]:
    """All names of which the catalogue says who reads them."""
    rows = [loads_toml(path.read_text(encoding="utf-8")) for path in sorted(CATALOG.glob("*.toml"))]
    return frozenset(name for row in rows for name, entry in row.get("variable", {}).items() if "read_by" in entry)


class Named:
    """Which files of a checkout name which variables."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        self.files: dict[str, set[str]] = {}
        for path in checkout.rglob("*"):
            if ".git" not in path.parts and path.is_file() and path.stat().st_size < LARGEST:
                for name in set(_WORD.findall(path.read_bytes())):
                    self.files.setdefault(name.decode(), set()).add(path.relative_to(checkout).as_posix())

    def unnamed(self) -> list[str]:
        """Names of the pool that no file has."""
        return [name for name in POOL if name not in self.files]

    def only_here(self, name: str, script: Script) -> bool:
        """Whether no program or configuration names it, and no script that starts this one or is started by it."""
        for other in sorted(self.files.get(name, set()) - {script.path}):
            path = Path(other)
            if path.suffix in _TEXT or "ocker" in path.name or path.name in script.text:
                return False
            if Path(script.path).name in (self.checkout / path).read_text(encoding="utf-8", errors="replace"):
                return False
        return True


def own_exports(script: Script, launch: Launch, named: Named) -> Iterator[Setting]:
    """Exports of the script before the launch that hold whenever it runs, each the only mention of its name."""
    for command in script.commands:
        if command.start >= launch.statement or command.texts()[0] != "export" or len(command.words) != 2:
            continue
        match = _LITERAL.match(command.words[1].text)
        within = command.within == launch.command.within[: len(command.within)]
        if not match or not within or not own_line(script, command) or command.after not in ("\n", ";"):
            continue
        name = match[1]
        known = _RANKS_READ.match(name) and name in real_names() and script.text.count(name) == 1
        if known and named.only_here(name, script):
            yield Setting(name, match[2], command.start)


def setting_for(script: Script, launch: Launch, named: Named, chance: random.Random, *, own: bool) -> Setting | None:
    """A setting to plant a fault with; None where every name of the pool is named somewhere."""
    found = list(own_exports(script, launch, named)) if own else []
    if found:
        return chance.choice(found)
    free = named.unnamed()
    if not free:
        return None
    name = chance.choice(free)
    return Setting(name, POOL[name][0], top=chance.choice([launch.statement, top_of(script, launch)]))


def top_of(script: Script, launch: Launch) -> int:
    """Where the first line starts that does something; the launch itself where nothing comes before it."""
    for command in script.commands:
        if not command.within and command.before in ("\n", ";") and own_line(script, command):
            return min(script.text.rfind("\n", 0, command.start) + 1, launch.statement)
    return launch.statement
