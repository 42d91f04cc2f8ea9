"""Tests of observations about the GPUs themselves: how many, alike or not, partitioned, shared, out of reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from envdoctor.checks.node.common import Seen, Told, listed
from envdoctor.checks.node.libraries import parts, release_of, shown
from envdoctor.core.facts import Observation, Place
from envdoctor.core.findings import Related, Severity
from envdoctor.core.numbers import counted

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.node import PartitionMode, UnequalGpus

RANK_COUNTS = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE")
"""Variables by which launchers tell how many ranks a node has."""


def no_gpu(seen: Seen) -> Iterator[Told]:
    """No GPU: nothing that was asked for can run, and nothing about GPUs can be learnt."""
    count = seen.first("gpu.count")
    if count is None or count.value != 0:
        return
    hidden, driver, bound = seen.first("gpu.unreadable"), seen.first("driver.version"), seen.first("gpu.bound_to")
    if hidden:
        why = f"{_counted(hidden, 'node')} of the kernel's topology may not be read from here"
    elif driver:
        why = f"the driver is loaded ({driver.value or seen.text('driver.kernel')}), but no device is visible here"
        why += _on_bus(seen)
    else:
        why = "neither amdgpu nor nvidia is loaded" + _on_bus(seen)
    other = bound.value if bound and bound.value not in ("nvidia", "amdgpu") and not driver else ""
    instead = f"install the vendor's driver, which keeps {other} away, and reboot" if other else ""
    yield Told(f"no GPU: {why}", (hidden or driver or count).place, help=instead)


def _on_bus(seen: Seen) -> str:
    """GPUs that are on the bus although no driver serves them."""
    titles = {"nvidia": "NVIDIA", "amd": "AMD"}
    there = [f"{counted(o.value, 'GPU')} of {titles[o.detail]}" for o in seen.all("gpu.on_bus")
             if isinstance(o.value, int) and o.detail in titles]  # fmt: skip
    drivers = listed(seen.texts("gpu.bound_to"))
    return f"; on the PCI bus: {listed(there)}{f', bound to {drivers}' if drivers else ''}" if there else ""


def _counted(observation: Observation, word: str) -> str:
    return counted(observation.value, word) if isinstance(observation.value, int) else f"some {word}s"


def ranks_here(seen: Seen) -> tuple[int, Place] | None:
    """How many ranks of the job this node has, and who says so; None where nothing does."""
    if ranks := seen.first("job.ranks"):
        return int(ranks.value or 0), ranks.place
    for name in RANK_COUNTS:
        setting = seen.setting(name)
        if setting and (setting.value.known or "").isdecimal():
            return int(setting.value.known or 0), setting.place
    return None


def partition_mode(seen: Seen) -> Iterator[Told]:
    """GPUs that are divided: each part is a GPU of its own, so the number of ranks and with it the bits change."""
    yield from _mig(seen)
    known = cast("PartitionMode", seen.parameters)
    compute, memory = seen.text("gpu.compute_partition"), seen.text("gpu.memory_partition")
    count, physical, arch = seen.number("gpu.count"), seen.number("gpu.physical"), seen.text("gpu.arch")
    divided = [w for w in (compute, memory) if w not in ("", "mixed", *known["whole"])]
    several = count > physical > 0 and not arch.startswith(tuple(known["two_dies"]))
    place = _place(seen, "gpu.device.compute_partition", "gpu.device.memory_partition", "gpu.count")
    if place is None or not (divided or several):
        return
    mode = ", ".join(divided) or "mode not told"
    message = f"{count} logical GPUs on {physical} packages ({mode}): one rank for each makes {count} ranks"
    message += ", and a sum over another number of ranks has other bits"
    too_old = _before_partitions(seen, known["rccl_since"])
    ranks = ranks_here(seen)
    meant = ranks is not None and ranks[0] == count
    if too_old:
        message += f"; the loaded RCCL {too_old} is older than {known['rccl_since']}, the first that supports them"
    yield Told(message, place, "info" if meant and not too_old else None)


def _place(seen: Seen, *keys: str) -> Place | None:
    return next((o.place for key in keys if (o := seen.first(key))), None)


def _before_partitions(seen: Seen, first: str) -> str:
    """The release of a loaded RCCL that does not know partitions of this GPU; "" otherwise."""
    code = seen.value("ccl.loaded_version_code")
    if seen.text("ccl.kind") != "rccl" or not isinstance(code, int):
        return ""
    release = release_of(code)
    return shown(release) if release < parts(first) else ""


def _mig(seen: Seen) -> Iterator[Told]:
    """Instances of NVIDIA GPUs have no CUDA IPC and so no NVLink among them."""
    mig = seen.first("gpu.mig")
    if mig and mig.value in ("Enabled", "mixed"):
        number = seen.value("gpu.mig_devices")
        there = f" ({counted(number, 'instance')})" if isinstance(number, int) else ""
        message = f"MIG mode: {mig.value}{there}; instances of a GPU cannot reach each other through NVLink or CUDA IPC"
        yield Told(message, mig.place, "info")


def unequal_gpus(seen: Seen) -> Iterator[Told]:
    """GPUs of one node that are not alike. What variables hide from the job is not compared."""
    known = cast("UnequalGpus", seen.parameters)
    board = seen.value("gpu.all_nvlink") is True or seen.value("gpu.all_xgmi") is True
    for field, severity in known["fields"].items():
        found = seen.visible(f"gpu.device.{field}")
        counts = Counter(_alike(field, o.value) for o in found)
        if len(counts) < 2 or len(found) < seen.gpus():
            continue
        usual = counts.most_common(1)[0][0]
        odd = [o for o in found if _alike(field, o.value) != usual]
        values = listed([f"{_alike(field, o.value)} on {o.detail}" for o in odd])
        differs = "differ" if field in known["plural"] else "differs"
        others = f"the other {counts[usual]}" if counts[usual] > 1 else "the other one"
        message = f"{_words(field)} {differs} between GPUs: {values}, {usual} on {others}"
        # Cards in slots of their own may have other lanes each; GPUs of one board have not.
        weight: Severity = "warning" if board and field in known["on_boards"] else severity
        yield Told(message, odd[0].place, weight)


def _words(field: str) -> str:
    return {"power_limit_w": "power limit", "clock_mhz": "application clock", "memory_bytes": "memory",
            "ecc": "ECC mode", "mig": "MIG mode", "vbios": "VBIOS"}.get(field, field.replace("_", " "))  # fmt: skip


def _alike(field: str, value: object) -> str:
    """A value as it is compared and shown: memory to the GiB, since a screen or a retired page takes some of it."""
    unit = {"power_limit_w": " W", "clock_mhz": " MHz"}.get(field, "")
    if field == "memory_bytes" and isinstance(value, int):
        return f"{value / (1 << 30):.0f} GiB"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value}{unit}"


def shared_gpu(seen: Seen) -> Iterator[Told]:
    """More ranks than GPUs, or a run whose log shows several ranks on one."""
    run = seen.first("ccl.ranks_per_gpu")
    if run and isinstance(run.value, int) and run.value > 1:
        message = f"a run on this node had {run.value} ranks on one GPU: they are refused as duplicates, or, with an "
        yield Told(f"{message}NCCL_HOSTID for each, talk through the network path", run.place)
    for bound in seen.all("job.gpu_ranks"):
        yield Told(f"{bound.detail} has several ranks of the job: {bound.value}", bound.place)
    ranks, count = ranks_here(seen), seen.number("gpu.count")
    if ranks and count and ranks[0] > count:
        yield Told(f"{counted(ranks[0], 'rank')} on this node and {counted(count, 'GPU')}", ranks[1])


def clock_cap(seen: Seen) -> Iterator[Told]:
    """A cap on clocks or power whose name is taken for something else."""
    capped = [o for o in seen.visible("gpu.device.perf_level") if o.value == "perf_determinism"]
    if capped:
        gpus = listed([o.detail for o in capped])
        message = f"performance level perf_determinism on {gpus}: a mode of the clocks, no promise about results"
        yield Told(message, capped[0].place)
    highest = seen.by_item("gpu.device.max_clock_mhz")
    lower = [o for o in seen.visible("gpu.device.clock_cap_mhz") if _below(o, highest.get(o.detail))]
    if lower:
        yield _capped("clocks are capped on", lower, highest, "MHz")
    usual = seen.by_item("gpu.device.default_clock_mhz")
    # The clock that the driver sets by itself lies below the highest on many GPUs, and caps nothing.
    slower = [o for o in seen.visible("gpu.device.clock_mhz") if _below(o, usual.get(o.detail))]
    if slower:
        yield _capped("application clocks are below the driver's own on", slower, usual, "MHz")
    bare = [o for o in seen.visible("gpu.device.clock_mhz")
            if o.detail not in usual and _below(o, highest.get(o.detail))]  # fmt: skip
    if bare:
        what = "application clocks are below the highest, and the driver does not tell whether by itself, on"
        yield _capped(what, bare, highest, "MHz")
    full = seen.by_item("gpu.device.default_power_w")
    less = [o for o in seen.visible("gpu.device.power_limit_w") if _below(o, full.get(o.detail))]
    if less:
        yield _capped("the power limit is below the default on", less, full, "W")


def _capped(what: str, found: list[Observation], whole: Mapping[str, object], unit: str) -> Told:
    gpus = listed([f"{o.detail} at {o.value} of {whole[o.detail]} {unit}" for o in found])
    related = tuple(Related(o.place, o.detail) for o in found[1:4])
    return Told(f"{what} {gpus}", found[0].place, related=related)


def _below(cap: Observation, highest: object) -> bool:
    return isinstance(cap.value, int) and isinstance(highest, int) and cap.value < highest
