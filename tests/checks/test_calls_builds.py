"""ED502 in builds, in configurations of DeepSpeed, in settings of DDP and FSDP, and beside Megatron-LM's mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from checks.call_lab import judged, lines

Tree = Callable[[Mapping[str, str]], Path]
Judge = Callable[..., list[tuple[int, str]]]
SEEDED = "import torch\ntorch.manual_seed(1)\n"
STRICT = f"{SEEDED}torch.use_deterministic_algorithms(True)\n"
TRAIN = "torch.nn.Linear(4, 1)(torch.ones(4)).sum().backward()\n"


@pytest.fixture
def judge(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """(line, rule) of the findings in one file of a small project."""

    def run(files: Mapping[str, str], path: str, target: str = "", level: str = "auto", hints: bool = False) -> object:
        root = tree(files)
        monkeypatch.chdir(root)
        return lines(judged(root, target, level, hints=hints), path)

    return run  # type: ignore[return-value]


SETUP = "from torch.utils.cpp_extension import CUDAExtension\n"
EXTENSION = "CUDAExtension('pkg.ops', [], extra_compile_args={'nvcc': flags})\n"
BUILDS = {
    "a list": (f"{SETUP}flags = ['-O3', '--use_fast_math']\n{EXTENSION}", [2]),
    "added later": (f"{SETUP}flags = ['-O3']\nflags += ['-use_fast_math']\n{EXTENSION}", [3]),
    "host code": (f"{SETUP}flags = ['-ffast-math']\n{EXTENSION}", [2]),
    "part of it": (f"{SETUP}flags = ['-funsafe-math-optimizations']\n{EXTENSION}", [2]),
    "handed on to another compiler": (f"{SETUP}flags = ['-Xcompiler=-ffast-math']\n{EXTENSION}", [2]),
    "HIP": (f"{SETUP}flags = ['-fno-hip-fp32-correctly-rounded-divide-sqrt']\n{EXTENSION}", [2]),
    "one of the four": (f"{SETUP}flags = ['--ftz=true']\nflags.append('-prec-div=false')\n{EXTENSION}", [2, 3]),
    "the other way": (f"{SETUP}flags = ['-fno-fast-math', '--ftz=false', '-prec-div=true']\n{EXTENSION}", []),
    "where it is chosen": (f"{SETUP}flags = []\nif FAST:\n    flags.append('--use_fast_math')\n{EXTENSION}", []),
    "for a compiler": (
        f"{SETUP}flags = []\nif torch.version.cuda:\n    flags.append('--use_fast_math')\n{EXTENSION}",
        [4],
    ),
}


@pytest.mark.parametrize(("setup", "expected"), BUILDS.values(), ids=BUILDS)
def test_flags_of_a_build(judge: Judge, setup: str, expected: list[int]) -> None:
    files = {"setup.py": setup, "train.py": f"from pkg import ops\n{STRICT}{TRAIN}"}
    assert judge(files, "setup.py") == [(line, "ED502") for line in expected]


@pytest.mark.parametrize(
    ("train", "level", "expected"),
    [
        (f"import pkg.ops\n{STRICT}{TRAIN}", "auto", [2]),
        (f"import pkg.ops\n{SEEDED}if args.exact:\n    torch.use_deterministic_algorithms(True)\n{TRAIN}", "auto", []),
        (f"from pkg import ops\n{SEEDED}{TRAIN}", "auto", []),
        (f"from pkg import ops\n{SEEDED}{TRAIN}", "run-to-run", [2]),
        (f"from pkg import ops\n{STRICT}{TRAIN}", "hygiene", []),
        (f"import other\n{STRICT}{TRAIN}", "auto", []),
    ],
)
def test_who_loads_what_is_built(judge: Judge, train: str, level: str, expected: list[int]) -> None:
    files = {"setup.py": BUILDS["a list"][0], "train.py": train}
    assert judge(files, "setup.py", level=level) == [(line, "ED502") for line in expected]


def test_a_package_between(judge: Judge) -> None:
    files = {"setup.py": BUILDS["a list"][0], "pkg/__init__.py": "", "pkg/layers.py": "from . import ops\n"}
    files["train.py"] = f"from pkg.layers import Layer\n{STRICT}{TRAIN}"
    assert judge(files, "setup.py") == [(2, "ED502")]


def test_built_while_it_runs(judge: Judge) -> None:
    build = "from torch.utils.cpp_extension import load\nops = load(name='k', sources=[], extra_cuda_cflags=['--use_fast_math'])\n"
    assert judge({"train.py": f"{build}{STRICT}{TRAIN}"}, "train.py") == [(2, "ED502")]
    files = {"kernels.py": build, "train.py": f"import kernels\n{STRICT}{TRAIN}"}
    assert judge(files, "kernels.py") == [(2, "ED502")]
    assert judge({"train.py": f"{build}{SEEDED}{TRAIN}"}, "train.py") == []


CMAKE = "pybind11_add_module(ops a.cpp)\n"
CMAKES = {
    "for all": (f"{CMAKE}set(CMAKE_CXX_FLAGS \"${{CMAKE_CXX_FLAGS}} -ffast-math\")\n", [2]),
    "for the module": (f"{CMAKE}target_compile_options(ops PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--use_fast_math>)\n", [2]),
    "for another": (f"{CMAKE}add_executable(tool b.cc)\ntarget_compile_options(tool PRIVATE -ffast-math)\n", []),
    "chosen": (f"{CMAKE}if(FAST)\nadd_compile_options(-ffast-math)\nendif()\n", []),
    "for a compiler": (f"{CMAKE}if(CMAKE_CXX_COMPILER_ID STREQUAL \"Clang\")\nadd_compile_options(-Ofast)\nendif()\n", [3]),
    "said": (f"{CMAKE}message(STATUS \"without -ffast-math\")\n", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CMAKES.values(), ids=CMAKES)
@pytest.mark.parametrize("path", ["csrc/CMakeLists.txt", "flags.cmake"])
def test_cmake(judge: Judge, path: str, text: str, expected: list[int]) -> None:
    files = {path: text, "train.py": f"import ops\n{STRICT}{TRAIN}"}
    assert judge(files, path) == [(line, "ED502") for line in expected]
    assert judge({path: text, "train.py": f"import ops\n{SEEDED}{TRAIN}"}, path) == []


def test_a_library_that_is_loaded_by_its_file(judge: Judge) -> None:
    text = "add_library(kernels SHARED k.cu)\ntarget_compile_options(kernels PRIVATE --use_fast_math)\n"
    train = f"{STRICT}torch.ops.load_library('build/libkernels.so')\n{TRAIN}"
    assert judge({"CMakeLists.txt": text, "train.py": train}, "CMakeLists.txt") == [(2, "ED502")]


CONFIGURATION = '{\n"zero_optimization": {"stage": 2},\n"communication_data_type": "fp16",\n"optimizer": {"type": "OneBitAdam"}\n}\n'
INITIALIZE = "import deepspeed\n{}engine = deepspeed.initialize(config='conf/ds.json')\nengine.backward(1)\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"train.py": INITIALIZE.format(STRICT)}, [3, 4]),
        ({"train.py": INITIALIZE.format(SEEDED)}, []),
        ({"train.py": f"{STRICT}{TRAIN}"}, []),
        ({"train.py": f"{STRICT}{TRAIN}", "run.sh": "deepspeed train.py --deepspeed_config conf/ds.json\n"}, [3, 4]),
        ({"train.py": f"{SEEDED}{TRAIN}", "run.sh": "deepspeed train.py --deepspeed_config conf/ds.json\n"}, []),
        ({"run.sh": "export CUBLAS_WORKSPACE_CONFIG=:4096:8\ndeepspeed other.py --deepspeed conf/ds.json\n"}, [3, 4]),
        ({"run.sh": "export CUBLAS_WORKSPACE_CONFIG=:4096:8\ndeepspeed other.py --deepspeed conf/other.json\n"}, []),
    ],
)  # fmt: skip
def test_configurations_of_deepspeed(judge: Judge, files: Mapping[str, str], expected: list[int]) -> None:
    assert judge({"conf/ds.json": CONFIGURATION, **files}, "conf/ds.json") == [(line, "ED502") for line in expected]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("'communication_data_type': 'bf16'", [5]),
        ("'communication_data_type': 'fp32'", []),
        ("'optimizer': {'type': 'ZeroOneAdam'}", [5]),
        ("'optimizer': {'type': 'AdamW'}", []),
    ],
)
def test_a_configuration_in_the_program(judge: Judge, entry: str, expected: list[int]) -> None:
    code = f"import deepspeed\n{STRICT}deepspeed.initialize(config={{{entry}}})\n{TRAIN}"
    assert judge({"train.py": code}, "train.py") == [(line, "ED502") for line in expected]
    assert judge({"train.py": code.replace(STRICT, SEEDED)}, "train.py") == []


FSDP = "from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy\n"
HINTS = {
    "FSDP reduces in param_dtype": f"{FSDP}MixedPrecision(param_dtype=torch.bfloat16)\n",
    "the newer FSDP": f"{FSDP}MixedPrecisionPolicy(param_dtype=torch.float16, reduce_dtype=None)\n",
    "buckets": "torch.nn.parallel.DistributedDataParallel(n, bucket_cap_mb=50)\n",
    "unused parameters": "torch.nn.parallel.DistributedDataParallel(n, find_unused_parameters=True)\n",
    "workers that stay": "torch.utils.data.DataLoader([], persistent_workers=True)\n",
    "memory": "torch.utils.deterministic.fill_uninitialized_memory = False\n",
}


@pytest.mark.parametrize("code", HINTS.values(), ids=HINTS)
def test_what_only_has_to_be_the_same_is_a_hint(judge: Judge, code: str) -> None:
    line = 3 + code.count("\n")
    files = {"train.py": f"{STRICT}{code}{TRAIN}"}
    assert judge(files, "train.py", hints=True) == [(line, "ED502")]
    assert judge(files, "train.py") == []
    assert judge({"train.py": f"{SEEDED}{code}{TRAIN}"}, "train.py", hints=True) == []


QUIET = {
    "FSDP reduces in 32 bits": f"{FSDP}MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)\n",
    "FSDP as it is": f"{FSDP}MixedPrecision()\n",
    "DDP as it is": "torch.nn.parallel.DistributedDataParallel(n)\n",
    "a view": "torch.nn.parallel.DistributedDataParallel(n, gradient_as_bucket_view=True)\n",
}


@pytest.mark.parametrize("code", QUIET.values(), ids=QUIET)
def test_nothing_to_say(judge: Judge, code: str) -> None:
    assert judge({"train.py": f"{STRICT}{code}{TRAIN}"}, "train.py", hints=True) == []


HOOKS = {
    "Lightning": "from lightning.pytorch.strategies import DDPStrategy\nDDPStrategy(ddp_comm_hook=default.fp16_compress_hook)\n",
    "accelerate": "from accelerate.utils import DistributedDataParallelKwargs as K\nK(comm_hook=DDPCommunicationHookType.BF16)\n",
    "built in": "import torch.distributed as dist\nDDP(n)._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)\n",
    "quantised": "from torch.distributed.algorithms.ddp_comm_hooks import quantization_hooks as q\n"
    "DDP(n).register_comm_hook(None, q.quantization_pertensor_hook)\n",
}


@pytest.mark.parametrize("code", HOOKS.values(), ids=HOOKS)
def test_hooks(judge: Judge, code: str) -> None:
    strict, seeded = (f"from torch.nn.parallel import DistributedDataParallel as DDP\n{s}" for s in (STRICT, SEEDED))
    assert judge({"train.py": f"{strict}{code}{TRAIN}"}, "train.py") == [(6, "ED502")]
    assert judge({"train.py": f"{seeded}{code}{TRAIN}"}, "train.py") == []


CLONE = "git clone --branch core_v{} https://example.org/m\n"
MODE = "torchrun pretrain_gpt.py --deterministic-mode\n"
VARIABLES = [
    ("NCCL_ALGO=Tree", "0.18.2", False),
    ("NCCL_ALGO=Tree", "0.19.0", True),
    ("NCCL_ALGO=Tree", "", False),
    ("NCCL_ALGO=Ring", "0.18.2", False),
    ("NCCL_ALGO=Ring", "0.19.0", False),
    ("NCCL_ALGO=Ring,CollnetDirect", "0.18.2", True),
    ("NCCL_ALGO=Ring,CollnetDirect", "0.19.0", False),
    ("NCCL_ALGO=NVLS", "", True),
    ("NCCL_ALGO=$OTHER", "0.19.0", False),
    ("MAMBA_DETERMINISTIC=0", "0.19.0", True),
    ("MAMBA_DETERMINISTIC=0", "0.18.2", False),
    ("MAMBA_DETERMINISTIC=1", "0.19.0", False),
]


@pytest.mark.parametrize(("setting", "release", "refused"), VARIABLES)
def test_variables_beside_megatrons_mode(judge: Judge, setting: str, release: str, refused: bool) -> None:
    fetched = CLONE.format(release) if release else "true\n"
    script = f"{fetched}export {setting}\n{MODE}"
    assert judge({"run.sh": script}, "run.sh") == ([(2, "ED502")] if refused else [])
    assert judge({"run.sh": script.replace(" --deterministic-mode", "")}, "run.sh") == []


@pytest.mark.parametrize(("release", "refused"), [("0.8.0", False), ("0.9.0", True), ("", True)])
def test_the_first_release_takes_the_fused_loss(judge: Judge, release: str, refused: bool) -> None:
    fetched = CLONE.format(release) if release else "true\n"
    script = f"{fetched}{MODE.rstrip()} --cross-entropy-loss-fusion\n"
    assert judge({"run.sh": script}, "run.sh") == ([(2, "ED502")] if refused else [])


def test_the_mode_asks_for_determinism(judge: Judge) -> None:
    script = f"export NVTE_ALLOW_NONDETERMINISTIC_ALGO=1\n{MODE}"
    assert judge({"run.sh": script}, "run.sh") == [(1, "ED502")]
    assert judge({"run.sh": script.replace(" --deterministic-mode", "")}, "run.sh") == []
