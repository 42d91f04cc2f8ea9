"""What a Python program does, in the order in which it runs."""
