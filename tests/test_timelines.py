"""Timelines: calls in the order in which they run, across modules, helpers, processes and objects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import envdoctor
from envdoctor.analysis.project import open_project
from envdoctor.analysis.python import timeline as door
from envdoctor.analysis.python.modules import Modules
from envdoctor.analysis.python.timeline import EntryPoints, Timeline, only_rank_zero
from envdoctor.core.facts import Branch, exclusive
from envdoctor.core.source import Source
from envdoctor.readers import registry

Tree = Callable[[Mapping[str, str]], Path]


def followed(root: Path, entry: str = "train.py") -> Timeline | None:
    project = open_project(root, root)
    facts = project.facts.whole(entry)
    assert facts is not None
    return project.entry_points().timeline(facts)


def walked(root: Path, entry: str = "train.py") -> Timeline:
    found = followed(root, entry)
    assert found is not None
    return found


def names(found: Timeline, *wanted: str) -> list[str]:
    """The names of the events in order; with `wanted`, only those that begin with one of these."""
    return [s.call.name for s in found.events if not wanted or s.call.name.startswith(wanted)]


ORDERS = {
    "a helper of another module, re-exported under another name": (
        {
            "train.py": "import torch\nfrom lab import prepare\n\nprepare(1)\ntorch.randn(2)\n",
            "lab/__init__.py": "from .seeding import everything as prepare\n",
            "lab/seeding.py": "import torch\n\n\ndef everything(s):\n    torch.manual_seed(s)\n",
        },
        ["torch.manual_seed", "torch.randn"],
    ),
    "a star import": (
        {
            "train.py": "from tools import *\nimport torch\nfix(1)\ntorch.randn(2)\n",
            "tools.py": "import torch\ndef fix(s):\n    torch.manual_seed(s)\n",
        },
        ["torch.manual_seed", "torch.randn"],
    ),
    "arguments before the call around them": (
        {"train.py": "import torch\ntorch.add(torch.randn(1), torch.rand(1))\n"},
        ["torch.randn", "torch.rand", "torch.add"],
    ),
    "functions where they are called, not where they stand": (
        {
            "train.py": "import torch\n\n\ndef build():\n    return torch.nn.Linear(1, 1)\n\n\ndef main():\n"
            "    torch.manual_seed(1)\n    build()\n\n\nif __name__ == '__main__':\n    main()\n"
        },
        ["torch.manual_seed", "torch.nn.Linear"],
    ),
    "what an imported module does comes with the import": (
        {
            "train.py": "import torch\ntorch.manual_seed(1)\nimport weights\n",
            "weights.py": "import torch\nstart = torch.randn(3)\n",
        },
        ["torch.manual_seed", "torch.randn"],
    ),
    "imports of imports": (
        {
            "train.py": "import a\nimport torch\ntorch.manual_seed(1)\n",
            "a.py": "import b\n",
            "b.py": "import torch\nstart = torch.rand(3)\n",
        },
        ["torch.rand", "torch.manual_seed"],
    ),
    "the __main__ block of an imported module does not run": (
        {
            "train.py": "import a\nimport torch\ntorch.manual_seed(1)\n",
            "a.py": "import torch\nif __name__ == '__main__':\n    seed = torch.rand(3)\n",
        },
        ["torch.manual_seed"],
    ),
    "the constructor of a class and of its base": (
        {
            "train.py": "import torch\nfrom nets import Net\n\nNet()\ntorch.manual_seed(1)\n",
            "nets.py": "import torch\nclass Base:\n    def __init__(self):\n        torch.rand(1)\n\n\n"
            "class Net(Base):\n    def __init__(self):\n        torch.randn(1)\n",
        },
        ["torch.rand", "torch.randn", "torch.manual_seed"],
    ),
    "a method of an object": (
        {
            "train.py": "import torch\nclass Job:\n    def run(self):\n        torch.randn(1)\n\n\n"
            "job = Job()\njob.run()\ntorch.manual_seed(1)\n"
        },
        ["torch.randn", "torch.manual_seed"],
    ),
    "calling a model runs its forward": (
        {
            "train.py": "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
            "        return torch.rand_like(x)\n\n\nnet = Net().cuda()\nnet(torch.ones(1))\ntorch.manual_seed(1)\n"
        },
        ["torch.ones", "torch.rand_like", "torch.manual_seed"],
    ),
    "recursion ends": (
        {"train.py": "import torch\ndef f():\n    torch.rand(1)\n    f()\nf()\n"},
        ["torch.rand"],
    ),
    "modules that import each other": (
        {"train.py": "import a\na.f()\n", "a.py": "import b\nimport torch\ndef f():\n    torch.rand(1)\n    b.g()\n",
         "b.py": "import a\nimport torch\ndef g():\n    torch.randn(1)\n"},
        ["torch.rand", "torch.randn"],
    ),
    "a main that a framework starts": (
        {"train.py": "import fire, torch\ndef main():\n    torch.rand(1)\nif __name__ == '__main__':\n    fire.Fire(main)\n"},
        ["torch.rand"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), ORDERS.values(), ids=ORDERS)
def test_order(tree: Tree, files: Mapping[str, str], expected: list[str]) -> None:
    found = walked(tree(files))
    kept = [n for n in names(found, "torch.") if n in expected or "nn.Module" not in n]
    assert [n for n in kept if not n.startswith("torch.nn.Module")] == expected


def test_steps_know_where_in_the_entry_they_come_from(tree: Tree) -> None:
    root = tree({"train.py": "from a import f\n\n\nf()\n", "a.py": "import torch\ndef f():\n    torch.rand(1)\n"})
    (event,) = [s for s in walked(root).events if s.call.name == "torch.rand"]
    assert (event.call.place.path, event.site and (event.site.path, event.site.line)) == ("a.py", ("train.py", 4))


PROCESSES = {
    "torch spawns": ("import torch\nimport torch.multiprocessing as mp\n", "mp.spawn(work, nprocs=2)", "spawn"),
    "multiprocessing forks": ("import torch\nimport multiprocessing as mp\n", "mp.Process(target=work).start()", "fork"),
    "unless it is told to spawn": (
        "import torch\nimport multiprocessing as mp\nmp.set_start_method('spawn')\n", "mp.Process(target=work)", "spawn",
    ),
    "a context": (
        "import torch\nimport torch.multiprocessing as mp\nctx = mp.get_context('spawn')\n", "ctx.Process(target=work)",
        "spawn",
    ),
    "a callback stays": ("import torch\n", "torch.jit.script(work)", "main"),
    "a loader's worker": (
        "import torch\nfrom torch.utils.data import DataLoader\n", "DataLoader([], worker_init_fn=work)", "loader",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("head", "call", "kind"), PROCESSES.values(), ids=PROCESSES)
def test_processes(tree: Tree, head: str, call: str, kind: str) -> None:
    text = f"{head}\n\ndef work(*_):\n    torch.rand(1)\n\n\nif __name__ == '__main__':\n    {call}\n"
    (event,) = [s for s in walked(tree({"train.py": text})).events if s.call.name == "torch.rand"]
    assert event.process.kind == kind


@pytest.mark.parametrize("made", ["Worker.remote()", "Worker.options(num_gpus=1).remote()"])
def test_ray_actors_are_processes(tree: Tree, made: str) -> None:
    text = (
        "import ray\nimport torch\n\n\n@ray.remote\nclass Worker:\n    def __init__(self):\n        torch.rand(1)\n\n\n"
    )
    (event,) = [s for s in walked(tree({"train.py": f"{text}{made}\n"})).events if s.call.name == "torch.rand"]
    assert event.process.kind == "remote"


def test_methods_of_a_dataset_run_in_workers_without_order(tree: Tree) -> None:
    text = (
        "import torch\nfrom torch.utils.data import Dataset\n\n\nclass Data(Dataset):\n    def __getitem__(self, i):\n"
        "        return torch.rand(1)\n\n    def describe(self):\n        torch.manual_seed(1)\n\n\nData()\n"
    )
    events = {s.call.name: s for s in walked(tree({"train.py": text})).events}
    assert (events["torch.rand"].process.kind, events["torch.rand"].ordered) == ("loader", False)
    assert events["torch.rand"].likely
    assert not events["torch.manual_seed"].likely


NO_ENTRY = {
    "lib.py": "import torch\n\n\ndef f():\n    torch.rand(1)\n",
    "tests/test_a.py": "import torch\ntorch.rand(1)\n",
    "conftest.py": "import torch\ntorch.rand(1)\n",
    "constants.py": "A = 1\n",
}


@pytest.mark.parametrize("path", NO_ENTRY)
def test_libraries_and_tests_start_no_program(tree: Tree, path: str) -> None:
    assert followed(tree({path: NO_ENTRY[path]}), path) is None


def test_conditions_of_several_files_are_told_apart(tree: Tree) -> None:
    files = {
        "train.py": "import torch\nfrom a import f\nif x:\n    f()\n",
        "a.py": "import torch\nif y:\n    pass\ndef f():\n    if z:\n        torch.rand(1)\n",
    }
    (event,) = [s for s in walked(tree(files)).events if s.call.name == "torch.rand"]
    assert [b.condition for b in event.conditions] == ["x", "z"]
    assert len({b.id for b in event.conditions}) == 2


LAUNCHES = [
    (["torchrun", "--nproc_per_node=8", "train.py", "--lr", "1"], "run.sh", True),
    (["python", "../train.py"], "scripts/run.sh", True),
    (["python", "-m", "jobs.fit"], "run.sh", True),
    (["python", "other.py"], "run.sh", False),
    (["python", "-m", "torch.distributed.run"], "run.sh", False),
]


@pytest.mark.parametrize(("words", "path", "there"), LAUNCHES)
def test_programs_of_a_launch(tree: Tree, words: list[str], path: str, there: bool) -> None:
    code = "import torch\ntorch.rand(1)\n"
    root = tree({"train.py": code, "jobs/__init__.py": "", "jobs/fit.py": code})
    entry_points = open_project(root, root).entry_points()
    assert bool(list(entry_points.launched(words, path))) == there


@st.composite
def projects(draw: st.DrawFn) -> dict[str, str]:
    """Modules whose functions call one another; any of them starts a program, and only some speak of seeds."""
    files: dict[str, str] = {}
    count = draw(st.integers(3, 8))
    for number in range(count):
        called = draw(st.lists(st.integers(number + 1, count), max_size=2, unique=True)) if number + 1 < count else []
        known = [n for n in called if n < count] or ([number + 1] if number + 1 < count else [])
        body = [f"    m{n}.work()\n" for n in known] + (["    torch.manual_seed(1)\n"] if draw(st.booleans()) else [])
        imports = "".join(f"import m{n}\n" for n in known)
        main = "work()\n" if draw(st.booleans()) else "if __name__ == '__main__':\n    work()\n"
        files[f"m{number}.py"] = f"{imports}import torch\ndef work():\n    torch.ones(1)\n{''.join(body)}{main}"
    return files


def entry_points_of(files: Mapping[str, str]) -> EntryPoints:
    """The entry points among files that stand in no folder."""
    read = {path: registry.read(Source(path, text), "python") for path, text in files.items()}
    raw = {path: text.encode() for path, text in files.items()}
    return EntryPoints(Modules(frozenset(files), read.get, raw.get), files.__getitem__, lambda path: False)


@settings(deadline=None)
@given(st.data())
def test_the_order_in_which_programs_are_followed_changes_nothing(data: st.DataObject) -> None:
    files = data.draw(projects())
    order = data.draw(st.permutations(sorted(files)))
    together = entry_points_of(files)
    for path in order:
        (alone,) = entry_points_of(files).launched(["python", path], "run.sh")
        (beside,) = together.launched(["python", path], "run.sh")
        assert (beside.events, list(beside.files)) == (alone.events, list(alone.files))


STEPS = ("envdoctor.analysis.python.program", "envdoctor.analysis.python.programs")
"""The steps of programs that write into their environment, for the rule about what is written too late."""


@pytest.mark.parametrize("floor", ["checks", "fixes"])
def test_what_programs_do_is_asked_at_one_door(floor: str) -> None:
    package = Path(envdoctor.__file__).parent
    for path in sorted((package / floor).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("envdoctor.analysis.python"):
                if node.module in STEPS:
                    continue
                assert node.module == door.__name__, f"{path}:{node.lineno}"
                assert {alias.name for alias in node.names} <= set(door.__all__), f"{path}:{node.lineno}"


def test_branches_exclude_each_other() -> None:
    first, second = (Branch("1:0", "if", "a"),), (Branch("1:0", "else", "not (a)"),)
    assert exclusive(first, second)
    assert not exclusive(first, first)
    assert not exclusive(first, (Branch("2:0", "else"),))


@pytest.mark.parametrize(
    ("condition", "arm", "expected"),
    [
        ("rank == 0", "if", True),
        ("dist.get_rank() == 0", "if", True),
        ("args.local_rank == 0", "if", True),
        ("int(os.environ['RANK']) == 0", "if", True),
        ("is_main_process()", "if", True),
        ("rank == 0", "else", False),
        ("rank == 1", "if", False),
        ("rank % 2 == 0", "if", False),
        ("epoch == 0", "if", False),
    ],
)
def test_only_rank_zero(condition: str, arm: str, expected: bool) -> None:
    assert only_rank_zero([Branch("1", arm, condition)]) == expected
