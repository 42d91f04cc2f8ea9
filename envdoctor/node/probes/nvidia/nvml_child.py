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

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call `nvml<name>`."""
        function = getattr(self.module, f"nvml{name}", None)
        try:
            return None if function is None else function(*arguments)
        except self.module.NVMLError:
            return None

    def text(self, name: str, *arguments: Any) -> str | None:
        """The same, for strings, which are bytes in old releases."""
        value = self.ask(name, *arguments)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def on_off(value: Any) -> str | None:
    """Nvidia-smi's words for a switch."""
    return None if value is None else "Enabled" if value else "Disabled"


def device(nvml: Nvml, index: int, handles: list[Any]) -> dict[str, Any]:
    """One GPU, in the words of nvidia-smi's query."""
    handle = handles[index]
    capability = nvml.ask("DeviceGetCudaComputeCapability", handle)
    mig, memory = nvml.ask("DeviceGetMigMode", handle), nvml.ask("DeviceGetMemoryInfo", handle)
    clock, bus = nvml.ask("DeviceGetMaxClockInfo", handle, 1), nvml.ask("DeviceGetPciInfo", handle)
    mode = nvml.ask("DeviceGetComputeMode", handle)
    linked = [nvml.ask("DeviceGetP2PStatus", handle, other, P2P_NVLINK) == 0 for other in handles]
    return {
        "index": index,
        "name": nvml.text("DeviceGetName", handle),
        "pci.bus_id": bus.busId.decode() if bus and isinstance(bus.busId, bytes) else bus and bus.busId,
        "compute_cap": None if capability is None else ".".join(map(str, capability)),
        "mig.mode.current": None if mig is None else on_off(mig[0]),
        "persistence_mode": on_off(nvml.ask("DeviceGetPersistenceMode", handle)),
        "compute_mode": COMPUTE_MODES[mode] if mode in range(len(COMPUTE_MODES)) else None,
        "vbios_version": nvml.text("DeviceGetVbiosVersion", handle),
        "memory.total": None if memory is None else f"{memory.total >> 20} MiB",
        "clocks.max.sm": None if clock is None else f"{clock} MHz",
        "nvlink_peers": [i for i, yes in enumerate(linked) if yes and i != index],
    }


def report(module: Any) -> dict[str, Any]:
    """Everything, or {"error": ...}."""
    nvml = Nvml(module)
    try:
        module.nvmlInit()
    except module.NVMLError as error:
        return {"error": f"NVML: {error}"}
    cuda, count = nvml.ask("SystemGetCudaDriverVersion"), nvml.ask("DeviceGetCount") or 0
    handles = [nvml.ask("DeviceGetHandleByIndex", index) for index in range(count)]
    return {
        "driver_version": nvml.text("SystemGetDriverVersion"),
        "cuda_version": None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
        "devices": [device(nvml, index, handles) for index in range(count) if handles[index] is not None],
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
