"""Launch units: what is sourced comes in place, commands find what they start, and nothing is without end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.build import batch_words, build
from envdoctor.analysis.process.model import Step, Unit
from envdoctor.analysis.process.show import lines
from envdoctor.analysis.project import open_project
from envdoctor.analysis.references.paths import expanded, module_files
from envdoctor.core.facts import Branch, Call, Place, Scope, Setting, Value
from envdoctor.knowledge.launchers import load_launchers
from envdoctor.readers.store import Triggers

Tree_ = Callable[[Mapping[str, str]], Path]


def units_of(root: Path, *paths: str) -> dict[str, Unit]:
    """The units of some files (default: all), by path."""
    project = open_project(root, root, Triggers((b"",)))
    read = [facts for path in (paths or project.files.paths()) if (facts := project.facts.read(path)) is not None]
    return {unit.path: unit for unit in build(project, read)}


def environment_at(unit: Unit, number: int = -1) -> dict[str, str]:
    """Name -> value at a command, of what children see."""
    command = unit.commands[number]
    there = unit.steps[command.at]
    held = environment.at(unit.steps, command.at, there.scope, there.branch)
    return {name: known.last.value.text for name, known in held.items() if known.exported == "yes"}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("export A=1\npython t.py", {"A": "1"}),
        ("A=1\npython t.py", {}),
        ("A=1\nexport A\npython t.py", {"A": "1"}),
        ("export A=1\nA=2\npython t.py", {"A": "2"}),
        ("export A=1\nunset A\npython t.py", {}),
        ("(export A=1)\npython t.py", {}),
        ("(export A=1; python t.py)", {"A": "1"}),
        ("export A=1\nif x; then export A=2; fi\npython t.py", {"A": "2"}),
        ("if x; then export A=1; else export A=2; python t.py; fi", {"A": "2"}),
        ("f() { export A=1; }\nf\npython t.py", {"A": "1"}),
        ("A=1 true\npython t.py", {}),
        (". ./env.sh\npython t.py", {"B": "5"}),
        ("set -a\n. ./env.sh\nset +a\npython t.py", {"B": "5", "C": "6"}),
        ('source "$(dirname "$0")/env.sh"\npython t.py', {"B": "5"}),
        ('HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\n. $HERE/env.sh\npython t.py', {"B": "5"}),
        ("ssh n1 'export A=1; python t.py'", {"A": "1"}),
        ("export A=1\nssh n1 'python t.py'", {}),
        ("export A=1\ndocker run img python t.py", {}),
        ("export A=1\nbash -c 'python t.py'", {"A": "1"}),
        ("export B=4\n. ./env.sh\nexport B=9\npython t.py", {"B": "9"}),
    ],
)
def test_environment_along_a_script(tree: Tree_, script: str, expected: dict[str, str]) -> None:
    root = tree({"run.sh": script, "env.sh": "export B=5\nC=6\n", "t.py": "x = 1\n"})
    found = environment_at(units_of(root)["run.sh"])
    assert {name: found[name] for name in "ABC" if name in found} == expected


def test_one_of_two_values_under_a_condition(tree: Tree_) -> None:
    unit = units_of(tree({"run.sh": "export A=1\nif x; then export A=2; fi\npython t.py\n"}))["run.sh"]
    held = environment.at(unit.steps, unit.commands[-1].at, Scope())["A"]
    assert [step.fact.value.text for step in held.steps if isinstance(step.fact, Setting)] == ["1", "2"]


PROGRAMS = {"src/train.py": "x = 1\n", "pkg/__main__.py": "x = 1\n", "pkg/__init__.py": "main = 1\n"}


@pytest.mark.parametrize(
    ("script", "around", "entry"),
    [
        ("torchrun src/train.py", (), "src/train.py"),
        ("srun torchrun src/train.py", ("srun",), "src/train.py"),
        ("sudo docker run img python src/train.py", ("sudo", "docker run"), "src/train.py"),
        ("ssh n1 'cd x && torchrun src/train.py'", ("ssh",), "src/train.py"),
        ("mpirun -np 2 python src/train.py", ("mpirun",), "src/train.py"),
        ("python -m src.train", (), "src/train.py"),
        ("CMD='torchrun src/train.py'\nsrun $CMD", ("srun",), "src/train.py"),
        ("D=src\naccelerate launch $D/train.py", (), "src/train.py"),
        ("torchrun /opt/train.py", (), None),
        ("torchrun $WHERE/train.py", (), None),
        ("torchrun missing.py", (), None),
        ("python -m pkg", (), "pkg/__main__.py"),
        ("python -m pkg.main", (), None),
        ("python -m cProfile -o out src/train.py", (), "src/train.py"),
        ("nsys profile -o a torchrun src/train.py", (), "src/train.py"),
        ("docker exec -i c bash -s <<E\nx=$(torchrun src/train.py)\nE", ("docker exec",), "src/train.py"),
        ("ssh n1 bash <<E\n(torchrun src/train.py)\nE", ("ssh",), "src/train.py"),
        ("ssh n1 bash <<E\nif [ $X = 1 ]; then torchrun src/train.py; fi\nE", ("ssh",), "src/train.py"),
        ("ssh n1 bash <<E\ndocker run img python a.py\ntorchrun src/train.py\nE", ("ssh",), "src/train.py"),
        ("ssh n1 hostname\nif [ $X = 1 ]; then torchrun src/train.py; fi", (), "src/train.py"),
    ],
)
def test_commands_and_entries(tree: Tree_, script: str, around: tuple[str, ...], entry: str | None) -> None:
    unit = units_of(tree({"run.sh": script + "\n", **PROGRAMS}), "run.sh")["run.sh"]
    last = len(unit.commands) - 1
    assert tuple(launch.launcher for launch in unit.commands[last].around) == around
    assert (unit.entries[last].path if last in unit.entries else None) == entry


def test_given_in_front_of_and_among_the_arguments(tree: Tree_) -> None:
    unit = units_of(tree({"run.sh": "A=1 mpirun -x B -x C=2 python t.py\n"}))["run.sh"]
    assert [(s.op, s.name) for s in unit.commands[0].given] == [("set", "A"), ("pass", "B"), ("set", "C")]


def test_env_file_of_a_container_is_given_to_it_alone(tree: Tree_) -> None:
    files = {"run.sh": "docker run --env-file vars.env img python t.py\npython t.py\n", "vars.env": "NCCL_ALGO=Ring\n"}
    unit = units_of(tree(files), "run.sh")["run.sh"]
    launches = [command.launch.launcher for command in unit.commands]
    given = unit.commands[launches.index("docker run")].given
    if given:  # needs a reader of env files
        assert [s.name for s in given] == ["NCCL_ALGO"]
    assert environment_at(unit) == {}


def test_files_that_are_not_there_are_said(tree: Tree_) -> None:
    unit = units_of(tree({"run.sh": "source /shared/env.sh\n. $UNKNOWN/x.sh\ntorchrun t.py\n"}))["run.sh"]
    assert [i.target for i in unit.unresolved] == ["/shared/env.sh", "$UNKNOWN/x.sh"]


@pytest.mark.parametrize(
    ("written", "known", "expected"),
    [
        ("./env.sh", {}, ("./env.sh", False)),
        ('"$(dirname "$0")"/env.sh', {}, ("env.sh", True)),
        ("${BASH_SOURCE%/*}/env.sh", {}, ("env.sh", True)),
        ("$ROOT/conf/env.sh", {"ROOT": '$(cd "$(dirname "$0")/.." && pwd)'}, ("../conf/env.sh", True)),
        ("$(dirname $(dirname $(realpath $0)))/x.sh", {}, ("../x.sh", True)),
        ("${CONF:-conf}/env.sh", {}, ("conf/env.sh", False)),
        ("$CONF/env.sh", {"CONF": "a"}, ("a/env.sh", False)),
        ("$CONF/env.sh", {"CONF": None}, (None, False)),
        ("$A/x", {"A": "$B", "B": "$A"}, (None, False)),
        ("~/env.sh", {}, (None, False)),
        ("$(ls *.sh)", {}, (None, False)),
    ],
)
def test_paths_with_simple_variables(
    written: str, known: dict[str, str | None], expected: tuple[str | None, bool]
) -> None:
    assert expanded(written, known) == expected


def test_nothing_outside_of_the_tree_is_found(tree: Tree_, tmp_path: Path) -> None:
    root = tree({"a/run.sh": "x\n", "out.sh": "export A=1\n"}) / "a"
    (root / "link.sh").symlink_to(tmp_path / "out.sh")
    found = open_project(root, root).references
    assert found.find("../out.sh", "", {}) is None
    assert found.find("link.sh", "", {}) is None
    assert found.find("run.sh", "", {}) == "run.sh"


def test_a_repository_in_the_tree_has_its_scripts_started_at_its_top(tree: Tree_) -> None:
    root = tree({"third/lib/tools/serve.py": "x\n", "third/lib/train.py": "x\n"})
    found = open_project(root, root).references
    assert found.find("tools/serve.py", "third/lib/examples/run", {}) == "third/lib/tools/serve.py"
    assert found.find("./tools/serve.py", "third/lib/examples", {}) == "third/lib/tools/serve.py"
    assert found.find("train.py", "third/lib/examples/run", {}) is None
    assert found.find("tools/serve.py", "", {}) is None


def test_a_shell_in_a_container_does_not_see_the_script_around_it(tree: Tree_) -> None:
    script = "export A=1\nssh n1 bash <<E\nexport B=2\nx=$(python t.py)\nE\n"
    assert environment_at(units_of(tree({"run.sh": script}))["run.sh"]) == {"B": "2"}


def test_two_candidates_are_no_answer(tree: Tree_) -> None:
    root = tree({"env.sh": "x\n", "jobs/env.sh": "y\n"})
    found = open_project(root, root).references
    assert found.find("env.sh", "jobs", {}) is None
    assert found.find('"$(dirname "$0")"/env.sh', "jobs", {}) == "jobs/env.sh"


def test_modules_relative_and_not() -> None:
    assert "pkg/tools.py" in module_files(".tools.go", "pkg/train.py")
    assert "tools.py" in module_files("..tools.go", "pkg/train.py")
    assert {"pkg/a/b.py", "a/b.py", "src/a/b/__init__.py"} <= set(module_files("a.b", "pkg/train.py"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/bin/bash\n#SBATCH --nodes=2 # two\n#SBATCH --export=NONE\nsrun x\n#SBATCH -n 1\n",
         {"slurm": ("--nodes=2", "--export=NONE")}),
        ("#PBS -V\nx\n", {"pbs": ("-V",)}),
        ("echo\n#SBATCH -n 1\n", {}),
    ],
)  # fmt: skip
def test_batch_directives_count_in_the_head_only(text: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert batch_words(text) == expected


@given(st.text(alphabet="#SBATCH -=\n exportPQ$(){}\"'", max_size=200))
def test_any_text_has_directives_or_none(text: str) -> None:
    assert all(isinstance(word, str) for words in batch_words(text).values() for word in words)


@given(st.text(alphabet="$(){}[]\"'`/.~*ab:-0BASH_SOURCE dirname%", max_size=60))
def test_any_path_is_known_or_not(text: str) -> None:
    path, own = expanded(text, {"a": "b"})
    assert path is None or not {"$", "`", "\0"} & set(path)
    assert path is not None or not own


PROGRAM = {
    "train.py": """
import os
import tools
from pkg.setup import start

def main():
    start()
    os.environ["A"] = "1"
    tools.late()

def unused():
    os.environ["B"] = "2"

if __name__ == "__main__":
    main()
""",
    "tools.py": """
import os
os.environ["T"] = "0"

def late():
    if quiet:
        return
    os.environ["L"] = "1"

if __name__ == "__main__":
    os.environ["NEVER"] = "1"
""",
    "pkg/setup.py": "import torch.distributed as dist\n\ndef start():\n    dist.init_process_group('nccl')\n",
}


def names_of(steps: list[Step]) -> list[str]:
    return [step.fact.name for step in steps if isinstance(step.fact, (Setting, Call))]


def test_a_program_runs_in_its_own_order_across_modules(tree: Tree_) -> None:
    unit = units_of(tree(PROGRAM), "train.py")["train.py"]
    wanted = {"T", "A", "L", "NEVER", "torch.distributed.init_process_group"}
    found = [name for name in names_of(unit.programs[0]) if name in wanted]
    assert found == ["T", "torch.distributed.init_process_group", "A", "L"]
    assert any(names_of(steps) == ["B"] for steps in unit.programs[1:])


def test_what_stands_behind_a_return_is_not_certain_for_the_caller(tree: Tree_) -> None:
    unit = units_of(tree(PROGRAM), "train.py")["train.py"]
    steps = {step.fact.name: step for step in unit.programs[0] if isinstance(step.fact, Setting)}
    assert environment.holds(steps["A"].branch, ())
    assert not environment.holds(steps["L"].branch, ())


def test_functions_that_call_each_other_end(tree: Tree_) -> None:
    code = "import os\ndef a():\n    os.environ['X'] = '1'\n    b()\ndef b():\n    a()\na()\n"
    unit = units_of(tree({"t.py": code}))["t.py"]
    assert names_of(unit.programs[0]).count("X") == 1


def test_modules_that_import_each_other_end(tree: Tree_) -> None:
    files = {"a.py": "import b\nimport os\nos.environ['A'] = '1'\n", "b.py": "import a\n"}
    assert names_of(units_of(tree(files), "a.py")["a.py"].programs[0]) == ["A"]


def test_scripts_that_source_each_other_end(tree: Tree_) -> None:
    files = {"a.sh": ". ./b.sh\nexport A=1\ntorchrun t.py\n", "b.sh": ". ./a.sh\n. ./b.sh\nexport B=1\n"}
    assert environment_at(units_of(tree(files), "a.sh")["a.sh"]) == {"A": "1", "B": "1"}


def test_scripts_that_start_each_other_end(tree: Tree_) -> None:
    files = {"a.sh": "export A=1\nbash b.sh\n", "b.sh": "export B=1\nbash a.sh\n"}
    found = units_of(tree(files))
    assert {path: [e.path for e in unit.entries.values()] for path, unit in found.items()} == {
        "a.sh": ["b.sh"], "b.sh": ["a.sh"],
    }  # fmt: skip


def test_a_long_chain_of_sources_is_cut(tree: Tree_) -> None:
    files = {f"s{i}.sh": f"export V{i}=1\n. ./s{i + 1}.sh\n" for i in range(40)}
    files["s40.sh"] = "torchrun t.py\n"
    unit = units_of(tree(files), "s0.sh")["s0.sh"]
    assert unit.unresolved
    assert len(unit.steps) < 100


def test_a_launch_line_of_5000_arguments(tree: Tree_) -> None:
    words = " ".join(f"--option-{i} {i}" for i in range(2500))
    start = time.monotonic()
    unit = units_of(tree({"run.sh": f"export NCCL_ALGO=Ring\ntorchrun train.py {words}\n"}))["run.sh"]
    assert len(unit.commands) == 1
    assert environment_at(unit) == {"NCCL_ALGO": "Ring"}
    assert time.monotonic() - start < 20


def test_many_generated_scripts_that_source_one_file(tree: Tree_) -> None:
    files = {f"gen/run{i}.sh": "source ../env.sh\nexport A=1\ntorchrun t.py\n" for i in range(600)}
    files["env.sh"] = "\n".join(f"export NCCL_X{i}=1" for i in range(50))
    start = time.monotonic()
    found = units_of(tree(files))
    assert len(found) == 601
    assert all(len(unit.commands) == 1 for path, unit in found.items() if path != "env.sh")
    assert time.monotonic() - start < 60


def _step(name: str, op: str = "set", branch: tuple[Branch, ...] = (), scope: Scope = Scope()) -> Step:
    place = Place("x.sh", 1, 1, 1, 2)
    fact = Setting(op, name, Value("literal", "1"), place, "shell", 0, scope=scope, branch=branch)  # type: ignore[arg-type]
    return Step(fact, "x.sh", scope, branch)


BRANCH = st.builds(Branch, st.sampled_from(["p", "q"]), st.sampled_from(["if", "else"]))
STEPS = st.lists(
    st.builds(
        _step, st.sampled_from("AB"), st.sampled_from(["set", "default", "append", "unset", "export"]),
        st.lists(BRANCH, max_size=1).map(tuple), st.sampled_from([Scope(), Scope("subshell", "s")]),
    )
)  # fmt: skip


@given(STEPS)
def test_what_is_held_was_set_on_a_path_that_leads_here(steps: list[Step]) -> None:
    here = (Branch("p", "if"),)
    for held in environment.at(steps, len(steps), Scope(), here).values():
        assert held.steps
        for step in held.steps:
            assert isinstance(step.fact, Setting)
            assert step.fact.op in environment.GIVES
            assert step.scope == Scope()
            assert Branch("p", "else") not in step.branch


def test_units_are_shown_as_text(tree: Tree_) -> None:
    script = (
        "#!/bin/bash\n#SBATCH -N 2\n. ./env.sh\n. /etc/x.sh\nexport NCCL_ALGO=Ring\nNCCL_PROTO=LL srun python t.py\n"
    )
    built = units_of(tree({"job.sh": script, "env.sh": "export NCCL_DEBUG=INFO\n", "t.py": "x=1\n"})).values()
    text = "\n".join(lines(list(built), load_launchers(), lambda name: name.startswith("NCCL")))
    for part in ("job.sh", "batch system: slurm", "sources: env.sh", "not found in the tree: /etc/x.sh (line 4)",
                 "6: srun > python -> t.py", "NCCL_DEBUG=INFO (env.sh:1)", "NCCL_ALGO=Ring (line 5)",
                 "NCCL_PROTO=LL (with srun)"):  # fmt: skip
        assert part in text


SHOWN = [
    ("torchrun --no-python bash x.sh", ["1: torchrun > bash -> x.sh (not found in the tree)"]),
    ("srun hostname", ["1: srun -> hostname"]),
    ("docker run img bash x.sh", []),
    ("mpirun -np 2 $BIN -b 8", ["1: mpirun -> $BIN"]),
    ("torchrun $HERE/t.py", ["1: torchrun -> $HERE/t.py (its place is not known)"]),
    ("torchrun a/t.py", ["1: torchrun -> a/t.py (not found in the tree)"]),
    ("srun --help", []),
    ("srun bash -c 'python a.py; python b.py'",
     ["1: srun > python -> a.py (not found in the tree)", "1: srun > python -> b.py (not found in the tree)"]),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), SHOWN)
def test_what_is_shown_of_a_launch(tree: Tree_, script: str, expected: list[str]) -> None:
    built = units_of(tree({"job.sh": script + "\n"})).values()
    assert [line.strip() for line in lines(list(built), load_launchers(), bool) if line[:2] == "  "] == expected


WRITTEN = """export NCCL_A=1
w=$(cat <<E
export NCCL_B=2
nice -10 python t.py
E
)
echo "$w" > worker.sh
"""


@pytest.mark.parametrize(
    ("runner", "expected"),
    [
        ("torchrun --no-python bash worker.sh",
         ["4: torchrun > bash > python -> t.py (not found in the tree)", "NCCL_A=1 (line 1)", "NCCL_B=2 (line 3)"]),
        ("ssh n1 bash ./worker.sh",
         ["4: ssh > bash > python -> t.py (not found in the tree)", "NCCL_B=2 (line 3)"]),
        ("W=out/worker.sh\ncat > $W <<E\n#!/bin/sh\npython u.py\nE\nsbatch $W",
         ["4: sbatch > python -> t.py (not found in the tree)", "NCCL_A=1 (line 1)", "NCCL_B=2 (line 3)",
          "11: sbatch > python -> u.py (not found in the tree)", "NCCL_A=1 (line 1)"]),
        ("true", ["4: python -> t.py (not found in the tree)", "NCCL_B=2 (line 3)"]),
    ],
)  # fmt: skip
def test_text_in_a_file_is_carried_by_what_runs_the_file(tree: Tree_, runner: str, expected: list[str]) -> None:
    built = units_of(tree({"job.sh": WRITTEN + runner + "\n"})).values()
    shown = list(lines(list(built), load_launchers(), lambda name: name.startswith("NCCL")))
    assert [line.strip() for line in shown[1:] if line] == expected


ENDLESS = {
    "written": "F=out/x.sh\n" + "".join(f"export NCCL_A{i}=1\n" for i in range(5000)) + "cat > $F <<E\n#!/bin/sh\n"
    + "".join(f"python t{i}.py\n" for i in range(2500)) + "E\nbash $F\n",
    "in a row": "export NCCL_ALGO=Ring\n" + "".join(f"srun torchrun t{i}.py\n" for i in range(2500)),
    "on a host": "ssh n1 bash <<E\n" + "".join(f"(docker run i torchrun t{i}.py)\n" for i in range(2500)) + "E\n",
    "arguments": "torchrun t.py " + " ".join(f"--option-{i} {i}" for i in range(2500)) + "\n",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_what_is_generated_is_shown_in_time(tree: Tree_, text: str) -> None:
    start = time.monotonic()
    shown = list(lines(list(units_of(tree({"run.sh": text})).values()), load_launchers(), bool))
    assert shown[0] == "run.sh"
    assert time.monotonic() - start < 30


@pytest.mark.slow
def test_thousands_of_generated_scripts_are_shown(tree: Tree_) -> None:
    script = "export NCCL_ALGO=Ring\nsource ../env.sh\nsrun bash ../run{0}.sh\nsrun torchrun ../t.py --seed {0}\n"
    files = {f"gen/run{i}.sh": script.format(i) for i in range(1500)}
    start = time.monotonic()
    built = units_of(tree({**files, "env.sh": "export NCCL_PROTO=Simple\n", "t.py": "x = 1\n"}))
    shown = [line for line in lines(list(built.values()), load_launchers(), bool) if "torchrun" in line]
    assert shown == ["  4: srun > torchrun -> t.py"] * 1500
    assert time.monotonic() - start < 120
