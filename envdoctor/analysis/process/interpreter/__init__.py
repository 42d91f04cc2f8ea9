"""Runs scripts in the mind: what each process they start sees, and where each value came from."""
