"""`envdoctor live` as a user runs it: exit statuses, formats, recordings, bad input, what a terminal gets."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from node_trees import edited
from recorded import NAMES, UNLIKE, copy_of, folder_of
from support import ROOT, envdoctor, here

HEALTHY, SICK = "mi300x-8gpu-rocm-6.2", "no-gpu-access-kfd-denied"


def live(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """In this process, but for an environment of its own."""
    return envdoctor("live", *words, cwd=cwd, **environment) if environment else here("live", *words, cwd=cwd)


def live_json(*words: str, cwd: Path, **environment: str) -> dict[str, Any]:
    run = live(*words, "--format", "json", cwd=cwd, **environment)
    assert run.returncode in (0, 1), run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def recorded(name: str) -> list[str]:
    return ["--recorded", str(folder_of(name))]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--recorded", HEALTHY], 0),
        (["--recorded", SICK], 1),
        (["--recorded", SICK, "--fail-on", "never"], 0),
        (["--recorded", "h100-8gpu-cuda-12.4", "--fail-on", "error"], 1),
        (["--recorded", "mi250x-8gcd-rocm-5.7", "--fail-on", "error"], 0),
        (["--recorded", SICK, "--ignore", "device-denied"], 0),
        (["--recorded", SICK, "--select", "ED701"], 0),
        (["--recorded", SICK, "--select", "ED710"], 1),
        (["--recorded", HEALTHY, "--gpus", "8"], 0),
        (["--recorded", HEALTHY, "--gpus", "16"], 1),
        (["--recorded", HEALTHY, "--no-torch", "--gpus", "16"], 1),
        (["--recorded", HEALTHY, "--gpus", "0"], 2),
        (["--recorded", HEALTHY, "--gpus", "many"], 2),
        (["--recorded", "h100-gpu-lost", "--no-torch"], 1),
        (["--recorded", "h100-7-of-8-after-reboot", "--no-torch"], 1),
        (["--recorded", "mi300x-7-of-8", "--no-torch"], 1),
        (["--recorded", "nowhere"], 2),
        (["--recorded", "a-file"], 2),
        (["--recorded", "not-a-node"], 2),
        (["--recorded", HEALTHY, "--select", "no-such-rule"], 2),
        (["--recorded", HEALTHY, "--record", "out"], 2),
        (["--recorded", HEALTHY, "--pid", "1"], 2),
        (["--recorded", HEALTHY, "--output", "nowhere/report"], 2),
        (["--recorded", HEALTHY, "--config", "nowhere.toml"], 2),
        (["--recorded", HEALTHY, "--script", "nowhere.sh"], 2),
        (["--no-torch", "--record", "a-file/below"], 2),
        (["--no-torch", "--record", "full"], 2),
        (["--pid", "999999999"], 2),
        (["--pid", "-4"], 2),
        (["--pid", "two"], 2),
        (["--no-torch", "--no-smoke"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_exit_status(tmp_path: Path, words: list[str], status: int) -> None:
    (tmp_path / "a-file").write_text("")
    (tmp_path / "not-a-node").mkdir()
    (tmp_path / "full" / "of").mkdir(parents=True)
    run = live(*(str(folder_of(word)) if word in (*NAMES, *UNLIKE) else word for word in words), cwd=tmp_path)
    assert run.returncode == status, run.stderr
    assert "Traceback" not in run.stderr
    assert bool(run.stderr) == (status == 2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_recording_that_may_not_be_read(tmp_path: Path) -> None:
    folder = edited(HEALTHY, tmp_path)
    (folder / "root").chmod(0)
    try:
        run = live("--recorded", str(folder), cwd=tmp_path)
    finally:
        (folder / "root").chmod(0o755)
    assert run.returncode == 2
    assert "cannot be read" in run.stderr


def test_this_machine_without_a_gpu_is_an_error(tmp_path: Path) -> None:
    report = live_json("--no-torch", cwd=tmp_path)
    if report["node"]["gpu"]["count"]:
        pytest.skip("this machine has a GPU")
    assert [f["name"] for f in report["findings"] if f["severity"] == "error"] == ["no-gpu"]
    assert live("--no-torch", cwd=tmp_path).returncode == 1


def test_an_empty_container(tmp_path: Path) -> None:
    (tmp_path / "empty" / "root").mkdir(parents=True)
    report = live_json("--recorded", "empty", cwd=tmp_path)
    assert [f["name"] for f in report["findings"]] == ["no-gpu"]
    assert report["node"]["gpu"] == {"count": 0, "physical": 0}


def test_garbage_in_every_file_of_a_recording(tmp_path: Path) -> None:
    folder = edited("mi300x-rocm-7.0-container", tmp_path)
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("index.toml", "links.tsv"):
            path.write_bytes(b"\x00\xff\x1b[31m{]")
    run = live("--recorded", str(folder), cwd=tmp_path)
    assert run.returncode in (0, 1)
    assert "\x1b" not in run.stdout
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", NAMES)
def test_json_of_every_node(tmp_path: Path, name: str) -> None:
    report = live_json(*recorded(name), cwd=tmp_path)
    assert list(report)[:4] == ["version", "node", "findings", "experiments"]
    assert report["version"] == 1
    assert report["node"]["name"] == name
    assert report["experiments"] == []
    assert "smoke test was not run" in report["smoke"]
    assert {p["status"] for p in report["details"]["probes"]} <= {"ok", "absent", "failed", "skipped"}
    text = json.dumps(report)
    for secret in ("a1b2c3d4e5f6", "11651590505119", "GPU-0000"):
        assert secret not in text


def test_the_plain_sheet_of_a_node(tmp_path: Path) -> None:
    run = live(*recorded("mi300x-cpx-nps4-rocm-6.3"), cwd=tmp_path)
    assert "64 x gfx942" in run.stdout
    assert "ED707 partition-mode" in run.stdout
    assert "package 7" in run.stdout
    assert "the smoke test was not run" in run.stdout
    assert "\x1b" not in run.stdout


def test_hints_and_details_are_asked_for(tmp_path: Path) -> None:
    plain = live(*recorded("h100-8gpu-cuda-12.4"), cwd=tmp_path).stdout
    hints = live(*recorded("h100-8gpu-cuda-12.4"), "--hints", cwd=tmp_path).stdout
    details = live(*recorded("h100-8gpu-cuda-12.4"), "--details", cwd=tmp_path).stdout
    assert "2 hints not shown" in plain
    assert "nvls-may-differ" not in plain
    assert "nvls-may-differ" in hints
    assert "gpu.device.bus [gpu 0] = 0000:18:00.0" not in hints
    assert "gpu.device.bus [gpu 0] = 0000:18:00.0" in details


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_output_to_a_file(tmp_path: Path, form: str) -> None:
    words = [*recorded(HEALTHY), "--format", form]
    shown = live(*words, cwd=tmp_path).stdout
    run = live(*words, "--output", "report", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, "")
    written = (tmp_path / "report").read_text(encoding="utf-8")
    assert re.sub(r'"seconds": .*', "", written) == re.sub(r'"seconds": .*', "", shown)


def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    run = live(*recorded(HEALTHY), cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert run.returncode == 0
    assert run.stdout.isascii()


def without_source(text: str) -> list[str]:
    """A sheet without what names the source: its first line, and the note on the smoke test."""
    return [line for line in text.splitlines()[1:] if not line.startswith("note: the smoke test")]


@pytest.mark.slow
@pytest.mark.parametrize("depth", ["--no-torch", "--no-smoke"])
def test_the_record_of_this_machine_gives_the_same_sheet(tmp_path: Path, depth: str) -> None:
    first = live(depth, "--details", "--record", "node", cwd=tmp_path, NCCL_ALGO="Rign", NCCL_DETERMINISTIC="1")
    again = live(depth, "--details", "--recorded", "node", cwd=tmp_path)
    assert without_source(again.stdout) == without_source(first.stdout)
    assert again.returncode == first.returncode == 1
    assert "NCCL_ALGO=Rign" in first.stdout
    report = live_json(depth, "--recorded", "node", cwd=tmp_path)
    assert {"bad-value", "ghost-variable"} <= {f["name"] for f in report["findings"]}


def test_no_secret_of_the_environment_is_told(tmp_path: Path) -> None:
    secrets = {"MY_PASSWORD": "hunter2hunter2", "NCCL_TOKEN": "tok-123456", "TF_VAR_db": "dbsecret99",
               "TORCH_HOME": "https://u:pw123456@host/x"}  # fmt: skip
    run = live("--no-torch", "--details", "--format", "json", "--record", "node", cwd=tmp_path, **secrets)
    texts = [run.stdout, *(p.read_text(errors="replace") for p in (tmp_path / "node").rglob("*") if p.is_file())]
    for secret in ("hunter2", "tok-123456", "dbsecret99", "pw123456"):
        assert not any(secret in text for text in texts)
    assert "NCCL_TOKEN" in run.stdout


def test_files_only_is_quick_and_light(tmp_path: Path) -> None:
    """Below three seconds for a job's prolog, and without what only other work needs."""
    code = (
        "import sys; from envdoctor.cli.main import main; main(['live', '--no-torch', '--output', 'sheet']); "
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'rich', 'yaml', 'libcst', 'tree_sitter', 'torch'}))"
    )
    begin = time.monotonic()
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)  # fmt: skip
    assert time.monotonic() - begin < 3
    assert run.stdout.strip() == "[]"


def on_terminal(*words: str, cwd: Path, **environment: str) -> str:
    """What a terminal gets from `envdoctor live`, on standard output and standard error together."""
    main, side = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **environment}
    command = [sys.executable, "-m", "envdoctor", "live", *words]
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=side, stdout=side, stderr=side) as process:
        os.close(side)
        shown = b""
        while True:
            try:
                data = os.read(main, 1 << 16)
            except OSError as error:
                assert error.errno == errno.EIO
                break
            if not data:
                break
            shown += data
        process.wait(60)
    os.close(main)
    return shown.decode()


def test_a_terminal_gets_colour_and_progress(tmp_path: Path) -> None:
    shown = on_terminal(*recorded(SICK), cwd=tmp_path)
    assert "\x1b[1;31m" in shown
    assert "examin" in shown


def test_no_colour_where_it_is_not_wanted(tmp_path: Path) -> None:
    shown = on_terminal(*recorded(SICK), cwd=tmp_path, NO_COLOR="1")
    assert "\x1b[1;31m" not in shown
    assert "\x1b[1m" not in shown


def test_a_configuration_file_counts(tmp_path: Path) -> None:
    (tmp_path / "envdoctor.toml").write_text('ignore = ["device-denied"]\n')
    assert live(*recorded(SICK), cwd=tmp_path).returncode == 0
    (tmp_path / "envdoctor.toml").write_text("gpus = 16\n")
    assert "8 GPUs on this node, and 16 are expected" in live(*recorded(HEALTHY), cwd=tmp_path).stdout
    assert live(*recorded(HEALTHY), "--gpus", "8", cwd=tmp_path).returncode == 0
    (tmp_path / "envdoctor.toml").write_text('ignore = "device-denied"\n')
    assert live(*recorded(SICK), cwd=tmp_path).returncode == 2


SCRIPT = """
export NCCL_DETERMINISTIC=1
export NCCL_NVLS_ENABLE=0
export RCCL_MSCCL_ENABLE=0
torchrun --nproc_per_node=8 train.py
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h100-8gpu-cuda-12.4", {("ghost-variable", 2), ("wrong-platform", 4)}),
        (HEALTHY, {("ghost-variable", 2)}),
    ],
)
def test_a_script_is_judged_for_the_node(tmp_path: Path, name: str, expected: set[tuple[str, int]]) -> None:
    (tmp_path / "train.sh").write_text(SCRIPT)
    report = live_json(*recorded(name), "--script", "train.sh", "--select", "ED1,ED2", cwd=tmp_path)
    mine = {(f["name"], f["line"]) for f in report["findings"] if f["path"] == "train.sh" and f["severity"] != "info"}
    assert mine == expected
    text = live(*recorded(name), "--script", "train.sh", cwd=tmp_path).stdout
    assert "train.sh:2" in text
    assert "| export NCCL_DETERMINISTIC=1" in text


def test_a_copy_of_a_node_has_its_folders_name(tmp_path: Path) -> None:
    copy_of(HEALTHY, tmp_path).rename(tmp_path / "mine")
    (tmp_path / "mine" / "node.toml").unlink()
    assert live_json("--recorded", "mine", cwd=tmp_path)["node"]["name"] == "mine"
