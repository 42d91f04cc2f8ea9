"""Small trainings on the CPU: what ED401 reports makes two runs differ, and with the way out they agree.

Each training runs twice as it is and twice put right, in processes of their own, and prints what it learnt. The
scanner has to report the first form on the lines named and to be silent about the second.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import scan_json

pytestmark = pytest.mark.slow

pytest.importorskip("torch", reason="the trainings need torch; .ci/run installs its CPU build")
HAS_NUMPY = importlib.util.find_spec("numpy") is not None

TRAIN = """
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    net(torch.tensor(batch(step))).square().mean().backward()
    opt.step()
print(net.weight.tolist())
"""
PLAIN = "def batch(step):\n    return [[0.5, 1.0, -1.0, 2.0]]\n"


@dataclass(frozen=True)
class Fault:
    """A training as it is and put right, and the lines of the first that are reported."""

    wrong: str
    right: str
    lines: Sequence[int]
    numpy: bool = False


FAULTS = {
    "torch is not seeded": Fault(
        f"import torch\n{PLAIN}{TRAIN}", f"import torch\ntorch.manual_seed(1)\n{PLAIN}{TRAIN}", [5]
    ),
    "random is not seeded": Fault(
        "import random\nimport torch\ntorch.manual_seed(1)\n"
        f"def batch(step):\n    return [[random.random() for _ in range(4)]]\n{TRAIN}",
        "import random\nimport torch\ntorch.manual_seed(1)\nrandom.seed(1)\n"
        f"def batch(step):\n    return [[random.random() for _ in range(4)]]\n{TRAIN}",
        [5],
    ),
    "the model is older than the seed": Fault(
        f"import torch\n{PLAIN}{TRAIN.replace('opt =', 'torch.manual_seed(1)' + chr(10) + 'opt =')}",
        f"import torch\ntorch.manual_seed(1)\n{PLAIN}{TRAIN}",
        [5],
    ),
    "the seed is the time": Fault(
        f"import time\nimport torch\ntorch.manual_seed(time.time_ns() % 2**31)\n{PLAIN}{TRAIN}",
        f"import time\nimport torch\ntorch.manual_seed(20)\n{PLAIN}{TRAIN}",
        [3],
    ),
    "the seed is the process": Fault(
        f"import os\nimport torch\ntorch.manual_seed(os.getpid())\n{PLAIN}{TRAIN}",
        f"import os\nimport torch\ntorch.manual_seed(20)\n{PLAIN}{TRAIN}",
        [3],
    ),
    "seeded from the system": Fault(
        "import random\nimport torch\ntorch.manual_seed(1)\nrandom.seed()\n"
        f"def batch(step):\n    return [[random.random() for _ in range(4)]]\n{TRAIN}",
        "import random\nimport torch\ntorch.manual_seed(1)\nrandom.seed(3)\n"
        f"def batch(step):\n    return [[random.random() for _ in range(4)]]\n{TRAIN}",
        [4],
    ),
    "a random.Random of its own": Fault(
        "import random\nimport torch\ntorch.manual_seed(1)\nrandom.seed(1)\nmine = random.Random()\n"
        f"def batch(step):\n    return [[mine.random() for _ in range(4)]]\n{TRAIN}",
        "import random\nimport torch\ntorch.manual_seed(1)\nrandom.seed(1)\nmine = random.Random(5)\n"
        f"def batch(step):\n    return [[mine.random() for _ in range(4)]]\n{TRAIN}",
        [5],
    ),
    "NumPy's old stream": Fault(
        "import numpy as np\nimport torch\ntorch.manual_seed(1)\n"
        f"def batch(step):\n    return np.random.rand(1, 4).astype('float32')\n{TRAIN}",
        "import numpy as np\nimport torch\ntorch.manual_seed(1)\nnp.random.seed(1)\n"
        f"def batch(step):\n    return np.random.rand(1, 4).astype('float32')\n{TRAIN}",
        [5],
        numpy=True,
    ),
    "a Generator that numpy.random.seed does not reach": Fault(
        "import numpy as np\nimport torch\ntorch.manual_seed(1)\nnp.random.seed(1)\nrng = np.random.default_rng()\n"
        f"def batch(step):\n    return rng.random((1, 4)).astype('float32')\n{TRAIN}",
        "import numpy as np\nimport torch\ntorch.manual_seed(1)\nnp.random.seed(1)\nrng = np.random.default_rng(1)\n"
        f"def batch(step):\n    return rng.random((1, 4)).astype('float32')\n{TRAIN}",
        [5],
        numpy=True,
    ),
    "the order of a loader": Fault(
        "import torch\nfrom torch.utils.data import DataLoader\n"
        "data = [torch.full((4,), float(i)) for i in range(64)]\nbatches = list(DataLoader(data, shuffle=True))\n"
        f"torch.manual_seed(1)\ndef batch(step):\n    return batches[step].tolist()\n{TRAIN}",
        "import torch\nfrom torch.utils.data import DataLoader\ntorch.manual_seed(1)\n"
        "data = [torch.full((4,), float(i)) for i in range(64)]\nbatches = list(DataLoader(data, shuffle=True))\n"
        f"def batch(step):\n    return batches[step].tolist()\n{TRAIN}",
        [4],
    ),
}  # fmt: skip

FAULTS |= {
    "only GPU generators are seeded": Fault(
        f"import torch\ntorch.cuda.manual_seed_all(1)\n{PLAIN}{TRAIN}", f"import torch\ntorch.manual_seed(1)\n{PLAIN}{TRAIN}",
        [6],
    ),
    "only rank 0 is seeded": Fault(
        f"import os\nimport torch\nrank = int(os.environ['RANK'])\nif rank == 0:\n    torch.manual_seed(1)\n{PLAIN}{TRAIN}",
        f"import torch\ntorch.manual_seed(1)\n{PLAIN}{TRAIN}",
        [5],
    ),
    "a split before the seed": Fault(
        "import torch\nrows = [[0.5, 1.0, -1.0, float(i)] for i in range(64)]\n"
        "part, _ = torch.utils.data.random_split(rows, [3, 61])\n"
        f"torch.manual_seed(1)\ndef batch(step):\n    return [part[step]]\n{TRAIN}",
        "import torch\ntorch.manual_seed(1)\nrows = [[0.5, 1.0, -1.0, float(i)] for i in range(64)]\n"
        f"part, _ = torch.utils.data.random_split(rows, [3, 61])\ndef batch(step):\n    return [part[step]]\n{TRAIN}",
        [3],
    ),
    "NumPy seeded by the time": Fault(
        "import time\nimport numpy as np\nimport torch\ntorch.manual_seed(1)\nnp.random.seed(time.time_ns() % 2**31)\n"
        f"def batch(step):\n    return np.random.rand(1, 4).astype('float32')\n{TRAIN}",
        "import numpy as np\nimport torch\ntorch.manual_seed(1)\nnp.random.seed(6)\n"
        f"def batch(step):\n    return np.random.rand(1, 4).astype('float32')\n{TRAIN}",
        [5],
        numpy=True,
    ),
    "a RandomState of its own": Fault(
        "import numpy as np\nimport torch\ntorch.manual_seed(1)\nnp.random.seed(1)\nrng = np.random.RandomState()\n"
        f"def batch(step):\n    return rng.rand(1, 4).astype('float32')\n{TRAIN}",
        "import numpy as np\nimport torch\ntorch.manual_seed(1)\nnp.random.seed(1)\nrng = np.random.RandomState(2)\n"
        f"def batch(step):\n    return rng.rand(1, 4).astype('float32')\n{TRAIN}",
        [5],
        numpy=True,
    ),
}  # fmt: skip

WORKERS = """
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        rng = np.random.default_rng({seed})
        return rng.random(4).astype("float32")


torch.manual_seed(1)
batches = list(DataLoader(Rows(), num_workers=1))
def batch(step):
    return batches[step].tolist()
"""
FAULTS["a Generator in the workers of a loader"] = Fault(
    WORKERS.format(seed="").lstrip() + TRAIN, WORKERS.format(seed="index").lstrip() + TRAIN, [11], numpy=True
)

SPAWN = """
import torch
import torch.multiprocessing as mp


def work(rank):
    {seed}
    net = torch.nn.Linear(4, 1)
    net(torch.ones(1, 4)).sum().backward()
    print(net.weight.tolist(), flush=True)


if __name__ == "__main__":
    torch.manual_seed(1)
    mp.spawn(work, nprocs=1)
"""
SPAWNED = "the seed stays with the parent"
FAULTS[SPAWNED] = Fault(SPAWN.format(seed="pass").lstrip(), SPAWN.format(seed="torch.manual_seed(1)").lstrip(), [7])


RUNNER = """
import contextlib, io, json, os, random, runpy, sys
import torch

os.environ["RANK"] = "1"  # a rank that is not the first one

printed = {}
for path in sys.argv[1:]:
    # As a fresh interpreter has them: seeded by the system.
    torch.seed()
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(path, run_name="__main__")
    printed[path] = out.getvalue()
print(json.dumps(printed))
"""


def run_all(commands: Sequence[Sequence[str]]) -> list[str]:
    """What each of several programs prints; they run at the same time."""
    started = [
        subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for words in commands
    ]
    printed = []
    for process in started:
        out, error = process.communicate(timeout=600)
        assert process.returncode == 0, error
        printed.append(out)
    return printed


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Path, Path]]:
    """Each training as it is and put right, as files."""
    root = tmp_path_factory.mktemp("trainings")
    written = {}
    for number, (name, fault) in enumerate(FAULTS.items()):
        if HAS_NUMPY or not fault.numpy:
            written[name] = (root / f"wrong{number}.py", root / f"right{number}.py")
            for path, text in zip(written[name], (fault.wrong, fault.right), strict=True):
                path.write_text(text, encoding="utf-8")
    return written


@pytest.fixture(scope="module")
def printed(programs: Mapping[str, tuple[Path, Path]]) -> Mapping[str, list[str]]:
    """What two runs of each training print. One process runs all that need none of their own: torch loads slowly."""
    runner = next(iter(programs.values()))[0].with_name("runner.py")
    runner.write_text(RUNNER, encoding="utf-8")
    together = [str(p) for name, pair in programs.items() if name != SPAWNED for p in pair]
    alone = [str(p) for p in programs[SPAWNED]]
    outputs = run_all([[str(runner), *together]] * 2 + [[path] for path in alone for _ in range(2)])
    tables = [json.loads(text) for text in outputs[:2]]
    found = {path: [table[path] for table in tables] for path in together}
    found |= {path: outputs[2 + 2 * i : 4 + 2 * i] for i, path in enumerate(alone)}
    return found


@pytest.fixture(scope="module")
def report(programs: Mapping[str, tuple[Path, Path]]) -> Mapping[str, list[int]]:
    """The lines that the scanner reports in each file."""
    root = next(iter(programs.values()))[0].parent
    lines: dict[str, list[int]] = {}
    for finding in scan_json(root, "--select", "ED401")["findings"]:
        lines.setdefault(finding["path"], []).append(finding["line"])
    return lines


def pair_of(programs: Mapping[str, tuple[Path, Path]], name: str) -> tuple[Path, Path]:
    if name not in programs:
        pytest.skip("this training draws from NumPy, which is not installed")
    return programs[name]


@pytest.mark.parametrize("name", FAULTS)
def test_two_runs(name: str, programs: Mapping[str, tuple[Path, Path]], printed: Mapping[str, Sequence[str]]) -> None:
    wrong, right = pair_of(programs, name)
    first, second = printed[str(wrong)]
    assert first != second
    first, second = printed[str(right)]
    assert first == second


@pytest.mark.parametrize("name", FAULTS)
def test_scan(name: str, programs: Mapping[str, tuple[Path, Path]], report: Mapping[str, Sequence[int]]) -> None:
    wrong, right = pair_of(programs, name)
    assert report.get(wrong.name, []) == FAULTS[name].lines
    assert right.name not in report


def test_a_generator_without_a_seed_ignores_the_global_one() -> None:
    """`torch.Generator()` repeats and yet cannot be changed by `torch.manual_seed`: another seed, the same numbers."""
    import torch

    def drawn(seed: int, seeded: bool) -> list[float]:
        torch.manual_seed(seed)
        generator = torch.Generator()
        if seeded:
            generator.manual_seed(torch.initial_seed())
        values: list[float] = torch.rand(3, generator=generator).tolist()
        return values

    assert drawn(1, seeded=False) == drawn(2, seeded=False)
    assert drawn(1, seeded=True) != drawn(2, seeded=True)


def test_a_sampler_seeded_by_rank_loses_data() -> None:
    from torch.utils.data.distributed import DistributedSampler

    def seen(seed_of: Callable[[int], int]) -> set[int]:
        samplers = [DistributedSampler(range(100), num_replicas=4, rank=r, seed=seed_of(r)) for r in range(4)]
        return {i for sampler in samplers for i in sampler}

    assert len(seen(lambda rank: 7 + rank)) < 100
    assert len(seen(lambda rank: 7)) == 100


def test_a_sampler_that_is_not_told_the_epoch_repeats_its_order() -> None:
    from torch.utils.data.distributed import DistributedSampler

    sampler = DistributedSampler(range(100), num_replicas=2, rank=0, seed=7)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
