"""What a level of determinism asks for and is not there."""
