"""What can be answered before the scanner is imported: files that hold nothing to judge, and what was answered before.

A pre-commit hook scans a few files, most of which name no setting; an editor or a CI job scans the same tree again and
again. Importing the scanner takes several times as long as the answer to both, so that this module imports next to
nothing, not even argparse.
"""

from __future__ import annotations

import os
import sys

from envdoctor.cache import dependency_log, results
from envdoctor.cache.dependency_log import DependencyLog
from envdoctor.project.git import Listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

FLAGS = {"--hints", "--fail-on-unknown", "--no-inline-ignores", "--docs", "--force-exclude", "--statistics"}
"""Options without a value whose answer may be kept."""
VALUED = {"--target", "--level", "--select", "--ignore", "--exclude", "--fail-on", "--format"}
"""Those with one."""
NO_CACHE = "--no-cache"
TRIGGERS = "triggers"
"""The first word of the name of the file with the tokens that a file of interest holds, beside the answers."""
DEFAULTS = "defaults"
"""The first word of the name of the file with the arguments of a scan that is given none."""
NOTHING = "No findings in 0 files with settings\n"
SURROUNDINGS = ("NO_COLOR", "TERM", "COLUMNS", "XDG_CACHE_HOME", "LC_ALL", "LANG", "PYTHONIOENCODING", "PYTHONUTF8")
"""Parts of the environment that the answer may depend on."""


def answer(words: Sequence[str], run: Callable[[Any], int]) -> int:
    """The exit status of `envdoctor scan`: from what is kept, else by `run`, whose answer is kept.

    `run` is given the arguments where they can be told without argparse, else None.
    """
    base = results.folder() if _may_keep(words) else None
    if base is None or _scanned(base, words):
        return run(None)
    try:
        signature = results.signature()
        triggers = _triggers(base, signature)
        if triggers and _is_quiet(words, triggers):
            sys.stdout.write(NOTHING)
            return 0
        path = f"{base}/{dependency_log.digest(_question(words, signature))}"
        found = results.load(path, Listing) if NO_CACHE not in words else None
        given = _arguments(base, signature, words)
    except (OSError, ValueError):
        return run(None)
    if found is not None:
        sys.stdout.write(found.out)
        return found.status
    status = run(given) if NO_CACHE in words else _made(path, signature, lambda: run(given))
    if not triggers:
        _keep_triggers(base, signature)
        _keep_defaults(base, signature)
    return status


def _arguments(base: str, signature: str, words: Sequence[str]) -> Any:
    """What argparse makes of paths and switches, by what it made of no word at all; None where it has to be asked."""
    if any(word.startswith("-") and word not in FLAGS and word != NO_CACHE for word in words):
        return None
    import marshal
    from types import SimpleNamespace

    try:
        with open(f"{base}/{DEFAULTS}-{signature}", "rb", 0) as file:
            mark, _, data = file.read().partition(b"\0")
    except OSError:
        return None
    if mark != _mark(signature, [data]):
        return None
    values = {"command": "scan", **marshal.loads(data), "paths": [word for word in words if not word.startswith("-")]}
    values.update({word[2:].replace("-", "_"): True for word in words if word.startswith("-")})
    return SimpleNamespace(**values)


def _keep_defaults(base: str, signature: str) -> None:
    """Leave what argparse makes of `envdoctor scan` for the next scan."""
    import marshal

    from envdoctor.cli.arguments import parser

    data = marshal.dumps(vars(parser("scan").parse_args(["scan"])))
    results.write(f"{base}/{DEFAULTS}-{signature}", _mark(signature, [data]) + b"\0" + data)


def _scanned(base: str, words: Sequence[str]) -> bool:
    """Whether the cache lies in a folder that is scanned: nothing is written there."""
    folders = [os.path.realpath(word) for word in words if os.path.isdir(word)] or [os.getcwd()]
    return any(f"{os.path.realpath(base)}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _may_keep(words: Sequence[str]) -> bool:
    """Whether all words are paths and options that write nothing, read nothing else and show one report."""
    expected = closed = False
    paths = 0
    for word in words:
        if expected:
            if ":" in word or word.startswith("-"):
                return False
            expected = False
        elif word.startswith("-"):
            name, given, value = word.partition("=")
            if name in VALUED and ":" not in value:
                expected = not given
            elif word not in FLAGS and word != NO_CACHE:
                return False
            closed = paths > 0
        elif closed:
            return False  # argparse takes no paths before and behind an option
        else:
            paths += 1
    return not expected


def _question(words: Sequence[str], signature: str) -> bytes:
    """All that the answer depends on beside files."""
    around = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k in SURROUNDINGS]
    stream = f"{sys.stdout.encoding} {sys.stdout.isatty()}"
    return "\0".join([signature, os.getcwd(), stream, *around, "", *words]).encode("utf-8", "surrogateescape")


def _is_quiet(words: Sequence[str], triggers: Sequence[bytes]) -> bool:
    """Whether all words are files, none holds a token that any rule or variable is found by, and no file configures."""
    if not words or any(word.startswith("-") and word not in ("--force-exclude", NO_CACHE) for word in words):
        return False
    paths = [word for word in words if not word.startswith("-")]
    if not paths or any(not os.path.isfile(path) for path in paths) or _configured(paths[0]):
        return False
    return all(_holds_none(path, triggers) for path in paths)


def _holds_none(path: str, triggers: Sequence[bytes]) -> bool:
    with open(path, "rb", 0) as file:
        data = file.read()
    # Text in two bytes a character hides what it says; no name of a setting is written in anything but these.
    return not data.startswith((b"\xff\xfe", b"\xfe\xff")) and not any(token in data for token in triggers)


def _configured(path: str) -> bool:
    """Whether a configuration file holds for a path; `config.nearest` says which one."""
    here = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    while True:
        if os.path.lexists(f"{here}/envdoctor.toml"):
            return True
        if os.path.exists(shared := f"{here}/pyproject.toml"):
            with open(shared, "rb", 0) as file:
                if b"[tool.envdoctor" in file.read():
                    return True
        above = os.path.dirname(here)
        if above == here or os.path.exists(f"{here}/.git"):
            return False
        here = above


def _triggers(base: str, signature: str) -> list[bytes]:
    """The tokens of all rules and variables, as an earlier scan of this version left them; none where none did."""
    try:
        with open(f"{base}/{TRIGGERS}-{signature}", "rb", 0) as file:
            mark, *tokens = file.read().split(b"\0")
    except OSError:
        return []
    return tokens if mark == _mark(signature, tokens) else []


def _mark(signature: str, tokens: Sequence[bytes]) -> bytes:
    return f"{signature} {dependency_log.digest(bytes(1).join(tokens))}".encode()


def _keep_triggers(base: str, signature: str) -> None:
    """Leave the tokens of all rules and variables for the next scan; those that hold another one add nothing."""
    from envdoctor.engine import shortest, triggers
    from envdoctor.knowledge.catalog.load import load_catalog
    from envdoctor.knowledge.rulebook import load_rulebook

    wanted = triggers(load_rulebook(), load_catalog())
    tokens = shortest((*wanted.names, *wanted.entries))
    results.write(f"{base}/{TRIGGERS}-{signature}", b"\0".join([_mark(signature, tokens), *tokens]))


class _Copied:
    """A stream that keeps what is written through it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        """Write and keep."""
        self.parts.append(text)
        return int(self.stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _made(path: str, signature: str, run: Callable[[], int]) -> int:
    """Run a scan and keep its answer, and the facts it read."""
    from envdoctor.cache import facts as facts_cache

    where = f"{signature} {os.getcwd()} {sys.implementation.cache_tag}".encode("utf-8", "surrogateescape")
    facts = facts_cache.current = facts_cache.Store(f"{path.rpartition('/')[0]}/facts-{dependency_log.digest(where)}")
    notes = dependency_log.current = DependencyLog()
    sys.stdout = out = _Copied(sys.stdout)
    try:
        status = run()
    finally:
        dependency_log.current = facts_cache.current = None
        sys.stdout = out.stream
    if status in (0, 1) and results.may_write(path, notes):
        results.save(path, results.Answer(status, "".join(out.parts)), notes)
        facts.save()
    return status
