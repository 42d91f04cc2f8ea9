"""Rank 2 is killed in the middle of the second case."""

import os
import signal

import torch.distributed as dist


def all_reduce(tensor, context):
    if context["rank"] == 2 and "bf16" in context["case"]:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(tensor)
