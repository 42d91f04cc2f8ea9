"""Regular expressions that are compiled when they are first used: most are for kinds of files that a scan never meets.

The modules of a scan hold some 300 of them; compiling one takes a third of a millisecond.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Waiting:
    """Stands for a compiled expression. Each of its attributes is fetched once, so that later calls are direct."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        # `re` keeps what it compiled, so that the next attribute finds it.
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile` that does so at the first use. A wrong expression is an error then (the tests use them all)."""
    return cast("re.Pattern[AnyStr]", _Waiting(source, flags))
