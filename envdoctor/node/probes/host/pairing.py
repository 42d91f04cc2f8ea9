"""Which ROCm user space AMD pairs with which kernel driver.

The driver tells its module version (6.8.5); AMD's tables speak of driver lines, which up to 6.4 carry the number of
the ROCm release they came with and from 30.10 (ROCm 7.0) a number of their own.
"""

from __future__ import annotations

import re

MODULE_TO_LINE = {
    # From the version of the package amdgpu-dkms, <module version>.<release> as reported by users' package managers:
    # 6.2.4.50702, 6.3.6.60002, 6.7.0.60102, 6.8.5.60200 (ROCm/rocm-install-on-linux#293), 6.10.5.60303,
    # 6.12.12.60404, 6.14.14.30100100, 6.16.6.30200100, 6.16.13.30300400. A module version that is not here is not
    # known to belong to a line, and nothing is said of it.
    # Earlier ones: 5.18.2.22.40.50300, 5.18.13 (ROCm/amdgpu#148), 6.0.5.50500, 6.1.5.50600; of the lines from 31.40 on
    # 6.19.14 is told to be 31.40 (ROCm/gpu-operator#610).
    "5.18.2": "5.3", "5.18.13": "5.4", "6.0.5": "5.5", "6.1.5": "5.6",
    "6.19.14": "31.40",
    "6.2.4": "5.7", "6.3.6": "6.0", "6.7.0": "6.1", "6.8.5": "6.2", "6.10.5": "6.3", "6.12.12": "6.4",
    "6.14.14": "30.10", "6.16.6": "30.20", "6.16.13": "30.30",
}  # fmt: skip

SUPPORTED = {
    # instinct.docs.amd.com/projects/amdgpu-docs/en/latest/compatibility/compatibility-matrix.html ("supported at the
    # time of publication"; the previews 7.10 to 7.13 are not listed there).
    "31.50": ("7.0", "7.1", "7.2", "7.14", "10.0.0"),
    "31.40": ("7.0", "7.1", "7.2", "7.14", "10.0.0"),
    "30.30": ("6.3", "6.4", "7.0", "7.1", "7.2", "7.14", "10.0.0"),
    "30.20": ("6.3", "6.4", "7.0", "7.1", "7.2", "7.14", "10.0.0"),
    "30.10": ("6.2", "6.3", "6.4", "7.0", "7.1", "7.2", "7.14", "10.0.0"),
    "6.4": ("6.1", "6.2", "6.3", "6.4", "7.0", "7.1", "7.2"),
    "6.3": ("6.1", "6.2", "6.3", "6.4", "7.0"),
    "6.2": ("6.0", "6.1", "6.2", "6.3", "6.4", "7.0"),
    "6.1": ("5.7", "6.0", "6.1", "6.2", "6.3", "6.4"),
    "6.0": ("5.6", "5.7", "6.0", "6.1", "6.2"),
    "5.7": ("5.5", "5.6", "5.7", "6.0", "6.1"),
    "5.6": ("5.4", "5.5", "5.6", "5.7", "6.0"),
    "5.5": ("5.3", "5.4", "5.5", "5.6", "5.7"),
    "5.4": ("5.2", "5.3", "5.4", "5.5", "5.6"),
    "5.3": ("5.1", "5.2", "5.3", "5.4", "5.5"),
}

RELEASES = ("5.0", "5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "6.0", "6.1", "6.2", "6.3", "6.4", "7.0", "7.1",
            "7.2")  # fmt: skip
"""ROCm releases in order, as far as "so many releases apart" has a meaning (the previews that follow overlap)."""
LINE_TO_RELEASE = {"30.10": "7.0", "30.20": "7.1", "30.30": "7.2"}
"""Driver lines with a number of their own -> the ROCm release they came out with (7.1.1 with 6.16.6:
ROCm/legacy-rocm-build#5624; 7.2.1 with 30.30.1: both packages of one install)."""


def driver_line(module_version: str) -> str:
    """The driver line of a module version, "" where it is not known."""
    match = re.match(r"[0-9]+\.[0-9]+\.[0-9]+", module_version)
    return MODULE_TO_LINE.get(match[0], "") if match else ""


def release(version: str) -> str:
    """The release X.Y of a ROCm or HIP version; "" where there is none."""
    match = re.match(r"([0-9]+)\.([0-9]+)", version)
    return f"{match[1]}.{match[2]}" if match else ""


def distance(line: str, rocm: str) -> int | None:
    """How many releases the user space `rocm` is newer than the driver line; None where that cannot be told."""
    of_driver, of_user = LINE_TO_RELEASE.get(line, line), release(rocm)
    if of_driver not in RELEASES or of_user not in RELEASES:
        return None
    return RELEASES.index(of_user) - RELEASES.index(of_driver)
