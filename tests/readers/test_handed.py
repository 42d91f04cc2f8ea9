"""What calls are handed that stands elsewhere: flags of compilers, configurations of DeepSpeed in Python and JSON."""

from __future__ import annotations

import pytest
from facts_shown import check_places, excerpt, facts_of
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import FileFacts

IMPORTS = "from torch.utils.cpp_extension import CUDAExtension, load\nimport deepspeed\nimport transformers\n"
BUILD = "CUDAExtension('k._C', [], extra_compile_args={'nvcc': flags})\n"


def flags(facts: FileFacts) -> list[str]:
    """Each flag: its line, what it is, what it is for, its conditions."""
    return [
        " ".join([str(c.place.line - 3), *(a.text for a in c.arguments), *(f"<{b.condition}>" for b in c.branch)])
        for c in facts.calls
        if c.name == ":compiler.flag"
    ]


FLAGS = {
    "in the call": ("CUDAExtension('k', [], extra_compile_args=['-O3'])\n", ["1 -O3 k"]),
    "by name": ("load(name='k', sources=[], extra_cuda_cflags=['-O3'], extra_cflags=['-g'])\n", ["1 -O3 k", "1 -g k"]),
    "in a list": (f"flags = ['-O3']\n{BUILD}", ["1 -O3 k._C"]),
    "added": (f"flags = ['-O3']\nflags += ['-g']\n{BUILD}", ["1 -O3 k._C", "2 -g k._C"]),
    "appended": (f"flags = []\nflags.append('-g')\nflags.extend(['-s'])\n{BUILD}", ["2 -g k._C", "3 -s k._C"]),
    "in an entry": ("a = {}\na['nvcc'] = ['-O3']\nCUDAExtension('k', [], extra_compile_args=a)\n", ["2 -O3 k"]),
    "joined": (f"base = ['-O3']\nflags = base + ['-g']\n{BUILD}", ["1 -O3 k._C", "2 -g k._C"]),
    "through a function": (f"flags = more(['-O3'])\n{BUILD}", ["1 -O3 k._C"]),
    "under a condition": (f"flags = []\nif fast:\n    flags.append('-g')\n{BUILD}", ["3 -g k._C <fast>"]),
    "one of two": (f"flags = ['-O3'] if fast else []\n{BUILD}", []),
    "of another list": (f"flags = []\nothers = ['-O3']\n{BUILD}", []),
    "of another function": (f"def f():\n    flags = ['-g']\nflags = ['-O3']\n{BUILD}", ["3 -O3 k._C"]),
    "another call": ("f(extra_compile_args=['-O3'])\n", []),
    "of itself": (f"flags = flags + ['-g']\n{BUILD}", ["1 -g k._C"]),
}


@pytest.mark.parametrize(("code", "wanted"), FLAGS.values(), ids=FLAGS)
def test_flags(code: str, wanted: list[str]) -> None:
    text = IMPORTS + code
    facts = facts_of(text, "setup.py")
    assert sorted(flags(facts)) == sorted(wanted)
    for call in facts.calls:
        if call.name == ":compiler.flag":
            assert call.arguments[0].text in excerpt(text, call.place)


def entries(facts: FileFacts) -> list[str]:
    """The entries of a configuration: key and value."""
    return [f"{c.name[11:]}={c.arguments[0].literal}" for c in facts.calls if c.name.startswith(":deepspeed.")]


CONFIGURATIONS = {
    "a dict": ("deepspeed.initialize(config={'a': 1, 'b': {'c': 'x'}})\n", ["a=1", "b.c=x"]),
    "the older name": ("deepspeed.initialize(config_params={'a': True})\n", ["a=True"]),
    "a name": ("ds = {'a': 1}\ndeepspeed.initialize(config=ds)\n", ["a=1"]),
    "a function": ("def make():\n    c = {'a': 1}\n    return c\ndeepspeed.initialize(config=make())\n", ["a=1"]),
    "a constant": ("T = 'fp16'\ndeepspeed.initialize(config={'a': T})\n", ["a=fp16"]),
    "unknown": ("deepspeed.initialize(config={'a': x(), **more})\n", ["a=None"]),
    "transformers": ("transformers.TrainingArguments(deepspeed={'a': 1})\n", ["a=1"]),
    "a path": ("deepspeed.initialize(config='ds.json')\n", []),
    "not DeepSpeed": ("import x\nx.initialize(config={'a': 1})\n", []),
    "a function of itself": ("def make():\n    return make()\ndeepspeed.initialize(config=make())\n", []),
}


@pytest.mark.parametrize(("code", "wanted"), CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_configurations(code: str, wanted: list[str]) -> None:
    assert entries(facts_of(IMPORTS + code, "train.py")) == wanted


DOCUMENTS = {
    "marks": ('{"train_batch_size": 8, "fp16": {"enabled": true}, "steps_per_print": 1}', ["train_batch_size=8",
              "fp16.enabled=True", "steps_per_print=1"]),
    "its own key and one more": ('{"zero_optimization": {"stage": 2}, "bf16": null}', ["zero_optimization.stage=2",
                                 "bf16=None"]),
    "one key": ('{"zero_optimization": {"stage": 2}}', []),
    "another program": ('{"optimizer": {"type": "Adam"}, "scheduler": {}}', []),
    "inside another file": ('{"model": "m", "deepspeed": {"a": 1.5}}', ["a=1.5"]),
    "with comments": ('{"zero_optimization": {}, // why\n "bf16": false, }', ["bf16=False"]),
    "a list": ('[{"zero_optimization": {}, "bf16": true}]', []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents(text: str, wanted: list[str]) -> None:
    assert entries(facts_of(text, "ds_config.json")) == wanted


VALUES = st.recursive(
    st.sampled_from(['"fp16"', "1", "true", "null", "1e-4"]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
        lambda d: "{" + ", ".join(f'"{k}": {v}' for k, v in d.items()) + "}"
    ),
    max_leaves=8,
)


@given(VALUES)
def test_places_hold(value: str) -> None:
    text = f'{{\n "zero_optimization": {value},\n "bf16": true\n}}\n'
    facts = facts_of(text, "ds.json")
    check_places(text, facts)
    assert facts.calls[-1].name == ":deepspeed.bf16"
    for call in facts.calls:
        assert excerpt(text, call.place) == call.arguments[0].text
