"""Containers of Kubernetes and compose: their environment, the roles of one job, and what the image has to do with it."""

from __future__ import annotations

import pytest
from roots_shown import given, lost, parts_of, roots_in, words

from envdoctor.analysis.process.roots import roots_of

DDP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: nccl
data:
  NCCL_DEBUG: INFO
  run.sh: |
    export A=1
    torchrun train.py
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: ddp
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          initContainers:
            - name: fetch
              image: busybox
              command: ["sh", "-c", "echo some words"]
          containers:
            - name: pytorch
              image: org/train:1
              env:
                - name: NCCL_IB_HCA
                  value: mlx5
              command: ["torchrun", "train.py"]
    Worker:
      replicas: 3
      template:
        spec:
          containers:
            - name: pytorch
              image: org/train:1
              envFrom:
                - configMapRef: {name: nccl}
                - secretRef: {name: keys}
              env:
                - {name: NCCL_IB_HCA, value: mlx5_0}
              command: ["/bin/bash", "-c"]
              args:
                - |
                  export Y=1
                  torchrun train.py
"""


def test_roles_of_one_job_are_told_apart() -> None:
    roots = roots_in(DDP, "k8s/ddp.yaml")
    assert [(r.kind, r.name, r.group, r.role) for r in roots] == [
        ("script", "run.sh", "", ""),
        ("container", "Master/fetch", "", ""),
        ("container", "Master/pytorch", "PyTorchJob ddp", "Master"),
        ("container", "Worker/pytorch", "PyTorchJob ddp", "Worker"),
    ]
    assert [given(r) for r in roots] == [
        {}, {}, {"NCCL_IB_HCA": "mlx5"}, {"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": "mlx5_0"},
    ]  # fmt: skip
    assert [r.image for r in roots] == ["", "busybox", "org/train:1", "org/train:1"]
    assert words(roots[3]) == ["export Y=1", "torchrun train.py"]


def test_a_store_that_is_not_in_the_file_leaves_the_environment_open() -> None:
    master, worker = roots_in(DDP, "k8s/ddp.yaml")[2:]
    assert (master.exact, worker.exact) == (True, False)
    assert [i.target for i in worker.env_files] == ["Secret/keys"]
    assert [(s.name, s.exported) for s in worker.settings] == [("NCCL_DEBUG", "yes"), ("NCCL_IB_HCA", "yes")]


def test_documents_are_apart_although_their_containers_have_one_name() -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers:
  - name: main
    image: org/%s
    env:
    - name: A
      value: "%s"
    args: ["--lr", "1"]
"""
    roots = roots_in("---\n".join(pod % ((name,) * 3) for name in ("one", "two")), "pods.yaml")
    assert [(r.name, r.image, given(r), r.group) for r in roots] == [
        ("main", "org/one", {"A": "one"}, ""), ("main", "org/two", {"A": "two"}, ""),
    ]  # fmt: skip
    assert all(r.after_entrypoint for r in roots)


def test_a_container_without_a_command_runs_what_its_image_says() -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n" \
           "      - name: web\n        image: org/web\n        env: [{name: A, value: x}]\n"  # fmt: skip
    (root,) = roots_in(text, "web.yaml")
    assert (root.script, root.image, given(root)) == (None, "org/web", {"A": "x"})


@pytest.mark.parametrize(
    ("kind", "api", "spec", "roles"),
    [
        ("RayCluster", "ray.io/v1", "headGroupSpec:\n    template: {}\n", ["head", "gpu"]),
        ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "", ["leader", "worker"]),
        ("Job", "batch.volcano.sh/v1alpha1", "", ["ps", "trainer"]),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", "", ["driver", "workers"]),
        ("MPIJob", "kubeflow.org/v2beta1", "", ["Launcher", "Worker"]),
    ],
)
def test_kinds_of_jobs_with_several_roles(kind: str, api: str, spec: str, roles: list[str]) -> None:
    roots = roots_in(f"apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: j\nspec:\n" + SPECS[kind], "job.yaml")
    assert [(r.group, r.role) for r in roots] == [(f"{kind} j", role) for role in roles]
    assert all(words(r) == ["python train.py"] for r in roots)


_POD = "containers: [{name: c, image: i, command: [python, train.py]}]"
SPECS = {
    "RayCluster": f"  headGroupSpec:\n    template:\n      spec:\n        {_POD}\n"
                  f"  workerGroupSpecs:\n  - groupName: gpu\n    template:\n      spec:\n        {_POD}\n",
    "LeaderWorkerSet": f"  leaderWorkerTemplate:\n    leaderTemplate:\n      spec:\n        {_POD}\n"
                       f"    workerTemplate:\n      spec:\n        {_POD}\n",
    "Job": f"  tasks:\n  - name: ps\n    template:\n      spec:\n        {_POD}\n"
           f"  - name: trainer\n    template:\n      spec:\n        {_POD}\n",
    "JobSet": f"  replicatedJobs:\n  - name: driver\n    template:\n      spec:\n        {_POD}\n"
              f"  - name: workers\n    template:\n      spec:\n        {_POD}\n",
    "MPIJob": f"  mpiReplicaSpecs:\n    Launcher:\n      template:\n        spec:\n          {_POD}\n"
              f"    Worker:\n      template:\n        spec:\n          {_POD}\n",
}  # fmt: skip

COMPOSE = """\
x-common: &common
  environment: &env
    NCCL_DEBUG: INFO
    TOKEN:
services:
  train:
    <<: *common
    image: org/train:1
    env_file:
      - a.env
      - path: b.env
    environment:
      <<: *env
      NCCL_DEBUG: WARN
    entrypoint: ["/entry.sh"]
    command: torchrun --nproc_per_node 8 train.py
  other:
    build:
      context: ./docker
      dockerfile: gpu.Dockerfile
      target: dev
    environment:
      - A=1
      - HOME
    command: ["bash", "-c", "export X=1; python train.py"]
  child:
    extends:
      service: other
    environment:
      A: "2"
"""


def test_services_have_their_environment_above_that_of_their_files() -> None:
    train, other, child = roots_in(COMPOSE, "deploy/compose.yaml")
    assert [r.kind for r in (train, other, child)] == ["container"] * 3
    assert given(train) == {"NCCL_DEBUG": "WARN", "TOKEN": "?"}
    assert ([i.target for i in train.env_files], train.over) == (["a.env", "b.env"], False)
    assert words(train) == ["/entry.sh torchrun --nproc_per_node 8 train.py"]
    assert given(other) == {"A": "1", "HOME": "?"}
    assert given(child) == {"A": "2", "HOME": "?"}
    assert words(child) == words(other) == ["export X=1", "python train.py"]


def test_services_say_which_image_they_enter() -> None:
    train, other, _ = roots_in(COMPOSE, "deploy/compose.yaml")
    assert (train.image, train.dockerfile, train.after_entrypoint) == ("org/train:1", "", False)
    assert (other.dockerfile, other.stage, other.after_entrypoint) == ("deploy/docker/gpu.Dockerfile", "dev", True)
    (plain,) = roots_in("services:\n  a:\n    build: ..\n    environment: {A: b}\n", "x/y/compose.yml")
    assert plain.dockerfile == "x/Dockerfile"


def test_every_script_is_run_by_a_root() -> None:
    for text, path in ((DDP, "ddp.yaml"), (COMPOSE, "compose.yaml")):
        facts, scripts = parts_of(text, path)
        assert lost(scripts, roots_of(facts, scripts, text)) == [], path


def test_a_container_named_as_its_role_keeps_its_environment_to_itself() -> None:
    text = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n  name: j\nspec:\n  replicatedJobs:\n" \
           "  - name: workload\n    template:\n      spec:\n        template:\n          spec:\n            containers:\n" \
           "            - name: workload\n              image: a\n              env: [{name: A, value: x}]\n" \
           "              lifecycle:\n                preStop:\n                  exec:\n" \
           "                    command: [bash, stop.sh]\n" \
           "            - name: sidecar\n              image: b\n"  # fmt: skip
    found = {r.name: given(r) for r in roots_in(text, "job.yaml")}
    assert found == {"workload": {"A": "x"}, "workload/hook at line 19": {"A": "x"}, "workload/sidecar": {}}
