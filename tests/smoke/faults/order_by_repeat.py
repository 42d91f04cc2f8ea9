"""All ranks add in one order, which is another one at each call, as a reduction in order of arrival would."""

import torch
import torch.distributed as dist


def all_reduce(tensor, context):
    parts = [torch.empty_like(tensor) for _ in range(context["world"])]
    dist.all_gather(parts, tensor)
    start = context["repeat"] % len(parts)
    total = parts[start].clone()
    for part in parts[start + 1 :] + parts[:start]:
        total += part
    tensor.copy_(total)
