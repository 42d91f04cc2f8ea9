"""Eight ranks on gloo that run the reference function of docs/ordered-reduction.md; prints digests as JSON.

usage: ordered_ranks.py DOCUMENT STORE
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import re
import sys
from multiprocessing.queues import Queue
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist

from envdoctor.node.smoke.rank.worker import Rank

SHARDS = 8
SIZE = 1003
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def reference(document: Path) -> Any:
    """The function as the document prints it."""
    code = re.search(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    space: dict[str, Any] = {}
    exec(compile(code[1], str(document), "exec"), space)
    return space["ordered_sum"]


def shard(index: int, kind: str) -> torch.Tensor:
    """Logical shard `index`: normal values over a wide range, another seed for each."""
    generator = torch.Generator().manual_seed(100 + index)
    values = torch.randn(17, SIZE // 17, generator=generator) * torch.exp(
        torch.randn(17, SIZE // 17, generator=generator)
    )
    return values.to(TYPES[kind])


def digest(tensor: torch.Tensor) -> str:
    """The bits of a tensor."""
    return hashlib.sha256(bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())).hexdigest()


def loop(kind: str, accumulate: torch.dtype) -> torch.Tensor:
    """The plain sum over all shards in order, on one process."""
    total = shard(0, kind).to(accumulate)
    for index in range(1, SHARDS):
        total = total + shard(index, kind).to(accumulate)
    return total.to(TYPES[kind])


def work(rank: int, document: str, store: str, results: Queue[Any]) -> None:
    """One rank: every number of ranks it takes part in, every type; the smoke test's order; and the library's sum."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=SHARDS)
    ordered_sum = reference(Path(document))
    for world in (1, 2, 4, 8):
        group = dist.new_group(list(range(world)))
        each = SHARDS // world
        if rank >= world:
            continue
        for kind in TYPES:
            parts = [shard(index, kind) for index in range(rank * each, (rank + 1) * each)]
            results.put((f"ordered {kind}", world, rank, digest(ordered_sum(parts, group))))
            local = parts[0].clone()
            for part in parts[1:]:
                local += part
            dist.all_reduce(local, group=group)
            results.put((f"library {kind}", world, rank, digest(local)))
    for kind in TYPES:
        mine = [shard(rank, kind)]
        same = ordered_sum(mine, accumulate=TYPES[kind])
        smoke = Rank.ordered(SimpleNamespace(world=SHARDS), mine)  # type: ignore[arg-type]
        results.put((f"smoke {kind}", SHARDS, rank, str(digest(same) == digest(smoke))))
    dist.barrier()
    results.put(None)
    dist.destroy_process_group()


def main() -> int:
    """Run the ranks and print what they found."""
    context = multiprocessing.get_context("fork")
    results: Queue[Any] = context.Queue()
    ranks = [context.Process(target=work, args=(rank, *sys.argv[1:3], results)) for rank in range(SHARDS)]
    for process in ranks:
        process.start()
    found, done = [], 0
    while done < SHARDS:
        item = results.get(timeout=100)
        done += item is None
        found += [item] if item is not None else []
    for process in ranks:
        process.join()
    loops = {kind: digest(loop(kind, torch.float32)) for kind in TYPES}
    print(json.dumps({"found": found, "loop": loops}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
