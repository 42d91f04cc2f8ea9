"""What is scanned is never imported: modules do not come from the current folder, which is often what is scanned."""

import os
import sys


def leave_out_current_folder() -> None:
    """Take the current folder off the path of modules: `-m` puts it first, and an empty part of PYTHONPATH means it.

    Stays where envdoctor itself comes from there, as in a checkout of it.
    """
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109 (pathlib could be one of its modules)
    except OSError:  # the folder is gone
        here = ""
    ours = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))  # noqa: PTH118, PTH120
    if here != ours:
        sys.path[:] = [p for p in sys.path if os.path.isabs(p) and os.path.realpath(p) != here]  # noqa: PTH117
