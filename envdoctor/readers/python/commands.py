"""Reads the shell text and command lists of a Python file: what is run, starts ranks or is written into a script."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from envdoctor.core.facts import Branch, Launch, Op, Scope, Setting, Value
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.readers.python.emit import ORDERS, Emitter, GivenValue
from envdoctor.readers.python.environment.mappings import name_of
from envdoctor.readers.python.names.scopes import Where
from envdoctor.readers.python.names.text import MARK, UNKNOWN, Text, Texts, joined
from envdoctor.readers.python.names.words import is_capitals
from envdoctor.readers.python.scripts import BATCH, COMMAND, EXPORT, FLAGS, GIVES, PREFIX, ScriptRoot, roots
from envdoctor.readers.python.shell import LAUNCHERS, PROGRAM_CALLS, SHELL_CALLS, List, Simple, is_flag, program_of
from envdoctor.readers.shared.command_words import CommandWord, command_source, script_of
from envdoctor.readers.shared.embedded import MappedSource, merge, read_embedded

ASSIGNMENT = regex(r"([A-Z][A-Z0-9_]+)=(.*)", re.DOTALL)
TELLING = regex(r"=|\b(?:" + "|".join(sorted(LAUNCHERS)) + r")\b")
"""What a command holds that sets a variable or starts ranks."""


class Commands:
    """Reads the shell text of one file."""

    __slots__ = ("_consumed", "_fresh", "emit", "texts", "values")

    def __init__(self, emit: Emitter) -> None:
        self.emit = emit
        self.values = emit.values
        self.texts = Texts(emit.code, emit.values)
        self._consumed: set[int] = set()
        self._fresh: dict[str, str] = {}
        """The scope of the script that a name stands for by now."""

    def read(
        self,
        runs: Iterable[tuple[ast.Call, str, Where]],
        lists: Iterable[tuple[List, Where]],
        statements: Iterable[tuple[Simple, Where]],
    ) -> None:
        """State the facts of calls that run commands, then of scripts and lists that no call was seen to run."""
        for node, dotted, where in runs:
            self._run(node, dotted, where)
        for statement, where in statements:
            for root in roots(statement, where):
                if id(root.node) not in self._consumed:
                    self._pending_text(root, where)
        for listed, where in lists:
            if id(listed) in self._consumed:
                continue
            if program_of(listed) in LAUNCHERS:
                self._words(self._listed_words(listed, where), where, listed)
            else:
                self._flags(listed, where)

    def _run(self, node: ast.Call, dotted: str, where: Where) -> None:
        command = _command(node)
        if dotted in SHELL_CALLS:
            self._run_text(command, where)
        elif dotted in PROGRAM_CALLS:
            shell = next((k.value for k in node.keywords if k.arg == "shell"), None)
            if isinstance(shell, ast.Constant) and shell.value:
                self._run_text(command.elts[0] if isinstance(command, ast.List) and command.elts else command, where)
            else:
                self._run_words(node.args[1] if dotted.startswith("os.exec") and node.args[1:] else command, where)
        elif command is not None and not isinstance(command, (ast.Name, ast.Attribute)):
            text = self.texts.text(command, where)
            if text is not None and (EXPORT.search(text[0]) or PREFIX.search(text[0])):
                self._run_text(command, where)

    def _pending_text(self, found: ScriptRoot, where: Where) -> None:
        root = found.node
        text = self._script(root, where)
        if text is None:
            return
        if EXPORT.search(text[0]) or BATCH.search(text[0]):
            self._embed(self.texts.source(text), where, self._text_scope(found, where), root)
        elif COMMAND.match(text[0]) and GIVES.search(text[0]):
            self._embed(self.texts.source(text), where, self._subshell(where), root)
        elif FLAGS.match(text[0]):
            launches = len(self.emit.facts.launches)
            whole = joined([("mpirun ", [text[1][0]] * len("mpirun ")), text])
            self._embed(self.texts.source(whole), where, self._subshell(where), root)
            del self.emit.facts.launches[launches:]

    def _text_scope(self, found: ScriptRoot, where: Where) -> Scope:
        """The scope of a script that is built in code and whose file is not known; no path has such a name."""
        name = f"*{found.label}@{where.block.scope.fact().name}"
        if found.fresh:
            self._fresh[name] = f"{name}:{found.node.lineno}"
        return Scope("file", self._fresh.get(name, name))

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
        if text is not None and TELLING.search(text[0]):
            self._embed(self.texts.source(text), where, self._subshell(where), node)

    def _run_words(self, node: ast.expr | None, where: Where) -> None:
        """A command given as a list of words."""
        if isinstance(node, ast.Call) and name_of(node.func) == "split":
            inner = node.args[0] if node.args else getattr(node.func, "value", None)
            self._run_text(inner, where)
        elif node is not None:
            self._consume(node, where)
            words = self._all_words(node, where)
            if any(TELLING.search(word.text) for word in words):
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

    def _words(self, words: list[CommandWord], where: Where, node: ast.expr) -> None:
        script = script_of(words)
        source = script.source(self.emit.code.source) if script else command_source(self.emit.code.source, words)
        self._embed(source, where, self._subshell(where), node)

    def _all_words(self, node: ast.expr, where: Where, depth: int = 4) -> list[CommandWord]:
        """The words of a list, of lists that are added, or of the list that a name was given."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._listed_words(node, where, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._all_words(node.left, where, depth) + self._all_words(node.right, where, depth)
        words: list[CommandWord] = []
        if isinstance(node, (ast.Name, ast.Attribute)) and depth > 0:
            for binding in self.values.bindings(node, where):
                if binding.kind == "value" and isinstance(binding.node, ast.expr):
                    words = self._all_words(binding.node, binding.where, depth - 1) or words
                elif isinstance(binding.node, ast.AugAssign):
                    words += self._all_words(binding.node.value, binding.where, depth - 1)
        return words

    def _listed_words(self, node: ast.List | ast.Tuple, where: Where, depth: int = 4) -> list[CommandWord]:
        words: list[CommandWord] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                words += self._all_words(element.value, where, depth - 1)
                continue
            text = self._word(element, where)
            words.append(CommandWord(text[0], [self.emit.code.in_source(offset) for offset in text[1]]))
        return words

    def _word(self, node: ast.expr, where: Where) -> Text:
        if isinstance(node, ast.Attribute) and node.attr == "executable":
            start = self.emit.code.span(node)[0]
            return "python", [start] * len("python")
        return self.texts.text(node, where) or self.texts.unknown(node)

    def _flags(self, node: ast.List | ast.Tuple, where: Where) -> None:
        """`["-x", "A=1"]`, added to a command that is built elsewhere."""
        for flag, given in zip(node.elts, node.elts[1:], strict=False):
            text = self.texts.text(given, where) if is_flag(flag) else None
            match = ASSIGNMENT.fullmatch(text[0]) if text else None
            if text and match:
                value = Value("literal", match[2]) if MARK not in match[2] else Value("template", _shown(match[2]))
                self._flagged("set", match[1], value, text, where)
            elif text and is_capitals(text[0]) and "_" in text[0] and ast.literal_eval(flag) == "-x":
                self._flagged("pass", text[0], Value("unknown"), text, where)

    def _flagged(self, op: Op, name: str, value: Value, text: Text, where: Where) -> None:
        start, end = text[1][0], text[1][-1] + 1
        self.emit.setting(GivenValue(op, name, value, "launcher-argument"), (start, end), where)
        stated = self.emit.facts.settings[-1]
        place = self.emit.code.between(start, text[1][len(name) - 1] + 1)
        self.emit.facts.settings[-1] = replace(stated, name_place=place)


def _command(node: ast.Call) -> ast.expr | None:
    if node.args:
        return node.args[0]
    return next((k.value for k in node.keywords if k.arg in ("args", "cmd", "command")), None)


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
