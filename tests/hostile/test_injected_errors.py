"""Errors of ours, put into every reader, every rule and every function: told with their file, and nothing else lost."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from everything import GHOST, KINDS, scan_rules, write_everything, write_example, write_kinds
from node_trees import judged
from recorded import NAMES, folder_of

import envdoctor
from envdoctor.analysis.target import hints as targets_hints
from envdoctor.analysis.target import of_files
from envdoctor.checks import registry as checks
from envdoctor.cli import rule_examples
from envdoctor.cli.main import main
from envdoctor.core.findings import Finding
from envdoctor.fixes import names
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.rulebook import Rule, load_rulebook
from envdoctor.readers.registry import READERS

pytestmark = pytest.mark.internal_errors
PACKAGE = str(Path(envdoctor.__file__).parent)
Scan = Callable[..., tuple[int, dict[str, Any], str]]
Key = tuple[str, int, str, str | None]


class InjectedError(Exception):
    """Nobody expects it."""


def endless() -> None:
    endless()


def too_much() -> None:
    _ = bytearray(1 << 60)


def unforeseen() -> None:
    raise InjectedError


def wrong_key() -> None:
    _ = {}["a key"]


ERRORS = {"RecursionError": endless, "MemoryError": too_much, "InjectedError": unforeseen, "KeyError": wrong_key}


@pytest.fixture
def scan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cache: Path) -> Scan:
    del cache

    def run(root: Path, *words: str) -> tuple[int, dict[str, Any], str]:
        monkeypatch.chdir(root)
        capsys.readouterr()
        status = main(["scan", "--format", "json", "--docs", *words])
        out, told = capsys.readouterr()
        return status, json.loads(out), told

    return run


def keys(report: dict[str, Any]) -> set[Key]:
    return {(f["path"], f["line"], f["name"], f["variable"]) for f in report["findings"]}


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_that_fails(
    tmp_path: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch, kind: str, error: str
) -> None:
    root = tmp_path / "project"
    write_kinds(root)
    before = keys(scan(root)[1])
    module = importlib.import_module(READERS[kind])
    real, bad = module.read, f"{kind}/{KINDS[kind][0]}"

    def read(source: Any, kind_of: str) -> Any:
        found = real(source, kind_of)
        if source.path == bad and source.anchors is None:
            ERRORS[error]()
        return found

    monkeypatch.setattr(module, "read", read)
    for words in ((), ("--no-cache",), ()):  # nothing of it is kept
        status, report, told = scan(root, *words)
        assert status == 2
        assert keys(report) == {key for key in before if key[0] != bad}
        assert told.startswith(f"envdoctor: {bad}: internal error while reading it: {error} in ")
        assert ("not enough memory" if error == "MemoryError" else "please report this line") in told
        assert [p["path"] for p in report["summary"]["problems"]] == [bad]


def test_every_kind_of_file_has_a_reader_that_failed() -> None:
    # A file named `ci-env` or `conf-file` is no file: these are texts inside others.
    without = set(READERS) - set(KINDS)
    assert without == {"ci-env", "conf-file"}, "tests/hostile/everything.py holds one of each kind, and a fault in it"


@pytest.mark.slow
@pytest.mark.parametrize("when", ["at once", "at its end"])
@pytest.mark.parametrize(("rule", "number"), scan_rules(), ids=[rule.name for rule, _ in scan_rules()])
def test_a_rule_that_fails(
    tmp_path: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch, rule: Rule, number: int, when: str
) -> None:
    root = tmp_path / "project"
    write_example(root, rule, number)
    (root / "good.sh").write_text(f"export {GHOST}=1\n")
    (root / "good.py").write_text(f'import os\nos.environ["{GHOST}"] = "1"\n')
    example = rule.examples[number]
    words = ["--no-cache", "--hints", *(["--target", example.target] if example.target else [])]
    words += ["--level", example.level] if example.level else []
    before = keys(scan(root, *words)[1])
    mine = {key for key in before if key[2] == rule.name}
    assert mine

    def failing(real: Callable[[Rule, Any], Iterator[Finding]]) -> Callable[[Rule, Any], Iterator[Finding]]:
        def check(one: Rule, context: Any) -> Iterator[Finding]:
            if one.name == rule.name and when == "at once":
                unforeseen()
            yield from real(one, context)
            if one.name == rule.name:
                unforeseen()

        return check

    monkeypatch.setattr(checks, "in_file", failing(checks.in_file))
    monkeypatch.setattr(checks, "in_launches", failing(checks.in_launches))
    status, report, told = scan(root, *words)
    assert status == 2
    assert f"by {rule.name}: InjectedError in " in told
    if when == "at its end":
        assert keys(report) == before  # what was found until then is not lost
    else:
        # What the rule says goes, and what it kept others from saying may come.
        assert before - mine <= keys(report)
        assert not any(key[2] == rule.name for key in keys(report))


def test_a_file_that_tells_the_target_and_fails(tmp_path: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it would have said is lost, and what the others say is not."""
    root = tmp_path / "project"
    root.mkdir()
    image = "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\n"
    (root / "Dockerfile").write_text(image)
    (root / "requirements.txt").write_text("torch==2.3.0\n")
    (root / "run.sh").write_text("export NVIDIA_TF32_OVERRIDE=0\ntorchrun --nproc_per_node 8 train.py\n")
    before = keys(scan(root)[1])
    assert ("run.sh", 1, "wrong-platform", "NVIDIA_TF32_OVERRIDE") in before
    real = targets_hints.hints_in
    fails = "requirements.txt"
    for module in (targets_hints, of_files):
        monkeypatch.setattr(
            module, "hints_in", lambda path, *r: unforeseen() if path == fails and r[0] else real(path, *r)
        )
    for fails, lost in (("requirements.txt", set()), ("Dockerfile", before)):
        targets_hints.reasons_of.cache_clear()
        status, report, told = scan(root)
        assert (status, keys(report) | lost) == (2, before)
        assert f"envdoctor: {fails}: internal error while looking for hints at a machine: InjectedError" in told
    targets_hints.reasons_of.cache_clear()


def bad_and_good(root: Path, text: str) -> Path:
    """Two scripts that hold the same: one to fail at, and one that must not suffer from it."""
    root.mkdir()
    for name in ("bad.sh", "good.sh"):
        (root / name).write_text(text)
    return root


FIXING = [("--diff",), ("--diff", "--unsafe-fixes"), ("--fix",), ("--fix", "--unsafe-fixes"), ("--add-ignores",)]


@pytest.mark.parametrize("words", FIXING, ids=" ".join)
def test_a_fix_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    root = bad_and_good(tmp_path / "project", f"export {GHOST}=1\necho\n")
    monkeypatch.chdir(root)
    real = names.remove

    def remove(finding: Finding, facts: Any, workshop: Any) -> Any:
        if facts.path == "bad.sh":
            unforeseen()
        return real(finding, facts, workshop)

    monkeypatch.setattr(names, "remove", remove)
    status = main(["scan", *words])
    out, told = capsys.readouterr()
    if words[0] == "--add-ignores":
        assert (status, told) == (0, "envdoctor: 2 ignored by new comments; 2 files written\n")
        return
    assert status == 2
    assert "envdoctor: bad.sh: internal error while looking for a fix of ghost-variable: InjectedError in" in told
    if words[0] == "--diff":
        assert "+++ b/good.sh" in out
        assert "bad.sh" not in out
    else:
        assert (root / "good.sh").read_text() == "echo\n"
        assert GHOST in (root / "bad.sh").read_text()


def test_what_is_not_known_is_not_fixed(tmp_path: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that could not be read may be what reads a name: it is reported, and not removed."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "run.sh").write_text(f"export {GHOST}=1\nexport RCCL_ALGO=Ring\n")
    (root / "reader.py").write_text(f'import os\nprint(os.environ["{GHOST}"])\n')
    module = importlib.import_module("envdoctor.readers.python.reader")
    monkeypatch.setattr(module, "read", lambda source, kind: unforeseen())
    status, report, _ = scan(root, "--fix", "--unsafe-fixes")
    assert status == 2
    assert (root / "run.sh").read_text() == f"export {GHOST}=1\nexport NCCL_ALGO=Ring\n"
    assert keys(report) == {("run.sh", 1, "ghost-variable", GHOST)}


def test_ignore_comments_are_not_called_unused(tmp_path: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "run.sh").write_text(f"export {GHOST}=1  # envdoctor: ignore[ghost-variable]\n")
    real = checks.in_file
    monkeypatch.setattr(
        checks, "in_file", lambda rule, context: unforeseen() if rule.id == "ED101" else real(rule, context)
    )
    status, report, _ = scan(root, "--fix")
    assert (status, keys(report)) == (2, set())
    assert "ignore" in (root / "run.sh").read_text()


@pytest.mark.parametrize("words", [("--show-target",), ("--show-launches",), ("--diff-launch", "bad.sh", "good.sh")])
def test_a_display_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    root = bad_and_good(tmp_path / "project", "export NCCL_ALGO=Ring\ntorchrun --nproc_per_node 8 train.py\n")
    monkeypatch.chdir(root)
    module = importlib.import_module("envdoctor.readers.shell.reader")
    real = module.read
    monkeypatch.setattr(module, "read", lambda s, kind: unforeseen() if s.path == "bad.sh" else real(s, kind))
    status = main(["scan", *words])
    out, told = capsys.readouterr()
    assert status == 2
    assert "envdoctor: bad.sh: internal error while reading it: InjectedError in" in told
    assert ("good.sh" in out) == (words[0] != "--diff-launch")


def test_a_rule_that_fails_on_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    node = folder_of(NAMES[0])
    before = judged(node)
    assert before.errors == []
    name = next(f.name for f in before.findings if f.name in {rule.name for rule in load_rulebook()})
    for asked in ("in_file", "in_launches", "on_node"):
        real = getattr(checks, asked)
        monkeypatch.setattr(
            checks, asked, lambda rule, *r, real=real: unforeseen() if rule.name == name else real(rule, *r)
        )
    after = judged(node)
    assert [f for f in before.findings if f.name != name] == [f for f in after.findings if f.name != name]
    assert [error for error in after.errors if f"by {name}: InjectedError in " in error] == after.errors != []


def test_an_example_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """`rules --test`: silence because of an error is no success."""
    rule = load_rulebook().named("ghost-variable")
    good = rule._replace(examples=tuple(e for e in rule.examples if e.kind == "good")[:1])
    monkeypatch.setattr(checks, "in_file", lambda rule, context: unforeseen())
    (outcome,) = rule_examples.try_examples(good, load_rulebook(), load_catalog())
    assert (outcome.failed, outcome.missing, outcome.surplus) == (True, (), ())


def test_the_same_error_in_many_files_is_one_message(
    tmp_path: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    for number in range(30):
        (root / f"{number:02}.sh").write_text(f"export {GHOST}=1\n")
    module = importlib.import_module("envdoctor.readers.shell.reader")
    monkeypatch.setattr(module, "read", lambda source, kind: unforeseen())
    status, report, told = scan(root)
    assert (status, told.count("internal error"), told.count("\n")) == (2, 1, 1)
    assert told.startswith("envdoctor: 00.sh, 01.sh, 02.sh")
    assert "19.sh and 10 more: internal error" in told
    assert len(report["summary"]["problems"]) == 30


def test_what_an_error_says_is_not_told(tmp_path: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.sh").write_text("export NCCL_TOKEN=hf_secret\n")
    module = importlib.import_module("envdoctor.readers.shell.reader")
    monkeypatch.setattr(module, "read", lambda source, kind: {}[source.text])
    status, report, told = scan(root)
    assert (status, "secret" in told, "secret" in json.dumps(report)) == (2, False, False)
    monkeypatch.setenv("ENVDOCTOR_TRACEBACK", "1")
    assert "hf_secret" in scan(root)[2]


def functions_of(run: Callable[[], object]) -> dict[str, CodeType]:
    """The functions of envdoctor that are called, in the order in which they are first."""
    found: dict[str, CodeType] = {}

    def see(frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            found.setdefault(f"{code.co_filename[len(PACKAGE) + 1 :]}:{code.co_firstlineno}:{code.co_name}", code)

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def failing_in(code: CodeType, run: Callable[[], int]) -> tuple[int, bool]:
    """The exit status of a run in which one function fails when it is first called, and whether it was."""
    failed = False

    def see(frame: FrameType, event: str, arg: object) -> None:
        nonlocal failed
        if event == "call" and frame.f_code is code and not failed:
            failed = True
            raise InjectedError

    sys.setprofile(see)
    try:
        return run(), failed
    finally:
        sys.setprofile(None)


ENDS = ("cli/main.py", "core/streams.py", "core/internal_errors.py", "cli/isolation.py")
"""The boundary itself: nothing stands behind it."""
CLEANING = (":__del__", ":close")
"""Python lets no error out of the first, which calls the second."""
SHARED = (
    "core/", "cache/", "knowledge/", "project/", "engine.py", "reports/", "cli/", "readers/store.py", "readers/kinds.py",
    "readers/docker_env_files.py", "analysis/project.py", "analysis/references/", "analysis/target/",
    "analysis/process/", "analysis/python/modules.py", "analysis/python/program", "checks/shared.py",
)  # fmt: skip
"""What all files share: where that fails, more than a file may be left undone."""


def with_companions(root: Path, named: set[str]) -> set[str]:
    """Files, and those beside them that they name or that name them: what one gives to the other's ranks is judged in
    either."""
    found = set(named)
    for path in named:
        if not (root / path).is_file():
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for other in (root / path).parent.iterdir():
            if other.is_file() and (other.name in text or Path(path).name in other.read_text("utf-8", "replace")):
                found.add(other.relative_to(root).as_posix())
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.nightly), 23])
def test_any_function_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], step: int
) -> None:
    """Status 2 wherever it fails; what is lost stands in files that are named."""
    root = tmp_path / "project"
    write_everything(root)
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run() -> int:
        return main(["scan", "--no-cache", "--docs", "--hints", "--format", "json"])

    def outcome() -> tuple[set[Key] | None, str]:
        out, told = capsys.readouterr()
        return (keys(json.loads(out)) if out else None), told

    run()
    capsys.readouterr()
    functions = functions_of(run)
    every, _ = outcome()
    assert every
    assert len(functions) > 1500
    figures = dict.fromkeys(("functions", "all else judged", "nothing printed"), 0)
    wrong: list[object] = []
    for name in [name for name in functions if not name.startswith(ENDS) and not name.endswith(CLEANING)][::step]:
        status, failed = failing_in(functions[name], run)
        found, told = outcome()
        if not failed:
            continue  # its result is kept from an earlier run
        figures["functions"] += 1
        figures["nothing printed"] += found is None
        lines = [line.removeprefix("envdoctor: ").split(": ")[0] for line in told.splitlines()]
        named = with_companions(root, {path for line in lines for path in line.split(", ")})
        # An ignore comment is not called unused where something was left undone.
        lost = {key for key in every - (found or set()) if key[2] != "unused-ignore"}
        elsewhere = {key for key in lost if key[0] not in named and str(root) not in named}
        figures["all else judged"] += not elsewhere
        if status != 2 or "internal error" not in told or (elsewhere and not name.startswith(SHARED)):
            wrong.append((name, status, told, sorted(elsewhere)[:3]))
    print(figures)
    assert not wrong, "\n".join(map(str, wrong))
    assert figures["all else judged"] >= figures["functions"] * 0.8
