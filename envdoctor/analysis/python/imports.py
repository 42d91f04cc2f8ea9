"""What a module pulls in when it is imported, told from its text alone: most modules do nothing that matters here, and
need not be parsed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

IMPORT = regex(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([\w. \t,]+))", re.MULTILINE
)
EFFECT = regex(rb"^[^\s#\"'@][^\n]*(?:seed|rand|backends|determinis|Generator|precision|spawn|environ)", re.MULTILINE)
"""A line that is not indented and may draw, seed or set a switch when the module is imported."""
DEFINES = (b"def ", b"class ", b"from ", b"import ", b"async ")
Find = Callable[[str, str, str], "tuple[str, tuple[str, ...]] | None"]
"""(dotted name, importing file, home) to the module's file and the rest of the name."""


@dataclass(slots=True)
class Imports:
    """The imports between the modules of a project. `raw` gives the bytes of a file, `find` the file of a module."""

    raw: Callable[[str], bytes | None]
    find: Find
    _edges: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _acts: dict[str, bool] = field(default_factory=dict)

    def loaded(self, path: str, done: set[str]) -> Iterator[str]:
        """The modules that importing `path` runs for the first time and that do something then, in order.

        `done` holds the modules that were imported before, and grows.
        """
        if path in done:
            return
        done.add(path)
        stack: list[tuple[str, int]] = [(path, 0)]
        while stack:
            current, position = stack.pop()
            edges = self.edges(current)
            while position < len(edges) and edges[position] in done:
                position += 1
            if position < len(edges):
                stack.append((current, position + 1))
                done.add(edges[position])
                stack.append((edges[position], 0))
            elif self._acts[current]:
                yield current

    def edges(self, path: str) -> tuple[str, ...]:
        """The modules that a module imports itself."""
        if path not in self._edges:
            data = self.raw(path) or b""
            self._acts[path] = any(not m[0].startswith(DEFINES) for m in EFFECT.finditer(data))
            self._edges[path] = tuple(dict.fromkeys(self._targets(path, data)))
        return self._edges[path]

    def _targets(self, path: str, data: bytes) -> Iterator[str]:
        for match in IMPORT.finditer(data):
            for name in _names(match):
                found = self.find(name, path, path.rpartition("/")[0] or ".")
                if found is not None and found[0] != path:
                    yield found[0]


def _names(match: re.Match[bytes]) -> Iterator[str]:
    """The dotted names in an import statement."""
    module, names, plain = (group.decode("ascii", "replace") if group else "" for group in match.groups())
    if plain:
        yield from (part.split(" as ")[0].strip() for part in plain.split(",") if part.strip())
        return
    joint = "" if module.endswith(".") else "."
    for part in names.strip("()").split(","):
        words = part.split("#")[-1].split()
        if words and words[0] != "*":
            yield f"{module}{joint}{words[0]}"
        elif words:
            yield module
