"""How many typing slips lie between two words: a letter more, less or other, or two neighbours swapped."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

Distance = Callable[[str, str, int], int]


@cache
def distance() -> Distance:
    """A function of two words and the most slips that matter; it gives one more than those where there are more.

    `rapidfuzz` counts where it is there. A node that is examined from a mere copy of the source need not have it.
    """
    try:
        from rapidfuzz.distance import OSA
    except ImportError:
        return plainly
    return lambda one, other, most: OSA.distance(one, other, score_cutoff=most)


def plainly(one: str, other: str, most: int) -> int:
    """The same without a compiled module: optimal string alignment, row by row."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        above, before, row = before, row, [i]
        for j, right in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and right == one[i - 2]:
                least = min(least, above[j - 2] + 1)
            row.append(least)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
