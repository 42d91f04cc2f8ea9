"""References in values: which variables they name and what is left when those are unset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.readers.shared.substitution import parts_of, value_of


@pytest.mark.parametrize(
    ("text", "references", "fallback"),
    [
        ("$A", ("A",), None),
        ("${A}", ("A",), None),
        ("x${A:-b}y", ("A",), "xby"),
        ("${A-}", ("A",), ""),
        ("${A:=b}", ("A",), "b"),
        ("${A:+b}", ("A",), ""),
        ("${A:?needed}", ("A",), None),
        ("${A%x}", ("A",), None),
        ("${A:-${B:-c}}", ("A", "B"), "c"),
        ("${A:-x}$B", ("A", "B"), None),
        ("$(A)", ("A",), None),
        ("$(nproc --all)", (), None),
        ("${oc.env:A,b}", ("A",), "b"),
        ("${oc.env:A}", ("A",), None),
        ("${trainer.nodes}", (), None),
        ("{{ .Values.a }}", (), None),
        ('{{ .Values.a | default "b" | quote }}', (), "b"),
        ("{{ a | default('b') }}", (), "b"),
        ("{{ .Values.a | default 8 }}", (), "8"),
        ("${{ env.A }}", ("A",), None),
        ("${{ matrix.a }}", (), None),
    ],
)
def test_templates(text: str, references: tuple[str, ...], fallback: str | None) -> None:
    value = value_of(parts_of(text), text)
    assert (value.kind, value.text, value.references, value.fallback) == ("template", text, references, fallback)


@pytest.mark.parametrize(
    ("text", "literal"),
    [("", ""), ("a", "a"), ("$", "$"), ("a$", "a$"), ("$1", "$1"), ("$$A", "$A"), ("${A", "${A"), ("{{ a", "{{ a"),
     ("a$$$$b", "a$$b"), ("$(a", "$(a")],
)  # fmt: skip
def test_literals(text: str, literal: str) -> None:
    value = value_of(parts_of(text), text)
    assert (value.kind, value.text) == ("literal", literal)


def test_known_values_fill_the_fallback() -> None:
    assert value_of(parts_of("$A/${B:-x}"), "", {"A": "1"}).fallback == "1/x"
    assert value_of(parts_of("${A:+y}"), "", {"A": "1"}).fallback == "y"
    assert value_of(parts_of("${A:-y}"), "", {"A": ""}).fallback == "y"


@given(st.text(st.sampled_from("$(){}:-A.,+ x"), max_size=40))
def test_any_text_has_a_value(text: str) -> None:
    value = value_of(parts_of(text), text)
    assert value.kind in ("literal", "template")
    assert value.kind == "template" or value.text == text.replace("$$", "$")
