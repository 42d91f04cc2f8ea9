"""Parameters of the check of seeds."""

from __future__ import annotations

from typing import Annotated, TypedDict

from envdoctor.knowledge.parameters.forms import (
    Bounds,
    Common,
    NameFrom,
    Names,
    Position,
    Regex,
    Scalar,
    SomeTexts,
    Texts,
)  # fmt: skip

StreamName = Annotated[str, NameFrom("stream")]


class _WithoutOptions(TypedDict, total=False):
    unless_mentioned: str
    """A text in the project that shows that the seeds reach it all the same."""


class Without(_WithoutOptions):
    """Seeds that do not reach a stream in some releases."""

    component: str
    """Whose release counts (`torch`, `tensorflow`)."""
    release: Bounds
    """The releases in which they do not."""
    names: Names
    """The calls that seed."""


class _StreamOptions(TypedDict, total=False):
    draws: Names
    """Calls that draw from it."""
    models: Names
    """Calls that make a model and draw its weights from it."""
    partial: Names
    """Calls that seed a part of it only."""
    without: list[Without]
    """Seeds that do not reach it in some releases."""


class StreamData(_StreamOptions):
    """A global generator of random numbers."""

    name: str
    """Its name for people."""
    seeds: Names
    """Calls that seed it."""
    call: str
    """The call to write, as `random.seed(seed)`."""


class _DrawOptions(TypedDict, total=False):
    position: Position
    """Where the first of the keywords stands among positional arguments, counted from 0."""
    unless: dict[str, Scalar]
    """Argument -> the value with which nothing is drawn."""
    only: dict[str, Scalar]
    """Argument -> the value with which alone something is drawn."""


class ArgumentDraw(_DrawOptions):
    """Calls that draw from a stream unless they are given a seed."""

    names: Names
    """The calls."""
    keywords: SomeTexts
    """Arguments that take the seed."""
    stream: StreamName
    """The stream that they draw from otherwise: the `name` of one of `stream`."""


class _HelperOptions(TypedDict, total=False):
    note: str
    """What is worth knowing about it; it is not shown."""


class Helper(_HelperOptions):
    """Functions of libraries that seed several streams."""

    names: Names
    """The functions."""
    streams: list[StreamName]
    """What they seed: names of `stream`."""


class _GeneratorOptions(TypedDict, total=False):
    keywords: Texts
    """Arguments that take the seed: with any argument it is seeded."""
    seeded_by: Texts
    """Methods that seed it later."""


class Generator(_GeneratorOptions):
    """Generators that stand alone."""

    names: Names
    """Calls that make one."""
    says: str
    """What is wrong where it is not seeded, as the end of a sentence."""


class _ReseedOptions(TypedDict, total=False):
    keywords: Texts
    """Arguments that take the value; without this key every call is one without a value."""


class Reseed(_ReseedOptions):
    """Calls that seed from the system where they are given no value."""

    names: Names
    """The calls."""


class _SeedArgumentOptions(TypedDict, total=False):
    position: Position
    """Where the first of the keywords stands among positional arguments, counted from 0."""


class SeedArgument(_SeedArgumentOptions):
    """Calls with a seed among their arguments."""

    names: Names
    """The calls."""
    keywords: SomeTexts
    """Arguments that take the seed."""


class _SharedOptions(TypedDict, total=False):
    position: Position
    """Where the seed stands among positional arguments, counted from 0."""
    unless: Texts
    """Parts of names of calls that show that each rank has data of its own."""


class SharedSeed(_SharedOptions):
    """Calls whose seed has to be the same on all ranks."""

    names: Names
    """The calls."""
    keywords: SomeTexts
    """Arguments that take the seed."""
    says: str
    """What goes wrong otherwise."""


class Loader(TypedDict):
    """Loaders of data with workers."""

    names: Names
    """Calls that make one."""
    workers: str
    """The argument with the number of workers."""
    init: str
    """The argument with what each worker begins with."""


class Sampler(TypedDict):
    """Samplers that want to be told the epoch."""

    names: Names
    """Calls that make one."""
    told_by: str
    """The end of the name of the method that tells it."""
    frameworks: Texts
    """Packages that tell it themselves."""


class Keys(TypedDict):
    """Keys in the place of a global generator, as in JAX."""

    makers: Names
    """Calls that make a key."""
    splitters: Names
    """Calls that make several of one."""
    draws: Names
    """Calls that draw with one."""


class Seeds(Common):
    """`python.seeds`: generators that a training draws from without a seed."""

    seeds_unseen: Regex
    """Names of functions and arguments that speak of a seed: what they do cannot be told."""
    seeds_nothing: Names
    """Calls that speak of a seed and seed nothing."""
    entropy: Texts
    """What a seed must not come from, as `time.time()`."""
    not_drawn_in: Regex
    """Names of functions whose draws are no part of the training."""
    stream: list[StreamData]
    """Global generators."""
    argument_draw: list[ArgumentDraw]
    """Calls that draw unless they are given a seed."""
    helper: list[Helper]
    """Functions that seed several generators."""
    generator: list[Generator]
    """Generators that stand alone."""
    reseed: list[Reseed]
    """Calls that seed from the system where they are given no value."""
    seed_argument: list[SeedArgument]
    """Further calls with a seed among their arguments."""
    shared: list[SharedSeed]
    """Calls whose seed has to be the same on all ranks."""
    loader: list[Loader]
    """Loaders of data with workers."""
    sampler: Sampler
    """Samplers that want to be told the epoch."""
    keys: Keys
    """Keys in the place of a global generator."""
