"""Libraries and the order of their releases, so that "since" and "until" compare with the version of a target."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from envdoctor.core.numbers import number, whole
from envdoctor.core.regexes import regex

LABEL = regex(r"(?:rocm-|v)?(\d+(?:\.\d+)+)(?:-(\d+|[a-z]+))?")
"""A release label: `2.3.5-5` (a build number), `7.0-pre` and `6.3-staging` (before 7.0.0 and 6.3.0), `6.2.1`.
Labels of another shape (`dev-2.31.2`, a commit) have a place in the order, but no number."""
NUMBERS = regex(r"(?:[a-z]+-?)?(\d+(?:\.\d+)*)")
WIDTH = 4


@lru_cache(maxsize=1024)
def label_key(label: str) -> tuple[tuple[int, ...], int] | None:
    """(numbers, stage) of a label: -1 is before the release, 0 the release, above 0 its builds; None: no number."""
    match = LABEL.fullmatch(label)
    if match is None:
        return None
    stage = match[2] or "0"
    return _numbers(match[1]), -1 if (found := whole(stage)) is None else found


@lru_cache(maxsize=256)
def version_numbers(version: str) -> tuple[int, ...] | None:
    """The numbers at the start of a version as people and packages write it: `6.2`, `2.20.5+cuda12.4`, `rocm-6.2.4`."""
    match = NUMBERS.match(version)
    return _numbers(match[1]) if match else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(number(part) for part in text.split("."))


def _padded(numbers: tuple[int, ...], width: int = WIDTH) -> tuple[int, ...]:
    return numbers + (0,) * (width - len(numbers))


class Library(NamedTuple):
    """A library that reads variables, with the releases that were looked into, oldest first.

    `counts` names what the labels count where that is not the library's own version (RCCL: `rocm`).
    `documented` are labels known from changelogs and documents only: a name listed for one is read there, a name not
    listed for one may still be. `current` is the oldest release that we count as in use. `base` gives, for a ROCm
    release, the NCCL release that RCCL is built on.
    """

    name: str
    title: str
    platform: str = "both"
    counts: str = ""
    releases: tuple[str, ...] = ()
    documented: frozenset[str] = frozenset()
    current: str = ""
    base: Mapping[str, str] = {}
    note: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def oldest(self) -> str:
        """The first release looked into, or `""`."""
        return self.releases[0] if self.releases else ""

    @property
    def newest(self) -> str:
        """The last release looked into, or `""`."""
        return self.releases[-1] if self.releases else ""

    def version(self, versions: Mapping[str, str]) -> str | None:
        """This library's release in a target's versions: that of what its labels count, else its own."""
        return versions.get(self.counts or self.name)

    def matching(self, version: str) -> tuple[int, ...]:
        """Places in `releases` that a version may mean: `6.2` means any 6.2.x; states before a release count only
        where the release itself is not listed. Empty if there is none."""
        if version in self.releases:
            return (self.releases.index(version),)
        given = version_numbers(version)
        if given is None:
            return ()
        found = [(i, key[1]) for i, key in self._keys() if _padded(key[0], len(given))[: len(given)] == given]
        return tuple(i for i, stage in found if stage >= 0) or tuple(i for i, _ in found)

    def position(self, version: str) -> float:
        """A number that orders labels and versions; a release between two listed ones lies half-way.

        A version that means several releases has the place of the first; text without a number comes after all.
        """
        if places := self.matching(version):
            return float(places[0])
        given = version_numbers(version)
        if given is None:
            return float(len(self.releases))
        older = [i for i, key in self._keys() if key < (_padded(given), 0)]
        return older[-1] + 0.5 if older else -0.5

    def around(self, version: str) -> tuple[int, ...]:
        """The places to ask about a version: those it may mean, else its two neighbours, else none (not covered)."""
        if places := self.matching(version):
            return places
        lower = int(self.position(version) - 0.5)
        numbered = [i for i, _ in self._keys()]
        if lower not in numbered or lower == numbered[-1] or self.position(version) < 0:
            return ()
        return (lower, numbered[numbered.index(lower) + 1])

    def within(self, version: str, since: str | None, until: str | None) -> bool:
        """Every release that a version may mean lies between two labels (inclusive; None: no limit)."""
        places = self.around(version)
        first = self.releases.index(since) if since else 0
        last = self.releases.index(until) if until else len(self.releases) - 1
        return bool(places) and all(first <= place <= last for place in places)

    def _keys(self) -> list[tuple[int, tuple[tuple[int, ...], int]]]:
        """(place, key) of the labels that have a number."""
        keys = ((i, label_key(label)) for i, label in enumerate(self.releases))
        return [(i, (_padded(key[0]), key[1])) for i, key in keys if key is not None]
