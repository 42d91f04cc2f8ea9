"""How a Python program reads and writes its environment and that of what it starts."""
