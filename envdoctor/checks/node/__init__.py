"""What the facts of a node say together."""
