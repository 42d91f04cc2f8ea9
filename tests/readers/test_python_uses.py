"""Where Python code uses a variable, and where it only says, forwards or keeps it."""

from __future__ import annotations

import pytest

from envdoctor.core.source import Source
from envdoctor.readers.registry import read


def uses(text: str) -> list[str]:
    return [use.name for use in read(Source("a.py", "import os\n" + text), "python").uses]


USED = [
    'x = os.environ["A1"]',
    'x = os.environ.get("A1")',
    'x = int(os.getenv("A1", "0"))',
    'if os.environ.get("A1") == "1":\n    go()',
    'if "A1" in os.environ:\n    go()',
    'if "A1" in os.environ:\n    os.environ["B1"] = "1"',
    'x = os.environ.pop("A1")',
    'x = os.environ.setdefault("A1", "1")',
    'NAME = "A1"\nx = os.environ[NAME]',
    "from os import environ as e\nx = e['A1']",
    "f(url=f\"tcp://{os.environ['A1']}\")",
    'd = {"B1": os.environ["A1"]}',
    'd = {"A1": lambda: os.environ["A1"]}',
    'env["B1"] = os.environ["A1"]',
    'p.add_argument("--x", default=os.environ.get("A1"))',
    'x = env_bool("A1")',
    'x = utils.getenv_int("A1", 0)',
    'if env.get("A1"):\n    go()',
    'x = self.child_env.get("A1", "0")',
    'x = is_flag_set("A1")',
    'x: str = Field(env="A1")',
    '@click.option("--x", envvar=["A1"])\ndef f(x): pass',
    "import vllm.envs as envs\nif envs.A1:\n    go()",
    'def f(x=os.environ.get("A1")): pass',
    "while not os.environ.get('A1'):\n    wait()",
    "with open(os.environ['A1']) as f:\n    pass",
    "return_ = [os.environ['A1'] for _ in x]",
]


@pytest.mark.parametrize("text", USED)
def test_use(text: str) -> None:
    assert uses(text) == ["A1"]


UNUSED = [
    'print(os.environ["A1"])',
    'logger.info("A1 is %s", os.environ.get("A1"))',
    "print(f\"x {os.environ['A1']}\")",
    'raise ValueError(os.environ["A1"])',
    'assert os.environ["A1"] == "1"',
    'd = {"A1": os.environ.get("A1")}',
    'd = {"A1": str(os.environ["A1"])}',
    'd = dict(zip(["A1"], [1]))',
    'rows.append(("A1", os.environ.get("A1", "-")))',
    'env["A1"] = os.environ["A1"]',
    'old = os.environ.get("A1")',
    'self.saved_a1 = os.environ.get("A1")',
    'if "A1" not in os.environ:\n    os.environ["A1"] = "1"',
    'if os.environ.get("A1") is None:\n    raise KeyError("A1")',
    'if os.environ.get("A1") != "1":\n    logger.warning("set A1")',
    'if "A1" in os.environ:\n    del os.environ["A1"]',
    'os.environ["A1"] = "1"',
    'os.environ.setdefault("A1", "1")',
    'os.environ.pop("A1", None)',
    'set_env("A1", "1")',
    'print_env("A1")',
    'require_env("A1")',
    'p.add_flag("A1")',
    'd = {"A1": env.get("A1")}',
    'x = table.get("A1")',
    'unset_env("A1")',
    "def status():\n    return {'on': os.environ.get('A1') == '1'}",
    "info = {'on': os.environ.get('A1') == '1'}",
    "import envs2 as other\nother.A1",
    "x = name('A1')",
    "x = os.environ[name]",
]


@pytest.mark.parametrize("text", UNUSED)
def test_no_use(text: str) -> None:
    assert uses(text) == []


def test_place_of_a_use() -> None:
    (use,) = read(Source("a.py", "import os\nx = os.environ['A1']\n"), "python").uses
    assert (use.place.line, use.place.column, use.place.end_column) == (2, 5, 21)
