"""Edits of Python programs, by what libcst says of them."""
