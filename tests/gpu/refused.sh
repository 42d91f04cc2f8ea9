#!/bin/bash
export NCCL_ALGO=Rign
torchrun --nproc_per_node=2 tests/gpu/allreduce.py
