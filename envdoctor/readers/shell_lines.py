"""Lines of `NAME=VALUE`: env files, conf files of libraries, and what is appended to a CI's environment file.

Sources: docker/cli pkg/kvfile (value taken as it is, `#` only at the start of a line), NCCL user guide on nccl.conf
(same form), DeepSpeed runner (`.deepspeed_env`), dotenv (quotes removed). A `$NAME` in a value is kept as a reference:
some of the readers of such files expand it, and an unquoted here-document already did.
"""

from __future__ import annotations

import re

from envdoctor.facts import Channel, Exported, FileFacts, Op, Setting, Value
from envdoctor.readers.shell_words import read_word, value_of
from envdoctor.source import Source

_LINE = re.compile(r"^[ \t]*(export[ \t]+)?([A-Za-z_][\w.]*)[ \t]*(\+?=)[ \t]*([^\r\n]*?)[ \t]*$", re.MULTILINE)
_CHANNELS: dict[str, Channel] = {"conf-file": "conf-file", "ci-env": "ci"}
_INLINE_COMMENT = re.compile(r"\s+#.*$")


def read(source: Source, kind: str) -> FileFacts:
    """Settings of an env file or conf file, one a line; lines of another form are passed over.

    kind "env-file": read by something unknown; "launcher-env-file": by a launcher or at login, so that every line
    reaches a process; "conf-file": by the library itself; "ci-env": by the CI for the steps that follow.
    """
    facts = FileFacts(source.path, kind)
    for match in _LINE.finditer(source.text):
        if match[2].isidentifier():
            facts.settings.append(_setting(source, match, kind, len(facts.settings)))
    return facts


def _setting(source: Source, match: re.Match[str], kind: str, order: int) -> Setting:
    start, end = _value_span(match, kind)
    exported: Exported = "unknown" if kind == "env-file" else "yes"
    op: Op = "append" if match[3] == "+=" else "set"
    return Setting(
        op,
        match[2],
        _value(source.text[start:end]),
        source.place(match.start(2), max(end, match.end(3))),
        _CHANNELS.get(kind, "env-file"),
        order,
        exported,
        comment=_comment(source, match, end),
        name_place=source.place(*match.span(2)),
        value_place=source.place(start, end),
    )


def _value_span(match: re.Match[str], kind: str) -> tuple[int, int]:
    """The value without quotes around the whole of it and, in env files, without a comment behind it."""
    start, end = match.span(4)
    text = match[4]
    quote = text[:1]
    if quote in ("'", '"') and quote and (close := text.find(quote, 1)) != -1:
        return start + 1, start + close
    if kind == "env-file" and (comment := _INLINE_COMMENT.search(text)):
        end = start + comment.start()
    return start, end


def _value(text: str) -> Value:
    if "$" not in text and "`" not in text:
        return Value("literal", text)
    return value_of(read_word(Source("", text.replace('"', " ").replace("'", " ").replace("\\", " ")), 0, len(text)))


def _comment(source: Source, match: re.Match[str], end: int) -> str:
    """The comment behind the value, or the line of comment right above."""
    behind = source.text[end : match.end()].lstrip("\"' \t")
    if behind.startswith("#"):
        return behind.lstrip("#").strip()
    line_start = source.text.rfind("\n", 0, match.start(2)) + 1
    above = source.text[source.text.rfind("\n", 0, max(0, line_start - 1)) + 1 : max(0, line_start - 1)].strip()
    return above.lstrip("#").strip() if above.startswith("#") else ""
