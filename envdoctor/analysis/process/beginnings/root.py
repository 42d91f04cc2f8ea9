"""The record of a process that begins outside of what is followed."""

from __future__ import annotations

from typing import Literal, NamedTuple

from envdoctor.analysis.process.job_values import JobValue
from envdoctor.core.facts import Inclusion, Setting
from envdoctor.core.operations import Script

RootKind = Literal["script", "job", "step", "build", "image", "container", "service", "recipe", "cell", "program"]
"""script: started by hand or by a file that is not followed. job: has directives of a batch system. step: one shell of
CI, of a task or of a play. build: a layer of an image. image: what an image runs by itself. container: of a pod or a
compose file. service: of systemd or supervisor. recipe: a shell of make. cell: of a notebook. program: in Python."""


class Root(NamedTuple):
    """One process that begins outside of what is followed.

    `settings` are there when it starts, in order, the last of a name wins (one that is `unset` is not there);
    `env_files` are read before them (`under`) or after them. `group` and `role` tell the parts of one job apart
    (`PyTorchJob` document and `Worker`); processes of one group run side by side. `before` is the index, among the
    roots of the same file, of one whose end comes before this one starts (the step before), -1 for none. What that one
    leaves behind is files, not variables: those that stay are among `settings`.
    """

    path: str
    kind: RootKind
    name: str
    line: int
    script: Script | None
    settings: tuple[Setting, ...] = ()
    env_files: tuple[Inclusion, ...] = ()
    group: str = ""
    role: str = ""
    image: str = ""
    before: int = -1
    exact: bool = True
    """Nothing but what is told here reaches the process; False: more may come that is not in the tree (`envFrom`)."""
    inherits: bool = False
    """Whoever starts the file hands its environment on to this process, below `settings` (make, a Python program)."""
    over: bool = False
    """The files of `env_files` win over `settings` (`EnvironmentFile=` of systemd)."""
    unexported: tuple[Setting, ...] = ()
    """Settings of the file whose author may have meant them for this process, and that never get there: variables of
    make that are not exported, ARG of an image, variables of a Python program beside an `env=` of its own."""
    dockerfile: str = ""
    """Where the image is built from the tree: the path of its Dockerfile (`build:` of compose)."""
    stage: str = ""
    """The stage of that Dockerfile, or of this one."""
    beside: str = ""
    """A file of variables from which whoever starts the process fills in its own file, and nothing more (`.env` beside
    a compose file)."""
    remembers: tuple[tuple[str, str], ...] = ()
    """Variables that launchers obey and that whoever starts the process sets (the MPI operator: the file of hosts)."""
    devices: tuple[JobValue, ...] = ()
    """What a manifest tells of the job: the devices that a container asks for, how many replicas there are."""
    after_entrypoint: bool = False
    """The words of the script are handed to the ENTRYPOINT of the image, where that has one (`args:` without a
    `command:`, `command:` of compose without an `entrypoint:`)."""
