"""Relations: settings that cancel or idle each other, and beside each shape the one that is meant so."""

from __future__ import annotations

from pathlib import Path

import pytest
from scanned import findings, said, write

TAIL = "torchrun train.py\n"


@pytest.mark.parametrize(
    ("between", "found"),
    [
        ("", True),
        ("export NCCL_PROTO=LL\n# a comment\n\n", True),
        ("echo starting; mkdir -p logs\nmodule load rocm\n", True),
        ('ARGS="--a 1\n  --b ./run"\nLIST=(a\n b)\n', True),
        ("cat > ds.json <<EOF\npython run.py\nEOF\n", True),
        ("if [ -z $X ]; then\n  echo no\nfi\n", True),
        ("torchrun warmup.py\n", False),
        ("./calibrate\n", False),
        ("make bench\n", False),
        ("echo ${NCCL_ALGO}_run | tee log; MODE=$NCCL_ALGO\n", False),
        ("run_benchmark ring\n", False),
    ],
)
def test_the_same_variable_twice(tmp_path: Path, between: str, found: bool) -> None:
    script = f"export NCCL_ALGO=Ring\n{between}export NCCL_ALGO=Tree\n{TAIL}"
    line = script.count("\n", 0, script.index("export NCCL_ALGO=Tree")) + 1
    expected = [("run.sh", line, "NCCL_ALGO")] if found else []
    assert said(write(tmp_path, {"run.sh": script}), "contradictory") == expected


@pytest.mark.parametrize(
    "script",
    [
        "export NCCL_ALGO=Ring\nexport NCCL_ALGO=ring\n",
        "export NCCL_ALGO=Ring\nif x; then export NCCL_ALGO=Tree; fi\n",
        "if x; then export NCCL_ALGO=Ring; else export NCCL_ALGO=Tree; fi\n",
        "case $1 in a) export NCCL_ALGO=Ring;; b) export NCCL_ALGO=Tree;; esac\n",
        "for a in 1 2; do export NCCL_ALGO=Ring; export NCCL_ALGO=Tree; done\n",
        "export NCCL_ALGO=Ring\nexport NCCL_ALGO=${ALGO:-Tree}\n",
        ": ${NCCL_ALGO:=Ring}\nexport NCCL_ALGO=Tree\n",
        "export NCCL_ALGO=Ring\nunset NCCL_ALGO\nexport NCCL_ALGO=Tree\n",
        "export NCCL_ALGO=Ring\nNCCL_ALGO=Tree torchrun train.py\n",
        "export NCCL_ALGO=Ring\n(export NCCL_ALGO=Tree)\n",
        "export NCCL_ALGO=Ring\n# overridden for this cluster\nexport NCCL_ALGO=Tree\n",
        "a() { export NCCL_ALGO=Ring; }\nb() { export NCCL_ALGO=Tree; }\n",
        "export NCCL_IB_HCA=mlx5_0\nexport NCCL_IB_HCA=$NCCL_IB_HCA,mlx5_1\n",
        "MODE=a\nMODE=b\n",
    ],
)
def test_twice_by_design(tmp_path: Path, script: str) -> None:
    assert said(write(tmp_path, {"run.sh": script + TAIL}), "contradictory") == []


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("pod.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n"
         "    - {name: NCCL_ALGO, value: Ring}\n    - {name: NCCL_ALGO, value: Tree}\n", 8),
        ("Dockerfile", "FROM a\nENV NCCL_ALGO=Ring\nRUN pip install torch\nENV NCCL_ALGO=Tree\n", 4),
        ("t.py", "import os\nos.environ['NCCL_ALGO'] = 'Ring'\nos.environ['NCCL_ALGO'] = 'Tree'\n", 3),
        (".env", "NCCL_ALGO=Ring\nNCCL_ALGO=Tree\n", 2),
    ],
)  # fmt: skip
def test_twice_in_other_files(tmp_path: Path, name: str, text: str, line: int) -> None:
    assert said(write(tmp_path, {name: text}), "contradictory") == [(name, line, "NCCL_ALGO")]


def test_two_stages_and_two_containers_are_two_environments(tmp_path: Path) -> None:
    files = {
        "Dockerfile": "FROM a AS x\nENV NCCL_ALGO=Ring\nFROM b AS y\nENV NCCL_ALGO=Tree\n",
        "pod.yaml": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n"
        "    - {name: NCCL_ALGO, value: Ring}\n  - name: b\n    env:\n    - {name: NCCL_ALGO, value: Tree}\n",
    }
    assert said(write(tmp_path, files), "contradictory") == []


def test_a_file_that_sources_another_overrides_it(tmp_path: Path) -> None:
    files = {"base.sh": "export NCCL_ALGO=Ring\n", "run.sh": f". ./base.sh\nexport NCCL_ALGO=Tree\n{TAIL}"}
    assert said(write(tmp_path, files), "contradictory") == []


@pytest.mark.parametrize(
    ("settings", "loser"),
    [
        ("NCCL_P2P_DISABLE=1 NCCL_P2P_LEVEL=SYS", "NCCL_P2P_LEVEL"),
        ("NCCL_ALGO=NVLS NCCL_NVLS_ENABLE=0", "NCCL_ALGO"),
        ("TORCH_NCCL_BLOCKING_WAIT=1 TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        ("HIP_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=2,3", "CUDA_VISIBLE_DEVICES"),
        ("NCCL_IB_DISABLE=1 NCCL_NET=IB", "NCCL_NET"),
        ("NCCL_MIN_CTAS=32 NCCL_MAX_CTAS=16", "NCCL_MIN_CTAS"),
        ("ROCR_VISIBLE_DEVICES=4,5 CUDA_VISIBLE_DEVICES=4", "CUDA_VISIBLE_DEVICES"),
        ("NCCL_P2P_DISABLE=0 NCCL_P2P_LEVEL=SYS", None),
        ("NCCL_P2P_DISABLE=1 NCCL_P2P_LEVEL=LOC", None),
        ("NCCL_ALGO=^NVLS,NVLSTree NCCL_NVLS_ENABLE=0", None),
        ("TORCH_NCCL_BLOCKING_WAIT=0 TORCH_NCCL_ASYNC_ERROR_HANDLING=1", None),
        ("HIP_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=0,1", None),
        ("NCCL_MIN_NCHANNELS=8 NCCL_MAX_NCHANNELS=8", None),
        ("NCCL_ALGO=Ring NCCL_TUNER_PLUGIN=none NCCL_PROTO=Simple", None),
        ("ROCR_VISIBLE_DEVICES=4,5 HIP_VISIBLE_DEVICES=0,1", None),
        ("ROCR_VISIBLE_DEVICES=GPU-aa,GPU-bb HIP_VISIBLE_DEVICES=1", None),
        ("NCCL_IB_TIMEOUT=22 NCCL_IB_RETRY_CNT=7", None),
        ("CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1", None),
    ],
)
def test_pairs(tmp_path: Path, settings: str, loser: str | None) -> None:
    script = f"export {settings}\n{TAIL}"
    expected = [("run.sh", 1, loser)] if loser else []
    assert said(write(tmp_path, {"run.sh": script}), "contradictory") == expected


def test_pairs_under_different_conditions_are_a_choice(tmp_path: Path) -> None:
    script = f"if x; then export NCCL_P2P_DISABLE=1; fi\nexport NCCL_P2P_LEVEL=NVL\n{TAIL}"
    assert said(write(tmp_path, {"run.sh": script}), "contradictory") == []


@pytest.mark.parametrize(
    ("script", "code", "found"),
    [
        ("export NCCL_ALGO=Ring", "os.environ['NCCL_ALGO'] = 'Tree'", True),
        ("export NCCL_ALGO=Ring", "def main():\n    os.environ['NCCL_ALGO'] = 'Tree'\nmain()", True),
        ("export NCCL_ALGO=Ring", "os.environ['NCCL_ALGO'] = 'Ring'", False),
        ("export NCCL_ALGO=Ring", "os.environ.setdefault('NCCL_ALGO', 'Tree')", False),
        ("export NCCL_ALGO=Ring", "if slow:\n    os.environ['NCCL_ALGO'] = 'Tree'", False),
        ("export NCCL_ALGO=Ring", "def unused():\n    os.environ['NCCL_ALGO'] = 'Tree'", False),
        ("export NCCL_ALGO=$ALGO", "os.environ['NCCL_ALGO'] = 'Tree'", False),
        ("NCCL_ALGO=Ring", "os.environ['NCCL_ALGO'] = 'Tree'", False),
    ],
)
def test_the_program_against_the_script(tmp_path: Path, script: str, code: str, found: bool) -> None:
    files = {"run.sh": f"{script}\n{TAIL}", "train.py": f"import os\n{code}\n"}
    assert bool(said(write(tmp_path, files), "contradictory")) == found


@pytest.mark.parametrize(
    ("settings", "idle"),
    [
        ("NCCL_DEBUG_FILE=/tmp/x", "NCCL_DEBUG_FILE"),
        ("NCCL_DEBUG_SUBSYS=NET", "NCCL_DEBUG_SUBSYS"),
        ("NCCL_DEBUG=WARN NCCL_DEBUG_SUBSYS=NET", "NCCL_DEBUG_SUBSYS"),
        ("NCCL_DEBUG=VERSION NCCL_DEBUG_FILE=/tmp/x", "NCCL_DEBUG_FILE"),
        ("NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5_0", "NCCL_IB_HCA"),
        ("NCCL_IB_DISABLE=1 NCCL_IB_TC=106", "NCCL_IB_TC"),
        ("RCCL_MSCCL_ENABLE=0 RCCL_MSCCLPP_ENABLE=1", "RCCL_MSCCLPP_ENABLE"),
        ("NCCL_NET=Socket NCCL_IB_TIMEOUT=20", "NCCL_IB_TIMEOUT"),
        ("NCCL_NET=SOCKET NCCL_NET_GDR_LEVEL=PHB", "NCCL_NET_GDR_LEVEL"),
        ("NCCL_NET=IB NCCL_IB_TIMEOUT=20", None),
        ("NCCL_NET=ofi NCCL_NET_GDR_LEVEL=PHB", None),
        ("NCCL_NET=$NET NCCL_IB_TIMEOUT=20", None),
        ("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET NCCL_DEBUG_FILE=/tmp/x", None),
        ("NCCL_DEBUG=$LEVEL NCCL_DEBUG_SUBSYS=NET", None),
        ("NCCL_DEBUG=${LEVEL:-WARN} NCCL_DEBUG_SUBSYS=NET", None),
        ("NCCL_IB_DISABLE=0 NCCL_IB_HCA=mlx5_0", None),
        ("NCCL_IB_DISABLE=00 NCCL_IB_HCA=mlx5_0", None),
        ("NCCL_IB_DISABLE=${NO_IB:-1} NCCL_IB_HCA=mlx5_0", None),
        ("RCCL_MSCCL_ENABLE=0 RCCL_MSCCLPP_ENABLE=0", None),
        ("NCCL_IB_SPLIT_DATA_ON_QPS=1", None),
    ],
)
def test_idle(tmp_path: Path, settings: str, idle: str | None) -> None:
    root = write(tmp_path, {"run.sh": f"export {settings}\n{TAIL}"})
    assert said(root, "ineffective-setting") == ([("run.sh", 1, idle)] if idle else [])


@pytest.mark.parametrize(
    "files",
    [
        {"run.sh": "source /site/env.sh\nexport NCCL_DEBUG_FILE=/tmp/x\ntorchrun t.py\n"},
        {"run.sh": "export NCCL_DEBUG_FILE=/tmp/x\n"},
        {"run.sh": "export NCCL_DEBUG_FILE=/tmp/x\ntorchrun t.py\n", "other.sh": "export NCCL_DEBUG=INFO\n"},
        {"run.sh": "export NCCL_DEBUG_FILE=/tmp/x\necho level ${NCCL_DEBUG}\ntorchrun t.py\n"},
    ],
)
def test_what_is_missing_may_come_from_elsewhere(tmp_path: Path, files: dict[str, str]) -> None:
    assert said(write(tmp_path, files), "ineffective-setting") == []


def test_findings_show_the_other_place(tmp_path: Path) -> None:
    script = f"export NCCL_P2P_DISABLE=1\nexport NCCL_P2P_LEVEL=NVL\n{TAIL}"
    (found,) = findings(write(tmp_path, {"run.sh": script}), "contradictory")
    assert [(r.place.line, r.variable) for r in found.related] == [(1, "NCCL_P2P_DISABLE")]
    assert "tested first" in found.message


def test_a_configuration_that_a_program_hands_on_is_an_environment(tmp_path: Path) -> None:
    files = {"job.json": '{"env_vars": {\n"NCCL_IB_DISABLE": "1",\n"NCCL_IB_TC": "41"}}\n'}
    assert said(write(tmp_path, files), "ineffective-setting") == [("job.json", 3, "NCCL_IB_TC")]
