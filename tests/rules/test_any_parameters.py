"""Any parameters that the records allow: a rule with them runs without an error of ours."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, is_typeddict

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from own_lab import OWN, tried, valid

from envdoctor.knowledge.kinds import KINDS
from envdoctor.knowledge.parameters.forms import Form, NameFrom
from envdoctor.knowledge.parameters.records import RECORDS
from envdoctor.knowledge.parameters.validation import record_of
from envdoctor.knowledge.rule_errors import RuleKeyError

WORDS = st.sampled_from([
    "", "x", "*", "torch.*", "torch.manual_seed", "numpy.random.rand", "random.seed", "NCCL_ALGO", "NCCL_PROTO", "0", "1",
    "seed", "2.7", ">=2.7,<3", "(Ring)", "Ring|1|0", "shuffle", "--deterministic-mode", "--use-flash-attn", "torch",
    "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "gfx90a", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "git", "python",
])  # fmt: skip
SCALARS = {str: WORDS, bool: st.booleans(), int: st.sampled_from([-1, 0, 1, 2, 7, 10**30]), float: st.floats()}


def any_of(kind: Any, streams: list[str]) -> st.SearchStrategy[Any]:
    """Values that a record allows; what stands for the name of a stream is one of `streams`."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        return any_table((kind,), streams)
    if origin is Annotated:
        if isinstance(inner[1], NameFrom):
            return st.sampled_from(streams)
        form: Form = inner[1]
        wanted = st.lists(WORDS, min_size=1, max_size=2) if get_origin(inner[0]) is list else any_of(inner[0], streams)
        return wanted.filter(form.fits)
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is list:
        return st.lists(any_of(inner[0], streams), max_size=2)
    if origin is dict:
        return st.dictionaries(any_of(inner[0], streams), any_of(inner[1], streams), max_size=2)
    return st.one_of(*(SCALARS[one] for one in inner)) if inner else SCALARS[kind]


def any_table(kinds: tuple[type, ...], streams: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    record = record_of(*kinds)
    values = {key: any_of(kind, streams) for key, kind in record.types.items()}
    return st.fixed_dictionaries(
        {key: value for key, value in values.items() if key in record.required},
        optional={key: value for key, value in values.items() if key not in record.required},
    )


@pytest.mark.parametrize("name", OWN)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_parameters(name: str, data: st.DataObject) -> None:
    content = OWN[name]
    kind = KINDS[content["check"]]
    chosen = content["parameters"].get(kind.chooser, "")
    streams = ["random", "numpy.random"]
    parameters = data.draw(any_table(tuple(RECORDS[code] for code in kind.codes[chosen]), streams))
    for table, stream in zip(parameters.get("stream", ()), streams, strict=False):
        table["name"] = stream
    try:
        rule = valid({**content, "parameters": {**parameters, **({kind.chooser: chosen} if chosen else {})}})
    except RuleKeyError as error:
        assert "is not one of" in str(error)  # a stream that there is none of
        assume(False)
        return
    for example in data.draw(st.lists(st.sampled_from(rule.examples), min_size=1, max_size=2)):
        with tempfile.TemporaryDirectory() as folder:
            assert tried(rule, example, Path(folder).resolve()) == []
