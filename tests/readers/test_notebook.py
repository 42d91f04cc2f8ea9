"""Notebooks: cells as one program, magics, shell lines and other languages; places with cells, bad input, bounds."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import pytest
from facts_shown import check_places, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import FileFacts

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "bash.ipynb": [
        "6 set NCCL_ALGO=Ring yes shell cell 1",
        "7 set A=1 no shell cell 1",
    ],
    "minified.ipynb": [
        "1 set NCCL_ALGO=Ring yes python-environ cell 1",
        "1 set NCCL_DEBUG=INFO yes python-environ cell 1",
    ],
    "old.ipynb": [
        "10 set NCCL_ALGO=Ring yes python-environ cell 1",
    ],
    "r.ipynb": [],
    "training.ipynb": [
        "34 set NCCL_ALGO=Ring yes python-environ cell 3",
        "35 set NCCL_PROTO=LL yes python-environ cell 3",
        "37 set NCCL_NTHREADS=3 yes python-environ cell 3",
        "39 set NCCL_DEBUG=INFO yes python-environ cell 3 # how much it says",
        "40 set NCCL_CROSS_NIC=1 yes shell subshell: cell 3",
        "42 set NCCL_IB_HCA=mlx5 yes shell command:torchrun <level> cell 3",
        "63 set NCCL_SOCKET_IFNAME=ib0 yes shell subshell: cell 4",
        "100 default NCCL_DEBUG=WARN yes python-environ cell 6",
        "156 set NCCL_NET_GDR_LEVEL=PIX yes python-environ cell 9",
        "82 set NCCL_P2P_DISABLE=1 yes shell file:run.sh cell 5",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("notebook", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


def test_other_facts() -> None:
    _, facts = fixture("notebook", "training.ipynb")
    assert [(use.name, use.place.cell) for use in facts.uses] == [("SITE", 7)]
    assert [(launch.launcher, launch.place.cell) for launch in facts.launches] == [("torchrun", 3), ("python", 4)]
    assert [i.target for i in facts.inclusions] == ["os", "torch"]
    assert [(p.place.line, p.place.cell) for p in facts.problems] == [(155, 9)]


def test_settings_come_into_force_in_the_order_of_the_cells() -> None:
    facts = notebook("%env A_B=1\n!torchrun x.py", "import os\nos.environ['C_D'] = '2'", "%%bash\ntorchrun y.py")
    found = [(s.order, s.name) for s in facts.settings] + [(launch.order, launch.words[1]) for launch in facts.launches]
    assert [name for _, name in sorted(found)] == ["A_B", "x.py", "C_D", "y.py"]


def notebook(*cells: str) -> FileFacts:
    return facts_of(as_json(cells), "x.ipynb")


def as_json(cells: Sequence[str], indent: int | None = 1, lines: bool = True) -> str:
    made = [
        {"cell_type": "code", "metadata": {}, "source": cell.splitlines(True) if lines else cell, "outputs": []}
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4}, indent=indent)


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("%env A_B=1", "A_B=1"),
        ("%env A_B 1", "A_B=1"),
        ("%env A_B = x y", "A_B=x y"),
        ("%env A_B='x'", "A_B='x'"),
        ("%env A_B=it's", "A_B=it's"),
        ("%env A_B=a\\b", "A_B=a\\b"),
        ("%set_env A_B=1", "A_B=1"),
        ("%env", ""),
        ("%env A_B", ""),
        ("%environment A_B=1", ""),
        ("x = '1'\n%env A_B=$x", "A_B=1"),
        ("x = '1'\n%env A_B={x}2", "A_B=12"),
        ("if y:\n    %env A_B=1", "A_B=1"),
        ("!A_B=1 python x.py", "A_B=1"),
        ("!!export A_B=1", "A_B=1"),
        ("x = !A_B=1 ls", "A_B=1"),
        ("x = '1'\n!A_B={x} python x.py", "A_B=1"),
        ("!A_B=1 python x.py \\\n  --flag", "A_B=1"),
        ("%system export A_B=1", "A_B=1"),
        ("%%sh\nexport A_B=1", "A_B=1"),
        ("%%script bash\nexport A_B=1", "A_B=1"),
        ("%%bash --out x\nexport A_B='{ y }'", "A_B={ y }"),
        ("%sh\nexport A_B=1", "A_B=1"),
        ("%%capture out\n%env A_B=1", "A_B=1"),
        ("%%time\n%%capture\nimport os\nos.environ['A_B'] = '1'", "A_B=1"),
        ("%%writefile a/.env\nA_B=1", "A_B=1"),
        ("%%writefile -a run.py\nimport os\nos.environ['A_B'] = '1'", "A_B=1"),
        ("%%writefile notes.txt\nA_B=1", ""),
        ("%%html\n%env A_B=1", ""),
        ("%sql\n%env A_B=1", ""),
        ("'''\n%env A_B=1\n'''", ""),
        ("# %env A_B=1", ""),
        ("?print\nimport os\nos.environ['A_B'] = '1'", "A_B=1"),
        ("await x\nimport os\nos.environ['A_B'] = '1'", "A_B=1"),
        ("ls -l\npip install x\nenv A_B=1", "A_B=1"),
        ("    !A_B=1 python x \\\n        y\n    z = 1", "A_B=1"),
        ("%run x.py \\\n  --y=1\n%env A_B=1", "A_B=1"),
        ("%load_ext x\nimport os\nos.environ['A_B'] = '1'", "A_B=1"),
    ],
)
def test_magics(cell: str, wanted: str) -> None:
    facts = notebook(cell)
    assert ", ".join(f"{s.name}={s.value.known}" for s in facts.settings) == wanted
    assert not facts.problems
    check_places(as_json([cell]), facts)


def test_what_a_shell_line_exports_is_lost() -> None:
    facts = notebook("!export A_B=1", "%env C_D=1")
    assert [s.scope.kind for s in facts.settings] == ["subshell", "process"]


def test_a_cell_that_is_no_python_does_not_hide_the_others() -> None:
    facts = notebook("import os", "def x(:\n", "os.environ['A_B'] = '1'")
    assert [(s.name, s.place.cell) for s in facts.settings] == [("A_B", 3)]
    assert [p.place.cell for p in facts.problems] == [2]


def test_each_fact_has_a_number_of_its_own() -> None:
    _, facts = fixture("notebook", "training.ipynb")
    orders = [setting.order for setting in facts.settings]
    assert orders == sorted(set(orders))


CELLS = [
    "%env {}={}\n",
    "import os\nos.environ['{}'] = '{}'\n",
    "!export {}={}\n",
    "%%bash\nexport {}={}\n",
    "%%sh\n{}={} python x\n",
    "import os\nos.environ.update({{'{}': '{}'}})\n",
    "if x:\n    %set_env {} {}\n",
    "%%writefile x.sh\nexport {}={}\n",
]
CELL = st.tuples(st.sampled_from(CELLS), NAMES, st.text("ab1/:.,-", min_size=1, max_size=6))


@given(st.lists(CELL, min_size=1, max_size=4), st.sampled_from([None, 1, 4]), st.booleans())
def test_places_hold(cells: list[tuple[str, str, str]], indent: int | None, lines: bool) -> None:
    text = as_json([shape.format(name, value) for shape, name, value in cells], indent, lines)
    facts = facts_of(text, "x.ipynb")
    found = sorted((s.place.cell, s.name, s.value.text) for s in facts.settings)
    assert found == sorted((number, name, value) for number, (_, name, value) in enumerate(cells, 1))
    for setting in facts.settings:
        assert excerpt(text, setting.name_place) == setting.name
        assert excerpt(text, setting.value_place) == setting.value.text


@given(st.text(st.sampled_from('{}[]",:\\\n%!envAB_=cels source'), max_size=120))
def test_any_text_is_read(text: str) -> None:
    check_places(text, facts_of(text, "x.ipynb"))


LINES = [
    "%env A_B=1", "%%bash", "!A_B={x} ls \\", "import os", "os.environ['A_B'] = '1'", "%%time", "'''", "def f(:",
    "x = !ls", "x?", "%%writefile a.sh", "    %env A_B=2", "%env A_B={x}'\"", "\u00e9 = '\U0001f600'", "!export A_B='",
    "%%script", "for x in y:",
]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(LINES), max_size=5).map("\n".join), max_size=4), st.sampled_from([None, 1]))
def test_any_cells_are_read(cells: list[str], indent: int | None) -> None:
    text = as_json(cells, indent)
    facts = facts_of(text, "x.ipynb")
    check_places(text, facts)
    for setting in facts.settings:
        assert 1 <= (setting.place.cell or 0) <= len(cells)


@given(st.integers(0, 400))
def test_a_notebook_that_is_cut_off_is_read_as_far_as_it_goes(length: int) -> None:
    text = as_json(["%env A_B=1", "%env C_D=2"])[:length]
    facts = facts_of(text, "x.ipynb")
    assert [s.name for s in facts.settings] in ([], ["A_B"], ["A_B", "C_D"])
    check_places(text, facts)


OUTPUTS = {
    "pictures": lambda: ['"' + "iVBORw0KGgo" * 4_000_000 + '"'],
    "numbers": lambda: ["[" + "0.25, " * 7_000_000 + "1]"],
    "lines": lambda: ['["' + 'text\\n", "' * 4_000_000 + '"]'],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_of_nearly_fifty_megabytes_are_passed_over(name: str) -> None:
    text = as_json(["%env A_B=1"]).replace('"outputs": []', '"outputs": [' + OUTPUTS[name]()[0] + "]")
    start = time.process_time()
    facts = facts_of(text, "x.ipynb")
    assert time.process_time() - start < 15
    assert [s.name for s in facts.settings] == ["A_B"]


@pytest.mark.slow
def test_code_beyond_all_measure_is_left_out_and_said_to_be() -> None:
    facts = notebook("%env A_B=1", "x = 1\n" * 600_000)
    assert [s.name for s in facts.settings] == ["A_B"]
    assert "the rest was left out" in facts.problems[0].message


BIG = ["[" * 500_000, '{"cells": [' * 100_000, '{"a":' * 200_000, '"' * 500_001, "{" + '"cells": [],' * 100_000]


@pytest.mark.slow
@pytest.mark.parametrize("text", BIG, ids=range(len(BIG)))
def test_time_is_bounded(text: str) -> None:
    start = time.process_time()
    facts_of(text, "x.ipynb")
    assert time.process_time() - start < 5
