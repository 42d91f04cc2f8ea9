"""Tests of observations about the GPUs themselves: how many, alike or not, partitioned, shared, out of reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks.node.common import Seen, Told, listed
from envdoctor.checks.node.libraries import parts, release_of, shown
from envdoctor.core.facts import Observation, Place
from envdoctor.core.findings import Related, Severity

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.node import PartitionMode, UnequalGpus

RANK_COUNTS = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE")
"""Variables by which launchers tell how many ranks a node has."""


def no_gpu(seen: Seen) -> Iterator[Told]:
    """No GPU: nothing that was asked for can run, and nothing about GPUs can be learnt."""
    count = seen.first("gpu.count")
    if count is None or count.value != 0:
        return
    hidden, driver = seen.first("gpu.unreadable"), seen.first("driver.version")
    if hidden:
        why = f"{hidden.value} nodes of the kernel's topology may not be read from here"
    elif driver:
        why = f"the driver is loaded ({driver.value or seen.text('driver.kernel')}), but no device is visible here"
    else:
        why = "neither amdgpu nor nvidia is loaded"
    yield Told(f"no GPU: {why}", (hidden or driver or count).place)


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
        message = f"MIG mode: {mig.value}; instances of a GPU cannot reach each other through NVLink or CUDA IPC"
        yield Told(message, mig.place, "info")


def unequal_gpus(seen: Seen) -> Iterator[Told]:
    """GPUs of one node that are not alike."""
    for field, severity in cast("UnequalGpus", seen.parameters)["fields"].items():
        found = seen.all(f"gpu.device.{field}")
        counts = Counter(str(o.value) for o in found)
        if len(counts) < 2 or len(found) < seen.number("gpu.count"):
            continue
        usual = counts.most_common(1)[0][0]
        odd = [o for o in found if str(o.value) != usual]
        values = listed([f"{o.value} on {o.detail}" for o in odd])
        message = f"{field.replace('_', ' ')} differs between GPUs: {values}, {usual} on the other {counts[usual]}"
        yield Told(message, odd[0].place, severity)


def device_denied(seen: Seen) -> Iterator[Told]:
    """Device nodes that this process may not open, or a torch that sees no GPU although there are some."""
    denied = seen.all("host.device_denied")
    count, usable = seen.number("gpu.count"), seen.value("gpu.usable")
    kfd, blind = seen.first("host.kfd_rw"), seen.first("torch.cuda_available")
    sees_none = blind is not None and blind.value is False and count > 0
    extra = "; torch sees no GPU" if sees_none else ""
    if kfd and kfd.value is False:
        yield Told(f"this process may not open /dev/kfd{_others(denied)}{_group(seen)}{extra}", kfd.place)
    elif denied and count:
        severity: Severity | None = None if usable == 0 or sees_none else "warning"
        message = f"this process may not open {listed([str(o.value) for o in denied])}{_group(seen)}{extra}"
        yield Told(message, denied[0].place, severity)
    elif sees_none and blind is not None:
        yield Told(f"torch sees none of the {count} GPUs of this node{_why_blind(seen)}", blind.place)
    elif blind is None and count and (other := _built_for_others(seen)):
        built = seen.first("torch.hip") or seen.first("torch.cuda")
        assert built is not None
        yield Told(f"torch is built for {other}, and the {count} GPUs of this node are not", built.place)


def _others(denied: list[Observation]) -> str:
    others = [o for o in denied if o.value != "/dev/kfd"]
    return f" and {len(others)} other device nodes" if others else ""


def _group(seen: Seen) -> str:
    group, member = seen.text("host.kfd_group"), seen.value("host.in_kfd_group")
    return f": it is not in the group {group}, which owns it" if group and member is False else ""


def _why_blind(seen: Seen) -> str:
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        if seen.known_value(name) in ("", "-1"):
            return f": {name} is set and names none"
    if seen.all("torch.version") and not seen.text("torch.hip") and not seen.text("torch.cuda"):
        return ": it is built for the CPU alone"
    other = _built_for_others(seen)
    return f": it is built for {other}" if other else " (in a fresh process)"


def _built_for_others(seen: Seen) -> str:
    """What torch is built for, where the GPUs are the other vendor's; "" where it fits or is not known."""
    archs = {str(o.value)[:3] for o in seen.all("gpu.device.arch")}
    if seen.text("torch.cuda") and not seen.text("torch.hip") and archs == {"gfx"}:
        return "CUDA"
    return "ROCm" if seen.text("torch.hip") and archs == {"sm_"} else ""


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
        yield Told(f"{ranks[0]} ranks on this node and {count} GPUs", ranks[1])


def clock_cap(seen: Seen) -> Iterator[Told]:
    """A cap on the clocks whose name is taken for something else."""
    capped = [o for o in seen.all("gpu.device.perf_level") if o.value == "perf_determinism"]
    if capped:
        gpus = listed([o.detail for o in capped])
        message = f"performance level perf_determinism on {gpus}: a mode of the clocks, no promise about results"
        yield Told(message, capped[0].place)
    highest = seen.by_item("gpu.device.max_clock_mhz")
    lower = [o for o in seen.all("gpu.device.clock_cap_mhz") if _below(o, highest.get(o.detail))]
    if lower:
        gpus = listed([f"{o.detail} at {o.value} of {highest[o.detail]} MHz" for o in lower])
        related = tuple(Related(o.place, o.detail) for o in lower[1:4])
        yield Told(f"clocks are capped on {gpus}", lower[0].place, related=related)


def _below(cap: Observation, highest: object) -> bool:
    return isinstance(cap.value, int) and isinstance(highest, int) and cap.value < highest
