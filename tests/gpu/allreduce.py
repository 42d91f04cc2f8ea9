"""One AllReduce over NCCL, with a setting written after the library has read it."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
data = torch.ones(1 << 18, device="cuda")
dist.all_reduce(data)
torch.cuda.synchronize()
os.environ["NCCL_BUFFSIZE"] = "1048576"
dist.all_reduce(data)
torch.cuda.synchronize()
if dist.get_rank() == 0:
    print("sum", data[0].item(), "of", dist.get_world_size(), "ranks")
dist.destroy_process_group()
