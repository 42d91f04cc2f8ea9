"""Settings that Python code states, shape by shape, and text that states none."""

from __future__ import annotations

import pytest

from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.source import Source
from envdoctor.readers import registry
from envdoctor.readers.python import reader as python


def read(text: str) -> FileFacts:
    return registry.read(Source("a.py", text), "python")


def short(setting: Setting) -> str:
    """`op NAME=value` with the value in brackets where it is no literal."""
    value = setting.value.text if setting.value.kind == "literal" else f"<{setting.value.kind}>"
    return f"{setting.op} {setting.name}={value}"


def settings(text: str, channel: str) -> list[str]:
    facts = read("import os, subprocess\n" + text)
    assert not facts.problems
    assert {s.channel for s in facts.settings} <= {channel}
    return [short(s) for s in facts.settings]


ENVIRON = [
    ('os.environ["NCCL_ALGO"] = "Ring"', ["set NCCL_ALGO=Ring"]),
    ("os.environ['NCCL_NTHREADS'] = str(64)", ["set NCCL_NTHREADS=64"]),
    ('NAME = "NCCL_ALGO"\nos.environ[NAME] = "Ring"', ["set NCCL_ALGO=Ring"]),
    ('class K:\n    NAME = "NCCL_ALGO"\nos.environ[K.NAME] = "Ring"', ["set NCCL_ALGO=Ring"]),
    ('VALUE = "Tree"\ndef f():\n    os.environ["NCCL_ALGO"] = VALUE', ["set NCCL_ALGO=Tree"]),
    ('os.environ["A"], os.environ["B"] = "1", "2"', ["set A=1", "set B=2"]),
    ('x = os.environ["A"] = "1"', ["set A=1"]),
    ('os.environ.setdefault("NCCL_ALGO", "Ring")', ["default NCCL_ALGO=Ring"]),
    ('os.environ.update({"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"})', ["set NCCL_ALGO=Ring", "set NCCL_PROTO=LL"]),
    ('os.environ.update(NCCL_ALGO="Ring", NCCL_NTHREADS=64)', ["set NCCL_ALGO=Ring", "set NCCL_NTHREADS=64"]),
    ('os.environ |= {"NCCL_ALGO": "Ring"}', ["set NCCL_ALGO=Ring"]),
    ('os.environ = {"NCCL_ALGO": "Ring"}', ["set NCCL_ALGO=Ring"]),
    ('os.putenv("NCCL_ALGO", "Ring")', ["set NCCL_ALGO=Ring"]),
    ('os.unsetenv("NCCL_ALGO")', ["unset NCCL_ALGO="]),
    ('del os.environ["NCCL_ALGO"]', ["unset NCCL_ALGO="]),
    ('os.environ.pop("NCCL_ALGO", None)', ["unset NCCL_ALGO="]),
    ('os.environ["XLA_FLAGS"] += " --a=1"', ["append XLA_FLAGS= --a=1"]),
    ('os.environ["P"] = os.environ.get("P", "") + ":/x"', ["append P=<template>"]),
    ('os.environ["P"] = f"/x:{os.environ[\'P\']}"', ["append P=<template>"]),
    ('os.environ["A"] = os.environ.get("A", "1")', ["default A=1"]),
    ('os.environ["A"] = os.getenv("A") or "1"', ["default A=1"]),
    ('os.environ["A"] = os.environ["A"]', []),
    ('old = os.environ.get("A")\nos.environ["A"] = old', []),
    ('if "A" not in os.environ:\n    os.environ["A"] = "1"', ["default A=1"]),
    ('if not os.environ.get("A"):\n    os.environ["A"] = "1"', ["default A=1"]),
    ('if os.environ.get("A") is None and x:\n    os.environ["A"] = "1"', ["default A=1"]),
    ('if "A" in os.environ:\n    pass\nelse:\n    os.environ["A"] = "1"', ["default A=1"]),
    ('if "B" not in os.environ:\n    os.environ["A"] = "1"', ["set A=1"]),
    ("def f(seed):\n    os.environ['PYTHONHASHSEED'] = str(seed)", ["set PYTHONHASHSEED=<unknown>"]),
    ('os.environ["A"] = f"ring-{n}"', ["set A=<template>"]),
    ('N = 4\nos.environ["A"] = f"ring-{N}"', ["set A=ring-4"]),
    ('os.environ["A"] = "a" "b"', ["set A=ab"]),
    ('os.environ["A"] = ",".join(["x", "y"])', ["set A=x,y"]),
    ('os.environ["A"] = "1" if x else "0"', ["set A=<unknown>"]),
    ('algo = "Ring"\nif x:\n    algo = "Tree"\nos.environ["A"] = algo', ["set A=<unknown>"]),
    ("import os as o\no.environ['A'] = '1'", ["set A=1"]),
    ("from os import environ as e\ne['A'] = '1'", ["set A=1"]),
    ("from os import putenv as p\np('A', '1')", ["set A=1"]),
    ("e = os.environ\ne['A'] = '1'\ne.setdefault('B', '2')", ["set A=1", "default B=2"]),
    ("def f():\n    import os\n    os.environ['A'] = '1'", ["set A=1"]),
    ("with lock:\n    os.environ['A'] = '1'", ["set A=1"]),
    ("lambda_ = [os.putenv('A', '1')]", ["set A=1"]),
]
LOOPS = [
    ('for k in ("NCCL_A", "NCCL_B"):\n    os.environ[k] = "1"', ["set NCCL_A=1", "set NCCL_B=1"]),
    ('NAMES = ["NCCL_A"]\nfor k in NAMES:\n    os.environ[k] = "1"', ["set NCCL_A=1"]),
    ('for k in ("NCCL_A",):\n    os.environ.pop(k, None)', ["unset NCCL_A="]),
    ('D = {"NCCL_A": "1"}\nfor k, v in D.items():\n    os.environ[k] = v', ["set NCCL_A=1"]),
    ('D = {"NCCL_A": 1}\ndef f():\n    for k, v in D.items():\n        os.environ[k] = str(v)', ["set NCCL_A=1"]),
    ('for k, v in {"NCCL_A": "1"}.items():\n    os.environ.setdefault(k, v)', ["default NCCL_A=1"]),
    ('for k, v in [("NCCL_A", "1")]:\n    os.environ[k] = v', ["set NCCL_A=1"]),
    ('D = {"NCCL_A": "1"}\nfor k in D:\n    os.environ[k] = D[k]', ["set NCCL_A=1"]),
    (
        'D = {"NCCL_A": "1"}\nfor k, v in D.items():\n    if k not in os.environ:\n        os.environ[k] = v',
        ["default NCCL_A=1"],
    ),
    ('D = {"NCCL_A": "1"}\nos.environ.update(D)', ["set NCCL_A=1"]),
    ('def d():\n    return {"NCCL_A": "1"}\nos.environ.update(d())', ["set NCCL_A=1"]),
    ('D = dict(NCCL_A="1")\nD["NCCL_B"] = "2"\nos.environ.update(D)', ["set NCCL_A=1", "set NCCL_B=2"]),
    ('B = {"NCCL_A": "1"}\nos.environ.update({**B, "NCCL_B": "2"})', ["set NCCL_A=1", "set NCCL_B=2"]),
    ('saved = {"NCCL_A": "1"}\nfor k, v in saved.items():\n    os.environ[k] = v', []),
    (
        'def put(n, v):\n    os.environ[n] = v\nput("NCCL_A", "1")\nput(n="NCCL_B", v="2")',
        ["set NCCL_A=1", "set NCCL_B=2"],
    ),
    ('def put(n, v="on"):\n    os.environ[n] = str(v)\nput("NCCL_A")', ["set NCCL_A=on"]),
    (
        'class T:\n def put(self, n, v):\n  os.environ[n] = v\n def go(self):\n  self.put("NCCL_A", "1")',
        ["set NCCL_A=1"],
    ),
    ('def apply(env):\n    env.setdefault("NCCL_A", "1")\napply(os.environ)', ["default NCCL_A=1"]),
    ('from t import set_env\nset_env("NCCL_A", "1")', ["set NCCL_A=1"]),
    ('from t import update_environment_variables\nupdate_environment_variables({"NCCL_A": "1"})', ["set NCCL_A=1"]),
    ("with modified_environ({'NCCL_A': '1'}):\n    pass", ["set NCCL_A=1"]),
    ("with temporary_env(NCCL_A='1'):\n    pass", ["set NCCL_A=1"]),
    ("from .util import set_env\nset_env('NCCL_A', '1')", ["set NCCL_A=1"]),
    ("D = {'NCCL_A': '1'}\nfor k, v in D.items():\n    assert os.environ.get(k) == v", []),
]


@pytest.mark.parametrize(("text", "expected"), ENVIRON + LOOPS)
def test_environ(text: str, expected: list[str]) -> None:
    assert settings(text, "python-environ") == expected


CHILD = [
    ("env = os.environ.copy()\nenv['A1'] = '1'\nsubprocess.run(c, env=env)", ["set A1=1"]),
    ("e = os.environ.copy()\ne['A1'] = '1'", ["set A1=1"]),
    ("e = {**os.environ}\ne.update(A1='1')\ne.pop('B1', None)", ["set A1=1", "unset B1="]),
    ("subprocess.run(c, env=dict(os.environ, A1='1'))", ["set A1=1"]),
    ("subprocess.run(c, env={**os.environ, 'A1': '1'})", ["set A1=1"]),
    ("subprocess.run(c, env=os.environ | {'A1': '1'})", ["set A1=1"]),
    ("subprocess.Popen(c, env={'A1': '1'})", ["set A1=1"]),
    ("x = {'A1': '1'}\nsubprocess.run(c, env=x)", ["set A1=1"]),
    ("WORKER_ENV = {'NCCL_A': '1'}", ["set NCCL_A=1"]),
    ("def train_env():\n    return {'NCCL_A': '1'}", ["set NCCL_A=1"]),
    ("def train_env():\n    env = {}\n    if x:\n        env['NCCL_A'] = '1'\n    return env", ["set NCCL_A=1"]),
    ("def f():\n    return {'A1': '1'}\nsubprocess.run(c, env=f())", ["set A1=1"]),
    ("def go(c, e):\n    subprocess.run(c, env=e)\ngo('x', {'A1': '1'})", ["set A1=1"]),
    ("class T:\n    env = {'NCCL_A': '1'}", ["set NCCL_A=1"]),
    ("class T:\n    def f(self):\n        self.env = {'NCCL_A': '1'}\n        self.env['NCCL_B'] = '2'",
     ["set NCCL_A=1", "set NCCL_B=2"]),
    ("os.execvpe('x', [], {'A1': '1'})", ["set A1=1"]),
    ("subprocess.run(c, env={k: os.environ[k] for k in ('A1', 'B1')})", ["pass A1=<unknown>", "pass B1=<unknown>"]),
    ("env = {}\nfor k in ('A1', 'B1'):\n    env[k] = os.environ[k]", ["pass A1=<unknown>", "pass B1=<unknown>"]),
    ("subprocess.run(c, env={'A1': os.environ['A1']})", ["pass A1=<template>"]),
    ("run(**{'env': {'NCCL_A': '1'}})", ["set NCCL_A=1"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CHILD)
def test_child_environment(text: str, expected: list[str]) -> None:
    assert settings(text, "child-environment") == expected


RUNTIME = [
    ("ray.init(runtime_env={'env_vars': {'NCCL_A': '1'}})", ["set NCCL_A=1"]),
    ("def e():\n    return {'NCCL_A': '1'}\nr = {'env_vars': e()}\nA.options(runtime_env=r)", ["set NCCL_A=1"]),
    ("RuntimeEnv(env_vars={'NCCL_A': '1'})", ["set NCCL_A=1"]),
    ("env_vars = {'NCCL_A': '1'}\nenv_vars['NCCL_B'] = '2'\nr = {'env_vars': merge_env(env_vars)}",
     ["set NCCL_A=1", "set NCCL_B=2"]),
    ("runtime_env['env_vars']['NCCL_A'] = '1'", ["set NCCL_A=1"]),
    ("ex = SlurmExecutor(env_vars={'NCCL_A': '1'})\nex.env_vars['NCCL_B'] = '2'", ["set NCCL_A=1", "set NCCL_B=2"]),
    ("image = Image.debian_slim().env({'NCCL_A': '1'})", ["set NCCL_A=1"]),
    ("task = sky.Task(envs={'NCCL_A': '1'})", ["set NCCL_A=1"]),
    ("client.containers.run(i, environment=['NCCL_A=1'])", ["set NCCL_A=1"]),
    ("Op(env_vars={'NCCL_A': os.environ.get('NCCL_A', '1')})", ["pass NCCL_A=<template>"]),
    ("env_vars.append(BeakerEnvVar(name='NCCL_A', value='1'))", ["set NCCL_A=1"]),
    ("task.set_env_variable('NCCL_A', '1')", ["set NCCL_A=1"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), RUNTIME)
def test_runtime_env(text: str, expected: list[str]) -> None:
    assert settings(text, "runtime-env") == expected


KUBERNETES = [
    ("c = k.V1Container(env=[k.V1EnvVar(name='NCCL_A', value='1')])", ["set NCCL_A=1"]),
    ("pod = {'containers': [{'env': [{'name': 'NCCL_A', 'value': '1'}]}]}", ["set NCCL_A=1"]),
    ("c = k.V1Container(env=[{'name': 'NCCL_A', 'value': '1'}])", ["set NCCL_A=1"]),
]


@pytest.mark.parametrize(("text", "expected"), KUBERNETES)
def test_kubernetes(text: str, expected: list[str]) -> None:
    assert settings(text, "kubernetes") == expected


GUARDED = [
    ("def test(monkeypatch):\n    monkeypatch.setenv('NCCL_A', '1')", ["set NCCL_A=1"]),
    ("def test(monkeypatch):\n    monkeypatch.delenv('NCCL_A', raising=False)", ["unset NCCL_A="]),
    ("def test(monkeypatch):\n    monkeypatch.setitem(os.environ, 'NCCL_A', '1')", ["set NCCL_A=1"]),
    ("with mock.patch.dict(os.environ, {'NCCL_A': '1'}):\n    pass", ["set NCCL_A=1"]),
    ("from unittest.mock import patch\n@patch.dict('os.environ', {'NCCL_A': '1'}, clear=True)\ndef f(): pass",
     ["set NCCL_A=1"]),
    ("E = {'NCCL_A': '1'}\nwith mock.patch.dict(os.environ, values=E):\n    pass", ["set NCCL_A=1"]),
    ("with mock.patch.dict(os.environ, NCCL_A='1'):\n    pass", ["set NCCL_A=1"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), GUARDED)
def test_of_a_test_double(text: str, expected: list[str]) -> None:
    facts = read("import os\nfrom unittest import mock\n" + text)
    assert [short(s) for s in facts.settings] == expected
    assert all(s.guarded and s.channel == "python-environ" for s in facts.settings)


NONE = [
    '"""os.environ["NCCL_A"] = "1"\n\nexport NCCL_B=1\n"""',
    '# os.environ["NCCL_A"] = "1"',
    "x = os.environ.get('NCCL_A')",
    "x = os.getenv('NCCL_A', '1')",
    "x = 'NCCL_A' in os.environ",
    "x = os.environ['NCCL_A'] == '1'",
    "print('export NCCL_A=1')",
    "log.info('set NCCL_A=1 first')",
    "raise ValueError('export NCCL_A=1')",
    "assert x, 'export NCCL_A=1'",
    "p.add_argument('--x', help='export NCCL_A=1 first')",
    "HINT = 'export NCCL_A=1 before the launch'",
    "GOOD = json.dumps({'next': ['export NCCL_A=1']})",
    "def status():\n    return {'NCCL_A': os.environ.get('NCCL_A', 'NOT SET')}",
    "def env_info():\n    return {'NCCL_A': '1'}",
    "KNOWN = ('NCCL_A', 'NCCL_B')",
    "DEFAULTS = {'NCCL_A': '1'}",
    "ENV_VAR_DESCRIPTIONS = {'NCCL_A': 'x'}",
    "ENV_VARS = {'NCCL_A': 'The first thing that everyone should know about'}",
    "RENAMED_ENV = {'NCCL_A': 'TORCH_NCCL_A'}",
    "ENV = {'NCCL_A': lambda: 1, 'NCCL_B': frozenset({'1'}), 'NCCL_C': None, 'NCCL_D': ['1']}",
    "expected_env = {'NCCL_A': '1'}",
    "env = gym.make('CartPole-v1')\nenv['NCCL_A']\nenv.step(1)",
    "make_env({'max_steps': 4})",
    "env_config = {'NUM_ENVS': 4}",
    "config = {'env': {'name': 'CartPole'}}",
    "x: 'os.environ[\"NCCL_A\"] = 1' = 3",
    "def f(a: {'env_vars': 1}) -> {'NCCL_A': 1}: pass",
    "other['NCCL_A'] = '1'",
    "table.update({'NCCL_A': '1'})",
    "for k, v in {'NCCL_A': '1'}.items():\n    print(k, v)",
    "os.environ[name] = '1'",
    "os.environ[f'NCCL_{x}'] = '1'",
    "os.environ.update(parse(x))",
    "Report(env={'NCCL_A': os.environ['NCCL_A']})",
    "result = {'env': {'NCCL_A': os.environ['NCCL_A']}}",
]


@pytest.mark.parametrize("text", NONE)
def test_no_setting(text: str) -> None:
    assert read("import os, json\n" + text).settings == []


def test_read_settings_alone_gives_the_same_settings() -> None:
    text = "import os, torch\nos.environ['A'] = '1'\ntorch.manual_seed(0)\nif os.getenv('B'): pass\n"
    whole, part = read(text), python.read_settings(Source("a.py", text))
    assert (part.settings, [u.name for u in part.uses]) == (whole.settings, ["B"])
    assert not part.calls and not part.inclusions and whole.calls


def test_read_settings_skips_what_holds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "parse", None)
    assert python.read_settings(Source("a.py", "import torch\nx = torch.ones(3)\n")).settings == []
