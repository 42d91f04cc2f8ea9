"""Calls, attribute assignments, definitions and imports of Python code."""

from __future__ import annotations

import pytest

from envdoctor.core.facts import Call, FileFacts
from envdoctor.core.source import Source
from envdoctor.readers import registry


def read(text: str) -> FileFacts:
    return registry.read(Source("a.py", text), "python")


def calls(text: str) -> list[str]:
    return [f"{'=' if call.kind == 'assign' else ''}{call.name}" for call in read(text).calls]


def only(text: str) -> Call:
    (call,) = read(text).calls
    return call


NAMES = [
    ("import torch\ntorch.manual_seed(0)", ["torch.manual_seed"]),
    ("import torch.distributed as dist\ndist.init_process_group('nccl')", ["torch.distributed.init_process_group"]),
    ("from torch import distributed as d\nd.barrier()", ["torch.distributed.barrier"]),
    ("import torch.nn\ntorch.nn.Linear(1, 2)", ["torch.nn.Linear"]),
    ("from torch.backends import cudnn\ncudnn.benchmark = True", ["=torch.backends.cudnn.benchmark"]),
    ("import torch\nb = torch.backends\nb.cudnn.benchmark = True", ["=torch.backends.cudnn.benchmark"]),
    ("import torch\nsetattr(torch.backends.cudnn, 'benchmark', True)", ["=torch.backends.cudnn.benchmark"]),
    ("import torch\ntorch.Generator().manual_seed(1)", ["torch.Generator().manual_seed", "torch.Generator"]),
    ("import torch\ng = torch.Generator()\ng.manual_seed(1)", ["torch.Generator", "torch.Generator().manual_seed"]),
    ("import numpy as np\nclass A:\n def __init__(self):\n  self.rng = np.random.default_rng()\n"
     " def f(self):\n  self.rng.normal()", ["numpy.random.default_rng", "numpy.random.default_rng().normal"]),
    ("from torch.nn.parallel import DistributedDataParallel as D\nm = net()\nm = D(m)\nm.register_comm_hook(None, h)",
     ["torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel().register_comm_hook"]),
    ("def set_seed(s): pass\nset_seed(1)", [".set_seed"]),
    ("class A:\n def f(self): pass\n def g(self):\n  self.f()\nA()", [".A.f", ".A"]),
    ("def f():\n def g(): pass\n g()", [".f.g"]),
    ("from .utils import seed\nseed(1)", [".utils.seed"]),
    ("from ..lab import seed as s\ns(1)", ["..lab.seed"]),
    ("from lab import seed\nseed(1)", ["lab.seed"]),
    ("try:\n import cupy as np\nexcept ImportError:\n import numpy as np\nnp.random.rand()", ["numpy.random.rand"]),
    ("def f(loss):\n loss.backward()\n loss.item()", ["?.backward"]),
    ("import torch\ntorch.ones(2).float().view(1)", ["torch.ones"]),
    ("import torch\n@torch.compile(mode='max-autotune')\ndef f(): pass", ["torch.compile"]),
    ("import torch\nwith torch.backends.cudnn.flags(deterministic=True):\n pass", ["torch.backends.cudnn.flags"]),
    ("import os, time\nos.path.join('a')\nos.getpid()\ntime.time()", ["os.getpid", "time.time"]),
    ("import pandas as pd\npd.read_csv('x')\nprint(len([1]))", []),
    ("import json\njson.dumps(1)", []),
    ("import torch as t\ndef f(t):\n t.seed()", ["?.seed"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), NAMES)
def test_names(text: str, expected: list[str]) -> None:
    assert calls(text) == expected


def test_arguments() -> None:
    call = only("import torch\nSEED = 7\ntorch.f(SEED, -1, x.y, 'a', None, flag=True, n=[1])\n")
    assert [(a.keyword, a.text, a.literal, a.is_literal) for a in call.arguments] == [
        (None, "SEED", 7, True),
        (None, "-1", -1, True),
        (None, "x.y", None, False),
        (None, "'a'", "a", True),
        (None, "None", None, True),
        ("flag", "True", True, True),
        ("n", "[1]", None, False),
    ]


def test_names_in_an_argument() -> None:
    text = "import time, os, torch\nimport torch.distributed as dist\nrank = dist.get_rank()\nSEED = 3\n"
    facts = read(text + "torch.manual_seed(int(time.time()) + os.getpid() + rank)\n")
    call = next(c for c in facts.calls if c.name == "torch.manual_seed")
    expected = ("int()", "time.time()", "os.getpid()", "torch.distributed.get_rank()")
    assert call.arguments[0].names == expected


def test_a_function_passed_on_is_named() -> None:
    facts = read("import torch.multiprocessing as mp\ndef run(rank): pass\nmp.spawn(run, args=(8,))\n")
    assert facts.calls[0].arguments[0].names == (".run",)


def test_scope_branch_and_comment() -> None:
    text = (
        "import torch\n"
        "class A:\n"
        "    def f(self):\n"
        "        for x in data:\n"
        "            if rank == 0:\n"
        "                pass\n"
        "            elif a:\n"
        "                pass\n"
        "            else:\n"
        "                # for repeatable runs\n"
        "                torch.manual_seed(0)\n"
    )
    call = only(text)
    assert (call.scope.kind, call.scope.name, call.comment) == ("function", "A.f", "for repeatable runs")
    assert [(b.arm, b.condition) for b in call.branch] == [("loop", "data"), ("else", "")]


ARMS = [
    ("if a:\n torch.f()\nelif b:\n torch.f()\nelse:\n torch.f()", [("if", "a"), ("elif 1", "b"), ("else", "")], True),
    ("if a:\n torch.f()\nelse:\n torch.f()", [("if", "a"), ("else", "not (a)")], True),
    ("try:\n torch.f()\nexcept E:\n torch.f()\nfinally:\n torch.f()", [("try", ""), ("except 0", "E"), None], False),
    ("try:\n pass\nexcept E:\n torch.f()\nexcept (A, B):\n torch.f()\nelse:\n torch.f()",
     [("except 0", "E"), ("except 1", "(A, B)"), ("else", "")], True),
    ("match x:\n case 1:\n  torch.f()\n case _:\n  torch.f()", [("case 0", "x: 1"), ("case 1", "x: _")], True),
    ("with a as b:\n torch.f()\nwhile c:\n torch.f()", [("with", "a"), ("loop", "c")], False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "exclusive"), ARMS)
def test_branches(text: str, expected: list[tuple[str, str] | None], exclusive: bool) -> None:
    found = [call.branch for call in read("import torch\n" + text).calls]
    assert [(b[0].arm, b[0].condition) if b else None for b in found] == expected
    assert (len({b[0].id for b in found if b}) == 1) == exclusive


def test_order_follows_the_source() -> None:
    text = "import os, torch\ntorch.f()\nos.environ['A1'] = '1'\ntorch.g()\nx = os.environ['B1']\nD = {'C1': '1'}\n"
    facts = read(text + "torch.h()\nos.environ.update(D)\n")
    facts_in_order = sorted([*facts.calls, *facts.settings, *facts.uses], key=lambda fact: fact.order)
    assert [fact.name for fact in facts_in_order] == ["torch.f", "A1", "torch.g", "B1", "torch.h", "C1"]


def test_imports() -> None:
    text = "import a.b, c as d\nfrom e.f import g, h as i\nfrom .j import k\n"
    text += "from . import l\nfrom m import *\nfrom .. import *\n"
    found = [(i.kind, i.target) for i in read(text).inclusions]
    assert found == [("import", t) for t in ["a.b", "c", "e.f.g", "e.f.h", ".j.k", ".l", "m", ".."]]


def test_definitions() -> None:
    text = (
        "import torch, jax\n"
        "class Net(torch.nn.Module):\n"
        "    @jax.jit\n"
        "    def forward(self, x, *, y=1, **z):\n"
        "        return x\n"
        "\n"
        "async def run(): pass\n"
    )
    found = read(text).definitions
    assert [(d.name, d.kind, d.place.line, d.end_line) for d in found] == [
        ("Net", "class", 2, 5),
        ("Net.forward", "function", 4, 5),
        ("run", "function", 7, 7),
    ]
    assert (found[0].bases, found[1].decorators, found[1].parameters) == (
        ("torch.nn.Module",),
        ("jax.jit",),
        ("self", "x", "y"),
    )
