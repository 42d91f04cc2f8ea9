"""The facts of a project's files: each is read when it is asked for, and once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from envdoctor.cache import facts as facts_cache
from envdoctor.core.decoding import LARGEST_NOTEBOOK, decode, is_binary, line_of, refused
from envdoctor.core.facts import FileFacts, Problem
from envdoctor.core.internal_errors import READING
from envdoctor.core.operations import Script
from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.project.files import Files
from envdoctor.readers import registry
from envdoctor.readers.docker_env_files import read_by_docker
from envdoctor.readers.kinds import PYTHON, kind_of
from envdoctor.readers.shared.embedded import ShellText

HEAD = 256
"""Bytes that tell the kind of a file whose name does not."""
RUNS = regex(rb"^(?:if __name__|for |while |with |[A-Za-z_][\w.]*(?:\(| *= *\w[\w.]*\())", re.MULTILINE)
"""A line that does something when the file is run, not indented: the file may be the entry of a program."""


class Triggers(NamedTuple):
    """Tokens of which a file holds at least one if any rule asks about it.

    `names` are those of settings and calls; `entries` are worth it only in a file that starts a program.
    """

    names: tuple[bytes, ...] = ()
    entries: tuple[bytes, ...] = ()


NO_TRIGGERS = Triggers()


@dataclass(slots=True)
class FactStore:
    """Facts by path. `docs`: documents are read too, for the code blocks in them."""

    files: Files
    triggers: Triggers = NO_TRIGGERS
    docs: bool = False
    found: dict[str, FileFacts] = field(default_factory=dict)
    """The facts of the files that a rule may ask about."""
    _context: dict[str, FileFacts | None] = field(default_factory=dict)
    _scripts: dict[str, Sequence[Script]] = field(default_factory=dict)
    _docker_env: frozenset[str] | None = None
    _met: dict[str, list[ShellText]] = field(default_factory=dict)
    """Text for shells that readers met, before anybody asked for it as scripts."""

    def edited(self, files: Files) -> FactStore:
        """The same for files as they would be after fixes; what was read of the others is kept."""
        found = {path: facts for path, facts in self.found.items() if path not in files.overlay}
        scripts = {path: known for path, known in self._scripts.items() if path not in files.overlay}
        met = {path: texts for path, texts in self._met.items() if path not in files.overlay}
        return replace(self, files=files, found=found, _context={}, _scripts=scripts, _met=met)

    def read(self, path: str) -> FileFacts | None:
        """Facts of one file; None where it is not ours to read or holds nothing that any rule asks about."""
        if path in self.found:
            return self.found[path]
        data = self.files.reported(path)
        facts = self._guarded(path, data, self.triggers) if data is not None else None
        if facts is not None:
            self.found[path] = facts
        return facts

    def whole(self, path: str) -> FileFacts | None:
        """Facts of a file that others use, whatever it holds; None where it is not there or not ours to read."""
        if path in self.found:
            return self.found[path]
        if path not in self._context:
            try:
                data = self.files.data(path, LARGEST_NOTEBOOK + 1)
            except OSError:
                data = None
            self._context[path] = self._guarded(path, data, Triggers((b"",))) if data is not None else None
        return self._context[path]

    def scripts(self, path: str) -> Sequence[Script]:
        """The shell scripts in a file, as bodies of operations; none where it is not there or not ours to read."""
        if path not in self._scripts:
            self._scripts[path] = ()
            try:
                data = self.files.data(path, LARGEST_NOTEBOOK + 1)
            except OSError:
                return ()
            with self.files.internal.guard(path, READING):
                self._scripts[path] = self._scripts_in(path, data)
        return self._scripts[path]

    def _scripts_in(self, path: str, data: bytes) -> Sequence[Script]:
        from envdoctor.readers.scripts import made_of, scripts_of

        kind = kind_of(path, data[:HEAD], self.docs)
        if kind is None or refused(kind, data):
            return ()
        met = self._met.pop(path, None)

        def make(source: Source, kind: str) -> Sequence[Script]:
            return made_of(met, kind) if met is not None else scripts_of(source, kind)

        return tuple(facts_cache.scripts(Source(path, decode(path, data).text), kind, make))

    def _read_noting(self, source: Source, kind: str) -> FileFacts:
        """Facts of a file; the scripts that its reader meets are kept until somebody asks for them."""
        if kind in PYTHON or kind == "shell":
            return registry.read(source, kind)
        from envdoctor.readers.scripts import noting

        facts = noting(source, kind)
        self._met[source.path] = facts.scripts
        facts.scripts = []
        return facts

    def _guarded(self, path: str, data: bytes, triggers: Triggers) -> FileFacts | None:
        """Facts of a file; where our reader fails, none of an unknown kind, so that nobody tries again."""
        with self.files.internal.guard(path, READING):
            return self._facts_of(path, data, triggers)
        return FileFacts(path, "unknown")

    def _facts_of(self, path: str, data: bytes, triggers: Triggers) -> FileFacts | None:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")) and not is_binary(data):
            data = decode(path, data).text.encode("utf-8", "replace")  # triggers are looked for in bytes
        kind = kind_of(path, data[:HEAD], self.docs)
        if kind is None or not (any(map(data.__contains__, triggers.names)) or _may_enter(kind, data, triggers)):
            return None
        if reason := refused(kind, data):
            return FileFacts(path, kind, problems=[Problem(reason, line_of(path, 1))])
        decoded = decode(path, data)
        kind = "docker-env-file" if kind == "env-file" and path in self._docker_env_files() else kind
        facts = facts_cache.read(Source(path, decoded.text), kind, self._read_noting)
        facts.problems[:0] = decoded.problems
        self.files.decoded(path, decoded.text)
        return facts

    def _docker_env_files(self) -> frozenset[str]:
        """Env files that docker reads, by its own rules."""
        if self._docker_env is None:
            self._docker_env = frozenset()
            with self.files.internal.guard(self.files.name, "looking for the env files of docker in it"):
                self._docker_env = read_by_docker(self.files.paths(), self.files.small, kind_of)
        return self._docker_env


def _may_enter(kind: str, data: bytes, triggers: Triggers) -> bool:
    """Whether a file may be the entry of a program that some rule follows."""
    if kind not in PYTHON or not any(map(data.__contains__, triggers.entries)):
        return False
    return kind == "notebook" or RUNS.search(data) is not None
