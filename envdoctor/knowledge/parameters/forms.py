"""What values of rule files look like beyond their types: patterns, releases, and what no rule may leave out."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from envdoctor.core.findings import Severity as Severity
from envdoctor.core.regexes import regex
from envdoctor.core.target import Platform as Platform

_BOUND = r"\s*(?:<|>=)\d+(?:\.\d+)*\s*"
_BOUNDS = regex(rf"{_BOUND}(?:,{_BOUND})*")
_RELEASE = regex(r"\d+(?:\.\d+)*")


class Form(NamedTuple):
    """A condition on a value of the right type: in words, and as a test that answers no or raises `ValueError`."""

    words: str
    fits: Callable[[Any], object]


class NameFrom(NamedTuple):
    """A condition on a text: some table of the list `key` of the same parameters has it as its `name`."""

    key: str


def _compiles(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _has_group(text: str) -> bool:
    return _compiles(text) and re.compile(text).groups > 0


Regex = Annotated[str, Form("a regular expression", _compiles)]
RegexWithGroup = Annotated[str, Form("a regular expression with a group", _has_group)]
Name = Annotated[str, Form("a name, in which * and ? may stand for others", lambda text: _compiles(translate(text)))]
Names = list[Name]
SomeNames = Annotated[list[Name], Form("a list with something in it", bool)]
Texts = list[str]
SomeTexts = Annotated[list[str], Form("a list with something in it", bool)]
Pair = Annotated[list[str], Form("a list of two strings", lambda pair: len(pair) == 2)]
Position = Annotated[int, Form("a number from 0 on", lambda number: number >= 0)]
Count = Annotated[int, Form("a number from 0 on", lambda number: number >= 0)]
Release = Annotated[str, Form("a release, such as 2.7", _RELEASE.fullmatch)]
Bounds = Annotated[str, Form("bounds of releases, such as >=2.7,<2.10", _BOUNDS.fullmatch)]
Versions = dict[str, Bounds]
"""Component (`torch`, `rocm`, `cuda`, `nccl`) -> releases."""
Scalar = str | bool | int | float
Needs = Literal["nothing", "seeds", "determinism"]
"""What a program has to ask for before a finding is made: nothing at all, seeds, or determinism."""


class Common(TypedDict, total=False):
    """What every rule may have."""

    entry_triggers: Texts
    """Texts that make a Python program worth following from call to call."""
    unless_private: bool
    """Whether names that the project's own code reads are left alone."""
    probe: str
    """The line of the report of a node that the finding belongs to."""
    probe_cuda: str
    """The same on nodes with NVIDIA's GPUs."""
