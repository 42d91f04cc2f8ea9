"""Rank 3 hangs in native code that holds the interpreter's lock, with SIGTERM blocked."""

import ctypes
import signal

import torch.distributed as dist


def all_reduce(tensor, context):
    if context["rank"] == 3:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
        ctypes.PyDLL(None).pause()
    dist.all_reduce(tensor)
