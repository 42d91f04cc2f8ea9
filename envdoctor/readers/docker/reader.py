"""Dockerfiles and Containerfiles: ENV and ARG, images of stages, RUN, CMD and ENTRYPOINT bodies.

What ENV sets reaches every later instruction of its stage, the stages built from it, and the running container. What
ARG and RUN export set is gone at run time (Dockerfile reference).
"""

from __future__ import annotations

from collections.abc import Callable

from envdoctor.core.facts import Channel, Component, Exported, FileFacts, Inclusion, Op, Scope, Setting, Value
from envdoctor.core.records import dataclass, field
from envdoctor.core.source import Source
from envdoctor.readers.docker.lines import GAP, Instruction, escape_of, instructions
from envdoctor.readers.docker.words import DockerPair, exec_words, flags_end, pairs, unquoted, words
from envdoctor.readers.kinds import shebang_kind
from envdoctor.readers.shared.collector import Collector, comment_at
from envdoctor.readers.shared.command_words import command_source, script_of
from envdoctor.readers.shared.substitution import Part, VariableReference, resolve, value_of
from envdoctor.readers.shared.template_mask import MaskedTemplate, mask

LARGEST = 4_000_000
MOST_COPIED = 200
"""Sources of one COPY that are taken."""
FOREIGN_SHELLS = ("powershell", "pwsh", "cmd", "cmd.exe", "powershell.exe")


@dataclass(slots=True)
class Stage:
    """One build stage: its name or number, the image it comes from, and what ENV and ARG have said so far."""

    name: str = ""
    image: str = ""
    constants: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    foreign_shell: bool = False

    @property
    def scope(self) -> Scope:
        """The scope of what the stage sets."""
        return Scope("container", self.name)


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one Dockerfile or Containerfile, in source order."""
    if len(source.text) > LARGEST:
        collector = Collector(source, kind)
        collector.problem(f"larger than {LARGEST} characters: not read", 0, 0)
        return collector.facts
    return DockerfileReader(source, kind).read()


class DockerfileReader:
    """Walks the instructions of one file and keeps the stage it is in."""

    def __init__(self, source: Source, kind: str) -> None:
        text = source.text.replace("\ufeff", " ").replace("\r\n", " \n").replace(GAP, " ")
        self.masked: MaskedTemplate = mask(text)
        self.text = self.masked.text
        self.source = Source(source.path, text, source.anchors, source.cell, source.inside)
        self.escape = escape_of(text)
        self.out = Collector(self.source, kind)
        self.globals: dict[str, str] = {}
        self.stage: Stage | None = None
        self.stages: dict[str, Stage] = {}

    def read(self) -> FileFacts:
        """Facts of the file."""
        handlers: dict[str, Callable[[Instruction], None]] = {
            "FROM": self.image, "ENV": self.environment, "ARG": self.argument, "RUN": self.run, "CMD": self.command,
            "ENTRYPOINT": self.command, "SHELL": self.shell, "ONBUILD": self.onbuild, "COPY": self.copy,
            "ADD": self.copy,
        }  # fmt: skip
        for instruction in instructions(self.text):
            if handler := handlers.get(instruction.keyword):
                handler(instruction)
        return self.out.facts

    @property
    def scope(self) -> Scope:
        """The scope of the stage; the whole file before the first FROM."""
        return self.stage.scope if self.stage else Scope()

    def image(self, instruction: Instruction) -> None:
        """`FROM [--platform=p] image [AS name]`: the image, or the stage that this one goes on from."""
        flat = instruction.flat(self.text)
        spans = list(words(flat[flags_end(flat) :], self.escape))
        if not spans:
            return
        begin = instruction.body + flags_end(flat)
        start, end = begin + spans[0][0], begin + spans[0][1]
        listed = [self.text[begin + first : begin + last] for first, last in spans]
        named = listed[2] if len(listed) > 2 and listed[1].lower() == "as" else str(len(self.stages))
        text = self.source.text[start:end]
        parent = self.stages.get(text.lower())
        image = parent.image if parent else resolve(unquoted(text, self.escape), self.globals) or text
        self.stage = Stage(named, image, dict(parent.constants) if parent else {})
        self.stages[named.lower()] = self.stage
        place = self.source.place(start, end)
        self.out.add(Component("image", image, place, named))
        if parent:
            self.out.add(Component("stage", parent.name, place, named))

    def environment(self, instruction: Instruction, via: str = "ENV") -> None:
        """`ENV A=1 B="x y"` and `ENV A the rest`."""
        for pair in pairs(instruction.flat(self.text), self.escape):
            parts = self.parts(instruction, pair)
            op, value = self.judged(pair.name, parts, self.raw(instruction, pair.value_at))
            self.setting(instruction, pair, op, value, "image", "yes", via)
            if self.stage and value.kind == "literal" and via == "ENV":
                self.stage.constants[pair.name] = value.text

    def argument(self, instruction: Instruction) -> None:
        """`ARG A=1`: a default for the build; a bare `ARG A` takes the default given before the first FROM."""
        known = self.globals if self.stage is None else self.stage.arguments
        flat = instruction.flat(self.text)
        for start, end in words(flat, self.escape):
            name = flat[start:end].replace(GAP, "")
            if "=" not in name:
                known.update({name: self.globals[name]} if name in self.globals else {})
                continue
            for pair in pairs(flat[:end], self.escape)[-1:]:
                text = self.raw(instruction, pair.value_at)
                value = value_of(self.parts(instruction, pair), text, known)
                if value.known is not None:
                    known[pair.name] = value.known
                self.setting(instruction, pair, "default", value, "argument", "no", "ARG")

    def parts(self, instruction: Instruction, pair: DockerPair) -> list[Part]:
        """The value of an assignment, unquoted."""
        start, end = pair.value_at
        flat = instruction.flat(self.text)[start:end]
        if self.masked.spans and self.masked.touches(instruction.body + start, instruction.body + end):
            flat = self.source.text[instruction.body + start : instruction.body + end]
        return unquoted(flat, self.escape)

    def raw(self, instruction: Instruction, span: tuple[int, int]) -> str:
        """The source text of a span of an instruction, for display."""
        return instruction.flat(self.source.text)[span[0] : span[1]].replace(GAP, "")

    def judged(self, name: str, parts: list[Part], text: str) -> tuple[Op, Value]:
        """Whether a value replaces, extends or only gives a default to what the name had, and the value."""
        references = [part for part in parts if isinstance(part, VariableReference)]
        constants = self.stage.constants if self.stage else {}
        known = {**(self.stage.arguments if self.stage else {}), **constants}
        value = value_of(parts, text, known)
        own = [part for part in references if part.name == name]
        if own and len(parts) > 1:
            return "append", value
        if own and own[0].operator in (":-", "-") and name not in known:
            return "default", value
        fixed = references and not own and all(part.name in constants for part in references)
        if fixed and value.fallback is not None:
            return "set", Value("literal", value.fallback)
        return "set", value

    def setting(
        self,
        instruction: Instruction,
        pair: DockerPair,
        op: Op,
        value: Value,
        channel: Channel,
        exported: Exported,
        via: str,
    ) -> None:
        """State one assignment."""
        base = instruction.body
        name_at, value_at = ((base + start, base + end) for start, end in (pair.name_at, pair.value_at))
        self.out.add(
            Setting(
                op, pair.name, value, self.source.place(name_at[0], value_at[1]), channel, 0, exported, self.scope,
                self.masked.around(name_at[0]), via, comment_at(self.source, name_at[0], value_at[1]),
                self.source.place(*name_at), self.source.place(*value_at),
            )
        )  # fmt: skip

    def onbuild(self, instruction: Instruction) -> None:
        """`ONBUILD ENV A=1`: for the images built from this one."""
        start, end = instruction.lines[0]
        keyword = self.text[start:end].split(None, 1)[0].upper() if self.text[start:end].strip() else ""
        body = start + self.text[start:end].upper().find(keyword) + len(keyword)
        inner = Instruction(keyword, instruction.start, body, [(body, end), *instruction.lines[1:]])
        if keyword == "ENV":
            self.environment(inner, "ONBUILD ENV")
        elif keyword == "RUN":
            self.run(inner)

    def shell(self, instruction: Instruction) -> None:
        """`SHELL ["powershell", "-command"]`: RUN bodies after it are no POSIX shell."""
        listed = exec_words(instruction.flat(self.text), instruction.body)
        if listed and self.stage:
            self.stage.foreign_shell = listed[0].text.rsplit("\\", 1)[-1].lower() in FOREIGN_SHELLS

    def run(self, instruction: Instruction) -> None:
        """`RUN`: its own shell; what it exports is lost after the layer."""
        line, _ = self.source.point(instruction.start)
        scope = Scope("subshell", f"layer at line {line}")
        flat = instruction.flat(self.text)
        begin = flags_end(flat)
        body = flat[begin:].strip(GAP + " \t\n")
        if instruction.documents and body.startswith("<<"):
            self.here_document(instruction, body, scope)
        else:
            self.process(instruction, begin, scope)

    def here_document(self, instruction: Instruction, body: str, scope: Scope) -> None:
        """`RUN <<EOF` runs its text, `RUN <<EOF python3` gives it to a program."""
        document = instruction.documents[0]
        text = self.source.text[document.start : document.end]
        program = body.split(None, 1)[1:]
        line = f"#!{program[0]}" if program else text if text.startswith("#!") else "#!/bin/sh"
        if kind := shebang_kind(line.encode("utf-8", "replace")):
            branch = self.masked.around(instruction.start)
            self.out.embed(self.source.part(document.start, document.end), kind, scope, branch)

    def command(self, instruction: Instruction) -> None:
        """`CMD` and `ENTRYPOINT`: what the container runs, with the environment of its stage."""
        self.process(instruction, 0, self.scope)

    def process(self, instruction: Instruction, begin: int, scope: Scope) -> None:
        """A command in shell or exec form, from offset `begin` of the body on."""
        branch = self.masked.around(instruction.start)
        start = instruction.body + begin
        listed = exec_words(instruction.flat(self.text)[begin:], start)
        if listed is not None:
            script = script_of(listed)
            inner = script.source(self.source) if script else command_source(self.source, listed)
            self.out.embed(inner, "shell", scope, branch)
        elif not (self.stage and self.stage.foreign_shell):
            self.out.embed(instruction.shell(self.source, start), "shell", scope, branch)

    def copy(self, instruction: Instruction) -> None:
        """`COPY <<EOF /etc/nccl.conf`: a file written from here, as `cat > /etc/nccl.conf <<EOF` would."""
        if not instruction.documents:
            self._copied(instruction)
            return
        flat = instruction.flat(self.text).replace(GAP, " ")
        target = flat.split()[-1]
        line, _ = self.source.point(instruction.start)
        column = self.source.point(instruction.body)[1]
        scope = Scope("subshell", f"layer at line {line}")
        for document in instruction.documents:
            body = self.source.part(document.start, document.closed)
            text = f"cat > {target} <<'{document.word}'\n{body.text}"
            anchors = [(line, column), *(body.point(start) for start in body.starts())]
            self.out.embed(self.source.replaced(text, anchors), "shell", scope, self.masked.around(instruction.start))

    def _copied(self, instruction: Instruction) -> None:
        """`COPY run.sh /app/`: files of the tree that the image holds. What comes from another image is none of it."""
        flat = instruction.flat(self.text)
        start = flags_end(flat)
        if "--from" in flat[:start]:
            return
        listed = exec_words(flat, start)
        rest = flat[start:]
        named = [w.text for w in listed] if listed else [rest[a:b] for a, b in words(rest, self.escape)]
        for written in named[:-1][:MOST_COPIED]:
            place = self.source.place(instruction.start, instruction.start + len(instruction.keyword))
            branch = self.masked.around(instruction.start)
            self.out.add(Inclusion("copy", written, place, 0, branch, self.scope, named[-1]))
