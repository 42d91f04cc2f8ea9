"""Which install a folder stands for."""

from __future__ import annotations

from envdoctor.node.probes.files import NodeFiles

LIBRARIES = ("lib", "lib64")


def home_of(files: NodeFiles, path: str) -> str:
    """The install that a folder stands for, links followed.

    The Core SDK leaves links in /opt/rocm (lib, bin, include) that lead into /opt/rocm/core-X.Y: such a folder is no
    install, and whoever names it means the one behind the links.
    """
    root = files.resolve(path)
    behind = files.resolve(f"{root}/lib")
    folder, _, last = behind.rpartition("/")
    return folder if last in LIBRARIES and folder and files.is_folder(behind) else root
