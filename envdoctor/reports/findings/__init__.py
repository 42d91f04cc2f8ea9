"""One module a format of findings."""
