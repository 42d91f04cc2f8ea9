"""Claims as `envdoctor explain` says them: one screen each, in the language of the question."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from envdoctor.core.regexes import regex
from envdoctor.knowledge.claims import CHINESE, Claim, Claims

WIDTH = 100
LABELS = {
    "en": {
        "true": "True, with the conditions below.", "refuted": "Not true.", "partly": "Partly true.",
        "version-dependent": "Depends on the version.", "unverifiable": "No support found for it.",
        "guidance": "A matter of judgement.", "instead": "Instead", "rules": "Caught by", "experiments": "Shown by",
        "evidence": "Evidence", "near": "Near it", "advice": "Advice about it",
    },
    "zh": {
        "true": "成立，条件见下。", "refuted": "不成立。", "partly": "部分成立。", "version-dependent": "取决于版本。",
        "unverifiable": "查无依据。", "guidance": "属于取舍判断。", "instead": "应该怎么做", "rules": "检查规则",
        "experiments": "验证方法", "evidence": "依据", "near": "相近的说法", "advice": "有关它的说法",
    },
}  # fmt: skip
PIECE = regex(r"[\u3400-\u9fff\u3000-\u303f\uff00-\uffef“”]|[^\s\u3400-\u9fff\u3000-\u303f\uff00-\uffef“”]+|\s+")
CLOSING = "，。、；：！？）》”"


def language_of(text: str) -> str:
    """`zh` where a question holds Chinese, else `en`."""
    return "zh" if CHINESE.search(text) else "en"


def claim_lines(claims: Claims, found: Sequence[Claim], language: str) -> Iterator[str]:
    """The first claim in full: verdict, what to do instead, what backs it; and the names of the others."""
    claim, label = found[0], LABELS[language]
    words = claim.words[language]
    yield from folded(f"{words.says} ({claim.id})")
    yield ""
    yield from folded(label[claim.verdict] + ("" if language == "zh" else " ") + words.truth)
    yield ""
    yield label["instead"]
    yield from folded(words.instead, "  ")
    yield ""
    if claim.rules:
        yield from folded(f"{label['rules']}: {', '.join(claim.rules)}")
    for name in claim.experiments:
        yield from folded(f"{label['experiments']}: {claims.experiments[name][language]}")
    yield label["evidence"]
    for line in claim.evidence:
        yield from folded(line, "  ")
    if found[1:]:
        yield ""
        yield f"{label['near']}:"
        yield from (f"  {other.id}: {other.words[language].says}" for other in found[1:])


def advice_lines(found: Sequence[Claim], language: str = "en") -> Iterator[str]:
    """Claims about a variable or a rule, a line each."""
    if found:
        yield ""
        yield f"{LABELS[language]['advice']} (envdoctor explain ID)"
    for claim in found:
        verdict = LABELS[language][claim.verdict].rstrip(".。").split(",")[0].lower()
        yield from folded(f"{claim.id}: {claim.words[language].says}: {verdict}", "  ")


def claim_json(claim: Claim) -> dict[str, Any]:
    """A claim for programs."""
    answer: dict[str, Any] = {"claim": claim.id, "verdict": claim.verdict}
    for language, words in claim.words.items():
        answer[language] = {"says": words.says, "truth": words.truth, "instead": words.instead}
    answer |= {"names": list(claim.names), "rules": list(claim.rules), "evidence": list(claim.evidence)}
    return answer


def folded(text: str, indent: str = "") -> list[str]:
    """Text in lines of readable width; a Chinese character takes two columns and may end a line."""
    lines, line, width = [], "", len(indent)
    for piece in PIECE.findall(" ".join(text.split())):
        size = columns(piece)
        if width + size > WIDTH and line and piece not in CLOSING:
            lines.append(indent + line.rstrip())
            line, width = "", len(indent)
        if line or not piece.isspace():
            line, width = line + piece, width + size
    return [*lines, indent + line.rstrip()] if line.strip() else lines


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
