"""YAML shapes: each fixture with the settings, components and inclusions that it states, and shapes that state none."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.source import Source
from envdoctor.readers.registry import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "yaml"
OWN_CHANNELS = {"kubernetes", "compose", "ci", "task", "configuration", "runtime-env"}


def facts_of(text: str, path: str = "x.yaml") -> FileFacts:
    return read(Source(path, text), "yaml")


def fixture(name: str) -> FileFacts:
    return facts_of((FIXTURES / name).read_text(), name)


def shown(setting: Setting) -> str:
    value = setting.value
    text = value.text if value.kind == "literal" else f"{value.kind}({value.text})"
    where = f"{setting.scope.kind}:{setting.scope.name}"
    return f"{setting.place.line} {setting.op} {setting.name}={text} {setting.channel} {where} {setting.via}".rstrip()


SETTINGS = {
    "pod.yaml": [
        "12 set MIOPEN_DEBUG_DISABLE_FIND_DB=1 kubernetes container:warmup Pod",
        "20 set NCCL_ALGO=Ring kubernetes container:main Pod",
        "23 set GLOO_SOCKET_IFNAME=template($(POD_IP)) kubernetes container:main Pod",
        "24 set POD_IP=unknown(fieldRef: {fieldPath: status.podIP}) kubernetes container:main Pod",
        "27 set NCCL_DEBUG_SUBSYS= kubernetes container:main Pod",
    ],
    "pytorchjob.yaml": [
        "13 set NCCL_ALGO=Ring kubernetes container:Master/pytorch PyTorchJob",
        "24 set NCCL_ALGO=Tree kubernetes container:Worker/pytorch PyTorchJob",
    ],
    "trainjob.yaml": [
        "9 set NCCL_PROTO=LL kubernetes container:trainer TrainJob",
        "24 set NCCL_PROTO=Simple kubernetes container:node JobSet",
    ],
    "rayjob.yaml": [
        "8 set NCCL_DEBUG=WARN runtime-env manifest:ray Ray",
        "16 set NCCL_SOCKET_IFNAME=eth0 kubernetes container:head/ray-head RayJob",
        "23 set NCCL_SOCKET_IFNAME=eth1 kubernetes container:gpu/ray-worker RayJob",
    ],
    "configmap.yaml": [
        "5 set NCCL_DEBUG=INFO kubernetes manifest:nccl-env ConfigMap",
        "11 set NCCL_BUFFSIZE=4194304 configuration manifest:nccl-env configuration",
        "23 set HF_TOKEN=x kubernetes manifest:token Secret",
    ],
    "kustomization.yaml": [
        "4 set NCCL_DEBUG=INFO kubernetes manifest:tuning ConfigMap",
        "11 set NCCL_ALGO=Ring kubernetes process: manifest",
    ],
    "values.yaml": [
        "6 set NCCL_DEBUG=VERSION kubernetes manifest:network Helm values",
        "10 set NCCL_ALGO=Ring kubernetes manifest:worker Helm values",
        "11 set FROM_SECRET=unknown({valueFrom: {secretKeyRef: {name: a, key: b}}}) kubernetes manifest:worker "
        "Helm values",
        '13 set NCCL_PROTO=template({{ .Values.proto | default "LL128" }}) kubernetes manifest:worker Helm values',
    ],
    "helm-template.yaml": [
        '19 set NCCL_ALGO=template({{ .Values.algo | default "Ring" | quote }}) kubernetes '
        "container:{{ .Chart.Name }} Deployment",
        "22 set NCCL_ALGO=Tree kubernetes container:{{ .Chart.Name }} Deployment",
    ],
    "compose.yaml": [
        "4 set NCCL_DEBUG=INFO compose container:one compose",
        "19 set NCCL_ALGO=Ring compose container:two compose",
        "20 pass NCCL_PROTO=unknown() compose container:two compose",
        "21 set HF_HOME=template(${HF_HOME:-/cache}) compose container:two compose",
        "4 set NCCL_DEBUG=INFO compose container:two compose",
        "26 set NCCL_DEBUG=WARN compose container:three compose",
        "27 set NCCL_SOCKET_IFNAME=eth0 compose container:three compose",
        "28 pass NCCL_IB_HCA=unknown() compose container:three compose",
        "29 set PRICE=$5 compose container:three compose",
    ],
    "workflow.yaml": [
        "3 set NCCL_DEBUG=INFO ci process: GitHub Actions",
        "10 set NCCL_ALGO=Ring ci container:test GitHub Actions",
        "19 set NCCL_PROTO=template(${{ matrix.proto }}) ci subshell:test/step at line 17 GitHub Actions",
    ],
    ".gitlab-ci.yml": [
        "2 set NCCL_DEBUG=INFO ci process: GitLab CI",
        "3 set NCCL_ALGO=Ring ci process: GitLab CI",
        "7 set NCCL_PROTO=Simple ci container:.base GitLab CI",
    ],
    "azure-pipelines.yml": [
        "3 set NCCL_DEBUG=INFO ci process: Azure Pipelines",
        "8 set NCCL_ALGO=Ring ci container:train Azure Pipelines",
        "13 set NCCL_NTHREADS=256 ci subshell:train/step at line 10 Azure Pipelines",
    ],
    ".circleci/config.yml": [
        "6 set NCCL_DEBUG=INFO ci container:gpu CircleCI",
        "11 set NCCL_ALGO=Ring ci subshell:gpu/step at line 9 CircleCI",
    ],
    "skypilot.yaml": [
        "7 set NCCL_DEBUG=INFO task process: SkyPilot",
        "8 pass HF_TOKEN=unknown() task process: SkyPilot",
        "9 set WANDB_API_KEY= task process: SkyPilot",
    ],
    "dstack.yml": ["5 set NCCL_DEBUG=INFO task process: task", "6 pass HF_TOKEN=unknown() task process: task"],
    "ray-config.yaml": [
        "8 set NCCL_ALGO=Ring runtime-env manifest:submit.runtime_env_json Ray",
        "8 set NCCL_PROTO=LL runtime-env manifest:submit.runtime_env_json Ray",
        "5 set NCCL_DEBUG=WARN runtime-env manifest:ray_init.runtime_env Ray",
        "6 set VLLM_LOGGING_LEVEL=template(${oc.env:LEVEL,INFO}) runtime-env manifest:ray_init.runtime_env Ray",
    ],
    "playbook.yml": [
        "2 set NCCL_DEBUG=INFO task process: Ansible",
        "6 set NCCL_ALGO=template({{ algo | default('Ring') }}) task subshell:task at line 4 Ansible",
    ],
    "environment.yml": ["5 set CUBLAS_WORKSPACE_CONFIG=:4096:8 configuration process: conda"],
    "hydra.yaml": [
        "17 set NCCL_BUFFSIZE=1048576 configuration process: configuration",
        "21 set NCCL_CROSS_NIC=1 configuration manifest:environment.environment_variables.gpu configuration",
        "22 set NCCL_MIN_NCHANNELS=4 configuration process: configuration",
        "22 set NCCL_MAX_NCHANNELS=8 configuration process: configuration",
        "4 set NCCL_DEBUG=INFO configuration manifest:hydra.job configuration",
        "5 pass NCCL_ALGO=unknown() configuration manifest:hydra.job configuration",
        "8 set NCCL_PROTO=Simple configuration manifest:trainer configuration",
        "9 set NCCL_LIST=unknown([1, 2]) configuration manifest:trainer configuration",
        "13 set NCCL_PROTO=LL configuration manifest:evaluation configuration",
        "9 set NCCL_LIST=unknown([1, 2]) configuration manifest:evaluation configuration",
    ],
    "broken.yaml": [
        "7 set NCCL_ALGO=Ring kubernetes process:",
        "9 set NCCL_PROTO=template(${PROTO:-LL}) kubernetes process:",
        "15 set NCCL_IB_DISABLE=1 kubernetes process:",
        "16 set NCCL_BUFFSIZE=1048576 kubernetes process:",
        "17 set NCCL_NTHREADS=256 kubernetes process:",
        "21 set NCCL_P2P_DISABLE=1 configuration process: configuration",
    ],
    "no-settings.yaml": [],
    "crd.yaml": [],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_a_fixture(name: str) -> None:
    """What the shell reader finds in scripts is left out here: its channels are its own."""
    found = fixture(name).settings
    settings = [setting for setting in found if setting.channel in OWN_CHANNELS and setting.scope.kind != "file"]
    assert [shown(setting) for setting in settings] == SETTINGS[name]


COMPONENTS = {
    "pod.yaml": [
        ("image", "busybox", "warmup"), ("image", "rocm/pytorch:latest", "main"), ("amd.com/gpu", "8", "main"),
    ],
    "pytorchjob.yaml": [
        ("image", "example.org/train:1", "Master/pytorch"), ("nvidia.com/gpu", "8", "Master/pytorch"),
        ("image", "example.org/train:1", "Worker/pytorch"),
    ],
    "compose.yaml": [
        ("device", "/dev/kfd", "one"), ("device", "/dev/dri", "one"), ("image", "rocm/pytorch:latest", "one"),
        ("image", "nvcr.io/nvidia/pytorch:25.01-py3", "three"), ("runtime", "nvidia", "three"),
    ],
    "values.yaml": [("image", "rocm/pytorch:latest", "")],
    "skypilot.yaml": [("accelerators", "MI300X:8", ""), ("image", "rocm/pytorch:latest", "")],
    "workflow.yaml": [("image", "rocm/pytorch:latest", "test")],
    ".gitlab-ci.yml": [("image", "rocm/pytorch:latest", "train")],
    "no-settings.yaml": [],
}  # fmt: skip


@pytest.mark.parametrize("name", COMPONENTS)
def test_components_of_a_fixture(name: str) -> None:
    assert [(fact.name, fact.version, fact.detail) for fact in fixture(name).components] == COMPONENTS[name]


@pytest.mark.parametrize(
    ("name", "inclusions"),
    [
        ("compose.yaml", [("env-file", "nccl.env"), ("env-file", "more.env")]),
        ("pod.yaml", [("configuration", "ConfigMap/nccl-env")]),
        ("kustomization.yaml", [("env-file", "nccl.env")]),
    ],
)
def test_inclusions_of_a_fixture(name: str, inclusions: list[tuple[str, str]]) -> None:
    assert [(fact.kind, fact.target) for fact in fixture(name).inclusions] == inclusions


def test_comments_behind_the_value_behind_the_name_and_above() -> None:
    comments = {setting.name: setting.comment for setting in fixture("pod.yaml").settings}
    assert comments["NCCL_ALGO"] == "one order of sums"
    assert comments["GLOO_SOCKET_IFNAME"] == "from below"
    assert comments["POD_IP"] == ""
    assert fixture("broken.yaml").settings[0].comment == "why"


def test_two_arms_of_a_template_never_both_happen() -> None:
    first, second = (setting.branch[-1] for setting in fixture("helm-template.yaml").settings)
    assert first.id == second.id
    assert (first.arm, second.arm) == ("0", "1")
    assert first.condition == "{{- if .Values.rocm }}"


def test_broken_documents_are_said_to_be_broken() -> None:
    [problem] = fixture("broken.yaml").problems
    assert problem.place.line == 5
    assert "line by line" in problem.message


@pytest.mark.parametrize(
    ("text", "exported"),
    [
        ("env: {NCCL_ALGO: Ring}", "unknown"),
        ("apiVersion: v1\nkind: Pod\nspec: {containers: [{env: [{name: NCCL_ALGO, value: Ring}]}]}", "yes"),
        ("runtime_env: {env_vars: {NCCL_ALGO: Ring}}", "yes"),
        ("apiVersion: v1\nkind: ConfigMap\ndata: {NCCL_ALGO: Ring}", "unknown"),
    ],
)
def test_a_map_of_the_project_is_not_known_to_reach_a_process(text: str, exported: str) -> None:
    assert [setting.exported for setting in facts_of(text).settings] == [exported]


@pytest.mark.parametrize(
    "key",
    ["env", "envs", "environment", "env_vars", "environment_variables", "extraEnv", "extra_env", "envVars", "env_set",
     "env_variables", "common_envs", "trainEnvironment", "hydra.job.env_set", "containerEnv", "nccl_settings"],
)  # fmt: skip
def test_keys_that_name_an_environment(key: str) -> None:
    assert [setting.name for setting in facts_of(f"{key}: {{NCCL_ALGO: Ring}}").settings] == ["NCCL_ALGO"]


@pytest.mark.parametrize(
    "key",
    ["args", "params", "model", "env_file", "env_config", "env_kwargs", "envelope", "inventory", "config", "variables",
     "labels", "nccl", "nccl_version"],
)  # fmt: skip
def test_keys_that_do_not(key: str) -> None:
    names = [setting.name for setting in facts_of(f"{key}: {{NUM_AGENTS: 3}}").settings]
    assert names == (["NUM_AGENTS"] if key == "nccl" else [])


@pytest.mark.parametrize(
    ("scalar", "kind", "value"),
    [
        ("1", "literal", "1"),
        ("true", "literal", "true"),
        ("0x10", "literal", "0x10"),
        ("'it''s'", "literal", "it's"),
        ('"a\\tb\\u0041"', "literal", "a\tbA"),
        ("a b # c", "literal", "a b"),
        ("!!str 7", "literal", "7"),
        ("&anchor Ring", "literal", "Ring"),
        ("|-\n        one\n        two", "literal", "one\ntwo"),
        (">-\n        one\n        two\n\n        three", "literal", "one two\nthree"),
        ("one\n        two", "literal", "one two"),
        ('"one\n        two \\\n        three"', "literal", "one two three"),
        ("$(A)", "template", "$(A)"),
        ("${A}b", "template", "${A}b"),
        ("'{{ x }}'", "template", "{{ x }}"),
        ("$$A", "literal", "$A"),
        ("[a, b]", "unknown", "[a, b]"),
        ("{a: b}", "none", ""),
    ],
)
def test_values_are_the_text_that_a_process_gets(scalar: str, kind: str, value: str) -> None:
    text = f"services:\n  a:\n    image: x\n    environment:\n      NCCL_ALGO: {scalar}\n"
    found = [(setting.value.kind, setting.value.text) for setting in facts_of(text).settings]
    assert found == ([] if kind == "none" else [(kind, value)])


def test_an_anchor_is_read_for_each_container_that_merges_it() -> None:
    scopes = [setting.scope.name for setting in fixture("compose.yaml").settings if setting.place.line == 4]
    assert scopes == ["one", "two"]


def test_the_environment_comes_before_the_command() -> None:
    """Whatever comes first in the file: a container has its environment when its command starts."""
    settings = [setting for setting in fixture("pod.yaml").settings if setting.scope.name == "main"]
    assert [setting.order for setting in settings] == sorted(setting.order for setting in settings)
    assert settings[0].name == "NCCL_ALGO"


@pytest.mark.parametrize("text", ["", "---\n", "# only a comment\n", "%YAML 1.2\n---\n", "- \n", "just text\n", "42"])
def test_files_without_settings(text: str) -> None:
    facts = facts_of(text)
    assert not facts.settings
    assert not facts.problems


def test_a_broken_document_does_not_hide_the_next_one() -> None:
    facts = facts_of("a: [\n---\nenv: {NCCL_ALGO: Ring}\n")
    assert [setting.name for setting in facts.settings] == ["NCCL_ALGO"]
    assert len(facts.problems) == 1


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("env_vars: {NCCL_ALGO: Ring}\nworking_dir: .", "x.yaml", "runtime-env Ring"),
        ("env_vars: {NCCL_ALGO: Ring}", "conf/runtime-env.yaml", "runtime-env Ring"),
        ("stages: [train]\nenv_vars: {NCCL_ALGO: Ring}", "config.yaml", "configuration Ring"),
        ("direct: {script: train.py, env: [NCCL_ALGO=Ring]}", "config.yaml", "configuration Ring"),
        ("phases: {build: {commands: [make]}}\nenv: {variables: {NCCL_ALGO: Ring}}", "buildspec.yml", "ci Ring"),
        ("steps: [{command: make, env: {NCCL_ALGO: Ring}}]", ".buildkite/pipeline.yml", "ci Ring"),
        ("worker: {env: {NCCL_ALGO: Ring}}", "charts/train/values.yaml", "kubernetes Ring"),
        ("Environment: [{Name: NCCL_ALGO, Value: Ring}]", "stack.yaml", "configuration Ring"),
        ("Environment: [{Name: NCCL_ALGO, Value: !Ref Algo}]", "stack.yaml", "configuration unknown(!Ref Algo)"),
        ("Environment: {NCCL_ALGO: !Sub '${Algo}'}", "stack.yaml", "configuration template(${Algo})"),
        ("env: {gym: {vllm_env_vars: {NCCL_ALGO: Ring}}}", "x.yaml", "configuration Ring"),
        ("environment: {rocm: [NCCL_ALGO=Ring]}", "x.yaml", "configuration Ring"),
        ("a: {<<: *elsewhere, env: {NCCL_ALGO: Ring}}", "x.yaml", "configuration Ring"),
        ("env: |\n  # c\n  NCCL_ALGO=Ring\n", "x.yaml", "configuration Ring"),
        ("env: [NCCL_ALGO]", "x.yaml", "configuration unknown()"),
        ("tasks: [{env: {NCCL_ALGO: Ring}}]\nvariables: {NCCL_X: 1}", "x.yaml", "configuration Ring"),
    ],
)  # fmt: skip
def test_kinds_of_documents(text: str, path: str, expected: str) -> None:
    [setting] = facts_of(text, path).settings
    value = setting.value
    shown_value = value.text if value.kind == "literal" else f"{value.kind}({value.text})"
    assert (setting.name, f"{setting.channel} {shown_value}") == ("NCCL_ALGO", expected)


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("env_vars: {NCCL_ALGO: null}", "unset"),
        ("env_vars:\n  NCCL_ALGO:\n", "unset"),
        ("env_vars: {NCCL_ALGO: 'null'}", "set"),
        ("resources: {}\nrun: x\nenvs: {NCCL_ALGO: }", "pass"),
        ("on: push\njobs: {}\nenv: {NCCL_ALGO: }", "set"),
    ],
)
def test_variables_without_a_value(text: str, op: str) -> None:
    assert [setting.op for setting in facts_of(text).settings] == [op]


@pytest.mark.parametrize(
    "text",
    [
        "env: {gym: {NUM_AGENTS: 3, seed: 1}}",
        "env: {gym: {options: [NCCL_ALGO=Ring, other]}}",
        "environments: {DEV: {url: x}}",
        "env: {NCCL_ALGO: {description: the algorithm}}",
        "parameters: [{name: NCCL_ALGO, value: Ring}]",
        "env: [{name: lower, value: 1}]",
        "env: &a\n  x: *a\n",
    ],
)
def test_more_shapes_without_settings(text: str) -> None:
    assert not facts_of(text).settings
