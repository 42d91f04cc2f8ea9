import os

import torch
import torch.distributed as dist

os.environ["NCCL_PROTO"] = "ring"

dist.init_process_group("nccl")
torch.manual_seed(0)
