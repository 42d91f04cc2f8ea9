"""Facts, rulebook and target in; findings out: selection, precedence, suppression, order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from envdoctor.analysis.project import Project
from envdoctor.checks import registry as checks
from envdoctor.checks.context import FileContext, LaunchContexts, LaunchProject
from envdoctor.checks.shared import Shared
from envdoctor.core.decoding import line_of
from envdoctor.core.facts import FileFacts, Problem
from envdoctor.core.findings import SEVERITIES, Finding
from envdoctor.core.internal_errors import InternalErrors
from envdoctor.core.records import dataclass, field
from envdoctor.core.target import UNKNOWN, Target
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.rulebook import Rule, Rulebook
from envdoctor.project import suppressions
from envdoctor.project.config import Complaint
from envdoctor.project.config_paths import ByPath
from envdoctor.readers.store import Triggers

T = TypeVar("T")
PRECEDENCE = {
    "ghost-variable": ("misnamed-variable",),
    "nondeterministic-option": ("contradictory", "bad-value"),
    "ineffective-setting": ("contradictory",),
    "not-forwarded": ("not-exported",),
}
"""One fault, one finding: a rule is silent about a variable where one of these speaks about it on the same line."""


@dataclass(slots=True)
class ScanResult:
    """What a scan found. `hints` is how many findings of severity info were left out."""

    findings: list[Finding]
    hints: int = 0
    problems: list[Finding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    excerpts: dict[tuple[str, int], str] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    rules: Sequence[Rule] = ()

    def worst(self) -> int:
        """Index in SEVERITIES of the worst finding that counts; -1 where there is none."""
        return max((SEVERITIES.index(f.severity) for f in self.findings if _counts(f)), default=-1)


def _counts(finding: Finding) -> bool:
    """A finding that an experiment refuted leaves the count."""
    return finding.confirmation is None or finding.confirmation.state != "refuted"


def selected(rulebook: Iterable[Rule], select: Sequence[str], ignore: Sequence[str]) -> list[Rule]:
    """The rules to run. Names, ids and prefixes of ids (`ED1`) are understood; the longer one wins."""

    def strength(rule: Rule, wanted: Sequence[str]) -> int:
        """How exactly a rule is meant: the length of the longest prefix of its id; its name is most exact."""
        best = 0
        for word in wanted:
            word = word.strip()
            if word.lower() in (rule.id.lower(), rule.name):
                return 99
            if word.lower() == "all":
                best = max(best, 1)
            elif word.upper().startswith("ED") and rule.id.startswith(word.upper()):
                best = max(best, len(word))
        return best

    return [r for r in rulebook if (strength(r, select) if select else 1) > strength(r, ignore)]


def triggers(rules: Iterable[Rule], catalog: Catalog) -> Triggers:
    """Tokens that make a file worth reading for some rules: of rules and variables, and of entries of programs."""
    rules = list(rules)
    names = {t.encode() for rule in rules for t in rule.triggers} | set(catalog.triggers())
    entries = {t.encode() for rule in rules for t in rule.common.get("entry_triggers", ())}
    return Triggers(shortest(names), tuple(sorted(entries)))


def shortest(tokens: Iterable[bytes]) -> tuple[bytes, ...]:
    """The tokens in order, without those that hold another one: a file with such a one is found by the other."""
    every = sorted(set(tokens))
    return tuple(t for t in every if not any(other in t for other in every if other != t))


def _follows(rule: Rule) -> bool:
    """Whether a rule looks at Python programs."""
    return any(code.startswith("python.") for code in rule.code) or "entry_triggers" in rule.common


def unknown_selectors(rulebook: Rulebook, words: Iterable[str]) -> list[str]:
    """Selectors that mean no rule at all."""
    return [w for w in words if w.lower() != "all" and not selected(rulebook, [w], [])]


class Watch(Protocol):
    """Sees what is gone through, to show progress."""

    def __call__(self, items: Sequence[T], doing: str) -> Iterable[T]:
        """The items, one after the other."""
        ...


def unwatched(items: Sequence[T], doing: str) -> Iterable[T]:
    """Nobody looks."""
    del doing
    return items


@dataclass(slots=True)
class Engine:
    """Judges the files of a project by the rules that were selected."""

    project: Project
    catalog: Catalog
    rulebook: Rulebook
    rules: list[Rule]
    show_hints: bool = False
    inline_ignores: bool = True
    level: str = "auto"
    levels: ByPath[str] = field(default_factory=lambda: ByPath({}))
    ignores: ByPath[Sequence[str]] = field(default_factory=lambda: ByPath({}))
    """Rules that say nothing in some files."""
    watch: Watch = unwatched
    _shared: Shared = field(init=False)
    _coverage: dict[str, Any] | None = field(init=False, default=None)
    """How many launches were found and followed; None: no rule asked."""

    def judge(self, paths: Iterable[str], complaints: Sequence[Complaint] = ()) -> ScanResult:
        """Read and judge `paths`; the rest of the project is context."""
        paths = list(paths)
        read = [facts for path in self.watch(paths, "reading") if (facts := self.project.facts.read(path)) is not None]
        found: list[Finding] = []
        reported = set(paths)
        self._shared = Shared(self.catalog)
        if any(_follows(r) for r in self.rules):
            with self.internal.guard(self.project.files.name, "looking for programs in it"):
                self._shared = Shared(self.catalog, self.project.entry_points())
        for facts in self.watch(read, "judging files"):
            found += [f for f in self._judge_file(facts) if f.place.path in reported]
        with self.internal.guard(self.project.files.name, "judging launches"):
            found += self._judge_launches(read)
        found = self._without_private(found)
        found = one_fault_one_finding(found)
        read += self._met(found, read)
        found = [f for f in self._suppress(found, read) if not self._ignored(f)]
        found += self._complaints(complaints)
        problems = [self._problem(problem) for facts in read for problem in facts.problems]
        problems += [self._problem(Problem(said, line_of(path, 1))) for path, said in self.internal.undone()]
        return self._result(found, problems, len(read))

    def _met(self, found: Sequence[Finding], read: Sequence[FileFacts]) -> list[FileFacts]:
        """Files without a trigger of their own that a program runs and that something was found in."""
        seen = {facts.path for facts in read}
        paths = sorted({f.place.path for f in found} - seen)
        return [facts for path in paths if (facts := self.project.facts.whole(path)) is not None]

    def _judge_file(self, facts: FileFacts) -> list[Finding]:
        if not facts.settings and not facts.calls and not facts.launches:
            return []
        target, level = self._target(facts.path), self.level_of(facts.path)
        context = FileContext(facts, target, self._shared, level=level)
        found: list[Finding] = []
        for rule in self.rules:
            with self.internal.guard(facts.path, f"judging it by {rule.name}"):
                found += checks.in_file(rule, context)
        return found

    @property
    def internal(self) -> InternalErrors:
        """Errors of ours, each kept to the file that it came up in."""
        return self.project.internal

    def errors(self) -> list[str]:
        """What could not be done so far."""
        return [*self.project.files.errors, *self.internal.messages()]

    def _target(self, path: str) -> Target:
        with self.internal.guard(path, "looking for what it runs on"):
            return self.project.targets.of(path)
        return UNKNOWN

    def level_of(self, path: str) -> str:
        """The level that is asked for at a path, relative to the folder that is scanned from."""
        return self.levels.last(path) or self.level

    def _ignored(self, finding: Finding) -> bool:
        """Whether the configuration wants nothing of this rule in this file."""
        words = [word for words in self.ignores.fitting(finding.place.path) for word in words]
        return bool(words) and not selected([self.rulebook.named(finding.name)], (), words)

    def _judge_launches(self, read: Sequence[FileFacts]) -> list[Finding]:
        """Findings of the rules that look at launches, in the files that are reported on."""
        rules = [rule for rule in self.rules if checks.codes_of(rule, checks.LAUNCH_TOPICS)]
        if not rules or not read:
            return []
        contexts = self._launches(read)
        reported = {facts.path for facts in read}
        found: list[Finding] = []
        for path in self.watch(contexts.paths(), "judging launches"):
            for rule in rules:
                with self.internal.guard(path, f"judging its launches by {rule.name}"):
                    found += checks.in_launches(rule, contexts.of(path))
        return [f for f in found if f.place.path in reported]

    def _launches(self, read: Sequence[FileFacts]) -> LaunchContexts:
        """What all processes see that the project starts."""
        from envdoctor.analysis.process.coverage import coverage
        from envdoctor.analysis.process.walk import walk
        from envdoctor.analysis.python.programs import Programs
        from envdoctor.knowledge.launchers import load_launchers

        walked = walk(self.project, read, self.catalog.variable)
        files = {facts.path: facts for facts in (*read, *walked.files)}
        programs = Programs(self.project, self.catalog.variable)
        self._coverage = coverage(walked, {facts.path for facts in read})
        return LaunchContexts(
            LaunchProject(
                walked, files, self._shared, load_launchers(), self._target, self.level_of, self.project.files.text,
                programs.of,
            )
        )  # fmt: skip

    def _without_private(self, found: list[Finding]) -> list[Finding]:
        """Leave out names that the project itself reads; looked for only where such a finding is about to be made."""
        exempt = {r.name for r in self.rules if r.common.get("unless_private")}
        private = self.project.private.among({f.variable for f in found if f.name in exempt and f.variable})
        return [f for f in found if not (f.name in exempt and f.variable in private)]

    def _suppress(self, found: list[Finding], read: Sequence[FileFacts]) -> list[Finding]:
        if not self.inline_ignores:
            return found
        kept: list[Finding] = []
        by_path: dict[str, list[Finding]] = {}
        for finding in found:
            by_path.setdefault(finding.place.path, []).append(finding)
        chosen = {r.id for r in self.rules}
        for facts in read:
            mine = by_path.pop(facts.path, [])
            with self.internal.guard(facts.path, "reading its ignore comments"):
                ignores = suppressions.ignores_in(facts.path, self.project.files.text(facts.path))
                mine = suppressions.apply(mine, ignores)
                # Where something was left undone, nobody knows what a comment would silence.
                if any(r.name == "unused-ignore" for r in self.rules) and not self.internal:
                    mine += suppressions.complaints(ignores, self.rulebook, chosen)
            kept += mine
        return kept + [f for rest in by_path.values() for f in rest]

    def _complaints(self, complaints: Sequence[Complaint]) -> list[Finding]:
        found = []
        for complaint in complaints:
            rule = self.rulebook.named(complaint.rule)
            place = complaint.place
            found.append(
                Finding(rule.id, rule.name, rule.severity, rule.confidence, place, complaint.message, rule.fix)
            )
        return found

    def _problem(self, problem: Problem) -> Finding:
        rule = self.rulebook.named("unparsable-file")
        return Finding(rule.id, rule.name, rule.severity, rule.confidence, problem.place, problem.message, rule.fix)

    def _result(self, found: list[Finding], problems: list[Finding], count: int) -> ScanResult:
        found = sorted(set_of(found), key=lambda f: (f.place.path, f.place.line, f.place.column, f.rule))
        shown = [f for f in found if self.show_hints or f.severity != "info"]
        excerpts = {
            (f.place.path, f.place.line): line
            for f in shown
            if (line := self._line(f.place.path, f.place.line)) is not None
        }
        summary = {
            "files": count,
            **summed(shown),
            **({"launches": self._coverage} if self._coverage is not None else {}),
            "problems": [{"path": p.place.path, "line": p.place.line, "message": p.message} for p in problems],
        }
        return ScanResult(shown, len(found) - len(shown), problems, self.errors(), excerpts, summary, self.rules)

    def _line(self, path: str, number: int) -> str | None:
        lines = self.project.files.text(path).split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else None


def summed(found: Sequence[Finding]) -> dict[str, Any]:
    """How many findings there are by rule and by severity."""
    by_rule = dict(sorted(Counter(f.name for f in found).items()))
    return {"by_rule": by_rule, "by_severity": dict(Counter(f.severity for f in found))}


def set_of(found: Iterable[Finding]) -> list[Finding]:
    """Each finding once: same rule, place and variable."""
    once: dict[tuple[str, int, int, str, str | None], Finding] = {}
    for f in found:
        once.setdefault((f.place.path, f.place.line, f.place.column, f.name, f.variable), f)
    return list(once.values())


def one_fault_one_finding(found: Sequence[Finding]) -> list[Finding]:
    """Leave out what a stronger rule already says about the same variable on the same line."""
    said = {f.key for f in found}
    kept: dict[tuple[str, int, str, str | None], Finding] = {}
    for f in found:
        path, line, _, variable = f.key
        if not any((path, line, stronger, variable) in said for stronger in PRECEDENCE.get(f.name, ())):
            kept.setdefault(f.key, f)
    return list(kept.values())
