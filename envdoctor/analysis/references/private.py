"""Names that a project's own code reads and does something with: nobody else has to read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from envdoctor.core.decoding import decode
from envdoctor.core.facts import FileFacts
from envdoctor.core.internal_errors import USES
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.project.files import Files, is_test
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.store import FactStore

CODE_SUFFIXES = {
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".hip", ".rs", ".go", ".js", ".ts", ".java", ".kt",
    ".lua", ".pl", ".rb", ".jl", ".swift", ".cs", ".scala", ".mk", ".cmake", ".f90", ".ipynb", ".mojo", ".tcl",
}  # fmt: skip
"""Files that hold code no reader reads; they are searched only for private use of a name about to be reported."""
CODE_NAMES = {"Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "justfile"}
READ_IN_CODE = regex(
    r"(?:get_?env|getenv|environ|env::var|\bENV\b|\benv|flag|param|option|config)\w*!?\W{0,6}[^\n]{0,60}?[\"'`]?\b(?P<a>[A-Z][A-Z0-9_]{3,})\b"
    r"|\$[({](?:oc\.env:|env:)?(?P<b>[A-Z][A-Z0-9_]{3,})[)},:]",
    re.IGNORECASE,
)
WRITTEN_IN_CODE = regex(r"\b(?:set_?env|putenv|unsetenv|set_var|print\w*|log\w*|echo|cout|warn\w*)\b", re.IGNORECASE)
CONFIGURATIONS = (".yaml", ".yml", ".json", ".toml", ".conf", ".cfg", ".ini")
RESOLVER = regex(r"\$\{(?:oc\.)?env:\s*([A-Z][A-Z0-9_]{3,})")
"""A configuration system that reads the environment: OmegaConf, Hydra, pydantic and others."""


@dataclass(slots=True)
class PrivateNames:
    """What the files of one project read."""

    files: Files
    facts: FactStore

    def among(self, names: Iterable[str]) -> set[str]:
        """Those of `names` that the project's own code reads and does something with."""
        wanted = set(names)
        found: set[str] = set()
        if not wanted:
            return found
        tokens = [name.encode() for name in wanted]
        for path in self.files.paths():
            if wanted <= found:
                break
            if not is_test(path) and (look := self._looker(path)):
                with self.files.internal.guard(path, USES):
                    found |= wanted & look(path, tokens)
        return found

    def _looker(self, path: str) -> Callable[[str, Sequence[bytes]], set[str]] | None:
        """How to find the names that a file reads: by its facts, or by the shape of code that no reader reads."""
        pure = PurePosixPath(path)
        if path in self.facts.found or kind_of(path) is not None or "." not in pure.name:
            return self._read_by_facts
        if pure.suffix.lower() in CODE_SUFFIXES or pure.name in CODE_NAMES:
            return self._read_in_code
        return None

    def _read_by_facts(self, path: str, tokens: Sequence[bytes]) -> set[str]:
        facts = self.facts.found.get(path)
        if facts is None:
            facts = self._context_facts(path, tokens)
        found = set(_names_used(facts)) if facts is not None else set()
        return found | self._resolved(path, tokens) if path.endswith(CONFIGURATIONS) else found

    def _resolved(self, path: str, tokens: Sequence[bytes]) -> set[str]:
        """Names that a configuration file takes from the environment: `${oc.env:NAME,default}`."""
        text = self.files.text(path)
        if "env:" not in text or not any(token.decode() in text for token in tokens):
            return set()
        return set(RESOLVER.findall(text))

    def _context_facts(self, path: str, tokens: Sequence[bytes]) -> FileFacts | None:
        """Facts of a file that is context only; it is read if it holds one of the names."""
        data = self.files.small(path)
        if data is None or not any(token in data for token in tokens):
            return None
        return self.facts.read(path)

    def _read_in_code(self, path: str, tokens: Sequence[bytes]) -> set[str]:
        data = self.files.small(path)
        if data is None or not any(token in data for token in tokens):
            return set()
        names = set()
        for line in decode(path, data).text.splitlines():
            if not WRITTEN_IN_CODE.search(line):
                names |= {m["a"] or m["b"] for m in READ_IN_CODE.finditer(line)}
        return names


def _names_used(facts: FileFacts) -> Iterator[str]:
    """Names that a file reads: its uses, and references in the value of another variable."""
    for use in facts.uses:
        yield use.name
    for setting in facts.settings:
        for reference in setting.value.references:
            if reference != setting.name:
                yield reference
