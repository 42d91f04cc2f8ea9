"""What the facts of many files say together."""
