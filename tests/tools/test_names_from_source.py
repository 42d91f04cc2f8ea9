"""The maintainer's script that lists the names a source tree reads."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "names_from_source.py"
SPEC = importlib.util.spec_from_file_location("names_from_source", SCRIPT)
assert SPEC
assert SPEC.loader
tool = importlib.util.module_from_spec(SPEC)
sys.modules["names_from_source"] = tool
SPEC.loader.exec_module(tool)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('NCCL_PARAM(ThreadThreshold, "THREAD_THRESHOLD", 4);', {"NCCL_THREAD_THRESHOLD"}),
        ('RCCL_PARAM(ModelMatching, "MODEL_MATCHING_DISABLE", 0);', {"RCCL_MODEL_MATCHING_DISABLE"}),
        ('RCCL_PARAM_NCCL_ALIAS(Baz, "BAZ", 2);', {"RCCL_BAZ", "NCCL_BAZ"}),
        ('NCCL_PARAM(\n  Split,\n  "SPLIT_OVER_LINES",\n  -2);', {"NCCL_SPLIT_OVER_LINES"}),
        ('DEFINE_NCCL_PARAM(level, ncclDebugLogLevel, NCCL_DEBUG, NONE,\n FLAGS, parser, "text");', {"NCCL_DEBUG"}),
        ("DEFINE_NCCL_PARAM(name, const char*, NCCL_NO_CACHE, nullptr, F, P, D);", {"NCCL_NO_CACHE"}),
        ("#define DEFINE_NCCL_PARAM(name, type, key, default, flags, parser, desc)", set()),
        ('char* s = getenv("NCCL_COMM_ID");', {"NCCL_COMM_ID"}),
        ('std::getenv("CUDA_LAUNCH_BLOCKING")', {"CUDA_LAUNCH_BLOCKING"}),
        ('const char* s = ncclGetEnv("NCCL_ALGO"), *t = secure_getenv("NCCL_X1");', {"NCCL_ALGO", "NCCL_X1"}),
        ('NCCLCHECK(ncclGetLevel(&l, "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"));', {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"}),
        ('static const char* dirEnv = "MSCCL_ALGO_DIR";\nauto d = getenv(dirEnv);', {"MSCCL_ALGO_DIR"}),
        ('#define DIR_ENV "NPKIT_DUMP_DIR"\nauto d = getenv(DIR_ENV);', {"NPKIT_DUMP_DIR"}),
        ('static const char* unusedEnv = "MSCCL_ALGO_FILE_PATH";', set()),
        ('INFO(NCCL_ENV, "NCCL_DEBUG set to %s", s);', set()),
        ('// NCCL_PARAM(Old, "OLD", 1);\n/* getenv("NCCL_OLD") */ int x;', set()),
        ('const char* url = "http://x"; NCCL_PARAM(Kept, "KEPT", 1);', {"NCCL_KEPT"}),
        ("NCCL_PARAM(name, env, deftVal)", set()),
    ],
)
def test_every_way_to_read(code: str, names: set[str]) -> None:
    assert {found.name for found in tool.names_in(code, "x.cc")} == names


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path, text in {
        "src/misc/param.cc": '/* one\ntwo */\nNCCL_PARAM(Debug, "BUFFSIZE", 1);\nNCCL_PARAM(Fresh, "FRESH_SWITCH", 1);',
        "src/b.h": 'NCCL_PARAM(Debug, "BUFFSIZE", 1);\nWARN("NCCL_LOOKS_LIKE_ONE");',
        "src/test/t.cc": 'getenv("NCCL_ONLY_IN_TESTS");',
        "plugins/p.cc": 'getenv("NCCL_ONLY_IN_A_PLUGIN");',
        "src/notes.txt": 'getenv("NCCL_ONLY_IN_TEXT");',
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_tree(tree: Path) -> None:
    found = [(item.name, item.path, item.line) for item in tool.names_of(tree)]
    assert found == [("NCCL_BUFFSIZE", "src/b.h", 1), ("NCCL_FRESH_SWITCH", "src/misc/param.cc", 4)]
    rest = [item.name for item in tool.rest_of(tree, {name for name, _, _ in found})]
    assert rest == ["NCCL_LOOKS_LIKE_ONE"]


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, words)], capture_output=True, text=True, check=False, env=environment
    )


def test_command(tree: Path, tmp_path: Path) -> None:
    listed = run(tree)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "NCCL_BUFFSIZE  NCCL_PARAM  src/b.h:1" in listed.stdout
    compared = run(tree, "--compare", "nccl", "--rest")
    assert compared.returncode == 1
    assert "new  NCCL_FRESH_SWITCH  src/misc/param.cc:4" in compared.stdout
    assert "gone  NCCL_DEBUG\n" in compared.stdout
    assert "new  NCCL_BUFFSIZE" not in compared.stdout
    empty = run(tree / "plugins" / "nothing")
    assert empty.returncode == 2
    assert "no source of NCCL or RCCL" in empty.stderr
