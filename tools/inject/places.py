"""Where a script starts ranks, and where in its text a fault can be planted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from inject.shell import Command, Word, commands

SUFFIXES = {".sh", ".bash", ".slurm", ".sbatch", ".job", ".pbs", ".sub"}
_NO_PROJECT = re.compile(
    r"(^|/)(\.git|third_party|vendor|node_modules)(/|$)|unit_?tests?|(^|[/_-])(tpu|ascend|npu|hpu|gaudi|habana|xpu|cpu)"
    r"|(^|[/_-])(1n?gpu|single_?gpu)",
    re.IGNORECASE,
)
"""Paths of copies of others, of unit tests, and of what runs where nothing of the pool is read: no GPU, or only one."""
_CONTAINER = re.compile(r"^[^#\n]*\b(docker|podman|singularity|apptainer|enroot|sudo)\b", re.MULTILINE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TORCH = re.compile(r"(^|[\s/\"'])torchrun\b|-m\s+torch\.distributed\.(run|launch)\b")
_TRAINING = re.compile(r"\S*(train|finetun|sft|run_clm|run_mlm)\w*\.py$")
_RANKS = re.compile(
    r"torchrun|torch\.distributed\.(run|launch)|accelerate\s+launch|deepspeed\s|\S*(train|finetun|sft)\w*\.(py|sh)"
    r"|\b(all_reduce|all_gather|alltoall|reduce_scatter)_perf|nemo_\w+\.py|\bpython3?\s+\S*(main|bench)\w*\.py"
)
_NO_TRAINING = re.compile(r"(convert|prepare|preproc|postproc|process_|download|tokeniz|build_|quantiz)\S*\.(py|sh)\b")
_ONE_RANK = re.compile(r"--(nproc[-_]per[-_]node|num[-_]gpus|num[-_]processes)[= ]\"?1\b")
_NODES = re.compile(r"--(nnodes|num[-_]nodes|num[-_]machines)[= ](?!\"?1\b)")
_ASKS = re.compile(r"^(--help|--version|--dry[-_]run)$")
_REFERENCE = re.compile(r"^\"?\$\{?(\w+)(\[[@*]\])?\}?\"?$")
_FRONT = {"exec", "time", "command"}
_WRAPPED = re.compile(
    r"(?<![\w-])(sudo|docker|podman|singularity|apptainer|enroot|env -i|su)(?![\w-])|--export[= ](?!ALL)\S+"
)


class Launch(NamedTuple):
    """A statement that starts ranks, with the offsets at which something can be put.

    `statement` is where its first line starts, `program` where another program can be put in front, `flags` where an
    option of the launcher can be put, `end` where its last line ends.
    """

    statement: int
    program: int
    flags: int
    end: int
    launcher: str
    shape: str
    words: str
    command: Command


class Script(NamedTuple):
    """A script of a checkout with its commands."""

    path: str
    text: str
    commands: tuple[Command, ...]

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return self.text.count("\n", 0, offset) + 1

    def indent(self, offset: int) -> str:
        """The blanks at the start of a line."""
        match = re.compile(r"[ \t]*").match(self.text, offset)
        return match[0] if match else ""


def scripts(checkout: Path) -> Iterator[Script]:
    """The shell scripts of a checkout that the lexer reads."""
    for path in sorted(p for p in checkout.rglob("*") if p.suffix in SUFFIXES and p.is_file() and not p.is_symlink()):
        relative = path.relative_to(checkout).as_posix()
        if not _NO_PROJECT.search(relative) and path.stat().st_size < 200_000:
            script = script_of(relative, path.read_bytes())
            if script is not None:
                yield script


def script_of(path: str, content: bytes) -> Script | None:
    """A script by its bytes; None for what is no plain shell text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    head = text.partition("\n")[0]
    if "\r" in text or (head.startswith("#!") and not re.search(r"\b(ba|z|k|da)?sh\b", head)):
        return None
    found = commands(text)
    return None if found is None else Script(path, text, tuple(found))


def launches(script: Script) -> list[Launch]:
    """The rank launches of a script that can be reached and stand on lines of their own."""
    found = []
    for number, command in enumerate(script.commands):
        if _leaves(command):
            break
        launch = launch_of(script, command)
        if launch is not None and _reached(script, number):
            found.append(launch)
    return found


def launch_of(script: Script, command: Command) -> Launch | None:
    """A command as a launch; None where it is none, or where its statement shares its lines with others."""
    words = _after_prefix(command.words)
    if not words or any(_ASKS.match(word.text) for word in words):
        return None
    if command.before == "|" or command.here or command.after in ("&&", "||") or not _own_lines(script, command):
        return None
    made = _plain(script, words) or _by_function(script, words) or _by_reference(script, command, words)
    if made is None or _WRAPPED.search(made[4]) or _NO_TRAINING.search(made[4]):
        return None
    if _ONE_RANK.search(made[4]) and not _NODES.search(made[4]):
        return None
    program, flags, launcher, shape, text = made
    statement = script.text.rfind("\n", 0, command.start) + 1
    return Launch(statement, program, flags, _statement_end(script, command), launcher, shape, text, command)


def in_container(launch: Launch, scripts: Sequence[Script]) -> bool:
    """Whether a launch runs a script of the checkout that goes on in a container, which starts with less anyway."""
    named = {word.rpartition("/")[2] for word in re.findall(r"[\w./-]+", launch.words)}
    return any(script.path.rpartition("/")[2] in named and _CONTAINER.search(script.text) for script in scripts)


def own_line(script: Script, command: Command) -> bool:
    """Whether nothing stands before a command on its first line."""
    start = script.text.rfind("\n", 0, command.start) + 1
    return not script.text[start : command.start].strip() and not script.text[: max(start - 1, 0)].endswith("\\")


def _own_lines(script: Script, command: Command) -> bool:
    return own_line(script, command) and command.before in ("\n", ";", "&")


def _statement_end(script: Script, command: Command) -> int:
    """Where the last line of the statement ends, pipes included."""
    last = command
    for later in script.commands[script.commands.index(command) + 1 :]:
        if last.after != "|":
            break
        last = later
    end = script.text.find("\n", last.end)
    return len(script.text) if end == -1 else end


def _leaves(command: Command) -> bool:
    """Whether the script ends here in any case."""
    first = command.words[0].text
    leaves = first == "exit" or (first == "exec" and len(command.words) > 1 and not launcher_of(command.words[1:]))
    return leaves and not command.within and command.before in ("\n", ";")


def _reached(script: Script, number: int) -> bool:
    """Whether the functions that a command stands in are called by the script."""
    names = [place.partition(" ")[2] for place in script.commands[number].within if place.startswith("function ")]
    called = {command.words[0].text for command in script.commands if not command.within}
    return all(name in called for name in names)


def _after_prefix(words: Sequence[Word]) -> Sequence[Word]:
    """The words behind `NAME=value` and words such as `exec`."""
    at = 0
    while at < len(words) and (_ASSIGNMENT.match(words[at].text) or words[at].text in _FRONT):
        at += 1
    return words[at:]


def _plain(script: Script, words: Sequence[Word]) -> tuple[int, int, str, str, str] | None:
    launcher = launcher_of(words)
    if not launcher:
        return None
    text = script.text[words[0].start : words[-1].end]
    return words[0].start, words[0].end, launcher, "plain", text


def launcher_of(words: Sequence[Word]) -> str:
    """Which launcher a command is; empty where it starts no ranks."""
    if not words:
        return ""
    program = words[0].text.strip("\"'").rpartition("/")[2]
    text = " ".join(word.text for word in words)
    if program in ("nohup", "numactl", "stdbuf", "timeout", "uv", "poetry") or program.startswith("-"):
        return ""
    if program in ("srun", "mpirun", "mpiexec", "mpiexec.hydra"):
        return program if _RANKS.search(text) else ""
    if program == "torchrun" or (re.match(r"python[\d.]*$", program) and _TORCH.search(text)):
        return "torchrun"
    if program == "accelerate" and len(words) > 2 and words[1].text == "launch":
        return "accelerate"
    if program == "deepspeed" and len(words) > 1:
        return "deepspeed"
    entry = next((word.text for word in words[1:] if not word.text.startswith("-")), "")
    return "python" if re.match(r"python[\d.]*$", program) and _TRAINING.match(entry) else ""


def _by_function(script: Script, words: Sequence[Word]) -> tuple[int, int, str, str, str] | None:
    """A call of a function that runs its arguments: the program goes in front of them, inside of the function."""
    launcher = launcher_of(words[1:])
    if not launcher:
        return None
    within = f"function {words[0].text}"
    for command in script.commands:
        if command.within[-1:] == (within,) and command.words[0].text == '"$@"':
            text = script.text[words[1].start : words[-1].end]
            return command.start, words[1].end, launcher, "function", text
    return None


def _by_reference(script: Script, command: Command, words: Sequence[Word]) -> tuple[int, int, str, str, str] | None:
    """A program that stands in a variable or an array, run as it is or by `eval`."""
    evaluated = words[0].text == "eval" and len(words) == 2
    text = words[-1].text if evaluated else words[0].text
    match = _REFERENCE.match(text.strip('"') if evaluated else text)
    assigned = match and _assigned(script, command, match[1])
    if match is None or assigned is None:
        return None
    inside, array = assigned
    launcher = launcher_of(inside)
    if not launcher or array != bool(match[2]):
        return None
    value = script.text[inside[0].start : inside[-1].end]
    program = inside[0].start if evaluated else words[0].start
    shape = "array" if array else "eval" if evaluated else "variable"
    return program, inside[0].end, launcher, shape, value


def _assigned(script: Script, command: Command, name: str) -> tuple[list[Word], bool] | None:
    """The words of the only value that a variable is given in the script, and whether it is an array."""
    found = [word for earlier in script.commands for word in earlier.words if re.match(rf"{name}\+?=", word.text)]
    if len(found) != 1 or found[0].end > command.start:
        return None
    match = re.compile(rf"{name}=([(\"'])").match(found[0].text)
    if match is None:
        return None
    start = found[0].start + match.end()
    inside = commands(script.text[start : found[0].end - 1].replace("\\\n", "  ").replace("\n", " "))
    if not inside or len(inside) != 1:
        return None
    return [Word(w.text, w.start + start, w.end + start) for w in inside[0].words], match[1] == "("
