"""Launcher files: each owns its commands and shows by examples what is made of them; bad files name the key."""

from __future__ import annotations

from pathlib import Path

import pytest
from launch_words import carries, words_of
from support import found, scan_json

from envdoctor.analysis.process.edges import EdgeSurroundings, Invocation, cross, edge_of, find
from envdoctor.core.facts import FileFacts, Launch, Setting
from envdoctor.core.source import Source
from envdoctor.knowledge.compile import compile_all
from envdoctor.knowledge.files import rule_paths, rules_dir
from envdoctor.knowledge.launchers import (
    LaunchEdge,
    LauncherCommand,
    LauncherError,
    LauncherExample,
    LauncherFile,
    build,
    launchers_from,
    load_files,
    load_launchers,
)
from envdoctor.readers import registry
from envdoctor.readers.shell.launchers import by_program, module_launchers

LAUNCHERS = load_launchers()
FILES = load_files()
EXAMPLES = [(file.title, example) for file in FILES for example in file.examples]
NEEDED = 'evidence = ["measured"]\n[[example]]\nline = "a"\n'
"""What every file has to hold; the title and top-level keys go in front."""


def read(text: str) -> FileFacts:
    return registry.read(Source("run.sh", text), "shell")


def launch_shown(launch: Launch) -> str:
    return " -> ".join([launch.launcher, *([" ".join(launch.inner)] if launch.inner else [])])


def setting_shown(setting: Setting) -> str:
    if setting.op == "unset":
        return f"-{setting.name}"
    return setting.name if setting.op == "pass" else f"{setting.name}={setting.value.text}"


@pytest.mark.parametrize(("title", "example"), EXAMPLES, ids=[example.line for _, example in EXAMPLES])
def test_an_example_is_read_as_it_says(title: str, example: LauncherExample) -> None:
    facts = read(f"{example.line}\n")
    assert [launch_shown(launch) for launch in facts.launches] == list(example.launches), title
    assert [setting_shown(setting) for setting in facts.settings] == list(example.gives), title
    assert [inclusion.target for inclusion in facts.inclusions] == list(example.reads), title


def invocation(file: LauncherFile, example: LauncherExample) -> Invocation | None:  # type: ignore[type-arg]
    """The command of an example that its file is about: the first from the outside in."""
    inner = words_of(example.line.splitlines()[-1])
    while (found := find(LAUNCHERS, inner)) is not None:
        edge = edge_of(found)
        if (edge is not None and edge.title == file.title) or found.row in file.commands:
            break
        inner = found.segments[0].inner
    return found


SHOWN = [(file, e) for file in FILES for e in file.examples if e.keeps or e.drops or e.unknown]


@pytest.mark.parametrize(("file", "example"), SHOWN, ids=[example.line for _, example in SHOWN])
def test_an_example_carries_and_drops_what_it_says(file: LauncherFile, example: LauncherExample) -> None:
    command = invocation(file, example)
    assert command is not None
    crossing = cross(command, EdgeSurroundings(batch=example.under))
    assert {name: carries(crossing, name) for name in example.keeps} == dict.fromkeys(example.keeps, True)
    assert {name: carries(crossing, name) for name in example.drops} == dict.fromkeys(example.drops, False)
    assert bool(crossing.unknown) == example.unknown, crossing.unknown


def may_drop(edge: LaunchEdge) -> bool:
    """Whether something can be lost: what cannot be told at all is not."""
    if any(step.unknown and not step.if_flags and not step.where and not step.under and not step.variable
           for step in edge.steps):  # fmt: skip
        return False
    return any(
        step.verb in ("drop", "give", "listed", "reset") or step.start not in ("", "caller") for step in edge.steps
    )


def may_carry(edge: LaunchEdge) -> bool:
    return any(step.verb in ("keep", "give", "listed") or step.start == "caller" for step in edge.steps)


def test_every_edge_shows_what_it_drops_and_what_it_carries() -> None:
    drops, carries = set(), set()
    for file, example in SHOWN:
        command = invocation(file, example)
        edge = edge_of(command) if command is not None else None
        if command is not None and edge is not None:
            drops |= {id(edge)} if example.drops else set()
            given = cross(command, EdgeSurroundings(batch=example.under)).gives
            carries |= {id(edge)} if example.keeps or given or example.unknown else set()
    names = {id(edge): f"{edge.title}: {sorted(edge.launchers)[0]}" for edge in LAUNCHERS.edges}
    assert [names[id(e)] for e in LAUNCHERS.edges if may_drop(e) and id(e) not in drops] == OPEN_MPI_OR_NOT
    assert [names[id(e)] for e in LAUNCHERS.edges if may_carry(e) and id(e) not in carries] == []


OPEN_MPI_OR_NOT = ["Open MPI: mpiexec"]
"""Where no flag tells which mpirun it is, nothing is known to be lost."""


def test_every_edge_that_may_drop_says_so_and_what_to_do_on_what_evidence() -> None:
    for edge in LAUNCHERS.edges:
        known = edge.confidence in ("measured", "read") or any(step.unknown for step in edge.steps)
        assert known, (
            f'{edge.title}: a file with [[edge]] says confidence = "measured" or "read", or the edge is unknown'
        )
        assert edge.evidence, edge.title
        loses = any(step.drop or step.start not in ("", "caller") for step in edge.steps)
        if loses and not any(step.unknown and not step.if_flags for step in edge.steps):
            assert edge.says, edge.title
            assert edge.remedy, edge.title


def test_no_example_line_breaks_the_reading() -> None:
    for _, example in EXAMPLES:
        for line in example.line.splitlines():
            command = find(LAUNCHERS, words_of(line))
            if command is not None:
                cross(command)


def test_examples_lose_what_they_say(tmp_path: Path) -> None:
    for number, (_, example) in enumerate(EXAMPLES):
        folder = tmp_path / f"{number:03}"
        folder.mkdir()
        (folder / "run.sh").write_text(f"#!/bin/bash\nexport NCCL_ALGO=Ring\n{example.line}\n")
    told = {path for path, _, name, _ in found(scan_json(tmp_path)) if name == "not-forwarded"}
    lost = [EXAMPLES[int(path[:3])][1].line for path in sorted(told)]
    assert lost == [example.line for _, example in EXAMPLES if example.loses]


@pytest.mark.parametrize("launcher", ["torchrun", "accelerate launch", "deepspeed", "mpirun", "srun", "python"])
def test_starts_ranks(launcher: str) -> None:
    assert LAUNCHERS.starts_ranks(launcher)


@pytest.mark.parametrize("launcher", ["ssh", "docker run", "sudo", "rocm-smi", "nothing"])
def test_starts_no_ranks(launcher: str) -> None:
    assert not LAUNCHERS.starts_ranks(launcher)


def test_rows_with_subcommands_come_first() -> None:
    for program, rows in by_program().items():
        plain = [bool(row.subcommands) for row in rows]
        assert plain == sorted(plain, reverse=True), program


def test_modules_are_the_launchers_they_start() -> None:
    assert module_launchers()["torch.distributed.run"] == "torchrun"
    assert module_launchers()["accelerate.commands.launch"] == "accelerate launch"


def test_tables_that_live_and_die_do_not_answer_for_each_other() -> None:
    for name in ("a", "b", "c", "d"):
        table = {"one": {"title": name, "evidence": ["x"], "command": [{"programs": name, "sizes": f"-{name}"}]}}
        assert launchers_from(table).command_of(name) == LauncherCommand(programs=name, sizes=f"-{name}")


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_flags_that_tell_of_the_job_take_a_value() -> None:
    """Else what they tell is not read."""
    launchers = load_launchers()
    lacking = [
        (name, flag)
        for name, row in launchers.by_name.items()
        for job in row.job
        for flag in job.flags.split()
        if not (row.takes_value(flag) or row.option(flag))
    ]
    assert lacking == []


def test_a_new_launcher_is_one_file(tmp_path: Path) -> None:
    text = (
        f'title = "My launcher"\n{NEEDED}[[command]]\nprograms = "mylaunch"\nvalued = "-n"\nranks = true\n'
        '[[edge]]\nlaunchers = "mylaunch"\nkind = "process"\nsteps = [{ start = "empty" }, { keep = "NCCL*" }]\n'
    )
    made = launchers_from(build([*rule_paths("launchers"), write(tmp_path, "mylaunch.toml", text)]))
    assert made.starts_ranks("mylaunch")
    assert made.command_of("mylaunch").takes_value("-n")  # type: ignore[union-attr]
    (edge,) = made.edges_of("mylaunch")
    assert [(step.verb, getattr(step, step.verb)) for step in edge.steps] == [("start", "empty"), ("keep", ("NCCL*",))]
    assert (edge.title, edge.evidence) == ("My launcher", ("measured",))
    command = find(made, words_of("mylaunch -n 2 python train.py"))
    assert command is not None
    assert carries(cross(command), "NCCL_ALGO") is True
    assert carries(cross(command), "OMP_NUM_THREADS") is False


PRUN = f'title = "Another prun"\n{NEEDED}'
TAKEN = [
    ('[[edge]]\nlaunchers = "prun"\nkind = "process"\nsteps = [{ start = "caller" }]',
     'edge 1: launchers: prun is in launchers/open-mpi.toml: say shares = ["open-mpi"]'),
    ('[[command]]\nprograms = "prun"', "command 1: programs: prun is already in launchers/open-mpi.toml"),
    ('[[command]]\nprograms = "x"\n[[command]]\nprograms = "y x"',
     "command 2: programs: x is already in launchers/prun.toml"),
    ('[[command]]\nprograms = "docker"\nsubcommands = "stats, run"',
     "command 1: programs: docker run is already in launchers/docker.toml"),
    ('[[command]]\nprograms = "x"\nmodules = "torch.distributed.run"',
     "command 1: modules: python -m torch.distributed.run is already in launchers/torchrun.toml"),
    ('[[edge]]\nlaunchers = "torchrum"\nkind = "process"\nsteps = [{ start = "caller" }]',
     "edge 1: launchers: no [[command]] is called torchrum (did you mean torchrun?)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), TAKEN)
def test_a_command_has_one_file(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(LauncherError) as error:
        build([*rule_paths("launchers"), write(tmp_path, "prun.toml", PRUN + text)])
    assert str(error.value).startswith(f"launchers/prun.toml: {says}")


def test_a_shared_name_needs_flags_that_tell_the_programs_apart(tmp_path: Path) -> None:
    text = (
        f'title = "Another prun"\nshares = ["open-mpi"]\n{NEEDED}[[edge]]\nlaunchers = "prun"\nkind = "process"\n'
        'steps = [{ start = "caller" }]\n'
    )
    with pytest.raises(LauncherError, match=r"prun\.toml: edge 1: only_with: missing: prun is in launchers/open-mpi"):
        build([*rule_paths("launchers"), write(tmp_path, "prun.toml", text)])
    made = build([*rule_paths("launchers"), write(tmp_path, "prun.toml", f'{text}only_with = "--mine"\n')])
    assert [e.title for e in launchers_from(made).edges_of("prun")] == ["Open MPI", "Another prun", "Open MPI"]


def test_shares_names_a_file_with_commands(tmp_path: Path) -> None:
    path = write(tmp_path, "x.toml", f'title = "x"\nshares = ["open-mpy"]\n{NEEDED}')
    with pytest.raises(LauncherError, match=r"launchers/x\.toml: shares: launchers/open-mpy\.toml has no commands"):
        build([path])


def test_a_taken_name_is_refused_when_the_rules_are_compiled(tmp_path: Path) -> None:
    root = tmp_path / "rules"
    for folder in rules_dir().iterdir():
        (root / folder.name).parent.mkdir(exist_ok=True)
        (root / folder.name).symlink_to(folder)
    (root / "launchers").unlink()
    for path in rule_paths("launchers"):
        write(root / "launchers", path.name, path.read_text(encoding="utf-8"))
    write(root / "launchers", "prun.toml", f'{PRUN}[[command]]\nprograms = "prun"\n')
    with pytest.raises(LauncherError, match=r"launchers/prun\.toml: command 1: programs: prun is already in"):
        compile_all(root, tmp_path / "out")


COMMAND = f'title = "x"\n{NEEDED}[[command]]\n'
EDGE = f'{COMMAND}programs = "a"\noptions = [{{ flags = "-e", form = "assignment" }}]\n[[edge]]\nlaunchers = "a"\nkind = "process"\n'
BAD = [
    ("", "title: missing"),
    ('title = "x"\n[[example]]\nline = "a"', "evidence: missing (a list of texts, not empty: what was measured"),
    ('title = "x"\nevidence = []\n[[example]]\nline = "a"', "evidence: expected a list of texts, not empty"),
    ('title = "x"\nevidence = [" "]\n[[example]]\nline = "a"', "evidence: expected a list of texts, not empty"),
    ('title = "x"\nevidence = ["a"]', "example: missing (tables, at least one: command lines and what is made of them)"),
    ('title = "x"\nevidence = ["a"]\nexample = []', "example: expected tables, at least one"),
    ('title = "x"\nevidence = ["a"]\nexample = ["a"]', "example 1: expected a table"),
    ('title = "x"\nevidence = ["a"]\n[[example]]\nlin = "a"', "example 1: lin: unknown key (did you mean line?)"),
    (f'title = "x"\nlocl = "none"\n{NEEDED}', "locl: unknown key (did you mean local?)"),
    (f'title = "x"\nlocal = "inherit"\n{NEEDED}', "local: 'inherit' is not one of inherits, list, none, n/a (did you mean"),
    (f'title = "x"\nshared = 1\n{NEEDED}', "shared: expected a table"),
    (f'{COMMAND}valued = "-n"', "command 1: programs: missing (text, not empty: the names of the program"),
    (f'{COMMAND}programs = "a"\noperands = "1"', "command 1: operands: unexpected str, expected a number"),
    (f'{COMMAND}programs = "a"\noperands = true', "command 1: operands: unexpected bool, expected a number"),
    (f'{COMMAND}programs = "a"\nlaunch = 1', "command 1: launch: unexpected int, expected true or false"),
    (f'{COMMAND}programs = "a"\noptions = [{{ flags = "-e" }}]', "command 1: options 1: form: missing (one of assignment"),
    (f'{COMMAND}programs = "a"\noptions = [{{ flags = "-e", form = "lists" }}]', "options 1: form: 'lists' is not one of"),
    (f'title = "x"\n{NEEDED}[[edge]]\nlaunchers = "a"', "edge 1: kind: missing (one of process, container, remote"),
    (EDGE, "edge 1: steps: missing (tables, at least one"),
    (f"{EDGE}steps = []", "edge 1: steps: expected tables, at least one"),
    (f'{EDGE}steps = [{{ strat = "caller" }}]', "edge 1: steps 1: strat: unknown key (did you mean start?)"),
    (f'{EDGE}steps = [{{ start = "nowhere" }}]', "edge 1: steps 1: start: 'nowhere' is not one of caller, empty, image"),
    (f'{EDGE}steps = [{{ start = "caller" }}, {{ if = "-e" }}]', "edge 1: steps 2: has no verb; a step has one of start"),
    (f'{EDGE}steps = [{{ start = "caller", drop = "A" }}]', "edge 1: steps 1: has start and drop; a step has one of"),
    (f'{EDGE}steps = [{{ start = "caller", wins = "under" }}]', "edge 1: steps 1: wins: belongs to give, list, read"),
    (f'{EDGE}steps = [{{ read = "x.env" }}]', "edge 1: steps 1: grammar: missing (one of lines, docker"),
    (f'{EDGE}steps = [{{ give = "-f" }}]', "edge 1: steps 1: give: -f is no option of a that carries variables"),
    (f'{EDGE}steps = [{{ give = "=" }}]', "edge 1: steps 1: give: = is no option of a that carries variables"),
    (f'{EDGE}steps = [{{ keep = " " }}]', "edge 1: steps 1: keep: expected words"),
    ("title = ", "Invalid value"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), BAD)
def test_bad_file_names_the_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(LauncherError) as error:
        build([write(tmp_path, "bad.toml", text)])
    assert str(error.value).startswith("launchers/bad.toml: ")
    assert says in str(error.value)
