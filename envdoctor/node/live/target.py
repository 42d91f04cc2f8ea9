"""The target of a live examination: what is really loaded on the node, and nothing inferred."""

from __future__ import annotations

import re

from envdoctor.core.target import Platform, Target
from envdoctor.core.versions import release
from envdoctor.node.probes.libraries.library import LibraryFile, version_of_code
from envdoctor.node.probes.report import Node, install_of

PLATFORMS: dict[str, Platform] = {"amd": "rocm", "nvidia": "cuda"}


def library_in_use(node: Node) -> LibraryFile | None:
    """The collectives library whose functions are called: the one torch uses, else the only one there is."""
    ccl = node.ccl
    if ccl is None:
        return None
    path = ccl.used_by_torch or only(ccl.loaded) or (only(ccl.installed) if not ccl.loaded else "")
    return node.libraries.get(path)


def only(paths: list[str]) -> str:
    """The one path, or "" where there are several or none."""
    return paths[0] if len(paths) == 1 else ""


def platform_of(node: Node) -> Platform | None:
    """The platform: that of the GPUs or their driver, else of torch, else of the collectives library."""
    if node.vendor in PLATFORMS:
        return PLATFORMS[node.vendor]
    if node.torch and (node.torch.hip or node.torch.cuda):
        return "rocm" if node.torch.hip else "cuda"
    return {"rccl": "rocm", "nccl": "cuda"}.get(node.ccl.kind if node.ccl else "")  # type: ignore[return-value]


def rocm_release(node: Node) -> str:
    """The ROCm that the loaded librccl is of, else torch's, else that of the default install; "" for none."""
    library = library_in_use(node)
    if library and (found := re.match(r"(?:rocm|hip)([0-9]+\.[0-9]+(?:\.[0-9]{1,3}(?![0-9]))?)", library.built_for)):
        return found[1]
    if library and node.rocm and (version := node.rocm.versions.get(install_of(library.path, node))):
        return plain(version)
    if node.torch and node.torch.hip:
        return ".".join(node.torch.hip.split(".")[:2])
    return plain(node.rocm.version) if node.rocm else ""


def plain(version: str) -> str:
    """A version without the mark of a nightly build (7.14.0a20260612), which the catalogue does not order."""
    return ".".join(map(str, release(version)))


def target_of(node: Node) -> Target:
    """Platform, releases and architectures of the node. What is not known is left out."""
    platform = platform_of(node)
    versions: dict[str, str] = {}
    if node.torch and node.torch.version:
        versions["torch"] = node.torch.version.partition("+")[0]
    if platform == "rocm":
        versions["rocm"] = rocm_release(node)
    if platform == "cuda":
        code = node.ccl.loaded_version_code if node.ccl and node.ccl.kind == "nccl" else None
        library = library_in_use(node)
        versions["nccl"] = version_of_code(code) if code else library.version if library else ""
        versions["cuda"] = (node.torch.cuda if node.torch else None) or ""
    # Of a mixed node each architecture that the job can use; what variables hide is no part of the target.
    each = dict.fromkeys(d.arch for d in node.devices if d.arch and not d.hidden)
    together = node.gpu.arch if node.gpu.arch not in (None, "", "mixed") else None
    gpus = tuple(each) or ((together,) if together else ())
    return Target(platform, {name: version for name, version in versions.items() if version}, gpus, (), ())
