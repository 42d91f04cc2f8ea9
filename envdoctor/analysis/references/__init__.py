"""Which file names, sources, starts, imports or copies which other one."""
