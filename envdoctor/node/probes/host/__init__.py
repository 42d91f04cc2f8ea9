"""The machine around the devices: CPUs, memory, links, rights."""
