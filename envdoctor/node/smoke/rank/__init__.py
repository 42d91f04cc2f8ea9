"""What runs in the user's interpreter: the fork server and one process a rank. Standard library and torch only.

This package is started by its path, with whichever Python the user's torch lives in, so it imports nothing of the
rest of envdoctor and keeps to what Python 3.8 can run.
"""
