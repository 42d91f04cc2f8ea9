"""Which edits put a finding right: pure functions of findings, facts and text. Nothing is written here.

A safe fix changes nothing that works today: it takes out what nobody reads, or writes the new name of what is read
under both. Whatever may change what a job does is unsafe, however plainly it was meant.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from envdoctor.analysis.project import Project
from envdoctor.core.facts import FileFacts, Place, Setting
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.regexes import regex
from envdoctor.fixes.spans import at
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.analysis.python.timeline import EntryPoints
    from envdoctor.checks.python.streams import Streams
    from envdoctor.fixes.notebook import Program
    from envdoctor.fixes.python.seeds import Training
    from envdoctor.fixes.python.tree import PythonTree
    from envdoctor.knowledge.parameters.seeds import Seeds

_COMMENT = regex(r"[ \t]*(?:#|//)")
"""A line that is a comment in one of the languages we edit."""

Make = Callable[[Finding, FileFacts], "Fix | None"]
WITH_LIBCST = {
    "switches": "envdoctor.fixes.python.switches", "moves": "envdoctor.fixes.python.moves",
    "seeds": "envdoctor.fixes.python.seeds",
}  # fmt: skip
"""Modules that work on Python through libcst, imported where a fix needs one."""
IN_PYTHON = ("python-environ", "child-environment", "runtime-env")
"""Channels of what Python code gives."""
OF_SETTINGS = (
    "ghost-variable", "version-dependent", "misnamed-variable", "deprecated-variable", "bad-value", "not-forwarded",
    "not-exported", "command-misread",
)  # fmt: skip
"""Rules whose fixes change words at their places, which are exact in notebooks and JSON too."""
SAFE = ("ghost-variable", "misnamed-variable", "deprecated-variable")
"""Rules that have safe fixes."""
RESEEDING = ("a fixed seed, written to the log", "give it a value")
"""What findings about a seed say that is there and differs from run to run."""


@dataclass(slots=True)
class Fixer:
    """Makes the fixes of findings from what the project says of their files."""

    project: Project
    catalog: Catalog
    unsafe: bool = True
    """Whether unsafe fixes are wanted; what can only be unsafe is not looked for otherwise."""
    lacks_libcst: bool = False
    """A fix of Python code was asked for, and libcst is not installed."""
    _lines: dict[str, list[str]] = field(default_factory=dict)
    _reseeding: set[str] = field(default_factory=set)
    _with_block: set[str] = field(default_factory=set)
    _entry_points: EntryPoints | None = None
    _streams: Streams | None = None

    def attach(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings, each with its fix where there is a plain one."""
        findings = list(findings)
        self._reseeding = {f.place.path for f in findings if f.name == "unseeded-rng" and f.help in RESEEDING}
        return [self._guarded(finding) for finding in findings]

    def _guarded(self, finding: Finding) -> Finding:
        """A finding with its fix; without one where that fails, or where not all is known of what it is about."""
        if finding.variable and self.project.references.mentioned_unread(finding.variable):
            return replace(finding, fix=None)
        with self.project.internal.guard(finding.place.path, f"looking for a fix of {finding.name}"):
            return self._with_fix(finding)
        return replace(finding, fix=None)

    def lines(self, path: str) -> list[str]:
        """The lines of a file, as places count them."""
        if path not in self._lines:
            self._lines[path] = self.project.files.text(path).split("\n")
        return self._lines[path]

    def _with_fix(self, finding: Finding) -> Finding:
        make = {
            "ghost-variable": self._remove, "version-dependent": self._retire, "misnamed-variable": self._rename,
            "deprecated-variable": self._rename, "bad-value": self._correct, "not-exported": self._export,
            "not-forwarded": self._forward, "command-misread": self._mend, "set-too-late": self._move,
            "missing-collective-setting": self._block, "unseeded-rng": self._seed, "blind-test": self._by_rank,
            "missing-deterministic-flag": self._switch, "nondeterministic-option": self._put_back,
        }.get(finding.name)  # fmt: skip
        if make is None:
            return finding
        if not self.unsafe and finding.name not in SAFE:
            return replace(finding, fix=None)
        facts = self.project.facts.read(finding.place.path) or self.project.facts.whole(finding.place.path)
        if facts is None:
            return replace(finding, fix=None)
        try:
            return replace(finding, fix=self._made(finding, facts, make))
        except RecursionError:  # code that is nested so deep is left alone
            return replace(finding, fix=None)

    def _made(self, finding: Finding, facts: FileFacts, make: Make) -> Fix | None:
        """The fix, with places in the file itself where it is for code in a notebook."""
        if facts.kind != "notebook" or finding.name in OF_SETTINGS or _is_value(finding):
            made = make(finding, facts)
            return _escaped(made) if facts.kind in ("json", "notebook") else made
        cells = self._cells(facts.path)
        mapped = cells.finding(finding)
        return cells.fix(make(mapped, facts)) if mapped is not None else None

    def _setting(self, finding: Finding, facts: FileFacts) -> Setting | None:
        """The setting that a finding is about."""
        for setting in facts.settings:
            places = (setting.name_place, setting.value_place, setting.place)
            if setting.name == finding.variable and finding.place in places:
                return setting
        return None

    def _remove(self, finding: Finding, facts: FileFacts) -> Fix | None:
        setting = self._setting(finding, facts)
        if setting is None or finding.severity == "info":
            return None
        edits = self._removal(setting, facts)
        if not edits:
            return None
        safe = self._only_settings(setting.name, facts)
        return Fix(f"remove {setting.name}", edits, safe)

    def _retire(self, finding: Finding, facts: FileFacts) -> Fix | None:
        """Away with what no release reads any more. Which one runs is not known for sure, so it is not safe."""
        setting, variable = self._setting(finding, facts), self.catalog.variable(finding.variable or "")
        if finding.fix is not None or setting is None or variable is None or not variable.readings:
            return finding.fix
        ended = all(reading.ended(self.catalog.libraries[reading.library]) for reading in variable.readings)
        return _unsafe(f"remove {setting.name}", self._removal(setting, facts)) if ended else None

    def _removal(self, setting: Setting, facts: FileFacts) -> tuple[Edit, ...]:
        """The edits that take a setting out; none where that is not plain."""
        if facts.kind in PYTHON and setting.channel in IN_PYTHON:
            return self._python_removal(setting, facts)
        from envdoctor.fixes import remove

        edit = remove.removal(setting, self.lines(facts.path), facts.kind)
        return (edit,) if edit is not None else ()

    def _python_removal(self, setting: Setting, facts: FileFacts) -> tuple[Edit, ...]:
        from envdoctor.fixes.python import remove as remove_python

        if facts.kind == "python":
            edit = remove_python.removal(setting, self.project.files.text(facts.path))
            return (edit,) if edit is not None else ()
        cells = self._cells(facts.path)
        mapped = cells.setting(setting)
        edit = remove_python.removal(mapped, cells.text) if mapped is not None else None
        made = cells.fix(Fix("", (edit,))) if edit is not None else None
        return made.edits if made is not None else ()

    def _cells(self, path: str) -> Program:
        """The Python of a notebook as one program."""
        from envdoctor.fixes import notebook

        return notebook.program(path, self.project.files.text(path))

    def _only_settings(self, name: str, facts: FileFacts) -> bool:
        """Every mention of a name in the file, comments aside, is in one of its settings: nothing else hangs on it."""
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        lines = self.lines(facts.path)
        mentions = sum(len(word.findall(line)) for line in lines if not _COMMENT.match(line))
        mine = [s for s in facts.settings if s.name == name]
        places = {place for s in mine for place in (s.name_place, s.value_place) if place is not None}
        return mentions <= sum(len(word.findall(at(lines, place))) for place in places)

    def _rename(self, finding: Finding, facts: FileFacts) -> Fix | None:
        """The real name in its place, wherever else the file only hands the wrong one on, and in its own value."""
        setting = self._setting(finding, facts)
        if setting is None or finding.fix is None or not finding.fix.edits[0].text:
            return finding.fix
        real = finding.fix.edits[0].text
        if any(s.name == real for s in facts.settings):
            return self._twin(finding, setting, facts)
        others = [s for s in facts.settings if s.name == setting.name and s.op in ("export", "pass", "unset")]
        edits = []
        for one in [setting, *(s for s in others if s is not setting)]:
            made = self._named(one.name_place or one.place, setting.name, real)
            made += self._named(one.value_place, setting.name, real) if one.value.references else []
            if one.name_place is None or not made:
                return None
            edits += made
        safe = finding.name == "deprecated-variable" and self._is_read(real, setting, facts)
        return Fix(f"rename {setting.name} to {real}", tuple(dict.fromkeys(edits)), safe)

    def _twin(self, finding: Finding, setting: Setting, facts: FileFacts) -> Fix | None:
        """The real name is set as well: the one that nothing reads can go. One that is still read is left alone."""
        edits = self._removal(setting, facts) if finding.name == "misnamed-variable" else ()
        if not edits:
            return None
        prefix = self.catalog.prefix_of(setting.name)
        closed = self.catalog.variable(setting.name) is not None or (prefix is not None and prefix.closed)
        return Fix(f"remove {setting.name}", edits, closed and self._only_settings(setting.name, facts))

    def _named(self, place: Place | None, name: str, real: str) -> list[Edit]:
        """One edit for each time a name stands at a place."""
        if place is None:
            return []
        text = at(self.lines(place.path), place)
        found = re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        starts = [place.column + match.start() for match in found]
        return [Edit(Place(place.path, place.line, s, place.line, s + len(name)), real) for s in starts]

    def _is_read(self, real: str, setting: Setting, facts: FileFacts) -> bool:
        """The target is known to read the new name, it takes the same values, and nothing else goes by the old one."""
        old, new = self.catalog.variable(setting.name), self.catalog.variable(real)
        versions = self.project.targets.of(facts.path).versions
        if old is None or new is None or not old.deprecated_since:
            return False
        if not any(component in versions for component in old.deprecated_since):
            return False  # the rule spoke because no release is known: then the new name may be unknown there too
        from envdoctor.knowledge.catalog.values import faults

        value = setting.value.known
        if value is not None and faults(new, self.catalog, value, versions=versions):
            return False
        if not self._only_settings(setting.name, facts):
            return False
        return not self.project.references.mentioned(
            setting.name, facts.path
        )  # others may set it, read it or hand it on

    def _correct(self, finding: Finding, facts: FileFacts) -> Fix | None:
        from envdoctor.fixes import values

        setting = self._setting(finding, facts)
        if setting is None:
            return None
        found = values.correction(setting, self.lines(facts.path), self.catalog, self.project.targets.of(facts.path))
        if found is None:
            return None
        return Fix(f"write {setting.name}={found[0]}", (found[1],), safe=False)

    def _forward(self, finding: Finding, facts: FileFacts) -> Fix | None:
        del facts
        from envdoctor.fixes import forward

        return _unsafe(finding.help, forward.forwarding(finding, self.lines))

    def _export(self, finding: Finding, facts: FileFacts) -> Fix | None:
        del facts
        from envdoctor.fixes import forward

        return finding.fix or _unsafe(finding.help, forward.exporting(finding, self.lines))

    def _mend(self, finding: Finding, facts: FileFacts) -> Fix | None:
        from envdoctor.fixes import launches

        return _unsafe(finding.help, launches.mended(finding, self.lines(facts.path)))

    def _block(self, finding: Finding, facts: FileFacts) -> Fix | None:
        """One block for a file and a pass: the launches behind it have it too."""
        from envdoctor.fixes import launches

        if facts.path in self._with_block:
            return None
        self._with_block.add(facts.path)
        wanted = launches.settings_of(finding)
        description = f"set {' '.join(f'{name}={value}' for name, value in wanted)}"
        if facts.kind in PYTHON and (python := self._python("switches")):
            found: Fix | None = python.environment(finding, wanted, self.tree)
            return found
        edit = launches.block(finding, facts, self.lines(facts.path))
        return _unsafe(description, (edit,) if edit is not None else ())

    def _move(self, finding: Finding, facts: FileFacts) -> Fix | None:
        del facts
        if (python := self._python("moves")) is None:
            return None
        where = "out of the branch" if "on one rank only" in finding.message else "up"
        return _unsafe(f"move {finding.variable} {where}", python.above_reader(finding, self.tree))

    def _seed(self, finding: Finding, facts: FileFacts) -> Fix | None:
        if facts.path in self._reseeding and finding.help not in RESEEDING:
            return None  # a seed is there, and gets its value first
        python = self._python("seeds")
        found: Fix | None = python.seeded(finding, self.tree, self._training) if python is not None else None
        return found

    def _switch(self, finding: Finding, facts: FileFacts) -> Fix | None:
        del facts
        python = self._python("switches")
        found: Fix | None = python.put_in(finding, self.tree) if python is not None else None
        return found

    def _put_back(self, finding: Finding, facts: FileFacts) -> Fix | None:
        """An option in the code, or a variable whose other value the help names."""
        setting = self._setting(finding, facts) if finding.variable else None
        if setting is not None:
            value = re.match(rf"(?:{setting.name}=)?(\w+)\Z", finding.help)
            place = setting.value_place
            if value is None or place is None or at(self.lines(facts.path), place) != setting.value.text:
                return None
            return Fix(f"write {setting.name}={value[1]}", (Edit(place, value[1]),), safe=False)
        if finding.help.startswith("without --"):
            from envdoctor.fixes import launches

            return _unsafe(finding.help, launches.without_word(finding, self.lines(facts.path)))
        python = self._python("switches") if facts.kind in PYTHON else None
        found: Fix | None = python.put_back(finding, self.tree) if python is not None else None
        return found

    def _by_rank(self, finding: Finding, facts: FileFacts) -> Fix | None:
        python = self._python("switches") if facts.kind in PYTHON else None
        found: Fix | None = python.by_rank(finding, self.tree) if python is not None else None
        return found

    def _python(self, module: str) -> Any:
        """A module that works on Python through libcst; None, and it is noted, where libcst is not installed."""
        try:
            return importlib.import_module(WITH_LIBCST[module])
        except ModuleNotFoundError as error:
            if error.name != "libcst":
                raise
            self.lacks_libcst = True
            return None

    def tree(self, path: str) -> PythonTree | None:
        """A Python file of the project as libcst sees it; None for what is none, or cannot be parsed."""
        from envdoctor.fixes.python.tree import parse

        facts = self.project.facts.whole(path)
        if facts is None or facts.kind not in PYTHON:
            return None
        return parse(path, self._cells(path).text if facts.kind == "notebook" else self.project.files.text(path))

    def _training(self, path: str) -> Training | None:
        """What the rule about seeds knows of the program that a file starts."""
        if self._entry_points is None:
            self._entry_points = self.project.entry_points()
        facts = self.project.facts.whole(path)
        timeline = self._entry_points.timeline(facts) if facts is not None and facts.kind == "python" else None
        if timeline is None:
            return None
        from envdoctor.fixes.python.seeds import Training

        if self._streams is None:
            from envdoctor.checks.python.streams import Streams
            from envdoctor.knowledge.rulebook import load_rulebook

            self._streams = Streams(cast("Seeds", load_rulebook().named("unseeded-rng").parameters))
        return Training(self._streams.parameters, timeline, self._streams.of(timeline))


def _is_value(finding: Finding) -> bool:
    """Whether a finding is about the value of a variable, whatever its rule is about besides."""
    return finding.name == "nondeterministic-option" and finding.variable is not None


def _escaped(fix: Fix | None) -> Fix | None:
    """A fix within JSON; None where what it writes would have to be escaped, which has no one form in every string."""
    if fix is None or any(json.dumps(edit.text)[1:-1] != edit.text for edit in fix.edits):
        return None
    return fix


def _unsafe(description: str, edits: tuple[Edit, ...]) -> Fix | None:
    """A fix that may change what a job does; None without edits."""
    return Fix(description, edits, safe=False) if edits else None


def wanted(findings: Sequence[Finding], unsafe: bool) -> list[tuple[Finding, Fix]]:
    """The findings whose fixes are to be made, in order of their places."""
    return [(f, f.fix) for f in findings if f.fix is not None and f.fix.edits and (f.fix.safe or unsafe)]
