"""Write a recorded tree of a node that was examined: only what the probes read, in the layout of the recorded nodes.

`root/` holds the files, `commands/` what helpers printed, `links.tsv` the links, `recorded.json` what is told of
libraries, `node.toml` the short form. Names of hosts and users, serial numbers and addresses are replaced, and of the
environment only known variables and those that probes use are kept.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from envdoctor.core.credentials import MASKED, is_credential
from envdoctor.core.records import replace
from envdoctor.node.probes.children import canonical
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.host import acs, kernel_log
from envdoctor.node.probes.node import GPU_LIBRARY
from envdoctor.node.probes.process import PATH_VARIABLES, in_families, parse_environ
from envdoctor.node.probes.report import Node
from envdoctor.node.probes.runner import CommandResult
from envdoctor.node.recording.recorded import FILE, library_json
from envdoctor.node.recording.redact import USER, Redactor, own_names

USED = {"PATH", "HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", *PATH_VARIABLES}
"""Variables that probes use, beside the known ones."""
BOOT_WORDS = ("iommu", "amd_iommu", "intel_iommu", "numa_balancing", "pci", "nomodeset", "amdgpu", "nvidia")
GROUPS = ("root", "video", "render")
MOUNTS = ("/", "/dev/shm")
STATUS = ("Uid", "Gid", "Groups", "Cpus_allowed_list", "Mems_allowed_list")

Trim = Callable[[str], str]


def record(
    node: Node, ran: Iterable[CommandResult], folder: Path, *, process_id: str = "self",
    known: Callable[[str], bool] = in_families, redactor: Redactor | None = None,
) -> None:  # fmt: skip
    """Write the recorded tree of an examined node, whose files must have been kept (`NodeFiles(keep=True)`).

    Raises OSError where `folder` cannot be written.
    """
    redact = redactor or Redactor(*own_names())
    files = node.files
    if files is None or not files.keep:
        raise ValueError("the node was examined without keeping its files")
    tree = RecordedTree(folder / "root", redact, f"/proc/{process_id}/", trims(known, user_number(files, process_id)))
    tree.folder.mkdir(parents=True, exist_ok=True)
    tree.write_files(files)
    write_links(folder, tree, files)
    write_commands(folder / "commands", ran, redact)
    write_recorded(folder / FILE, node, redact)
    write_text(folder / "node.toml", redact.text(toml_of(node.as_json())))


def trims(known: Callable[[str], bool], uid: str) -> dict[str, Trim]:
    """End of a path -> what of that file is kept, for files that tell more than probes read."""
    return {
        "/self/environ": lambda text: kept_environment(text, known),
        "/self/maps": lambda text: kept_lines(text, lambda line: bool(GPU_LIBRARY.search(line.strip()))),
        "/self/mounts": lambda text: kept_lines(text, is_wanted_mount, anonymous_mount),
        "/self/status": lambda text: kept_lines(text, lambda line: line.partition(":")[0] in STATUS),
        "/proc/cmdline": lambda text: " ".join(w for w in text.split() if w.startswith(BOOT_WORDS)) + "\n",
        "/etc/group": lambda text: kept_lines(text, lambda line: line.partition(":")[0] in GROUPS, without_members),
        "/etc/passwd": lambda text: kept_lines(text, lambda line: line.split(":")[2:3] == [uid], anonymous_user),
    }


def kept_environment(text: str, known: Callable[[str], bool]) -> str:
    """Known variables and those that probes use; what looks like a credential is masked."""
    kept = {n: v for n, v in parse_environ(text).items() if known(n) or n in USED}
    return "".join(f"{name}={MASKED if is_credential(name, value) else value}\0" for name, value in kept.items())


def kept_lines(text: str, wanted: Callable[[str], bool], change: Trim = str) -> str:
    """The lines that are wanted."""
    return "".join(change(line) + "\n" for line in text.splitlines() if wanted(line))


def is_wanted_mount(line: str) -> bool:
    """Whether a probe looks at a mount."""
    return any(point in MOUNTS for point in line.split()[1:2])


def anonymous_mount(line: str) -> str:
    """A mount without the name of its device or server, and without the layers of an overlay."""
    fields = line.split()
    fields[0] = re.sub(r".*[:/].*", "device", fields[0])
    fields[3] = ",".join(option for option in fields[3].split(",") if "dir=" not in option and "addr=" not in option)
    return " ".join(fields)


def anonymous_user(line: str) -> str:
    """The user's line of /etc/passwd, with the home folder alone."""
    fields = line.split(":")
    return f"{USER}:x:{fields[2]}:{fields[3]}::{fields[5]}:/bin/sh" if len(fields) > 5 else ""


def user_number(files: NodeFiles, process_id: str) -> str:
    """Number of the user that the examined process belongs to."""
    status = files.contents.get(f"/proc/{process_id}/status", b"").decode("utf-8", "replace")
    match = re.search(r"^Uid:\s+([0-9]+)", status, re.MULTILINE)
    return match[1] if match else ""


def without_members(line: str) -> str:
    """A line of /etc/group without the names of its members."""
    return ":".join([*line.split(":")[:3], ""])


class RecordedTree:
    """The `root/` folder of a recording."""

    def __init__(self, folder: Path, redact: Redactor, proc: str, trims: Mapping[str, Trim]) -> None:
        self.folder = folder
        self.redact = redact
        self.proc = proc
        self.trims = trims

    def name(self, path: str) -> str:
        """A path of the node as the recording names it."""
        own = path.replace(self.proc, "/proc/self/", 1) if path.startswith(self.proc) else path
        return self.redact.text(own)

    def place(self, path: str) -> Path:
        """Where it lies in the recording."""
        return self.folder / self.name(path).lstrip("/")

    def write_files(self, files: NodeFiles) -> None:
        """Every file, folder and placeholder that the log names; folders first."""
        for path, touch in sorted(files.touched.items(), key=lambda item: item[1] != "folder"):
            place = self.place(path)
            if touch == "folder":
                place.mkdir(parents=True, exist_ok=True)
            elif touch in ("file", "bytes", "exists") and not place.is_dir():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(self.content(path, touch, files.contents.get(path, b"")))

    def content(self, path: str, touch: str, data: bytes) -> bytes:
        """What the recording keeps of a file."""
        if touch == "bytes":
            return acs.kept(data)
        text = data.decode("utf-8", "replace")
        name = self.name(path)
        for end, trim in self.trims.items():
            if name.endswith(end):
                text = trim(text)
        redacted = self.redact.text(text)
        return (self.redact.addresses(redacted) if name.endswith("/environ") else redacted).encode()


def write_links(folder: Path, tree: RecordedTree, files: NodeFiles) -> None:
    """Every link that was followed, as a link and in `links.tsv`; targets are made relative."""
    rows = []
    for path, target in sorted(files.links.items()):
        if target is None:
            continue
        absolute = target if target.startswith("/") else os.path.normpath(f"{os.path.dirname(path)}/{target}")  # noqa: PTH120
        name, relative = tree.name(path), os.path.relpath(tree.name(absolute), os.path.dirname(tree.name(path)))  # noqa: PTH120
        rows.append(f"{name}\t{relative}\n")
        place = tree.place(path)
        if not place.exists() and not place.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(relative)
    heading = "# path<TAB>link target: every symbolic link of root/, to restore them where a copy lost them\n"
    write_text(folder / "links.tsv", heading + "".join(rows))


def write_commands(folder: Path, ran: Iterable[CommandResult], redact: Redactor) -> None:
    """What each helper printed, and the index of them."""
    folder.mkdir(parents=True, exist_ok=True)
    index = ["# One [[command]] per recorded call: argv as typed, file with its standard output, exit status.\n"]
    for number, result in enumerate(ran):
        words = [redact.text(word) for word in canonical(result.argv)]
        if result.argv == kernel_log.COMMAND:  # it tells far more than probes read
            result = replace(result, stdout=kernel_log.kept(result.stdout))
        name = f"{number:02d}_{re.sub(r'[^a-z0-9]+', '_', ' '.join(words).lower())[:40].strip('_')}.out"
        write_text(folder / name, redact.text(result.stdout))
        entry = {"argv": words, "file": name, "rc": result.rc}
        if result.stderr:
            write_text(folder / f"{name}.stderr", redact.text(result.stderr))
            entry["stderr"] = f"{name}.stderr"
        flags = {key: True for key in ("timed_out", "truncated") if getattr(result, key)}
        index.append("\n[[command]]\n" + toml_lines({**entry, **flags}))
    write_text(folder / "index.toml", "".join(index))


def write_recorded(path: Path, node: Node, redact: Redactor) -> None:
    """Facts of libraries, and the folders that were looked at."""
    libraries = {redact.text(name): library_json(library) for name, library in node.libraries.items()}
    data = {"libraries": libraries, "site_packages": [redact.text(folder) for folder in node.site_packages]}
    write_text(path, json.dumps(data, indent=1) + "\n")


def toml_of(sheet: Mapping[str, Any]) -> str:
    """The short form of a node as TOML: values first, then one table a part."""
    values = {key: value for key, value in sheet.items() if not isinstance(value, Mapping)}
    tables = [f"[{key}]\n{toml_lines(value)}" for key, value in sheet.items() if isinstance(value, Mapping)]
    return toml_lines(values) + "".join(tables)


def toml_lines(values: Mapping[str, Any]) -> str:
    """`key = value` lines; strings, numbers, truth values and lists are written in TOML as in JSON."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def write_text(path: Path, text: str) -> None:
    """Write a file of the recording."""
    path.write_text(text, encoding="utf-8")
