"""YAML that does not parse, line by line: the plainest shapes of environments and scripts."""

from __future__ import annotations

import re

from envdoctor.core.facts import Channel, Scope, Setting, Value
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.readers.docker.lines import physical_lines
from envdoctor.readers.shared.collector import Collector, comment_at
from envdoctor.readers.shared.substitution import parts_of, value_of
from envdoctor.readers.shared.template_mask import MaskedTemplate
from envdoctor.readers.yaml.keys import VARIABLE, names_environment, names_script

_KEY = regex(r"([ \t]*)((?:- +)*)([\"']?)([\w./-]+)\3[ \t]*:(?=[ \t\r]|$)[ \t]*")
_ASSIGNMENT = regex(r"[ \t]*-[ \t]+([\"']?)([A-Z_][A-Z0-9_]*)=")
_TRAILING = regex(r"[ \t]+#.*$|[ \t\r]+$")


@dataclass(slots=True)
class LineReader:
    """Keeps the keys around a line by their indentation, and the name of a pair whose value is still to come."""

    out: Collector
    masked: MaskedTemplate
    channel: Channel
    pipeline: bool
    stack: list[tuple[int, str]] = field(default_factory=list)
    pending: tuple[str, tuple[int, int]] | None = None
    script: tuple[int, list[tuple[int, int]]] | None = None

    def line(self, start: int, end: int) -> None:
        """One line of the file."""
        text = self.masked.text[start:end]
        if not text.strip() or self.in_script(text, start, end):
            return
        if match := _ASSIGNMENT.match(text):
            self.leave(len(text) - len(text.lstrip()) + 1)
            if self.in_environment():
                stop = start + len(_TRAILING.sub("", text)) - (1 if match[1] else 0)
                self.emit(match[2], (start + match.start(2), start + match.end(2)), (start + match.end(), stop))
        elif match := _KEY.match(text):
            self.key(match, start, end)

    def key(self, match: re.Match[str], start: int, end: int) -> None:
        """A line `key: value`, perhaps after the dash of a list."""
        indent = len(match[1]) + len(match[2])
        self.leave(indent)
        name, name_at = match[4], (start + match.start(4), start + match.end(4))
        value_at = self.value(start + match.end(), end)
        value = self.masked.text[value_at[0] : value_at[1]]
        if value[:1] in ("|", ">") and names_script(name):
            self.script = (len(match[1]), [])
        elif name in ("name", "key") and self.in_environment():
            self.pending = (value, value_at) if VARIABLE.fullmatch(value) else None
        elif name == "value" and self.pending:
            self.emit(self.pending[0], self.pending[1], value_at)
            self.pending = None
        elif value and VARIABLE.fullmatch(name) and self.in_environment():
            self.emit(name, name_at, value_at)
        if not value:
            self.stack.append((indent, name))

    def value(self, start: int, end: int) -> tuple[int, int]:
        """The span of a value, without quotes and comment."""
        text = self.masked.text[start:end]
        if text[:1] in ("'", '"') and (close := text.find(text[0], 1)) != -1:
            return start + 1, start + close
        return start, start + len(_TRAILING.sub("", text))

    def leave(self, indent: int) -> None:
        """Forget the keys that end before a line of this indentation (a list may stand at that of its key)."""
        while self.stack and self.stack[-1][0] >= indent:
            self.stack.pop()

    def in_environment(self) -> bool:
        """Whether the key around a line names an environment."""
        return any(names_environment(name) or (self.pipeline and name == "variables") for _, name in self.stack[-2:])

    def in_script(self, text: str, start: int, end: int) -> bool:
        """Collect the lines of a block scalar; read it where it ends."""
        if self.script is None:
            return False
        indent, lines = self.script
        if len(text) - len(text.lstrip()) > indent:
            lines.append((start, end))
            return True
        self.flush()
        return False

    def flush(self) -> None:
        """Read the script collected so far."""
        if self.script is None:
            return
        source, lines = self.out.source, self.script[1]
        self.script = None
        if lines:
            text = "\n".join(source.text[start:end] for start, end in lines)
            anchors = [source.point(start) for start, _ in lines]
            self.out.embed(source.replaced(text, anchors), "shell", Scope())

    def emit(self, name: str, name_at: tuple[int, int], value_at: tuple[int, int]) -> None:
        """State one setting."""
        if self.masked.touches(*name_at):
            return
        source = self.out.source
        text = source.text[value_at[0] : value_at[1]]
        known = not text.startswith(("[", "{", "*"))
        value = value_of(parts_of(text, False), text) if known else Value("unknown", text)
        self.out.add(
            Setting(
                "set", name, value, source.place(name_at[0], max(value_at[1], name_at[1])), self.channel, 0, "unknown",
                Scope(), self.masked.around(name_at[0]), "", comment_at(source, name_at[0], value_at[1], name_at[1]),
                source.place(*name_at), source.place(*value_at),
            )
        )  # fmt: skip


def read_lines(out: Collector, masked: MaskedTemplate, start: int, end: int) -> None:
    """Settings and scripts in `text[start:end]` that can be told without its structure."""
    pipeline = "gitlab" in out.source.path or "azure" in out.source.path
    manifest = "apiVersion:" in masked.text[start:end]
    channel: Channel = "kubernetes" if manifest else "ci" if pipeline else "configuration"
    reader = LineReader(out, masked, channel, pipeline)
    for first, last in physical_lines(masked.text, start, end):
        if out.full:
            break
        reader.line(first, last)
    reader.flush()
