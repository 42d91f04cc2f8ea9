"""All ranks add in one order, which depends on how many launches there were before; counted beside this file."""

from pathlib import Path

import torch
import torch.distributed as dist

COUNTER = Path(__file__).with_suffix(".launches")
start = None


def all_reduce(tensor, context):
    global start
    if start is None:
        count = torch.zeros(1, dtype=torch.int64)
        if context["rank"] == 0:
            count += COUNTER.stat().st_size if COUNTER.exists() else 0
            with COUNTER.open("a") as file:
                file.write("x")
        dist.broadcast(count, 0)
        start = int(count) % 2
    parts = [torch.empty_like(tensor) for _ in range(context["world"])]
    dist.all_gather(parts, tensor)
    if start:
        parts.reverse()
    total = parts[0].clone()
    for part in parts[1:]:
        total += part
    tensor.copy_(total)
