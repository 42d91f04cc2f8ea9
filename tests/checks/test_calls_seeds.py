"""ED401: each kind of fault with a close counter-example that is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from checks.call_lab import judged, lines
from support import known_catalog

Tree = Callable[[Mapping[str, str]], Path]
HEAD = "import random\nimport numpy as np\nimport torch\n"
SEEDS = "random.seed(1)\nnp.random.seed(1)\ntorch.manual_seed(1)\n"
TRAIN = "torch.nn.Linear(4, 1)(torch.ones(4)).sum().backward()\n"
LOADER = "from torch.utils.data import DataLoader, Dataset\n"

BAD = {
    "nothing is seeded: one finding": (f"{HEAD}random.random()\nnp.random.rand()\n{TRAIN}", [4]),
    "one stream of three": (f"{HEAD}torch.manual_seed(1)\nrandom.seed(1)\nnp.random.rand()\n{TRAIN}", [6]),
    "two streams of three": (f"{HEAD}torch.manual_seed(1)\nnp.random.rand()\nrandom.random()\n{TRAIN}", [5, 6]),
    "one device only": (f"{HEAD}torch.cuda.manual_seed(1)\n{TRAIN}", [5]),
    "drawn before": (f"{HEAD}x = torch.rand(3)\n{SEEDS}{TRAIN}", [4]),
    "split before": (
        "from sklearn.model_selection import train_test_split\n" + HEAD + f"train_test_split([1, 2])\n{SEEDS}{TRAIN}", [5],
    ),
    "data set shuffled before": (
        f"from datasets import load_dataset\n{HEAD}d = load_dataset('x').shuffle()\n{SEEDS}{TRAIN}", [5],
    ),
    "a head before the Trainer": (
        "from transformers import AutoModelForTokenClassification, Trainer\n"
        "m = AutoModelForTokenClassification.from_pretrained('b', num_labels=3)\nTrainer(model=m).train()\n", [2],
    ),
    "time": (f"import time\n{HEAD}torch.manual_seed(int(time.time()))\n{TRAIN}", [5]),
    "nanoseconds": (f"import time\n{HEAD}random.seed(time.time_ns())\ntorch.manual_seed(1)\n{TRAIN}", [5]),
    "process": (f"import os\n{HEAD}torch.manual_seed(os.getpid())\n{TRAIN}", [5]),
    "system": (f"{HEAD}{SEEDS}np.random.seed()\n{TRAIN}", [7]),
    "torch.seed": (f"{HEAD}{SEEDS}torch.seed()\n{TRAIN}", [7]),
    "seeded by None": (f"{HEAD}{SEEDS}random.seed(None)\n{TRAIN}", [7]),
    "default_rng": (f"{HEAD}{SEEDS}np.random.default_rng()\n{TRAIN}", [7]),
    "RandomState": (f"{HEAD}{SEEDS}np.random.RandomState()\n{TRAIN}", [7]),
    "random.Random": (f"{HEAD}{SEEDS}random.Random()\n{TRAIN}", [7]),
    "a Generator of torch": (f"{HEAD}{SEEDS}g = torch.Generator()\ntorch.rand(1, generator=g)\n{TRAIN}", [7]),
    "rank 0 only": (
        f"{HEAD}import torch.distributed as dist\nif dist.get_rank() == 0:\n    torch.manual_seed(1)\n{TRAIN}", [6],
    ),
    "sampler by rank": (
        f"{HEAD}from torch.utils.data.distributed import DistributedSampler\nimport torch.distributed as dist\n"
        f"{SEEDS}s = DistributedSampler([], seed=dist.get_rank())\ns.set_epoch(0)\n{TRAIN}", [9],
    ),
    "weights that a checkpoint may replace": (
        f"{HEAD}net = torch.nn.Linear(4, 1)\nif args.resume:\n    net.load_state_dict(torch.load('a'))\n{SEEDS}"
        "net(torch.ones(4)).sum().backward()\n", [4],
    ),
    "shuffled by rank, by its place": (
        f"{HEAD}from datasets import load_dataset\nimport torch.distributed as dist\n"
        f"{SEEDS}load_dataset('x', streaming=True).shuffle(42 + dist.get_rank())\n{TRAIN}", [9],
    ),
    "sampler by time": (
        f"{HEAD}from torch.utils.data.distributed import DistributedSampler\nimport time\n"
        f"{SEEDS}s = DistributedSampler([], seed=int(time.time()))\ns.set_epoch(0)\n{TRAIN}", [9],
    ),
    "split by time": (
        f"{HEAD}from sklearn.model_selection import train_test_split\nimport time\n"
        f"{SEEDS}train_test_split([1], random_state=time.time_ns())\n{TRAIN}", [9],
    ),
    "arguments of a Trainer by time": (
        "import time\nfrom transformers import Trainer, TrainingArguments\n"
        "a = TrainingArguments('out', seed=int(time.time()))\nTrainer(args=a).train()\n", [3],
    ),
    "a model of Keras that is made elsewhere": (
        "import tensorflow as tf\ndef make():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "m = make()\nm.compile(optimizer='sgd', loss='mse')\nm.fit([1], [1])\n", [3],
    ),
    "split by rank": (
        f"{HEAD}from sklearn.model_selection import train_test_split\nimport torch.distributed as dist\nrank = dist.get_rank()\n"
        f"{SEEDS}train_test_split([1], random_state=rank)\n{TRAIN}", [10],
    ),
    "workers of an unseeded NumPy": (
        f"{HEAD}{LOADER}torch.manual_seed(1)\nclass D(Dataset):\n    def __getitem__(self, i):\n        return np.random.rand()\n"
        f"DataLoader(D(), num_workers=2)\n{TRAIN}", [8, 9],
    ),
    "sklearn alone": (
        "from sklearn.model_selection import train_test_split\nfrom sklearn.ensemble import RandomForestClassifier\n"
        "a, b = train_test_split([1, 2])\nRandomForestClassifier(random_state=1).fit(a, b)\n", [3],
    ),
    "TensorFlow": (
        "import tensorflow as tf\nwith tf.GradientTape() as tape:\n    x = tf.random.normal((2,))\n", [3],
    ),
    "a JAX key in a loop": (
        "import jax\nkey = jax.random.PRNGKey(0)\nw = jax.random.normal(key)\nfor _ in range(3):\n"
        "    n = jax.random.uniform(key)\n    w = jax.grad(f)(w)\n", [5],
    ),
    "a JAX key from the clock": (
        "import jax, time\nkey = jax.random.key(int(time.time()))\njax.grad(f)(jax.random.normal(key))\n", [2],
    ),
    "a Ray actor": (
        f"import ray\n{HEAD}@ray.remote\nclass A:\n    def fit(self):\n        {TRAIN}"
        "torch.manual_seed(1)\na = A.remote()\na.fit.remote()\n", [8],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), BAD.values(), ids=BAD)
def test_faults(tree: Tree, monkeypatch: pytest.MonkeyPatch, code: str, expected: list[int]) -> None:
    root = tree({"train.py": code})
    monkeypatch.chdir(root)
    assert lines(judged(root, rules=("ED401",))) == [(line, "ED401") for line in expected]


GOOD = {
    "all streams": f"{HEAD}{SEEDS}random.random()\nnp.random.rand()\n{TRAIN}",
    "conditional seeds may be on": f"{HEAD}if args.seed is not None:\n    torch.manual_seed(args.seed)\n{TRAIN}",
    "seeded by a method": f"{HEAD}{SEEDS}r = random.Random()\nr.seed(7)\nr.random()\n{TRAIN}",
    "a generator that its holder seeds": f"{HEAD}{SEEDS}class Net:\n    def __init__(self):\n        self.rng = torch.Generator()\n"
    f"class Whole:\n    def __init__(self):\n        self.model = Net()\n        self.model.rng.manual_seed(3)\nWhole()\n{TRAIN}",
    "weights that a checkpoint replaces": f"{HEAD}net = torch.nn.Linear(4, 1)\nnet.load_state_dict(torch.load('a'))\n{SEEDS}"
    "net(torch.ones(4)).sum().backward()\n",
    "each rank shuffles its own part": f"{HEAD}from datasets import load_dataset\nimport torch.distributed as dist\n"
    f"{SEEDS}d = load_dataset('x').shard(8, dist.get_rank())\nd.shuffle(42 + dist.get_rank())\n{TRAIN}",
    "parts by node": f"{HEAD}from datasets import load_dataset\nfrom datasets.distributed import split_dataset_by_node\n"
    f"import torch.distributed as dist\n{SEEDS}d = split_dataset_by_node(load_dataset('x'), dist.get_rank(), 8)\n"
    f"d.shuffle(seed=42 + dist.get_rank())\n{TRAIN}",
    "the time in a name": "import time\nfrom transformers import Trainer, TrainingArguments\n"
    "a = TrainingArguments(f'out{time.time()}', seed=1)\nTrainer(args=a).train()\n",
    "a model of Keras that is used only": "import tensorflow as tf\ndef make():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    "m = make()\nm.compile(optimizer='sgd', loss='mse')\nm.predict([1])\n",
    "layers that have their seeds": "import tensorflow as tf\n"
    "tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.HeNormal(seed=5))\n"
    "tf.keras.layers.Dropout(0.1, seed=3)\nwith tf.GradientTape():\n    tf.random.uniform([], seed=7)\n",
    "seed + rank": f"{HEAD}import torch.distributed as dist\ntorch.manual_seed(1 + dist.get_rank())\n{TRAIN}",
    "Lightning": f"{HEAD}import lightning as L\nL.seed_everything(1)\nrandom.random()\nnp.random.rand()\n{TRAIN}",
    "accelerate": f"{HEAD}from accelerate.utils import set_seed\nset_seed(1)\nrandom.random()\n{TRAIN}",
    "Keras": "import tensorflow as tf\ntf.keras.utils.set_random_seed(1)\nwith tf.GradientTape():\n    tf.random.normal((2,))\n",
    "a helper outside of the project": f"{HEAD}from kit import set_random_seed\nset_random_seed(3)\nrandom.random()\n{TRAIN}",
    "a function outside that is given the seed": f"{HEAD}import kit\nkit.begin(seed=3)\nrandom.random()\n{TRAIN}",
    "a generator given to the draw": (
        f"{HEAD}g = torch.Generator().manual_seed(3)\ntorch.rand(3, generator=g)\n{SEEDS}{TRAIN}"
    ),
    "a generator seeded later": f"{HEAD}{SEEDS}g = torch.Generator()\ng.manual_seed(2)\n{TRAIN}",
    "a port": f"{HEAD}torch.manual_seed(1)\nport = random.randint(20000, 30000)\n{TRAIN}",
    "a name": f"{HEAD}torch.manual_seed(1)\ndef run_name():\n    return random.choice('ab')\nrun_name()\n{TRAIN}",
    "a seed that is drawn where none was given": (
        f"{HEAD}if args.seed is None:\n    args.seed = np.random.randint(1000)\nnp.random.seed(args.seed)\n"
        f"torch.manual_seed(args.seed)\n{TRAIN}"
    ),
    "a clock only where no seed is given": f"import time\n{HEAD}torch.manual_seed(args.seed or int(time.time()))\n{TRAIN}",
    "a caller may hand over the generator": (
        f"{HEAD}{SEEDS}def crop(x, rng=None):\n    rng = np.random.default_rng() if rng is None else rng\ncrop(1)\n{TRAIN}"
    ),
    "random_state": (
        f"from sklearn.model_selection import train_test_split\n{HEAD}train_test_split([1], random_state=3)\n{SEEDS}{TRAIN}"
    ),
    "no shuffle": (
        f"from sklearn.model_selection import train_test_split\n{HEAD}train_test_split([1], shuffle=False)\n{SEEDS}{TRAIN}"
    ),
    "a data set's seed": f"from datasets import load_dataset\n{HEAD}load_dataset('x').shuffle(seed=1)\n{SEEDS}{TRAIN}",
    "a model on the meta device": f"{HEAD}with torch.device('meta'):\n    torch.nn.Linear(4, 1)\n{SEEDS}{TRAIN}",
    "the top of a file runs again in spawned processes": (
        "import torch\nimport torch.multiprocessing as mp\ntorch.manual_seed(1)\n"
        f"def work(rank):\n    {TRAIN}if __name__ == '__main__':\n    mp.spawn(work)\n"
    ),
    "a forked process has its parent's seed": (
        "import torch\nimport multiprocessing as mp\n"
        f"def work():\n    {TRAIN}if __name__ == '__main__':\n    torch.manual_seed(1)\n    mp.Process(target=work).start()\n"
    ),
    "no training": f"{HEAD}np.save('x.npy', np.random.rand(3))\n",
    "a sampler without epochs": (
        f"{HEAD}from torch.utils.data.distributed import DistributedSampler\n{SEEDS}DistributedSampler([])\n{TRAIN}"
    ),
    "a sampler for evaluation": (
        f"{HEAD}from torch.utils.data.distributed import DistributedSampler\n{SEEDS}for epoch in range(3):\n"
        f"    DistributedSampler(val_data)\n    {TRAIN}"
    ),
    "a key split in between": (
        "import jax\nkey = jax.random.key(0)\nw = jax.random.normal(key)\nkey, sub = jax.random.split(key)\n"
        "jax.grad(f)(jax.random.normal(sub))\n"
    ),
    "keys in two arms": (
        "import jax\nkey = jax.random.key(0)\nif a:\n    w = jax.random.normal(key)\nelse:\n    w = jax.random.uniform(key)\n"
        "jax.grad(f)(w)\n"
    ),
    "a worker_init_fn": (
        f"{HEAD}{LOADER}{SEEDS}def init(i):\n    np.random.seed(i)\nclass D(Dataset):\n    def __getitem__(self, i):\n"
        f"        return np.random.rand()\nDataLoader(D(), num_workers=2, worker_init_fn=init)\n{TRAIN}"
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", GOOD.values(), ids=GOOD)
def test_no_fault(tree: Tree, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    root = tree({"train.py": code})
    monkeypatch.chdir(root)
    assert [(f.place.line, f.message) for f in judged(root, rules=("ED401",))] == []


DATA = f"{HEAD}{LOADER}random.seed(1)\nnp.random.seed(1)\ntorch.manual_seed(1)\n"
DATA += "class D(Dataset):\n    def __getitem__(self, i):\n        return np.random.rand()\n"
DATA += f"DataLoader(D(), num_workers=2)\n{TRAIN}"


@pytest.mark.parametrize(("torch", "expected"), [("1.8.1", [(11, "ED401")]), ("1.9.0", []), ("2.4.1", []), ("", [])])
def test_torch_seeds_numpy_in_workers_from_1_9_on(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, torch: str, expected: list[tuple[int, str]]
) -> None:
    root = tree({"train.py": DATA})
    monkeypatch.chdir(root)
    assert lines(judged(root, f"torch-{torch}" if torch else "", rules=("ED401",))) == expected


QUIET = ["tests/test_train.py", "bench/train_speed.py", "infer.py", "tools/export_onnx.py", "serve.py"]


@pytest.mark.parametrize("path", [p for p in QUIET if "train" not in p.rpartition("/")[2] or p.startswith("tests")])
def test_files_that_train_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    root = tree({path: f"{HEAD}{TRAIN}"})
    monkeypatch.chdir(root)
    assert judged(root, rules=("ED401",)) == []


def test_a_library_is_not_blamed_for_what_its_user_leaves_out(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "examples/train.py": "from kit.nets import Net\nimport torch\n\nnet = Net()\nnet(torch.ones(4)).sum().backward()\n",
        "kit/__init__.py": "",
        "kit/nets.py": "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
        "        self.layer = torch.nn.Linear(4, 1)\n",
    }
    root = tree(files)
    monkeypatch.chdir(root)
    (found,) = judged(root, rules=("ED401",))
    assert (found.place.path, found.place.line) == ("examples/train.py", 4)
    assert [(r.place.path, r.place.line) for r in found.related] == [("kit/nets.py", 6)]


def test_only_the_files_that_were_asked_for_are_reported(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    from envdoctor.analysis.project import open_project
    from envdoctor.engine import Engine, triggers
    from envdoctor.knowledge.rulebook import load_rulebook

    root = tree({"train.py": f"from data import load\nimport torch\ntorch.manual_seed(1)\nload()\n{TRAIN}",
                 "data.py": "import random\n\n\ndef load():\n    return random.random()\n"})  # fmt: skip
    monkeypatch.chdir(root)
    book = load_rulebook()
    engine = Engine(
        open_project(root, root, triggers([book.named("ED401")], known_catalog())),
        known_catalog(),
        book,
        [book.named("ED401")],
    )
    assert [f.place.path for f in engine.judge(["train.py", "data.py"]).findings] == ["data.py"]
    engine = Engine(
        open_project(root, root, triggers([book.named("ED401")], known_catalog())),
        known_catalog(),
        book,
        [book.named("ED401")],
    )
    assert engine.judge(["train.py"]).findings == []


KERAS = "import random\nimport tensorflow as tf\n{}m = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nm.compile(loss='mse')\nm.fit(1)\n"
TF_SEED, RANDOM_SEED = "tf.random.set_seed(1)\n", "random.seed(1)\n"


@pytest.mark.parametrize(
    ("seed", "target", "expected"),
    [
        (TF_SEED, "tensorflow-2.14.1", []),
        (TF_SEED, "tensorflow-2.15.1", [(4, "ED401")]),
        (TF_SEED, "tensorflow-2.16.2", [(4, "ED401")]),
        (RANDOM_SEED, "tensorflow-2.15.1", []),
        (RANDOM_SEED, "tensorflow-2.16.2", []),
        (TF_SEED, "", []),
        (RANDOM_SEED, "", []),
        (f"import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n{TF_SEED}", "tensorflow-2.16.2", []),
        ("tf.keras.utils.set_random_seed(1)\n", "tensorflow-2.15.1", []),
        ("tf.keras.utils.set_random_seed(1)\n", "tensorflow-2.16.2", []),
        ("", "", [(3, "ED401")]),
    ],
)
def test_what_seeds_layers_of_keras(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, seed: str, target: str, expected: list[tuple[int, str]]
) -> None:
    root = tree({"train.py": KERAS.format(seed)})
    monkeypatch.chdir(root)
    assert lines(judged(root, target, rules=("ED401",))) == expected


@pytest.mark.parametrize(("draws", "expected"), [("", []), ("def jitter():\n    return mine.random()\n", [2])])
def test_a_generator_that_a_module_makes_counts_where_it_is_drawn_from(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, draws: str, expected: list[int]
) -> None:
    root = tree(
        {
            "kit.py": f"import random\nmine = random.Random()\n{draws}",
            "train.py": f"{HEAD}import kit\n{SEEDS}kit.jitter()\n{TRAIN}",
        }
    )
    monkeypatch.chdir(root)
    assert [f.place.line for f in judged(root, rules=("ED401",)) if f.place.path == "kit.py"] == expected
