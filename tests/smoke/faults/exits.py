"""Rank 0 leaves without a word."""

import os

import torch.distributed as dist


def all_reduce(tensor, context):
    if context["rank"] == 0:
        os._exit(3)
    dist.all_reduce(tensor)
