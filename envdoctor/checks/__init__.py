"""What rules look for. A check is pure: facts, catalogue and target in, findings out; it does no I/O."""
