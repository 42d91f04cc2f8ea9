"""One module a format of node reports."""
