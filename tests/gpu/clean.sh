#!/bin/bash
export NCCL_ALGO=Ring
export NCCL_PROTO=Simple
torchrun --nproc_per_node=2 tests/gpu/allreduce.py
