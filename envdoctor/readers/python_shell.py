"""Shell text and command lists in Python: what is run by a shell, starts ranks, or is written into a script."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from dataclasses import replace

from envdoctor.facts import Branch, Launch, Op, Scope, Setting, Value
from envdoctor.readers.command_words import SHELLS, Word, command_source, script_of
from envdoctor.readers.embedded import MappedSource, merge, read_embedded
from envdoctor.readers.python_emit import ORDERS, Emitter, Given
from envdoctor.readers.python_mappings import name_of
from envdoctor.readers.python_scopes import Where
from envdoctor.readers.python_scripts import BATCH, COMMAND, EXPORT, FLAGS, GIVES, HINTS, PREFIX, Simple, roots
from envdoctor.readers.python_text import MARK, UNKNOWN, Text, Texts, joined
from envdoctor.readers.python_words import is_capitals, says_runner

SHELL_CALLS = {
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "commands.getoutput",
    "asyncio.create_subprocess_shell", "commands.getstatusoutput",
}  # fmt: skip
"""Functions that hand their first argument to a shell."""
PROGRAM_CALLS = {
    "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.Popen",
    "asyncio.create_subprocess_exec", "os.execvp", "os.execv", "os.execvpe", "os.execve", "pexpect.spawn",
}  # fmt: skip
"""Functions that run a list of words, or with `shell=True` a command."""
LAUNCHERS = {
    "accelerate", "apptainer", "colossalai", "deepspeed", "docker", "env", "flux", "horovodrun", "jsrun", "kubectl",
    "lightning", "mpiexec", "mpirun", "nvidia-docker", "orterun", "pdsh", "podman", "prun", "python", "python3", "ray",
    "salloc", "sbatch", "singularity", "srun", "ssh", "torchrun",
}  # fmt: skip
"""First words of lists that are commands, wherever they stand."""
FORWARDING = {"-x", "-e", "--env", "--export", "-genv"}
ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9_]+)=(.*)", re.DOTALL)


class Shell:
    """Reads the shell text of one file."""

    __slots__ = ("_consumed", "_hints", "_lists", "_pending", "emit", "texts", "values")

    def __init__(self, emit: Emitter) -> None:
        self.emit = emit
        self.values = emit.values
        self.texts = Texts(emit.code, emit.values)
        self._consumed: set[int] = set()
        self._lists: list[tuple[ast.List | ast.Tuple, Where]] = []
        self._pending: list[tuple[ast.expr, Where]] = []
        self._hints = sorted({m.start() for hint in HINTS for m in re.finditer(hint, emit.code.text)})

    def is_special(self, dotted: str, name: str) -> bool:
        """Whether `call` does anything for this name."""
        return dotted in SHELL_CALLS or dotted in PROGRAM_CALLS or says_runner(name)

    def call(self, node: ast.Call, dotted: str, where: Where) -> None:
        """A call that runs a command."""
        if dotted in SHELL_CALLS:
            self._run_text(_command(node), where)
        elif dotted in PROGRAM_CALLS:
            shell = next((k.value for k in node.keywords if k.arg == "shell"), None)
            if isinstance(shell, ast.Constant) and shell.value:
                command = _command(node)
                self._run_text(command.elts[0] if isinstance(command, ast.List) and command.elts else command, where)
            else:
                words = node.args[1] if dotted.startswith("os.exec") and len(node.args) > 1 else _command(node)
                self._run_words(words, where)
        elif says_runner(name_of(node.func)) and node.args and not isinstance(node.args[0], (ast.Name, ast.Attribute)):
            text = self.texts.text(node.args[0], where)
            if text is not None and (EXPORT.search(text[0]) or PREFIX.search(text[0])):
                self._run_text(node.args[0], where)

    def listed(self, node: ast.List | ast.Tuple, where: Where) -> None:
        """A list display; it may be a command or a part of one."""
        program = _program(node)
        if program and (program in LAUNCHERS or program in SHELLS or any(_is_flag(part) for part in node.elts)):
            self._lists.append((node, where))

    def statement(self, node: ast.stmt, where: Where) -> None:
        """A statement that may build a script."""
        if not self._hints or not isinstance(node, Simple):
            return
        start, end = self.emit.code.span(node)
        at = bisect_left(self._hints, start)
        if at < len(self._hints) and self._hints[at] < end and node.value is not None:
            self._pending += [(root, where) for root in roots(node, where)]

    def settle(self) -> None:
        """Read what no call was seen to run: scripts, and lists that are commands."""
        for root, where in self._pending:
            if id(root) not in self._consumed:
                self._pending_text(root, where)
        for node, where in self._lists:
            if id(node) not in self._consumed:
                if _program(node) in LAUNCHERS or _program(node) in SHELLS:
                    self._words(self._listed_words(node, where), where, node)
                else:
                    self._flags(node, where)

    def _pending_text(self, root: ast.expr, where: Where) -> None:
        text = self._script(root, where)
        if text is None:
            return
        if EXPORT.search(text[0]) or BATCH.search(text[0]):
            self._embed(self.texts.source(text), where, Scope("file"), root)
        elif COMMAND.match(text[0]) and GIVES.search(text[0]):
            self._embed(self.texts.source(text), where, self._subshell(where), root)
        elif FLAGS.match(text[0]):
            launches = len(self.emit.facts.launches)
            whole = joined([("mpirun ", [text[1][0]] * len("mpirun ")), text])
            self._embed(self.texts.source(whole), where, self._subshell(where), root)
            del self.emit.facts.launches[launches:]

    def _script(self, root: ast.expr, where: Where) -> Text | None:
        if isinstance(root, (ast.List, ast.Tuple)):
            return self.texts.lines(root, where)
        return self.texts.text(root, where)

    def _run_text(self, node: ast.expr | None, where: Where) -> None:
        """A command that a shell runs."""
        if node is None:
            return
        text = self.texts.text(node, where)
        self._consume(node, where)
        if text is not None and text[0].strip():
            self._embed(self.texts.source(text), where, self._subshell(where), node)

    def _run_words(self, node: ast.expr | None, where: Where) -> None:
        """A command given as a list of words."""
        if isinstance(node, ast.Call) and name_of(node.func) == "split":
            inner = node.args[0] if node.args else getattr(node.func, "value", None)
            self._run_text(inner, where)
        elif node is not None:
            self._consume(node, where)
            words = self._all_words(node, where)
            if words:
                self._words(words, where, node)

    def _consume(self, node: ast.expr, where: Where, depth: int = 4) -> None:
        """What was run is not read again where it was built."""
        for part in ast.walk(node):
            self._consumed.add(id(part))
            if isinstance(part, ast.Name) and depth > 0:
                for binding in self.values.bindings(part, where):
                    built = binding.node.value if isinstance(binding.node, ast.AugAssign) else binding.node
                    if isinstance(built, ast.expr) and id(built) not in self._consumed:
                        self._consume(built, binding.where, depth - 1)

    def _subshell(self, where: Where) -> Scope:
        return Scope("subshell", where.block.scope.fact().name)

    def _embed(self, source: MappedSource, where: Where, scope: Scope, node: ast.expr) -> None:
        order = self.emit.order(where) if source.text else where.position << ORDERS
        facts = read_embedded(source, "shell", order, scope, where.block.branches(self.emit.code))
        comment = self.emit.comment(*self.emit.code.span(node)) if facts.settings else ""
        facts.settings = [_cleaned(setting, comment) for setting in facts.settings if MARK not in setting.name]
        facts.uses = [use for use in facts.uses if use.name != MARK]
        facts.launches = [_cleaned_launch(launch) for launch in facts.launches]
        facts.problems = []
        merge(self.emit.facts, facts)

    def _words(self, words: list[Word], where: Where, node: ast.expr) -> None:
        script = script_of(words)
        source = script.source(self.emit.code.source) if script else command_source(self.emit.code.source, words)
        self._embed(source, where, self._subshell(where), node)

    def _all_words(self, node: ast.expr, where: Where, depth: int = 4) -> list[Word]:
        """The words of a list, of lists that are added, or of the list that a name was given."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._listed_words(node, where, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._all_words(node.left, where, depth) + self._all_words(node.right, where, depth)
        words: list[Word] = []
        if isinstance(node, (ast.Name, ast.Attribute)) and depth > 0:
            for binding in self.values.bindings(node, where):
                if binding.kind == "value" and isinstance(binding.node, ast.expr):
                    words = self._all_words(binding.node, binding.where, depth - 1) or words
                elif isinstance(binding.node, ast.AugAssign):
                    words += self._all_words(binding.node.value, binding.where, depth - 1)
        return words

    def _listed_words(self, node: ast.List | ast.Tuple, where: Where, depth: int = 4) -> list[Word]:
        words: list[Word] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                words += self._all_words(element.value, where, depth - 1)
                continue
            text = self._word(element, where)
            words.append(Word(text[0], [self.emit.code.in_source(offset) for offset in text[1]]))
        return words

    def _word(self, node: ast.expr, where: Where) -> Text:
        if isinstance(node, ast.Attribute) and node.attr == "executable":
            start = self.emit.code.span(node)[0]
            return "python", [start] * len("python")
        return self.texts.text(node, where) or self.texts.unknown(node)

    def _flags(self, node: ast.List | ast.Tuple, where: Where) -> None:
        """`["-x", "A=1"]`, added to a command that is built elsewhere."""
        for flag, given in zip(node.elts, node.elts[1:], strict=False):
            text = self.texts.text(given, where) if _is_flag(flag) else None
            match = ASSIGNMENT.fullmatch(text[0]) if text else None
            if text and match:
                value = Value("literal", match[2]) if MARK not in match[2] else Value("template", _shown(match[2]))
                self._flagged("set", match[1], value, text, where)
            elif text and is_capitals(text[0]) and "_" in text[0] and ast.literal_eval(flag) == "-x":
                self._flagged("pass", text[0], Value("unknown"), text, where)

    def _flagged(self, op: Op, name: str, value: Value, text: Text, where: Where) -> None:
        start, end = text[1][0], text[1][-1] + 1
        self.emit.setting(Given(op, name, value, "launcher-argument"), (start, end), where)
        stated = self.emit.facts.settings[-1]
        place = self.emit.code.between(start, text[1][len(name) - 1] + 1)
        self.emit.facts.settings[-1] = replace(stated, name_place=place)

def _command(node: ast.Call) -> ast.expr | None:
    if node.args:
        return node.args[0]
    return next((k.value for k in node.keywords if k.arg in ("args", "cmd", "command")), None)


def _program(node: ast.List | ast.Tuple) -> str:
    """The first word of a list, without its folder."""
    first = node.elts[0] if node.elts else None
    text = first.value if isinstance(first, ast.Constant) else None
    return text.rsplit("/", 1)[-1] if isinstance(text, str) else ""


def _is_flag(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in FORWARDING


def _shown(text: str) -> str:
    return text.replace(UNKNOWN, "{...}").replace(MARK, "...")


def _cleaned_launch(launch: Launch) -> Launch:
    """A launch without the marks for what only Python knows."""
    words, inner = tuple(_shown(word) for word in launch.words), tuple(_shown(word) for word in launch.inner)
    scope, branch = _shown_scope(launch.scope), _shown_branch(launch.branch)
    return replace(launch, words=words, inner=inner, scope=scope, branch=branch)


def _cleaned(setting: Setting, comment: str) -> Setting:
    """A setting of embedded text without the marks for what only Python knows."""
    value = setting.value
    if MARK in value.text or MARK in value.references:
        references = tuple(name for name in value.references if name != MARK)
        value = Value("template", _shown(value.text), references)
    scope, branch = _shown_scope(setting.scope), _shown_branch(setting.branch)
    return replace(setting, value=value, comment=setting.comment or comment, scope=scope, branch=branch)


def _shown_scope(scope: Scope) -> Scope:
    return Scope(scope.kind, _shown(scope.name)) if MARK in scope.name else scope


def _shown_branch(branch: tuple[Branch, ...]) -> tuple[Branch, ...]:
    return tuple(replace(part, condition=_shown(part.condition)) for part in branch)
