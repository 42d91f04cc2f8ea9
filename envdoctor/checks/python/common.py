"""What the checks of Python programs share: how a call is named and where a fault in it is said."""

from __future__ import annotations

from envdoctor.analysis.python.timeline import Event
from envdoctor.checks.context import FileContext
from envdoctor.core.facts import Call, Place
from envdoctor.core.findings import Related


def short(call: Call) -> str:
    """The name of a call for people: without the objects that it goes through."""
    name = call.name
    if "()" in name:
        owner, _, method = name.rpartition("().")
        name = f"{owner.rpartition('.')[2].rpartition('()')[2]}.{method}" if method else owner
    return name.lstrip("?.")


def entry_related(
    context: FileContext, place: Place, message: str = "the training that runs this"
) -> tuple[Related, ...]:
    """The entry of a program, where a finding stands in another file."""
    if place.path == context.facts.path:
        return ()
    return (Related(Place(context.facts.path, 1, 1, 1, 1), message),)


def anchored(event: Event, context: FileContext) -> tuple[Place, tuple[Related, ...]]:
    """Where a fault in an event is said: at the call where it is part of the program.

    Where it stands in a library, which may do as it likes, it is the place in the entry that leads to it."""
    place = event.call.place
    folder = context.facts.path.rpartition("/")[0]
    own = place.path == context.facts.path or not folder or place.path.startswith(f"{folder}/")
    if own or event.site is None:
        return place, entry_related(context, place)
    return event.site, (Related(place, f"{short(event.call)} is called here"),)
