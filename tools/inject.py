"""Plant known faults, one at a time, into copies of real projects, and count which of them the scan tells.

    python tools/inject.py FOLDER --seed 1 [--kinds unexported:80,sudo*] [--number 80] [--json FILE]
    python tools/inject.py FOLDER --again FILE

FOLDER holds checkouts named `owner+name`, or is one project. A fault is planted where it really is one, into a copy in
which nothing else changes; where the script exports nothing of its own that ranks read, the copy gets an export first,
and that copy without the fault is what is compared with. A fault counts as found where the scan newly has a warning or
an error of the expected rule that names the variable, at the setting or the launch. Places are drawn by seed, one of
each repository in turn; `--again` tries the same plantings once more, whatever has become of the kinds.
`tools/inject/kinds.py` holds the kinds, `tools/inject/shapes.py` the shapes of a launch.
"""

from __future__ import annotations

import sys

from inject.command import main

if __name__ == "__main__":
    sys.exit(main())
