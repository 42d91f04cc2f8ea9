"""Scripts of other languages as operations, and files that have no rule of their own."""

from __future__ import annotations

import pytest
from roots_shown import given, roots_in, words

from envdoctor.analysis.process.roots import MODULES, roots_of
from envdoctor.core.facts import FileFacts
from envdoctor.readers.registry import READERS

CSH = """\
#!/bin/csh
#SBATCH -N 2
setenv NCCL_DEBUG INFO
set local = 1
if ($?X) then
  setenv NCCL_ALGO Ring
  source env.csh
else if ($HOST == "a") then
  setenv NCCL_ALGO Tree
else
  unsetenv NCCL_IB_HCA
endif
if (! $?Y) setenv NCCL_PROTO "${local}"
mpirun -np 8 -x NCCL_DEBUG python train.py
"""


@pytest.mark.parametrize("path", ["run.csh", "job.sh"])
def test_csh_runs_like_a_shell_script(path: str) -> None:
    (root,) = roots_in(CSH, path)
    assert root.kind == "job"
    assert words(root) == [
        "export NCCL_DEBUG=INFO",
        "local=1",
        "if [ -n $X ] then export NCCL_ALGO=Ring; source env.csh"
        ' elif [ else if ($HOST == "a") ] then export NCCL_ALGO=Tree else unset NCCL_IB_HCA',
        "if [ -z $Y ] then export NCCL_PROTO=$local",
        "mpirun -np 8 -x NCCL_DEBUG python train.py",
    ]


def test_places_are_those_of_the_file() -> None:
    (root,) = roots_in(CSH, "run.csh")
    assert root.script is not None
    assert [one[1] for one in root.script.body] == [3, 4, 6, 13, 14]
    assert root.script.body[0][1:3] == (3, 8)
    assert root.script.shell == "csh"


def test_fish_functions_run_where_they_are_defined() -> None:
    text = "set -gx NCCL_DEBUG INFO\nset local 1\nfunction go\n  set -x NCCL_ALGO Ring\n  torchrun train.py\nend\n" \
           "source env.fish\nif set -q X\n  set -e NCCL_DEBUG\nend\ntorchrun other.py\n"  # fmt: skip
    (root,) = roots_in(text, "run.fish")
    assert words(root) == [
        "export NCCL_DEBUG=INFO", "local=1", "export NCCL_ALGO=Ring", "torchrun train.py", "source env.fish",
        "if [ -n $X ] then unset NCCL_DEBUG", "torchrun other.py",
    ]  # fmt: skip


def test_modulefiles() -> None:
    text = "#%Module\nsetenv NCCL_DEBUG INFO\nprepend-path PATH /opt/bin\nif { [info exists X] } { setenv NCCL_ALGO Ring }\n"
    (root,) = roots_in(text, "gpu.tcl")
    assert words(root) == ["export NCCL_DEBUG=INFO", "export PATH+=/opt/bin", "if [ -n $X ] then export NCCL_ALGO=Ring"]
    (lua,) = roots_in('setenv("NCCL_DEBUG", "INFO")\nprepend_path("PATH", "/opt")\n', "gpu.lua")
    assert words(lua) == ["export NCCL_DEBUG=INFO", "export PATH+=/opt"]


def test_plays_have_the_environment_of_their_play_and_task() -> None:
    text = "- hosts: all\n  environment:\n    NCCL_DEBUG: INFO\n  tasks:\n    - name: train\n      shell: bash run.sh\n" \
           '      environment: {NCCL_ALGO: Ring}\n    - command: torchrun train.py\n'  # fmt: skip
    first, second = roots_in(text, "play.yml")
    assert (first.name, given(first)) == ("train", {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"})
    assert given(second) == {"NCCL_DEBUG": "INFO"}


def test_skypilot_has_a_shell_for_the_setup_and_one_to_run() -> None:
    text = "resources: {accelerators: H100:8}\nnum_nodes: 2\nenvs:\n  NCCL_DEBUG: INFO\nsetup: |\n  export A=1\n" \
           "  pip install x\nrun: |\n  torchrun train.py\n"  # fmt: skip
    setup, run = roots_in(text, "sky.yaml")
    assert [(r.name, given(r), r.exact) for r in (setup, run)] == [
        ("setup", {"NCCL_DEBUG": "INFO"}, False), ("run", {"NCCL_DEBUG": "INFO"}, False),
    ]  # fmt: skip


def test_blocks_of_terraform_and_values_of_charts_hold_what_lies_in_them() -> None:
    text = 'resource "kubernetes_job" "j" {\n  spec {\n    container {\n      image = "org/x"\n' \
           '      command = ["torchrun", "train.py"]\n      env {\n        name = "NCCL_ALGO"\n        value = "Ring"\n' \
           "      }\n    }\n  }\n}\n"  # fmt: skip
    (root,) = roots_in(text, "main.tf")
    assert (given(root), root.image, words(root)) == ({"NCCL_ALGO": "Ring"}, "org/x", ["torchrun train.py"])
    text = "image: {repository: org/x, tag: v}\nenv:\n  NCCL_DEBUG: INFO\nworker:\n  extraEnv:\n" \
           "    - {name: NCCL_ALGO, value: Ring}\n  command: [torchrun, train.py]\nother:\n  command: [bash, run.sh]\n"  # fmt: skip
    worker, other = roots_in(text, "values.yaml")
    assert (given(worker), worker.image) == ({"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"}, "org/x:v")
    assert given(other) == {"NCCL_DEBUG": "INFO"}


def test_json_and_toml() -> None:
    pod = '{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "i", "env": ' \
          '[{"name": "NCCL_ALGO", "value": "Ring"}], "command": ["torchrun", "train.py"]}]}}'  # fmt: skip
    (root,) = roots_in(pod, "pod.json")
    assert (root.kind, root.name, root.image, given(root)) == ("container", "c", "i", {"NCCL_ALGO": "Ring"})
    tasks = '{"tasks": [{"label": "t", "type": "shell", "command": "torchrun train.py", "options": ' \
            '{"env": {"NCCL_ALGO": "Ring"}}}, {"label": "b", "command": "bash run.sh"}]}'  # fmt: skip
    train, other = roots_in(tasks, ".vscode/tasks.json")
    assert (given(train), given(other)) == ({"NCCL_ALGO": "Ring"}, {})
    pixi = '[tasks]\ntrain = { cmd = "torchrun train.py", env = { NCCL_ALGO = "Ring" } }\n'
    assert given(roots_in(pixi, "pixi.toml")[0]) == {"NCCL_ALGO": "Ring"}


@pytest.mark.parametrize("kind", sorted({*MODULES, *READERS, "unknown"}))
def test_a_file_without_facts_has_no_roots(kind: str) -> None:
    for text in ("", "\n", "---\n- [", "FROM", "a: &x\n  <<: *x\n"):
        assert roots_of(FileFacts("a", kind), [], text) == []
