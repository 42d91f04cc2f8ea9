"""Code blocks of Markdown and reStructuredText, each read as what its language says.

Blocks without a language are passed over: a guess would be no evidence. In a console block only the lines with a
prompt are commands.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.core.facts import FileFacts, Scope
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.collector import Collector

MOST_BLOCKS = 2000
LANGUAGES = {
    **dict.fromkeys(("bash", "sh", "shell", "zsh", "console", "shell-session", "terminal", "shellsession"), "shell"),
    **dict.fromkeys(("python", "py", "python3", "ipython"), "python"),
    **dict.fromkeys(("yaml", "yml"), "yaml"), **dict.fromkeys(("json", "jsonc", "json5"), "json"), "toml": "toml",
    **dict.fromkeys(("ini", "cfg", "systemd"), "ini"), **dict.fromkeys(("dockerfile", "docker"), "dockerfile"),
    **dict.fromkeys(("make", "makefile"), "make"), **dict.fromkeys(("csh", "tcsh"), "csh"), "fish": "fish",
    **dict.fromkeys(("hcl", "terraform", "tf"), "terraform"), **dict.fromkeys(("dotenv", "env"), "env-file"),
    "tcl": "modulefile", "lua": "lua-modulefile", "conf": "conf", "just": "justfile",
}  # fmt: skip
CONSOLES = {"console", "shell-session", "terminal", "shellsession"}

_FENCE = regex(r"([ \t>]*)(`{3,}|~{3,})[ \t]*\{?(?:code-block\}|code-cell\}|code\})?[ \t]*([\w+.-]*)([^\n`]*)$")
_DIRECTIVE = regex(r"([ \t]*)\.\. (?:code-block|code|sourcecode|prompt|highlight-code)::[ \t]*([\w-]+)[ \t]*$")
_OPTION = regex(r"[ \t]+:[\w-]+:")
_PROMPT = regex(r"(?:\([\w.-]+\)[ \t]*)?(?:[\w.@~:/\[\] -]*[$#%]|>)[ \t]+")


@dataclass(slots=True)
class CodeBlock:
    """A code block: its language, the line it starts on, and the spans of its lines without their indentation."""

    language: str
    line: int
    spans: list[tuple[int, int]]


def read(source: Source, kind: str) -> FileFacts:
    """Facts of the code blocks of one document."""
    out = Collector(source, kind)
    found = restructured(source.text) if source.path.lower().endswith(".rst") else fenced(source.text)
    for number, block in enumerate(found):
        inner = LANGUAGES.get(block.language)
        if number >= MOST_BLOCKS or out.full:
            out.problem(f"more than {MOST_BLOCKS} code blocks: the rest was left out", 0, 0)
            break
        if inner and block.spans:
            spans = commands(source.text, block.spans) if block.language in CONSOLES else block.spans
            text = "\n".join(source.text[start:end] for start, end in spans)
            anchors = [source.point(start) for start, _ in spans]
            before = len(out.facts.problems)
            out.embed(source.replaced(text, anchors), inner, Scope("subshell", f"code block at line {block.line}"))
            del out.facts.problems[before:]  # an excerpt need not be whole
    return out.facts


def fenced(text: str) -> Iterator[CodeBlock]:
    """Blocks between fences of Markdown; one that is not closed ends with the text."""
    block: CodeBlock | None = None
    opening = indent = ""
    for line, (start, end) in enumerate(_lines(text), 1):
        match = _FENCE.match(text, start, end)
        if block is None:
            if match:
                indent, opening = match[1], match[2]
                block = CodeBlock(match[3].lower(), line, [])
        elif match and match[2].startswith(opening) and not match[3] and not match[4].strip():
            yield block
            block = None
        else:
            block.spans.append((_dedented(text, start, end, len(indent)), end))
    if block is not None:
        yield block


def restructured(text: str) -> Iterator[CodeBlock]:
    """Blocks under the directives of reStructuredText: the lines that are indented more than the directive."""
    block: CodeBlock | None = None
    own = indent = 0
    for line, (start, end) in enumerate(_lines(text), 1):
        blank = len(text[start:end]) - len(text[start:end].lstrip())
        filled = blank < end - start
        if block is not None and filled and blank <= own:
            yield block
            block = None
        if block is None:
            if match := _DIRECTIVE.match(text, start, end):
                block, own, indent = CodeBlock(match[2].lower(), line, []), len(match[1]), 0
        elif filled and not block.spans and _OPTION.match(text, start, end):
            continue
        else:
            indent = indent or (blank if filled else 0)
            block.spans.append((_dedented(text, start, end, indent), end))
    if block is not None:
        yield block


def commands(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The lines of a console that a person typed, without their prompt; lines of output are empty."""
    found: list[tuple[int, int]] = []
    continued = False
    for start, end in spans:
        match = _PROMPT.match(text, start, end)
        if continued or match:
            start = match.end() if match else start
            continued = text[start:end].endswith("\\")
        else:
            start = end
        found.append((start, end))
    return found


def _dedented(text: str, start: int, end: int, indent: int) -> int:
    """Where a line starts without up to `indent` blanks."""
    blank = len(text[start:end]) - len(text[start:end].lstrip(" \t>"))
    return start + min(indent, blank)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end == -1 else end
        yield at, end
        at = end + 1
