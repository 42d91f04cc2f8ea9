"""What `ncclGetVersion` of a library answers: the truth that reading the file is compared with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ASK = """
import ctypes, sys
code = ctypes.c_int(-1)
status = ctypes.CDLL(sys.argv[1]).ncclGetVersion(ctypes.byref(code))
sys.exit(f"ncclGetVersion failed with status {status}") if status else print(code.value)
"""


def asked_version(path: Path) -> int:
    """The number, asked in a process of its own: the library is loaded, and so its code run."""
    run = subprocess.run([sys.executable, "-I", "-c", ASK, str(path)], capture_output=True, text=True, check=True)
    return int(run.stdout.split()[-1])
