"""What NVML tells, as JSON: the text of this file is run by an interpreter that has nvidia-ml-py, so that a hanging
driver cannot take the caller with it. Imports nothing of this package.
"""

# envdoctor: what NVML tells (recordings know the script by this line)

from __future__ import annotations

import sys

sys.path[:] = [path for path in sys.path if path]  # no module of the current folder

import importlib  # noqa: E402
import json  # noqa: E402
from typing import Any  # noqa: E402

COMPUTE_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")
P2P_NVLINK = 2
"""NVML_P2P_CAPS_INDEX_NVLINK."""


class Nvml:
    """The module, with None for what this GPU, driver or release of the module does not answer."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.why = ""

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call `nvml<name>`."""
        function = getattr(self.module, f"nvml{name}", None)
        try:
            return None if function is None else function(*arguments)
        except self.module.NVMLError as error:
            self.why = str(error)
            return None

    def text(self, name: str, *arguments: Any) -> str | None:
        """The same, for strings, which are bytes in old releases."""
        value = self.ask(name, *arguments)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def on_off(value: Any) -> str | None:
    """Nvidia-smi's words for a switch."""
    return None if value is None else "Enabled" if value else "Disabled"


def yes_no(value: Any) -> str | None:
    """Nvidia-smi's words for a fact."""
    return None if value is None else "Yes" if value else "No"


def in_watts(value: Any) -> str | None:
    """NVML counts in milliwatts."""
    return None if value is None else f"{value / 1000:.2f} W"


def health(nvml: Nvml, handle: Any) -> dict[str, Any]:
    """What is worn out, lost or set by somebody."""
    ecc, rows = nvml.ask("DeviceGetEccMode", handle), nvml.ask("DeviceGetRemappedRows", handle)
    retired = nvml.ask("DeviceGetRetiredPages", handle, 1)
    links = [nvml.ask("DeviceGetNvLinkState", handle, link) for link in range(18)]
    default, clock = nvml.ask("DeviceGetDefaultApplicationsClock", handle, 0), nvml.ask(
        "DeviceGetApplicationsClock", handle, 0)  # fmt: skip
    processes = nvml.ask("DeviceGetComputeRunningProcesses", handle)
    return {
        "ecc.mode.current": None if ecc is None else on_off(ecc[0]),
        "ecc.errors.uncorrected.volatile.total": nvml.ask("DeviceGetTotalEccErrors", handle, 1, 0),
        "retired_pages.double_bit.count": None if retired is None else len(retired),
        "retired_pages.pending": yes_no(nvml.ask("DeviceGetRetiredPagesPendingStatus", handle)),
        "remapped_rows.uncorrectable": None if rows is None else rows[1],
        "remapped_rows.pending": None if rows is None else yes_no(rows[2]),
        "remapped_rows.failure": None if rows is None else yes_no(rows[3]),
        "power.limit": in_watts(nvml.ask("DeviceGetPowerManagementLimit", handle)),
        "power.default_limit": in_watts(nvml.ask("DeviceGetPowerManagementDefaultLimit", handle)),
        "clocks.applications.graphics": None if clock is None else f"{clock} MHz",
        "clocks.default_applications.graphics": None if default is None else f"{default} MHz",
        "pcie.link.width.current": nvml.ask("DeviceGetCurrPcieLinkWidth", handle),
        "pcie.link.width.max": nvml.ask("DeviceGetMaxPcieLinkWidth", handle),
        "nvlinks": [links.count(1), links.count(0)],
        "processes": None if processes is None else [process.pid for process in processes],
    }


def instances(nvml: Nvml, handle: Any) -> int:
    """MIG instances of a GPU."""
    most = nvml.ask("DeviceGetMaxMigDeviceCount", handle) or 0
    return sum(nvml.ask("DeviceGetMigDeviceHandleByIndex", handle, index) is not None for index in range(most))


def device(nvml: Nvml, index: int, handles: list[Any]) -> dict[str, Any]:
    """One GPU, in the words of nvidia-smi's query."""
    handle = handles[index]
    capability = nvml.ask("DeviceGetCudaComputeCapability", handle)
    mig, memory = nvml.ask("DeviceGetMigMode", handle), nvml.ask("DeviceGetMemoryInfo", handle)
    clock, bus = nvml.ask("DeviceGetMaxClockInfo", handle, 1), nvml.ask("DeviceGetPciInfo", handle)
    mode = nvml.ask("DeviceGetComputeMode", handle)
    linked = [other is not None and nvml.ask("DeviceGetP2PStatus", handle, other, P2P_NVLINK) == 0 for other in handles]
    return {
        "index": index,
        "name": nvml.text("DeviceGetName", handle),
        "uuid": nvml.text("DeviceGetUUID", handle),
        "pci.bus_id": bus.busId.decode() if bus and isinstance(bus.busId, bytes) else bus and bus.busId,
        "compute_cap": None if capability is None else ".".join(map(str, capability)),
        "mig.mode.current": None if mig is None else on_off(mig[0]),
        "persistence_mode": on_off(nvml.ask("DeviceGetPersistenceMode", handle)),
        "compute_mode": COMPUTE_MODES[mode] if mode in range(len(COMPUTE_MODES)) else None,
        "vbios_version": nvml.text("DeviceGetVbiosVersion", handle),
        "memory.total": None if memory is None else f"{memory.total >> 20} MiB",
        "clocks.max.sm": None if clock is None else f"{clock} MHz",
        "nvlink_peers": [i for i, yes in enumerate(linked) if yes and i != index],
        "mig_instances": instances(nvml, handle) if mig and mig[0] else 0,
        **health(nvml, handle),
    }


def report(module: Any) -> dict[str, Any]:
    """Everything, or {"error": ...}."""
    nvml = Nvml(module)
    try:
        module.nvmlInit()
    except module.NVMLError as error:
        return {"error": f"NVML: {error}"}
    cuda, count = nvml.ask("SystemGetCudaDriverVersion"), nvml.ask("DeviceGetCount") or 0
    handles, lost = [], {}
    for index in range(count):
        handles.append(nvml.ask("DeviceGetHandleByIndex", index))
        # A GPU that this process may not open is counted too, and is not lost.
        if handles[-1] is None and "ermission" not in nvml.why:
            lost[f"index {index}"] = nvml.why
    devices = [device(nvml, index, handles) for index in range(count) if handles[index] is not None]
    return {
        "driver_version": nvml.text("SystemGetDriverVersion"),
        "cuda_version": None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
        "devices": devices,
        "lost": lost,
    }


def main() -> None:
    """Print the report."""
    try:
        pynvml = importlib.import_module("pynvml")
    except ImportError as error:
        answer = {"error": str(error)}
    else:
        answer = report(pynvml)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
