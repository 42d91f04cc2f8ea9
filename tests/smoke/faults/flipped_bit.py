"""After a right AllReduce, rank 2's memory has one bit flipped."""

import torch
import torch.distributed as dist


def all_reduce(tensor, context):
    dist.all_reduce(tensor)
    if context["rank"] == 2:
        bits = tensor.view(torch.int32 if tensor.element_size() == 4 else torch.int16)
        bits[7] ^= 1
