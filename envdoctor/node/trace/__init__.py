"""Which variables a running program asks for: a small C shim, and the reader of what it recorded.

`shim.c` is preloaded into the program and its children; `build` finds or compiles it; `records` is the file they
write; `launch` runs the command; `merge` turns records into settings; `limits` says what was not seen; `report`
prints it.
"""
