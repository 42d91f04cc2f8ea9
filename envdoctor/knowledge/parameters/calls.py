"""Parameters of the other checks of Python programs: switches that are missing, options, and blind tests."""

from __future__ import annotations

from typing import Literal, TypedDict

from envdoctor.knowledge.parameters.forms import (
    Bounds,
    Common,
    Names,
    Needs,
    Platform,
    Position,
    Regex,
    RegexWithGroup,
    Scalar,
    Severity,
    Texts,
    Versions,
)  # fmt: skip


class Keyword(TypedDict):
    """Functions that have a switch for determinism of their own."""

    names: Names
    """The functions."""
    keyword: str
    """The argument that is to be True."""
    versions: Versions
    """Component -> the releases that this is about."""
    says: str
    """What happens without it, as the end of a sentence."""
    help: str
    """The way out."""
    evidence: Texts
    """Where this is to be seen."""


class _NeededOptions(TypedDict, total=False):
    given_by_workspace: bool
    """Not needed where the program sets a workspace."""
    strict: bool
    """Not needed where the switch only warns."""
    convolutions: bool
    """Needed only where the program has convolutions."""


class NeededVariable(_NeededOptions):
    """A variable that a release needs besides torch's switch."""

    name: str
    """The variable."""
    platform: Platform
    """The platform that this is about."""
    versions: Versions
    """Component -> the releases that this is about."""
    says: str
    """What happens without it."""
    help: str
    """The way out."""
    evidence: Texts
    """Where this is to be seen."""


class Switches(Common):
    """`python.missing_switches`: switches that repeatable runs need and a program lacks."""

    unseen: Regex
    """Names of functions that may switch determinism on: what they do cannot be told."""
    keyword: list[Keyword]
    """Functions that have a switch of their own."""
    variable: list[NeededVariable]
    """Variables that a release needs besides torch's switch."""


class _OptionPattern(TypedDict, total=False):
    kind: Literal["call", "assign"]
    """Whether it is called or assigned; without this key either."""
    argument: str
    """The argument that counts, by keyword."""
    position: Position
    """The argument that counts, by its place among the positional ones, counted from 0."""
    values: list[Scalar]
    """The values of it that are faults."""
    contains: Texts
    """Texts or names of which one in it makes a fault."""
    absent: bool
    """Whether it is a fault that the argument is not given."""
    beside: dict[str, Texts]
    """Further argument -> texts or names of which one has to be in it."""
    platform: Platform
    """The platform that this is about."""
    versions: Versions
    """Component -> the releases that this is about."""
    open: bool
    """Whether it holds where the target does not say its platform or release; without this key it does."""


class _OptionWords(_OptionPattern, total=False):
    asked_for_by: str
    """A word in a condition by which the program asks for just this option."""
    covered_by_switch: Versions
    """Component -> the releases in which torch's switch for determinism turns the option off."""
    platform_says: dict[Platform, str]
    """What it costs, by platform."""
    severity: Severity
    """How bad it is, where it is not as the rule says."""
    evidence: Texts
    """Where this is to be seen."""


class CallOption(_OptionWords):
    """A call or assignment that switches on what costs reproducibility."""

    names: Names
    """The calls or attributes, with their full names."""
    needs: Needs
    """What the program has to ask for before this is a finding."""
    says: str
    """What it costs, as the end of a sentence."""
    help: str
    """The way out."""


class _EnvironmentOptions(TypedDict, total=False):
    values: Texts
    """The values that do it."""
    contains: str
    """Without `values`: a text in values that do it."""
    lacks: str
    """Without `values`: a text that is in no value that does it."""
    unless: dict[str, str]
    """Other variable -> the value with which it does not."""


class EnvironmentOption(_EnvironmentOptions):
    """A variable that switches such an option on."""

    name: str
    """The variable."""
    needs: Needs
    """What the program has to ask for before this is a finding."""
    says: str
    """What it costs, as the end of a sentence."""
    help: str
    """The way out."""


class OptionParameters(Common, total=False):
    """`python.options`: options that cost reproducibility."""

    option: list[CallOption]
    """Calls and assignments."""
    environment: list[EnvironmentOption]
    """Variables."""
    precision_old: Texts
    """Attributes that set precision the old way."""
    precision_new: Texts
    """Attributes that set precision the new way."""
    precision_versions: Versions
    """Component -> the releases that refuse the two ways together."""


class _RefusedOptions(TypedDict, total=False):
    release: Bounds
    """The releases that refuse it."""
    not_in: Bounds
    """The releases that do not."""


class Refused(_RefusedOptions):
    """An argument that a deterministic mode refuses."""

    word: str
    """The argument."""
    says: str
    """What the program does about it."""


class _RefusedVariableOptions(TypedDict, total=False):
    list: bool
    """Whether its value is a list with commas."""


class RefusedVariable(_RefusedVariableOptions):
    """A variable whose value a deterministic mode refuses."""

    name: str
    """The variable."""
    release: Bounds
    """The releases that refuse it."""
    allowed: Texts
    """The values that they accept."""
    says: str
    """What the program does about others."""
    help: str
    """The way out."""
    evidence: Texts
    """Where this is to be seen."""


class DeterministicMode(TypedDict):
    """A deterministic mode of a program, by an argument of its command line."""

    programs: Names
    """File names of the programs."""
    asks: str
    """The argument that asks for the mode."""
    refused: list[Refused]
    """Arguments that it refuses."""
    variables: list[RefusedVariable]
    """Variables that it refuses."""


class OptionArguments(Common, total=False):
    """`python.option_arguments`: what the deterministic mode of a program refuses beside it."""

    arguments: list[DeterministicMode]
    """Deterministic modes of programs."""


class OptionBuilds(Common, total=False):
    """`python.option_builds`: such options in builds and configuration files."""

    fast_math: RegexWithGroup
    """Flags of compilers that trade exactness for speed; the group is the flag."""
    option: list[CallOption]
    """Calls and assignments; entries of DeepSpeed's configuration are named `:deepspeed.` and the key."""


class BlindTests(Common):
    """`python.blind_tests`: tests of an AllReduce that cannot see what they test."""

    reduces: Names
    """Calls that sum over ranks."""
    looks: Names
    """Calls that look at the bits of a result."""
    gathers: Names
    """Calls that bring the results of all ranks together."""
    seeds: Names
    """Calls that seed the summands."""
    draws: Names
    """Calls that draw the summands."""
    constants: Names
    """Calls that make summands of constants."""
    spawners: Names
    """Calls that start ranks."""
    about: Regex
    """Text of a program that shows that it is such a test."""
    benchmarks: Texts
    """Programs that print times and no results."""
