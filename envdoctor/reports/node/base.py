"""The report of a node: sections, one line a probe with a mark, and what stands behind each line.

This module decides what is said; `text`, `markdown`, `html` and `json` decide how it looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from envdoctor.core.facts import Observation
from envdoctor.core.findings import Finding, Severity
from envdoctor.core.numbers import counted
from envdoctor.core.records import dataclass
from envdoctor.node.live.examination import Examination
from envdoctor.node.probes.base import ProbeStatus
from envdoctor.node.probes.keys import KEYS
from envdoctor.reports.node.lines import summary
from envdoctor.reports.node.topology import topology

Mark = Literal["ok", "info", "warning", "error", "absent", "failed"]
"""ok: nothing to say; info, warning, error: the worst finding; absent: no such thing here, or not asked for; failed:
the probe could not do its work."""

"""Format name -> module and class; imported when the format is asked for."""

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Machine", ("host", "container", "limits", "control group", "shared memory", "access control services",
                 "network devices", "kernel log")),
    ("GPUs", ("GPUs", "PCI bus", "KFD topology", "amdgpu cards", "NVIDIA GPUs", "device permissions",
              "processes on GPUs")),
    ("Driver and user space", ("driver", "ROCm installs", "CUDA", "driver and user space", "rocminfo", "amd-smi",
                               "rocm-smi")),
    ("Libraries", ("collectives library", "plug-ins", "conf files", "torch files", "torch", "MIOpen")),
    ("Process", ("environment", "process", "job")),
)  # fmt: skip
"""Title of a section -> its probes, in the order in which they are shown."""

PROBE_OF_KEY = {
    "container": "container", "host.": "host", "host.memlock": "limits", "host.open_files": "limits",
    "host.cpus_allowed": "limits", "host.shm": "shared memory", "host.memory_limit": "control group",
    "host.cpu_limit": "control group", "host.pids": "control group", "host.acs": "access control services",
    "host.kfd": "device permissions", "host.in_kfd": "device permissions", "host.device_denied": "device permissions",
    "host.kernel_log": "kernel log", "host.cloud": "network devices", "network.": "network devices",
    "gpu.on_bus": "PCI bus", "gpu.bound_to": "PCI bus", "gpu.missing": "PCI bus", "gpu.missing_link": "KFD topology",
    "gpu.xid": "kernel log", "gpu.kernel_fault": "kernel log", "gpu.process": "processes on GPUs",
    "gpu.": "GPUs", "gpu.usable": "device permissions",
    "gpu.links": "KFD topology", "gpu.unreadable": "KFD topology", "gpu.nvlink": "NVIDIA GPUs", "vendor": "GPUs",
    "driver.": "driver", "driver.release": "driver and user space", "driver.rocm": "driver and user space",
    "rocm.": "ROCm installs", "rocm.user_space": "driver and user space", "rocm.rocm_path_env": "environment",
    "rocm.torch_hip": "torch files", "cuda.": "CUDA", "cuda.torch_cuda": "torch files", "process.": "process",
    "job.": "job", "ccl.": "collectives library", "ccl.plugin": "plug-ins", "ccl.conf_file": "conf files",
    "miopen.": "MIOpen", "torch.": "torch", "torch.version": "torch files", "torch.hip": "torch files",
    "torch.cuda": "torch files", "torch.cuda_available": "torch", "torch.bundled": "torch files",
    "torch.wheel": "torch files", "helper.": "rocm-smi",
}  # fmt: skip
"""Start of an observation's key -> the probe whose line it stands under; the longest start counts."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What stands behind a line: a key of the table of observations, a value with its unit, and where it was read."""

    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One probe: a mark, what it found in a few words, findings that belong to it, and its facts."""

    mark: Mark
    label: str
    text: str
    findings: tuple[Finding, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A part of the node."""

    title: str
    lines: tuple[ReportLine, ...]


@dataclass(frozen=True, slots=True)
class NodeReport:
    """Everything that is shown, in order."""

    title: str
    judged: str
    sections: tuple[ReportSection, ...]
    topology: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    closing: str


def node_report(examination: Examination, *, details: bool = False, hints: bool = False) -> NodeReport:
    """What the sheet of an examination says. Without `details`, probes that found nothing to look at are left out."""
    node = examination.node
    lines = {probe.name: line_of(probe, examination) for probe in node.probes}
    if examination.job is not None:
        lines["job"] = line_of(ProbeStatus("job", "ok"), examination)
    sections = []
    for title, names in SECTIONS:
        chosen = [lines[name] for name in names if name in lines]
        shown = tuple(line for line in chosen if details or line.mark != "absent")
        if shown:
            sections.append(ReportSection(title, shown))
    left_out = sum(line.mark == "absent" for line in lines.values())
    findings = tuple(examination.shown(hints or details))
    notes = tuple(filter(None, [*examination.notes, examination.smoke, left(left_out, details)]))
    return NodeReport(
        f"{node.name or 'this node'} ({examination.source})", judged(examination), tuple(sections), topology(node),
        findings, notes, closing(examination, findings),
    )  # fmt: skip


def left(count: int, details: bool) -> str:
    """How many probes found nothing to look at."""
    if details or not count:
        return ""
    return f"{count} probes found nothing to look at, or were not asked for (--details names them)"


def judged(examination: Examination) -> str:
    """What the settings were judged against."""
    target = examination.target
    versions = [f"{name} {version}" for name, version in sorted(target.versions.items())]
    words = ", ".join([*versions, *target.gpus]) or (target.platform or "")
    return f"judged for {words or 'an unknown platform'}; level {examination.level}"


def closing(examination: Examination, shown: Sequence[Finding]) -> str:
    """`3 findings (1 error, 2 warnings); 2 hints not shown (--hints); 0.4 s`."""
    worst_first: tuple[Severity, ...] = ("error", "warning", "info")
    counts = [(s, sum(f.severity == s for f in shown)) for s in worst_first]
    parts = [counted(n, "hint" if s == "info" else s) for s, n in counts if n]
    text = f"{counted(len(shown), 'finding')} ({', '.join(parts)})" if shown else "No findings"
    hidden = len(examination.findings) - len(shown)
    return text + (f"; {counted(hidden, 'hint')} not shown (--hints)" if hidden else "")


def line_of(probe: ProbeStatus, examination: Examination) -> ReportLine:
    """The line of one probe."""
    mine = tuple(f for f in examination.findings if probe_for(f, examination) == probe.name)
    facts = tuple(fact_of(o) for o in examination.node.facts.observations if probe_of(o) == probe.name)
    text = summary(probe, examination)
    return ReportLine(mark_of(probe, mine), probe.name, text, mine, facts)


def mark_of(probe: ProbeStatus, findings: Sequence[Finding]) -> Mark:
    """The worst finding, else how the probe ended."""
    severities = {f.severity for f in findings}
    if severities & {"error", "warning"}:
        return "error" if "error" in severities else "warning"
    if probe.status == "failed":
        return "failed"
    if "info" in severities:
        return "info"
    return "ok" if probe.status == "ok" else "absent"


def probe_for(finding: Finding, examination: Examination) -> str:
    """The probe whose line a finding belongs to; "" for one about a file of the user."""
    if finding.name in examination.probe_of:
        return examination.probe_of[finding.name]
    path = finding.place.path
    if path.startswith("/proc/") and path.endswith("/environ"):
        return "environment"
    return "conf files" if any(s.place.path == path for s in examination.node.facts.settings) else ""


def probe_of(observation: Observation) -> str:
    """The probe whose line an observation stands under."""
    if observation.key.startswith("helper.") and observation.detail in ("rocminfo", "amd-smi", "rocm-smi"):
        return observation.detail
    if observation.detail == "nvidia-smi":
        return "NVIDIA GPUs"
    starts = (start for start in PROBE_OF_KEY if observation.key.startswith(start))
    return PROBE_OF_KEY.get(max(starts, key=len, default=""), "")


def fact_of(observation: Observation) -> Fact:
    """An observation to show."""
    key = KEYS[observation.key]
    value = "no limit" if observation.value is None else str(observation.value)
    if isinstance(observation.value, bool):
        value = "yes" if observation.value else "no"
    about = f" [{observation.detail}]" if key.each and observation.detail not in ("", observation.value) else ""
    unit = key.unit if observation.value is not None else ""
    return Fact(f"{observation.key}{about}", f"{value} {unit}".strip(), observation.place.path)


def findings_lines(finding: Finding) -> Iterator[tuple[str, str]]:
    """(heading, text) of what a finding says besides its message: related places, the way out, the evidence."""
    for related in finding.related:
        yield "see", f"{related.place.path}: {related.message}"
    if finding.help:
        yield "instead", finding.help
    if finding.confirmation is not None:
        yield finding.confirmation.state, finding.confirmation.reason
    for evidence in finding.evidence[:2]:
        yield "evidence", evidence
