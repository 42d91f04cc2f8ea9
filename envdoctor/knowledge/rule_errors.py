"""What is wrong with a rule file, by file, line and key."""

from __future__ import annotations

from envdoctor.core.errors import UserError

Key = tuple[str | int, ...]
"""Where a value stands: keys of tables, and places in lists counted from 0."""


class RuleError(UserError):
    """A rule file that cannot be used; the message names the file and the key."""


class RuleKeyError(RuleError):
    """A rule file with something wrong at one key. `where` names the file, and the line if it is known."""

    def __init__(self, where: str, key: Key, said: str) -> None:
        super().__init__(f"{where}: {dotted(key)}: {said}")
        self.where, self.key, self.said = where, key, said

    def at_line(self, line: int | None) -> RuleKeyError:
        """The same with the line of the key."""
        return self if line is None else RuleKeyError(f"{self.where}:{line}", self.key, self.said)


def dotted(key: Key) -> str:
    """`parameters.stream[2].draws`; people count from 1, as they do with the examples of a rule."""
    shown = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key)
    return shown.removeprefix(".")
