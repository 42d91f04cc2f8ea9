"""Whole files. What a line states stands behind it: `#: set NAME=value`, `<kind>` for no literal, or `#: use NAME`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.source import Source
from envdoctor.readers import registry

FOLDER = Path(__file__).parent.parent / "fixtures" / "python"
FILES = sorted(FOLDER.glob("*.txt"))
MARK = "#: "
KINDS = ("set ", "unset ", "default ", "append ", "pass ", "use ")


def read(name: str) -> FileFacts:
    return registry.read(Source(name, (FOLDER / name).read_text(encoding="utf-8")), "python")


def short(setting: Setting) -> str:
    value = setting.value.text if setting.value.kind == "literal" else f"<{setting.value.kind}>"
    return f"{setting.op} {setting.name}={value}"


def expected(text: str) -> dict[int, list[str]]:
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.partition(MARK)[2]
        if said.startswith(KINDS):
            found[number] = said.split(" | ")
    return found


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    facts = read(path.name)
    found = defaultdict(list)
    for setting in facts.settings:
        found[setting.place.line].append(short(setting))
    for use in facts.uses:
        found[use.place.line].append(f"use {use.name}")
    in_header = {"submit.txt": {9: ["set NCCL_IB_TIMEOUT=22"]}}  # inside a string no comment can stand
    assert found == {**expected(text), **in_header.get(path.name, {})}
    assert not facts.problems


def test_order_and_conditions_of_an_entry() -> None:
    facts = read("train_entry.txt")
    by_name = {setting.name: setting for setting in facts.settings}
    first_communicator = next(c.order for c in facts.calls if c.name == "torch.distributed.init_process_group")
    torch_import = next(i.order for i in facts.inclusions if i.target == "torch")
    assert by_name["NCCL_ALGO"].order < torch_import < by_name["NCCL_DEBUG"].order < first_communicator
    assert by_name["NCCL_DEBUG"].scope.name == "main" and by_name["NCCL_DEBUG"].place.line < 25
    hip, cuda = by_name["HSA_FORCE_FINE_GRAIN_PCIE"].branch[0], by_name["NCCL_NVLS_ENABLE"].branch[0]
    assert hip.id == cuda.id and (hip.condition, cuda.condition) == ("torch.version.hip", "not (torch.version.hip)")


def test_calls_of_an_entry() -> None:
    names = [call.name for call in read("train_entry.txt").calls]
    wanted = [
        ".seeding.seed_everything",
        "torch.distributed.init_process_group",
        "torch.nn.parallel.DistributedDataParallel",
        ".data.loader",
        ".main",
    ]
    assert [name for name in names if name in wanted] == wanted
    assert any(name.endswith(".backward") for name in names)


def test_channels_and_launches_of_workers() -> None:
    facts = read("workers.txt")
    by_name = {setting.name: setting.channel for setting in facts.settings}
    assert by_name["NCCL_DEBUG"] == by_name["NCCL_CUMEM_ENABLE"] == "runtime-env"
    assert by_name["LOCAL_RANK"] == by_name["NCCL_ASYNC_ERROR_HANDLING"] == "child-environment"
    assert {"ssh", "mpirun"} <= {launch.launcher for launch in facts.launches}


def test_everything_a_test_sets_is_guarded() -> None:
    assert all(setting.guarded for setting in read("hooks.txt").settings)
