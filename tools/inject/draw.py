"""Places for faults, drawn by seed and spread over the repositories."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from inject.chains import chains
from inject.kinds import Place
from inject.places import in_container, launches, scripts
from inject.settings import Named


def places_of(checkout: Path) -> tuple[list[Place], list[Place]]:
    """The launches of a checkout, and those whose script another one starts."""
    read = list(scripts(checkout))
    starting = [(script, launch) for script in read for launch in launches(script) if not in_container(launch, read)]
    if not starting:
        return [], []
    named = Named(checkout)
    single = [Place(checkout.name, named, script, launch) for script, launch in starting]
    called = [Place(checkout.name, named, chain.callee, chain.launch, chain) for chain in chains(read)]
    return single, called


class OfRepository(Protocol):
    """What stands in a repository."""

    @property
    def repository(self) -> str:
        """The folder of its checkout."""


Drawn = TypeVar("Drawn", bound=OfRepository)


def spread(places: Sequence[Drawn], seed: str) -> Iterator[Drawn]:
    """All places in an order drawn by seed: one of each repository, then a second of each, and so on."""
    chance = random.Random(seed)
    by_repository: dict[str, list[Drawn]] = {}
    for place in places:
        by_repository.setdefault(place.repository, []).append(place)
    queues = list(by_repository.values())
    chance.shuffle(queues)
    for queue in queues:
        chance.shuffle(queue)
    while queues:
        for queue in queues:
            yield queue.pop()
        queues = [queue for queue in queues if queue]
