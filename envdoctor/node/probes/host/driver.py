"""The GPU kernel modules: amdgpu (DKMS or the kernel's own) and nvidia, and how amdgpu pairs with the user space."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.host import pairing
from envdoctor.node.probes.parts import Driver

AMDGPU = "/sys/module/amdgpu"
NVIDIA = "/sys/module/nvidia/version"
NVIDIA_PROC = "/proc/driver/nvidia/version"
OSRELEASE = "/proc/sys/kernel/osrelease"
DXG = "/dev/dxg"
"""The device through which WSL2 reaches the GPUs of Windows; there is no KFD, no /proc/driver and no /sys/module."""

_NVRM = re.compile(r"^NVRM version:\s*(.*?)\s+([0-9]{3,}(?:\.[0-9]+)+)\s", re.MULTILINE)


def parse_nvrm(text: str) -> tuple[str, bool] | None:
    """(version, open kernel module) of `/proc/driver/nvidia/version`; None where its first line is another."""
    match = _NVRM.search(text)
    return (match[2], "Open Kernel Module" in match[1]) if match else None


def amd_driver(view: NodeView) -> Driver | None:
    """amdgpu, or None where it is not loaded.

    Only the DKMS package gives the module a version; the amdgpu of the kernel is told by the kernel's release.
    """
    if version := view.files.read_word(f"{AMDGPU}/version"):
        driver = Driver("amdgpu", version, f"{AMDGPU}/version")
    elif view.files.exists(AMDGPU):
        driver = Driver("amdgpu", "", OSRELEASE, kernel=view.files.read_word(OSRELEASE) or None)
    else:
        return None
    if state := view.files.read_word(f"{AMDGPU}/initstate"):
        view.facts.observe("driver.live", state == "live", f"{AMDGPU}/initstate")
    return driver


def nvidia_driver(view: NodeView) -> Driver | None:
    """The nvidia module, or None where it is not loaded."""
    told = parse_nvrm(view.files.read_text(NVIDIA_PROC) or "")
    version = view.files.read_word(NVIDIA)
    if not version and not told:
        return None
    source = NVIDIA if version else NVIDIA_PROC
    return Driver("nvidia", version or (told[0] if told else ""), source, open_kernel_module=told and told[1])


def driver_probe(view: NodeView, vendor: str, told: str = "") -> Driver:
    """The driver of the GPUs in use; `told` is the version that nvidia-smi tells. Raises `Absent` where none is loaded.

    On WSL2 the driver is that of Windows: no module of this kernel, and no file of it.
    """
    finders = {"amd": (amd_driver, nvidia_driver), "nvidia": (nvidia_driver, amd_driver)}
    for finder in finders.get(vendor, (nvidia_driver, amd_driver)):
        if driver := finder(view):
            state(view, driver)
            return driver
    if told:
        driver = Driver("nvidia", told, "nvidia-smi --query-gpu")
        state(view, driver)
        return driver
    if view.files.exists(DXG):
        raise Absent("the driver is that of Windows, and no tool tells its version")
    raise Absent("neither amdgpu nor nvidia is loaded")


def state(view: NodeView, driver: Driver) -> None:
    """Facts of the driver."""
    view.facts.component(driver.name, driver.version, driver.source, driver.kernel or "")
    view.facts.observe("driver.version", driver.version, driver.source)
    view.facts.observe("driver.source", driver.source, driver.source)
    view.facts.observe_known("driver.kernel", driver.kernel, driver.source)
    view.facts.observe_known("driver.open_kernel_module", driver.open_kernel_module, NVIDIA_PROC)


def pairing_probe(view: NodeView, driver: Driver | None, in_use: Mapping[str, str]) -> None:
    """How the driver pairs with each ROCm release in use: `in_use` is who uses it -> its version.

    Raises `Absent` where the driver's line is not known: the amdgpu of the kernel has none.
    """
    for user, version in in_use.items():
        if release := pairing.release(version):
            view.facts.observe("rocm.user_space", release, user, detail=user)
    line = pairing.driver_line(driver.version) if driver and driver.name == "amdgpu" else ""
    if driver and driver.name == "amdgpu" and driver.version and not line:
        view.facts.observe("driver.unlisted", driver.version, driver.source)
    if not driver or not line:
        raise Absent("no amdgpu version that AMD's tables name")
    view.facts.observe("driver.release", line, driver.source)
    view.facts.observe("driver.rocm_supported", ", ".join(pairing.SUPPORTED.get(line, ())), driver.source)
    for user, version in in_use.items():
        view.facts.observe_known("driver.rocm_distance", pairing.distance(line, version), driver.source, detail=user)
