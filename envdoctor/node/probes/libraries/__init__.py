"""Shared libraries: where they lie, which release they are, what they ask for."""
