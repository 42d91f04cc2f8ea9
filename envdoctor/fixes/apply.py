"""Makes fixes, pass by pass, until none is left to make: in memory, so that a file is written once or never."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from envdoctor.core.findings import Finding, Fix
from envdoctor.core.records import dataclass, field
from envdoctor.engine import Engine, ScanResult
from envdoctor.fixes import verify
from envdoctor.fixes.fixer import Fixer, wanted
from envdoctor.fixes.spans import FileBytes, FixRefused, Span
from envdoctor.fixes.writing import Change

MOST_PASSES = 12
"""A fix can bring the next one to light, or meet another one; what is left after this is left."""
WITHOUT_LIBCST = "fixes of Python code need libcst: pip install 'envdoctor[fix]'"
Judge = Callable[[dict[str, bytes]], tuple[Engine, ScanResult]]
"""Judges the project with some files as they would be after fixes."""


@dataclass(slots=True)
class Made:
    """What came of it: files before and after, how many findings were put right or ignored, and what could not be."""

    changes: list[Change] = field(default_factory=list)
    fixed: int = 0
    refused: list[str] = field(default_factory=list)
    ignored: int = 0
    errors: list[str] = field(default_factory=list)
    """What could not be read or judged on the way."""


@dataclass(slots=True)
class _Files:
    """Files in the course of fixing: what stood in them at first, and what stands in them now."""

    files: frozenset[str]
    first: dict[str, bytes] = field(default_factory=dict)
    now: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)
    tried: set[tuple[str, str, int, str]] = field(default_factory=set)

    def bytes_of(self, engine: Engine, path: str) -> FileBytes:
        """The file as it is now. `FixRefused`: it is not ours to change, or cannot be."""
        if path not in self.files:
            raise FixRefused("not among the files that were scanned")
        if path not in self.now:
            self.first.setdefault(path, read(engine, path))
        source = FileBytes(path, self.now.get(path, self.first[path]))
        if source.text != engine.project.files.text(path):
            raise FixRefused("changed since it was scanned")
        return source


def read(engine: Engine, path: str) -> bytes:
    """The bytes of a file, on the disk or from standard input. `FixRefused`: it cannot be read."""
    given = engine.project.files.overlay.get(path)
    if given is not None:
        return given
    try:
        return (engine.project.files.base / path).read_bytes()
    except OSError as error:
        raise FixRefused(error.strerror or "cannot be read") from error


def make(judge: Judge, files: Sequence[str], unsafe: bool) -> Made:
    """All fixes of the files that were scanned, made in memory."""
    state = _Files(frozenset(files))
    fixed = 0
    errors: list[str] = []
    for _ in range(MOST_PASSES):
        engine, result = judge(dict(state.now))
        fixer = Fixer(engine.project, engine.catalog, unsafe)
        with engine.project.internal.guard(engine.project.files.name, "looking for fixes"):
            result.findings = fixer.attach(result.findings)
        pairs = wanted(result.findings, unsafe)
        if fixer.lacks_libcst:
            state.refused[WITHOUT_LIBCST] = None
        done = _one_pass(engine, pairs, state)
        errors = engine.errors()
        if not done:
            break
        fixed += done
    changes = [Change(path, state.first[path], now) for path, now in sorted(state.now.items())]
    return Made(
        [change for change in changes if change.before != change.after], fixed, list(state.refused), errors=errors
    )


def _one_pass(engine: Engine, pairs: Sequence[tuple[Finding, Fix]], state: _Files) -> int:
    """Make the fixes that do not meet: the first wins, and the others get their turn in the next pass."""
    taken: dict[str, list[Span]] = {}
    sources: dict[str, FileBytes] = {}
    done = 0
    for finding, fix in pairs:
        known = (finding.place.path, finding.name, finding.place.line, fix.description)
        if known in state.tried:
            continue
        try:
            spans = _spans(engine, fix, state, sources)
        except FixRefused as refusal:
            state.refused[f"{finding.place.path}:{finding.place.line}: not fixed: {refusal}"] = None
            state.tried.add(known)
            continue
        except Exception as error:
            engine.internal.add(finding.place.path, f"making a fix of {finding.name}", error)
            state.tried.add(known)
            continue
        new = {path: [s for s in mine if s not in taken.get(path, ())] for path, mine in spans.items()}
        if _meet(spans, new, taken):
            continue
        if not all(_holds(engine, sources[path], [*taken.get(path, ()), *mine]) for path, mine in new.items()):
            if any(taken.get(path) for path in new):
                continue  # together they leave something empty: the next pass tells
            state.refused[f"{finding.place.path}:{finding.place.line}: not fixed: it would not parse"] = None
            state.tried.add(known)
            continue
        for path, mine in new.items():
            taken.setdefault(path, []).extend(mine)
        done += 1
    for path, mine in taken.items():
        state.now[path] = sources[path].apply(mine)
    return done


def _meet(spans: Mapping[str, list[Span]], new: Mapping[str, list[Span]], taken: Mapping[str, list[Span]]) -> bool:
    """Whether a fix meets those that are made already. One that replaces what they replace may do nothing else: what is
    moved is moved once. What they add as well (an import) is added once."""
    if any(span.meets(other) for path, mine in new.items() for span in mine for other in taken.get(path, ())):
        return True
    shared = any(s.start < s.end and s not in new[path] for path, mine in spans.items() for s in mine)
    return shared and any(new.values())


def _spans(engine: Engine, fix: Fix, state: _Files, sources: dict[str, FileBytes]) -> dict[str, list[Span]]:
    """The edits of a fix as bytes, by file."""
    found: dict[str, list[Span]] = {}
    for edit in fix.edits:
        path = edit.place.path
        if path not in sources:
            sources[path] = state.bytes_of(engine, path)
        found.setdefault(path, []).append(sources[path].span(edit))
    return found


def _holds(engine: Engine, source: FileBytes, spans: Sequence[Span]) -> bool:
    """The file would still be what its reader takes."""
    with engine.internal.guard(source.path, "checking what a fix makes of it"):
        return verify.still_parses(source.path, source.data, source.apply(spans))
    return False
