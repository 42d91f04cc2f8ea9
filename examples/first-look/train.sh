#!/bin/bash
# A launch script as they circulate: three of these settings do something, and not all of what was meant.
export CUBLAS_WORKSPACE_CONFIG=:4096:8
export NCCL_DETERMINISTIC=1
export RCCL_P2P_DISABLE=1
export NCCL_IB_TIMEOUT=1800
export NCCL_ASYNC_ERROR_HANDLING=1
export NCCL_ALGO=Ring

torchrun --nproc_per_node=8 train.py
