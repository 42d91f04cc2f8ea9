"""Launchers: what they run, by the form in which it is given, and the ranks that come of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.analysis.process.interpreter import crossing, variables
from envdoctor.analysis.process.interpreter.beginning import program
from envdoctor.analysis.process.interpreter.state import Shell, Starter
from envdoctor.analysis.process.interpreter.text import Text, joined
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.analysis.process.job_values import JobValue, job_values, values_in
from envdoctor.core.facts import Place
from envdoctor.knowledge.launch.find import Invocation
from envdoctor.knowledge.launch.words import CommandSegment
from envdoctor.readers.shell.run import RUNNERS

_QUESTIONS = ("--help", "--version", "-V")
"""`srun --help` starts nothing."""
_PREPARES = re.compile(
    r"(?:^|[_/.-])(?:convert|prepare|preprocess|download|setup|install|build|tokenize|make_data|export_|merge|plot|"
    r"check_env|collect_env|upload|split_data|process_data|create_)", re.IGNORECASE,
)  # fmt: skip
"""Programs that make ready what a training needs, and start no ranks."""
MODULES_WITHOUT_RANKS = frozenset((
    "pip", "venv", "json.tool", "http.server", "build", "pytest", "ensurepip", "compileall", "zipfile", "virtualenv",
    "pre_commit", "ruff", "mypy", "black", "isort", "site", "sysconfig", "nltk.downloader", "spacy", "twine", "wheel",
))  # fmt: skip


def run_text(walker: Walker, child: Shell, text: Text, place: Place) -> Shell | None:
    """A whole command in one word, which a shell reads."""
    with walker.exiting() as exits:
        after = walker.run_text(text, child)
    return walker.meet_all([after, *exits])


def launch(
    walker: Walker, child: Shell, found: Invocation[Text], place: Place, stdin: Text | None, layers: int
) -> Shell | None:
    """A command of a launcher file: what it hands on, then what it runs, for each of its segments."""
    inside_words = [word for segment in found.segments for word in segment.inner]
    if not inside_words and _asks_only(found):
        return None
    if found.name == "python":
        return _python(walker, child, found, place)
    if found.row.header:
        found = crossing.submitted(walker, found, child)
        child.process = child.process._replace(job=())  # a job of its own
    last: Shell | None = None
    starter = _starter(walker, found, inside_words, place, child)
    for part, segment in enumerate(found.segments):
        inner = child if len(found.segments) == 1 else child.copy()
        inner.functions, inner.arrays, inner.maps = {}, {}, {}
        crossing.cross(walker, inner, found, part, starter, place)
        if not found.row.launch and any(not word.known and word.assignment() is None for word in _own(found)):
            variables.may_have_more(inner)
        last = _inner(walker, inner, found, segment, place, stdin, layers)
    return last if found.row.wrapper and len(found.segments) == 1 else None


def _own(found: Invocation[Text]) -> Sequence[Text]:
    """The words of a command before the command that it runs."""
    inner = found.segments[0].inner
    return found.words[: len(found.words) - len(inner)] if inner else found.words


def _starter(
    walker: Walker, found: Invocation[Text], inner: Sequence[Text], place: Place, shell: Shell
) -> Starter | None:
    """The link of the chain; programs that only pass a command on are none."""
    if not found.row.launch and not _empties(found):
        return None
    words = tuple(word.text for word in found.words)
    job = _job(walker, found, place, shell)
    held = {name: shell.held(name) for value in job for name in value.overrides}
    replaced = {name: slot for name, slot in held.items() if slot}
    return Starter(found.name, place, words, tuple(word.text for word in inner), found.row.ranks, job, replaced)


def _job(walker: Walker, found: Invocation[Text], place: Place, shell: Shell) -> tuple[JobValue, ...]:
    """What a command tells of its job, by its words and by a file of settings that they name."""
    values = job_values(found, place)
    words = [word for flag in found.row.job_file.split() for word in found.flags.words.get(flag, ())]
    path = walker.find(words[-1], shell) if words and words[-1].sure else None
    if path is None:
        return values
    known = tuple(value for value in values if value.tells != "hosts")
    return (*known, *values_in(found.row, walker.project.files.text(path), words[-1].written(), known))


def _empties(found: Invocation[Text]) -> bool:
    return any(word.text in ("-i", "-", "--ignore-environment") for word in found.words[1:2])


def _inner(
    walker: Walker, child: Shell, found: Invocation[Text], segment: CommandSegment[Text], place: Place,
    stdin: Text | None, layers: int,
) -> Shell | None:  # fmt: skip
    """What a launcher runs, by the form it is given in."""
    row = found.row
    for argument in segment.arguments:
        if argument.form == "script":
            run_text(walker, child, argument.words[0], place)
    inner = list(segment.inner)
    if segment.entrypoint is not None:
        inner = [segment.entrypoint, *inner]
    if not inner:
        _nothing_named(walker, child, found, segment, place, stdin)
        return None
    if row.inner in ("words", "dashes", "script"):
        return walker.start(walker, child, inner, place, stdin, False, layers + 1)
    if row.inner == "python":
        return _entry(walker, child, inner, place, stdin, layers)
    if row.inner in ("shell", "keys"):
        whole = inner[0] if len(inner) == 1 else joined(inner, place)
        if stdin is not None and row.inner == "shell" and _reads_input(inner):
            whole = stdin
        return run_text(walker, child, whole, place)
    return None


def _reads_input(inner: Sequence[Text]) -> bool:
    """`ssh host bash -s <<EOF`: the input is the script."""
    texts = " ".join(word.text for word in inner)
    return re.fullmatch(r"(?:sudo\s+)?(?:/bin/)?(?:bash|sh)(?:\s+-[ls]+)*(?:\s+--)?", texts) is not None


def _nothing_named(
    walker: Walker, child: Shell, found: Invocation[Text], segment: CommandSegment[Text], place: Place,
    stdin: Text | None,
) -> None:  # fmt: skip
    """No command: a shell's input, what the image runs, or words that nobody knows."""
    row = found.row
    if stdin is not None and row.stdin in ("shell", "script"):
        run_text(walker, child, stdin, place)
    elif row.container and row.inner != "none" and segment.operands:
        walker.unfollowed(place, child, "image not in the tree", segment.operands[0].text)
    elif row.ranks and row.inner == "none":
        walker.rank(child, place, "", "", ())  # the workers of a cluster that begins here: they have what it has
    elif row.ranks and segment.flags.opaque:
        walker.unfollowed(place, child, "command unknown", segment.flags.opaque[-1].text)


def _entry(
    walker: Walker, child: Shell, inner: Sequence[Text], place: Place, stdin: Text | None, layers: int
) -> Shell | None:
    """The entry of a launcher of Python programs: a file, `-m module`, or a command behind `--no-python`."""
    first = inner[0].text
    if first in ("--no_python", "--no-python") and len(inner) > 1:
        return walker.start(walker, child, inner[1:], place, stdin, False, layers + 1)
    if first in ("-m", "--module") and len(inner) > 1:
        program(walker, child, place, f"-m {inner[1].text}", _module(walker, inner[1], child), inner[2:])
        return None
    if first.startswith("-"):
        return None
    program(walker, child, place, first, walker.find(inner[0], child) or "", inner[1:])
    return None


def _python(walker: Walker, child: Shell, found: Invocation[Text], place: Place) -> Shell | None:
    """`python FILE`, `python -m MODULE`; `-c` is a rank only if it makes a process group."""
    segment = found.segments[0]
    starter = Starter("python", place, tuple(w.text for w in found.words), tuple(w.text for w in segment.inner), True)
    code = segment.flags.words.get("-c")
    if code:
        if "init_process_group" in code[0].text or "torch.distributed" in code[0].text:
            crossing.under(child, starter)
            walker.rank(child, place, "-c", "", ())
        return None
    inner = segment.inner
    if not inner:
        return None
    crossing.under(child, starter)
    if inner[0].text == "-m" and len(inner) > 1:
        module = inner[1].text
        file = next((n for n in range(2, len(inner)) if inner[n].text.endswith(".py")), 0) if module in RUNNERS else 0
        if file:
            program(walker, child, place, inner[file].text, walker.find(inner[file], child) or "", inner[file + 1 :])
        elif module not in MODULES_WITHOUT_RANKS and not _PREPARES.search(module):
            program(walker, child, place, f"-m {module}", _module(walker, inner[1], child), inner[2:])
        return None
    if not inner[0].text.startswith("-") and not _PREPARES.search(inner[0].text.rsplit("/", 1)[-1]):
        program(walker, child, place, inner[0].text, walker.find(inner[0], child) or "", inner[1:])
    return None


def _module(walker: Walker, word: Text, shell: Shell) -> str:
    """The file that `python -m` runs."""
    return walker.project.references.program(word.text, shell.path) or ""


def _asks_only(found: Invocation[Text]) -> bool:
    return found.row.ranks and any(word.text in _QUESTIONS for word in found.words[found.length :])
