"""Which experiments to run: a pure function of what is asked, of the node, and of the results so far.

Four launches answer the standing questions: the user's settings, the same in new processes, one pinned algorithm, and
another one as positive control. Everything else is run only because a finding asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envdoctor.node.smoke.compare.compare import case_ids, differing, find, ranks_agree, repeats_agree, wrong_cases
from envdoctor.node.smoke.model import Experiment, ExperimentResult, SmokeRequest, TestedNode
from envdoctor.node.smoke.placement import seats
from envdoctor.node.smoke.plan import cases

NO_OPS = ("ghost", "misnamed")
TRACED = ("ghost", "misnamed", "late", "ineffective")
OWN = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE")
"""Variables that the test sets itself, so that it can say nothing about the user's."""
COLLECTIVES = ("NCCL_", "RCCL_", "MSCCL")
RING = (("NCCL_ALGO", "Ring"), ("NCCL_PROTO", "Simple"))
TREE = (("NCCL_ALGO", "Tree"), ("NCCL_PROTO", "Simple"))
Changes = tuple[tuple[str, str | None], ...]


def plan(request: SmokeRequest, node: TestedNode) -> list[Experiment]:
    """The experiments of the first round, in the order to run them."""
    planned = [user(request, node), restart(request, node), pinned(request, node), control(request, node)]
    if names := no_ops(request):
        planned.append(without(request, node, names))
    if wants_trace(request):
        planned.append(traced(request, node))
    planned += [toggle(request, node, name, value) for name, value in toggles(request, node)]
    if request.level == "topology":
        planned += [*topology(node), blind(node)]
    return planned


def plan_further(request: SmokeRequest, node: TestedNode, results: Sequence[ExperimentResult]) -> list[Experiment]:
    """What the results so far ask for besides; empty when there is nothing left to run."""
    done = {result.id for result in results}
    wanted = [*rescue(request, node, results), *divided(request, node, results), *attribution(request, node, results)]
    return [experiment for experiment in dict.fromkeys(wanted) if experiment.id not in done]


def user(request: SmokeRequest, node: TestedNode) -> Experiment:
    """The user's settings, with everything that one launch can show."""
    repeats = 5 if request.thorough else 3
    chosen = (
        *cases.wide(request, node, repeats),
        *cases.exact(request, node, 2),
        *cases.special(request, node, repeats),
    )
    return Experiment("user", "user", "your settings", chosen, timeout=limit(request, node))


def restart(request: SmokeRequest, node: TestedNode) -> Experiment:
    """The same in new processes."""
    return Experiment(
        "restart", "restart", "your settings, new processes", cases.wide(request, node, 1), baseline="user",
        needs=("user",), timeout=limit(request, node),
    )  # fmt: skip


def pinned(request: SmokeRequest, node: TestedNode) -> Experiment:
    """One algorithm and protocol for every size."""
    return Experiment(
        "pinned", "pinned", "your settings with Ring and Simple for every size", cases.wide(request, node, 2),
        pins(node, RING), baseline="user", timeout=limit(request, node),
    )  # fmt: skip


def control(request: SmokeRequest, node: TestedNode) -> Experiment:
    """Another algorithm: if that shows no difference, nothing that the test says about order means anything."""
    return Experiment(
        "control", "control", "positive control: Tree and Simple, which must differ from Ring",
        cases.wide(request, node, 1), pins(node, TREE), baseline="pinned", needs=("pinned",),
        reduction="pairs" if node.platform == "cpu" else "library", timeout=limit(request, node),
    )  # fmt: skip


def pins(node: TestedNode, pair: tuple[tuple[str, str], ...]) -> Changes:
    """Settings that pin algorithm and protocol. RCCL from ROCm 7.0 has names of its own that enforce the choice."""
    if node.platform == "rocm" and node.rocm_version >= (7, 0):
        return (*pair, *(("RCCL_OVERRIDE_" + name.removeprefix("NCCL_"), value) for name, value in pair))
    return tuple(pair)


def no_ops(request: SmokeRequest) -> tuple[str, ...]:
    """Set variables that are suspected to do nothing."""
    names = dict.fromkeys(suspect.name for suspect in request.suspects if suspect.kind in NO_OPS)
    return tuple(name for name in names if name in request.settings and name not in OWN)


def without(request: SmokeRequest, node: TestedNode, names: tuple[str, ...], baseline: str = "user",
            refused: tuple[str, ...] = ()) -> Experiment:  # fmt: skip
    """The baseline without some variables that are suspected to do nothing (and without `refused` ones)."""
    changes = unset((*refused, *names))
    return Experiment(
        identity((*refused, *names)), "without", "your settings without what seems to do nothing",
        cases.wide(request, node, 1), changes, fresh_for(request, changes), baseline=baseline, needs=(baseline,),
        timeout=limit(request, node),
    )  # fmt: skip


def wants_trace(request: SmokeRequest) -> bool:
    """Whether a finding needs a traced run, or one that writes variables too late."""
    if any(suspect.kind == "late" for suspect in request.suspects):
        return True
    return request.trace and any(suspect.kind in TRACED for suspect in request.suspects)


def traced(request: SmokeRequest, node: TestedNode, refused: tuple[str, ...] = ()) -> Experiment:
    """A communicator and an AllReduce under a trace of the environment, with late writes made late."""
    late = tuple((suspect.name, suspect.value) for suspect in request.suspects if suspect.kind == "late")
    changes = unset((*refused, *(name for name, _ in late)))
    chosen = tuple(case for case in cases.wide(request, node, 1) if case.dtype == "fp32")[:6]
    return Experiment(
        " ".join(("traced", *identity(refused).split())), "traced", "which variables the libraries ask for", chosen,
        changes, request.trace or fresh_for(request, changes), request.trace, late, baseline="user",
        needs=() if refused else ("user",), timeout=limit(request, node),
    )  # fmt: skip


def toggles(request: SmokeRequest, node: TestedNode) -> list[tuple[str, str | None]]:
    """Single changes: those asked for, the ablations that a finding needs, and in the thorough matrix a few more."""
    wanted = list(request.toggles)
    for suspect in request.suspects:
        if suspect.kind in ("ineffective", "contradictory"):
            names = [name for name in (suspect.name, suspect.other) if name.startswith(COLLECTIVES)]
            wanted += [(name, None) for name in names if name in request.settings and name not in OWN]
    if request.thorough:
        wanted += [("NCCL_MAX_NCHANNELS", "1"), ("NCCL_BUFFSIZE", str(cases.MIB)), *hidden_paths(node)]
    return [(name, value) for name, value in dict.fromkeys(wanted) if request.settings.get(name) != value]


def toggle(request: SmokeRequest, node: TestedNode, name: str, value: str | None) -> Experiment:
    """The user's settings with one of them changed."""
    words = f"no {name}" if value is None else f"{name}={value}"
    changes = ((name, value),)
    return Experiment(
        words, "toggle", f"your settings with {words}", cases.wide(request, node, 2), changes,
        fresh_for(request, changes), baseline="user", needs=("user",), timeout=limit(request, node),
    )  # fmt: skip


def hidden_paths(node: TestedNode) -> list[tuple[str, str | None]]:
    """Off switches of the paths that take calls past Ring and Tree, where this library may have them."""
    if node.platform == "cuda":
        old = node.library_version and node.library_version < (2, 17)
        return [] if old else [("NCCL_NVLS_ENABLE", "0")]
    if node.platform != "rocm":
        return []
    found: list[tuple[str, str | None]] = []
    if node.rocm_version < (7, 13):
        found.append(("RCCL_MSCCL_ENABLE", "0"))
        if node.rocm_version >= (6, 3):
            found.append(("RCCL_MSCCLPP_ENABLE", "0"))
    if node.rocm_version >= (7, 14) or not node.rocm_version:
        found.append(("RCCL_DDA_ENABLE", "0"))
    return found


def topology(node: TestedNode) -> list[Experiment]:
    """The same global data as 1, 2, 4, ... ranks, by AllReduce and by the ordered reduction."""
    ranks = len(seats(node))
    worlds = sorted({count for count in (1, 2, 4, 8, 16, 32, 64, ranks) if ranks % count == 0})
    return [
        Experiment(f"{world} of {ranks} ranks", "topology", f"the same data on {world} of the ranks",
                   cases.sharded(node), ranks=world, timeout=60.0)
        for world in worlds
    ]  # fmt: skip


def blind(node: TestedNode) -> Experiment:
    """Ring orders on equal and on different data: with equal data every order gives one hash."""
    return Experiment(
        "ring orders", "blind", "equal and different data under other ring orders", cases.reordered(node),
        pins(node, RING), timeout=60.0,
    )  # fmt: skip


def rescue(request: SmokeRequest, node: TestedNode, results: Sequence[ExperimentResult]) -> list[Experiment]:
    """Where the library refuses the user's settings: the rest of them, so that the node is still examined."""
    first = find(results, "user")
    if first is None or first.status != "refused":
        return []
    guilty = {refusal.name for refusal in first.log.refusals if refusal.used is None}
    guilty |= {suspect.name for suspect in request.suspects if suspect.kind == "bad-value"}
    names = tuple(sorted(name for name in guilty if name in request.settings))
    if not names:
        return []
    changes = unset(names)
    chosen = (*cases.wide(request, node, 2), *cases.exact(request, node, 1))
    rest = Experiment(
        identity(names), "without", "your settings without what the library refuses", chosen, changes,
        fresh_for(request, changes), baseline="pinned", timeout=limit(request, node),
    )  # fmt: skip
    found = [rest]
    if suspected := tuple(name for name in no_ops(request) if name not in names):
        found.append(without(request, node, suspected, rest.id, names))
    return [*found, traced(request, node, names)] if wants_trace(request) else found


def divided(request: SmokeRequest, node: TestedNode, results: Sequence[ExperimentResult]) -> list[Experiment]:
    """Halves of a group of suspected no-ops that made a difference, until one name is left."""
    found = []
    suspected = no_ops(request)
    for result in results:
        baseline = find(results, result.experiment.baseline)
        changed = tuple(name for name, _ in result.experiment.changes)
        names = tuple(name for name in changed if name in suspected)
        if result.experiment.role != "without" or len(names) < 2 or baseline is None:
            continue
        if differing(baseline, result):
            refused = tuple(name for name in changed if name not in suspected)
            middle = len(names) // 2
            halves = (names[:middle], names[middle:])
            found += [without(request, node, half, baseline.id, refused) for half in halves]
    return found


def attribution(request: SmokeRequest, node: TestedNode, results: Sequence[ExperimentResult]) -> list[Experiment]:
    """Where results change by themselves: the paths that may be at fault, off one at a time; LL128 too."""
    first, second = find(results, "user"), find(results, "restart")
    if first is None or first.status != "ok":
        return []
    seen = case_ids(first)
    changing = not all(repeats_agree(first, case) for case in seen)
    changing = changing or (second is not None and bool(differing(first, second)))
    wanted = hidden_paths(node) if changing else []
    if node.platform != "cpu" and (wrong_cases(first) or not all(ranks_agree(first, case) for case in seen)):
        wanted = [*wanted, ("NCCL_PROTO", "^LL128")]
    return [toggle(request, node, name, value) for name, value in wanted if request.settings.get(name) != value]


def unset(names: Iterable[str]) -> Changes:
    """Changes that take variables away."""
    return tuple((name, None) for name in names)


def identity(names: tuple[str, ...]) -> str:
    """The id of an experiment without some variables; empty for none."""
    return " ".join(("without", *names)) if names else ""


def fresh_for(request: SmokeRequest, changes: Changes) -> bool:
    """Whether a change needs an interpreter that starts with it."""
    return any(name in request.load_time for name, _ in changes)


def limit(request: SmokeRequest, node: TestedNode) -> float:
    """Seconds for one launch; one of the quick matrix takes 3 to 4 on a GPU."""
    return 90.0 if request.thorough or node.platform == "cpu" else 25.0
