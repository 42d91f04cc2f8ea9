"""Places, comments, scopes and branches of settings, and text that is hard to place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import Place, Setting
from envdoctor.core.source import Source
from envdoctor.readers import registry
from envdoctor.readers.python import reader as python
from envdoctor.readers.shared.embedded import mapped


def read(text: str) -> list[Setting]:
    return registry.read(Source("a.py", text), "python").settings


def at(text: str, place: Place | None) -> str:
    """The text of a place that does not span lines, with lines cut at line feeds."""
    assert place is not None and place.line == place.end_line
    return text.split("\n")[place.line - 1][place.column - 1 : place.end_column - 1]


SHAPES = [
    'os.environ["NCCL_A"] = "one"',
    "if x:\n\tos.environ['NCCL_A'] = 'one'",
    'os.environ [ r"NCCL_A" ] = """one"""',
    "os.environ.setdefault('NCCL_A', 'one')",
    "é = 1; os.environ['NCCL_A'] = 'one'",
    "x = 'ééé \U0001f600'; os.environ.update({'NCCL_A': 'one'})",
    "os.environ.update(NCCL_A='one')",
    "N = 'NCCL_A'\nos.environ[N] = 'one'",
    "def f(env={}):\n  for k, v in (('NCCL_A', 'one'),):\n    os.environ[k] = v",
    "\x0cos.environ['NCCL_A'] = 'one'",
    "subprocess.run(c, env={'NCCL_A': 'one'})",
    "x = (\n  V1EnvVar(\n    name='NCCL_A',\n    value='one')\n)",
]


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_name_and_value_stand_where_the_places_say(text: str, end: str) -> None:
    whole = ("import os, subprocess\n" + text + "\n").replace("\n", end)
    (setting,) = read(whole)
    if end == "\r":  # Source counts lines by line feeds: all is one line
        assert setting.name_place is not None and setting.name_place.line == 1
    assert at(whole, setting.name_place) == "NCCL_A"
    assert at(whole, setting.value_place) == "one"


def test_byte_order_mark() -> None:
    text = "\ufeffimport os; os.environ['A1'] = '1'\n"
    (setting,) = read(text)
    assert at(text, setting.name_place) == "A1"


def test_whole_place_of_a_setting() -> None:
    text = "import os\nos.environ['A1'] = (\n  '1')\n"
    (setting,) = read(text)
    assert setting.place == Place("a.py", 2, 1, 3, 7)


def test_a_name_of_several_pieces_has_no_place_of_its_own() -> None:
    (setting,) = read('import os\nos.environ["NCCL_" "A"] = "1"\n')
    assert (setting.name, setting.name_place) == ("NCCL_A", None)


def test_text_inside_other_text_keeps_its_places() -> None:
    outer = Source("x.sh", 'python - <<E\nimport os\nos.environ["A1"] = "é"\nE\n')
    start = outer.text.index("import")
    (first,) = python.read(outer.part(start, outer.text.index("E\n", start)), "python").settings
    assert at(outer.text, first.name_place) == "A1" and at(outer.text, first.value_place) == "é"
    inner = "import os; os.environ['A1'] = '1'"
    offsets = list(range(7, 7 + len(inner)))
    (second,) = python.read(mapped(Source("x.sh", "-------" + inner), inner, offsets), "python").settings
    assert second.name_place is not None and second.name_place.column == 7 + inner.index("A1") + 1


COMMENTS = [
    ("os.environ['A1'] = '1'  # why", "why"),
    ("## one\n#  two\nos.environ['A1'] = '1'", "one\ntwo"),
    ("# not this\n\nos.environ['A1'] = '1'", ""),
    ("# above\nos.environ['A1'] = '1'  # beside", "beside"),
    ("os.environ['A1'] = '#1'", ""),
    ("os.environ['A1'] = '1'; x = '#'  # why", "why"),
    ("os.environ.update({\n    # why\n    'A1': '1',\n})", "why"),
    ("os.environ.update({\n    'A1': '1',  # why\n})", "why"),
    ("os.environ['A1'] = (\n    '1'  # why\n)", ""),
]


@pytest.mark.parametrize(("text", "comment"), COMMENTS)
def test_comment(text: str, comment: str) -> None:
    (setting,) = read("import os\n" + text + "\n")
    assert setting.comment == comment


def test_scope_and_branches() -> None:
    text = "import os\nclass A:\n  def f(self):\n    if torch.version.hip:\n      os.environ['A1'] = '1'\n"
    (setting,) = read(text + "if __name__ == '__main__':\n  pass\n")
    assert (setting.scope.kind, setting.scope.name) == ("function", "A.f")
    assert [(b.arm, b.condition) for b in setting.branch] == [("if", "torch.version.hip")]


def test_class_bodies_run_when_the_module_does() -> None:
    (setting,) = read("import os\nclass A:\n  os.environ['A1'] = '1'\n")
    assert setting.scope.kind == "process"


def test_a_mapping_is_in_force_where_it_is_applied() -> None:
    text = "import os\nD = {'A1': '1'}\ndef f():\n  if x:\n    os.environ.update(D)\n"
    (setting,) = read(text)
    assert (setting.place.line, setting.scope.name) == (2, "f")
    assert [b.condition for b in setting.branch] == ["x"]


def test_a_loop_that_only_applies_a_mapping_is_no_condition() -> None:
    (setting,) = read("import os\nfor k, v in {'A1': '1'}.items():\n  os.environ[k] = v\n")
    assert setting.branch == ()


NAME = st.from_regex(r"[A-Z][A-Z0-9_]{1,12}", fullmatch=True)
WORD = st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="'\\{}\u2028\u2029"), max_size=12)
SHAPE = st.sampled_from(
    [
        "os.environ['{n}'] = '{v}'",
        "x = '{v}'; os.environ['{n}'] = '{v}'",
        "'{v}'; os.environ.update({{'{n}': '{v}'}})",
        "os.environ.setdefault('{n}', '{v}')  # {v}",
    ]
)


@given(NAME, WORD, SHAPE)
def test_places_hold_the_text_they_say(name: str, word: str, shape: str) -> None:
    text = "import os\n" + shape.format(n=name, v=word) + "\n"
    (setting,) = read(text)
    assert (setting.name, setting.value.known) == (name, word)
    assert at(text, setting.name_place) == name and at(text, setting.value_place) == word
