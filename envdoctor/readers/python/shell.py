"""Gathers the places of a Python file where shell text and command lists stand; most files have none."""

from __future__ import annotations

import ast
from bisect import bisect_left

from envdoctor.readers.python.emit import Emitter
from envdoctor.readers.python.names.scopes import Where
from envdoctor.readers.python.names.words import says_runner

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
    "accelerate", "apptainer", "bash", "colossalai", "dash", "deepspeed", "docker", "env", "flux", "horovodrun",
    "jsrun", "kubectl", "lightning", "mpiexec", "mpirun", "nvidia-docker", "orterun", "pdsh", "podman", "prun",
    "python", "python3", "ray", "salloc", "sbatch", "sh", "singularity", "srun", "ssh", "torchrun", "zsh",
}  # fmt: skip
"""First words of lists that are commands, wherever they stand."""
FORWARDING = {"-x", "-e", "--env", "--export", "-genv"}
HINTS = ("export ", "#!/", "#SBATCH", "mpirun ", "mpiexec ", "srun ", "docker run", "podman run", "torchrun ", "-x ")
"""What text that becomes a script or a command holds at least."""
Simple = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return
List = ast.List | ast.Tuple


class ShellCalls:
    """What was gathered from one file; `commands.Commands` reads it."""

    __slots__ = ("_hints", "emit", "lists", "runs", "statements")

    def __init__(self, emit: Emitter) -> None:
        self.emit = emit
        self.runs: list[tuple[ast.Call, str, Where]] = []
        self.lists: list[tuple[List, Where]] = []
        self.statements: list[tuple[Simple, Where]] = []
        self._hints = hint_offsets(emit.code.text)

    def is_special(self, dotted: str, name: str) -> bool:
        """Whether `call` does anything for this name."""
        return dotted in SHELL_CALLS or dotted in PROGRAM_CALLS or says_runner(name)

    def call(self, node: ast.Call, dotted: str, where: Where) -> None:
        """Note a call that runs a command, or that says that it runs what it is given."""
        if node.args or node.keywords:
            self.runs.append((node, dotted, where))

    def listed(self, node: List, where: Where) -> None:
        """Note a list display that may be a command or a part of one."""
        program = program_of(node)
        if program and (program in LAUNCHERS or any(is_flag(part) for part in node.elts)):
            self.lists.append((node, where))

    def statement(self, node: ast.stmt, where: Where) -> None:
        """Note a statement that may build a script."""
        if self._hints and isinstance(node, Simple):
            start, end = self.emit.code.span(node)
            at = bisect_left(self._hints, start)
            if at < len(self._hints) and self._hints[at] < end:
                self.statements.append((node, where))


def hint_offsets(text: str) -> list[int]:
    """Offsets of everything that hints at a script or a command, in order."""
    found: set[int] = set()
    for hint in HINTS:
        at = text.find(hint)
        while at != -1:
            found.add(at)
            at = text.find(hint, at + 1)
    return sorted(found)


def program_of(node: List) -> str:
    """The first word of a list, without its folder."""
    first = node.elts[0] if node.elts else None
    text = first.value if isinstance(first, ast.Constant) else None
    return text.rsplit("/", 1)[-1] if isinstance(text, str) else ""


def is_flag(node: ast.expr) -> bool:
    """A flag after which a variable is given or forwarded."""
    return isinstance(node, ast.Constant) and node.value in FORWARDING
