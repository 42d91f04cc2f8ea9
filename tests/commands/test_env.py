"""`envdoctor env`: what it prints is what the level needs, is read from every format, and passes a scan in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import envdoctor

from envdoctor.cli import main as cli
from envdoctor.cli.env import FORMATS, block, pair
from envdoctor.core.source import Source
from envdoctor.core.target import UNKNOWN
from envdoctor.knowledge.levels import LEVELS, VARIANTS, load_levels
from envdoctor.knowledge.targets.given import parse_target
from envdoctor.readers import registry as readers
from envdoctor.readers.kinds import kind_of

ALL = load_levels()
FILES = {"shell": "env.sh", "dockerfile": "Dockerfile", "kubernetes": "pod.yaml", "compose": "compose.yaml",
         "python": "settings.py", "slurm": "job.sbatch"}  # fmt: skip
TARGETS = ["nccl-2.14", "nccl-2.18", "nccl-2.21", "nccl-2.27", "nccl-2.30", "cuda,torch-2.4", "cuda,torch-2.8",
           "cuda,torch-2.10", "cuda,torch-2.13", "rocm-5.7", "rocm-6.2", "rocm-6.4", "rocm-7.0", "rocm-7.2",
           "rocm-7.14"]  # fmt: skip


CASES = [(level, target) for level in LEVELS for target in TARGETS]


def text(level: str, target: str, form: str, variant: str = "") -> str:
    return "\n".join(block(ALL, level, parse_target(target), form, variant)) + "\n"


@pytest.mark.parametrize(("level", "target"), CASES)
def test_every_block_passes_a_scan_in_silence(
    level: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variant in ("", *VARIANTS):
        for form, name in FILES.items():
            path = tmp_path / (variant or "plain") / form / name
            path.parent.mkdir(parents=True)
            path.write_text(text(level, target, form, variant), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    status = cli.main(["scan", "--level", level, "--target", target, "--format", "json", "."])
    report = json.loads(capsys.readouterr().out)
    assert [(f["path"], f["line"], f["name"], f["message"]) for f in report["findings"]] == []
    assert status == 0


@pytest.mark.parametrize("form", FORMATS)
def test_a_scan_sees_every_line_of_a_block(form: str) -> None:
    for level, target in CASES:
        source = Source(FILES[form], text(level, target, form, "debug"))
        kind = kind_of(source.path, source.text.encode()[:256])
        assert kind is not None
        facts = readers.read(source, kind)
        lines = {line.name: line.value for line in ALL.block(level, parse_target(target), "debug")}
        if form == "python":
            lines.pop("PYTHONHASHSEED", None)
        assert {s.name: s.value.known for s in facts.settings} == lines
        assert not facts.problems


@pytest.mark.parametrize("form", FORMATS)
def test_every_line_has_its_reason(form: str) -> None:
    printed = text("placement", "rocm-6.4", form)
    for line in ALL.block("placement", parse_target("rocm-6.4")):
        assert line.why in printed


def test_a_python_block_runs_up_to_its_imports() -> None:
    code = compile(text("placement", "cuda,torch-2.8", "python"), "settings.py", "exec")
    assert "os" in code.co_names


def test_the_pair_differs_where_it_says() -> None:
    rows = [line.split(" | ") for line in pair(ALL, "placement", parse_target("cuda,torch-2.8")) if " | " in line]
    table = {left.split("=")[0].strip(): (left.strip(), right.strip()) for left, right, _ in rows[1:]}
    assert table["NCCL_ALGO"] == ("NCCL_ALGO=Ring", "-")
    assert table["NCCL_DEBUG"] == ("NCCL_DEBUG=INFO", "NCCL_DEBUG=WARN")
    assert table["PYTHONHASHSEED"][0] == table["PYTHONHASHSEED"][1]


def test_the_production_variant_pins_nothing_of_the_collectives() -> None:
    for level, target in CASES:
        names = {line.name for line in ALL.block(level, parse_target(target), "production")}
        assert {n for n in names if n.startswith(("NCCL_", "RCCL_"))} <= {"NCCL_DEBUG"}


def test_an_unknown_platform_has_what_both_share() -> None:
    names = {line.name for line in ALL.block("placement", UNKNOWN)}
    assert "NCCL_ALGO" in names and not names & {"NCCL_NVLS_ENABLE", "RCCL_MSCCL_ENABLE"}
    assert "platform is not known" in "\n".join(block(ALL, "placement", UNKNOWN, "shell"))


def test_on_the_command_line(tmp_path: Path) -> None:
    run = envdoctor("env", "--level", "run-to-run", "--target", "cuda,torch-2.4", cwd=tmp_path)
    assert run.returncode == 0
    assert "export NCCL_NVLS_ENABLE=0  # " in run.stdout
    assert "export CUBLAS_WORKSPACE_CONFIG=:4096:8" in run.stdout
    assert envdoctor("env", "--target", "rocm-6.2,nccl-2.18", cwd=tmp_path).returncode == 2
    assert "debug" in envdoctor("env", "--pair", cwd=tmp_path).stdout
