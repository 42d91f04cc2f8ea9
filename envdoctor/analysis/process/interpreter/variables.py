"""Variables that come from files, and what nobody knows: what a process may have more, or may lack."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.analysis.process.interpreter import assign
from envdoctor.analysis.process.interpreter.shell.xargs import stops_at
from envdoctor.analysis.process.interpreter.slots import Alternative, Exported, Known, Loss, ValueOrigin, perhaps
from envdoctor.analysis.process.interpreter.state import Shell
from envdoctor.analysis.process.interpreter.text import Text, written_at
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.facts import Setting

_ENV_READ = re.compile(
    r"(?:cat|grep|sed|xargs|awk|envsubst|<)[^|)`]{0,200}?(?<![\w/$])([\w./${}~\"-]{0,100}env[\w.\"-]*)"
)
_PLAIN_READ = re.compile(
    r"[$(`]*(?:cat [^|]*|xargs [^|]*<[^|]*|(?:e?grep|sed|awk)(?=[^|]*#)[^|]*|envsubst[^|]*)"
    r"(?:\|\s*(?:xargs[^|]*|tr[^|]*|envsubst[^|]*|(?:e?grep|sed)(?=[^|]*[#$])[^|]*))*[`)]*"
)
"""All of a file, but for its comments."""
_SPLIT = re.compile(r"[\s'\"\\]")
"""What makes a value another one where words are split."""
_WHOLE = re.compile(r"\bcat\b[^|]*\|\s*xargs|\bxargs\b[^|]*<")
"""xargs gets the comments of the file too."""
_COMMENT = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_UNQUOTES = re.compile(r"\bxargs\b")
"""What takes quotes away."""
_QUOTE = re.compile(r"['\"\\]")
_ACTIVATION = re.compile(
    r"activate|conda\.sh|profile|bashrc|modules|lmod|module|setvars\.sh|spack|venv|nvm\.sh|cargo/env|^/etc/"
)
"""Files outside of a project that are sourced for programs and paths."""


def give(walker: Walker, setting: Setting, shell: Shell, operation: str) -> None:
    """Bind what a file says that a process has."""
    name, place = setting.name, setting.name_place or setting.place
    if setting.op == "unset":
        assign.unset(shell, name)
    elif setting.op == "pass":
        shell.bind(name, (Alternative("unknown", f"${name}", "maybe"),))
    elif setting.op in ("set", "default", "append"):
        value = setting.value
        text = value.known if value.kind != "unknown" else None
        origin = ValueOrigin(name, place, operation, shell.process.layer, setting.op == "default")
        exported: Exported = "no" if setting.exported == "no" else "yes"
        kind: Known = "literal" if text is not None else "unknown"
        shell.lost.pop(name, None)
        origins = (origin,) if walker.is_known(name) else ()
        shell.bind(name, (Alternative(kind, value.text if text is None else text, exported, origins),))


def load(walker: Walker, path: str, shell: Shell, under: bool = False, maybe: bool = False) -> None:
    """Bind the settings of a file of variables; `under`: only those that are not there yet."""
    facts = walker.project.facts.whole(path)
    there = set(shell.visible) if under else set()
    for setting in facts.settings if facts is not None else ():
        if setting.name in there:
            continue
        give(walker, setting, shell, "file")
        slot = shell.visible.get(setting.name)
        if maybe and slot is not None:
            shell.visible[setting.name] = tuple(a._replace(exported="maybe") for a in slot)


def source(walker: Walker, path: str, shell: Shell) -> None:
    """A file of variables under `source`: assignments, exported only where everything is."""
    facts = walker.project.facts.whole(path)
    for setting in facts.settings if facts is not None else ():
        exported = shell.allexport if setting.exported == "no" or setting.op != "export" else "yes"
        place = setting.name_place or setting.place
        text = written_at(setting.value.known, setting.value_place or place)
        assign.bind(walker, shell, setting.name, text, place, assign.BindingManner("assign", exported))


def lines(walker: Walker, text: Text, shell: Shell) -> None:
    """Bind the `NAME=VALUE` lines of a file that was written on the way."""
    for word in text.fields():
        parts = word.assignment()
        if parts is not None:
            name, _, value = parts
            shell.lost.pop(name.text, None)
            assign.bind(walker, shell, name.text, value, name.written(), assign.BindingManner("file", "yes"))


def exports(walker: Walker, field: Text, shell: Shell) -> None:
    """`export $(grep -v '^#' .env | xargs)`: the file is read; else nobody knows what is exported."""
    match = _ENV_READ.search(field.text)
    name = match[1] if match else ""
    path = walker.find_text(name, shell) if name else None
    if path is None or name in shell.files:
        opened(shell)
        return
    load(walker, path, shell)
    if not _PLAIN_READ.fullmatch(field.text):
        opened(shell)
        for setting in _settings(walker, path):
            shell.blur(setting.name)
        return
    if _UNQUOTES.search(field.text):
        _unread(walker, path, field, shell)
    text = walker.project.files.text(path).split("\n") if not _UNQUOTES.search(field.text) else []
    for setting in _settings(walker, path):
        line = text[setting.place.line - 1] if 0 < setting.place.line <= len(text) else ""
        if _SPLIT.search(setting.value.text) or _QUOTE.search(line):
            assign.bind(walker, shell, setting.name, None, setting.place, assign.BindingManner("file", "yes"))


def _unread(walker: Walker, path: str, field: Text, shell: Shell) -> None:
    """What stands in a file behind a quote at which xargs stops, in a comment for instance, is never exported."""
    text = walker.project.files.text(path)
    if not _WHOLE.search(field.text):
        text = _COMMENT.sub("", text)  # `grep -v '^#'`
    stop = stops_at(text)
    what = f"xargs stops at the quote in line {stop} of {path.rpartition('/')[2]}"
    loss = Loss("unread", field.used, what, evidence=("measured with GNU findutils 4.9",))
    for setting in _settings(walker, path) if stop else ():
        if setting.place.line >= stop:
            shell.lose(setting.name, shell.visible.pop(setting.name, ()), loss)


def _settings(walker: Walker, path: str) -> Sequence[Setting]:
    facts = walker.project.facts.whole(path)
    return facts.settings if facts is not None else ()


def is_activation(text: str) -> bool:
    """Whether a file outside of the project only gives programs and paths."""
    return _ACTIVATION.search(text) is not None


def opened(shell: Shell) -> None:
    """Text that nobody knows ran in this shell: it may have exported what was there."""
    may_have_more(shell)
    for name, slot in list(shell.visible.items()):
        if any(a.exported == "no" and a.origins for a in slot):
            shell.visible[name] = tuple(a._replace(exported="maybe") if a.exported == "no" else a for a in slot)


def may_have_more(shell: Shell) -> None:
    """A login or an unknown file may bind what is not there, and what was lost on the way here."""
    shell.open = True
    shell.lost = {}


def may_lack(shell: Shell) -> None:
    """Nobody can tell what of this arrives."""
    for name, slot in list(shell.visible.items()):
        shell.visible[name] = perhaps(slot)
    shell.lost = {n: tuple((a, x) for a, x in pairs if x.kind != "not-forwarded") for n, pairs in shell.lost.items()}
