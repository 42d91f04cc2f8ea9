"""What asks for determinism: each row of the table by its values, put to scan and to live, which have to agree."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, envdoctor, scan_json

from envdoctor.analysis.python.timeline import Timeline
from envdoctor.checks.python.intent import timeline_intent
from envdoctor.core.facts import FileFacts, Op, Place, Setting, Value
from envdoctor.core.source import Source
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.values import faults, unknown_words
from envdoctor.knowledge.files import rule_paths
from envdoctor.knowledge.intent import (
    Answer,
    IntentError,
    asking,
    build,
    command_asks,
    intent_from,
    intent_of,
    load_intent,
)
from envdoctor.node.live.judge import level_of
from envdoctor.readers.registry import read

Tree = Callable[[Mapping[str, str]], Path]
ONE = {"1": "on", "0": "off", "": "off", "true": "off"}
PLAIN = {"1": "on", "TRUE": "on", "yes": "on", "on": "on", "enable": "on",
         "0": "off", "False": "off", "no": "off", "off": "off", "": "off", "later": "unknown"}  # fmt: skip
TENSORFLOW = {"1": "on", "true": "on", "True": "on", "0": "off", "false": "off", "FALSE": "off",
              "no": "unknown", "yes": "unknown", "": "unknown"}  # fmt: skip
FIRST = {"1": "on", "10": "on", "0": "off", "": "unknown", "true": "unknown"}
ASCEND = {"true": "on", "1": "on", "strict": "on", "false": "off", "0": "off", "": "unknown"}
DETERMINISTIC, EXCLUDE = "--xla_gpu_deterministic_ops", "--xla_gpu_exclude_nondeterministic_ops"

ROWS: dict[str, dict[str, Any]] = {
    "CUBLAS_WORKSPACE_CONFIG": {":4096:8": "on", ":16:8": "on", ":4096:2": "off", ":0:0": "off", "4096:8": "off", "": "off"},
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO": {"0": "on", "00": "on", "1": "off", "2": "off", "": "unknown", "no": "unknown"},
    "TF_DETERMINISTIC_OPS": TENSORFLOW, "TF_CUDNN_DETERMINISTIC": TENSORFLOW,
    "XLA_FLAGS": {
        f"{DETERMINISTIC}=true": "on", f"--xla_dump_to=/tmp/x {EXCLUDE}=true": "on", DETERMINISTIC: "on",
        f"{DETERMINISTIC} --xla_dump_to=/x": "on", f"{DETERMINISTIC}=false": "off", f"{EXCLUDE}=false": "off",
        f"{DETERMINISTIC}=true {DETERMINISTIC}=false": "off", f"{DETERMINISTIC}=false {EXCLUDE}=true": "on",
        f"{DETERMINISTIC}=maybe": "unknown", "--xla_gpu_autotune_level=0": "unknown", "": "unknown",
    },
    "TORCHINDUCTOR_DETERMINISTIC": ONE, "FLASH_ATTENTION_DETERMINISTIC": ONE,
    "MAMBA_DETERMINISTIC": FIRST, "CAUSAL_CONV1D_DETERMINISTIC": FIRST,
    "MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC": {"1": "on", "Enabled": "on", "0": "off", "disable": "off", "2": "unknown"},
    "HCCL_DETERMINISTIC": ASCEND, "LCCL_DETERMINISTIC": ASCEND,
    "NCCL_DETERMINISTIC": PLAIN, "RCCL_DETERMINISTIC": PLAIN, "RCCL_DETERMINISTIC_OPS": PLAIN,
    "RCCL_FP16_DETERMINISTIC": PLAIN, "MIOPEN_DETERMINISTIC": PLAIN, "MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC": PLAIN,
    "HIPBLASLT_DETERMINISTIC": PLAIN, "TORCH_DETERMINISTIC": PLAIN, "CUDNN_DETERMINISTIC": PLAIN,
    # Names that the table does not hold ask for nothing, whatever stands in them.
    "MY_DETERMINISTIC": {"1": "unknown"}, "RCCL_IB_BLACKOUT_DETERMINISTIC": {"1": "unknown"},
    "PYTHONHASHSEED": {"0": "unknown"}, "NCCL_ALGO": {"Ring": "unknown"},
}  # fmt: skip
CASES = [(name, value, answer) for name, values in ROWS.items() for value, answer in values.items()]


def setting(name: str, value: str | None, op: Op = "set", guarded: bool = False) -> Setting:
    given = Value("unknown") if value is None else Value("literal", value)
    return Setting(op, name, given, Place("x", 1, 1, 1, 2), "process-environment", 0, guarded=guarded)


def scan_wants(name: str, value: str) -> bool:
    """What the rules about Python make of a program that sets a variable."""
    facts = read(Source("a.py", f"import os\nos.environ[{name!r}] = {value!r}\n"), "python")
    timeline = Timeline(facts)
    timeline.files[facts.path] = facts
    return timeline_intent(timeline).full


def live_wants(name: str, value: str) -> bool:
    """What a node's judge makes of a process with a variable."""
    return level_of("auto", [setting(name, value)]) == "run-to-run"


@pytest.mark.parametrize(("name", "value", "answer"), CASES)
def test_scan_and_live_agree_on_each_row(name: str, value: str, answer: Answer) -> None:
    assert intent_of(name, value) == answer
    assert scan_wants(name, value) == live_wants(name, value) == (answer == "on")


def test_every_row_is_tried_in_both_directions() -> None:
    assert set(load_intent().variables) <= set(ROWS)
    for name in load_intent().variables:
        assert {"on", "off"} <= set(ROWS[name].values()), name


@pytest.mark.parametrize("name", sorted(load_intent().variables))
def test_a_computed_value_neither_asks_nor_refuses(name: str) -> None:
    assert intent_of(name, None) == "unknown"
    assert level_of("auto", [setting(name, None)]) == "hygiene"


def test_only_what_gives_a_value_asks() -> None:
    name, value = "NCCL_DETERMINISTIC", "1"
    assert list(asking([setting(name, value, "default")]))
    assert not list(
        asking([setting(name, value, "unset"), setting(name, value, "pass"), setting(name, value, "append")])
    )
    assert not list(asking([setting(name, value, guarded=True)])), "data of a test double"
    assert not list(asking(FileFacts("a.sh", "shell").settings))


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("pretrain_gpt.py --deterministic-mode --bf16", True), ("pretrain_gpt.py --deterministic-mode", True),
        ("pretrain_gpt.py --deterministic-mode $MORE", True), ("train.py --deterministic config.py", True),
        ("train.py --deterministic no", False), ("train.py --deterministic=false", False),
        ("run.py --full_determinism", True), ("run.py --full_determinism True", True),
        ("run.py --full_determinism=true", True), ("run.py --full_determinism False --seed 1", False),
        ("run.py --full_determinism=0", False), ("run.py --full_determinism $WANTED", False),
        ("run.py --full_determinism=$WANTED", False), ("run.py --full_determinism --full_determinism=no", False),
        ("main.py --trainer.deterministic=true", True), ("main.py --trainer.deterministic warn", True),
        ("main.py --trainer.deterministic=false", False), ("main.py --not-deterministic-mode", False), ("", False),
    ],
)  # fmt: skip
def test_arguments_of_a_command(command: str, asks: bool) -> None:
    assert command_asks(command.split()) is asks


def test_the_table_reads_values_as_the_catalogue_does() -> None:
    catalog = load_catalog()
    for name, row in load_intent().variables.items():
        variable = catalog.variable(name)
        if variable is None or variable.value is None or row.flags:
            continue
        grammar = variable.value
        assert row.asks.number == grammar.number, name
        assert not row.asks.number or {*row.asks.on} <= {"0", "1"}, name
        if grammar.words and grammar.case == "insensitive":
            assert row.asks.case == "insensitive", name
        for word in row.asks.on if variable.platform != "ascend" else ():
            assert not faults(variable, catalog, word), (name, word)
            assert not unknown_words(variable, catalog, word), (name, word)


TABLE: dict[str, Any] = {
    "reading": {"one": {"text": "exactly 1", "on": ["1"], "others": "off"}},
    "variable": [{"names": ["A"], "asks": "one", "evidence": ["x"]}],
    "argument": [{"names": ["--a"], "asks": "one", "evidence": ["x"]}],
}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("reading", "one", "onn"), ["1"], "reading.one: onn: unknown key (did you mean on?)"),
        (("reading", "one", "on"), "1", "reading.one: on: expected list, got '1'"),
        (("reading", "one", "on"), [1], "reading.one: on: expected list, got [1]"),
        (("reading", "one", "off"), ["1"], "reading.one: '1' is on and off"),
        (("reading", "one", "others"), "no", "reading.one: others: 'no' is not one of on, off"),
        (("reading", "one", "case"), "both", "reading.one: case: 'both' is not one of insensitive"),
        (
            ("reading", "one", "number"),
            "roman",
            "reading.one: number: 'roman' is not one of strtoll, atoi, python, decimal",
        ),
        (("variable", 0, "asks"), "ones", "A: asks: there is no reading 'ones' (did you mean one?)"),
        (("variable", 0, "evidence"), [], "A: evidence: empty"),
        (("variable", 0, "names"), ["--a"], "--a: stands in two rows"),
        (("variable", 0, "names"), [], "a table without names: names: empty"),
        (("argument", 0, "flags"), ["--b"], "--a: flags: unknown key"),
    ],
)
def test_a_table_that_cannot_be_used(path: tuple[Any, ...], value: Any, message: str) -> None:
    table: Any = deepcopy(TABLE)
    inner = table
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(IntentError) as error:
        intent_from(table)
    assert str(error.value) == message


def test_a_key_that_is_missing() -> None:
    table = deepcopy(TABLE)
    del table["variable"][0]["evidence"]
    with pytest.raises(IntentError, match=r"^A: evidence: missing$"):
        intent_from(table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[variables]]\nnames = []\n", "a.toml: variables: unknown key"),
        ("x = = 1\n", "a.toml: "),
        ("variable = 1\n", "a.toml: variable: expected list"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(IntentError, match=message):
        build([tmp_path / "a.toml"])


def test_the_files_hold_what_is_loaded() -> None:
    assert intent_from(build(rule_paths("intent", ROOT / "rules"))) == load_intent()


# As a user runs it

SEEDED = """
import torch
import torch.distributed as dist

def main():
    torch.manual_seed(3)
    dist.init_process_group("nccl")

main()
"""
SEEN = [
    ("NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0", "run-to-run"), ("NVTE_ALLOW_NONDETERMINISTIC_ALGO", "1", "hygiene"),
    ("TF_DETERMINISTIC_OPS", "true", "run-to-run"), ("TF_DETERMINISTIC_OPS", "false", "hygiene"),
    ("TF_CUDNN_DETERMINISTIC", "no", "hygiene"), ("XLA_FLAGS", f"{DETERMINISTIC}=true", "run-to-run"),
    ("XLA_FLAGS", "--xla_gpu_autotune_level=0", "hygiene"), ("CUBLAS_WORKSPACE_CONFIG", ":4096:8", "run-to-run"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "level"), SEEN)
def test_a_script_and_a_process_have_the_same_level(name: str, value: str, level: str, tree: Tree) -> None:
    script = f"export {name}={shlex.quote(value)}\ntorchrun --nproc_per_node=8 fit.py\n"
    root = tree({"run.sh": script, "fit.py": SEEDED})
    report = scan_json(root, "--select", "ED601", "--target", "cuda,torch-2.6,h100")
    assert [f["line"] for f in report["findings"]] == ([2] if level == "run-to-run" else [])
    assert all(f"at level {level}" in f["message"] for f in report["findings"])
    run = envdoctor("live", "--no-torch", "--format", "json", "--fail-on", "never", cwd=root, **{name: value})
    assert f'"level": "{level}"' in run.stdout, run.stderr
