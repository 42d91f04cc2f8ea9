"""The knowledge under `rules/targets/`, loaded and validated: hints, kinds of files, tables of releases."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from envdoctor.core.records import dataclass, field
from envdoctor.core.versions import release, series
from envdoctor.knowledge.files import load_compiled


class Hint:
    """One hint. Its expression is compiled when it is first tried on a text that holds one of its triggers."""

    __slots__ = ("_pattern", "confidence", "data", "family", "id", "order", "plain", "says", "triggers")

    def __init__(self, data: Mapping[str, Any], order: int, plain: bool) -> None:
        self.data = data
        self.id: str = data["id"]
        self.family: str = data["family"]
        self.confidence: str = data["confidence"]
        self.says: str = data["says"]
        self.triggers: tuple[str, ...] = tuple(data["triggers"])
        self.order = order
        self.plain = plain
        self._pattern: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression of the hint; `^` and `$` are ends of lines."""
        if self._pattern is None:
            flags = re.MULTILINE | (re.IGNORECASE if self.data.get("ignore-case") else 0)
            self._pattern = re.compile(self.data["regex"], flags)
        return self._pattern

    def list(self, key: str) -> Sequence[Mapping[str, Any]]:
        """The tables under a key of the hint; none where it has no such key."""
        found: Sequence[Mapping[str, Any]] = self.data.get(key, ())
        return found

    def text(self, key: str) -> str:
        """The text under a key of the hint; empty where it has no such key."""
        return str(self.data.get(key, ""))


ROOTS = ("rocm", "torch", "nvidia", "cuda", "ROCM", "NVIDIA", "CUDA", "HIP", "amd", "gpu", "module", "docker")
"""Words that many triggers hold: where one is not in a text, none of those triggers is."""
Triggers = list[tuple[str, list[tuple[str, list[int]]]]]
"""A root, and the triggers that hold it, each with the numbers of its hints; the root of the others is empty."""


@dataclass(slots=True)
class FileKind:
    """A kind of file: which hints it can hold and how its text is read."""

    name: str
    hints: tuple[Hint, ...]
    softer: frozenset[str]
    data: Mapping[str, Any]
    triggers: Triggers = field(default_factory=list)

    def triggered(self, text: str) -> list[Hint]:
        """The hints of which some trigger is in a text. Each is looked for once, and only behind its root."""
        if not self.triggers:
            self.triggers = _by_root(self.hints)
        found: set[int] = set()
        for root, tokens in self.triggers:
            if root in text:
                for token, numbers in tokens:
                    if token in text:
                        found.update(numbers)
        return [self.hints[number] for number in sorted(found)]

    def says(self, key: str) -> bool:
        """Whether a switch of the kind is on (`continued`, `prose`, `branches`, `sections`, `strings`)."""
        return bool(self.data.get(key))


def _by_root(hints: Sequence[Hint]) -> Triggers:
    tokens: dict[str, list[int]] = {}
    for number, hint in enumerate(hints):
        for trigger in hint.triggers:
            tokens.setdefault(trigger, []).append(number)
    found: dict[str, list[tuple[str, list[int]]]] = {}
    for token, numbers in tokens.items():
        found.setdefault(next((root for root in ROOTS if root in token), ""), []).append((token, numbers))
    return list(found.items())


class HintNames:
    """Shell patterns for names. Nearly all are a name, or one star with a beginning and an end around it: these are
    compared as text, since compiling them as expressions took a tenth of the scan of one file."""

    __slots__ = ("_around", "_others", "_whole")

    def __init__(self, patterns: Sequence[str]) -> None:
        plain = [p for p in patterns if p.count("*") <= 1 and "?" not in p and "[" not in p]
        self._whole = {p for p in plain if "*" not in p}
        self._around = [(p.partition("*")[0], p.partition("*")[2]) for p in plain if "*" in p]
        self._others = [p for p in patterns if p not in plain]

    def fit(self, name: str) -> bool:
        """Whether one of the patterns is about a name, as `fnmatch.fnmatchcase` has it."""
        if name in self._whole:
            return True
        for start, end in self._around:
            if name.endswith(end) and name.startswith(start) and len(name) >= len(start) + len(end):
                return True
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self._others)


@dataclass(slots=True)
class TargetTable:
    """Everything under `rules/targets/`, with the look-ups that inference needs."""

    data: Mapping[str, Any]
    hints: tuple[Hint, ...]
    kinds: tuple[FileKind, ...]
    file_names: tuple[Hint, ...] = ()
    """Hints for the names of files in place of their text."""
    _names: list[tuple[HintNames, bool, FileKind]] = field(default_factory=list)
    _kinds: dict[str, FileKind | None] = field(default_factory=dict)

    def kind_named(self, path: str) -> FileKind | None:
        """The kind of a file by its name; None where it holds no hints."""
        if path not in self._kinds:
            self._kinds[path] = self._kind_by_pattern(path.lower())
        return self._kinds[path]

    def _kind_by_pattern(self, path: str) -> FileKind | None:
        if path.endswith(tuple(self.data["prose"])):
            return None
        lowered = path.split("/")
        name, tail = lowered[-1], "/".join(lowered[-2:])
        for names, with_folder, kind in self._name_patterns():
            if names.fit(tail if with_folder else name):
                return kind
        return None

    def kind_of(self, path: str, text: str) -> FileKind | None:
        """The kind of a file by its name, or by its first line where the name says nothing (`job.template`)."""
        found = self.kind_named(path)
        if found is None and text.startswith("#!") and not path.lower().endswith(tuple(self.data["prose"])):
            first = text[:200].split("\n", 1)[0]
            wanted = "shell" if first.rstrip().endswith("sh") else "python" if "python" in first else ""
            found = next((kind for kind in self.kinds if kind.name == wanted), None)
        return found

    def _name_patterns(self) -> list[tuple[HintNames, bool, FileKind]]:
        if not self._names:
            for kind in self.kinds:
                for with_folder in (False, True):
                    names = [n for n in kind.data["names"] if ("/" in n) is with_folder]
                    if names:
                        self._names.append((HintNames(names), with_folder, kind))
        return self._names

    def cuda_wheel(self, torch: str) -> Mapping[str, Any] | None:
        """What the PyPI wheel of a torch release pins; for a series, only if all its releases pin the same NCCL."""
        rows: dict[str, Mapping[str, Any]] = self.data["cuda-wheels"]
        if torch in rows:
            return rows[torch]
        same = [row for name, row in rows.items() if series(name) == torch]
        return same[0] if same and len({row.get("nccl") for row in same}) == 1 else None

    def nccl_of(self, torch: str, cuda: str) -> str | None:
        """NCCL in the wheel of a torch release for one CUDA build; None where no table says so."""
        row = self.cuda_wheel(torch)
        if row is not None and row["cuda"] == cuda:
            return row.get("nccl")
        builds: Mapping[str, str] = self.data["cuda-builds"].get(series(torch), {}).get("nccl", {})
        return builds.get(cuda)

    def rocm_release(self, rocm: str) -> Mapping[str, str]:
        """RCCL (its NCCL base) and MIOpen of a ROCm release or series; keys that are not known are missing."""
        rows: dict[str, Mapping[str, Any]] = self.data["rocm-releases"]
        row = rows.get(rocm) or rows.get(series(rocm)) or {}
        known = {key: row[key] for key in ("rccl", "miopen") if key in row}
        if row.get("miopen-only-in", rocm) != rocm:
            known.pop("miopen", None)
        return known

    def rocm_wheel_known(self, torch: str, rocm: str, rest: str) -> bool:
        """Whether an index is known that has this build of torch; AMD's own dated and tagged builds always are."""
        if rest or not release(torch) or f"{torch}+rocm{rocm}" in self.data["rocm-channel-builds"]:
            return True
        builds: Mapping[str, Sequence[str]] = self.data["rocm-wheels"]
        listed = builds.get(series(torch))
        return listed is None or rocm in listed

    def ngc(self, framework: str, month: str) -> Mapping[str, str]:
        """Versions in an NGC image of a month; keys that are not known are missing."""
        if framework == "nemo":
            found: Mapping[str, str] = self.data["nemo"].get(month, {})
            return {key: found[key] for key in ("torch", "te") if key in found}
        row: Mapping[str, str] = self.data["ngc"].get(month, {})
        if framework not in self.data["ngc-share-base"]:
            return {}
        keys = ("cuda", "nccl", "torch") if framework == "pytorch" else ("cuda", "nccl")
        return {key: row[key] for key in keys if key in row}

    def training_image(self, image: str, tag: str) -> Mapping[str, str]:
        """Versions in a training image of AMD; empty where its tag is not in the table."""
        rows: Sequence[Mapping[str, Any]] = self.data["training"]
        for row in rows:
            if row["tag"] == tag and image in row["images"]:
                return {key: row[key] for key in ("rocm", "torch", "te", "rccl") if key in row}
        return {}

    def gpu(self, model: str) -> str | None:
        """The architecture of a GPU model as schedulers write it (`MI250X`, `nvidia_a100_80gb`), or None."""
        word = re.sub(r"^(?:nvidia|amd)[_-]", "", model.lower())
        models: Mapping[str, str] = self.data["gpu-models"]
        return models.get(word) or models.get(re.split(r"[_-]", word)[0])

    def gpu_named(self, name: str) -> str | None:
        """The architecture of a GPU of NVIDIA by the name that its driver gives (`Tesla V100-PCIE-32GB`), or None.

        The longest known name that the name begins with counts: `GeForce GTX 1080 Ti` is of the chip of a `GTX 1080`.
        """
        word = re.sub(r"^(?:(?:nvidia|tesla)\s+)*", "", name.strip().lower())
        names: Mapping[str, str] = self.data["gpu-names"]
        fitting = (n for n in names if word.startswith(n) and not word[len(n) : len(n) + 1].isalnum())
        return names.get(max(fitting, key=len, default=""))


@lru_cache(maxsize=1)
def table() -> TargetTable:
    """The table that comes with envdoctor."""
    return table_from(load_compiled("targets", "targets", _build))


def _build(paths: list[Path]) -> dict[str, Any]:
    from envdoctor.knowledge.targets.data import build

    return build(paths)


def table_from(data: Mapping[str, Any]) -> TargetTable:
    """A table from what `data.build` made."""
    ranks = {entry["name"]: (rank, entry["kind"] == "plain") for rank, entry in enumerate(data["order"])}
    hints = tuple(Hint(entry, *ranks[entry["order"]]) for entry in data["hints"])
    kinds = []
    for entry in data["kinds"]:
        families = set(entry["families"])
        mine = tuple(h for h in hints if h.family in families and entry["name"] in h.data.get("kinds", [entry["name"]]))
        kinds.append(FileKind(entry["name"], mine, frozenset(entry.get("softer", ())), entry))
    names = tuple(Hint(entry, *ranks[entry["order"]]) for entry in data["file-names"])
    return TargetTable(data, hints, tuple(kinds), names)
