"""Makefiles and justfiles."""
