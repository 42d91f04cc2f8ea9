"""Scripts in YAML: which text goes to the shell reader, with which scope, and that every place holds."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("envdoctor.readers.shell.reader")

from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source
from envdoctor.readers.registry import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "yaml"


def facts_of(text: str, path: str = "x.yaml") -> FileFacts:
    return read(Source(path, text), "yaml")


def fixture(name: str) -> FileFacts:
    return facts_of((FIXTURES / name).read_text(), name)


SCRIPTS = {
    "pod.yaml": [("NCCL_PROTO", 15, "container:main"), ("NCCL_IB_DISABLE", 35, "subshell:main/hook at line 35")],
    "configmap.yaml": [("NCCL_ALGO", 14, "manifest:nccl-env")],
    "compose.yaml": [("NCCL_P2P_DISABLE", 31, "container:three"), ("NCCL_NTHREADS", 31, "command:python")],
    "workflow.yaml": [
        ("HSA_FORCE_FINE_GRAIN_PCIE", 9, "container:test"), ("NCCL_NTHREADS", 21, "subshell:test/step at line 17"),
        ("NCCL_BUFFSIZE", 22, "file:$GITHUB_ENV"),
        ("NCCL_NSOCKS_PERTHREAD", 27, "subshell:test/step at line 24"),
    ],
    ".gitlab-ci.yml": [
        ("NCCL_IB_DISABLE", 12, "container:train"), ("NCCL_AFTER", 17, "subshell:train/step at line 17"),
    ],
    "azure-pipelines.yml": [("NCCL_PROTO", 11, "subshell:train/step at line 10")],
    ".circleci/config.yml": [("NCCL_PROTO", 13, "subshell:gpu/step at line 9")],
    "skypilot.yaml": [("NCCL_PROTO", 14, "subshell:setup"), ("NCCL_ALGO", 11, "process:")],
    "dstack.yml": [("NCCL_ALGO", 8, "process:")],
    "ray-cluster.yaml": [("NCCL_DEBUG", 7, "process:"), ("NCCL_SOCKET_IFNAME", 10, "subshell:head_start_ray_commands")],
    "playbook.yml": [("NCCL_PROTO", 8, "subshell:task at line 4")],
    "hydra.yaml": [("NCCL_NTHREADS", 14, "command:torchrun"), ("NCCL_IB_DISABLE", 15, "process:")],
    "broken.yaml": [("NCCL_DEBUG", 12, "process:")],
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_a_fixture(name: str) -> None:
    facts = fixture(name)
    wanted = {variable for variable, _, _ in SCRIPTS[name]}
    found = {
        (setting.name, setting.place.line): f"{setting.scope.kind}:{setting.scope.name}" for setting in facts.settings
    }
    for variable, line, scope in SCRIPTS[name]:
        assert (variable, line) in found, (variable, line, found)
        assert not scope or found[variable, line].startswith(scope)
    assert wanted <= {setting.name for setting in facts.settings}
    assert [setting.order for setting in facts.settings] == sorted(setting.order for setting in facts.settings)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_place_holds(name: str) -> None:
    lines = (FIXTURES / name).read_text().split("\n")
    for setting in fixture(name).settings:
        place = setting.name_place
        if place and setting.channel != "runtime-env":
            assert lines[place.line - 1][place.column - 1 : place.end_column - 1] == setting.name


@pytest.mark.parametrize(
    ("name", "line", "scope"),
    [
        ("pod.yaml", 15, "main"), ("compose.yaml", 12, "one"), ("skypilot.yaml", 12, ""),
        (".gitlab-ci.yml", 15, "train"), ("trainjob.yaml", 7, "trainer"),
    ],
)  # fmt: skip
def test_launches_of_a_fixture(name: str, line: int, scope: str) -> None:
    launches = [launch for launch in fixture(name).launches if launch.launcher == "torchrun"]
    assert [(launch.place.line, launch.scope.name) for launch in launches] == [(line, scope)]


@pytest.mark.parametrize(
    "value",
    [
        "|\n      export NCCL_ALGO=Ring\n",
        ">\n      export\n      NCCL_ALGO=Ring\n",
        '"export NCCL_ALGO=Ring; torchrun a.py"\n',
        '"echo \\"x\\"; export NCCL_ALGO=Ring"\n',
        "'echo ''x''; export NCCL_ALGO=Ring'\n",
        "export NCCL_ALGO=Ring\n",
        "export\n      NCCL_ALGO=Ring\n",
        '[bash, -c, "echo \\"x\\" && export NCCL_ALGO=Ring"]\n',
        "\n    - bash\n    - -lc\n    - |\n      set -e\n      export NCCL_ALGO=Ring\n",
        "\n    - |\n      export NCCL_ALGO=Ring\n      torchrun a.py\n",
        "\n    - /bin/sh\n    - -e\n    - -c\n    - export NCCL_ALGO=Ring\n",
        "[mpirun, -x, NCCL_ALGO=Ring, python, train.py]\n",
        "|\n      {{- if .Values.x }}\n      export NCCL_ALGO=Ring\n      {{- end }}\n",
    ],
)
def test_the_place_of_a_setting_in_each_style_of_scalar(value: str) -> None:
    text = f"services:\n  a:\n    image: x\n    command: {value}"
    settings = [setting for setting in facts_of(text).settings if setting.name == "NCCL_ALGO"]
    assert [setting.value.text for setting in settings] == ["Ring"]
    place = settings[0].name_place
    assert place is not None
    assert text.split("\n")[place.line - 1][place.column - 1 : place.end_column - 1] == "NCCL_ALGO"


@pytest.mark.parametrize(
    "text",
    [
        "run: bash\n",
        "setup: don't use more\n",
        "init: xavier uniform\n",
        "shell: NCCL_ALGO=Ring\n",
        "description: |\n  export NCCL_ALGO=Ring\n",
        "on: push\njobs: {a: {steps: [{shell: pwsh, run: 'NCCL_ALGO=Ring python a.py'}]}}\n",
        "run_options: [--shm-size=16g, NCCL_ALGO=Ring]\n",
    ],
)
def test_text_that_is_not_run(text: str) -> None:
    facts = facts_of(text)
    assert not facts.settings
    assert not facts.launches
    assert not facts.problems


WORKFLOW = """
on: push
jobs:
  test:
    runs-on: x
    steps:
    - name: one
      if: ${CONDITION}
      env:
        NCCL_ALGO: Ring
      run: |
        export NCCL_PROTO=Simple
        if [ -n "$X" ]; then export NCCL_DEBUG=INFO; fi
    - run: export NCCL_IB_DISABLE=1
"""


@pytest.mark.parametrize("condition", ["runner.os == 'Linux'", "${{ matrix.gpu }}", "failure()"])
def test_a_step_that_is_not_always_done(condition: str) -> None:
    facts = facts_of(WORKFLOW.replace("${CONDITION}", condition), ".github/workflows/x.yml")
    branches = {s.name: [b.condition for b in s.branch] for s in facts.settings}
    assert branches["NCCL_ALGO"] == branches["NCCL_PROTO"] == [condition]
    assert branches["NCCL_DEBUG"] == [condition, '[ -n "$X" ]']
    assert branches["NCCL_IB_DISABLE"] == []


@pytest.mark.parametrize("condition", ["always()", "${{ success() }}", "!cancelled()", ""])
def test_a_step_that_is_done_in_every_good_run(condition: str) -> None:
    facts = facts_of(WORKFLOW.replace("${CONDITION}", condition), ".github/workflows/x.yml")
    assert [len(s.branch) for s in facts.settings if s.name != "NCCL_DEBUG"] == [0, 0, 0]


def test_a_task_with_a_condition_and_keys_that_are_none() -> None:
    play = "- hosts: all\n  tasks:\n  - shell: export NCCL_ALGO=Ring\n    when: ansible_os_family == 'Debian'\n"
    facts = facts_of(play, "site.yml")
    assert [[b.condition for b in s.branch] for s in facts.settings] == [["ansible_os_family == 'Debian'"]]
    pod = "apiVersion: v1\nkind: Pod\nspec:\n  if: x\n  containers:\n  - name: c\n    env: [{name: NCCL_ALGO, value: Ring}]\n"
    assert [s.branch for s in facts_of(pod).settings] == [()]
