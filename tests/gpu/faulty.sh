#!/bin/bash
# A launch with one fault of each kind that the smoke test can tell.
export NCCL_DETERMINISTIC=1
export RCCL_ALGO=Tree
export NCCL_P2P_DISABLE=0
torchrun --nproc_per_node=2 tests/gpu/allreduce.py
