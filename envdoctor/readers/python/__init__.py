"""Python programs."""
