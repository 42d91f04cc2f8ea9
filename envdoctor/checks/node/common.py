"""What the facts of a node say together, one short function a rule.

`parameters.probe` of a rule names the line of the node report that the finding belongs to; further parameters are
numbers and words that the function compares with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from envdoctor.checks.context import FileContext
from envdoctor.core.facts import Observation, Place, Setting
from envdoctor.core.findings import Confidence, Finding, Related, Severity
from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.rulebook import Rule

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Told:
    """What a test says: a finding without the parts that the rule gives, unless the test knows better."""

    message: str
    place: Place
    severity: Severity | None = None
    confidence: Confidence | None = None
    variable: str | None = None
    help: str = ""
    related: tuple[Related, ...] = ()
    evidence: tuple[str, ...] = ()
    """Instead of the rule's, where a vendor has its own."""


@dataclass(slots=True)
class Seen:
    """The facts of one node, by key, for the tests."""

    observations: Sequence[Observation]
    settings: Sequence[Setting] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    _by_key: dict[str, list[Observation]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for observation in self.observations:
            self._by_key.setdefault(observation.key, []).append(observation)

    def all(self, key: str) -> list[Observation]:
        """Every observation of a key, in order."""
        return self._by_key.get(key, [])

    def first(self, key: str) -> Observation | None:
        """The observation of a key that is stated once, or None where nothing is known."""
        return next(iter(self.all(key)), None)

    def value(self, key: str) -> Scalar:
        """Its value; None where nothing is known, and where there is no limit."""
        found = self.first(key)
        return found.value if found else None

    def number(self, key: str) -> int:
        """Its value where it is a number; 0 where nothing is known."""
        value = self.value(key)
        return value if isinstance(value, int) else 0

    def text(self, key: str) -> str:
        """Its value where it is a text; "" where nothing is known."""
        value = self.value(key)
        return value if isinstance(value, str) else ""

    def texts(self, key: str) -> list[str]:
        """All values of a key that is stated once per item, as text, each once."""
        return list(dict.fromkeys(str(observation.value) for observation in self.all(key)))

    def by_item(self, key: str) -> dict[str, Scalar]:
        """Item -> value, of a key that is stated once per item."""
        return {observation.detail: observation.value for observation in self.all(key)}

    def hidden(self) -> set[str]:
        """GPUs ("gpu 3") that variables hide from the process or job: what they are is not judged."""
        return {observation.detail for observation in self.all("gpu.device.hidden") if observation.value is True}

    def visible(self, key: str) -> list[Observation]:
        """Observations of each GPU, without the hidden ones; none where it is not known which ones are hidden."""
        hidden = self.hidden()
        if not hidden and 0 < self.number("gpu.visible") < self.number("gpu.count"):
            return []
        return [observation for observation in self.all(key) if observation.detail not in hidden]

    def gpus(self) -> int:
        """How many GPUs the process or job has to do with."""
        return self.number("gpu.visible") or self.number("gpu.count")

    def archs(self) -> list[str]:
        """Architectures of those GPUs, each once; of a mixed node all of them."""
        each = [str(observation.value) for observation in self.visible("gpu.device.arch")]
        together = self.text("gpu.arch")
        return list(dict.fromkeys(each)) or ([together] if together not in ("", "mixed") else [])

    def setting(self, name: str) -> Setting | None:
        """The setting of the process that counts: the environment's own before that of a conf file."""
        found = [s for s in self.settings if s.name == name and s.op in ("set", "default")]
        given = [s for s in found if s.op == "set"]
        return given[-1] if given else next(iter(found), None)

    def known_value(self, name: str) -> str | None:
        """The value that a setting of the process gives, where it is set and known."""
        setting = self.setting(name)
        return setting.value.known if setting else None


NodeCheck = Callable[[Seen], Iterator[Told]]


def told(rule: Rule, context: FileContext, check: NodeCheck) -> Iterator[Finding]:
    """What a check says of the node, as findings of a rule."""
    for one in check(Seen(context.observations, context.facts.settings, rule.parameters)):
        yield Finding(
            rule.id, rule.name, one.severity or rule.severity, one.confidence or rule.confidence, one.place,
            one.message, one.help or rule.fix, one.variable, one.evidence or rule.evidence, one.related,
        )  # fmt: skip


def listed(words: Sequence[str], most: int = 4) -> str:
    """`a, b and c`; where there are many, the first ones and how many more."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
