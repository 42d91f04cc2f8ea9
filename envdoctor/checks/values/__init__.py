"""Values that a variable does not take."""
