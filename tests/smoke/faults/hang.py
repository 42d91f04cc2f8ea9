"""Rank 1 never comes to the second case, and does not listen to SIGTERM."""

import signal
import time

import torch.distributed as dist


def all_reduce(tensor, context):
    if context["rank"] == 1 and "bf16" in context["case"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    dist.all_reduce(tensor)
