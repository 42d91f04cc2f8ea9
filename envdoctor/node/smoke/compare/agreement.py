"""Two demonstrations: which sums stay the same on other numbers of ranks, and what a blind test cannot see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from envdoctor.node.smoke.compare import compare
from envdoctor.node.smoke.model import ExperimentResult


@dataclass(frozen=True, slots=True)
class Agreement:
    """One sum of the same global data on several numbers of ranks. `letters`: equal for equal bits."""

    case: str
    ordered: bool
    worlds: tuple[int, ...]
    letters: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether all numbers of ranks gave the same bits."""
        return len(set(self.letters)) == 1 and "-" not in self.letters


def agreements(results: Sequence[ExperimentResult]) -> tuple[Agreement, ...]:
    """For each message: the library's sum and the ordered one, over all numbers of ranks that ran."""
    runs = [result for result in compare.of_role(results, "topology") if result.status == "ok"]
    found = []
    for case in runs[0].experiment.cases if runs else ():
        hashes = [run.agreed(case.id) for run in runs]
        known = {hash_: "ABCDEFGH"[place] for place, hash_ in enumerate(dict.fromkeys(filter(None, hashes)))}
        letters = tuple(known[hash_] if hash_ else "-" for hash_ in hashes)
        worlds = tuple(run.experiment.ranks for run in runs)
        found.append(Agreement(case.id, case.mode == "ordered", worlds, letters))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Blindness:
    """How many different hashes several ring orders gave on equal and on different data."""

    orders: int
    equal: int
    different: int

    @property
    def shown(self) -> bool:
        """Whether the run shows what it is there for: equal data hide the order, different data do not."""
        return self.equal == 1 < self.different

    def sentence(self) -> str:
        """What was seen, in words."""
        return (
            f"{self.orders} ring orders: {self.equal} hash{'es' if self.equal != 1 else ''} when every rank adds the "
            f"same numbers, {self.different} when each adds its own"
        )


def blindness(results: Sequence[ExperimentResult]) -> Blindness | None:
    """The demonstration on equal inputs, None where it did not run."""
    runs = [result for result in compare.of_role(results, "blind") if result.status == "ok"]
    if not runs:
        return None
    hashes: dict[str, set[str | None]] = {"equal": set(), "wide": set()}
    for case in runs[0].experiment.cases:
        hashes[case.data].add(runs[0].agreed(case.id))
    orders = len({case.order for case in runs[0].experiment.cases})
    return Blindness(orders, len(hashes["equal"]), len(hashes["wide"]))
