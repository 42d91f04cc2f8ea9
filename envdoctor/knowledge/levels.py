"""What a level needs on a target: which needs are open under given settings, and the checked block that closes them.

The knowledge stands in `rules/levels/*.toml`: which paths exist in which release on which hardware, what closes each,
and what that costs. `rules/levels/nccl.toml` explains the keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envdoctor.core.numbers import number
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.core.target import Target
from envdoctor.core.versions import at_least
from envdoctor.knowledge.files import load_compiled, parse_toml, suggestion

LEVELS = ("hygiene", "run-to-run", "placement", "topology")
WANTED = {"hygiene": (), "run-to-run": ("run-to-run",), "placement": ("run-to-run", "placement"),
          "topology": ("run-to-run", "topology")}  # fmt: skip
"""Level -> the levels whose needs it has. An ordered reduction moves bits only, so placement pins add nothing to it."""
VARIANTS = ("debug", "production")
COUNTS = {"nccl": "nccl", "rccl": "rocm"}
"""Library -> the component whose versions its releases are counted by."""
NEED_KEYS = {"id": str, "level": str, "platform": str, "library": str, "since": str, "before": str,
             "torch_before": str, "gpus": list, "lacks": str, "why": str, "cost": str, "set": dict, "met": list,
             "weak": bool, "known": bool, "block_only": bool, "unexamined": bool, "evidence": list}  # fmt: skip
DEMAND_KEYS = {"id": str, "argument": str, "programs": list, "lacks": str, "why": str, "set": dict, "met": list,
               "evidence": list}  # fmt: skip
LOG_KEYS = {"variant": str, "why": str, "set": dict}
NOTE_KEYS = {"levels": list, "platform": str, "text": str}
MET_KEYS = {"name", "values", "single", "without", "set", "equals", "call", "torch", "platform", "since"}
LEADING = regex(r"\s*([+-]?\d+)")

Settings = Mapping[str, "str | None"]
"""Name -> value, None where it is not known."""


class LevelError(Exception):
    """A file of `rules/levels/` that cannot be used; the message names the need and the key."""


@dataclass(frozen=True, slots=True)
class LevelNeed:
    """One thing that a level needs, as its table in `rules/levels/` says."""

    id: str
    level: str
    why: str
    lacks: str = ""
    platform: str | None = None
    library: str = ""
    since: str = ""
    before: str = ""
    torch_before: str = ""
    gpus: tuple[str, ...] = ()
    cost: str = ""
    gives: Mapping[str, str] = field(default_factory=dict)
    met: tuple[Mapping[str, Any], ...] = ()
    weak: bool = False
    known: bool = False
    block_only: bool = False
    unexamined: bool = False
    evidence: tuple[str, ...] = ()

    def names(self) -> set[str]:
        """The variables that have to do with it."""
        return set(self.gives) | {m[key] for m in self.met for key in ("name", "equals") if key in m}


@dataclass(frozen=True, slots=True)
class Demand:
    """An argument with which a framework wants a setting of the collectives."""

    id: str
    argument: str
    programs: tuple[str, ...]
    lacks: str
    why: str
    gives: Mapping[str, str]
    met: tuple[Mapping[str, Any], ...]
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LevelLine:
    """One setting of a block, with its reason and what it costs (empty: nothing to speak of)."""

    name: str
    value: str
    why: str
    cost: str = ""


@dataclass(frozen=True, slots=True)
class Levels:
    """All of `rules/levels/`."""

    needs: tuple[LevelNeed, ...]
    demands: tuple[Demand, ...]
    logs: tuple[Mapping[str, Any], ...]
    notes: tuple[Mapping[str, Any], ...] = ()

    def about(self, level: str, target: Target) -> list[str]:
        """What no variable can do for a level on a target, in words."""
        here = (None, target.platform or "unknown")
        return [note["text"] for note in self.notes if level in note["levels"] and note.get("platform") in here]

    def needed(self, level: str, target: Target) -> Iterator[LevelNeed]:
        """The needs of a level on a target; of what exists only elsewhere, or is not known to exist, none."""
        return (need for need in self.needs if need.level in WANTED[level] and exists(need, target))

    def open(self, level: str, target: Target, settings: Settings, calls: Collection[str]) -> list[LevelNeed]:
        """What the level lacks under these settings and calls; needs of the block alone are left out."""
        needed = (need for need in self.needed(level, target) if not need.block_only)
        return [need for need in needed if not is_met(need.met, settings, calls, target)]

    def block(self, level: str, target: Target, variant: str = "") -> list[LevelLine]:
        """The settings that a level needs on a target, pins of the collectives last.

        A need that an earlier line meets adds nothing. `variant` adds how the run logs; `production` leaves out what
        costs speed and all pins of the collectives.
        """
        fast = variant == "production"
        wanted = [n for n in self.needed(level, target) if not fast or (n.block_only and not n.cost)]
        order = {"placement": 0, "topology": 1, "run-to-run": 2}
        lines: dict[str, LevelLine] = {}
        for need in sorted(wanted, key=lambda need: (not need.block_only, order[need.level], need.platform or "")):
            given = {name: line.value for name, line in lines.items()}
            if need.block_only or not is_met(need.met, given, (), target):
                lines |= {name: LevelLine(name, value, need.why, need.cost) for name, value in need.gives.items()}
        for log in self.logs:
            if log["variant"] == variant:
                lines |= {name: LevelLine(name, value, log["why"]) for name, value in log["gives"].items()}
        return list(lines.values())

    def paste(self, needs: Sequence[LevelNeed | Demand], target: Target) -> list[LevelLine]:
        """The lines that close these needs, each variable once, none for what another line closes."""
        lines: dict[str, LevelLine] = {}
        for need in needs:
            given = {name: line.value for name, line in lines.items()}
            if not is_met(need.met, given, (), target):
                lines |= {name: LevelLine(name, value, need.why) for name, value in need.gives.items()}
        return list(lines.values())


def exists(need: LevelNeed, target: Target) -> bool:
    """Whether what a need is about exists on the target. Unknown: a path that current releases have is taken to exist,
    one that they have lost is not."""
    if need.platform is not None and need.platform != target.platform:
        return False
    if target.platform not in (None, "cuda", "rocm"):
        return False
    version = target.versions.get(COUNTS.get(need.library, ""))
    if version is None and (need.before or need.known):
        return False
    if version is not None:
        too_old = need.since and at_least(version, need.since) is False
        too_new = need.before and at_least(version, need.before) is True
        if too_old or too_new:
            return False
    torch = target.versions.get("torch")
    if need.torch_before and torch is not None and at_least(torch, need.torch_before):
        return False
    return not need.gpus or not target.gpus or any(_is_gpu(gpu, need.gpus) for gpu in target.gpus)


def _is_gpu(gpu: str, wanted: Sequence[str]) -> bool:
    """Whether an architecture is one of a list; `sm_90+` means that one and newer ones."""
    for word in wanted:
        if word.endswith("+") and gpu.startswith("sm_") and word.startswith("sm_"):
            if _number(gpu) >= _number(word[:-1]):
                return True
        elif gpu == word:
            return True
    return False


def _number(arch: str) -> int:
    return number("0" + "".join(c for c in arch if c.isdecimal()))


def is_met(met: Sequence[Mapping[str, Any]], settings: Settings, calls: Collection[str], target: Target) -> bool:
    """Whether one of the ways to meet a need is taken. A value that is not known is taken for the right one."""
    return any(_taken(way, settings, calls, target) for way in met)


def _taken(way: Mapping[str, Any], settings: Settings, calls: Collection[str], target: Target) -> bool:
    if way.get("platform", target.platform) != target.platform:
        return False
    if "call" in way:
        torch = target.versions.get("torch")
        new_enough = "torch" not in way or torch is None or at_least(torch, way["torch"]) is not False
        return way["call"] in calls and new_enough
    if "since" in way and not at_least(target.versions.get("rocm", ""), way["since"]):
        return False
    if way["name"] not in settings:
        return False
    value = settings[way["name"]]
    return value is None or _fits(way, value, settings)


def _fits(way: Mapping[str, Any], value: str, settings: Settings) -> bool:
    if "values" in way:
        return any(_same(value, wanted) for wanted in way["values"])
    if "equals" in way:
        other = settings.get(way["equals"], "")
        return way["equals"] in settings and (other is None or _same(value, other))
    inverted, words = allreduce_words(value)
    if way.get("single"):
        return not inverted and len(words) == 1
    if "without" in way:
        banned = set(way["without"])
        return banned <= words if inverted else not banned & words
    return True


def _same(value: str, wanted: str) -> bool:
    """Whether the library reads both alike: integers as C's strtoll does, words without case."""
    if LEADING.match(wanted):
        return _integer(value) == _integer(wanted)
    return value.strip().lower() == wanted.lower()


def _integer(text: str) -> int:
    match = LEADING.match(text)
    return number(match[1]) if match else 0


def allreduce_words(value: str) -> tuple[bool, set[str]]:
    """The list of NCCL_ALGO or NCCL_PROTO that holds for AllReduce: whether it is inverted, and its words."""
    chosen = ""
    for part in value.lower().split(";"):
        function, colon, words = part.partition(":")
        if not colon:
            chosen = chosen or part
        elif function.strip() == "allreduce":
            chosen = words
    inverted = chosen.strip().startswith("^")
    return inverted, {word.strip() for word in chosen.strip().lstrip("^").split(",") if word.strip()}


def build(paths: Sequence[Path]) -> dict[str, Any]:
    """The files as one table that JSON can hold; raises LevelError."""
    table: dict[str, Any] = {"need": [], "demand": [], "log": [], "note": []}
    for path in paths:
        try:
            data = parse_toml(path)
        except ValueError as error:
            raise LevelError(f"{path.name}: {error}") from error
        for key in table:
            table[key] += data.get(key, [])
    levels_from(table)
    return table


def levels_from(table: Mapping[str, Any]) -> Levels:
    """Validate a table of needs; ids are unique."""
    needs = tuple(LevelNeed(**_checked(data, NEED_KEYS, ("id", "level", "why"))) for data in table["need"])
    keys = ("id", "argument", "programs", "lacks", "why", "set", "met")
    demands = tuple(Demand(**_checked(data, DEMAND_KEYS, keys)) for data in table["demand"])
    logs = tuple(_checked(data, LOG_KEYS, ("variant", "why", "set")) for data in table["log"])
    notes = tuple(_checked(data, NOTE_KEYS, ("levels", "text")) for data in table["note"])
    seen: set[str] = set()
    for need in needs:
        if need.level not in LEVELS[1:]:
            raise LevelError(f"{need.id}: level: {need.level!r} is not one of {', '.join(LEVELS[1:])}")
        if need.id in seen:
            raise LevelError(f"{need.id}: id is already taken")
        seen.add(need.id)
    return Levels(needs, demands, logs, notes)


def _checked(data: Mapping[str, Any], keys: Mapping[str, type], required: Sequence[str]) -> dict[str, Any]:
    where = data.get("id", data.get("variant", "a table without id"))
    for key, value in data.items():
        if key not in keys:
            raise LevelError(f"{where}: {key}: unknown key{suggestion(key, list(keys))}")
        if not isinstance(value, keys[key]):
            raise LevelError(f"{where}: {key}: expected {keys[key].__name__}, got {type(value).__name__}")
    if missing := [key for key in required if key not in data]:
        raise LevelError(f"{where}: {missing[0]}: missing")
    for way in data.get("met", ()):
        if unknown := sorted(set(way) - MET_KEYS):
            raise LevelError(f"{where}: met: {unknown[0]}: unknown key")
        if "name" not in way and "call" not in way:
            raise LevelError(f"{where}: met: name or call: missing")
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key != "set"}
    return {**plain, "gives": data["set"]} if "set" in data else plain


def load_levels() -> Levels:
    """What comes with envdoctor."""
    return levels_from(load_compiled("levels", "levels", build))
