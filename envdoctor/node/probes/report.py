"""The short JSON form of a node. It says a thing once: what only repeats another key is left out.

Everything that is known stands in the node's observations; this form is what reports, comparisons and people look at
first. Its keys are the ones of the recorded nodes' `node.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from envdoctor.core.facts import Component, Observation, Place, Setting
from envdoctor.knowledge.nodes.rocm_layout import root_of
from envdoctor.node.probes.base import Facts, ProbeStatus
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.host.pairing import release
from envdoctor.node.probes.keys import KEYS
from envdoctor.node.probes.libraries.ccl import version_code
from envdoctor.node.probes.libraries.library import LibraryFile
from envdoctor.node.probes.parts import Ccl, Cuda, Device, Driver, Gpu, Host, Link, Miopen, Rocm, Torch

HIP_RUNTIME = "/libamdhip64.so"


@dataclass(slots=True)
class Node:
    """A node, part by part, all facts with their places, and how each probe ended."""

    name: str = ""
    vendor: str = ""
    container: bool = False
    rocm: Rocm | None = None
    cuda: Cuda | None = None
    driver: Driver | None = None
    gpu: Gpu = field(default_factory=Gpu)
    ccl: Ccl | None = None
    miopen: Miopen | None = None
    host: Host = field(default_factory=Host)
    torch: Torch | None = None
    devices: list[Device] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    libraries: dict[str, LibraryFile] = field(default_factory=dict)
    """Collectives libraries on the node, by path: among other things the names that each reads."""
    site_packages: list[str] = field(default_factory=list)
    mapped: tuple[str, ...] = ()
    """GPU libraries that the examined process, or a fresh torch, has mapped."""
    driver_cuda: str | None = None
    """Newest CUDA version that the driver of NVIDIA supports."""
    told_driver: str = ""
    """Version of NVIDIA's driver as a tool tells it, where no file does."""
    computing: dict[int, str] = field(default_factory=dict)
    """Process that computes on a GPU -> PCI address of the GPU, "" where that is not told."""
    rocm_path_env: str | None = None
    """Folder that ROCM_PATH or ROCM_HOME names, without links."""
    files: NodeFiles | None = None
    """The files that were read, and their log."""
    facts: Facts = field(default_factory=Facts)
    probes: list[ProbeStatus] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The short form: tables of known values, in a fixed order."""
        tables = {
            "name": self.name or None, "vendor": self.vendor, "container": self.container or None,
            "rocm": rocm_table(self), "cuda": cuda_table(self), "driver": driver_table(self.driver),
            "gpu": gpu_table(self.gpu), "ccl": ccl_table(self.ccl), "miopen": miopen_table(self),
            "host": host_table(self.host),
        }  # fmt: skip
        return {key: value for key, value in tables.items() if value is not None and value != {}}

    def details_json(self) -> dict[str, Any]:
        """Everything that is known, with its places: what the short form leaves out or only sums up."""
        facts = self.facts
        return {
            "probes": [asdict(probe) for probe in self.probes],
            "observations": [observation_json(item) for item in facts.observations],
            "components": [component_json(item) for item in facts.components],
            "settings": [setting_json(item) for item in facts.settings],
            "problems": [{"message": item.message, **place_json(item.place)} for item in facts.problems],
            "links": [asdict(link) for link in self.links],
        }


def place_json(place: Place) -> dict[str, Any]:
    """Where a fact stands on the node."""
    return {"path": place.path, "line": place.line}


def observation_json(item: Observation) -> dict[str, Any]:
    """One observation, with its unit."""
    unit = KEYS[item.key].unit
    told = {"key": item.key, "value": item.value, "detail": item.detail, **place_json(item.place)}
    return {**told, "unit": unit} if unit else told


def component_json(item: Component) -> dict[str, Any]:
    """One library, driver or device."""
    return {"name": item.name, "version": item.version, "detail": item.detail, **place_json(item.place)}


def setting_json(item: Setting) -> dict[str, Any]:
    """One variable of the process or of a conf file."""
    return {"name": item.name, "value": item.value.text, "channel": item.channel, **place_json(item.place)}


def without_none(**values: Any) -> dict[str, Any]:
    """A table of what is known."""
    return {key: value for key, value in values.items() if value is not None}


def install_of(path: str, node: Node) -> str:
    """The ROCm install, or the site-packages folder, that a library belongs to."""
    installs = [root for root in node.rocm.installs if "-packages/" not in root] if node.rocm else []
    if root := root_of(path, installs):
        return root
    packages = re.match(r"/.*?-packages(?=/)", path)
    return packages[0] if packages else ""


def rocm_table(node: Node) -> dict[str, Any] | None:
    """ROCm. The variable says something new only where several installs are there, or where it names none of them."""
    rocm = node.rocm
    if rocm is None:
        return None
    named = node.rocm_path_env
    tells = named is not None and (len(rocm.installs) > 1 or named not in rocm.installs)
    return without_none(
        version=rocm.version, build=rocm.build, root=rocm.root, installs=rocm.installs,
        rocm_path_env=named if tells else None, torch_hip=foreign_hip(node, rocm),
    )  # fmt: skip


def foreign_hip(node: Node, rocm: Rocm) -> str | None:
    """torch's HIP version, where it is of another release than the default ROCm although a HIP runtime of an install
    is in the process. A wheel that brings its whole runtime along differs from /opt/rocm in good order."""
    hip = node.torch.hip if node.torch else None
    runtimes = [path for path in node.mapped if HIP_RUNTIME in path]
    of_install = any(install_of(path, node) in rocm.installs for path in runtimes)
    return hip if hip and of_install and release(hip) != release(rocm.version) else None


def cuda_table(node: Node) -> dict[str, Any] | None:
    """CUDA, where there is a toolkit or a torch that needs it."""
    torch_cuda = node.torch.cuda if node.torch else None
    toolkit = node.cuda.toolkit if node.cuda else None
    if toolkit is None and torch_cuda is None:
        return None
    return without_none(toolkit=toolkit, driver_cuda=node.cuda and node.cuda.driver_cuda, torch_cuda=torch_cuda)


def driver_table(driver: Driver | None) -> dict[str, Any] | None:
    """The driver."""
    if driver is None:
        return None
    return without_none(
        version=driver.version, kernel=driver.kernel, open_kernel_module=driver.open_kernel_module, source=driver.source
    )


def gpu_table(gpu: Gpu) -> dict[str, Any]:
    """The GPUs. `usable` and HSA's architecture only where they say otherwise."""
    return without_none(
        count=gpu.count, physical=gpu.physical,
        usable=gpu.usable if gpu.usable != gpu.count else None,
        arch=gpu.arch,
        arch_reported_by_hsa=gpu.arch_reported_by_hsa if gpu.arch_reported_by_hsa != gpu.arch else None,
        compute_partition=gpu.compute_partition, memory_partition=gpu.memory_partition, perf_level=gpu.perf_level,
        all_xgmi=gpu.all_xgmi, mig=gpu.mig, persistence=gpu.persistence, all_nvlink=gpu.all_nvlink,
    )  # fmt: skip


def ccl_table(ccl: Ccl | None) -> dict[str, Any] | None:
    """The collectives library. The one in use only where several are mapped, torch's header where it differs."""
    if ccl is None:
        return None
    header = ccl.torch_header_version
    differs = header is not None and version_code(".".join(map(str, header))) != ccl.loaded_version_code
    return without_none(
        kind=ccl.kind, loaded=ccl.loaded or None, used_by_torch=ccl.used_by_torch if len(ccl.loaded) > 1 else None,
        loaded_version_code=ccl.loaded_version_code,
        torch_header_version=header if differs and ccl.loaded_version_code is not None else None,
        installed=ccl.installed or None,
    )  # fmt: skip


def miopen_table(node: Node) -> dict[str, Any] | None:
    """MIOpen. The mapped files only where they come from another install than the HIP runtime beside them."""
    miopen = node.miopen
    if miopen is None:
        return None
    return without_none(
        version=miopen.version or None, loaded=strangers(node, miopen.loaded) or None, user_db=miopen.user_db
    )


def strangers(node: Node, paths: Sequence[str]) -> list[str]:
    """Those libraries that belong to no install whose HIP runtime is mapped."""
    homes = {install_of(path, node) for path in node.mapped if HIP_RUNTIME in path}
    return [path for path in paths if homes and install_of(path, node) not in homes]


def host_table(host: Host) -> dict[str, Any]:
    """The machine. A limit that is not there is left out."""
    return without_none(
        iommu=host.iommu, numa_balancing=host.numa_balancing, memlock_bytes=host.memlock_bytes,
        shm_bytes=host.shm_bytes, kfd_rw=host.kfd_rw,
    )  # fmt: skip
