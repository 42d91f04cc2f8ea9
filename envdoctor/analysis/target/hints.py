"""Hints in one file: which apply, where they stand, and what each of them says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from envdoctor.analysis.target.text import TextView, dockerfile_defaults, resolved
from envdoctor.core.regexes import regex
from envdoctor.core.target import Confidence, Platform, Reason
from envdoctor.core.versions import from_cu, from_digits, series
from envdoctor.knowledge.targets.table import Hint, TargetTable, table

GRADES = ("none", "weak", "medium", "strong", "certain")
SOFTENED = {"": 0, "branch": 1, "default": 1, "extra": 2, "hardware": 3}
"""How many grades a hint loses by where it stands: one of several possibilities, or an arm that asks for hardware."""
MOST_ALIKE = 3
"""Reasons that say the same are kept this often."""
MOST_GPUS = 2
"""A longer list of architectures is a build for distribution, not a target."""
AMD_INDEXES = ("repo.radeon.com", "repo.amd.com", "nightlies.amd.com")
"""A file that takes its packages from one of these may well have builds that no table lists."""
LEAD = " \t\r\n\"'=@,{"
IMAGE_LEAD = LEAD + "/#+:-"
LONGEST_TEXT = 160
GFX = regex(r"gfx\d[0-9a-f]{2,3}(?![0-9a-zA-Z])")
DOTTED = regex(r"\d+\.\d+(?:\.\d+)?")


def hints_in(path: str, text: str, knowledge: TargetTable | None = None) -> list[Reason]:
    """The hints that a file holds, in source order.

    `path` decides on the kind of file and so on the hints that apply. A file of a kind that holds none gives none;
    comments and text that is only shown are passed over.
    """
    known = knowledge or table()
    kind = known.kind_of(path, text)
    if kind is None or not text:
        return []
    view = TextView(path, text, kind, known)
    hints = kind.triggered(view.text)
    found = _matches(hints, view, known)
    if kind.name == "dockerfile":
        found += _resolved_matches(hints, view, known)
    found.sort(key=lambda item: (item[0], item[1]))
    return _thinned([reason for _, _, reason in found])


@lru_cache(maxsize=2048)
def reasons_of(path: str, text: str) -> tuple[Reason, ...]:
    """`hints_in` with the table that comes with envdoctor, kept for the next launch unit that shares the file."""
    return tuple(hints_in(path, text))


def _matches(hints: Sequence[Hint], view: TextView, known: TargetTable) -> list[tuple[int, int, Reason]]:
    """All matches with their offsets; a hint that is only a fallback gives way to a closer one."""
    found: list[tuple[int, int, Reason]] = []
    for hint in sorted(hints, key=lambda h: bool(h.data.get("fallback"))):
        if hint.confidence == "none":
            continue
        taken = [(s, e) for s, e, _ in found] if hint.data.get("fallback") else []
        for match in islice(hint.pattern.finditer(view.text), known.data["limits"]["matches"]):
            start, end = match.span()
            if any(start < e and s < end for s, e in taken) or view.is_silent(start + _lead(hint, match), end):
                continue
            reason = _reason(hint, match, view, known)
            if reason is not None:
                found.append((start, end, reason))
    return found


def _lead(hint: Hint, match: re.Match[str]) -> int:
    """How many characters of a match stand before what it names."""
    text = match[0]
    return len(text) - len(text.lstrip(IMAGE_LEAD if hint.family == "image" else LEAD))


def _reason(hint: Hint, match: re.Match[str], view: TextView, known: TargetTable) -> Reason | None:
    start = match.start() + _lead(hint, match)
    line, statement = view.line(start), view.statement(start)
    if (needs := hint.text("needs")) and not re.search(needs, statement):
        return None
    where = view.alternative(start)
    grade = _grade(hint, view, where, line)
    if grade is None:
        return None
    reason = _stated(hint, match, grade, view, known)
    if where in ("branch", "hardware"):
        # One of several possibilities: what is used when the branch is not taken is not said.
        reason = reason._replace(versions={}, minimums={}, gpus=(), flavour="")
    return reason


def _grade(hint: Hint, view: TextView, where: str, line: str) -> str | None:
    """The confidence of a hint where it stands; None where it says nothing there."""
    grade = hint.confidence
    for weaker in hint.list("weaker"):
        here = view.kind.name in weaker["kinds"] if "kinds" in weaker else re.search(weaker["line"], line)
        if here:
            if weaker["to"] == "drop":
                return None
            grade = min(grade, weaker["to"], key=GRADES.index)
    if where == "extra" and hint.text("holds") == "pin":
        return None
    if where == "default" and hint.family == "image":
        # A build argument may well replace the image, but hardly ever by one of the other vendor.
        return "strong" if grade in ("certain", "strong") else grade
    steps = SOFTENED[where] + (hint.family in view.kind.softer)
    return GRADES[max(1, GRADES.index(grade) - steps)]


def _stated(hint: Hint, match: re.Match[str], grade: str, view: TextView, known: TargetTable) -> Reason:
    """The reason that a match gives."""
    versions, minimums, note = _versions(hint, match, known)
    start, end = match.start() + _lead(hint, match), match.start() + len(match[0].rstrip())
    flavours = [r for r in hint.list("reads") if r.get("flavour")]
    confidence = cast("Confidence", "weak" if grade == "medium" else grade)
    platform = _platform(hint, match)
    gpus = tuple(dict.fromkeys(gpus_of(hint, match, known)))
    return Reason(
        hint=hint.id,
        place=view.source.place(start, max(start, end)),
        text=view.raw[start:end][:LONGEST_TEXT],
        says=_says(hint.says, versions, minimums, note, known),
        confidence=confidence,
        platform=platform,
        versions=versions,
        minimums=minimums,
        gpus=gpus if len(gpus) <= MOST_GPUS else (),
        corroborates=grade == "medium",
        plain=hint.plain,
        order=hint.order,
        holds=hint.text("holds"),
        wheel=bool(hint.data.get("wheel")),
        flavour=versions.get("cuda", "") if flavours else "",
    )


def _says(text: str, versions: Mapping[str, str], minimums: Mapping[str, str], note: str, known: TargetTable) -> str:
    """The conclusion for people: what was seen, and the releases that follow."""
    names: Mapping[str, str] = known.data["shown"]
    releases = [f"{names[key]} {version}" for key, version in versions.items()]
    releases += [f"{names[key]} {version} or later" for key, version in minimums.items()]
    return text + (": " + ", ".join(releases) if releases else "") + (f" ({note})" if note else "")


def _platform(hint: Hint, match: re.Match[str]) -> Platform | None:
    choices = hint.list("platform-by") or [{"platform": hint.text("platform")}]
    for choice in choices:
        if re.search(choice.get("like", ""), _group(match, choice.get("group", ""))):
            name = choice["platform"]
            return cast("Platform", name) if name in ("cuda", "rocm", "ascend") else None
    return None


def _group(match: re.Match[str], name: str) -> str:
    """The text of a group, or of the whole match for an empty name; empty where the group took no part."""
    return (match[name] if name else match[0]) or ""


def _versions(hint: Hint, match: re.Match[str], known: TargetTable) -> tuple[dict[str, str], dict[str, str], str]:
    """Exact versions, minimums, and a remark."""
    versions: dict[str, str] = {}
    minimums: dict[str, str] = {}
    for reading in hint.list("reads"):
        if not re.search(reading.get("like", ""), _group(match, reading.get("if-group", ""))):
            continue
        value = _value(reading.get("form", ""), match, _group(match, reading["group"]) if reading["group"] else "")
        operator = _group(match, reading["operator"]) if "operator" in reading else "=="
        if not value or operator in ("<", "<=", "!="):
            continue
        if operator in ("==", ""):
            versions.setdefault(reading["key"], value)
        else:
            minimums.setdefault(reading["key"], value)
    note = _looked_up(hint, match, versions, known)
    return versions, minimums, note


def _value(form: str, match: re.Match[str], text: str) -> str:
    """A version in the way that a form of writing gives it."""
    if not text:
        return ""
    if form == "cu":
        return from_cu(text)
    if form == "digits":
        return ".".join((match["x"], match["y"], match["z"]))
    if form == "digit-series":
        return f"{text[0]}.{text[1]}"
    if form == "dotted-or-digits":
        return from_digits(text)
    if form == "inside":
        found = re.search(r"(?:^|rocm-|core-)(\d+\.\d+(?:\.\d+)?)", text)
        return found[1] if found else ""
    if form == "leading":
        leading = DOTTED.match(text)
        return leading[0] if leading else ""
    return series(text) if form == "series" else text.strip(".")


def _looked_up(hint: Hint, match: re.Match[str], versions: dict[str, str], known: TargetTable) -> str:
    """Adds what a table says of the match to `versions`; gives a remark to show."""
    lookup = hint.text("lookup")
    if lookup == "ngc":
        versions.update(known.ngc(match["fw"], match["ym"][:5]))
        return f"NGC month {match['ym'][:5]}"
    if lookup == "training":
        image = match[0].split(":", 1)[0].lstrip(IMAGE_LEAD)
        versions.update(known.training_image(image, f"v{match['train']}"))
    if lookup == "rocm-wheel" and "torch" in versions and "rocm" in versions:
        rest = match["rest"] or ("indexed" if any(index in match.string for index in AMD_INDEXES) else "")
        if known.rocm_wheel_known(versions["torch"], versions["rocm"], rest):
            return ""
        return f"no index is known to have a build for ROCm {versions.pop('rocm')}"
    return ""


def gpus_of(hint: Hint, match: re.Match[str], known: TargetTable) -> Iterator[str]:
    """Architectures that a match names, as far as they are known."""
    for reading in hint.list("gpus"):
        text, form = _group(match, reading.get("group", "")), reading["form"]
        if form == "model":
            if architecture := known.gpu(text):
                yield architecture
        elif form == "capability":
            yield from (f"sm_{a}{b}" for a, b in re.findall(r"(?<![\d.])(\d{1,2})\.?(\d)(?!\d)", text))
        elif form.startswith("sm_"):
            yield from [form] if text else []
        elif form == "cray-nvidia":
            yield from (f"sm_{digits}" for digits in re.findall(r"nvidia(\d{2,3})", text))
        else:
            yield from (g for g in GFX.findall(text if form == "gfx" else form) if g in known.data["gfx"])


def _resolved_matches(hints: Sequence[Hint], view: TextView, known: TargetTable) -> list[tuple[int, int, Reason]]:
    """Images and indexes that a Dockerfile puts together from the defaults of its build arguments, one grade softer."""
    if "$" not in view.raw:
        return []
    found = []
    defaults = dockerfile_defaults(view.raw)
    for line in re.finditer(r"^[ \t]*(?:FROM|RUN)\b[^\n]*\$[^\n]*", view.text, re.MULTILINE | re.IGNORECASE):
        filled = resolved(line[0], defaults)
        if filled == line[0]:
            continue
        inner = TextView(view.source.path, filled, view.kind, known)
        chosen = [h for h in hints if h.family in ("image", "index")]
        for _, _, reason in _matches(chosen, inner, known):
            place = view.source.place(line.start(), line.end())
            found.append((line.start(), line.end(), _softer(reason, place, line[0])))
    return found


def _softer(reason: Reason, place: Any, text: str) -> Reason:
    """The same reason, one grade softer, at another place."""
    image = reason.holds in ("image", "system")
    lowered: Confidence = "strong" if reason.confidence == "certain" or image else "weak"
    shown = text.strip()[:LONGEST_TEXT]
    return reason._replace(place=place, text=shown, confidence=lowered, corroborates=lowered == "weak")


def _thinned(reasons: Sequence[Reason]) -> list[Reason]:
    """The reasons with those left out that say once more what others of the same hint have said."""
    seen: dict[Any, int] = {}
    kept = []
    for reason in reasons:
        alike = (reason.hint, reason.platform, _grade_of(reason), *reason.versions.items(), *reason.gpus)
        seen[alike] = seen.get(alike, 0) + 1
        if seen[alike] <= MOST_ALIKE:
            kept.append(reason)
    return kept


def _grade_of(reason: Reason) -> tuple[str, bool]:
    return reason.confidence, reason.corroborates
