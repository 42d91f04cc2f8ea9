"""Files of `NAME=VALUE` lines for another program: `.env`, `docker run --env-file`, `.deepspeed_env`, CI environments.

Each reader of such files has its own rules. Sources: docker/cli pkg/kvfile (the value as it stands, quotes and `#`
included; a blank in the name is an error), python-dotenv and compose (quotes removed, a comment behind a blank,
several lines in quotes), DeepSpeed launcher/runner.py (split at the first `=`, a line without one stops the launcher).
"""

from __future__ import annotations

import re

from envdoctor.core.facts import Channel, Exported, FileFacts, Op, Setting, Value
from envdoctor.core.records import dataclass, replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector, comment_at
from envdoctor.readers.shared.embedded import is_embedded
from envdoctor.readers.shared.quoted_text import unescaped
from envdoctor.readers.shared.substitution import parts_of, value_of

LONGEST = 10_000
"""Characters that a value in quotes may have where it goes on over lines."""

_LINE = regex(r"(?m)^[ \t]*(export[ \t]+)?([A-Za-z_]\w*)([ \t]*)(\+?=)(?P<value>[^\n]*)")
_BARE = regex(r"(?m)^[ \t]*([A-Z_][A-Z0-9_]*)[ \t]*$")
_INLINE_COMMENT = regex(r"(?:^|[ \t]+)#.*$")
_LINE_END = regex(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_SCRIPT = regex(
    r"(?m)^[ \t]*(?:if|elif|then|else|fi|for|while|do|done|case|esac|source|\.|function|unset|set|echo|return)"
    r"(?:[ \t;]|$)|^\w+[ \t]*\(\)"
)
_NO_SIGN = regex(r"(?m)^(?![^\n]*=).*$")


@dataclass(frozen=True, slots=True)
class Rules:
    """How one program reads such a file.

    quotes: they are removed around a value; comments: `#` behind a blank ends a value; references: `$NAME` is
    replaced; names: a bare name is forwarded from the caller; lenient: blanks around `=` and `export` are allowed.
    """

    exported: Exported = "yes"
    channel: Channel = "env-file"
    via: str = ""
    quotes: bool = True
    comments: bool = False
    references: bool = True
    names: bool = False
    lenient: bool = True


RULES = {
    "env-file": Rules(exported="unknown", comments=True, names=True),
    "docker-env-file": Rules(via="docker run", quotes=False, references=False, names=True, lenient=False),
    "deepspeed-env": Rules(via="deepspeed"),
    "launcher-env-file": Rules(),
    "ci-env": Rules(channel="ci"),
}


def read(source: Source, kind: str) -> FileFacts:
    """Settings of a file of variables, one a line; lines of another form are passed over.

    kind "env-file": read by something unknown; "docker-env-file": `docker run --env-file`; "deepspeed-env":
    `.deepspeed_env`; "launcher-env-file": read by a launcher or at login, so that every line reaches a process;
    "ci-env": read by the CI for the steps that follow.
    """
    if kind == "env-file" and _SCRIPT.search(source.text):
        return _script(source, kind)
    out = Collector(source, kind)
    rules = RULES[kind]
    if is_embedded(source):
        rules = replace(rules, references=True)
    at = 0
    while (match := _LINE.search(source.text, at)) and not out.full:
        _bare_names(out, rules, at, match.start())
        at = max(_line(out, rules, match), match.end())
    _bare_names(out, rules, at, len(source.text))
    if kind == "deepspeed-env":
        _unreadable(out)
    if out.full:
        out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return out.facts


def _script(source: Source, kind: str) -> FileFacts:
    """A file with commands in it is sourced by a shell; whether after `set -a` is not known."""
    from envdoctor.readers.shell import reader as shell

    facts = shell.read(source, "shell")
    facts.kind = kind
    facts.settings = [replace(s, exported="unknown") if s.exported == "no" else s for s in facts.settings]
    return facts


def _line(out: Collector, rules: Rules, match: re.Match[str]) -> int:
    """State one setting; returns the offset behind its value."""
    if not rules.lenient and (match[1] or match[3]):
        blank = "export" if match[1] else "a blank"
        out.problem(f"{rules.via} refuses this file: {blank} before or behind the name", match.start(2), match.end())
        return match.end()
    source = out.source
    start, end, behind, quote = _value_span(source.text, match, rules)
    exported: Exported = "yes" if match[1] and rules.exported == "unknown" else rules.exported
    op: Op = "append" if match[4] == "+=" else "set"
    out.add(
        Setting(
            op, match[2], _value(source.text[start:end], quote, rules), source.place(match.start(2), max(end, start)),
            rules.channel, 0, exported, via=rules.via, comment=comment_at(source, match.start(), behind),
            name_place=source.place(*match.span(2)), value_place=source.place(start, end),
        )
    )  # fmt: skip
    return behind


def _value_span(text: str, match: re.Match[str], rules: Rules) -> tuple[int, int, int, str]:
    """Start and end of a value without its quotes, the offset behind the whole of it, and the quote."""
    start, end = match.span("value")
    if not rules.quotes:
        return start, end, end, ""
    start += len(match["value"]) - len(match["value"].lstrip(" \t"))
    quote = text[start : start + 1]
    if quote in ("'", '"') and quote and (close := _closing(text, quote, start + 1)) != -1:
        return start + 1, close, close + 1, quote
    value = text[start:end]
    if rules.comments:
        value = _INLINE_COMMENT.sub("", value)
    end = start + len(value.rstrip())
    return start, end, end, ""


def _closing(text: str, quote: str, start: int) -> int:
    """The offset of the quote that closes a value, on a further line only as the last of it; -1: there is none."""
    at = start
    while (close := text.find(quote, at, start + LONGEST)) != -1:
        if quote == "'" or text[close - 1] != "\\":
            return close if "\n" not in text[start:close] or _LINE_END.match(text, close + 1) else -1
        at = close + 1
    return -1


def _value(text: str, quote: str, rules: Rules) -> Value:
    if quote == '"':
        text = unescaped(text)
    if quote == "'" or not rules.references:
        return Value("literal", text)
    if "$(" in text or "`" in text:
        return Value("unknown", text)
    return value_of(parts_of(text, False), text)


def _bare_names(out: Collector, rules: Rules, start: int, end: int) -> None:
    """Names without a value, which are taken from the caller's environment."""
    if not rules.names:
        return
    for match in _BARE.finditer(out.source.text, start, end):
        if not out.full:
            place = out.source.place(*match.span(1))
            comment = comment_at(out.source, match.start())
            out.add(
                Setting("pass", match[1], Value("unknown"), place, rules.channel, 0, rules.exported, via=rules.via,
                        comment=comment, name_place=place)
            )  # fmt: skip


def _unreadable(out: Collector) -> None:
    """The launcher splits every line at `=`; one without stops it. Said once (measured with DeepSpeed 0.19.6)."""
    text = out.source.text.removesuffix("\n")
    match = _NO_SIGN.search(text) if text else None
    if match:
        out.problem("a line without '=': the DeepSpeed launcher stops here with ValueError", *match.span())
