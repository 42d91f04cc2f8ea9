"""Builds the table of target inference from the files under `rules/targets/`; errors name the file and the key.

Every file has a `topic`. What a topic may hold stands in `SCHEMA`; the table keeps what inference looks up, in the
shape it looks it up, so that loading is reading one JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envdoctor.core.target import TargetDataError
from envdoctor.knowledge.files import parse_toml, suggestion

Data = dict[str, Any]
Fields = Mapping[str, type]

PLATFORMS = ("cuda", "rocm", "ascend", "none", "open")
"""none: no GPU is meant; open: nothing follows for the platform."""
CONFIDENCES = ("certain", "strong", "medium", "weak", "none")
FORMS = ("", "cu", "digits", "digit-series", "dotted-or-digits", "inside", "leading", "series")
LOOKUPS = ("", "ngc", "training", "rocm-wheel")

HINT_REQUIRED: Fields = {
    "id": str, "family": str, "order": str, "confidence": str, "scope": str, "says": str, "regex": str,
    "triggers": list, "examples": list, "negatives": list,
}  # fmt: skip
HINT_OPTIONAL: Fields = {
    "platform": str, "platform-by": list, "holds": str, "wheel": bool, "ignore-case": bool, "needs": str,
    "fallback": bool, "reads": list, "gpus": list, "lookup": str, "weaker": list, "kinds": list, "note": str,
    "evidence": list,
}  # fmt: skip
SYSTEM_HINT: Fields = {
    "id": str, "confidence": str, "regex": str, "triggers": list, "examples": list, "negatives": list,
}  # fmt: skip
FILE_NAME: Fields = {"id": str, "platform": str, "says": str, "regex": str, "examples": list, "negatives": list}
KIND_OPTIONAL: Fields = {
    "softer": list, "comment": str, "project": bool, "continued": bool, "prose": bool, "branches": bool,
    "sections": bool, "strings": bool,
}  # fmt: skip

SCHEMA: Mapping[str, Mapping[str, tuple[Fields, Fields]]] = {
    "hints": {"hint": (HINT_REQUIRED, HINT_OPTIONAL)},
    "systems": {"system": ({"name": str, "platform": str, "gpu": str, "says": str, "evidence": list}, {"hint": list})},
    "files": {"kind": ({"name": str, "names": list, "families": list}, KIND_OPTIONAL)},
    "combine": {
        "order": ({"name": str, "kind": str, "says": str}, {}),
        "holds": ({"name": str, "says": str}, {"evidence": str}),
        "rule": ({"name": str, "says": str}, {}),
    },
    "file-names": {"word": (FILE_NAME, {"gpus": list, "note": str})},
    "names": {"component": ({"name": str, "shown": str}, {"platform": str, "aliases": list})},
    "devices": {
        "amd": ({"gfx": str, "products": str}, {"models": list}),
        "nvidia": ({"capability": str, "products": str}, {"models": list, "names": list}),
    },
    "wheels-cuda": {
        "release": ({"torch": str, "cuda": str}, dict.fromkeys(
            ("cuda-runtime", "cuda-toolkit", "nccl", "nccl-package", "cudnn", "nvshmem", "triton"), str)),
        "flavours": ({"torch": str, "builds": list}, {"nccl": dict}),
    },
    "wheels-rocm": {
        "build": ({"torch": str, "rocm": str, "grade": str, "source": str}, {}),
        "channel": ({"index": str, "builds": list, "grade": str}, {}),
    },
    "ngc": {
        "image": ({"month": str, "source": str}, {"cuda": str, "nccl": str, "torch": str, "cuda-disputed": list}),
        "nemo": ({"month": str, "torch": str}, {"te": str, "mcore": str, "base": str}),
    },
    "training-images": {
        "training": ({"images": list, "tag": str, "evidence": str}, {
            "rocm": str, "torch": str, "te": str, "rccl": str}),
    },
    "rocm-releases": {
        "release": ({"rocm": str, "evidence": list}, {
            "rccl": str, "rccl-unreleased": str, "miopen": str, "miopen-only-in": str, "hip": list, "note": str}),
    },
    "drivers": {
        "pair": ({"driver": str, "rocm": list}, {}),
        "point-pair": ({"driver": str, "rocm": list}, {}),
        "module": ({"prints": str, "says": str, "evidence": str}, {"driver": str}),
    },
    "false-friends": {
        "friend": ({"text": str, "says": str}, {"never": list, "evidence": str}),
        "not-known": ({"says": str}, {}),
    },
}  # fmt: skip
PLAIN_KEYS: Mapping[str, tuple[str, ...]] = {
    "files": ("limits", "prose", "directives", "condition", "project"),
    "combine": ("confidence",),
    "ngc": ("month", "share-base", "sources"),
    "wheels-rocm": ("local-version", "sources"),
    "drivers": ("rule", "sources"),
}
"""Keys of a topic that are no lists of tables. `sources` is allowed everywhere."""


def build(paths: Sequence[Path]) -> Data:
    """The table from the files of `rules/targets/`. Raises `TargetDataError` with file and key."""
    topics: dict[str, list[tuple[str, Data]]] = {}
    for path in paths:
        try:
            content = parse_toml(path)
        except (OSError, ValueError) as error:
            raise TargetDataError(f"{path.name}: {error}") from error
        topics.setdefault(_checked(path.name, content), []).append((path.name, content))
    for topic in SCHEMA:
        if topic not in topics:
            raise TargetDataError(f"no file has topic {topic}")
    return _assembled(topics)


def _checked(name: str, content: Data) -> str:
    """The topic of a file whose keys are all known and of the right type."""
    topic = str(content.get("topic", ""))
    if topic not in SCHEMA:
        raise TargetDataError(f"{name}: topic: {topic!r} is none of {', '.join(SCHEMA)}")
    tables = SCHEMA[topic]
    known = [*tables, "topic", "sources", *PLAIN_KEYS.get(topic, ())]
    for key, value in content.items():
        if key not in known:
            raise TargetDataError(f"{name}: {key}: unknown key{suggestion(key, known)}")
        if key in tables:
            for entry in value:
                check_fields(f"{name}: {key} {_name_of(entry)}", entry, *tables[key])
    return topic


def _name_of(entry: Mapping[str, Any]) -> str:
    """How to name an entry in a message: by its first value."""
    return str(next(iter(entry.values()), "without keys"))


def check_fields(where: str, entry: Mapping[str, Any], required: Fields, optional: Fields) -> None:
    """Raise `TargetDataError` for a key that is missing, unknown or of the wrong type."""
    for key in required:
        if key not in entry:
            raise TargetDataError(f"{where}: {key}: missing")
    known = {**required, **optional}
    for key, value in entry.items():
        if key not in known:
            raise TargetDataError(f"{where}: {key}: unknown key{suggestion(key, list(known))}")
        if not isinstance(value, known[key]):
            raise TargetDataError(f"{where}: {key}: expected {known[key].__name__}, got {type(value).__name__}")


def _assembled(topics: Mapping[str, list[tuple[str, Data]]]) -> Data:
    def rows(topic: str, key: str) -> list[Data]:
        return [entry for _, content in topics[topic] for entry in content.get(key, [])]

    files = topics["files"][0][1]
    order = rows("combine", "order")
    holds = [entry["name"] for entry in rows("combine", "holds")]
    ranks = [entry["name"] for entry in order]
    return {
        "order": order,
        "holds": holds,
        "hints": _hints(topics, ranks, holds),
        "file-names": _file_names(topics["file-names"], ranks, holds),
        "kinds": files["kind"],
        "limits": files["limits"],
        "prose": files["prose"]["suffixes"],
        "directives": files["directives"]["prefixes"],
        "hardware": files["condition"]["hardware"],
        "project": files["project"],
        "components": {entry["name"]: entry.get("platform") for entry in rows("names", "component")},
        "shown": {entry["name"]: entry["shown"] for entry in rows("names", "component")},
        "aliases": {a: entry["name"] for entry in rows("names", "component") for a in entry.get("aliases", [])},
        "gpu-models": _gpu_models(rows("devices", "amd"), rows("devices", "nvidia")),
        "gpu-names": _gpu_names(rows("devices", "nvidia")),
        "gfx": {entry["gfx"]: entry["products"] for entry in rows("devices", "amd")},
        "cuda-wheels": {entry["torch"]: entry for entry in rows("wheels-cuda", "release")},
        "cuda-builds": {entry["torch"]: entry for entry in rows("wheels-cuda", "flavours")},
        "rocm-wheels": _builds_by_torch(rows("wheels-rocm", "build")),
        "rocm-channel-builds": [b for entry in rows("wheels-rocm", "channel") for b in entry["builds"]],
        "ngc": {entry["month"]: _without_local(entry) for entry in rows("ngc", "image")},
        "ngc-share-base": topics["ngc"][0][1]["share-base"],
        "nemo": {entry["month"]: entry for entry in rows("ngc", "nemo")},
        "training": rows("training-images", "training"),
        "rocm-releases": {entry["rocm"]: entry for entry in rows("rocm-releases", "release")},
        "driver-pairs": {entry["driver"]: entry["rocm"] for entry in rows("drivers", "pair")},
        "driver-modules": {e["prints"]: e["driver"] for e in rows("drivers", "module") if "driver" in e},
    }


def _hints(topics: Mapping[str, list[tuple[str, Data]]], order: list[str], holds: list[str]) -> list[Data]:
    """All hints, those of clusters included, each checked."""
    found: list[Data] = []
    for name, content in topics["hints"]:
        for entry in content.get("hint", []):
            check_hint(f"{name}: hint {entry['id']}", entry, order, holds)
            found.append(entry)
    for name, content in topics["systems"]:
        for system in content["system"]:
            for entry in system.get("hint", []):
                where = f"{name}: system {system['name']}: hint"
                check_fields(f"{where} {_name_of(entry)}", entry, SYSTEM_HINT, {"gpus": list})
                hint = {**entry, "family": "system", "order": "system", "scope": "unit", "platform": system["platform"],
                        "says": f"the cluster {system['name']}"}  # fmt: skip
                check_hint(f"{where} {entry['id']}", hint, order, holds)
                found.append(hint)
    ids = [entry["id"] for entry in found]
    if twice := next((i for i in ids if ids.count(i) > 1), None):
        raise TargetDataError(f"hint {twice}: id: used twice")
    return found


def _file_names(files: list[tuple[str, Data]], order: list[str], holds: list[str]) -> list[Data]:
    """The words that name a vendor or a GPU in the name of a file, as hints, each checked."""
    found = []
    for name, content in files:
        for entry in content.get("word", []):
            hint = {**entry, "family": "file name", "order": "file-name", "confidence": "strong", "scope": "unit",
                    "triggers": [""]}  # fmt: skip
            check_hint(f"{name}: word {entry['id']}", hint, order, holds)
            found.append(hint)
    return found


def check_hint(where: str, hint: Data, order: Sequence[str], holds: Sequence[str]) -> None:
    """Raise `TargetDataError` for a hint whose words are unknown or whose expressions do not compile."""
    pattern = _compiled(f"{where}: regex", hint["regex"])
    groups = ["", *pattern.groupindex]
    _one_of(f"{where}: order", hint["order"], order)
    _one_of(f"{where}: confidence", hint["confidence"], CONFIDENCES)
    _one_of(f"{where}: holds", hint.get("holds", ""), ["", *holds])
    _one_of(f"{where}: lookup", hint.get("lookup", ""), LOOKUPS)
    if ("platform" in hint) == ("platform-by" in hint):
        raise TargetDataError(f"{where}: platform: exactly one of platform and platform-by is needed")
    if not hint["triggers"] or not hint["examples"] or not hint["negatives"]:
        raise TargetDataError(f"{where}: triggers, examples and negatives must not be empty")
    for choice in hint.get("platform-by", [{"platform": hint.get("platform")}]):
        _one_of(f"{where}: platform", choice["platform"], PLATFORMS)
        _one_of(f"{where}: platform-by: group", choice.get("group", ""), groups)
        _compiled(f"{where}: platform-by: like", choice.get("like", ""))
    for reading in hint.get("reads", []):
        _one_of(f"{where}: reads: group", reading["group"], groups)
        _one_of(f"{where}: reads: form", reading.get("form", ""), FORMS)
        _one_of(f"{where}: reads: operator", reading.get("operator", ""), groups)
        _one_of(f"{where}: reads: if-group", reading.get("if-group", ""), groups)
        _compiled(f"{where}: reads: like", reading.get("like", ""))
    for weaker in hint.get("weaker", []):
        _one_of(f"{where}: weaker: to", weaker["to"], ("medium", "weak", "drop"))
        _compiled(f"{where}: weaker: line", weaker.get("line", ""))
    _compiled(f"{where}: needs", hint.get("needs", ""))


def _compiled(where: str, expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as error:
        raise TargetDataError(f"{where}: {error}") from error


def _one_of(where: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise TargetDataError(f"{where}: {value!r} is none of {', '.join(a for a in allowed if a)}")


def _gpu_models(amd: Sequence[Data], nvidia: Sequence[Data]) -> dict[str, str]:
    """Model name in lower case -> architecture, `gfx90a` or `sm_90`; architectures name themselves."""
    models = {model: entry["gfx"] for entry in amd for model in entry.get("models", [])}
    for entry in nvidia:
        models.update(dict.fromkeys(entry.get("models", ()), _sm(entry)))
    return models


def _gpu_names(nvidia: Sequence[Data]) -> dict[str, str]:
    """Beginning of the name that a driver gives a GPU, in lower case -> architecture; models are such names too."""
    return {name: _sm(entry) for entry in nvidia for key in ("models", "names") for name in entry.get(key, ())}


def _sm(entry: Data) -> str:
    return "sm_" + str(entry["capability"]).replace(".", "")


def _builds_by_torch(builds: Sequence[Data]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in builds:
        found.setdefault(entry["torch"], []).append(entry["rocm"])
    return found


def _without_local(entry: Data) -> Data:
    """An NGC month with torch as far as it is a version: without the hash behind the plus."""
    return {key: value.split("+", 1)[0] if key == "torch" else value for key, value in entry.items()}
