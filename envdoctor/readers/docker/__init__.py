"""Dockerfiles and Containerfiles."""
