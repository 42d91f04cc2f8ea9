"""Compares the assignments the shell reader finds with those of a second, independent reader, over folders of scripts.

    python tests/tools/compare_shell_assignments.py FOLDER...

The second reader is the lexer below: it shares no code with the package and knows nothing of the grammar. Printed are
the assignments (file, line, name) that only one of the two found, and the recall of the shell reader against the
union. Text inside text (here-documents, `bash -c` strings) is left out on both sides.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from envdoctor.core.source import Source
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.registry import read

KEYWORDS = {"then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "time", "fi", "done", "esac", "coproc"}
DECLARING = {"export", "declare", "typeset", "local", "readonly"}
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?\+?=")
BLANK = " \t\r"


class Lexer:
    """A shell lexer that knows just enough to tell where an assignment may stand."""

    def __init__(self, text: str, line: int = 1) -> None:
        self.text, self.at, self.line = text, 0, line
        self.found: list[tuple[int, str]] = []
        self.pending: list[tuple[str, bool]] = []
        self.mode = "command"  # command, arguments, declaration, for, case, pattern
        self.cases = 0

    def run(self) -> list[tuple[int, str]]:
        while self.at < len(self.text):
            self.step()
        return self.found

    def advance(self, count: int = 1) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def step(self) -> None:
        text, char = self.text, self.text[self.at]
        if char in BLANK:
            self.at += 1
        elif text.startswith("\\\n", self.at):
            self.advance(2)
        elif char == "\n":
            self.advance()
            self.heredocs()
            self.mode = "pattern" if self.mode == "pattern" else "command"
        elif char == "#":
            end = text.find("\n", self.at)
            self.at = len(text) if end == -1 else end
        elif text.startswith("((", self.at) and self.mode in ("command", "for"):
            self.arithmetic()
        elif text.startswith("<<", self.at) and not text.startswith("<<<", self.at):
            self.heredoc_start()
        elif text.startswith(("<(", ">("), self.at):
            self.nested(2, ")")
        elif char in ";&|()<>":
            self.operator(char)
        else:
            self.word()

    def operator(self, char: str) -> None:
        if self.text.startswith(";;", self.at):
            self.mode = "pattern" if self.cases else "command"
            self.at += 2
            return
        self.at += 1
        if char == ")" and self.mode == "pattern":
            self.mode = "command"
        elif char in "<>":
            while self.at < len(self.text) and self.text[self.at] in "<>&|":
                self.at += 1
            self.mode += "" if self.mode.endswith("+") else "+"
        elif self.mode != "pattern" and not (char == "&" and self.text[self.at : self.at + 1] == ">"):
            self.mode = "command"

    def arithmetic(self) -> None:
        depth = 0
        while self.at < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.advance()
            if depth == 0:
                break
        self.mode = "command"

    def heredoc_start(self) -> None:
        match = re.compile(r"<<(-?)[ \t]*(['\"\\]?)([\w.!@%+-]+)['\"]?").match(self.text, self.at)
        if match is None:
            self.at += 2
            return
        self.pending.append((match[3], bool(match[1])))
        self.at = match.end()

    def heredocs(self) -> None:
        for delimiter, dash in self.pending:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end == -1 else end
                line = self.text[self.at : end].rstrip("\r")
                self.advance(end - self.at + 1)
                if (line.lstrip("\t") if dash else line) == delimiter:
                    break
        self.pending = []

    def nested(self, opening: int, closer: str) -> None:
        """Read a substitution with a lexer of its own."""
        start = self.at + opening
        end = self.close(start, closer)
        self.found += Lexer(self.text[start : end - 1], self.line + self.text.count("\n", self.at, start)).run()
        self.advance(end - self.at)

    def close(self, at: int, closer: str) -> int:
        """Where a substitution that begins at `at` ends, its closer included."""
        depth = 1
        opener = {")": "(", "}": "{"}.get(closer, "")
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 1
            elif char == "'" and closer == ")":
                at = self.text.find("'", at + 1)
                if at == -1:
                    return len(self.text)
            elif char == '"':
                at = self.double(at)
                continue
            elif char == closer:
                depth -= 1
                if depth == 0:
                    return at + 1
            elif char == opener:
                depth += 1
            at += 1
        return len(self.text)

    def double(self, at: int) -> int:
        """Where a double-quoted string that begins at `at` ends."""
        at += 1
        while at < len(self.text):
            if self.text[at] == "\\":
                at += 1
            elif self.text.startswith("$(", at):
                at = self.close(at + 2, ")")
                continue
            elif self.text[at] == '"':
                return at + 1
            at += 1
        return len(self.text)

    def word(self) -> None:
        line, start = self.line, self.at
        first = True
        while self.at < len(self.text) and self.text[self.at] not in " \t\r\n;&|()<>":
            self.piece()
            assigned = ASSIGNMENT.fullmatch(self.text[start : self.at]) if first else None
            if assigned and self.text.startswith("(", self.at) and self.mode in ("command", "declaration"):
                self.advance(self.close(self.at + 1, ")") - self.at)
                break
            first = first and ASSIGNMENT.match(self.text[start : self.at]) is None
        if self.at == start:
            self.at += 1
        self.judge(self.text[start : self.at], line)

    def piece(self) -> None:
        text, char = self.text, self.text[self.at]
        if char == "\\":
            self.advance(2)
        elif char == "'":
            end = text.find("'", self.at + 1)
            self.advance((len(text) if end == -1 else end + 1) - self.at)
        elif char == '"':
            self.inside(self.double(self.at))
        elif text.startswith("$((", self.at):
            self.advance(self.close(self.at + 2, ")") - self.at)
        elif text.startswith("$(", self.at):
            self.nested(2, ")")
        elif char == "`":
            self.nested(1, "`")
        elif text.startswith("${", self.at):
            self.advance(self.close(self.at + 2, "}") - self.at)
        else:
            self.at += 1

    def inside(self, end: int) -> None:
        """Read the substitutions in a double-quoted string."""
        while self.at < end:
            if self.text[self.at] == "\\":
                self.advance(2)
            elif self.text.startswith("$(", self.at) and not self.text.startswith("$((", self.at):
                self.nested(2, ")")
            elif self.text[self.at] == "`":
                self.nested(1, "`")
            else:
                self.advance()

    def judge(self, word: str, line: int) -> None:
        if self.mode.endswith("+"):
            self.mode = self.mode[:-1]
            return
        match = ASSIGNMENT.match(word)
        if self.mode in ("command", "declaration") and match:
            if not match[2]:
                self.found.append((line, match[1]))
        elif self.mode == "command":
            self.command(word)
        elif self.mode == "case" and word == "in":
            self.mode = "pattern"
        elif self.mode == "pattern" and word == "esac":
            self.cases, self.mode = self.cases - 1, "command"

    def command(self, word: str) -> None:
        if word == "case":
            self.cases, self.mode = self.cases + 1, "case"
        elif word == "esac":
            self.cases -= 1
        elif word in ("for", "select", "function"):
            self.mode = "for"
        elif word in DECLARING:
            self.mode = "declaration"
        elif word not in KEYWORDS:
            self.mode = "arguments"


def ours(path: str, text: str) -> set[tuple[int, str]]:
    """Assignments of the shell reader, without those of text inside text, loops and `${X:=d}`."""
    facts = read(Source(path, text), "shell")
    return {
        (s.name_place.line, s.name)
        for s in facts.settings
        if s.op in ("set", "append") and s.channel == "shell" and s.name_place is not None
    }


def scripts(folders: list[Path]) -> list[Path]:
    """The shell scripts in folders."""
    files = [f for folder in folders for f in sorted(folder.rglob("*")) if f.is_file() and not f.is_symlink()]
    result = []
    for file in files:
        with file.open("rb") as stream:
            if kind_of(str(file), stream.read(256)) == "shell":
                result.append(file)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=40, help="differences to print of each side")
    options = parser.parse_args()
    both = missed = extra = 0
    files = scripts(options.folders)
    lines: dict[str, list[str]] = {"missed": [], "extra": []}
    for file in files:
        text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        mine, theirs = ours(str(file), text), set(Lexer(text).run())
        both += len(mine & theirs)
        missed += len(theirs - mine)
        extra += len(mine - theirs)
        rows = text.split("\n")
        for kind, found in (("missed", theirs - mine), ("extra", mine - theirs)):
            lines[kind] += [f"{file}:{line}: {name}: {rows[line - 1].strip()[:120]}" for line, name in sorted(found)]
    for kind, found_lines in lines.items():
        print(f"-- {kind}: {len(found_lines)}")
        print("\n".join(found_lines[: options.show]))
    union = both + missed + extra
    print(f"{len(files)} files, {both} found by both, {missed} only by the lexer, {extra} only by the reader")
    print(f"recall of the reader against the union: {100 * (both + extra) / max(union, 1):.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
