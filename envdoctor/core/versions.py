"""Version numbers as people and packages write them: taken out of their wrapping and compared."""

from __future__ import annotations

import re

from envdoctor.core.numbers import number, whole
from envdoctor.core.regexes import regex

NUMBER = regex(r"\d+(?:\.\d+)*")
PRE_RELEASE = regex(r"(?<=\d)\.?(?:a|b|rc|dev|alpha|beta)\.?\d*", re.IGNORECASE)


def bare(text: str) -> str:
    """The version without its local part and a leading `v` (`v2.7.0a0+git1234` is `2.7.0a0`)."""
    return text.strip().lstrip("vV").split("+", 1)[0]


def release(text: str) -> tuple[int, ...]:
    """The numbers of a release; empty where there are none.

    ROCm numbers are compared this way after they were taken out of a local version, since PEP 440 orders local
    versions as text: `+rocm10.0` would come before `+rocm7.0`.
    """
    found = NUMBER.match(bare(text))
    return tuple(number(part) for part in found[0].split(".")) if found else ()


def series(text: str) -> str:
    """The first two numbers: `6.2.4` belongs to `6.2`."""
    return ".".join(str(part) for part in release(text)[:2])


def is_pre_release(text: str) -> bool:
    """Whether the version comes before the release it is named after (`2.5.0a0`, `2.10.0.dev20251112`)."""
    return PRE_RELEASE.search(bare(text)) is not None


def at_least(have: str, wanted: str) -> bool | None:
    """Whether `have` is `wanted` or later; None where that cannot be told.

    It cannot be told for a series (`2.4` against `2.4.1`) and for a pre-release of the wanted release itself.
    """
    mine, other = release(have), release(wanted)
    if not mine or not other:
        return None
    if len(mine) < len(other) and other[: len(mine)] == mine and any(other[len(mine) :]):
        return None
    width = max(len(mine), len(other))
    padded, bound = _padded(mine, width), _padded(other, width)
    if padded == bound and is_pre_release(have) and not is_pre_release(wanted):
        return None
    return padded >= bound


def compare(left: str, right: str) -> int:
    """-1, 0 or 1 by PEP 440 where both are such versions, else by their numbers."""
    from packaging.version import InvalidVersion, Version

    try:
        first, second = Version(bare(left)), Version(bare(right))
    except InvalidVersion:
        mine, other = release(left), release(right)
        width = max(len(mine), len(other))
        return _sign(_padded(mine, width), _padded(other, width))
    return (first > second) - (first < second)


def agreed(first: str, second: str) -> str | None:
    """What two statements about one release leave: the same, or the series they share; None where they differ."""
    if first == second:
        return first
    if series(first) == series(second) and series(first):
        return series(first)
    return None


def from_cu(digits: str) -> str:
    """CUDA from the digits of a wheel tag: the last one is the minor number (`92` is 9.2, `130` is 13.0)."""
    return f"{digits[:-1]}.{digits[-1]}"


def from_digits(text: str) -> str:
    """A release written without dots: `611` is 6.1.1; dotted text is cleaned and cut to three numbers."""
    if len(text) == 3 and whole(text) is not None:
        return ".".join(text)
    return ".".join(text.strip(".").split(".")[:3])


def _padded(numbers: tuple[int, ...], width: int) -> tuple[int, ...]:
    return numbers + (0,) * (width - len(numbers))


def _sign(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    return (first > second) - (first < second)
