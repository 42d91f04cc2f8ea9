"""ED501, ED502, ED603 and the part of ED104 about calls: levels, intent, and both sides of each version boundary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from checks.call_lab import judged, lines

Tree = Callable[[Mapping[str, str]], Path]
SEEDED = "import torch\ntorch.manual_seed(1)\n"
STRICT = f"{SEEDED}torch.use_deterministic_algorithms(True)\n"
TRAIN = "torch.nn.Linear(4, 1)(torch.ones(4)).sum().backward()\n"
CONV = "torch.nn.Conv2d(4, 8, 3)(torch.ones(1, 4, 8, 8)).sum().backward()\n"


@pytest.fixture
def judge(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[int, str]]]:
    """(line, rule) of the findings in the training of a small project."""

    def run(
        code: str, target: str = "", level: str = "auto", path: str = "train.py", **more: str
    ) -> list[tuple[int, str]]:
        files = {path: code, **{name.replace("__", "."): text for name, text in more.items()}}
        root = tree(files)
        monkeypatch.chdir(root)
        return lines(judged(root, target, level), path)

    return run


OPTIONS = {
    "the autotuner": "torch.backends.cudnn.benchmark = True\n",
    "the autotuner by setattr": "setattr(torch.backends.cudnn, 'benchmark', True)\n",
    "compile": "torch.compile(f, mode='max-autotune-no-cudagraphs')\n",
    "compile options": "torch.compile(f, options={'max_autotune': True})\n",
    "inductor": "import torch._inductor.config\ntorch._inductor.config.max_autotune = True\n",
    "TunableOp": "torch.cuda.tunable.enable(True)\n",
    "batches as they come": "torch.utils.data.DataLoader([], in_order=False)\n",
}


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_what_chooses_by_timing_is_said_beside_seeds(judge: Callable[..., list[tuple[int, str]]], option: str) -> None:
    last = 2 + option.count("\n")
    assert judge(f"{SEEDED}{option}{TRAIN}") == [(last, "ED502")]
    assert judge(f"import torch\n{option}x = torch.jit.load('a')\n") == []
    assert judge(f"{SEEDED}{option}{TRAIN}", level="hygiene") == []


PRECISION = {
    "TF32 in products": "torch.backends.cuda.matmul.allow_tf32 = True\n",
    "TF32 in convolutions": "torch.backends.cudnn.allow_tf32 = True\n",
    "TF32 by precision": "torch.set_float32_matmul_precision('high')\n",
    "16-bit sums": "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True\n",
    "16-bit gradients": "from torch.distributed.fsdp import MixedPrecision\nMixedPrecision(reduce_dtype=torch.bfloat16)\n",
}


@pytest.mark.parametrize("option", PRECISION.values(), ids=PRECISION)
def test_precision_is_said_where_determinism_is_asked_for(
    judge: Callable[..., list[tuple[int, str]]], option: str
) -> None:
    last = 3 + option.count("\n")
    target = "cuda,torch-2.10.0"
    assert judge(f"{STRICT}{option}{TRAIN}", target) == [(last, "ED502")]
    assert judge(f"{SEEDED}{option}{TRAIN}", target) == []
    assert judge(f"{SEEDED}{option}{TRAIN}", target, "run-to-run") == [(last - 1, "ED502"), (last, "ED501")]


BOUNDARIES = {
    "TF32 has no effect on ROCm up to 2.6": (
        f"{STRICT}torch.backends.cuda.matmul.allow_tf32 = True\n{TRAIN}", "rocm-7.2,torch-2.6.0", [(4, "ED104")],
    ),
    "and needs a variable up to 2.9": (
        f"{STRICT}torch.backends.cuda.matmul.allow_tf32 = True\n{TRAIN}", "rocm-7.2,torch-2.9.1", [],
    ),
    "and acts alone from 2.10 on": (
        f"{STRICT}torch.backends.cuda.matmul.allow_tf32 = True\n{TRAIN}", "rocm-7.2,torch-2.10.0", [(4, "ED502")],
    ),
    "compile autotuning before 2.10": (
        f"{STRICT}torch.compile(f, mode='max-autotune')\n{TRAIN}", "rocm-7.2,torch-2.9.1", [(4, "ED502")],
    ),
    "is tied to the switch from 2.10 on": (
        f"{STRICT}torch.compile(f, mode='max-autotune')\n{TRAIN}", "rocm-7.2,torch-2.10.0", [],
    ),
    "and not to seeds": (
        f"{SEEDED}torch.compile(f, mode='max-autotune')\n{TRAIN}", "rocm-7.2,torch-2.10.0", [(3, "ED502")],
    ),
    "new precision attributes came with 2.9": (
        f"{SEEDED}torch.backends.cuda.matmul.fp32_precision = 'ieee'\n{TRAIN}", "cuda,torch-2.8.0", [(3, "ED104")],
    ),
    "they are there in 2.9": (
        f"{SEEDED}torch.backends.cuda.matmul.fp32_precision = 'ieee'\n{TRAIN}", "cuda,torch-2.9.1", [],
    ),
    "two ways to set precision": (
        f"{SEEDED}torch.backends.cuda.matmul.fp32_precision = 'ieee'\ntorch.backends.cudnn.allow_tf32 = False\n{TRAIN}",
        "cuda,torch-2.9.1", [(4, "ED502")],
    ),
    "MIOpen's immediate mode before 2.9": (
        f"{SEEDED}torch.backends.miopen.immediate = True\n{TRAIN}", "rocm-7.2,torch-2.8.0", [(3, "ED104")],
    ),
    "from 2.9 on": (f"{SEEDED}torch.backends.miopen.immediate = True\n{TRAIN}", "rocm-7.2,torch-2.9.1", []),
    "behind a test for it": (
        f"{SEEDED}if hasattr(torch.backends, 'miopen'):\n    torch.backends.miopen.immediate = True\n{TRAIN}",
        "rocm-7.2,torch-2.8.0", [],
    ),
    "cudnn.deterministic does nothing on ROCm before 2.1": (
        f"{STRICT}torch.backends.cudnn.deterministic = True\n{TRAIN}", "rocm-7.2,torch-2.0.1", [(4, "ED104")],
    ),
    "and does from 2.1 on": (
        f"{STRICT}torch.backends.cudnn.deterministic = True\n{TRAIN}", "rocm-7.2,torch-2.1.2", [],
    ),
    "the workspace up to 2.9 on CUDA": (f"{STRICT}{TRAIN}", "cuda,torch-2.9.1", [(3, "ED501")]),
    "not from 2.10 on": (f"{STRICT}{TRAIN}", "cuda,torch-2.10.0", []),
    "never on ROCm": (f"{STRICT}{TRAIN}", "rocm-7.2,torch-2.9.1", []),
    "not where it is set": (
        f"import os\nos.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'\n{STRICT}{TRAIN}", "cuda,torch-2.9.1", [],
    ),
    "not where the release is unknown": (f"{STRICT}{TRAIN}", "cuda", []),
    "convolutions before ROCm 7.2": (f"{STRICT}{CONV}", "rocm-7.1", [(3, "ED501")]),
    "from ROCm 7.2 on": (f"{STRICT}{CONV}", "rocm-7.2", []),
    "no convolutions": (f"{STRICT}{TRAIN}", "rocm-7.1", []),
    "flash-attn": (
        f"from flash_attn import flash_attn_func\n{STRICT}flash_attn_func(q, k, v).sum().backward()\n", "cuda,torch-2.10.0",
        [(5, "ED501")],
    ),
    "flash-attn with its switch": (
        f"from flash_attn import flash_attn_func\n{STRICT}flash_attn_func(q, k, v, deterministic=True).sum().backward()\n",
        "cuda,torch-2.10.0", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "target", "expected"), BOUNDARIES.values(), ids=BOUNDARIES)
def test_versions(
    judge: Callable[..., list[tuple[int, str]]], code: str, target: str, expected: list[tuple[int, str]]
) -> None:
    assert judge(code, target) == expected


INTENT = {
    "the attribute for convolutions": (f"{SEEDED}torch.backends.cudnn.deterministic = True\n{TRAIN}", [(3, "ED501")]),
    "a variable": (f"import os\n{SEEDED}os.environ['NCCL_DETERMINISTIC'] = '1'\n{TRAIN}", [(4, "ED501")]),
    "a variable that is off": (f"import os\n{SEEDED}os.environ['NCCL_DETERMINISTIC'] = '0'\n{TRAIN}", []),
    "the switch": (f"{STRICT}{TRAIN}", []),
    "the debug mode": (f"{SEEDED}torch.set_deterministic_debug_mode('error')\n{TRAIN}", []),
    "a switch whose value cannot be told": (
        f"{SEEDED}torch.backends.cudnn.deterministic = True\ntorch.use_deterministic_algorithms(args.d)\n{TRAIN}", [],
    ),
    "a helper outside of the project": (
        f"from kit import make_deterministic\n{SEEDED}torch.backends.cudnn.deterministic = True\nmake_deterministic()\n{TRAIN}",
        [],
    ),
    "warn_only": (f"{SEEDED}torch.use_deterministic_algorithms(True, warn_only=True)\n{TRAIN}", [(3, "ED502")]),
    "Lightning that only warns": (
        "import lightning as L\nL.seed_everything(1)\nL.Trainer(deterministic='warn').fit(m)\n", [(3, "ED502")],
    ),
    "Lightning with both": (
        "import lightning as L\nL.seed_everything(1)\nL.Trainer(deterministic=True, benchmark=True).fit(m)\n",
        [(3, "ED502")],
    ),
    "16-bit hook": (
        "from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook as h\n"
        f"{STRICT}m = torch.nn.parallel.DistributedDataParallel(n)\nm.register_comm_hook(None, h)\n{TRAIN}", [(6, "ED502")],
    ),
    "XLA's autotuner left on": (
        "import os\nos.environ['XLA_FLAGS'] = '--xla_gpu_exclude_nondeterministic_ops=true'\n", [(2, "ED502")],
    ),
    "XLA's autotuner off": (
        "import os\nos.environ['XLA_FLAGS'] = '--xla_gpu_exclude_nondeterministic_ops=true --xla_gpu_autotune_level=0'\n",
        [],
    ),
    "taken back": (f"{STRICT}torch.backends.cudnn.benchmark = True\ntorch.backends.cudnn.benchmark = False\n{TRAIN}", []),
    "one arm or the other": (
        f"{SEEDED}if args.exact:\n    torch.use_deterministic_algorithms(True)\nelse:\n"
        f"    torch.backends.cudnn.benchmark = True\n{TRAIN}", [],
    ),
    "a condition of its own": (
        f"{STRICT}if args.fast:\n    torch.backends.cudnn.benchmark = True\n{TRAIN}", [],
    ),
    "a condition that chooses nothing": (
        f"{STRICT}if torch.cuda.is_available():\n    torch.backends.cudnn.benchmark = True\n{TRAIN}", [(5, "ED502")],
    ),
    "seeds under a condition show no intent": (
        f"import torch\nif args.seed is not None:\n    torch.manual_seed(args.seed)\ntorch.backends.cudnn.benchmark = True\n{TRAIN}",
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), INTENT.values(), ids=INTENT)
def test_intent(judge: Callable[..., list[tuple[int, str]]], code: str, expected: list[tuple[int, str]]) -> None:
    assert judge(code) == expected


def test_a_launch_that_asks_and_a_program_that_does_not_know(
    judge: Callable[..., list[tuple[int, str]]],
) -> None:
    script = "export CUBLAS_WORKSPACE_CONFIG=:4096:8\ntorchrun train.py\n"
    assert judge(script, path="run.sh", train__py=f"{SEEDED}{TRAIN}") == [(1, "ED501")]
    assert judge(script, path="run.sh", train__py=f"{STRICT}{TRAIN}") == []


def test_variables_of_a_launch_are_judged_by_what_it_starts(judge: Callable[..., list[tuple[int, str]]]) -> None:
    script = "export PYTORCH_TUNABLEOP_ENABLED=1\ntorchrun train.py\n"
    assert judge(script, path="run.sh", train__py=f"{STRICT}{TRAIN}") == [(1, "ED502")]
    assert judge(f"export PYTORCH_TUNABLEOP_TUNING=0\n{script}", path="run.sh", train__py=f"{STRICT}{TRAIN}") == []
    assert judge(script, path="run.sh", train__py="import torch\nprint(torch.ones(2))\n") == []


FAST_MATH = (
    "from torch.utils.cpp_extension import CUDAExtension\n"
    "CUDAExtension(\n    'fast_ops',\n    ['a.cu'],\n    extra_compile_args={\n        'nvcc': ['--use_fast_math'],\n    },\n)\n"
)


def test_fast_math_is_said_where_a_repeatable_program_uses_what_is_built(
    judge: Callable[..., list[tuple[int, str]]],
) -> None:
    assert judge(FAST_MATH, path="setup.py", train__py=f"import fast_ops\n{STRICT}{TRAIN}") == [(6, "ED502")]
    assert judge(FAST_MATH, path="setup.py", train__py=f"import fast_ops\n{SEEDED}{TRAIN}") == []
    assert judge(FAST_MATH, path="setup.py", train__py=f"import other\n{STRICT}{TRAIN}") == []


MEGATRON = "torchrun pretrain_gpt.py --bf16 --deterministic-mode {}\n"
CLONE = "git clone --branch core_{} https://example.org/m\n"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (MEGATRON.format("--cross-entropy-loss-fusion"), [(1, "ED502")]),
        (MEGATRON.format(""), []),
        ("torchrun pretrain_gpt.py --cross-entropy-loss-fusion\n", []),
        (MEGATRON.format("--use-flash-attn"), []),
        (CLONE.format("v0.12.0") + MEGATRON.format("--use-flash-attn"), [(2, "ED502")]),
        (CLONE.format("v0.19.0") + MEGATRON.format("--use-flash-attn"), []),
    ],
)
def test_arguments_of_megatron(
    judge: Callable[..., list[tuple[int, str]]], script: str, expected: list[tuple[int, str]]
) -> None:
    assert judge(script, path="run.sh") == expected


CHECK = "# deterministic?\nimport hashlib\nimport torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n"
GATHER = "dist.all_gather_object([], hashlib.md5(x.numpy().tobytes()).hexdigest())\n"
BLIND = {
    "one seed": (f"{CHECK}torch.manual_seed(0)\nx = torch.randn(8)\ndist.all_reduce(x)\n{GATHER}", [6]),
    "seed + rank": (
        f"{CHECK}torch.manual_seed(dist.get_rank())\nx = torch.randn(8)\ndist.all_reduce(x)\n{GATHER}", [],
    ),
    "a generator by rank": (
        f"{CHECK}g = torch.Generator().manual_seed(dist.get_rank())\nx = torch.randn(8, generator=g)\ndist.all_reduce(x)\n"
        f"{GATHER}", [],
    ),
    "the rank in a constant": (f"{CHECK}x = torch.full((8,), float(dist.get_rank()))\ndist.all_reduce(x)\n{GATHER}", []),
    "constants": (f"{CHECK}x = torch.ones(8)\ndist.all_reduce(x)\n{GATHER}", [7]),
    "rank 0 looks": (
        f"{CHECK}torch.manual_seed(dist.get_rank())\nx = torch.randn(8)\ndist.all_reduce(x)\n"
        "if dist.get_rank() == 0:\n    print(hashlib.md5(x.numpy().tobytes()).hexdigest())\n", [10],
    ),
    "two ranks": (
        "# deterministic?\nimport hashlib\nimport torch\nimport torch.distributed as dist\nimport torch.multiprocessing as mp\n"
        f"def f(rank):\n    torch.manual_seed(rank)\n    x = torch.randn(8)\n    dist.all_reduce(x)\n    {GATHER}"
        "if __name__ == '__main__':\n    mp.spawn(f, nprocs=2)\n", [12],
    ),
    "nobody asks about bits": (
        f"{CHECK.replace('# deterministic?', '# works?')}x = torch.ones(8)\ndist.all_reduce(x)\n{GATHER}", [],
    ),
    "a training": (f"{CHECK}torch.manual_seed(0)\nx = torch.randn(8)\ndist.all_reduce(x)\nx.sum().backward()\n{GATHER}", []),
}  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), BLIND.values(), ids=BLIND)
def test_blind_tests(judge: Callable[..., list[tuple[int, str]]], code: str, expected: list[int]) -> None:
    assert judge(code) == [(line, "ED603") for line in expected]


@pytest.mark.parametrize(
    ("words", "expected"),
    [("--nproc_per_node=2", [(1, "ED603")]), ("--nproc-per-node 2", [(1, "ED603")]), ("--nproc_per_node=8", []),
     ("--nnodes=4 --nproc_per_node=2", [])],
)  # fmt: skip
def test_two_ranks_in_a_launch(
    judge: Callable[..., list[tuple[int, str]]], words: str, expected: list[tuple[int, str]]
) -> None:
    code = f"{CHECK}torch.manual_seed(dist.get_rank())\nx = torch.randn(8)\ndist.all_reduce(x)\n{GATHER}"
    assert judge(f"torchrun {words} check.py\n", path="run.sh", check__py=code) == expected
