"""A project: its files, the facts read from them, the target each file is judged against, and private names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from envdoctor.analysis.references.links import Links
from envdoctor.analysis.target.hints import hints_in
from envdoctor.analysis.target.infer import folders_near, hint_files, infer
from envdoctor.cache import dependency_log
from envdoctor.cache import facts as facts_cache
from envdoctor.core.decoding import LARGEST, LARGEST_NOTEBOOK, decode, is_binary, line_of, refused
from envdoctor.core.facts import FileFacts, Problem
from envdoctor.core.internal_errors import READING, USES, InternalErrors
from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.core.target import Target
from envdoctor.project import discovery
from envdoctor.project.config_paths import ByPath
from envdoctor.readers import registry as readers
from envdoctor.readers.kinds import PYTHON, kind_of

if TYPE_CHECKING:
    from envdoctor.analysis.python.timeline import EntryPoints

Texts = list[tuple[str, str]]
MOST_HELD = 32_000_000
"""Bytes of files that are kept in memory: most are asked for more than once."""
HEAD = 256
MOST_CONTEXT = 50_000
"""Files of a project that are looked at as context: a home folder that is scanned by mistake must end."""
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
RUNS = regex(rb"^(?:if __name__|for |while |with |[A-Za-z_][\w.]*(?:\(| *= *\w[\w.]*\())", re.MULTILINE)
"""A line that does something when the file is run, not indented: the file may be the entry of a program."""
TEST_PARTS = {"test", "tests", "testing", "unit_tests", "unittests", "conftest.py"}


def shortest(tokens: Iterable[bytes]) -> tuple[bytes, ...]:
    """The tokens in order, without those that hold another one: a file with such a one is found by the other."""
    every = sorted(set(tokens))
    return tuple(t for t in every if not any(other in t for other in every if other != t))


def is_test(path: str) -> bool:
    """A file that tests the project: what it reads is no use of a variable by the project."""
    parts = path.lower().split("/")
    return not TEST_PARTS.isdisjoint(parts) or parts[-1].startswith("test_") or "_test." in parts[-1]


@dataclass(slots=True)
class Project:
    """Everything that is known of the files under `root`. Files are read when they are asked for, and once.

    Paths are relative to `base`, the folder that is scanned from, and whole where a file lies outside of it.
    """

    base: Path
    root: Path
    exclude: tuple[str, ...] = ()
    fixed_target: Target | None = None
    triggers: tuple[bytes, ...] = ()
    facts: dict[str, FileFacts] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    _texts: dict[str, str] = field(default_factory=dict)
    _files: list[str] | None = None
    _folders: dict[str, list[str]] | None = None
    _hints: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    _targets: dict[str, Target] = field(default_factory=dict)
    _links: Links | None = None
    _docker_env: frozenset[str] | None = None
    _context: dict[str, FileFacts | None] = field(default_factory=dict)
    entry_triggers: tuple[bytes, ...] = ()
    """Tokens that make the entry of a program worth following."""
    docs: bool = False
    """Documents are read too, for the code blocks in them."""
    targets: ByPath[Target] = field(default_factory=lambda: ByPath({}))
    """What the user says for parts of the project; it goes before `fixed_target`."""
    _raw: dict[str, bytes] = field(default_factory=dict)
    _held: list[int] = field(default_factory=lambda: [0])
    overlay: dict[str, bytes] = field(default_factory=dict)
    """Bytes of files as they would be after fixes, in place of those on the disk."""
    internal: InternalErrors = field(default_factory=InternalErrors)
    """Errors of ours, each kept to the file that it came up in."""

    def edited(self, overlay: dict[str, bytes]) -> Project:
        """The project with some files as they would be after fixes; what was read of the others is kept."""
        if overlay == self.overlay:
            return self
        facts = {path: facts for path, facts in self.facts.items() if path not in overlay}
        texts = {path: text for path, text in self._texts.items() if path not in overlay}
        return replace(self, overlay=overlay, facts=facts, errors=[], _texts=texts, _hints={}, _targets={}, _context={})

    def read(self, path: str) -> FileFacts | None:
        """Facts of one file; None where it is not ours to read or holds nothing that any rule asks about."""
        if path in self.facts:
            return self.facts[path]
        data = self._bytes(path)
        if data is None:
            return None
        with self.internal.guard(path, READING):
            return self._facts_of(path, data)
        self.facts[path] = FileFacts(path, "unknown")  # remembered, so that nobody tries again
        return self.facts[path]

    def _facts_of(self, path: str, data: bytes) -> FileFacts | None:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")) and not is_binary(data):
            data = decode(path, data).text.encode("utf-8", "replace")  # triggers are looked for in bytes
        kind = kind_of(path, data[:HEAD], self.docs)
        if kind is None or not (any(map(data.__contains__, self.triggers)) or self._may_enter(kind, data)):
            return None
        if reason := refused(kind, data):
            facts = FileFacts(path, kind, problems=[Problem(reason, line_of(path, 1))])
        else:
            decoded = decode(path, data)
            kind = "docker-env-file" if kind == "env-file" and path in self._docker_env_files() else kind
            facts = facts_cache.read(Source(path, decoded.text), kind, readers.read)
            facts.problems[:0] = decoded.problems
            self._texts[path] = decoded.text
        self.facts[path] = facts
        return facts

    def _docker_env_files(self) -> frozenset[str]:
        """Env files that docker reads, by its own rules."""
        if self._docker_env is None:
            self._docker_env = frozenset()
            with self.internal.guard(self.root.as_posix(), "looking for the env files of docker in it"):
                from envdoctor.readers.docker_env_files import read_by_docker

                self._docker_env = read_by_docker(self.files(), self._small, kind_of)
        return self._docker_env

    def _may_enter(self, kind: str, data: bytes) -> bool:
        """Whether a file may be the entry of a program that some rule follows."""
        if kind not in PYTHON or not any(map(data.__contains__, self.entry_triggers)):
            return False
        return kind == "notebook" or RUNS.search(data) is not None

    def entry_points(self) -> EntryPoints:
        """The files of the project that start a Python program, followed when they are asked for."""
        from envdoctor.analysis.python.modules import Modules
        from envdoctor.analysis.python.timeline import EntryPoints

        # Paths are relative to `base`, modules to the root: a root below or beside it is one more place to look in.
        root = discovery.relative_path(self.root, self.base)
        paths = frozenset(p for p in self.files() if p.endswith(".py"))
        roots = ("", "src") if root in ("", ".") else (root, f"{root}/src")
        modules = Modules(paths, self.context, self._small, roots)
        return EntryPoints(modules, self.text, is_test, self.sets, self.naming, self.mentioned)

    def naming(self, path: str) -> Iterator[FileFacts]:
        """Facts of the files, other than Python, that name a file."""
        token = path.rpartition("/")[2].encode()
        for other in self.files():
            if not other.endswith((".py", ".ipynb")) and kind_of(other) and token in (self._small(other) or b""):
                facts = self.context(other)
                if facts is not None:
                    yield facts

    def sets(self, name: str) -> bool:
        """Whether any file of the project mentions a variable outside of code that only reads about it."""
        token = name.encode()
        return any(token in data for path in self.files() if (data := self._small(path)) is not None)

    def mentioned(self, name: str, besides: str) -> bool:
        """Whether a file other than `besides` mentions a variable; documents do not count."""
        word = re.compile(rb"(?<!\w)%b(?!\w)" % re.escape(name).encode())
        others = (p for p in self.files() if p != besides and not p.lower().endswith((".md", ".rst", ".txt")))
        return any(word.search(data) for path in others if (data := self._small(path)) is not None)

    def _small(self, path: str) -> bytes | None:
        try:
            data = self._data(path)
        except OSError:
            return None
        return data if len(data) <= LARGEST else None

    def context(self, path: str) -> FileFacts | None:
        """Facts of a file that others use, whatever it holds; None where it is not there or not ours to read."""
        if path in self.facts:
            return self.facts[path]
        if path not in self._context:
            others = replace(self, triggers=(b"",), facts={}, errors=[])
            self._context[path] = others.read(path)
        return self._context[path]

    def _data(self, path: str, most: int = -1) -> bytes:
        """The bytes of a file, or as many of them as are wanted. `OSError`: it cannot be read."""
        if path in self.overlay:
            return self.overlay[path]
        if path in self._raw:
            return self._raw[path]
        data = dependency_log.read(os.path.join(self.base, path), most)  # noqa: PTH118 (called often)
        complete = most < 0 or len(data) < most
        if complete and self._held[0] + len(data) <= MOST_HELD:
            self._held[0] += len(data)
            self._raw[path] = data
        return data

    def head(self, path: str, most: int) -> bytes:
        """The first bytes of a file; none where it cannot be read."""
        try:
            return self._data(path, most)[:most]
        except OSError:
            return b""

    def _bytes(self, path: str) -> bytes | None:
        try:
            return self._data(path, LARGEST_NOTEBOOK + 1)
        except OSError as error:
            self.errors.append(f"{path}: cannot be read: {error.strerror}")
            return None

    def text(self, path: str) -> str:
        """The text of a file that was read, or of another one of the project; empty where it cannot be read."""
        if path not in self._texts:
            try:
                data = self._data(path)
            except OSError:
                data = b""
            self._texts[path] = ""
            with self.internal.guard(path, "decoding it"):
                self._texts[path] = decode(path, data[:LARGEST]).text
        return self._texts[path]

    def files(self) -> Sequence[str]:
        """All files of the project, as context: paths relative to the root."""
        if self._files is None:
            found = islice(discovery.files_below(self.root, self.base), MOST_CONTEXT)
            self._files = [p for p in found if not self.exclude or not discovery.excluded(p, self.exclude)]
        return self._files

    def mentioned_unread(self, name: str) -> bool:
        """Whether a file mentions a name and could not be read: it may be what the name is for."""
        return any(name.encode() in (self._small(path) or b"") for path in self.internal.unread())

    def target(self, path: str) -> Target:
        """What a file is judged against: what the user said, else what it and its project plainly say."""
        given = self.targets.last(path) or self.fixed_target
        if given is not None:
            return given
        if path not in self._targets:
            folder = path.rpartition("/")[0]
            if folder not in self._hints:
                self._hints[folder] = [(p, self.text(p)) for p in self._hints_around(folder)]
            around = [[(p, self.text(p)) for p in group] for group in self._linked().around(path)]
            self._targets[path] = self._inferred([(path, self.text(path))], self._hints[folder], around)
        return self._targets[path]

    def _inferred(self, own: Texts, hints: Texts, around: list[Texts]) -> Target:
        """What these files (paths with texts) say; one that upsets us says nothing, and the others still do."""
        with self.internal.guard(own[0][0], "looking for what it runs on"):
            return infer(own, hints, around)
        return infer(self._telling(own), self._telling(hints), [self._telling(group) for group in around])

    def _telling(self, files: Texts) -> Texts:
        """The files, without the text of those whose hints cannot be looked for."""
        found = []
        for path, text in files:
            told = (path, "")
            with self.internal.guard(path, "looking for hints at a machine"):
                hints_in(path, text)
                told = (path, text)
            found.append(told)
        return found

    def _linked(self) -> Links:
        """Which scripts name which files."""
        if self._links is None:
            files = [p for p in self.files() if not is_test(p)]
            self._links = Links(files, self._small, kind_of)
        return self._links

    def _hints_around(self, folder: str) -> list[str]:
        """Files that can speak for a project: in a folder, in those above it, and in those directly below each.

        What makes a file one of tests or of documentation is judged by the way to it from there, so that a benchmark
        has the image that lies beside it.
        """
        found: dict[str, None] = {}
        for above in _upwards(folder):
            start = len(above) + 1 if above else 0
            ways = {path[start:]: path for path in self._below(above)}
            found.update(dict.fromkeys(ways[way] for way in hint_files(ways)))
        return list(found)

    def _below(self, folder: str) -> list[str]:
        """The files in a folder and in those directly below it, and further down those of images."""
        if self._folders is None:
            self._folders = {}
            for path in self.files():
                for key in folders_near(path.rpartition("/")[0]):
                    self._folders.setdefault(key, []).append(path)
        return self._folders.get(folder, [])

    def private(self, names: Iterable[str]) -> set[str]:
        """Those of `names` that the project's own code reads and does something with."""
        wanted = set(names)
        found: set[str] = set()
        if not wanted:
            return found
        tokens = [name.encode() for name in wanted]
        for path in self.files():
            if wanted <= found:
                break
            if not is_test(path) and (look := self._looker(path)):
                with self.internal.guard(path, USES):
                    found |= wanted & look(path, tokens)
        return found

    def _looker(self, path: str) -> Callable[[str, Sequence[bytes]], set[str]] | None:
        """How to find the names that a file reads: by its facts, or by the shape of code that no reader reads."""
        pure = PurePosixPath(path)
        if path in self.facts or kind_of(path) is not None or "." not in pure.name:
            return self._read_by_facts
        if pure.suffix.lower() in CODE_SUFFIXES or pure.name in CODE_NAMES:
            return self._read_in_code
        return None

    def _read_by_facts(self, path: str, tokens: Sequence[bytes]) -> set[str]:
        facts = self.facts.get(path)
        if facts is None:
            facts = self._context_facts(path, tokens)
        found = set(_names_used(facts)) if facts is not None else set()
        return found | self._resolved(path, tokens) if path.endswith(CONFIGURATIONS) else found

    def _resolved(self, path: str, tokens: Sequence[bytes]) -> set[str]:
        """Names that a configuration file takes from the environment: `${oc.env:NAME,default}`."""
        text = self.text(path)
        if "env:" not in text or not any(token.decode() in text for token in tokens):
            return set()
        return set(RESOLVER.findall(text))

    def _context_facts(self, path: str, tokens: Sequence[bytes]) -> FileFacts | None:
        """Facts of a file that is context only; it is read if it holds one of the names."""
        try:
            data = self._data(path)
        except OSError:
            return None
        if len(data) > LARGEST or not any(token in data for token in tokens):
            return None
        return self.read(path)

    def _read_in_code(self, path: str, tokens: Sequence[bytes]) -> set[str]:
        try:
            data = self._data(path)
        except OSError:
            return set()
        if len(data) > LARGEST or not any(token in data for token in tokens):
            return set()
        names = set()
        for line in decode(path, data).text.splitlines():
            if not WRITTEN_IN_CODE.search(line):
                names |= {m["a"] or m["b"] for m in READ_IN_CODE.finditer(line)}
        return names


def _upwards(folder: str) -> Iterator[str]:
    """A folder and those above it, up to the root."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _names_used(facts: FileFacts) -> Iterator[str]:
    """Names that a file reads: its uses, and references in the value of another variable."""
    for use in facts.uses:
        yield use.name
    for setting in facts.settings:
        for reference in setting.value.references:
            if reference != setting.name:
                yield reference
