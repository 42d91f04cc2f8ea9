"""Rank 0 meets an error of a kind that nobody thought of."""

import torch.distributed as dist


def all_reduce(tensor, context):
    if context["rank"] == 0:
        raise KeyError("nobody thought of this")
    dist.all_reduce(tensor)
