"""What the torch of a Python says of itself, asked in a process of its own."""
