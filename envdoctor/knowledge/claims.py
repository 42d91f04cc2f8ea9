"""Common advice and its verdict: `rules/claims.toml`, loaded, validated, and found by people's words for it.

A claim says in English and Chinese how the advice is phrased, what is true of it and what to do instead, and names
the evidence, the rules that catch it in files and the experiments that show it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.knowledge.files import load_compiled, parse_toml, suggestion

VERDICTS = ("true", "refuted", "partly", "version-dependent", "unverifiable", "guidance")
TOPICS = ("ghosts", "sums", "framework", "delivery", "commands", "hardware")
LANGUAGES = ("en", "zh")
TEXTS = ("says", "truth", "instead")
KEYS = {"id", "topic", "verdict", *LANGUAGES, "also", "names", "rules", "experiments", "evidence"}
WORD = regex(r"[a-z0-9][a-z0-9_.:/-]*[a-z0-9]|[a-z0-9]")
CHINESE = regex(r"[\u4e00-\u9fff]+")
FILLERS = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "have", "how", "in", "is",
     "it", "its", "me", "must", "my", "need", "needs", "not", "of", "on", "or", "should", "so", "than", "that", "the",
     "there", "to", "use", "what", "when", "which", "why", "with", "you"]
)  # fmt: skip
ENOUGH = 0.34
"""Share of a query's weight that a claim must hold before it counts as an answer."""


class ClaimError(Exception):
    """A claims file that cannot be used; the message names the claim and the key."""


@dataclass(frozen=True, slots=True)
class Words:
    """A claim in one language: how people say it, what is true, what to do instead."""

    says: str
    truth: str
    instead: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One piece of advice."""

    id: str
    topic: str
    verdict: str
    words: Mapping[str, Words]
    also: tuple[str, ...]
    names: tuple[str, ...]
    rules: tuple[str, ...]
    experiments: tuple[str, ...]
    evidence: tuple[str, ...]

    @property
    def en(self) -> Words:
        """The claim in English."""
        return self.words["en"]


@dataclass(frozen=True, slots=True)
class Claims:
    """All claims, in the order of the file, and the texts of the experiments that they name."""

    claims: tuple[Claim, ...]
    experiments: Mapping[str, Mapping[str, str]]

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def named(self, name: str) -> Claim | None:
        """The claim with this id."""
        return next((claim for claim in self.claims if claim.id == name.strip().lower()), None)

    def about(self, name: str) -> list[Claim]:
        """Claims that name this variable, switch or command."""
        return [claim for claim in self.claims if name in claim.names]

    def caught_by(self, rule: str) -> list[Claim]:
        """Claims that the rule of this name catches."""
        return [claim for claim in self.claims if rule in claim.rules]

    def search(self, text: str, limit: int = 5) -> list[Claim]:
        """Claims that say what `text` says, in either language, the nearest first; empty where none is near.

        An id, a command and a phrase of the file are found exactly; else words (of Chinese: pairs of characters)
        count by how few claims hold them.
        """
        if (exact := self.named(text)) is not None:
            return [exact]
        query = _tokens(text)
        if not query:
            return []
        bags = [_bag(claim) for claim in self.claims]
        spread = Counter(token for bag in bags for token in bag)
        weight = {token: math.log(1 + len(bags) / (1 + spread[token])) for token in query}
        whole = sum(weight.values())
        scored = [
            (sum(weight[t] for t in query & bag) / whole + _phrase_bonus(text, claim), -index)
            for index, (claim, bag) in enumerate(zip(self.claims, bags, strict=True))
        ]
        best = sorted((pair for pair in scored if pair[0] >= ENOUGH), reverse=True)[:limit]
        return [self.claims[-index] for _, index in best]


def _phrase_bonus(text: str, claim: Claim) -> float:
    """What it adds that the text stands in the claim as a whole, or one of its names in the text."""
    wanted = " ".join(text.lower().split())
    phrases = [words.says.lower() for words in claim.words.values()] + [phrase.lower() for phrase in claim.also]
    if any(wanted in phrase or phrase in wanted for phrase in phrases):
        return 1.0
    if any(name.lower() in wanted for name in claim.names if " " in name or name.startswith("-")):
        return 0.6
    held = set(_tokens(text))
    return 0.2 if any(name.lower() in held for name in claim.names) else 0.0


def _bag(claim: Claim) -> set[str]:
    """The tokens by which a claim is found: more of how it is said than of what is true."""
    texts = [claim.id.replace("-", " "), *claim.also, *claim.names]
    texts += [words.says for words in claim.words.values()]
    return set().union(*map(_tokens, texts))


def _tokens(text: str) -> set[str]:
    """Words in lower case, and of Chinese each pair of neighbouring characters."""
    found: set[str] = set()
    lower = text.lower()
    for word in WORD.findall(lower):
        found |= {word, *re.split(r"[-./:]+", word)} if word not in FILLERS else set()
    for run in CHINESE.findall(lower):
        found |= {run[i : i + 2] for i in range(len(run) - 1)} or {run}
    return {_stem(token) for token in found - FILLERS - {""}}


def _stem(word: str) -> str:
    """A plural as its singular, a determinism word as its root."""
    if word.startswith("determinis"):
        return "determinis"
    if word.startswith(("nondeterminis", "non-determinis")):
        return "nondeterminis"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def build(paths: Sequence[Path]) -> dict[str, Any]:
    """The claims file as a table that JSON can hold; raises ClaimError."""
    table: dict[str, Any] = {"claim": [], "experiment": {}}
    for path in paths:
        try:
            data = parse_toml(path)
        except ValueError as error:
            raise ClaimError(f"{path.name}: {error}") from error
        table["claim"] += data.get("claim", [])
        table["experiment"] |= data.get("experiment", {})
    claims_from(table)
    return table


def claims_from(table: Mapping[str, Any]) -> Claims:
    """Validate a table of claims; ids are unique, experiments exist, both languages are complete."""
    experiments = table.get("experiment", {})
    claims = tuple(_claim(data, experiments) for data in table["claim"])
    doubled = [name for name, count in Counter(claim.id for claim in claims).items() if count > 1]
    if doubled:
        raise ClaimError(f"{doubled[0]}: id is already taken")
    return Claims(claims, experiments)


def _claim(data: Mapping[str, Any], experiments: Mapping[str, Any]) -> Claim:
    where = str(data.get("id", "a claim without id"))
    for key in data:
        if key not in KEYS:
            raise ClaimError(f"{where}: {key}: unknown key{suggestion(key, sorted(KEYS))}")
    if missing := sorted(KEYS - {"also"} - set(data)):
        raise ClaimError(f"{where}: {missing[0]}: missing")
    for key, allowed in (("verdict", VERDICTS), ("topic", TOPICS)):
        if data[key] not in allowed:
            raise ClaimError(f"{where}: {key}: {data[key]!r} is not one of {', '.join(allowed)}")
    for language in LANGUAGES:
        if sorted(data[language]) != sorted(TEXTS):
            raise ClaimError(f"{where}: {language}: expected {', '.join(TEXTS)}")
    for name in data["experiments"]:
        if name not in experiments:
            raise ClaimError(f"{where}: experiments: {name!r} is not one of {', '.join(experiments)}")
    lists = {key: tuple(data.get(key, ())) for key in ("also", "names", "rules", "experiments", "evidence")}
    words = {language: Words(**data[language]) for language in LANGUAGES}
    return Claim(data["id"], data["topic"], data["verdict"], words, **lists)


def load_claims() -> Claims:
    """The claims that come with envdoctor."""
    return claims_from(load_compiled("claims", ".", build))
