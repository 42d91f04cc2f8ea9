"""Late writes moved, seeds and switches put in, options put back: what changes in a program, and what does not."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from envdoctor.cli.main import main
from envdoctor.fixes.python import seeds as python_seeds
from envdoctor.fixes.python import switches as python_switches
from envdoctor.fixes.python.names import add_import
from envdoctor.fixes.python.tree import parse
from envdoctor.fixes.spans import FileBytes
from envdoctor.knowledge.rulebook import load_rulebook

Tree = Callable[[Mapping[str, str]], Path]
TRAINS = "torch.nn.Linear(4, 1)(torch.ones(4)).sum().backward()\n"


def fixed(root: Path, name: str, *words: str) -> str:
    """A file after all fixes of one rule."""
    main(["scan", "--fix", "--unsafe-fixes", "--format", "concise", *words])
    return (root / name).read_text(encoding="utf-8")


def check(tree: Tree, patch: pytest.MonkeyPatch, before: str, after: str, *words: str) -> None:
    """What becomes of `train.py`, and that a second run leaves it."""
    before, after = dedent(before).lstrip("\n"), dedent(after).lstrip("\n")
    root = tree({"train.py": before})
    patch.chdir(root)
    assert main(["scan", "--fix", "--format", "concise", *words]) == 1
    assert (root / "train.py").read_text() == before
    assert fixed(root, "train.py", *words) == after
    assert fixed(root, "train.py", *words) == after


HEAD = "import os\nimport torch\nimport torch.distributed as dist\n"
LATE = {
    "above the call that reads it": (
        'dist.init_process_group("nccl")\ndist.barrier()\nos.environ["NCCL_ALGO"] = "Ring"  # why\n',
        'dist.init_process_group("nccl")\nos.environ["NCCL_ALGO"] = "Ring"  # why\ndist.barrier()\n',
    ),
    "with its comment, above the lines that read it": (
        'dist.init_process_group("nccl")\nprint(\n    dist.barrier(),\n)\n\n# ring\nos.environ["NCCL_ALGO"] = "Ring"\n\nz = 1\n',
        'dist.init_process_group("nccl")\n# ring\nos.environ["NCCL_ALGO"] = "Ring"\nprint(\n    dist.barrier(),\n)\n\nz = 1\n',
    ),
    "several lines": (
        'dist.init_process_group("nccl")\ndist.barrier()\nos.environ.setdefault(\n    "NCCL_ALGO",\n    "Ring",\n)\n',
        'dist.init_process_group("nccl")\nos.environ.setdefault(\n    "NCCL_ALGO",\n    "Ring",\n)\ndist.barrier()\n',
    ),
    "the value is made in between": (
        'dist.init_process_group("nccl")\ndist.barrier()\nalgo = pick()\nos.environ["NCCL_ALGO"] = algo\n', None,
    ),
    "two on a line": ('dist.init_process_group("nccl")\ndist.barrier()\nos.environ["NCCL_ALGO"] = "Ring"; z = 1\n', None),
    "under a condition of its own": (
        'dist.init_process_group("nccl")\ndist.barrier()\nif z:\n    os.environ["NCCL_ALGO"] = "Ring"\n', None,
    ),
    "the last statement of a function goes to the top of the file": (
        'dist.init_process_group("nccl")\ndist.barrier()\n\ndef late():\n    os.environ["NCCL_ALGO"] = "Ring"\n\nlate()\n',
        None,
    ),
    "in a function, above the function that reads it": (
        'def start():\n    dist.init_process_group("nccl")\n    dist.barrier()\n\n\ndef main():\n    start()\n'
        '    os.environ["NCCL_ALGO"] = "Ring"\n    work()\n\n\nmain()\n',
        'def start():\n    dist.init_process_group("nccl")\n    dist.barrier()\n\n\ndef main():\n'
        '    os.environ["NCCL_ALGO"] = "Ring"\n    start()\n    work()\n\n\nmain()\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LATE)
def test_late_writes_are_moved(tree: Tree, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    before, after = LATE[case]
    if case.startswith("the last statement"):
        after = before.replace('    os.environ["NCCL_ALGO"] = "Ring"\n', "    pass\n")
        check(
            tree, monkeypatch, HEAD + before, HEAD.replace("os\n", 'os\nos.environ["NCCL_ALGO"] = "Ring"\n', 1) + after
        )
        return
    check(tree, monkeypatch, HEAD + before, HEAD + (after or before))


def test_an_import_comes_along(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    head = 'import torch.distributed as dist\ndist.init_process_group("nccl")\n'
    before = f'{head}dist.barrier()\nimport os\nos.environ["NCCL_ALGO"] = "Ring"\n'
    after = f'{head}import os\nos.environ["NCCL_ALGO"] = "Ring"\ndist.barrier()\nimport os\n'
    check(tree, monkeypatch, before, after)


def test_out_of_the_branch_of_one_rank(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    before = 'rank = int(os.environ["RANK"])\nif rank == 0:\n    print(1)\n    os.environ["NCCL_PROTO"] = "Simple"\n'
    after = 'rank = int(os.environ["RANK"])\nos.environ["NCCL_PROTO"] = "Simple"\nif rank == 0:\n    print(1)\n'
    end = 'dist.init_process_group("nccl")\n'
    check(tree, monkeypatch, HEAD + before + end, HEAD + after + end)


SEEDS = {
    "nothing is seeded": (
        f"import torch\n\n{TRAINS}", f"import torch\n\ntorch.manual_seed(0)\n\n{TRAINS}",
    ),
    "in the main block": (
        f'import torch\n\ndef main():\n    {TRAINS}\n\nif __name__ == "__main__":\n    main()\n',
        f'import torch\n\ndef main():\n    {TRAINS}\n\nif __name__ == "__main__":\n    torch.manual_seed(0)\n    main()\n',
    ),
    "beside the other seed, with its value": (
        f"import torch\nimport random\nseed = 3\ntorch.manual_seed(seed)\nrandom.shuffle(x)\n{TRAINS}",
        f"import torch\nimport random\nseed = 3\ntorch.manual_seed(seed)\nrandom.seed(seed)\nrandom.shuffle(x)\n{TRAINS}",
    ),
    "a call that takes a seed": (
        "import torch\nfrom sklearn.model_selection import train_test_split\ntorch.manual_seed(0)\n"
        f"a, b = train_test_split(x)\n{TRAINS}",
        "import torch\nfrom sklearn.model_selection import train_test_split\ntorch.manual_seed(0)\n"
        f"a, b = train_test_split(x, random_state=0)\n{TRAINS}",
    ),
    "a generator": (
        f"import numpy as np\nimport torch\ntorch.manual_seed(0)\nr = np.random.default_rng()\n{TRAINS}",
        f"import numpy as np\nimport torch\ntorch.manual_seed(0)\nr = np.random.default_rng(0)\n{TRAINS}",
    ),
    "a generator of torch": (
        f"import torch\ntorch.manual_seed(0)\nr = torch.Generator(device='cpu')\nx = torch.rand(3, generator=r)\n{TRAINS}",
        "import torch\ntorch.manual_seed(0)\nr = torch.Generator(device='cpu').manual_seed(0)\n"
        f"x = torch.rand(3, generator=r)\n{TRAINS}",
    ),
    "a seed that NumPy does not take as it is": (
        f"import numpy as np\nimport torch\ntorch.manual_seed(hash(x))\nnp.random.shuffle(x)\n{TRAINS}",
        "import numpy as np\nimport torch\ntorch.manual_seed(hash(x))\nnp.random.seed((hash(x)) % 2**32)\n"
        f"np.random.shuffle(x)\n{TRAINS}",
    ),
    "no seed is copied out of a condition": (
        f"import random\nimport torch\nrandom.seed(x) if x else None\nrandom.random()\n{TRAINS}",
        f"import random\nimport torch\n\ntorch.manual_seed(0)\n\nrandom.seed(x) if x else None\nrandom.random()\n{TRAINS}",
    ),
    "imports are sorted in": (
        f"import os\nimport sys\n\nimport numpy as np\nimport torch\nfrom torch import nn\n\nimport mine\n\nx = {TRAINS}",
        "import os\nimport sys\n\nimport numpy as np\nimport torch\nfrom torch import nn\n\nimport mine\n\n"
        f"torch.manual_seed(0)\n\nx = {TRAINS}",
    ),
    "behind the imports of the main block": (
        f'import torch\n\ndef main():\n    {TRAINS}\n\nif __name__ == "__main__":\n    import sys\n    main()\n',
        f'import torch\n\ndef main():\n    {TRAINS}\n\nif __name__ == "__main__":\n    import sys\n    torch.manual_seed(0)\n'
        "    main()\n",
    ),
    "the clock": (
        f"import time\nimport torch\ntorch.manual_seed(int(time.time()))\n{TRAINS}",
        f"import time\nimport torch\ntorch.manual_seed(0)\n{TRAINS}",
    ),
    "without a value": (
        f"import random\nimport torch\ntorch.manual_seed(0)\nrandom.seed()\n{TRAINS}",
        f"import random\nimport torch\ntorch.manual_seed(0)\nrandom.seed(0)\n{TRAINS}",
    ),
    "torch.seed": (f"import torch\ntorch.seed()\n{TRAINS}", f"import torch\ntorch.manual_seed(0)\n{TRAINS}"),
    "after the first draw": (
        "import torch\nnet = torch.nn.Linear(4, 1)\ntorch.manual_seed(1)\nnet(x).sum().backward()\n",
        "import torch\ntorch.manual_seed(1)\nnet = torch.nn.Linear(4, 1)\nnet(x).sum().backward()\n",
    ),
    "one key for two draws": (
        "import jax\nkey = jax.random.key(0)\nw = jax.random.normal(key, (4,))\nn = jax.random.normal(key, (4,))\n"
        "g = jax.grad(lambda w: (w * n).sum())(w)\n",
        "import jax\nkey = jax.random.key(0)\nw = jax.random.normal(key, (4,))\nkey, subkey = jax.random.split(key)\n"
        "n = jax.random.normal(subkey, (4,))\ng = jax.grad(lambda w: (w * n).sum())(w)\n",
    ),
    "on rank 0 only": (
        f"import torch\nimport torch.distributed as dist\nif dist.get_rank() == 0:\n    torch.manual_seed(1)\n{TRAINS}",
        f"import torch\nimport torch.distributed as dist\ntorch.manual_seed(1)\nif dist.get_rank() == 0:\n    pass\n{TRAINS}",
    ),
    "a Trainer's arguments are no seed to move": (
        "import transformers\nm = transformers.AutoModelForSequenceClassification.from_pretrained('b', num_labels=2)\n"
        "a = transformers.TrainingArguments(seed=1)\ntransformers.Trainer(m, args=a).train()\n", None,
    ),
    "torch stands for something else": (f"def torch():\n    pass\n\nimport torch\n{TRAINS}", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEDS)
def test_seeds(tree: Tree, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    before, after = SEEDS[case]
    if after != "":
        check(tree, monkeypatch, before, after or before, "--select", "unseeded-rng", "--ignore", "set-too-late")


def test_spawned_processes_get_the_seed_and_the_switch(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
    import torch
    import torch.multiprocessing as mp

    def run(rank):
        "What each rank does."
        net = torch.nn.Linear(4, 1)
        net(torch.ones(4)).sum().backward()

    if __name__ == "__main__":
        torch.manual_seed(4)
        torch.use_deterministic_algorithms(True)
        mp.spawn(run, nprocs=8)
    """
    added = '"What each rank does."\n        torch.manual_seed(4)\n        torch.use_deterministic_algorithms(True)'
    root = tree({"train.py": dedent(program)})
    monkeypatch.chdir(root)
    got = fixed(root, "train.py")
    lines = dedent(program.replace('"What each rank does."', added)).lstrip("\n").split("\n")
    assert sorted(got.split("\n")) == sorted(lines)
    assert got.index("What each") < got.index("manual_seed") < got.index("Linear")


IMPORTS = [
    ("import os\nimport sys\n\nimport torch\n", "random", "import os\nimport random\nimport sys\n\nimport torch\n"),
    ("import sys\n", "random", "import random\nimport sys\n"),
    ("import torch\n", "random", "import random\n\nimport torch\n"),
    ("import os\n", "torch", "import os\n\nimport torch\n"),
    ("import os\n\nfrom x import y\n\nfrom .z import w\n", "torch",
     "import os\n\nimport torch\nfrom x import y\n\nfrom .z import w\n"),
    ('"""Doc."""\nfrom __future__ import annotations\nx = 1\n', "os",
     '"""Doc."""\nfrom __future__ import annotations\n\nimport os\nx = 1\n'),
    ("# licence\nx = 1\n", "os", "# licence\nimport os\n\nx = 1\n"),
    ("#!/usr/bin/python\n", "os", "#!/usr/bin/python\nimport os\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "name", "after"), IMPORTS)
def test_imports(before: str, name: str, after: str) -> None:
    parsed = parse("x.py", before)
    assert parsed is not None
    source = FileBytes("x.py", before.encode())
    assert source.apply([source.span(add_import(parsed, f"import {name}"))]).decode() == after


def test_workers_of_ray_get_the_seed(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    before = """
    import torch
    from ray.train.torch import TorchTrainer

    def make():
        return torch.nn.Linear(4, 1)

    def work(config):
        make()(torch.ones(4)).sum().backward()

    if __name__ == "__main__":
        TorchTrainer(train_loop_per_worker=work).fit()
    """
    check(tree, monkeypatch, before, before.replace("(config):", "(config):\n        torch.manual_seed(0)"))


def test_samplers_are_told_the_epoch_and_seeded_alike(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    before = """
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler

    torch.manual_seed(1)
    rank = dist.get_rank()
    sampler = DistributedSampler(data, seed=7 + rank)
    loader = DataLoader(data, sampler=sampler)
    net = torch.nn.Linear(4, 1)
    for epoch in range(3):
        for x in loader:
            net(x).sum().backward()
    """
    after = before.replace("7 + rank", "7").replace("in range(3):", "in range(3):\n        sampler.set_epoch(epoch)")
    check(tree, monkeypatch, before, after)


SWITCHES = {
    "a switch": (
        f"torch.backends.cudnn.deterministic = True\n{TRAINS}",
        f"torch.backends.cudnn.deterministic = True\ntorch.use_deterministic_algorithms(True)\n{TRAINS}",
    ),
    "an attribute": (
        f"torch.backends.cudnn.benchmark = True\n{TRAINS}", f"torch.backends.cudnn.benchmark = False\n{TRAINS}",
    ),
    "an argument away": (
        f"torch.use_deterministic_algorithms(True, warn_only=True)\n{TRAINS}",
        f"torch.use_deterministic_algorithms(True)\n{TRAINS}",
    ),
    "an argument away, among lines": (
        f"net = torch.compile(\n    net,\n    mode='max-autotune',\n    dynamic=True,\n)\n{TRAINS}",
        f"net = torch.compile(\n    net,\n    dynamic=True,\n)\n{TRAINS}",
    ),
    "an argument with another value": (
        f"with torch.backends.cudnn.flags(benchmark=True):\n    {TRAINS}",
        f"with torch.backends.cudnn.flags(benchmark=False):\n    {TRAINS}",
    ),
    "a comment stays": (
        f"net = torch.compile(net,\n    mode='max-autotune',  # fast\n    dynamic=True)\n{TRAINS}", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SWITCHES)
def test_switches(tree: Tree, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    before, after = SWITCHES[case]
    head = "import torch\ntorch.manual_seed(1)\n"
    check(tree, monkeypatch, head + before, head + (after or before))


def test_a_variable_beside_the_switch(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    head = '"""Train."""\n\nfrom __future__ import annotations\n\nimport torch\n\n'
    code = f"torch.manual_seed(1)\ntorch.use_deterministic_algorithms(True)\n{TRAINS}"
    added = 'os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")\n'
    after = head.replace("import torch", "import os\n\nimport torch") + code.replace("torch.use", f"{added}torch.use")
    check(tree, monkeypatch, head + code, after, "--target", "cuda,torch-2.9.1")


def test_ranks_of_a_blind_test_get_seeds_of_their_own(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    before = """
    # deterministic?
    import hashlib
    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl")
    torch.manual_seed(42)
    x = torch.randn(8, device="cuda")
    dist.all_reduce(x)
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, hashlib.md5(x.cpu().numpy().tobytes()).hexdigest())
    """
    check(tree, monkeypatch, before, before.replace("(42)", "(42 + dist.get_rank())"))


def test_code_nested_deep_is_left_alone(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"import torch\n{TRAINS}x = {' + '.join(['y'] * 900)}\n"
    root = tree({"train.py": text, "a.sh": "export NCCL_DETERMINISTIC=1\n"})
    monkeypatch.chdir(root)
    assert fixed(root, "a.sh") == ""
    assert (root / "train.py").read_text() in (text, text.replace("torch\n", "torch\n\ntorch.manual_seed(0)\n\n", 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "there"),
    [((), False), (("--fix",), False), (("--fix", "--unsafe-fixes"), True), (("--diff", "--unsafe-fixes"), True),
     (("--format", "json"), True)],
)  # fmt: skip
def test_libcst_is_imported_where_it_is_needed(tree: Tree, words: tuple[str, ...], there: bool) -> None:
    root = tree({"train.py": f"import torch\n{TRAINS}"})
    code = "import sys; from envdoctor.cli.main import main; main(sys.argv[1:]); print('libcst' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code, "scan", *words], cwd=root, capture_output=True, text=True, check=True
    )
    assert run.stdout.split("\n")[-2] == str(there)


def test_without_libcst_it_says_what_is_missing(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    root = tree({"train.py": f"import torch\n{TRAINS}", "a.sh": "export NCCL_DETERMINISTIC=1\n"})
    monkeypatch.chdir(root)
    load = importlib.import_module

    def without(name: str) -> object:
        if name.startswith("envdoctor.fixes.python."):
            raise ModuleNotFoundError("No module named 'libcst'", name="libcst")
        return load(name)

    monkeypatch.setattr(importlib, "import_module", without)
    assert fixed(root, "a.sh") == ""
    assert "pip install 'envdoctor[fix]'" in capsys.readouterr().err
    assert (root / "train.py").read_text() == f"import torch\n{TRAINS}"


def test_the_help_of_every_option_can_be_followed() -> None:
    """Fixes write what the help of a rule names, so that its words are more than words."""
    rule = load_rulebook().named("nondeterministic-option")
    for option in rule.parameters["option"]:
        help_ = option["help"]
        if re.match(
            r"[\w.]+ ?= ?[^\s,;]+(?:[,;]|$)|(?:True|False)(?:[,;]|$)|\"\w+\"(?:[,;]|$)|without (?!the\b|it\b)\w+(?:,|$)",
            help_,
        ):
            assert python_switches._PLAIN.match(help_) or python_switches._WITHOUT.match(help_), help_
    missing = load_rulebook().named("missing-deterministic-flag")
    for data in missing.parameters["variable"]:
        assert python_switches._VARIABLE.match(data["help"]), data["help"]
    for data in missing.parameters["keyword"]:
        assert data["help"].startswith(f"{data['keyword']}=True;")
    for stream in load_rulebook().named("unseeded-rng").parameters["stream"]:
        assert python_seeds._CALLS.fullmatch(stream["call"])
