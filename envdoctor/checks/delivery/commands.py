"""ED604: commands that do not do what they are there for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.context import LaunchContext
from envdoctor.checks.findings import finding
from envdoctor.core.facts import FileFacts, Launch, Place
from envdoctor.core.findings import Finding, Related
from envdoctor.core.operations import head_end
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

_REPEATABLE = regex(
    r"determinis|reproducib|repeatab|bit-?(?:wise|exact|identical|for-bit)|same (?:result|number|bits)", re.I
)
_REJECTS = regex(r"\bMI3(?:00X|08X|25X|50X?|55X?)\b|\bgfx950\b", re.I)
_ACCEPTS = regex(r"\bMI(?:2\d\d\w?|300A)\b|\bgfx90a\b", re.I)
_LATE_DIRECTIVE = regex(r"^#SBATCH[ \t]+[^\n]*--export\b[^\n]*", re.M)
CLOCKS = ("rocm-smi", "amd-smi")
FETCH = "git clone"
BUILD = "cmake"
ABOVE = 4
"""Lines above a command whose comments are taken to speak of it."""


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Commands of a file that are misread by whoever wrote them."""
    for facts in context.facts:
        text = context.text(facts.path) if facts.launches or "#SBATCH" in context.text(facts.path) else ""
        fetched: Launch | None = None
        for launch in facts.launches:
            if launch.launcher in CLOCKS:
                yield from _clock_cap(rule, launch, text, context)
            elif launch.launcher == FETCH:
                fetched = launch
            elif launch.launcher == BUILD and fetched is not None and _is_rccl(fetched):
                yield from _no_build_type(rule, launch, fetched, text)
        if facts.kind == "shell":
            yield from _late_directive(rule, facts, text)


def _clock_cap(rule: Rule, launch: Launch, text: str, context: LaunchContext) -> Iterator[Finding]:
    """`rocm-smi --setperfdeterminism 1900`: a cap on the clock, of which results know nothing."""
    words = [word.partition("=")[0] for word in launch.words]
    if "--setperfdeterminism" not in words and not ("set" in words and "--perf-determinism" in words):
        return
    wanted = _REPEATABLE.search(
        _around(text, launch.place).replace("setperfdeterminism", "").replace("perf-determinism", "")
    )
    device = _REJECTS.search(text) if not _ACCEPTS.search(text) else None
    rejected = (
        device[0] if device else next((gpu for gpu in context.target_of(launch.place.path).gpus if gpu == "gfx950"), "")
    )
    evidence = ("ROCm/rocm-systems#9398",)
    if wanted:
        message = "this caps the clock; it makes no result deterministic" + (
            f", and {rejected} refuses it" if rejected else ""
        )
        yield finding(rule, launch.place, message, evidence=evidence,
                      help="ask the framework and MIOpen for deterministic kernels")  # fmt: skip
    elif rejected:
        message = f"{rejected} refuses this mode: the clock is not capped"
        yield finding(rule, launch.place, message, evidence=evidence, confidence="medium",
                      help="leave it out, or look at the performance level afterwards")  # fmt: skip


def _around(text: str, place: Place) -> str:
    """The comments of the lines right above a command, and its own lines."""
    lines = text.split("\n")
    first = place.line - 1
    above = []
    for line in reversed(lines[max(0, first - ABOVE) : first]):
        if not line.strip().startswith("#"):
            break
        above.append(line)
    return "\n".join([*above, *lines[first : place.end_line]])


def _is_rccl(launch: Launch) -> bool:
    return any(re.search(r"(?:^|[/:])rccl(?:\.git)?/?$", word, re.I) for word in launch.words)


def _no_build_type(rule: Rule, launch: Launch, fetched: Launch, text: str) -> Iterator[Finding]:
    """RCCL's CMakeLists gives no build type, so that plain cmake builds without optimisation."""
    words = launch.words[1:]
    debug = next((word for word in words if re.match(r"-D\s*CMAKE_BUILD_TYPE(?::\w+)?=Debug$", word)), "")
    if debug:
        message = "a Debug build of RCCL is slow, and nothing reports it at run time"
        yield finding(rule, launch.place, message, related=(Related(fetched.place, "fetched here"),),
                      help="-DCMAKE_BUILD_TYPE=Release", evidence=("ROCm/rccl@0cbce2a7:install.sh",))  # fmt: skip
        return
    if any(word in ("--build", "--install", "-P", "-E", "--version", "--preset") for word in words):
        return
    if any(re.match(r"-D\s*CMAKE_BUILD_TYPE|--preset|-D\s*CMAKE_(?:CXX|HIP)_FLAGS", word) for word in words):
        return
    if any(word.startswith("$") or "[@]" in word for word in words) or "CMAKE_BUILD_TYPE" in text:
        return
    message = "RCCL has no default build type: built like this it is not optimised, and nothing reports it at run time"
    yield finding(rule, launch.place, message, related=(Related(fetched.place, "fetched here"),),
                  help="-DCMAKE_BUILD_TYPE=Release, or install.sh of RCCL",
                  evidence=("ROCm/rccl@0cbce2a7:CMakeLists.txt", "ROCm/rccl@0cbce2a7:install.sh"))  # fmt: skip


def _late_directive(rule: Rule, facts: FileFacts, text: str) -> Iterator[Finding]:
    """`#SBATCH --export` behind the first command: a comment."""
    end = head_end(text)
    if "#SBATCH" not in text[:end] or "<<" in text:
        return
    for match in _LATE_DIRECTIVE.finditer(text, end):
        line = text.count("\n", 0, match.start()) + 1
        place = Place(facts.path, line, 1, line, len(match[0]) + 1)
        message = "sbatch reads directives up to the first command only: behind it this line is a comment"
        yield finding(rule, place, message, help="move it above the first command",
                      evidence=("measured with Slurm 22.05.8",))  # fmt: skip
