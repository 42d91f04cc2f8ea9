"""Where ROCm lies: what belongs to which install, and how an install writes its version.

Layouts: one folder an install below /opt (`rocm-6.2.0`); the Core SDK from 7.13 on, `/opt/rocm/core-X.Y` with links in
/opt/rocm where the package `amdrocm` makes them (rocm.docs.amd.com, about/transition-guide-TheRock); TheRock's
tarballs, anywhere; and the packages of Fedora, Debian and Ubuntu, whose libraries lie in /usr among all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.core.versions import is_pre_release, release

SYSTEM = "/usr"
"""The root of an install that a distribution packages."""

_IN_SYSTEM = re.compile(r"/(?:usr/)?lib(?:64)?/(?:[\w.]+-linux-gnu/)?(?:rocm/(?:[\w./-]*/)?|llvm[\w./-]*/)?[^/]+$")
"""Libraries in the folders of the distribution itself: no `python3/dist-packages`, no `/usr/local`."""
_VERSION = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+(?:\.[0-9]+)?)((?:a|b|rc|\.?dev)[0-9]*)?(?:[+~]([\w.]+))?(?:-(\S+))?$")


def belongs(path: str, root: str) -> bool:
    """Whether a path is the root of an install or lies in it, another install inside that root left aside."""
    if root == SYSTEM:
        return path == root or _IN_SYSTEM.match(path) is not None
    return path == root or path.startswith(f"{root}/")


def root_of(path: str, roots: Iterable[str]) -> str:
    """The install that a path belongs to: the longest root that fits, "" for none. /opt/rocm may hold a ROCm of its
    own and others in /opt/rocm/core-X.Y."""
    return max((root for root in roots if belongs(path, root)), key=len, default="")


def parse_version(text: str) -> tuple[str, str] | None:
    """(version, build) of a `.info/version` file: ("6.2.0", "66") of 6.2.0-66; None for anything else.

    Nightly and candidate builds of TheRock keep their mark: 7.14.0a20260612, 7.10.0rc1.
    """
    match = _VERSION.match(text.strip())
    return (match[1] + (match[2] or ""), match[4] or match[3] or "") if match else None


def sort_key(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Order of versions: a candidate comes before the release that it leads to."""
    return release(version), not is_pre_release(version), version


def version_of_names(names: Iterable[str]) -> str:
    """The release that the names of libraries tell, "" where none does.

    librocm-core.so.1.0.60304 counts the release as MMmmpp (ROCm/rocm-systems:projects/rocm-core); AMD's libamdhip64
    ends in X.Y.MMmmpp; that of distributions in the build number of HIP, which has X and Y in common with ROCm.
    """
    found = ""
    for name in names:
        if match := re.match(r"librocm-core\.so\.[0-9]+\.[0-9]+\.([0-9]{1,2})([0-9]{2})([0-9]{2})$", name):
            return ".".join(str(int(part)) for part in match.groups())
        if match := re.match(r"libamdhip64\.so\.([0-9]{1,2})\.([0-9]{1,2})\.([0-9]+)", name):
            whole = f"{match[1]}{int(match[2]):02}"
            patch = match[3][len(whole) :] if match[3].startswith(whole) and len(match[3]) == len(whole) + 2 else ""
            found = f"{match[1]}.{match[2]}" + (f".{int(patch)}" if patch else "")
    return found
