"""What the names and literals of a Python file mean."""
