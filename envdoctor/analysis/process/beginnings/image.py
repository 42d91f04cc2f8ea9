"""Dockerfiles: each RUN is a shell of the build, and the last stage starts what its ENTRYPOINT and CMD say.

Sources: Dockerfile reference. ENV reaches later instructions of its stage, stages built from it and the container; ARG
reaches the RUN of its stage and of stages built from it, never the container, and ENV wins over it. An ENTRYPOINT in
exec form gets CMD as its arguments, one in shell form gets none; an ENTRYPOINT voids the CMD of the image below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.beginnings.common import Point, line_of
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.core.facts import FileFacts, Scope, Setting
from envdoctor.core.operations import Body, Script, Word
from envdoctor.core.records import replace
from envdoctor.core.source import Source
from envdoctor.readers.docker.lines import GAP, Instruction, instructions
from envdoctor.readers.docker.words import exec_words

STARTS = ("ENTRYPOINT", "CMD")
LAYER = "layer at line "


class BuildStage(NamedTuple):
    """One stage: its name or number, the image below all of it, and the stage that it goes on from."""

    name: str
    image: str
    line: int
    parent: str = ""


class ImageStart(NamedTuple):
    """What an image starts by itself. `script` is what runs when nobody gives arguments.

    `entrypoint` and `command` are words as the process gets them. `closed`: the ENTRYPOINT takes no arguments.
    """

    entrypoint: tuple[Word, ...] = ()
    command: tuple[Word, ...] = ()
    script: Script | None = None
    closed: bool = False

    def given(self, arguments: Sequence[Word], entrypoint: Sequence[Word] | None = None) -> Script | None:
        """What runs where arguments take the place of CMD (`docker run image a b`, `args:` of a pod), and where
        another ENTRYPOINT takes that of the image, whose CMD goes with it."""
        if entrypoint is None and (self.closed or not arguments):
            return self.script
        words = (*(self.entrypoint if entrypoint is None else entrypoint), *arguments)
        return call_of(words) if words else None


NO_START = ImageStart()


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """The shells of the build in order, then what the image starts."""
    found: list[Root] = []
    ends: dict[str, int] = {}
    stages = stages_of(facts)
    builds: dict[str, list[Setting]] = {}
    for script in scripts:
        if script.scope.kind != "subshell" or not script.scope.name.startswith(LAYER):
            continue
        stage = _stage_at(stages, _layer_line(script))
        if stage.name not in builds:
            builds[stage.name] = build_environment(facts, stage.name, text)
        before = _before(facts, stage.name, ends)
        ends[stage.name] = len(found)
        settings = tuple(s for s in builds[stage.name] if s.order < script.order)
        found.append(Root(facts.path, "build", stage.name, _layer_line(script), script, settings, image=stage.image,
                          before=before, stage=stage.name))  # fmt: skip
    return found + _image(facts, scripts, text, _before(facts, stages[-1].name if stages else "", ends))


def _image(facts: FileFacts, scripts: Sequence[Script], text: str, before: int) -> list[Root]:
    start = image_start(facts, scripts, text)
    stages = stages_of(facts)
    if start.script is None or not stages:
        return []
    stage = stages[-1]
    return [
        Root(facts.path, "image", stage.name, line_of(start.script), start.script, image_environment(facts),
             image=stage.image, before=before, unexported=_arguments(facts, stage.name), stage=stage.name)
    ]  # fmt: skip


def stages_of(facts: FileFacts) -> list[BuildStage]:
    """The stages of a file, in order."""
    parents = {part.place: part.version for part in facts.components if part.name == "stage"}
    return [
        BuildStage(part.detail, part.version, part.place.line, parents.get(part.place, ""))
        for part in facts.components
        if part.name == "image"
    ]


def chain(facts: FileFacts, stage: str = "") -> list[BuildStage]:
    """A stage, by default the last one, behind those that it is built from."""
    stages = stages_of(facts)
    by_name = {one.name.lower(): one for one in stages}
    at = by_name.get(stage.lower()) if stage else stages[-1] if stages else None
    found: list[BuildStage] = []
    while at is not None and at not in found:
        found.insert(0, at)
        at = by_name.get(at.parent.lower()) if at.parent else None
    return found


def image_environment(facts: FileFacts, stage: str = "") -> tuple[Setting, ...]:
    """What a container of the image has from ENV: that of the stage and of those it is built from."""
    return tuple(setting for one in chain(facts, stage) for setting in _of_stage(facts, one.name, "ENV"))


def build_environment(facts: FileFacts, stage: str, text: str) -> list[Setting]:
    """What the shells of a stage have in the end: ARG first, then ENV, which wins."""
    names = {one.name for one in chain(facts, stage)} or {""}
    taken = _taken(facts, text, names)
    arguments = [replace(s, exported="yes") for s in facts.settings if s.via == "ARG" and s.scope.name in names]
    env = [s for s in facts.settings if s.via == "ENV" and s.channel == "image" and s.scope.name in names]
    return [*(replace(s, exported="yes") for s in taken), *arguments, *env]


def _arguments(facts: FileFacts, stage: str) -> tuple[Setting, ...]:
    names = {"", *(one.name for one in chain(facts, stage))}
    return tuple(s for s in facts.settings if s.via == "ARG" and s.scope.name in names)


def _taken(facts: FileFacts, text: str, stages: set[str]) -> list[Setting]:
    """Arguments from before the first FROM that a bare `ARG NAME` of the stages takes up."""
    outside = [s for s in facts.settings if s.via == "ARG" and s.scope == Scope()]
    if not outside:
        return []
    listed = stages_of(facts)
    named = {
        word
        for line, one in _instructions(_normal(text))
        if one.keyword == "ARG" and _stage_at(listed, line).name in stages
        for word in one.flat(text).split()
    }
    return [s for s in outside if s.name in named]


def _of_stage(facts: FileFacts, stage: str, via: str) -> list[Setting]:
    scope = Scope("container", stage)
    return [s for s in facts.settings if s.channel == "image" and s.via == via and s.scope == scope]


def _stage_at(stages: Sequence[BuildStage], line: int) -> BuildStage:
    before = [one for one in stages if one.line <= line]
    return before[-1] if before else BuildStage("", "", 0)


def _before(facts: FileFacts, stage: str, ends: dict[str, int]) -> int:
    """The last shell of the stage so far, or else of those that it is built from."""
    known = [ends[one.name] for one in reversed(chain(facts, stage)) if one.name in ends]
    return known[0] if known else -1


def _layer_line(script: Script) -> int:
    digits = script.scope.name.removeprefix(LAYER)
    return int(digits) if digits.isdecimal() else line_of(script)


def image_start(facts: FileFacts, scripts: Sequence[Script], text: str, stage: str = "") -> ImageStart:
    """What the image of a stage, by default the last one, starts."""
    stages = stages_of(facts)
    there = [(line, one) for line, one in _instructions(_normal(text)) if one.keyword in STARTS]
    start = NO_START
    for one in chain(facts, stage):
        mine = [(line, found) for line, found in there if _stage_at(stages, line).name == one.name]
        start = _of_instructions(mine, start, Source(facts.path, _normal(text)))
    scope = Scope("container", stages[-1].name if stages and not stage else stage)
    return start._replace(script=_run_of(start, scripts, scope))


def _of_instructions(found: Sequence[tuple[int, Instruction]], start: ImageStart, source: Source) -> ImageStart:
    """The last ENTRYPOINT and CMD of one stage; a new ENTRYPOINT voids the CMD of the stage below."""
    last = {one.keyword: one for _, one in found}
    if entrypoint := last.get("ENTRYPOINT"):
        words, listed = _words(entrypoint, source)
        start = ImageStart(words, (), None, not listed)
    if command := last.get("CMD"):
        start = start._replace(command=_words(command, source)[0])
    return start


def _words(instruction: Instruction, source: Source) -> tuple[tuple[Word, ...], bool]:
    """The words of a process, and whether they are written as a list; text is given to a shell."""
    listed = exec_words(instruction.flat(source.text), instruction.body)
    if listed is not None:
        return tuple(_word(source, word.text, word.offsets) for word in listed), True
    shell = instruction.shell(source, instruction.body)
    if not shell.text.strip():
        return (), False
    begin = shell.point(0)
    program = (_placed("/bin/sh", begin, begin), _placed("-c", begin, begin))
    return (*program, _placed(shell.text, begin, shell.point(len(shell.text)))), False


def _word(source: Source, text: str, offsets: Sequence[int]) -> Word:
    begin = source.point(offsets[0] if offsets else 0)
    end = source.point(offsets[-1] + 1) if offsets else begin
    return _placed(text, begin, end)


def _placed(text: str, begin: Point, end: Point) -> Word:
    return (*begin, *end, (("text", text, *begin),) if text else ())


def _run_of(start: ImageStart, scripts: Sequence[Script], scope: Scope) -> Script | None:
    """The body of the one instruction that runs, or one call where both do."""
    words = start.entrypoint or start.command
    if not words:
        return None
    if start.entrypoint and start.command and not start.closed:
        return call_of((*start.entrypoint, *start.command))._replace(scope=scope)
    begin, end = words[0][:2], words[-1][2:4]
    held = [s for s in scripts if s.body and s.scope.kind == "container" and begin <= s.body[0][1:3] <= end]
    return held[0] if held else call_of(words)._replace(scope=scope)


def call_of(words: Sequence[Word], order: int = 0) -> Script:
    """A list of words as what runs, without a shell."""
    first, last = words[0], words[-1]
    body: Body = (("call", first[0], first[1], last[2], last[3], (), tuple(words), ()),)
    return Script(body, order=order, shell="")


def _instructions(text: str) -> Iterator[tuple[int, Instruction]]:
    """The instructions of a normal text with the line of each."""
    line, at = 1, 0
    for one in instructions(text):
        line += text.count("\n", at, one.start)
        at = one.start
        yield line, one


def _normal(text: str) -> str:
    """The text as its reader takes it, as long as it is."""
    return text.replace("\r\n", " \n").replace(GAP, " ")
