"""Templates are masked in place; conditions around a position are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.readers.shared.template_mask import mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("a: 1\n", "a: 1\n"),
        ("a: {{ x }}\n", "a: _______\n"),
        ("a: ${{ x }}", "a: $_______"),
        ("{{ x }}: 1", "_______: 1"),
        ("a:\n  {{- if x }}\n  b: 1\n  {{ end }}\n", "a:\n" + "\n" * 13 + "\n  b: 1\n" + "\n" * 11 + "\n"),
        ("{% if a %}{% if b %}\nx", "\n" * 20 + "\nx"),
        ("a: {{ x }}{{ y }} b", "a: ______________ b"),
        ("a {{ x\n y }} b", "a ____\n ____ b"),
        ("a {{ x\ny }} b", "a ____\n     b"),
        ("a {{ not closed", "a {{ not closed"),
        ("{{/* }} */}}\nx", "\n" * 12 + "\nx"),
        ("x {# note #} {{ a }}", "x __________ _______".replace("_ _", "___")),
        ("${#array[@]} {{ a }} #}", "${#array[@]} _______ #}"),
    ],
)
def test_masks(text: str, masked: str) -> None:
    assert mask(text).text == masked


@given(st.text(st.sampled_from("{}%#-$ ax\n\r/*"), max_size=80))
def test_length_and_line_ends_outside_of_templates_hold(text: str) -> None:
    masked = mask(text)
    assert len(masked.text) == len(text)
    for at, char in enumerate(text):
        if char == "\n" and not masked.touches(at, at + 1):
            assert masked.text[at] == "\n"


@pytest.mark.parametrize(
    ("text", "arms"),
    [
        ("{{ if a }}X{{ end }}", [("0", "{{ if a }}")]),
        ("{{ if a }}b{{ else }}X{{ end }}", [("1", "{{ else }}")]),
        ("{% if a %}b{% elif c %}X{% endif %}", [("1", "{% elif c %}")]),
        ("{{ range a }}X{{ end }}", []),
        ("{{ if a }}{{ range b }}{{ if c }}X{{ end }}{{ end }}{{ end }}", [("0", "{{ if a }}"), ("0", "{{ if c }}")]),
        ("{{ if a }}{{ end }}X", []),
        ("{{ end }}X", []),
        ("{{ if a }}X", []),
    ],
)
def test_branches_around_a_position(text: str, arms: list[tuple[str, str]]) -> None:
    found = mask(text).around(text.index("X"))
    assert [(branch.arm, branch.condition) for branch in found] == arms


def test_two_conditions_have_two_identities() -> None:
    text = "{{ if a }}X{{ end }}{{ if a }}Y{{ end }}"
    masked = mask(text)
    assert masked.around(text.index("X"))[0].id != masked.around(text.index("Y"))[0].id
