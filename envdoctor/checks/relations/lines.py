"""Which commands stand in some lines of a shell script, roughly: enough to say that none of them can matter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.core.regexes import regex

_HARMLESS = """
    : . [ [[ alias basename break case cat cd chmod clear conda continue cp cut date declare df dirname do done echo
    elif else esac eval exit export false fi for free function head hostname if in let ln local logger ls lscpu mamba
    mkdir ml module mv nproc pipefail popd printf pushd pwd pyenv read readlink readonly realpath return rm scontrol
    sed select seq set setenv shift shopt sleep sort source squeue sync tail tee test then time touch tr trap true type
    ulimit umask unalias uname unset uniq until wait wc which while whoami { } ( )
"""
HARMLESS = frozenset(_HARMLESS.split())
"""Words that begin a command without starting a program that asks for settings of the accelerator."""
_ASSIGNMENT = regex(r"(?:[A-Za-z_]\w*(?:\[[^]]*\])?\+?=)")
_HEREDOC = regex(r"<<-?\s*[\"']?(\w+)")
_SEPARATOR = regex(r"&&|\|\||[;|&]")
_QUOTED = regex(r"\\.|\"(?:[^\"\\]|\\.)*\"|'[^']*'|\$\([^()]*\)|`[^`]*`", re.DOTALL)


def commands_in(lines: Sequence[str]) -> Iterator[str]:
    """The first words of the commands in some whole lines; text in quotes and here-documents is none."""
    for statement in _SEPARATOR.split(_plain(lines).replace("\n", ";")):
        words = statement.split()
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:] if not words[0].endswith("(") else []
        if words and not words[0].startswith(("#", ")", "(", "}", "-", "<", ">", "[")):
            yield words[0]


def _plain(lines: Sequence[str]) -> str:
    """The lines without comments, quoted text, arrays and here-documents; continued lines are joined."""
    kept: list[str] = []
    end = ""
    for line in lines:
        if end:
            end = "" if line.strip() == end else end
            continue
        if match := _HEREDOC.search(line):
            end = match[1]
        kept.append(re.sub(r"(?:^|\s)#.*$", "", line))
    text = _QUOTED.sub("_", "\n".join(kept).replace("\\\n", " "))
    return re.sub(r"=\([^()]*\)", "=_", text)
