"""Parameters of the checks of settings beside one another."""

from __future__ import annotations

from typing import TypedDict

from envdoctor.knowledge.parameters.forms import Common, Pair, Platform, Regex, Release, SomeTexts, Texts


class OneOn(TypedDict):
    """Switches of which one has to stay on."""

    names: SomeTexts
    """Variables that must not all be 0."""
    says: str
    """What follows where they are."""


class Pairs(Common):
    """`relations.pairs`: two variables of which one cancels the other."""

    same: list[Texts]
    """Groups of variables that are names for one thing: a fault only where their values differ."""
    ordered: list[Pair]
    """Pairs of a least and a greatest value."""
    outer_mask: str
    """The variable that chooses devices first."""
    inner_masks: Texts
    """Variables that choose among the devices that the outer one leaves."""
    agrees: dict[str, Texts]
    """Variable -> values of it (in small letters) that ask for what the one that wins does anyway."""
    one_on: list[OneOn]
    """Groups of switches of which one has to stay on."""


class _MeetingOptions(TypedDict, total=False):
    platform: Platform
    """The platform that this is about."""
    torch: Release
    """The first release of torch that this is about."""


class Meeting(_MeetingOptions):
    """A variable and a call or switch of the program that decide on the same thing."""

    variable: str
    """The variable."""
    value: Regex
    """Its values, as a regular expression."""
    call: str
    """The call or attribute, with its full name."""
    given: bool
    """Its first argument, or what is assigned."""
    says: str
    """What happens where they meet."""


class CodeMeeting(Common):
    """`relations.code`, `relations.idle`: a script says one thing and the program that it starts another."""

    code: list[Meeting]
    """Variables that a call or switch of the program meets."""


class ExcludedPair(TypedDict):
    """Two arguments of a program that exclude each other."""

    repository: str
    """The repository that the program is fetched from."""
    asks: str
    """One argument."""
    word: str
    """The other one, which is to go."""
    releases: Pair
    """The first and the last release that refuse the pair."""
    says: str
    """What the program does about it."""
    evidence: Texts
    """Where this is to be seen."""


class Arguments(Common):
    """`relations.arguments`: arguments of a known program that exclude each other."""

    arguments: list[ExcludedPair]
    """Pairs of arguments that a release of a program refuses."""
