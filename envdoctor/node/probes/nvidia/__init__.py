"""NVIDIA devices and their driver."""
