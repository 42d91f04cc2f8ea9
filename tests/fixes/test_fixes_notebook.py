"""Fixes in the strings of notebooks and JSON: exact behind escapes, and the file stays what it was around them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.cli.main import main
from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit, Fix
from envdoctor.fixes.notebook import Program, program
from envdoctor.fixes.spans import FileBytes

Tree = Callable[[Mapping[str, str]], Path]


def notebook(*cells: str | list[str], **layout: object) -> str:
    """A notebook as Jupyter writes it; a string is a cell with one string, a list one with a string for each line."""
    made = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": c} for c in cells]
    table = {"cells": made, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(table, **({"indent": 1, "ensure_ascii": False} | layout)) + "\n"  # type: ignore[arg-type]


def lines(text: str) -> list[str]:
    """The strings of a cell with these lines."""
    return text.splitlines(keepends=True)


GHOST = 'os.environ["NCCL_DETERMINISTIC"] = "1"'
LATE = 'import os\nimport torch.distributed as dist\ndist.init_process_group("nccl")\ndist.barrier()\n'
FIXED = [
    ([f"import os\n{GHOST}\nx = 1\n"], ["import os\nx = 1\n"]),
    ([f"import os\n{GHOST}"], ["import os\n"]),
    (["import os\n", f"é = '\"'  # \\\\t\n{GHOST}\nx = 1"], ["import os\n", "é = '\"'  # \\\\t\nx = 1"]),
    ([f"!pip install x\nimport os\n{GHOST}\n"], ["!pip install x\nimport os\n"]),
    (["x = '\"\\\\'\nimport os\nos.environ['RCCL_DEBUG'] = 'INFO'"], ["x = '\"\\\\'\nimport os\nos.environ['NCCL_DEBUG'] = 'INFO'"]),
    (["import os\nos.environ[\"NCCL_P2P_DISABLE\"] = \"true\""], ["import os\nos.environ[\"NCCL_P2P_DISABLE\"] = \"1\""]),
    ([LATE, 'os.environ["NCCL_ALGO"] = "Ring"\nx = 1\n'],
     [LATE.replace("dist.b", 'os.environ["NCCL_ALGO"] = "Ring"\ndist.b'), "x = 1\n"]),
    (["import torch\n", "net = torch.nn.Linear(4, 1)\nnet(torch.ones(4)).sum().backward()"],
     ["import torch\n\ntorch.manual_seed(0)\n", "net = torch.nn.Linear(4, 1)\nnet(torch.ones(4)).sum().backward()"]),
    (["%%bash\nexport RCCL_DEBUG=INFO\ntorchrun t.py\n"], ["%%bash\nexport NCCL_DEBUG=INFO\ntorchrun t.py\n"]),
    (["!export NCCL_ALGO=Ring\n"], ["%env NCCL_ALGO=Ring\n"]),
    (["!export NCCL_ALGO='Ring'\n"], ["!export NCCL_ALGO='Ring'\n"]),
    (["!NCCL_DETERMINISTIC=1 NCCL_ALGO=Ring python t.py\n"], ["!NCCL_ALGO=Ring python t.py\n"]),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), FIXED)
@pytest.mark.parametrize("form", [lines, str], ids=["lines", "string"])
@pytest.mark.parametrize("layout", [{}, {"indent": None}, {"ensure_ascii": True, "indent": 4}], ids=str)
def test_code_in_notebooks(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, before: list[str], after: list[str], form: type, layout: dict
) -> None:
    root = tree({"a.ipynb": notebook(*(form(c) for c in before), **layout)})
    monkeypatch.chdir(root)
    for _ in range(2):
        main(["scan", "--fix", "--unsafe-fixes", "--format", "concise"])
        got = json.loads((root / "a.ipynb").read_text(encoding="utf-8"))
        assert ["".join(cell["source"]) for cell in got["cells"]] == after
        if form is lines:
            written = [line for cell in got["cells"] for line in cell["source"]]
            assert "" not in written
            assert layout.get("indent", 1) is None or not any("\n" in line[:-1] for line in written)
    assert got["metadata"] == {"kernelspec": {"language": "python"}}


JSON = [
    ('{"env_vars": {"A": "1", "NCCL_DETERMINISTIC": "1"}}', '{"env_vars": {"A": "1"}}'),
    ('{"env_vars": {"NCCL_DETERMINISTIC": "1", "A": "\\"1"}}', '{"env_vars": {"A": "\\"1"}}'),
    ('{"env_vars": {"A": "\\\\", "NCCL_DETERMINISTIC": "1", "B": "1"}}', '{"env_vars": {"A": "\\\\", "B": "1"}}'),
    ('{"env_vars": {"NCCL_DETERMINISTIC": "1"}}', '{"env_vars": {}}'),
    ('{"env_vars": {"A": "\\u00e9\\"", "RCCL_DEBUG": "INFO"}}', '{"env_vars": {"A": "\\u00e9\\"", "NCCL_DEBUG": "INFO"}}'),
    ('{"env_vars": {"NCCL\\u005fDETERMINISTIC": "1"}}', '{"env_vars": {"NCCL\\u005fDETERMINISTIC": "1"}}'),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), JSON)
def test_inline_json(tree: Tree, monkeypatch: pytest.MonkeyPatch, before: str, after: str) -> None:
    root = tree({"env.json": before})
    monkeypatch.chdir(root)
    main(["scan", "--fix", "--unsafe-fixes", "--format", "concise"])
    assert (root / "env.json").read_text() == after


def test_json_within_a_script(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'ray job submit --runtime-env-json=\'{\n  "env_vars": {\n    "A": "1",\n    "NCCL_DETERMINISTIC": "1"\n  }\n}\' -- python t.py\n'
    root = tree({"run.sh": text})
    monkeypatch.chdir(root)
    main(["scan", "--fix", "--unsafe-fixes", "--format", "concise"])
    assert (root / "run.sh").read_text() == text.replace(',\n    "NCCL_DETERMINISTIC": "1"', "")


SOURCE = st.lists(st.text('abnu "\\\n\té漢🙂#', max_size=8), min_size=1, max_size=4)


@given(SOURCE, st.data(), st.booleans(), st.booleans())
def test_an_edit_of_a_cell_is_that_edit_of_its_text(
    texts: list[str], draw: st.DataObject, ascii_only: bool, split: bool
) -> None:
    cells = [f"# {text}".replace("\n", "\n# ") for text in texts]
    raw = notebook(*(lines(c) if split else c for c in cells), ensure_ascii=ascii_only)
    code = program("a.ipynb", raw)
    assert code.text == "".join(f"{c}\n" for c in cells)
    number = draw.draw(st.integers(0, len(cells) - 1))
    first = sum(len(c) + 1 for c in cells[:number])
    start, end = sorted(draw.draw(st.tuples(*[st.integers(0, len(cells[number]))] * 2)))
    new = draw.draw(st.text('xn"\\\né', max_size=5))
    place = code._program.place(first + start, first + end)
    fix = code.fix(Fix("", (Edit(place, new),)))
    source = FileBytes("a.ipynb", raw.encode())
    got = json.loads(source.apply([source.span(e) for e in fix.edits]) if fix else raw)
    wanted = [*cells]
    wanted[number] = cells[number][:start] + (new if fix else cells[number][start:end]) + cells[number][end:]
    assert ["".join(cell["source"]) for cell in got["cells"]] == wanted


def test_what_is_no_python_has_no_place() -> None:
    code = Program("a.ipynb", notebook("%%bash\nls\n", "x = = 1\n", "ok = 1\n"))
    assert code.text == "ok = 1\n\n"
    assert code.place(Place("a.ipynb", 1, 1, 1, 2)) is None
