"""Python that cannot be parsed, is too large, too deep or nothing but noise: a problem, and never an exception."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source
from envdoctor.readers import registry
from envdoctor.readers.python.names import code as python_code


def read(text: str) -> FileFacts:
    return registry.read(Source("a.py", text), "python")


def test_python_2_keeps_its_plain_assignments() -> None:
    text = (
        "import os\n"
        'print "x"\n'
        "def main():\n"
        "    os.environ['NCCL_A'] = '1'  # why\n"
        '    os.environ.setdefault("NCCL_B", "2")\n'
        "    '''\n"
        "    os.environ['NCCL_C'] = '1'\n"
        "    '''\n"
        "os.putenv('NCCL_D', '3');\n"
        "os.environ['NCCL_E'] = value\n"
        "# os.environ['NCCL_F'] = '1'\n"
        "if os.environ['NCCL_G'] == '1': pass\n"
    )
    facts = read(text)
    assert [(p.place.line, p.message[:13]) for p in facts.problems] == [(2, "not Python 3:")]
    found = [(s.op, s.name, s.value.text, s.scope.name, s.comment) for s in facts.settings]
    assert found == [
        ("set", "NCCL_A", "1", "main", "why"),
        ("default", "NCCL_B", "2", "main", ""),
        ("set", "NCCL_D", "3", "", ""),
    ]
    lines = text.split("\n")
    for setting in facts.settings:
        place, value = setting.name_place, setting.value_place
        assert place and lines[place.line - 1][place.column - 1 : place.end_column - 1] == setting.name
        assert value and lines[value.line - 1][value.column - 1 : value.end_column - 1] == setting.value.text
    whole = facts.settings[0].place
    assert lines[3][whole.column - 1 : whole.end_column - 1] == "os.environ['NCCL_A'] = '1'"


def test_templates() -> None:
    facts = read("import os\n{% if x %}\nos.environ['NCCL_A'] = '{{ a }}'\n{% endif %}\nn = {{ n }}\n")
    assert not facts.problems
    assert [s.name for s in facts.settings] == ["NCCL_A"]


HARD = {
    "slip": "def (:\n",
    "indentation": "if x:\n    a\n  b\n",
    "nested": "(" * 5000,
    "unary": "-" * 200_000 + "1",
    "attributes": "x" + ".a" * 50_000,
    "sum": "x = " + "a+" * 50_000 + "a",
    "text sum": "import os\nos.environ['A1'] = " + "'a'+" * 900 + "'a'\n",
    "elif": "if a: pass\n" + "elif a: pass\n" * 3000,
    "digits": "x = " + "1" * 10_000,
    "surrogate": "import os\nos.environ['A1'] = '\udc80'\n",
    "unclosed": "x = '''",
    "f-string": "f'{" * 50,
    "continuation": "x = \\",
    "tabs": "if x:\n\ta\n        b\n",
    "carriage returns": "a = 1\rb = (\r",
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
def test_hard_text_never_raises(text: str) -> None:
    facts = read(text)
    assert all(p.place.path == "a.py" and p.place.line >= 1 for p in facts.problems)


@pytest.mark.parametrize("case", ["slip", "nested", "unary", "unclosed", "digits"])
def test_what_cannot_be_parsed_is_a_problem(case: str) -> None:
    assert len(read(HARD[case]).problems) == 1


def test_settings_survive_deep_nesting_elsewhere() -> None:
    facts = read("import os\nos.environ['NCCL_A'] = '1'\nx = " + "a+" * 50_000 + "a\n")
    assert [s.name for s in facts.settings] == ["NCCL_A"]
    assert len(facts.problems) <= 1  # newer releases of Python parse this


def test_nul_bytes_are_read_over() -> None:
    facts = read("import os\n\0os.environ['NCCL_A'] = '1'\n")
    assert [s.name for s in facts.settings] == ["NCCL_A"] or facts.problems


def test_large_files_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_code, "LARGEST", 100)
    monkeypatch.setattr(ast, "parse", None)
    facts = read("import os\nos.environ['NCCL_A'] = '1'\n" + "x = 1\n" * 100)
    assert [s.name for s in facts.settings] == ["NCCL_A"]
    assert "too large" in facts.problems[0].message


def test_long_lines() -> None:
    facts = read("import os; x = [" + "'a', " * 100_000 + "]; os.environ['NCCL_A'] = '1'\n")
    assert [s.name for s in facts.settings] == ["NCCL_A"]


def test_no_warning_reaches_the_user() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read("x = '\\d'\ny = 1 is 1\n").problems == []


def test_names_bound_in_circles() -> None:
    facts = read("import os\na = b\nb = a\na.f(); os.environ[a] = b\nD = {**D}\nos.environ.update(D)\nD = E\nE = D\n")
    assert facts.settings == []


def test_functions_that_return_each_other() -> None:
    assert read("import os\ndef f(): return g()\ndef g(): return f()\nos.environ.update(f())\n").settings == []


PIECES = (
    """
os.environ|['A1']| = |'1'|    |if x:~|else:~|def f(a):~|env|{|}|(|)|.update|.items()|for k, v in |:~|import os~|f'{a}'|"
export A1=1|\'\'\'|#|return |**|os.system|['bash', '-c', |,|A1=|lambda: |class B:~|self.env|D|é|{{ x }}|{% y %}
with mock.patch.dict|match x:~| case 1:~|try:~|except E:~|global D~|%
""".strip()
    .replace("\n", "|")
    .replace("~", "\n")
    .split("|")
)
STATEMENTS = """
import os
from os import environ as e
D = {"A1": "1", **D}
D = dict(D, A1=x)
D["B1"] = D
D.update(D)
env = os.environ.copy()
env[k] = env
e |= D
e.setdefault(k, v)
e["A1"] = f"{e['A1']}:{D}"
e["A1"] = "a" + b % c
del e[k], e["A1"]
g(D, env=D)
g = g
os.system(f"export A1={x} {D[0]!r:>{w}}; " + D)
cmd = ["mpirun", "-x", *cmd, "A1=" + x]
subprocess.run(cmd, env={**e, **env()})
self.env = {"A1": "1"}
x = [os.getenv("A1") or D for k, v in D.items() if (y := e.get(k))]
print(e["A1"], *D, **D)
torch.backends.cudnn.benchmark = not x
lines.append("export A1=1" if x else y)
script = "#!/bin/sh\\nexport A1='\\\\'\\n%s" % D
""".strip().split("\n")
HEADS = [
    "if x:",
    "for k, v in D.items():",
    "for k in D:",
    "def g(k, v=D):",
    "class G:",
    "with a as D:",
    "try:",
    "while e:",
]
TAILS = {"try:": "except (A, B) as D:\n    return_ = 1\n"}


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Statements that parse, in blocks that bind and use the same few names in all orders."""
    lines: list[str] = []
    for statement in draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=10)):
        head = draw(st.sampled_from([None, None, *HEADS]))
        lines += [statement] if head is None else [head, "    " + statement]
        lines += [TAILS[head].rstrip()] if head in TAILS else []
    return "\n".join(lines) + "\n"


@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
def test_any_text_gives_facts(text: str) -> None:
    facts = read(text)
    for fact in [*facts.settings, *facts.uses, *facts.calls, *facts.problems]:
        assert fact.place.line >= 1 and fact.place.column >= 1


@given(programs())
def test_any_program_gives_facts_in_its_text(text: str) -> None:
    facts = read(text)
    assert not facts.problems
    lines = text.split("\n")
    for setting in facts.settings:
        place = setting.name_place
        if place is not None:
            assert lines[place.line - 1][place.column - 1 : place.end_column - 1] == setting.name
    orders = [setting.order for setting in facts.settings]
    assert orders == sorted(orders)
