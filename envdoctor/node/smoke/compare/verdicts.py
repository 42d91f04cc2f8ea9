"""What the results mean: one verdict a rule, from the numbers alone.

Nothing here ever says that a node is reproducible. The most that can be said is how many comparisons showed no
difference, and only if the positive control shows that the test would have seen one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envdoctor.node.smoke import placement, values
from envdoctor.node.smoke.compare import compare
from envdoctor.node.smoke.model import ExperimentResult, SmokeRequest, SmokeVerdict, TestedNode

SHOWN = 4


def verdicts(request: SmokeRequest, node: TestedNode, results: Sequence[ExperimentResult]) -> tuple[SmokeVerdict, ...]:
    """All verdicts of one session."""
    ran = [result for result in results if result.status not in ("not run",)]
    found = [
        *ranks_differ(ran), *wrong_sums(ran), *repeats_differ(ran), *restart_differs(ran), *no_effect(request, ran),
        *host_staged(node, ran), *hash_checks(ran), *failures(ran), *inconclusive(node, results),
    ]  # fmt: skip
    return tuple(found)


def not_run(reason: str, message: str) -> SmokeVerdict:
    """The verdict where no experiment could be run."""
    return SmokeVerdict("inconclusive", f"the smoke test could not run: {message}", reason)


def listed(cases: Sequence[str]) -> str:
    """A few cases by name and how many more."""
    more = f" and {len(cases) - SHOWN} more" if len(cases) > SHOWN else ""
    return ", ".join(cases[:SHOWN]) + more


def ranks_differ(results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """Ranks that hold different bits after one AllReduce: corruption or a bug in the library, never rounding."""
    found = []
    for result in results:
        cases = tuple(case for case in compare.case_ids(result) if not compare.ranks_agree(result, case))
        if cases:
            odd = sorted({rank for case in cases for rank in compare.odd_ranks(result, case)})
            ranks = ", ".join(map(str, odd))
            message = f"after one AllReduce not all ranks hold the same bits (rank {ranks}): {listed(cases)}"
            found.append(SmokeVerdict("ranks-differ", message, experiments=(result.id,), cases=cases))
    return found


def wrong_sums(results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """Sums of whole numbers that are not exact: data corruption, since no order of addition rounds there."""
    found = []
    for result in results:
        if cases := compare.wrong_cases(result):
            ranks = sorted({rank.rank for rank in result.ranks if any(rank.wrong.get(case) for case in cases)})
            count = max(rank.wrong.get(case, 0) for rank in result.ranks for case in cases)
            message = (
                f"sums of whole numbers are wrong in up to {count} elements on rank {', '.join(map(str, ranks))}, "
                f"where no rounding is possible: {listed(cases)}"
            )
            found.append(SmokeVerdict("wrong-sum", message, experiments=(result.id,), cases=cases))
    return found


def repeats_differ(results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """Repeats of one call in one process that differ, though the ranks agree each time."""
    found = []
    for result in results:
        cases = [
            case for case in compare.case_ids(result)
            if not compare.repeats_agree(result, case) and compare.ranks_agree(result, case)
        ]  # fmt: skip
        cases += [case for case in overlapping(result) if case not in cases]
        if cases:
            message = f"the same call in the same process gave different bits: {listed(cases)}"
            if stable := steadied(results):
                message += f"; stable with {', '.join(stable)}"
            found.append(SmokeVerdict("repeats-differ", message, experiments=(result.id,), cases=tuple(cases)))
    return found


def overlapping(result: ExperimentResult) -> tuple[str, ...]:
    """Cases that give one hash alone and another one beside matrix products on another stream."""
    pairs = [(case, case.removesuffix("/overlap")) for case in compare.case_ids(result) if case.endswith("/overlap")]
    return tuple(
        beside for beside, alone in pairs
        if result.agreed(beside) and result.agreed(alone) and result.agreed(beside) != result.agreed(alone)
    )  # fmt: skip


def steadied(results: Sequence[ExperimentResult]) -> tuple[str, ...]:
    """Single changes under which all repeats agree, where those of the user's settings do not."""
    return tuple(
        result.id for result in compare.of_role(results, "toggle")
        if result.status == "ok" and all(compare.repeats_agree(result, case) for case in compare.case_ids(result))
    )  # fmt: skip


def restart_differs(results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """The same settings in new processes give other bits, though each run is stable in itself."""
    found = []
    for result in compare.of_role(results, "restart"):
        before = compare.find(results, result.experiment.baseline)
        cases = compare.differing(before, result) if before else ()
        if before and cases:
            moved = ring_words(before, result)
            message = f"the same settings gave different bits in new processes: {listed(cases)}{moved}"
            found.append(SmokeVerdict("restart-differs", message, experiments=(before.id, result.id), cases=cases))
    return found


def ring_words(left: ExperimentResult, right: ExperimentResult) -> str:
    """Whether the logs of two runs show other rings and trees."""
    orders = [{note.text for note in result.log.orders} for result in (left, right)]
    if not all(orders):
        return ""
    return "; the logs show other rings or trees" if orders[0] != orders[1] else "; the rings and trees are the same"


def no_effect(request: SmokeRequest, results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """A pinned algorithm or protocol that the log of the very run contradicts."""
    found = []
    for result in results:
        given = {**request.settings, **{name: value or "" for name, value in result.experiment.changes}}
        for name, index in (("NCCL_ALGO", 0), ("NCCL_PROTO", 1)):
            value = given.get(name, "")
            if not value or values.unknown(name, value) or result.status != "ok":
                continue
            if sizes := escaped(result, values.allowed(name, value), index):
                message = f"{name}={value} was not followed for AllReduce of {size_words(sizes)}"
                found.append(SmokeVerdict("no-effect", message, name, (result.id,)))
    return found


def escaped(result: ExperimentResult, allowed: frozenset[str], index: int) -> dict[int, str]:
    """Message size -> what it ran, for calls whose algorithm (index 0) or protocol (1) was not allowed."""
    found = {}
    for choice in result.log.choices:
        used = (choice.algorithm, choice.protocol)[index]
        if choice.function in ("", "AllReduce") and used not in allowed:
            found[choice.bytes] = used
    names = {note.kind for note in result.log.bypasses}
    for size in result.log.bypassed():
        found[size] = " or ".join(sorted(names)) or "a path that writes no choice"
    return found


def size_words(sizes: Mapping[int, str]) -> str:
    """Sizes and what they ran, in words."""
    words = [f"{size} bytes (ran {used})" for size, used in sorted(sizes.items())]
    return listed(words)


def host_staged(node: TestedNode, results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """GPUs of one node that exchange data through host memory or the network although each sees the other."""
    first = compare.base(results)
    if first is None or node.platform == "cpu":
        return []
    hosts = {seat.rank: seat.host for seat in placement.seats(node)}
    devices = {seat.rank: seat.device for seat in placement.seats(node)}
    pairs: dict[tuple[int, int], str] = {}
    for transport in first.log.transports:
        pair = transport.source, transport.target
        same = hosts.get(pair[0], "?") == hosts.get(pair[1], "!") and devices.get(pair[0]) != devices.get(pair[1])
        if same and not transport.via.startswith(("P2P", "PSM_P2P", "NVLS", "CollNet")):
            pairs[pair] = transport.via
    if not pairs:
        return []
    words = listed([f"{left} -> {right} via {via}" for (left, right), via in sorted(pairs.items())])
    message = f"GPUs of one node do not reach each other directly, data goes through the host: {words}"
    return [SmokeVerdict("host-staged", message, experiments=(first.id,))]


def hash_checks(results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """SHA-256 on the host against the hash on the GPU: each must be equal exactly where the other is."""
    pairs: dict[tuple[str, str], set[str]] = {}
    for result in results:
        for rank in result.ranks:
            for case, hashes in rank.hashes.items():
                digests = rank.sha256.get(case, ())
                for index in range(min(len(hashes), len(digests))):
                    pairs.setdefault((case, hashes[index]), set()).add(digests[index])
                    pairs.setdefault((case, digests[index]), set()).add(hashes[index])
    cases = tuple(sorted({case for (case, _), others in pairs.items() if len(others) > 1}))
    if not cases:
        return []
    return [SmokeVerdict("inconclusive", f"SHA-256 and the GPU's hash disagree: {listed(cases)}", "hash", cases=cases)]


def failures(results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """Experiments that did not end well; what that means for the positive control is said elsewhere."""
    return [
        SmokeVerdict("inconclusive", f"{result.experiment.why}: {result.reason}", result.status, (result.id,))
        for result in results
        if result.status != "ok" and result.experiment.role not in ("pinned", "control")
    ]  # fmt: skip


def inconclusive(node: TestedNode, results: Sequence[ExperimentResult]) -> list[SmokeVerdict]:
    """Why equal hashes would mean little here: no GPU, too few ranks, or a control that shows no difference."""
    if node.platform == "cpu":
        message = "the harness works; on the CPU nothing is learnt about the GPUs or their library"
        return [SmokeVerdict("inconclusive", message, "cpu")]
    if len(placement.seats(node)) < placement.FEW:
        message = "with 2 ranks a + b = b + a: effects of order cannot be seen"
        return [SmokeVerdict("inconclusive", message, "ranks")]
    reason = control_problem(results)
    return [SmokeVerdict("inconclusive", reason, "control", ("pinned", "control"))] if reason else []


def control_problem(results: Sequence[ExperimentResult]) -> str:
    """Why the positive control does not vouch for the test; empty if it does."""
    pinned, control = compare.find(results, "pinned"), compare.find(results, "control")
    for result in (pinned, control):
        if result is None or result.status != "ok":
            return f"the positive control did not run ({result.reason if result else 'not planned'})"
    assert pinned is not None and control is not None
    if compare.differing(pinned, control):
        return ""
    count = len(compare.shared(pinned, control))
    return f"the positive control is blind: Ring and Tree gave the same bits in all {count} comparisons"


def claim(node: TestedNode, results: Sequence[ExperimentResult]) -> str:
    """The one sentence that equal hashes allow; empty where something differed or nothing was compared."""
    standing = [result for result in results if result.id in ("user", "restart") and result.status == "ok"]
    whole = compare.base(results)
    if whole is not None and whole.status == "ok" and whole not in standing:
        standing.append(whole)
    faults = (ranks_differ, wrong_sums, repeats_differ, restart_differs, hash_checks)
    if not standing or any(fault(standing) for fault in faults):
        return ""
    count = sum(compare.comparisons(result) for result in standing)
    before, after = compare.find(standing, "user"), compare.find(standing, "restart")
    restarts = len(compare.shared(before, after)) if before and after else 0
    ranks = len(standing[0].ranks)
    words = f"{ranks} ranks, {len(compare.case_ids(standing[0]))} cases"
    again = f", {restarts} of them across a restart" if restarts else ""
    blind = "" if node.platform != "cpu" and not control_problem(results) else "; see the inconclusive verdict"
    return f"no difference in {count + restarts} comparisons of AllReduce results{again} ({words}){blind}"
