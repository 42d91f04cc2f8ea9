"""What the experiments say of each finding: confirmed, refuted, or not testable here and why.

Equal hashes never prove that a name is not read: NCCL_P2P_DISABLE=1 is real and changed no bit. What nobody reads is
shown by the library's own names and by a traced run that made a communicator and an AllReduce.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envdoctor.node.smoke import values
from envdoctor.node.smoke.compare import compare
from envdoctor.node.smoke.compare.verdicts import control_problem, listed
from envdoctor.node.smoke.model import (
    Ask,
    ExperimentResult,
    Kind,
    SmokeConfirmation,
    SmokeRequest,
    State,
    Suspect,
    TestedNode,
)
from envdoctor.node.smoke.plan.planner import COLLECTIVES, OWN

UNTESTABLE: State = "not testable here"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that confirmations are made from. `library_names`, `asked`: None where they are not known."""

    node: TestedNode
    results: Sequence[ExperimentResult]
    library_names: frozenset[str] | None = None
    asked: tuple[Ask, ...] | None = None

    def traced(self) -> ExperimentResult | None:
        """The traced run that counts: the last one that succeeded, or else the last one."""
        runs = compare.of_role(self.results, "traced")
        good = [run for run in runs if run.status == "ok"]
        return good[-1] if good else runs[-1] if runs else None

    def asks(self, name: str) -> tuple[Ask, ...]:
        """The traced requests for a variable."""
        return tuple(ask for ask in self.asked or () if ask.variable == name)

    def logged(self, name: str) -> bool:
        """Whether the log of any run says that the library read a variable."""
        return any(result.log.value_of(name) is not None for result in self.results)


def confirmations(request: SmokeRequest, evidence: Evidence) -> tuple[SmokeConfirmation, ...]:
    """One confirmation for each suspect, in their order."""
    if evidence.node.platform == "cpu":
        return untestable(request, "the runs used gloo on the CPU, not the collectives library of the GPUs")
    return tuple(confirmation(suspect, evidence) for suspect in request.suspects)


def untestable(request: SmokeRequest, reason: str) -> tuple[SmokeConfirmation, ...]:
    """The same reason for all suspects."""
    return tuple(SmokeConfirmation(suspect, UNTESTABLE, reason) for suspect in request.suspects)


def confirmation(suspect: Suspect, evidence: Evidence) -> SmokeConfirmation:
    """What the experiments say of one finding."""
    if suspect.name in OWN:
        return SmokeConfirmation(
            suspect, UNTESTABLE, "the smoke test sets this variable itself to read the library's log"
        )
    return BY_KIND[suspect.kind](suspect, evidence)


def ghost(suspect: Suspect, evidence: Evidence) -> SmokeConfirmation:
    """Nobody reads it: not among the library's names, and never asked for."""
    name = suspect.name
    if refutation := read_by_someone(name, evidence):
        return SmokeConfirmation(suspect, "refuted", refutation)
    if gap := evidence_gap(evidence):
        return SmokeConfirmation(suspect, UNTESTABLE, gap)
    assert evidence.library_names is not None
    reason = (
        f"not among the {len(evidence.library_names)} names in the loaded library, and no library asked for it in a "
        f"traced run of a communicator and {all_reduces(evidence)} AllReduce calls{no_difference(name, evidence)}"
    )
    return SmokeConfirmation(suspect, "confirmed", reason, ("traced",))


def misnamed(suspect: Suspect, evidence: Evidence) -> SmokeConfirmation:
    """Nobody reads the name as written, and the one that was meant is read."""
    if refutation := read_by_someone(suspect.name, evidence):
        return SmokeConfirmation(suspect, "refuted", refutation)
    if gap := evidence_gap(evidence):
        return SmokeConfirmation(suspect, UNTESTABLE, gap)
    asks = evidence.asks(suspect.meant)
    if not asks and suspect.meant not in (evidence.library_names or ()):
        return SmokeConfirmation(suspect, UNTESTABLE, f"nothing here reads {suspect.meant or 'the right name'} either")
    right = f"{asks[0].library} asks for {suspect.meant}" if asks else f"the loaded library has {suspect.meant}"
    reason = f"no library asked for it in a traced run, while {right}{no_difference(suspect.name, evidence)}"
    return SmokeConfirmation(suspect, "confirmed", reason, ("traced",))


def read_by_someone(name: str, evidence: Evidence) -> str:
    """Why a name is not a ghost; empty if nothing speaks for it."""
    if evidence.library_names is not None and name in evidence.library_names:
        return f"the loaded library has the name {name}"
    if asks := evidence.asks(name):
        return f"{asks[0].library} asked for it in a traced run"
    if evidence.logged(name):
        return "the library's log says that it was read"
    for result in compare.of_role(evidence.results, "without"):
        before = compare.find(evidence.results, result.experiment.baseline)
        removed = {changed for changed, _ in result.experiment.changes}
        kept = {changed for changed, _ in before.experiment.changes} if before else set()
        if before and removed - kept == {name} and before.id != "pinned" and compare.differing(before, result):
            return f"results change without it: {listed(compare.differing(before, result))}"
    return ""


def evidence_gap(evidence: Evidence) -> str:
    """What is missing to say that nobody reads a name; empty if nothing is."""
    if evidence.library_names is None:
        return "the names in the loaded library's file are not known"
    run = evidence.traced()
    if run is None or evidence.asked is None:
        return "no run was traced" + (f": {run.reason}" if run and run.reason else "")
    if run.status != "ok" or not all_reduces(evidence):
        return f"the traced run made no AllReduce: {run.reason}"
    return "" if evidence.asked else "the trace holds no request at all, so it shows nothing"


def all_reduces(evidence: Evidence) -> int:
    """AllReduce calls of one rank in the traced run."""
    run = evidence.traced()
    return sum(len(hashes) for hashes in run.ranks[0].hashes.values()) if run and run.ranks else 0


def no_difference(name: str, evidence: Evidence) -> str:
    """That results were the same with and without a name, as far as that was tried."""
    for result in compare.of_role(evidence.results, "without"):
        before = compare.find(evidence.results, result.experiment.baseline)
        removed = {changed for changed, _ in result.experiment.changes}
        if before and before.id != "pinned" and name in removed and result.status == "ok":
            count = len(compare.shared(before, result))
            if count and not compare.differing(before, result):
                return f"; no difference in {count} comparisons with and without it"
    return ""


def unpinned(suspect: Suspect, evidence: Evidence) -> SmokeConfirmation:
    """What is left to the tuner matters: its choices change with the size, and other choices give other bits."""
    if problem := control_problem(evidence.results):
        return SmokeConfirmation(suspect, UNTESTABLE, problem)
    run, pinned = compare.base(evidence.results), compare.find(evidence.results, "pinned")
    assert pinned is not None
    if run is None or run.status != "ok":
        return SmokeConfirmation(
            suspect, UNTESTABLE, f"your settings did not run: {run.reason if run else 'not planned'}"
        )
    apart, count = compare.differing(run, pinned), len(compare.shared(run, pinned))
    chosen = choices(run)
    ran = f"; the library ran {listed([f'{what} at {size} bytes' for size, what in chosen.items()])}" if chosen else ""
    if apart or len(set(chosen.values())) > 1:
        reason = f"your run and one pinned to Ring and Simple differ in {len(apart)} of {count} comparisons{ran}"
        if not apart:
            reason += "; the choice changes with the size, and Ring and Tree differ in bits"
        return SmokeConfirmation(suspect, "confirmed", reason, (run.id, "pinned", "control"))
    reason = f"on this node, at these sizes, your run equals one pinned to Ring and Simple in all {count} comparisons"
    return SmokeConfirmation(suspect, "refuted", reason + ran, (run.id, "pinned"))


def choices(result: ExperimentResult) -> dict[int, str]:
    """Message size -> algorithm and protocol of AllReduce, by the log."""
    return {
        choice.bytes: f"{choice.algorithm}/{choice.protocol}"
        for choice in sorted(result.log.choices, key=lambda choice: choice.bytes)
        if choice.function in ("", "AllReduce")
    }


def late(suspect: Suspect, evidence: Evidence) -> SmokeConfirmation:
    """Asked for before it was set, and not again after."""
    run = evidence.traced()
    if run is None or run.status != "ok":
        return SmokeConfirmation(
            suspect, UNTESTABLE, f"no run with a late write: {run.reason if run else 'not planned'}"
        )
    if run.log.value_of(suspect.name) is not None or any(ask.value is not None for ask in evidence.asks(suspect.name)):
        return SmokeConfirmation(suspect, "refuted", "read after it was set, though a communicator existed", (run.id,))
    if evidence.asked is None:
        return SmokeConfirmation(suspect, UNTESTABLE, "the run was not traced, so who asked and when is not known")
    asks = evidence.asks(suspect.name)
    if not asks:
        return SmokeConfirmation(suspect, UNTESTABLE, "nothing asked for it in this run, before or after")
    reason = (
        f"{asks[0].library} asked for it while it was not set, and never again after it was set behind the first "
        "AllReduce; only a process or communicator made later could see it"
    )
    return SmokeConfirmation(suspect, "confirmed", reason, (run.id,))


def bad_value(suspect: Suspect, evidence: Evidence) -> SmokeConfirmation:
    """The library refuses the value, takes another one instead, or passes over it."""
    run = compare.find(evidence.results, "user")
    if run is None or run.status not in ("ok", "refused"):
        return SmokeConfirmation(
            suspect, UNTESTABLE, f"your settings did not run: {run.reason if run else 'not planned'}"
        )
    refusal = next((item for item in run.log.refusals if item.name == suspect.name), None)
    if refusal is not None:
        what = f"replaced by {refusal.used}" if refusal.used is not None else "refused"
        return SmokeConfirmation(suspect, "confirmed", f"{what} by this library: {refusal.text}", (run.id,))
    if run.status == "refused":
        return SmokeConfirmation(suspect, "confirmed", run.reason, (run.id,))
    understood = run.log.value_of(suspect.name)
    if understood is None:
        return SmokeConfirmation(suspect, UNTESTABLE, "the log does not show that it was read")
    if understood != suspect.value:
        if number(understood) is not None and number(understood) == number(suspect.value):
            return SmokeConfirmation(suspect, "refuted", f"read as {understood}", (run.id,))
        return SmokeConfirmation(suspect, "confirmed", f"read as {understood}", (run.id,))
    return followed(suspect, run)


def followed(suspect: Suspect, run: ExperimentResult) -> SmokeConfirmation:
    """Of an algorithm or protocol that the log repeats as given: whether the calls kept to it."""
    if suspect.name not in values.KNOWN:
        return SmokeConfirmation(suspect, "refuted", f"read as {suspect.value}", (run.id,))
    index = tuple(values.KNOWN).index(suspect.name)
    words = {size: what.split("/")[index] for size, what in choices(run).items()}
    if not words:
        return SmokeConfirmation(suspect, UNTESTABLE, "this release does not log what a call ran")
    other = {size: word for size, word in words.items() if word not in values.allowed(suspect.name, suspect.value)}
    if not other:
        return SmokeConfirmation(suspect, "refuted", f"followed: every call ran {listed(sorted(set(words.values())))}")
    ran = listed([f"{word} at {size} bytes" for size, word in other.items()])
    return SmokeConfirmation(suspect, "confirmed", f"passed over in silence: the library ran {ran}", (run.id,))


def number(text: str) -> int | None:
    """A whole number as the libraries read it (base by prefix), None for anything else."""
    try:
        return int(text, 0)
    except ValueError:
        return None


def contradictory(suspect: Suspect, evidence: Evidence) -> SmokeConfirmation:
    """Which of several values or variables won."""
    run = compare.base(evidence.results)
    if run is None or run.status != "ok":
        return SmokeConfirmation(
            suspect, UNTESTABLE, f"your settings did not run: {run.reason if run else 'not planned'}"
        )
    if suspect.values:
        got = [ask.value for ask in evidence.asks(suspect.name) if ask.value is not None]
        won = run.log.value_of(suspect.name) or (got[-1] if got else None)
        if won is None:
            return SmokeConfirmation(suspect, UNTESTABLE, "neither log nor trace shows what the library got")
        return SmokeConfirmation(suspect, "confirmed", f"{won} won, of {', '.join(suspect.values)}", (run.id,))
    acts = {name: effect(name, run, evidence) for name in (suspect.name, suspect.other)}
    if None in acts.values():
        return SmokeConfirmation(suspect, UNTESTABLE, "the runs without each of the two did not succeed")
    winners = [name for name, act in acts.items() if act]
    if len(winners) == 2:
        return SmokeConfirmation(
            suspect, "refuted", "each of the two changes something when it is taken away", (run.id,)
        )
    if not winners:
        return SmokeConfirmation(suspect, UNTESTABLE, "taking either away changes nothing that the test can see")
    return SmokeConfirmation(
        suspect, "confirmed", f"{winners[0]} won: taking the other away changes nothing", (run.id,)
    )


def ineffective(suspect: Suspect, evidence: Evidence) -> SmokeConfirmation:
    """Read, and without effect here."""
    name = suspect.name
    if not name.startswith(COLLECTIVES):
        return SmokeConfirmation(suspect, UNTESTABLE, "an AllReduce does not exercise what this variable is for")
    run = compare.base(evidence.results)
    act = effect(name, run, evidence) if run is not None else None
    if run is None or act is None:
        return SmokeConfirmation(suspect, UNTESTABLE, "the run without it did not succeed")
    if act:
        return SmokeConfirmation(suspect, "refuted", f"it has an effect here: {act}", (run.id, f"no {name}"))
    toggled = compare.find(evidence.results, f"no {name}")
    assert toggled is not None
    read = evidence.logged(name) or bool(evidence.asks(name))
    reason = f"{'read, but' if read else 'not seen to be read, and'} results, algorithms and transports are the same "
    reason += f"with and without it ({len(compare.shared(run, toggled))} comparisons of hashes)"
    if suspect.other and effect(suspect.other, run, evidence):
        reason += f"; taking {suspect.other} away does change them"
    return SmokeConfirmation(suspect, "confirmed", reason, (run.id, toggled.id))


def effect(name: str, run: ExperimentResult, evidence: Evidence) -> str | None:
    """What changes when a variable is taken away: words, empty for nothing, None where it was not tried."""
    toggled = compare.find(evidence.results, f"no {name}")
    if toggled is None or toggled.status != "ok":
        return None
    if apart := compare.differing(run, toggled):
        return f"other bits in {listed(apart)}"
    mine, other = choices(run), choices(toggled)
    if any(mine.get(size, what) != what for size, what in other.items()):
        return "another algorithm or protocol"
    ways = [{transport.via.split("/")[0] for transport in result.log.transports} for result in (run, toggled)]
    return "another transport" if ways[0] != ways[1] else ""


BY_KIND: dict[Kind, Callable[[Suspect, Evidence], SmokeConfirmation]] = {
    "ghost": ghost,
    "misnamed": misnamed,
    "unpinned": unpinned,
    "late": late,
    "bad-value": bad_value,
    "contradictory": contradictory,
    "ineffective": ineffective,
}
