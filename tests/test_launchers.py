"""Launcher files: each loads, names its commands once, and says what gets through; bad files name the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.knowledge.files import rule_paths
from envdoctor.knowledge.launchers import LauncherError, build, launchers_from, load_launchers
from envdoctor.readers.shell.launchers import by_program, module_launchers

LAUNCHERS = load_launchers()


@pytest.mark.parametrize(
    ("launcher", "passes", "elsewhere"),
    [
        ("mpirun", "named", "hosts"), ("srun", "everything", "always"), ("ssh", "named", "always"),
        ("docker run", "named", "always"), ("deepspeed", "named", "hosts"), ("sudo", "named", "always"),
        ("apptainer exec", "everything", "always"), ("ray job submit", "named", "always"), ("parallel", "named", "hosts"),
        ("kubectl exec", "named", "always"), ("env", "everything", "always"), ("su", "everything", "always"),
    ],
)  # fmt: skip
def test_what_gets_through(launcher: str, passes: str, elsewhere: str) -> None:
    found = LAUNCHERS.deliveries_of(launcher)
    assert (passes, elsewhere) in [(d.passes, d.elsewhere) for d in found]


@pytest.mark.parametrize("launcher", ["torchrun", "accelerate launch", "deepspeed", "mpirun", "srun", "python"])
def test_starts_ranks(launcher: str) -> None:
    assert LAUNCHERS.starts_ranks(launcher)


@pytest.mark.parametrize("launcher", ["ssh", "docker run", "sudo", "rocm-smi", "nothing"])
def test_starts_no_ranks(launcher: str) -> None:
    assert not LAUNCHERS.starts_ranks(launcher)


def test_every_delivery_is_of_a_command_that_is_read() -> None:
    names = {name for row in LAUNCHERS.commands for name in row.names()}
    assert {name for d in LAUNCHERS.deliveries for name in d.launchers} <= names


def test_every_delivery_says_what_happens_and_what_to_do_on_what_evidence() -> None:
    for delivery in LAUNCHERS.deliveries:
        assert delivery.says, delivery.title
        assert delivery.remedy, delivery.title
        assert delivery.confidence in ("measured", "read"), delivery.title


def test_rows_with_subcommands_come_first() -> None:
    for program, rows in by_program().items():
        plain = [bool(row.subcommands) for row in rows]
        assert plain == sorted(plain, reverse=True), program


def test_modules_are_the_launchers_they_start() -> None:
    assert module_launchers()["torch.distributed.run"] == "torchrun"
    assert module_launchers()["accelerate.commands.launch"] == "accelerate launch"


def test_a_new_launcher_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "mylaunch.toml").write_text(
        'title = "My launcher"\n[[command]]\nprograms = "mylaunch"\nvalued = "-n"\nranks = true\n'
        '[[delivery]]\nlaunchers = "mylaunch"\npasses = "named"\nprefixes = ["NCCL"]\n'
    )
    found = launchers_from(build([*rule_paths("launchers"), tmp_path / "mylaunch.toml"]))
    assert found.starts_ranks("mylaunch")
    assert found.command_of("mylaunch").takes_value("-n")  # type: ignore[union-attr]
    assert found.deliveries_of("mylaunch")[0].prefixes == ("NCCL",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "title: missing"),
        ('title = "x"\nlocl = "none"', "locl: unknown key (did you mean local?)"),
        ('title = "x"\nlocal = "some"', "local: 'some' is not one of"),
        ('title = "x"\n[[command]]\nvalued = "-n"', "command 1: programs: missing"),
        ('title = "x"\n[[command]]\nprograms = "a"\noperands = "1"', "operands: unexpected str"),
        ('title = "x"\n[[delivery]]\nlaunchers = "a"\npasses = "most"', "passes: 'most' is not one of"),
        ('title = "x"\n[[command]]\nprograms = "a"\noptions = [{ flags = "-e" }]', "options: form: missing"),
        ("title = ", "launchers/bad.toml"),
    ],
)
def test_bad_file_names_the_key(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(LauncherError) as error:
        build([path])
    assert says in str(error.value)
    assert "bad.toml" in str(error.value)
