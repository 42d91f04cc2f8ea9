"""The data of target inference: every example and counter-example, every check of its loader, the tables' edges."""

from __future__ import annotations

import fnmatch
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from envdoctor.analysis.target.hints import hints_in
from envdoctor.core.target import TargetDataError
from envdoctor.core.versions import at_least, series
from envdoctor.knowledge.files import loads_toml, rules_dir
from envdoctor.knowledge.targets.combine import combine
from envdoctor.knowledge.targets.data import build
from envdoctor.knowledge.targets.table import Hint, HintNames, TargetTable, table, table_from

FOLDER = rules_dir() / "targets"
KNOWN = table_from(build(sorted(FOLDER.glob("*.toml"))))
SAMPLES = {
    "lock": "uv.lock", "requirements": "requirements.txt", "pyproject": "pyproject.toml", "setup": "setup.py",
    "conda": "environment.yml", "dockerfile": "Dockerfile", "compose": "docker-compose.yml", "yaml": "job.yaml",
    "shell": "run.sh", "make": "Makefile", "env-file": ".env", "python": "train.py", "notebook": "a.ipynb",
    "json": "env.json", "chart": "values.yaml",
}  # fmt: skip


def hint_cases(key: str) -> list[Any]:
    return [pytest.param(h, text, id=f"{h.id}: {text}") for h in KNOWN.hints for text in h.data[key]]


def kinds_of(hint: Hint) -> list[str]:
    return [kind.name for kind in KNOWN.kinds if hint in kind.hints]


@pytest.mark.parametrize(("hint", "text"), hint_cases("examples"))
def test_example(hint: Hint, text: str) -> None:
    assert hint.pattern.search(text)
    assert any(trigger in text for trigger in hint.triggers), "a trigger must be in every text that matches"


@pytest.mark.parametrize(("hint", "text"), hint_cases("negatives"))
def test_negative(hint: Hint, text: str) -> None:
    assert not hint.pattern.search(text)
    for kind in kinds_of(hint):
        assert hint.id not in [r.hint for r in hints_in(SAMPLES[kind], text + "\n", KNOWN)]


@pytest.mark.parametrize("hint", [pytest.param(h, id=h.id) for h in KNOWN.hints])
def test_hint_is_found_in_some_kind_of_file(hint: Hint) -> None:
    found = {
        reason.hint
        for text in hint.data["examples"]
        for kind in kinds_of(hint)
        for reason in hints_in(SAMPLES[kind], f"docker pull {text}\n{text}\n#SBATCH {text}\n", KNOWN)
    }
    assert (hint.id in found) is (hint.confidence != "none")


def test_samples_are_of_their_kinds() -> None:
    assert {kind: KNOWN.kind_named(path).name for kind, path in SAMPLES.items()} == {kind: kind for kind in SAMPLES}  # type: ignore[union-attr]
    assert {kind.name for kind in KNOWN.kinds} == set(SAMPLES)


def friends() -> list[Any]:
    content = loads_toml((FOLDER / "false-friends.toml").read_text(encoding="utf-8"))
    return [pytest.param(text, id=text) for friend in content["friend"] for text in friend.get("never", [])]


@pytest.mark.parametrize("text", friends())
def test_false_friend_gives_no_platform(text: str) -> None:
    for path in SAMPLES.values():
        assert combine(hints_in(path, text + "\n", KNOWN)).platform is None


def test_every_family_is_looked_for_somewhere() -> None:
    families = {family for kind in KNOWN.data["kinds"] for family in kind["families"]}
    assert {hint.family for hint in KNOWN.hints} == families


def test_every_source_that_a_row_names_exists() -> None:
    for path in FOLDER.glob("*.toml"):
        content = loads_toml(path.read_text(encoding="utf-8"))
        sources = content.get("sources", {})
        for rows in (value for value in content.values() if isinstance(value, list)):
            for row in rows:
                named = [row["source"]] if "source" in row else []
                if path.name == "rocm-releases.toml":
                    named += row["evidence"]
                assert set(named) <= set(sources), (path.name, row)


# Tables at their edges


@pytest.mark.parametrize(
    ("torch", "cuda", "nccl"),
    [
        ("2.0.0", "11.7", "2.14.3"), ("2.4.1", "12.1", "2.20.5"), ("2.4", "12.1", "2.20.5"),
        ("2.5.0", "12.4", "2.21.5"), ("2.7.0", "12.6", "2.26.2"), ("2.8.0", "12.8", "2.27.3"),
        ("2.10.0", "12.8", "2.27.5"),
        ("2.10.0", "13.0", "2.28.9"), ("2.12.1", "12.6", "2.29.3"), ("2.14.1", "13.2", "2.30.7"),
        ("2.15.0", "13.2", "2.30.7"),
        ("1.13.1", "11.7", None), ("2.4.1", "12.4", None), ("2.15.0", "13.0", None), ("2.99.0", "13.0", None),
        ("2.6.0a0", "12.4", None),
    ],
)  # fmt: skip
def test_nccl_of_a_cuda_wheel(torch: str, cuda: str, nccl: str | None) -> None:
    assert KNOWN.nccl_of(torch, cuda) == nccl


@pytest.mark.parametrize(
    ("rocm", "known"),
    [
        ("5.0", {"rccl": "2.10.3"}),
        ("5.1", {"rccl": "2.11.4"}),
        ("5.1.1", {"rccl": "2.11.4", "miopen": "2.16.0"}),
        ("5.2", {}),
        ("5.2.0", {"rccl": "2.11.4"}),
        ("5.2.1", {}),
        ("5.2.3", {"rccl": "2.12.12"}),
        ("6.2", {"rccl": "2.20.5", "miopen": "3.2.0"}),
        ("6.2.4", {"rccl": "2.20.5", "miopen": "3.2.0"}),
        ("6.3.0", {"rccl": "2.21.5", "miopen": "3.3.0"}),
        ("7.2.4", {"rccl": "2.27.7", "miopen": "3.5.1"}),
        ("7.10", {}),
        ("7.12", {"rccl": "2.28.3"}),
        ("10.0", {"rccl": "2.30.4"}),
        ("10.1", {}),
        ("4.5", {"rccl": "2.9.9"}),
        ("99.1", {}),
    ],
)
def test_rccl_and_miopen_of_a_rocm_release(rocm: str, known: dict[str, str]) -> None:
    assert KNOWN.rocm_release(rocm) == known


@pytest.mark.parametrize(
    ("framework", "month", "known"),
    [
        ("pytorch", "24.05", {"cuda": "12.4.1", "nccl": "2.21.5", "torch": "2.4.0a0"}),
        ("tensorflow", "24.05", {"cuda": "12.4.1", "nccl": "2.21.5"}),
        ("pytorch", "24.06", {"torch": "2.4.0a0"}),
        ("pytorch", "25.12", {"cuda": "13.1.0", "nccl": "2.28.9", "torch": "2.10.0a0"}),
        ("pytorch", "25.07", {}),
        ("nemo", "24.05", {"torch": "2.3.0a0", "te": "1.6.0.dev0"}),
        ("nemo", "25.02", {}),
        ("modulus", "24.05", {}),
    ],
)
def test_ngc_image(framework: str, month: str, known: dict[str, str]) -> None:
    assert KNOWN.ngc(framework, month) == known


@pytest.mark.parametrize(
    ("model", "architecture"),
    [
        ("MI250X", "gfx90a"), ("mi300a", "gfx942"), ("mi355x", "gfx950"), ("a100", "sm_80"), ("A100-80GB", "sm_80"),
        ("nvidia_h100_80gb", "sm_90"), ("v100-32g", "sm_70"), ("gh200", "sm_90"), ("h800", None), ("mi308x", None),
    ],
)  # fmt: skip
def test_gpu_models(model: str, architecture: str | None) -> None:
    assert KNOWN.gpu(model) == architecture


@pytest.mark.parametrize(
    ("torch", "rocm", "rest", "known"),
    [
        ("2.4.1", "6.1", "", True), ("2.6.0", "6.2.4", "", True), ("2.2.2", "6.3", "", False),
        ("2.7.1", "6.4.1", "", False), ("2.9.1", "7.2.1", "lw.gitff65f5bc", True), ("2.13.0", "10.0.0", "", True),
        ("2.15.0", "7.14", "", True),
    ],
)  # fmt: skip
def test_rocm_wheels_that_some_index_has(torch: str, rocm: str, rest: str, known: bool) -> None:
    assert KNOWN.rocm_wheel_known(torch, rocm, rest) is known


def test_tables_only_grow_newer() -> None:
    rows = list(KNOWN.data["cuda-wheels"].values())
    for before, after in pairwise(rows):
        for key in ("torch", "cuda", "nccl"):
            if key in before and key in after:
                assert at_least(after[key], before[key]), (before, after)


def test_a_build_of_the_pypi_wheel_agrees_in_both_tables() -> None:
    for torch, row in KNOWN.data["cuda-wheels"].items():
        builds = KNOWN.data["cuda-builds"].get(series(torch), {})
        if nccl := builds.get("nccl", {}).get(row["cuda"]):
            assert nccl == row["nccl"]


# The loader says which key of which file is wrong


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("images.toml", 'id = "rocm-any"', 'ident = "rocm-any"', r"images\.toml: hint rocm-any: id: missing"),
        ("images.toml", "fallback = true", 'fallback = "yes"', r"hint rocm-any: fallback: expected bool, got str"),
        ("images.toml", "fallback = true", "falback = true", r"falback: unknown key \(did you mean fallback\?\)"),
        ("images.toml", 'confidence = "certain"', 'confidence = "sure"', r"confidence: 'sure' is none of certain"),
        ("images.toml", 'order = "image"', 'order = "picture"', r"order: 'picture' is none of image, local-pin"),
        ("images.toml", 'holds = "image"', 'holds = "disk"', r"holds: 'disk' is none of wheel"),
        ("images.toml", 'platform = "rocm"\n', "", r"rocm-pytorch: platform: exactly one of"),
        ("images.toml", 'platform = "rocm"', 'platform = "metal"', r"platform: 'metal' is none of cuda"),
        ("images.toml", '(?P<rocm>', '(?P<rocm', r"images\.toml: hint rocm-pytorch: regex: "),
        ("images.toml", 'group = "torch"', 'group = "pytorch"', r"reads: group: 'pytorch' is none of rocm, os"),
        ("images.toml", 'triggers = ["rocm/pytorch"]', "triggers = []", r"triggers, examples and negatives must not"),
        ("images.toml", 'topic = "hints"', 'topic = "hint"', r"images\.toml: topic: 'hint' is none of hints"),
        ("images.toml", 'topic = "hints"', "topic = ", r"images\.toml: "),
        ("systems.toml", 'name = "Frontier"', 'nam = "Frontier"', r"systems\.toml: system Frontier: name: missing"),
        ("systems.toml", 'id = "system-lumi-account"', 'id = "pin-cpu"', r"hint pin-cpu: id: used twice"),
        ("wheels-cuda.toml", 'nccl = "2.20.5"', "nccl = 2.2", r"release 2\.3\.0: nccl: expected str"),
        ("wheels-cuda.toml", "[[release]]", "[[relase]]", r"relase: unknown key \(did you mean release\?\)"),
        ("hints-launch.toml", 'to = "drop"', 'to = "none"', r"weaker: to: 'none' is none of medium, weak, drop"),
    ],
)  # fmt: skip
def test_errors_name_file_and_key(tmp_path: Path, name: str, old: str, new: str, message: str) -> None:
    shutil.copytree(FOLDER, tmp_path / "targets")
    path = tmp_path / "targets" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(TargetDataError, match=message):
        build(sorted((tmp_path / "targets").glob("*.toml")))


def test_a_missing_topic_is_named() -> None:
    with pytest.raises(TargetDataError, match="no file has topic drivers"):
        build([p for p in sorted(FOLDER.glob("*.toml")) if p.name != "drivers.toml"])


def test_the_table_that_is_used_is_the_one_of_the_files() -> None:
    loaded: TargetTable = table()
    assert loaded.data == KNOWN.data
    assert [h.id for h in loaded.hints] == [h.id for h in KNOWN.hints]


@pytest.mark.parametrize(
    "pattern", ["dockerfile", "*.sh", "requirements*.txt", "a*", "*", "*.*.yml", "job.?", "[ab]*.sh"]
)
@pytest.mark.parametrize(
    "name", ["dockerfile", "a.sh", ".sh", "requirements.txt", "requirements-a.txt", "requirementstxt", "a", "", "x.y.yml", "job.1"]
)  # fmt: skip
def test_names_are_compared_as_fnmatch_does(pattern: str, name: str) -> None:
    assert HintNames([pattern]).fit(name) == fnmatch.fnmatchcase(name, pattern)
    assert HintNames(["other", pattern]).fit(name) == fnmatch.fnmatchcase(name, pattern)
