"""Maps that are copied wherever paths part: a copy shares what was there before, and two know where they may differ.

With plain dictionaries, a script that tests ten thousand names costs the square of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
MOST_OWN = 64
"""Entries that a map holds besides those that it shares; with more, a copy begins with a new common part."""
_GONE = object()


class Layered(MutableMapping[str, T], Generic[T]):
    """A map whose copies share a common part, which nobody changes."""

    __slots__ = ("_own", "_shared")

    def __init__(self, shared: Mapping[str, T] | None = None) -> None:
        self._shared: dict[str, T] = dict(shared or {})
        self._own: dict[str, object] = {}

    def copy(self) -> Layered[T]:
        """The same entries, at the cost of those that are not shared yet."""
        if len(self._own) > MOST_OWN:
            whole = {**self._shared, **self._own}
            self._shared = cast("dict[str, T]", {key: value for key, value in whole.items() if value is not _GONE})
            self._own = {}
        other: Layered[T] = Layered.__new__(Layered)
        other._shared, other._own = self._shared, self._own.copy()
        return other

    def unlike(self, other: Layered[T]) -> set[str]:
        """The keys at which two may differ."""
        if self._shared is other._shared:
            return {*self._own, *other._own}
        return {*self, *other}

    def __getitem__(self, key: str) -> T:
        found = self._own.get(key, self)
        if found is self:
            return self._shared[key]
        if found is _GONE:
            raise KeyError(key)
        return cast("T", found)

    def get(self, key: str, default: object = None) -> Any:
        """As a dictionary has it."""
        found = self._own.get(key, self)
        if found is self:
            return self._shared.get(key, default)
        return default if found is _GONE else found

    def __setitem__(self, key: str, value: T) -> None:
        self._own[key] = value

    def __delitem__(self, key: str) -> None:
        self[key]
        if key in self._shared:
            self._own[key] = _GONE
        else:
            del self._own[key]

    def __contains__(self, key: object) -> bool:
        found = self._own.get(cast("str", key), self)
        return key in self._shared if found is self else found is not _GONE

    def __iter__(self) -> Iterator[str]:
        own = self._own
        yield from [key for key in self._shared if key not in own]
        yield from [key for key, value in own.items() if value is not _GONE]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None
