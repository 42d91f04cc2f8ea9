"""Whole numbers in text that anybody may have written, and in text for people."""

from __future__ import annotations

LONGEST = 1000
"""Digits that are looked at: Python refuses to convert more than 4300, since that takes time in their square."""


def number(digits: str, base: int = 10) -> int:
    """The number that digits, with a sign or not, stand for; of very many, the number of the first ones."""
    return int(digits[:LONGEST], base)


def whole(text: str) -> int | None:
    """The number where a text is nothing but ASCII digits. (`str.isdigit` holds for `²` too, which `int` refuses.)"""
    return number(text) if text.isascii() and text.isdigit() else None


def signed(text: str) -> int | None:
    """The same, with one sign in front or none."""
    found = whole(text[1:] if text.startswith(("+", "-")) else text)
    return -found if found is not None and text.startswith("-") else found


def counted(number: int, word: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
