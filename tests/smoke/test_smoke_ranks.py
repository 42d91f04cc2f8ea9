"""The ranks' own part: hash and data against a second implementation, and real launches on gloo."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest
import reference
from smoke_lab import SMALL, Lab, has_torch

import envdoctor.node.smoke.rank
from envdoctor.node.smoke.model import Case

RANK = Path(envdoctor.node.smoke.rank.__file__).parent
needs_torch = pytest.mark.skipif(not has_torch(), reason="torch is not installed for this interpreter")


@pytest.mark.parametrize("path", sorted(RANK.glob("*.py")), ids=lambda path: path.name)
def test_the_ranks_run_on_old_interpreters(path: Path) -> None:
    text = path.read_text()
    ast.parse(text, feature_version=(3, 8))
    assert "from __future__ import annotations" in text or path.name == "__init__.py"
    imported = {
        alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {node.module or "" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert not any(name.startswith("envdoctor") for name in imported)


def test_the_reference_has_the_bits_that_it_had() -> None:
    """A change of data or hash makes every kept golden file worthless: it needs a new version of the file."""
    assert reference.digest(b"", 0) == "0" * 32
    assert reference.digest(b"abc", 3) == reference.digest(b"abc\0", 3) != reference.digest(b"abc\0", 4)
    assert reference.digest(b"abcdefgh", 2) != reference.digest(b"efghabcd", 2)
    assert reference.digest(reference.wide("fp32", 1, 5), 5) == "f6a980239e4808e076180f904d293713"
    assert reference.whole(2, 8, 4) == [-5, -1, 3, 7, -2, -7, 6, 5]


@needs_torch
class TestAgainstReference:
    @pytest.fixture(autouse=True)
    def modules(self) -> None:
        import torch

        self.torch = torch
        self.hashing = importlib.import_module("envdoctor.node.smoke.rank.hashing")
        self.inputs = importlib.import_module("envdoctor.node.smoke.rank.inputs")
        self.cpu = torch.device("cpu")

    @pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
    @pytest.mark.parametrize("count", [1, 2, 3, 1001])
    @pytest.mark.parametrize("seed", [1, 7])
    def test_data_and_hash(self, dtype: str, count: int, seed: int) -> None:
        tensor = self.inputs.wide(dtype, seed, count, self.cpu)
        data = bytes(tensor.view(self.torch.uint8).tolist())
        assert data == reference.wide(dtype, seed, count)
        assert self.hashing.digest(tensor) == reference.digest(data, count)
        assert self.torch.isfinite(tensor).all()

    @pytest.mark.parametrize("addends", [1, 4, 64, 256])
    def test_whole_numbers_are_exact_in_every_type(self, addends: int) -> None:
        parts = [reference.whole(source + 1, 50, addends) for source in range(addends)]
        total = [sum(column) for column in zip(*parts, strict=True)]
        assert max(abs(value) for value in total) <= 256
        for dtype in ("fp32", "bf16", "fp16"):
            assert self.inputs.exact_sum(dtype, 50, addends, self.cpu).tolist() == total

    def test_chunks_do_not_show(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tensor = self.inputs.wide("fp32", 3, 1000, self.cpu)
        whole = self.hashing.digest(tensor)
        monkeypatch.setattr(self.hashing, "CHUNK", 64)
        assert self.hashing.digest(tensor) == whole

    @pytest.mark.parametrize("place", [0, 499, 999])
    @pytest.mark.parametrize("bit", [0, 15, 31])
    def test_one_flipped_bit_shows(self, place: int, bit: int) -> None:
        tensor = self.inputs.wide("fp32", 3, 1000, self.cpu)
        before = self.hashing.digest(tensor)
        tensor.view(self.torch.int32)[place] ^= -(1 << 31) if bit == 31 else 1 << bit
        after = self.hashing.digest(tensor)
        assert before[:16] != after[:16] and before[16:] != after[16:]

    def test_moved_and_negated_values_show(self) -> None:
        tensor = self.inputs.wide("fp32", 3, 1000, self.cpu)
        seen = {
            self.hashing.digest(changed) for changed in (tensor, tensor.flip(0), -tensor, tensor.roll(1), tensor[1:])
        }
        assert len(seen) == 5

    def test_sha256_is_that_of_the_bytes(self) -> None:
        import hashlib

        tensor = self.inputs.wide("bf16", 3, 33, self.cpu)
        assert self.hashing.sha256(tensor) == hashlib.sha256(reference.wide("bf16", 3, 33)).hexdigest()


def test_a_launch_without_a_fault(lab: Lab) -> None:
    result = lab.run()
    assert (result.status, result.reason) == ("ok", "")
    assert [rank.rank for rank in result.ranks] == [0, 1, 2, 3]
    for case in SMALL:
        assert len(result.agreed(case.id) or "") == 32
        assert [len(rank.hashes[case.id]) for rank in result.ranks] == [case.repeats] * 4
    assert all(rank.wrong == {case.id: 0 for case in SMALL} for rank in result.ranks)


def test_ordered_sum_is_the_sum_in_rank_order(lab: Lab) -> None:
    case = Case("wide", "fp32", 301, "ordered")
    expected = reference.summed([reference.wide("fp32", rank + 1, 301) for rank in range(4)])
    assert lab.run((case,)).agreed(case.id) == reference.digest(expected, 301)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_ordered_sum_does_not_depend_on_the_number_of_ranks(lab: Lab, world: int) -> None:
    ordered, plain = (Case("wide", "fp32", 301, mode, shards=4) for mode in ("ordered", "plain"))
    result = lab.run((ordered, plain), ranks=world)
    parts = [reference.wide("fp32", part + 1, 301) for part in range(4)]
    assert len(result.ranks) == world
    assert result.agreed(ordered.id) == reference.digest(reference.summed(parts), 301)
    if world == 1:
        assert result.agreed(plain.id) == result.agreed(ordered.id)


def test_pairs_add_by_pairs(lab: Lab) -> None:
    case = Case("wide", "fp32", 301)
    parts = [reference.wide("fp32", rank + 1, 301) for rank in range(4)]
    expected = reference.summed([reference.summed(parts[:2]), reference.summed(parts[2:])])
    assert lab.run((case,), reduction="pairs").agreed(case.id) == reference.digest(expected, 301)


def test_modes_add_the_same_numbers(lab: Lab) -> None:
    cases = tuple(Case("integer", "fp32", 1001, mode) for mode in ("plain", "overlap", "halves", "ordered"))
    result = lab.run(cases)
    assert len({result.agreed(case.id) for case in cases}) == 1
    assert not any(count for rank in result.ranks for count in rank.wrong.values())


def test_an_order_moves_the_parts(lab: Lab) -> None:
    straight, swapped = Case("wide", "fp32", 301, "ordered"), Case("wide", "fp32", 301, "ordered", order=(0, 2, 1, 3))
    parts = [reference.wide("fp32", part + 1, 301) for part in (0, 2, 1, 3)]
    result = lab.run((straight, swapped))
    assert result.agreed(swapped.id) == reference.digest(reference.summed(parts), 301) != result.agreed(straight.id)


def test_environment_and_late_writes_reach_the_ranks(lab: Lab, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "import os, torch.distributed as dist\n"
        "def all_reduce(tensor, context):\n"
        "    dist.all_reduce(tensor)\n"
        "    got = [os.environ.get(n) for n in ('NCCL_A', 'NCCL_LATE', 'HOME_X', 'LOCAL_RANK')]\n"
        f"    open({str(tmp_path)!r} + f'/{{context[\"rank\"]}}', 'w').write(repr(got))\n"
    )
    result = lab.run(SMALL[:1], hook, changes=(("NCCL_A", "1"), ("HOME_X", None)), late=(("NCCL_LATE", "2"),))
    assert result.status == "ok"
    for rank in range(4):
        assert (tmp_path / str(rank)).read_text() == f"['1', '2', None, '{rank}']"


def test_only_children_import_torch() -> None:
    code = (
        "import sys, envdoctor.node.smoke.run.session, envdoctor.node.smoke.__main__; sys.exit('torch' in sys.modules)"
    )
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
