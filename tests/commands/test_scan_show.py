"""`scan --show-files`, `--show-settings`, `--show-target`, `--statistics` and standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT, here

from envdoctor.knowledge.files import loads_toml

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"
ROCM = "module load rocm/6.2.0\n"
CUDA = "module load cuda/12.4\n"


def from_stdin(cwd: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "envdoctor", "scan", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, input=text, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False
    )


def test_files_are_those_that_some_reader_reads(tree: Tree) -> None:
    root = tree({"a.sh": "", "b.txt": "", "c.md": "", "launch": "#!/bin/bash\n", "d/train.py": "", "old/e.sh": ""})
    run = here("scan", "--show-files", "--exclude", "old", cwd=root)
    assert (run.stdout.splitlines(), run.returncode) == (["a.sh", "d/train.py", "launch"], 0)
    assert "c.md" in here("scan", "--show-files", "--docs", cwd=root).stdout.splitlines()


def test_settings_are_toml_with_their_origins(tree: Tree) -> None:
    text = 'level = "placement"\nselect = ["ED1", "bad-value"]\n[per-file-ignores]\n"legacy/*" = ["ED101"]\n'
    root = tree({"envdoctor.toml": text})
    out = here("scan", "--show-settings", "--select", "ED101", cwd=root).stdout
    said = loads_toml(out)
    assert (said["level"], said["select"]) == ("placement", ["ED101"])
    assert said["per-file-ignores"] == {"legacy/*": ["ED101"]}
    assert '"placement"  # configuration file' in out
    assert 'select = ["ED101"]  # command line' in out
    assert 'fail-on = "warning"  # default' in out
    assert out.endswith("# 1 rule selected:\n#   ED101 ghost-variable\n")


def test_settings_of_a_broken_file_are_shown_and_the_status_says_so(tree: Tree) -> None:
    run = here("scan", "--show-settings", cwd=tree({"envdoctor.toml": "levle = 1\n"}))
    assert run.returncode == 2
    assert "envdoctor.toml:1: unknown key 'levle' (did you mean level?)" in run.stderr
    assert 'level = "auto"  # default' in run.stdout


def shown_targets(root: Path, *words: str) -> dict[str, str | None]:
    report = json.loads(here("scan", "--show-target", "--format", "json", *words, cwd=root).stdout)
    assert report["version"] == 1
    return {path: group["platform"] for group in report["targets"] for path in group["paths"]}


def test_target_with_its_reasons(tree: Tree) -> None:
    root = tree({"train.slurm": f"{ROCM}{GHOST}", "plain.py": "import os\nos.environ['NCCL_ALGO'] = 'Ring'\n"})
    out = here("scan", "--show-target", cwd=root).stdout
    assert "target: rocm 6.2" in out
    assert "  train.slurm:1: module load rocm/6.2.0" in out
    assert "target: platform unknown (nothing says it)" in out


def test_each_launch_unit_has_its_own_target(tree: Tree) -> None:
    files = {
        "amd.sh": f"{ROCM}source common.sh\nsource amd_env.sh\npython train_amd.py\n",
        "nvidia.sh": f"{CUDA}source common.sh\npython train.py\n",
        "common.sh": GHOST,
        "amd_env.sh": GHOST,
        "train_amd.py": "import os\nos.environ['NCCL_ALGO'] = 'Ring'\n",
        "train.py": "import os\nos.environ['NCCL_ALGO'] = 'Ring'\n",
    }
    root = tree(files)
    assert shown_targets(root) == {
        "amd.sh": "rocm",
        "amd_env.sh": "rocm",
        "common.sh": None,
        "nvidia.sh": "cuda",
        "train.py": "cuda",
        "train_amd.py": "rocm",
    }
    out = here("scan", "--show-target", "common.sh", cwd=root).stdout
    assert "platform unknown (hints contradict each other)" in out
    assert "contradictory: amd.sh:1 says" in out
    assert "nvidia.sh:1 says" in out


def test_a_given_target_needs_no_reasons(tree: Tree) -> None:
    root = tree({"a.sh": f"{CUDA}{GHOST}"})
    assert shown_targets(root, "--target", "rocm-6.2") == {"a.sh": "rocm"}


def test_statistics_count_and_tell_what_is_fixable(tree: Tree) -> None:
    files = {"a.sh": f"{GHOST}export NCCL_IB_TIMEOUT=300\n", "b.sh": GHOST}
    run = here("scan", "--statistics", cwd=tree(files))
    assert run.stdout.splitlines() == [
        "2  ED101  ghost-variable  2 with --fix",
        "1  ED201  bad-value",
        "3 findings (2 errors, 1 warning) in 2 files with settings",
    ]
    assert run.returncode == 1
    rows = json.loads(here("scan", "--statistics", "--format", "json", cwd=tree(files)).stdout)["statistics"]
    assert [(row["rule"], row["findings"], row["safe"]) for row in rows] == [("ED101", 2, 2), ("ED201", 1, 0)]


def test_statistics_are_for_formats_that_can_count(tree: Tree) -> None:
    run = here("scan", "--statistics", "--format", "sarif", cwd=tree({"a.sh": GHOST}))
    assert (run.returncode, run.stdout) == (2, "")
    assert "--statistics: sarif lists findings; use text or json" in run.stderr


def test_standard_input_takes_the_place_of_the_file(tree: Tree) -> None:
    root = tree({"a.sh": "echo nothing\n", "other.sh": GHOST})
    run = from_stdin(root, f"\n{GHOST}", "--stdin-filename", "a.sh", "--format", "concise", "-")
    assert run.returncode == 1
    assert [line.split(" ")[0] for line in run.stdout.splitlines() if "ED" in line] == ["a.sh:2:8:"]


def test_standard_input_is_judged_within_its_project(tree: Tree) -> None:
    root = tree({"envdoctor.toml": 'ignore = ["ED101"]\n', "sub/x": "", "empty.toml": ""})
    assert from_stdin(root, GHOST, "--stdin-filename", "sub/new.sh").returncode == 0
    diff = from_stdin(root, GHOST, "--stdin-filename", "sub/new.sh", "--config", "empty.toml", "--diff")
    assert "-export NCCL_DETERMINISTIC=1" in diff.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-",), "standard input needs --stdin-filename FILE"),
        (("--stdin-filename", "a.sh", "b.sh"), "--stdin-filename and PATH do not go together"),
        (("--stdin-filename", "a.sh", "--fix"), "standard input cannot be written to"),
        (("--stdin-filename", "a.sh", "--add-ignores"), "standard input cannot be written to"),
    ],
)
def test_what_does_not_go_with_standard_input(tree: Tree, words: tuple[str, ...], says: str) -> None:
    run = from_stdin(tree({"b.sh": ""}), GHOST, *words)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr


def test_a_named_file_that_is_excluded(tree: Tree) -> None:
    root = tree({"envdoctor.toml": 'exclude = ["old"]\n', "old/a.sh": GHOST})
    assert here("scan", "old/a.sh", cwd=root).returncode == 1
    assert here("scan", "--force-exclude", "old/a.sh", cwd=root).returncode == 0
    piped = from_stdin(root, GHOST, "--force-exclude", "--stdin-filename", "old/b.sh")
    assert (piped.returncode, piped.stderr) == (0, "")


def test_formats_that_shows_do_not_have(tree: Tree) -> None:
    run = here("scan", "--show-target", "--format", "junit", cwd=tree({"a.sh": GHOST}))
    assert run.returncode == 2
    assert "JSON" in run.stderr
