"""JSON, with comments or without."""
