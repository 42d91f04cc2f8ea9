"""Steps of CI: in order, with the environment of the workflow, of the job and their own."""

from __future__ import annotations

from roots_shown import given, lost, parts_of, roots_in, words

from envdoctor.analysis.process.roots import Root, roots_of

GITHUB = """\
name: tests
on: [push]
env:
  NCCL_DEBUG: INFO
  LEVEL: workflow
jobs:
  gpu:
    runs-on: [self-hosted, gpu]
    container:
      image: org/ci:1
      options: --gpus all -e D=2
    env:
      OMP_NUM_THREADS: 1
      LEVEL: job
    steps:
      - uses: actions/checkout@v4
      - name: Install
        run: pip install -e .
      - name: Train
        env:
          NCCL_P2P_DISABLE: "1"
          LEVEL: step
        run: |
          export B=1
          torchrun --nproc_per_node 2 train.py
      - if: failure()
        run: python report.py
  lint:
    runs-on: ubuntu-latest
    steps:
      - run: bash lint.sh
"""


def shown(roots: list[Root]) -> list[tuple[str, int, int]]:
    return [(root.name, root.line, root.before) for root in roots]


def test_github_steps_come_one_after_the_other_in_their_job() -> None:
    roots = roots_in(GITHUB, ".github/workflows/gpu.yml")
    assert {root.kind for root in roots} == {"step"}
    assert shown(roots) == [
        ("gpu/Install", 18, -1), ("gpu/Train", 24, 0), ("gpu/step at line 26", 27, 1), ("lint/step at line 31", 31, -1),
    ]  # fmt: skip
    assert [root.image for root in roots] == ["org/ci:1"] * 3 + [""]


def test_the_environment_of_a_step_wins_over_that_of_its_job() -> None:
    install, train, report, lint = roots_in(GITHUB, ".github/workflows/gpu.yml")
    job = {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "1", "D": "2"}
    assert given(install) == {**job, "LEVEL": "job"}
    assert given(train) == {**job, "NCCL_P2P_DISABLE": "1", "LEVEL": "step"}
    assert words(train) == ["export B=1", "torchrun --nproc_per_node 2 train.py"]
    assert given(lint) == {"NCCL_DEBUG": "INFO", "LEVEL": "workflow"}
    assert report.script is not None
    assert [branch.condition for branch in report.script.branch] == []  # the reader says it of facts, not of the text


def test_a_composite_action_gets_more_from_its_caller() -> None:
    text = """\
name: setup
runs:
  using: composite
  steps:
    - run: bash run.sh
      shell: bash
      env: {A: "1"}
    - name: Train
      run: torchrun train.py
      shell: bash
"""
    roots = roots_in(text, "action.yml")
    assert shown(roots) == [("step at line 5", 5, -1), ("Train", 9, 0)]
    assert [given(root) for root in roots] == [{"A": "1"}, {}]
    assert not any(root.exact for root in roots)


GITLAB = """\
image: org/base
variables:
  NCCL_DEBUG: INFO
stages: [test]
default:
  before_script:
    - source /opt/env.sh
.gpu:
  stage: test
  image: org/gpu
  variables:
    OMP_NUM_THREADS: "8"
    LEVEL: base
  script:
    - torchrun base.py
  after_script:
    - bash clean.sh
train:
  extends: .gpu
  variables:
    LEVEL: job
  script:
    - export B=1
    - torchrun train.py
again:
  extends: [.gpu]
own:
  stage: test
  before_script:
    - export C=1
  script: bash run.sh
  after_script:
    - bash after.sh
"""


def test_gitlab_runs_what_comes_before_in_the_same_shell() -> None:
    roots = {root.name: root for root in roots_in(GITLAB, ".gitlab-ci.yml")}
    assert list(roots) == ["train", "own", "again", ".gpu/after_script", "own/after_script"]
    assert words(roots["train"]) == ["source /opt/env.sh", "export B=1", "torchrun train.py"]
    assert words(roots["own"]) == ["export C=1", "bash run.sh"]
    assert words(roots["own/after_script"]) == ["bash after.sh"]
    assert roots["own/after_script"].before == 1


def test_gitlab_jobs_take_over_what_they_extend() -> None:
    roots = {root.name: root for root in roots_in(GITLAB, ".gitlab-ci.yml")}
    assert given(roots["train"]) == {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "8", "LEVEL": "job"}
    assert given(roots["again"]) == {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "8", "LEVEL": "base"}
    assert words(roots["again"]) == ["source /opt/env.sh", "torchrun base.py"]
    assert given(roots["own"]) == {"NCCL_DEBUG": "INFO"}
    assert [roots[name].image for name in ("train", "again", "own")] == ["org/gpu", "org/gpu", "org/base"]


AZURE = """\
trigger: [main]
variables:
  A: 1
jobs:
- job: train
  variables:
    B: 2
  steps:
  - script: bash run.sh
    displayName: Run
    env: {C: 3}
  - bash: |
      export X=1
      python train.py
- job: other
  steps:
  - script: bash other.sh
"""


def test_azure_steps() -> None:
    roots = roots_in(AZURE, "azure-pipelines.yml")
    assert shown(roots) == [
        ("train/Run", 9, -1), ("train/step at line 12", 13, 0), ("other/step at line 17", 17, -1)
    ]  # fmt: skip
    assert [given(root) for root in roots] == [{"A": "1", "B": "2", "C": "3"}, {"A": "1", "B": "2"}, {"A": "1"}]


def test_azure_jobs_have_what_their_stage_has() -> None:
    text = "trigger: [main]\nstages:\n- stage: gpu\n  variables:\n    A: 1\n    B: stage\n  jobs:\n  - job: train\n" \
           "    variables:\n      B: job\n    steps:\n    - script: bash run.sh\n"  # fmt: skip
    (root,) = roots_in(text, "azure-pipelines.yml")
    assert (root.name, given(root)) == ("train/step at line 12", {"A": "1", "B": "job"})


CIRCLE = """\
version: 2.1
executors:
  gpu:
    machine: {image: ubuntu}
    environment: {E: "1", LEVEL: executor}
jobs:
  train:
    executor: gpu
    environment:
      LEVEL: job
    steps:
      - checkout
      - run: bash run.sh
      - run:
          name: Train
          environment: {B: "1"}
          command: |
            torchrun train.py
workflows: {w: {jobs: [train]}}
"""


def test_circle_jobs_have_what_their_executor_has() -> None:
    roots = roots_in(CIRCLE, ".circleci/config.yml")
    assert [root.before for root in roots] == [-1, 0]
    assert given(roots[0]) == {"E": "1", "LEVEL": "job"}
    assert given(roots[1]) == {"E": "1", "LEVEL": "job", "B": "1"}


BUILDKITE = """\
env:
  A: "1"
steps:
  - label: train
    env: {B: "1"}
    command: bash run.sh
  - wait
  - label: two
    commands:
      - export C=1
      - torchrun train.py
"""


def test_buildkite_steps_are_jobs_apart() -> None:
    roots = roots_in(BUILDKITE, ".buildkite/pipeline.yml")
    assert shown(roots) == [("train", 6, -1), ("two", 10, -1)]
    assert [given(root) for root in roots] == [{"A": "1", "B": "1"}, {"A": "1"}]
    assert words(roots[1]) == ["export C=1", "torchrun train.py"]


def test_every_script_is_run_by_a_root() -> None:
    for text, path in ((GITHUB, ".github/workflows/a.yml"), (GITLAB, ".gitlab-ci.yml"), (AZURE, "azure-pipelines.yml"),
                       (CIRCLE, ".circleci/config.yml"), (BUILDKITE, ".buildkite/pipeline.yml")):  # fmt: skip
        facts, scripts = parts_of(text, path)
        assert lost(scripts, roots_of(facts, scripts, text)) == [], path
