"""What is known of every environment variable: who reads it, since when, which values, and when it takes effect.

The knowledge stands in `rules/catalog/*.toml`, one file per library or family, each variable in one file only.
Shape of a file (every table is optional; `schema` checks it and refuses unknown keys):

```toml
[library.nccl]                    # a library that reads variables
title = "NCCL"
platform = "cuda"                 # cuda, rocm, ascend; absent: both
counts = "rocm"                   # where the labels are not the library's own versions
releases = ["2.3.5-5", "2.3.7-1"] # what was looked into, oldest first
documented = ["6.4.0"]            # of these: known from changelogs only
current = "2.3.7-1"               # the oldest that we count as still in use
base = { "6.2" = "2.20.5" }       # ROCm release -> NCCL release that RCCL is built on

[[prefix]]                        # a family of names
name = "NCCL_"
closed = true                     # a name that is not listed is read by nobody in `complete`
complete = { nccl = ["2.3.5-5", "2.32.3"] }
private = ["NCCL_TESTS_"]         # further families inside it: plug-ins, forks, tools
build = ["NCCL_ROOT"]             # read by build systems (an entry that ends in _ is a family)
foreign = "Huawei Ascend"         # somebody else's family: never judged
triggers = ["CCL_"]               # what a file with such a name holds; absent: the prefix; []: full names

[parser.strtoll]                  # a way of reading a value, shared by all variables whose value names it
text = "..."                      # with number (which C or Python function), words, case, and bad as below

[variable.NCCL_ALGO]
status = "real"                   # ghost, documented-only, deprecated, build-time, debug-build, incidental (read,
                                  # but set for other ends: never judged); absent: real
platform = "cuda"                 # where it means something; absent: both
neutral = ["0"]                   # values that ask for what the other platform does anyway
kind, summary, note, evidence, read_at, cached, changes_bits
replaced_by = "NCCL_X"            # a real name; `instead`: what to do, in words. `meant`: the real name that a ghost
                                  # was plainly meant to be (an automatic rename is right only without `instead`)
deprecated_since = { torch = "2.2" }
read_by.nccl = { since = "2.5.6-1", until = "2.30.7-1", ... }
                                  # since absent: not established; until absent: read in the newest release covered;
                                  # older: may be older than since; pinned: a changelog names since, so nothing
                                  # earlier reads it; probable: by the base version only; gaps, unsure: releases;
                                  # component: part of the library; condition: when only; default: [[release, text]]
value = { type = "list", parser = "strtoll", separator = ",", case = "insensitive", inverter = "^",
          words = [...] | { nccl = [["2.5.6-1", [...]]] }, also = "regex of other accepted forms",
          functions = [...], functions_since = { nccl = "2.24.3-1" }, range, unit, escapes, forms, regex, note }
                                  # a number (int, float, size, bool-int) needs a parser, or bad that needs none
[[variable.NCCL_ALGO.bad]]        # a value that does not do what it seems to
when = { unknown_word = true }    # one of values, matches, unknown_word, not_integer, trailing_text, outside, above,
                                  # below, not_multiple_of, empty; with beside = "regex on the comment" and
                                  # unless = ["words that are fine"]
effect = "what happens"
verdict = "refused"               # ignored, replaced, misread
platform, library, since, until   # where it holds; not_on: a platform where it does not matter; weak: thin evidence
[[variable.NCCL_ALGO.needs]]      # text, setting = { name, words, refused, unset, above }, version = { torch = ">=2" }
[[variable.NCCL_ALGO.conflicts]]  # with (a name) or against (words), when, with_when (regexes on values), winner, why
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from envdoctor.core.errors import UserError
from envdoctor.knowledge.catalog.releases import Library

Status = Literal["real", "ghost", "documented-only", "deprecated", "build-time", "debug-build", "incidental"]
Verdict = Literal["refused", "ignored", "replaced", "misread"]
CONDITIONS = ("values", "matches", "unknown_word", "not_integer", "trailing_text", "outside", "above", "below",
              "not_multiple_of", "empty")  # fmt: skip
"""What can be wrong with the text of a value; `values` says exactly when each holds."""


class CatalogError(UserError):
    """A catalogue file that cannot be used; the message names the file and the key."""


class Prefix(NamedTuple):
    """A family of names. `complete` says for which releases of which library the list of its names is complete."""

    name: str
    closed: bool = False
    complete: Mapping[str, tuple[str, str]] = {}
    private: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    foreign: str = ""
    triggers: tuple[str, ...] | None = None
    note: str = ""
    evidence: tuple[str, ...] = ()


class Reading(NamedTuple):
    """Which releases of one library read a variable; labels are those of `Library.releases`."""

    library: str
    since: str | None = None
    until: str | None = None
    older: bool = False
    pinned: bool = False
    probable: bool = False
    gaps: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    component: str = "core"
    condition: str = ""
    default: tuple[tuple[str, str], ...] = ()
    note: str = ""
    evidence: str = ""

    def state(self, library: Library, place: int) -> bool | None:
        """Whether the release at `place` of `library.releases` reads it; None: not established."""
        label = library.releases[place]
        if self.since is None or label in self.unsure:
            return None
        if label in self.gaps:
            return False
        first = library.releases.index(self.since)
        last = library.releases.index(self.until) if self.until else len(library.releases) - 1
        if place < first:
            return self._before(library, place, first)
        if place > last:
            return self._after(library, place, last)
        return None if self.probable else True

    def ended(self, library: Library) -> bool:
        """No release reads it any more that we count as in use."""
        if self.until is None:
            return False
        return not library.current or library.releases.index(self.until) < library.releases.index(library.current)

    def _before(self, library: Library, place: int, first: int) -> bool | None:
        """Earlier than the first sighting: unread only if a release in between was really looked into."""
        if self.older:
            return None
        looked = any(library.releases[i] not in library.documented for i in range(place, first))
        return False if looked or self.pinned else None

    @staticmethod
    def _after(library: Library, place: int, last: int) -> bool | None:
        """Later than the last sighting; a removal that a changelog names holds from there on."""
        if library.releases[last] in library.documented:
            return False
        looked = any(library.releases[i] not in library.documented for i in range(last + 1, place + 1))
        return False if looked else None


class ValueGrammar(NamedTuple):
    """How a value is read. `words` and `range` are by library (`""`: any), then by release (`""`: all).

    `number` names the function that reads a number; it, `words` and `case` may come from the parser.
    """

    type: str
    parser: str = ""
    number: str = ""
    separator: str = ""
    case: str = ""
    inverter: str = ""
    words: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}
    also: str = ""
    functions: tuple[str, ...] = ()
    functions_since: Mapping[str, str] = {}
    range: Mapping[str, tuple[tuple[str, tuple[int, int]], ...]] = {}
    unit: str = ""
    escapes: Mapping[str, str] = {}
    forms: Mapping[str, str] = {}
    regex: str = ""
    note: str = ""


class BadValue(NamedTuple):
    """A class of values that do not do what they seem to. `condition` is one of `CONDITIONS`, `argument` its value.

    `platform` is where alone it holds; `not_on` is where alone it does not matter, so that an unknown platform counts.
    """

    condition: str
    argument: Any
    effect: str
    verdict: Verdict
    beside: str = ""
    unless: tuple[str, ...] = ()
    platform: str = ""
    not_on: str = ""
    library: str = ""
    since: str | None = None
    until: str | None = None
    weak: bool = False


class NeededSetting(NamedTuple):
    """Another variable that has to be set to one of `words`, or above a number, or to none of `refused` (lower case);
    `unset` is as good if it says so."""

    name: str
    words: tuple[str, ...] = ()
    above: int | None = None
    unset: bool = False
    refused: tuple[str, ...] = ()


class Need(NamedTuple):
    """What a variable needs to have an effect; machine-readable where `setting` or `version` is given."""

    text: str
    setting: NeededSetting | None = None
    version: Mapping[str, str] = {}


class Conflict(NamedTuple):
    """Two settings that meet. `with_name` is a variable, else `against` says what it is; `when` and `with_when` are
    regexes that the whole values match (`""`: any). `winner` is a name, `both`, `error` or words."""

    why: str
    winner: str = ""
    with_name: str = ""
    against: str = ""
    when: str = ""
    with_when: str = ""


class Variable(NamedTuple):
    """Everything the catalogue says of one variable. `file` is the file that says it."""

    name: str
    file: str
    status: Status = "real"
    platform: str = "both"
    readings: tuple[Reading, ...] = ()
    value: ValueGrammar | None = None
    bad: tuple[BadValue, ...] = ()
    needs: tuple[Need, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    neutral: tuple[str, ...] = ()
    kind: str = ""
    read_at: str = ""
    cached: bool | None = None
    changes_bits: str = ""
    summary: str = ""
    note: str = ""
    replaced_by: str | None = None
    instead: str = ""
    meant: str | None = None
    deprecated_since: Mapping[str, str] = {}
    evidence: tuple[str, ...] = ()

    @property
    def read_by(self) -> dict[str, Reading]:
        """The readings by library."""
        return {reading.library: reading for reading in self.readings}

    def retired(self, catalog: Catalog) -> bool:
        """Something read it once, and nothing has since before the oldest release of each that is still in use."""
        return bool(self.readings) and all(r.ended(catalog.libraries[r.library]) for r in self.readings)

    def read_in(self, catalog: Catalog, library: str, version: str | None) -> bool | None:
        """Whether `library` reads it in `version`; None: that release is not covered, or its releases differ."""
        known = catalog.libraries.get(library)
        places = known.around(version) if known and version else ()
        if known is None or version is None or not places:
            return None
        reading = self.read_by.get(library)
        if reading is None:
            prefix = catalog.prefix_of(self.name)
            span = prefix.complete.get(library) if prefix else None
            return False if span and known.within(version, *span) else None
        states = {reading.state(known, place) for place in places}
        return states.pop() if len(states) == 1 else None


class Variables(Mapping[str, Variable]):
    """The variables by name, in order; each is made when it is asked for."""

    def __init__(self, catalog: Catalog, names: Sequence[str]) -> None:
        self._catalog = catalog
        self._names = names

    def __getitem__(self, name: str) -> Variable:
        found = self._catalog.variable(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Catalog:
    """The loaded catalogue. Variables are packed texts (`raw`) until they are asked for, then `make` unpacks them."""

    def __init__(
        self, raw: Mapping[str, str], make: Callable[[str, str], Variable], libraries: Mapping[str, Library],
        prefixes: Sequence[Prefix], triggers: Sequence[str], real: Sequence[str],
    ) -> None:  # fmt: skip
        self._raw = raw
        self._make = make
        self._made: dict[str, Variable] = {}
        self._triggers = tuple(token.encode() for token in triggers)
        self._real = tuple(real)
        self.libraries = libraries
        self.prefixes = tuple(prefixes)

    @property
    def variables(self) -> Mapping[str, Variable]:
        """All variables by name."""
        return Variables(self, list(self._raw))

    def variable(self, name: str) -> Variable | None:
        """The variable of that name, or None."""
        if name not in self._made:
            text = self._raw.get(name)
            if text is None:
                return None
            self._made[name] = self._make(name, text)
        return self._made[name]

    def prefix_of(self, name: str) -> Prefix | None:
        """The longest family that a name belongs to, or None."""
        found = [prefix for prefix in self.prefixes if name.startswith(prefix.name)]
        return max(found, key=lambda prefix: len(prefix.name), default=None)

    def real_names(self) -> tuple[str, ...]:
        """Names that something reads or read (status real or deprecated), in order: what a slip may have meant."""
        return self._real

    def triggers(self) -> tuple[bytes, ...]:
        """Tokens of which a file holds at least one if a listed variable or a near miss of its family is in it."""
        return self._triggers
