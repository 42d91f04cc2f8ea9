"""`python -m envdoctor`."""

import os
import sys

if __name__ == "__main__":
    # With -m Python looks for modules in the current folder first, and that is often the one that is scanned: a
    # `yaml.py` there would run. What a scan looks at is never imported (design section 6).
    if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 (pathlib could be one of those modules)
        del sys.path[0]

    from envdoctor.cli import main

    sys.exit(main())
