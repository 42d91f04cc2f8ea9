"""Comparing the hashes of results: pure functions over what the ranks wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from envdoctor.node.smoke.model import ExperimentResult, Role


def find(results: Sequence[ExperimentResult], identity: str) -> ExperimentResult | None:
    """The result of an experiment by its id."""
    return next((result for result in results if result.id == identity), None)


def of_role(results: Sequence[ExperimentResult], role: Role) -> tuple[ExperimentResult, ...]:
    """The results of one role, in the order they were run."""
    return tuple(result for result in results if result.experiment.role == role)


def base(results: Sequence[ExperimentResult]) -> ExperimentResult | None:
    """The run that stands for the user: their settings, or those of them that the library takes."""
    whole = find(results, "user")
    if whole is None or whole.status == "ok":
        return whole
    accepted = [result for result in of_role(results, "without") if result.experiment.baseline == "pinned"]
    return next((result for result in accepted if result.status == "ok"), whole)


def case_ids(result: ExperimentResult) -> tuple[str, ...]:
    """The cases of an experiment that at least one rank finished."""
    return tuple(case.id for case in result.experiment.cases if any(case.id in rank.hashes for rank in result.ranks))


def ranks_agree(result: ExperimentResult, case: str) -> bool:
    """Whether all ranks that finished a case have the same hash in each repeat."""
    rows = [rank.hashes[case] for rank in result.ranks if case in rank.hashes]
    return all(len({row[repeat] for row in rows if repeat < len(row)}) == 1 for repeat in range(max(map(len, rows))))


def odd_ranks(result: ExperimentResult, case: str) -> tuple[int, ...]:
    """Ranks whose first differing repeat is not what most ranks have; all of them where there is no majority."""
    rows = {rank.rank: rank.hashes[case] for rank in result.ranks if case in rank.hashes}
    for repeat in range(min(map(len, rows.values()))):
        votes = Counter(row[repeat] for row in rows.values())
        if len(votes) > 1:
            common, count = votes.most_common(1)[0]
            return tuple(sorted(rank for rank, row in rows.items() if row[repeat] != common or 2 * count <= len(rows)))
    return ()


def repeats_agree(result: ExperimentResult, case: str) -> bool:
    """Whether each rank got the same hash in all repeats."""
    return all(len(set(rank.hashes.get(case, ()))) <= 1 for rank in result.ranks)


def shared(left: ExperimentResult, right: ExperimentResult) -> tuple[str, ...]:
    """Cases for which both results have one hash that all ranks and repeats agree on."""
    return tuple(case for case in case_ids(left) if left.agreed(case) and right.agreed(case))


def differing(left: ExperimentResult, right: ExperimentResult) -> tuple[str, ...]:
    """Of the shared cases, those whose hashes differ."""
    return tuple(case for case in shared(left, right) if left.agreed(case) != right.agreed(case))


def comparisons(result: ExperimentResult) -> int:
    """How many hashes of a result were held against another one of the same case."""
    total = 0
    for case in case_ids(result):
        hashes = sum(len(rank.hashes.get(case, ())) for rank in result.ranks)
        total += max(0, hashes - 1)
    return total


def wrong_cases(result: ExperimentResult) -> tuple[str, ...]:
    """Cases of whole numbers with a wrong sum on some rank."""
    return tuple(dict.fromkeys(case for rank in result.ranks for case, count in rank.wrong.items() if count))
