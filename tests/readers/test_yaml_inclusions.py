"""Files of variables that manifests name, with the container that they are for."""

from __future__ import annotations

from facts_shown import facts_of


def test_env_files_of_compose_belong_to_their_service() -> None:
    text = "services:\n  a:\n    image: x\n    env_file: one.env\n  b:\n    image: y\n    env_file: [two.env]\n"
    found = facts_of(text, "compose.yaml").inclusions
    assert [(i.target, i.scope.kind, i.scope.name) for i in found] == [
        ("one.env", "container", "a"), ("two.env", "container", "b"),
    ]  # fmt: skip


def test_stores_belong_to_their_container() -> None:
    text = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - name: a
    image: x
    envFrom:
    - configMapRef: {name: settings}
  - name: b
    image: x
    envFrom:
    - secretRef: {name: keys}
"""
    found = facts_of(text, "pod.yaml").inclusions
    assert [(i.target, i.scope.name) for i in found] == [("ConfigMap/settings", "a"), ("Secret/keys", "b")]
