"""Follows wrappers and launchers from the outside in: `timeout 5 srun --export=ALL,A=1 bash -c '...'`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.core.facts import Place, Scope
from envdoctor.core.regexes import regex
from envdoctor.readers.shell import arguments as shell_arguments
from envdoctor.readers.shell import assignments as shell_assignments
from envdoctor.readers.shell.launchers import LIKE, SHELLS, Launcher, by_program, module_launchers
from envdoctor.readers.shell.scripts import embed_script, narrowed
from envdoctor.readers.shell.state import ShellContext, ShellState, span_place
from envdoctor.readers.shell.syntax.words import Word, joined

MOST_LAYERS = 16
_PYTHON = regex(r"(?:python|pypy)[\d.]*\Z")
_PYTHON_VARIABLE = regex(r"\$\{?PYTHON")
_SCRIPT = regex(r".*\.(?:sh|bash|sbatch|slurm|sub|zsh|ksh)\Z", re.DOTALL)
_SHELL_TEXT = regex(r"[\"'\\;|&<>\n(]")
_SUBSTITUTED = regex(r"\$\(\([^()]*\)\)|\$\([^()\"'|;&]*\)")
_VALUED_BEFORE = ("-f", "--file", "-p", "--project-name", "-n", "--namespace", "--context", "-H", "--host", "-L", "-S")
"""Options before a subcommand that take a value: `docker compose -f FILE run`, `kubectl -n NAME exec`."""
_QUESTIONS = ("--help", "--version", "-V")
"""`srun --help` starts nothing."""
RUNNERS = frozenset((
    "cProfile", "profile", "pdb", "ipdb", "pudb", "trace", "coverage", "debugpy", "viztracer", "memray", "scalene",
    "kernprof", "line_profiler", "torch.utils.bottleneck", "faulthandler",
))  # fmt: skip
"""Modules that run another program: `python -m cProfile -o out train.py`."""
_PYTHON_VALUED = ("-X", "-W", "--check-hash-based-pycs")


def run(state: ShellState, words: list[Word], context: ShellContext) -> None:
    """State the launches, settings and inclusions of a command given as words."""
    pending = [(words, context)]
    layers = 0
    while pending and layers < MOST_LAYERS:
        layers += 1
        words, context = pending.pop()
        if words:
            pending += reversed(list(_layer(state, words, context)))


def _layer(state: ShellState, words: list[Word], context: ShellContext) -> Sequence[tuple[list[Word], ShellContext]]:
    """One layer of a command; the commands inside it are given back."""
    first = words[0]
    if name := first.variable():
        return _variable(state, name, words, context)
    program = first.text.rsplit("/", 1)[-1]
    if program == "command" and texts(words[1:2]) in (["-v"], ["-V"]):
        return ()  # asks where a program is
    if re.search(r"\s", first.text):
        return _quoted_command(state, words, context)
    if program in SHELLS:
        return _shell(state, program, words, context)
    if _PYTHON.match(program):
        return _python(state, words, context)
    if row := row_of(program, words):
        known = program if program in by_program() else likeness(program)
        return _launcher(state, row[0], row[1], known, words, context)
    return _script(state, words, context)


def _assigned(state: ShellState, words: list[Word], context: ShellContext) -> Sequence[tuple[list[Word], ShellContext]]:
    """`A=1 cmd` that came out of a variable, as `eval` reads it."""
    count = next((index for index, word in enumerate(words) if not word.assignment()), len(words))
    rest = words[count:]
    program = rest[0].text.rsplit("/", 1)[-1] if rest else ""
    manner = shell_assignments.Manner("", "yes" if rest else "no", own=True)
    for word in words[:count]:
        for given in shell_assignments.assignments_in(state, word):
            if given.value is not None:
                inner = context.scoped(Scope("command", program)) if rest else context
                shell_assignments.give(state, "set", given.name, given.value, inner, manner)
    return ((rest, context),) if rest else ()


def row_of(program: str, words: Sequence[Word]) -> tuple[Launcher, int] | None:
    """The row of a program and how many words its name takes: `docker container run` is three."""
    for row in by_program().get(program, ()) or by_program().get(likeness(program), ()):
        if not row.subcommands:
            return row, 1
        for subcommand in row.subcommand_words():
            if end := _subcommand_end(words, subcommand):
                return row, end
    return None


def likeness(name: str) -> str:
    """The program a variable or function is named after, or an empty string."""
    lower = name.lower()
    if not re.fullmatch(r"\$?\{?[a-z][a-z0-9_-]*\}?", lower):
        return ""
    return next((program for part, program in LIKE.items() if part in lower), "")


def _subcommand_end(words: Sequence[Word], subcommand: list[str]) -> int:
    """Where the words of a subcommand end, after options and groups like `container` and `compose`; 0: not there."""
    index = 0
    for at in range(1, min(len(words), 12)):
        text = words[at].text
        if text == subcommand[index]:
            index += 1
            if index == len(subcommand):
                return at + 1
        elif index or not _may_stand_before(words, at):
            return 0
    return 0


def _may_stand_before(words: Sequence[Word], at: int) -> bool:
    text = words[at].text
    if text.startswith("-") or text in ("container", "compose", "jobs"):
        return True
    return words[at - 1].text in _VALUED_BEFORE


def _variable(
    state: ShellState, name: str, words: list[Word], context: ShellContext
) -> Sequence[tuple[list[Word], ShellContext]]:
    """`$CMD args`: what the variable may hold, or a launch that nobody can tell."""
    alternatives = [a for a in state.alternatives(name) if a] or _fallback(words[0])
    if not alternatives:
        if _PYTHON_VARIABLE.match(words[0].text):
            return _python(state, words, context)
        if row := row_of(words[0].text, words):
            return _launcher(state, row[0], row[1], likeness(name), words, context)
        if name == "@" or name.isupper():
            state.launch(words[0].text, texts(words), _span(words), context, texts(words[1:]))
        return ()
    result: list[tuple[list[Word], ShellContext]] = []
    for alternative in alternatives:
        inner = narrowed(context, alternative[0].branch)
        if len(alternative) == 1 and _SHELL_TEXT.search(_SUBSTITUTED.sub("", alternative[0].text)):
            state.embed(alternative[0].as_source(), "shell", inner.scope, inner.branch)
        else:
            pieces = [piece.seen_at(words[0]) for word in alternative for piece in word.split()]
            whole = pieces + words[1:]
            result += _assigned(state, whole, inner) if whole and whole[0].assignment() else [(whole, inner)]
    return result


def _fallback(word: Word) -> list[list[Word]]:
    """What `${CMD:-torchrun}` is where nothing else is known."""
    operand = word.expansions[0].operand
    if word.expansions[0].kind != "default" or not operand or re.search(r"[$`\"'\\]", operand):
        return []
    return [[word.part(len(word.text) - 1 - len(operand), len(word.text) - 1)]]


def _quoted_command(
    state: ShellState, words: list[Word], context: ShellContext
) -> Sequence[tuple[list[Word], ShellContext]]:
    """`parallel 'A=1 cmd {}' ::: x`: the first word is text for a shell."""
    scope = Scope("subshell", state.scope_name("command", words[0].start))
    state.embed_word(words[0], "shell", scope, context.branch)
    return ()


def _shell(
    state: ShellState, program: str, words: list[Word], context: ShellContext
) -> Sequence[tuple[list[Word], ShellContext]]:
    """`bash -c 'text'` is read on; `bash x.sh` is a launch and a file that runs."""
    at = 1
    while at < len(words) and words[at].text[:1] in ("-", "+") and len(words[at].text) > 1:
        text = words[at].text
        at += 1
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", text):
            if at < len(words):
                embed_script(state, words[at], context, program)
            return ()
        if text in ("-o", "+o", "-O", "--rcfile", "--init-file"):
            at += 1
    if at < len(words) and not words[at].text.startswith("<"):
        state.launch(program, texts(words), _span(words), context, texts(words[at:]))
        state.inclusion("run", words[at], context)
    return ()


def _python(state: ShellState, words: list[Word], context: ShellContext) -> Sequence[tuple[list[Word], ShellContext]]:
    """`python x.py`, `python -m module`, `python -c 'text'`."""
    at = 1
    while at < len(words) and words[at].text.startswith("-") and len(words[at].text) > 1:
        text = words[at].text
        if text == "-m":
            return _python_module(state, words, at, context)
        if text == "-c":
            if at + 1 < len(words):
                scope = Scope("subshell", state.scope_name("python", words[0].start))
                state.embed(words[at + 1].as_source(), "python", scope, context.branch)
            return ()
        at += 2 if text in _PYTHON_VALUED else 1
    if at < len(words) and words[at].text not in ("-", "--version"):
        state.launch("python", texts(words), _span(words), context, texts(words[at:]))
    return ()


def _python_module(
    state: ShellState, words: list[Word], at: int, context: ShellContext
) -> Sequence[tuple[list[Word], ShellContext]]:
    module = words[at + 1].text if at + 1 < len(words) else ""
    launcher = module_launchers().get(module)
    if launcher is None and module in RUNNERS:
        script = next((i for i in range(at + 2, len(words)) if words[i].text.endswith(".py")), 0)
        if script:
            state.launch("python", texts(words), _span(words), context, texts(words[script:]))
            return ()
    if launcher is None:
        if module and module not in ("pip", "venv", "json.tool", "http.server"):
            state.launch("python", texts(words), _span(words), context, texts(words[at:]))
        return ()
    row = by_program()[launcher.split()[0]][0]
    return _launcher(state, row, at + 2, launcher, words, context)


def _launcher(
    state: ShellState, row: Launcher, start: int, program: str, words: list[Word], context: ShellContext
) -> Sequence[tuple[list[Word], ShellContext]]:
    """A launcher of the table: its settings, itself, and what it runs."""
    name = name_of(row, start, program, words)
    expanded = words[:start] + [w for word in words[start:] for w in state.expanded(word)]
    segments = shell_arguments.segments(row, expanded, start)
    inner_context = context
    if row.container or row.inner == "shell" or program == "ray":
        inner_context = context.scoped(Scope("container", state.scope_name(name, words[0].start)))
    inside = [word for segment in segments for word in segment.inner]
    if not inside and row.ranks and any(word.text in _QUESTIONS for word in expanded[start:]):
        return ()
    for segment in segments:
        commanded = segment.inner[0].text.rsplit("/", 1)[-1] if segment.inner and not row.launch else name
        given_to = context.scoped(Scope("command", commanded))
        shell_arguments.state_arguments(state, name, segment.arguments, given_to, context)
    if row.launch or any(word.text in ("-i", "-", "--ignore-environment") for word in expanded[1:2]):
        state.launch(name, texts(expanded), _span(words), context, texts(inside))
    result: list[tuple[list[Word], ShellContext]] = []
    for segment in segments:
        result += _inner(state, row, segment.inner, inner_context, name)
    return result


def name_of(row: Launcher, start: int, program: str, words: Sequence[Word]) -> str:
    """A command as facts name it: the program and the subcommand that its row was found by."""
    if program in module_launchers().values():
        return program
    return " ".join([program, *_subcommand_name(row, words, start)])


def carried(row: Launcher, words: Sequence[Word], start: int) -> list[Word]:
    """The command a launcher runs; its words without stating anything."""
    return shell_arguments.segments(row, words, start)[0].inner


def _subcommand_name(row: Launcher, words: Sequence[Word], start: int) -> list[str]:
    """The words of the subcommand a row was found by."""
    for subcommand in row.subcommand_words():
        if [word.text for word in words[start - len(subcommand) : start]] == subcommand:
            return subcommand
    return []


def _inner(
    state: ShellState, row: Launcher, inner: list[Word], context: ShellContext, name: str
) -> Sequence[tuple[list[Word], ShellContext]]:
    """What a launcher runs, by the form it is given in."""
    if not inner or row.inner == "none":
        return ()
    if row.inner in ("words", "dashes"):
        return ((inner, context),)
    if row.inner == "script":
        state.inclusion("run", inner[0], context)
    elif row.inner == "python":
        if inner[0].text in ("--no_python", "--no-python") and len(inner) > 1:
            return ((inner[1:], context),)
    elif len(inner) == 1 or all(word.source is inner[0].source for word in inner):
        whole = inner[0] if len(inner) == 1 else joined(inner)
        embed_script(state, whole, context, name)
    return ()


def _script(state: ShellState, words: list[Word], context: ShellContext) -> Sequence[tuple[list[Word], ShellContext]]:
    """`./x.sh`, `./x.py`: files that run."""
    text = words[0].text
    if _SCRIPT.match(text):
        state.launch("bash", texts(words), _span(words), context, texts(words))
        state.inclusion("run", words[0], context)
    elif text.endswith(".py"):
        state.launch("python", texts(words), _span(words), context, texts(words))
    return ()


def texts(words: Sequence[Word]) -> list[str]:
    """Words as the process sees them, or as they are written where that is not known."""
    return [word.text for word in words]


def _span(words: Sequence[Word]) -> Place:
    """From the first word to the last, where they are used."""
    first, last = words[0].used or words[0], words[-1].used or words[-1]
    return span_place(first, last)
