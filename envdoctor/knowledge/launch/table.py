"""Everything known of launchers, found by the names of programs, commands and modules."""

from __future__ import annotations

from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.launch.edges import LaunchEdge
from envdoctor.knowledge.launch.records import LauncherCommand


@dataclass(slots=True)
class Launchers:
    """The rows in order of their files, and what happens to variables by the command's name.

    `by_program`: rows of a program, those with subcommands first. `by_module`: `python -m MODULE`. `headers`: the word
    behind `#` of a directive, and the command whose flags it holds. `batches`: the batch system of a command.
    `marks`: how the variables of a batch system begin, and its name.
    """

    commands: tuple[LauncherCommand, ...]
    edges: tuple[LaunchEdge, ...] = ()
    tools: frozenset[str] = frozenset()
    batches: dict[str, str] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    by_name: dict[str, LauncherCommand] = field(default_factory=dict, init=False, repr=False)
    by_program: dict[str, list[LauncherCommand]] = field(default_factory=dict, init=False, repr=False)
    by_module: dict[str, LauncherCommand] = field(default_factory=dict, init=False, repr=False)
    headers: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    likenesses: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    _edges: dict[str, list[LaunchEdge]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for row in self.commands:
            self._add(row)
        for rows in self.by_program.values():
            rows.sort(key=lambda row: not row.subcommands)
        for edge in sorted(self.edges, key=lambda edge: not edge.only_with):
            for name in edge.launchers:
                self._edges.setdefault(name, []).append(edge)

    def _add(self, row: LauncherCommand) -> None:
        self.by_name.update((name, row) for name in row.names())
        self.by_module.update((module, row) for module in row.modules.split())
        self.headers.update((mark, next(row.names())) for mark in row.header.split())
        for program in row.programs.split():
            self.by_program.setdefault(program, []).append(row)
            self.likenesses.update((part, program) for part in row.like.split() if part == program)

    def edges_of(self, launcher: str) -> list[LaunchEdge]:
        """What a command of this name may be, those that flags tell apart first."""
        return self._edges.get(launcher, [])

    def command_of(self, launcher: str) -> LauncherCommand | None:
        """The row of a command by its name in facts, or None."""
        return self.by_name.get(launcher)

    def begins_cluster(self, launcher: str) -> bool:
        """Whether a command starts the daemon of a cluster, whose workers keep what it has (`fixed_at = "cluster"`)."""
        return any(step.fixed_at == "cluster" for edge in self.edges_of(launcher) for step in edge.steps)

    def starts_services(self, launcher: str) -> bool:
        """Whether a command starts the services of a file, each with what the file names."""
        row = self.command_of(launcher)
        return row is not None and row.inner == "none" and any(e.kind == "service" for e in self.edges_of(launcher))

    def is_program(self, text: str) -> bool:
        """Whether a word is the name of a program of some launcher file."""
        return text in self.by_program

    def is_tool(self, program: str) -> bool:
        """Whether a program is no rank of a job, whatever starts it."""
        return program in self.tools

    def batch_of(self, launcher: str) -> str:
        """The batch system that a command belongs to, or an empty string."""
        return self.batches.get(launcher, "")

    def starts_ranks(self, launcher: str) -> bool:
        """Whether a command starts ranks, or a program that becomes one."""
        row = self.command_of(launcher)
        return launcher == "python" or (row is not None and row.ranks)

    def sizes_of(self, launcher: str) -> frozenset[str]:
        """The flags of a command that say how many ranks or nodes there are, with dashes for underscores."""
        row = self.command_of(launcher)
        return frozenset(row.sizes.replace("_", "-").split()) if row is not None else frozenset()
