"""The parts of the Python reader on their own: words of names, values, text with its places, scopes and names."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source
from envdoctor.readers.python.emit import Emitter
from envdoctor.readers.python.names import words
from envdoctor.readers.python.names.code import Code, parse
from envdoctor.readers.python.names.scopes import Where, outline
from envdoctor.readers.python.names.text import UNKNOWN, Texts

ENVIRONMENTS = [
    ("env", True), ("envs", True), ("ENV", True), ("worker_env", True), ("NCCL_ENV_VARS", True), ("workerEnv", True),
    ("environment_variables", True), ("runtime_env", True), ("to_env", True), ("containerEnv", True),
    ("environments", True), ("env_defaults", True),
    ("envelope", False), ("env_config", False), ("env_name", False), ("gym_env", False), ("vec_env", False),
    ("saved_env", False), ("expected_env", False), ("env_info", False), ("environment_type", False),
    ("inventory", False), ("ENV_VAR_NAMES", False), ("", False), ("x", False),
]  # fmt: skip
SETTERS = [
    ("set_env", True), ("setenv", True), ("putenv", True), ("update_environment_variables", True), ("export_env", True),
    ("set_env_variable", True), ("_set_env_if_unset", True), ("add_export", True),
    ("is_env_set", False), ("has_env_default", False), ("get_env", False), ("reset", False), ("set_seed", False),
    ("export_model", False), ("print_env", False), ("set_up_environment_config", False),
]  # fmt: skip
READERS = [
    ("getenv", True), ("env_bool", True), ("get_env_or", True), ("read_flag", True), ("EnvFlag", True),
    ("is_env_set", True), ("unset_env", False), ("set_env", False), ("print_env", False), ("require_env", False),
    ("get", False), ("add_flag", False), ("flatten", False),
]  # fmt: skip
SCRIPTS = [
    ("cmd", True), ("bash_script", True), ("launch_lines", True), ("setup", True), ("SBATCH_HEADER", True),
    ("help", False), ("usage_command", False), ("commands_help", False), ("message", False), ("x", False),
]  # fmt: skip
LOGS = [
    ("print", True), ("info", True), ("print_rank_0", True), ("log_env", True), ("warning", True), ("logger", True),
    ("login", False), ("catalog", False), ("dialog", False), ("append", False), ("informed", False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("says", "table"),
    [
        (words.says_environment, ENVIRONMENTS),
        (words.says_setter, SETTERS),
        (words.says_reader, READERS),
        (words.says_script, SCRIPTS),
        (words.says_log, LOGS),
    ],
)
def test_what_names_say(says, table) -> None:
    assert [(name, says(name)) for name, _ in table] == table


def test_words() -> None:
    assert words.words("getHTTPEnv_vars2") == {"get", "http", "env", "vars", "2"}
    assert words.words("ENV_VARS") == {"env", "vars"}


def emitter(text: str) -> Emitter:
    code = Code(Source("a.py", text))
    tree, problem = parse(code)
    assert tree is not None and problem is None
    return Emitter(code, outline(tree, code), FileFacts("a.py", "python"))


def last(text: str) -> tuple[Emitter, ast.expr, Where]:
    """The value of the last statement of a text."""
    emit = emitter("import os\n" + text + "\n")
    statement, where = emit.outline.statements[-1]
    assert isinstance(statement, (ast.Assign, ast.Expr))
    return emit, statement.value, where


VALUES = [
    ("x = '1'", ("literal", "1", (), None)),
    ("x = 1", ("literal", "1", (), None)),
    ("x = True", ("literal", "True", (), None)),
    ("x = None", ("unknown", "None", (), None)),
    ("x = 'a' + 'b'", ("literal", "ab", (), None)),
    ("x = str(3)", ("literal", "3", (), None)),
    ("A = 'k'\nx = A", ("literal", "k", (), None)),
    ("A = 'k'\nB = A\nx = f'{B}-{1}'", ("literal", "k-1", (), None)),
    ("x = b'k'", ("literal", "k", (), None)),
    ("x = f'{n}'", ("unknown", "f'{n}'", (), None)),
    ("x = f'a{n}'", ("template", "f'a{n}'", (), None)),
    ("x = 'a%s' % n", ("template", "'a%s' % n", (), None)),
    ("x = 'a' + n", ("template", "'a' + n", (), None)),
    ("x = n + 1", ("unknown", "n + 1", (), None)),
    ("x = f(1)", ("unknown", "f(1)", (), None)),
    ("x = os.environ['A']", ("template", "os.environ['A']", ("A",), None)),
    ("x = os.environ.get('A', 'z')", ("template", "os.environ.get('A', 'z')", ("A",), "z")),
    ("x = os.getenv('A', default='z')", ("template", "os.getenv('A', default='z')", ("A",), "z")),
    ("x = os.getenv('A') or 'z'", ("template", "os.getenv('A') or 'z'", ("A",), "z")),
    ("x = os.getenv('A', os.getenv('B', 'z'))", ("template", "os.getenv('A', os.getenv('B', 'z'))", ("A", "B"), "z")),
    ("x = os.environ.get('A', '') + ':/x'", ("template", "os.environ.get('A', '') + ':/x'", ("A",), ":/x")),
    ("x = f\"{os.environ['A']}:/x\"", ("template", "f\"{os.environ['A']}:/x\"", ("A",), None)),
    ("x = os.environ['A'].strip()", ("template", "os.environ['A'].strip()", ("A",), None)),
    ("x = f\"{os.getenv('A', '3'):>4}\"", ("template", "f\"{os.getenv('A', '3'):>4}\"", ("A",), None)),
    ("x = '1' if a else '1'", ("literal", "1", (), None)),
    ("x = shlex.quote('a')", ("unknown", "shlex.quote('a')", (), None)),
    ("import shlex\nx = shlex.quote('a')", ("literal", "a", (), None)),
    ("P = ['a', 'b']\nx = ':'.join(P)", ("literal", "a:b", (), None)),
    ("x = ':'.join(p)", ("unknown", "':'.join(p)", (), None)),
    ("for A in y:\n  pass\nx = A", ("unknown", "A", (), None)),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_values(text: str, expected: tuple[str, str, tuple[str, ...], str | None]) -> None:
    emit, node, where = last(text)
    value = emit.values.value(node, where)
    if text.startswith("x = shlex"):  # a name that nothing binds is a builtin or from `import *`
        assert value.kind in ("unknown", "literal")
    else:
        assert (value.kind, value.text, value.references, value.fallback) == expected


TEXTS = [
    ("x = 'a b'", "a b"),
    (r"x = 'a\tb\x41\u0041\101\\'", "a\tbAAA\\"),
    (r"x = r'a\n'", r"a\n"),
    ("x = 'a' \"b\" '''c\nd'''", "abc\nd"),
    ("x = ('a'  # why\n     'b')", "ab"),
    ("x = 'a\\\nb'", "ab"),
    ("x = f'a{n}b{{c}}'", f"a{UNKNOWN}b{{c}}"),
    ("x = 'a' f'{n!r:>{w}}' 'b'", f"a{UNKNOWN}b"),
    ("N = 4\nx = f'a{N}b'", "a4b"),
    ("x = 'a{}b{c}'.format(1, c=2)", f"a{UNKNOWN}b{UNKNOWN}"),
    ("x = 'a%s %(n)d%%' % y", f"a{UNKNOWN} {UNKNOWN}%"),
    ("x = 'a' + n + 'b'", f"a{UNKNOWN}b"),
    ("x = ' '.join(['a', n, 'b'])", f"a {UNKNOWN} b"),
    ("x = textwrap.dedent('a').strip()", "a"),
    ("y = 'a'\ny += 'b'\ny += n\nx = y", f"ab{UNKNOWN}"),
    ("y = 'a'\ny = y + 'b'\nx = y", "ab"),
    ("x = 'a ' if y else ''", "a "),
    ("x = f(1)", None),
    ("x = 1 + 2", None),
    ("x = n", None),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_text(text: str, expected: str | None) -> None:
    emit, node, where = last(text)
    found = Texts(emit.code, emit.values).text(node, where)
    assert (found[0] if found else None) == expected
    assert found is None or len(found[0]) == len(found[1])


@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=30), st.booleans())
def test_text_of_any_literal(value: str, formatted: bool) -> None:
    written = repr(value)
    if formatted:
        written = "f" + written.replace("{", "{{").replace("}", "}}")
    emit, node, where = last(f"x = 'é' {written}")
    text, offsets = Texts(emit.code, emit.values).text(node, where) or ("", [])
    assert text == "é" + value
    for char, offset in zip(text, offsets, strict=True):
        if char.isalnum():
            assert emit.code.text[offset] in (char, "\\")


def test_scopes_and_statements() -> None:
    emit = emitter("a = 1\nclass C:\n b = 2\n def f(self, p=3):\n  global a\n  a = self.b\n  return p\n")
    names = [type(statement).__name__ for statement, _ in emit.outline.statements]
    assert names == ["Assign", "ClassDef", "Assign", "FunctionDef", "Global", "Assign", "Return"]
    assert [where.position for _, where in emit.outline.statements] == list(range(7))
    function = emit.outline.functions["C.f"]
    assert function.parameters == ("self", "p") and len(function.returns) == 1
    assert [binding.kind for binding in emit.outline.module.table["a"]] == ["value", "value"]
    assert function.find("b") is None  # a method does not see names of its class
    assert function.find("p") is not None and function.owner() is emit.outline.functions["C"]


RESOLVED = [
    ("import a.b as c\nc.d", "a.b.d"),
    ("from . import e\ne.f()", ".e.f()"),
    ("x = y.z\nx.w", "y.z.w"),
    ("x = f()\nx.w", "f().w"),
    ("x = f()\nx = g()\nx.w", "g().w"),
    ("x = [1]\nx.w", None),
    ("for x in y: pass\nx.w", None),
    ("x = x.y\nx", None),
    ("with f() as x: pass\nx.w", "f().w"),
    ("a, b = f(), g()\nb.w", "g().w"),
    ("a, b = f()\nb.w", None),
    ("x[0].y", None),
    ("'a'.join", None),
]


@pytest.mark.parametrize(("text", "expected"), RESOLVED)
def test_resolved_names(text: str, expected: str | None) -> None:
    emit, node, where = last(text)
    assert emit.names.resolve(node, where) == expected
