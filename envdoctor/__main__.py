"""`python -m envdoctor`."""

import sys

if __name__ == "__main__":
    # First of all: even `__future__` and `argparse` could be files of the current folder.
    from envdoctor.cli.isolation import leave_out_current_folder

    leave_out_current_folder()

    from envdoctor.cli.main import main

    sys.exit(main())
