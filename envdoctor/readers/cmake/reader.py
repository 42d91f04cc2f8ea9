"""CMake files: the flags that compilers are given and for which targets, and the variables that are read.

What a flag means is no matter of the reader. Each is a call named `:compiler.flag`: its first argument is the flag
where it is written, those with the keyword `module` are the libraries that are built with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.core.facts import Argument, Branch, Call, FileFacts, Problem, Use
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.cmake.scan import CMakeCommand, CMakeWord, commands

FLAG_CALL = ":compiler.flag"
MODULE_COMMANDS = {
    "pybind11_add_module", "nanobind_add_module", "python_add_library", "python3_add_library", "cuda_add_library",
    "hip_add_library", "add_library", "define_extension_target",
}  # fmt: skip
FLAG_VARIABLE = regex(r"FLAGS|OPTIONS|OPTS|ARGS", re.IGNORECASE)
FLAG = regex(r"(?<!\S)-{1,2}[A-Za-z][\w=,.+-]*")
"""A flag among others."""
IN_EXPRESSION = regex(r"(?<=[:;])-{1,2}[A-Za-z][\w=,.+-]*")
"""A flag inside a generator expression (`$<$<COMPILE_LANGUAGE:CUDA>:--ftz=true>`) or a list."""
REFERENCE = regex(r"\$(?:ENV|CACHE)?\{([A-Za-z_]\w*)\}")
OFFERED = regex(r"\b(?:option|set)\s*\(\s*([A-Za-z]\w{3,})\b", re.IGNORECASE)
NOT_BUILT = {"STATIC", "INTERFACE", "OBJECT", "ALIAS", "IMPORTED"}
"""Kinds of library that no program loads by itself."""
GROWING = {"APPEND", "PREPEND"}
MOST_FLAGS = 5000
DEEPEST = 30
"""Conditions that are kept of what stands under many."""


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one CMake file."""
    facts = FileFacts(source.path, kind)
    found, problem = commands(source.text)
    if problem:
        facts.problems.append(Problem(problem[0], source.place(problem[1], problem[1])))
    known = _values(found)
    modules = _modules(found, known)
    for command, branches in _conditions(source, found):
        for word, targets in _flag_words(command):
            named = [known.get(target, target) for target in targets]
            built = sorted({m for t in named for m in modules.get(t, (t,))}) if targets else _all(modules)
            _state(source, facts, word, built, branches)
    _uses(source, facts)
    return facts


def _all(modules: dict[str, tuple[str, ...]]) -> list[str]:
    return sorted({name for names in modules.values() for name in names})


def _state(
    source: Source, facts: FileFacts, word: CMakeWord, modules: Sequence[str], branches: tuple[Branch, ...]
) -> None:
    """State each flag in a word."""
    if "-" not in word.text or len(facts.calls) >= MOST_FLAGS:
        return
    spans = sorted({m.span() for pattern in (FLAG, IN_EXPRESSION) for m in pattern.finditer(word.text)})
    for start, end in spans:
        flag, place = word.text[start:end], source.place(word.start + start, word.start + end)
        given = [Argument(None, flag, flag, True, place), *(Argument("module", m, m, True) for m in modules)]
        facts.calls.append(Call(FLAG_CALL, "call", tuple(given), place, len(facts.calls), branch=branches))


def _flag_words(command: CMakeCommand) -> Iterator[tuple[CMakeWord, list[str]]]:
    """The words of a command that hold flags of compilers, each with the targets they are for; none: for all."""
    words, name = command.words, command.name
    texts = [word.text for word in words]
    if name in ("add_compile_options", "add_definitions", "cuda_compile", "cuda_include_directories"):
        yield from ((word, []) for word in words)
    elif name in ("target_compile_options", "target_compile_definitions") or name in MODULE_COMMANDS:
        yield from ((word, texts[:1]) for word in words[1:])
    elif name == "set" and texts and FLAG_VARIABLE.search(texts[0]):
        end = texts.index("CACHE") if "CACHE" in texts else len(words)
        yield from ((word, []) for word in words[1:end])
    elif name in ("list", "string") and len(texts) > 2 and texts[0] in GROWING and FLAG_VARIABLE.search(texts[1]):
        yield from ((word, []) for word in words[2:])
    elif name == "set_target_properties" and "PROPERTIES" in texts:
        at = texts.index("PROPERTIES")
        yield from ((words[i + 1], texts[:at]) for i in _properties(texts, at + 1))
    elif name == "set_property" and texts[:1] == ["TARGET"] and "PROPERTY" in texts:
        at = texts.index("PROPERTY")
        targets = [t for t in texts[1:at] if t not in ("APPEND", "APPEND_STRING")]
        if at + 1 < len(words) and FLAG_VARIABLE.search(texts[at + 1]):
            yield from ((word, targets) for word in words[at + 2 :])


def _properties(texts: Sequence[str], start: int) -> Iterator[int]:
    """Positions of the names of properties that hold flags, in `NAME VALUE NAME VALUE`."""
    return (i for i in range(start, len(texts) - 1, 2) if FLAG_VARIABLE.search(texts[i]))


def _values(found: Sequence[CMakeCommand]) -> dict[str, str]:
    """What `${NAME}` stands for, where a name is set once to one plain word."""
    values: dict[str, list[str]] = {}
    for command in found:
        texts = [word.text for word in command.words]
        if command.name == "set" and len(texts) >= 2:
            values.setdefault(texts[0], []).append(texts[1] if len(texts) == 2 else "")
        elif command.name == "project" and texts:
            values.setdefault("PROJECT_NAME", []).append(texts[0])
            values.setdefault("CMAKE_PROJECT_NAME", []).append(texts[0])
    return {f"${{{name}}}": given[0] for name, given in values.items() if len(given) == 1 and given[0]}


def _modules(found: Sequence[CMakeCommand], known: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Targets that a program can load, with the names of their files without prefix and suffix."""
    modules: dict[str, tuple[str, ...]] = {}
    for command in found:
        texts = [known.get(word.text, word.text) for word in command.words]
        if command.name in MODULE_COMMANDS and texts and not NOT_BUILT & set(texts[1:3]):
            modules[texts[0]] = (texts[0],)
        elif command.name == "set_target_properties" and "OUTPUT_NAME" in texts[:-1] and texts[0] in modules:
            modules[texts[0]] = (*modules[texts[0]], texts[texts.index("OUTPUT_NAME") + 1])
    return modules


def _conditions(source: Source, found: Sequence[CMakeCommand]) -> Iterator[tuple[CMakeCommand, tuple[Branch, ...]]]:
    """Each command with the conditions around it."""
    stack: list[Branch] = []
    arms: list[int] = []
    for command in found:
        condition = " ".join(word.text for word in command.words)
        if command.name == "if":
            line, column = source.point(command.start)
            stack.append(Branch(f"{line}:{column}", "if", condition))
            arms.append(0)
        elif command.name in ("elseif", "else") and stack:
            arms[-1] += 1
            last = stack.pop()
            arm = "else" if command.name == "else" else f"elif {arms[-1]}"
            stack.append(Branch(last.id, arm, condition or f"not ({last.condition})"))
        elif command.name == "endif" and stack:
            stack.pop()
            arms.pop()
        else:
            yield command, tuple(stack[:DEEPEST])


def _uses(source: Source, facts: FileFacts) -> None:
    """Variables that the file reads or offers: a name that a build knows is no unknown name. Each is stated once."""
    seen: set[str] = set()
    for pattern in (REFERENCE, OFFERED):
        for match in pattern.finditer(source.text):
            if match[1] not in seen and (match[1].isupper() or match[0].startswith("$ENV")):
                seen.add(match[1])
                facts.uses.append(Use(match[1], source.place(*match.span(1)), len(facts.uses)))
