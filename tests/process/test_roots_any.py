"""Whatever the facts say, roots come of them, every script is run by one, and what comes before stands before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from roots_shown import lost, parts_of

from envdoctor.analysis.process.roots import MODULES, Root, roots_of
from envdoctor.core.facts import Branch, Component, FileFacts, Inclusion, Place, Scope, Setting, Value
from envdoctor.core.operations import Script, plain
from envdoctor.readers.kinds import kind_of

FIXTURES = sorted(path for path in (Path(__file__).parents[1] / "fixtures").rglob("*") if path.is_file())
SCOPES = st.builds(
    Scope,
    st.sampled_from(["process", "subshell", "function", "command", "container", "manifest", "file"]),
    st.sampled_from(
        ["", "a", "a/b", "a/step at line 3", "layer at line 2", "layer at line x", "t, line 4", "*s@:1", "0"]
    ),
)
LINES = st.integers(1, 12)
BRANCHES = st.lists(
    st.builds(Branch, st.sampled_from("xy"), st.sampled_from(["if", "else 1"]), st.just("else")), max_size=2
)
SETTINGS = st.builds(
    lambda op, name, kind, channel, via, order, line, scope, branch: Setting(
        op, name, Value(kind, "$A/b", ("A",)), Place("p", line, 3, line, 9), channel, order, "unknown", scope,
        tuple(branch), via),
    st.sampled_from(["set", "default", "append", "unset", "export", "pass"]), st.sampled_from("AB"),
    st.sampled_from(["literal", "template", "unknown"]),
    st.sampled_from(["shell", "image", "argument", "kubernetes", "compose", "ci", "python-environ", "child-environment"]),
    st.sampled_from(["", "ENV", "ARG", "Pod", "ConfigMap", "GitLab CI", "compose"]), st.integers(0, 9000), LINES, SCOPES,
    BRANCHES,
)  # fmt: skip
SCRIPTS = st.builds(
    lambda line, scope, branch, order: Script(
        (("call", line, 1, line, 5, (), (plain("bash", line, 1),), ()),), scope, tuple(branch), order),
    LINES, SCOPES, BRANCHES, st.integers(0, 9000),
)  # fmt: skip
COMPONENTS = st.builds(
    lambda name, line, detail: Component(name, "a", Place("p", line, 1, line, 2), detail),
    st.sampled_from(["image", "stage"]), LINES, st.sampled_from(["", "a", "a/b", "0"]),
)  # fmt: skip
INCLUSIONS = st.builds(
    lambda kind, line, scope, order: Inclusion(kind, "ConfigMap/a", Place("p", line, 1, line, 2), order, scope=scope),
    st.sampled_from(["source", "env-file", "run", "configuration"]), LINES, SCOPES, st.integers(0, 9000),
)  # fmt: skip
TEXTS = st.sampled_from([
    "", "FROM a AS a\nRUN b\nCMD [\"c\"]\nENTRYPOINT d\nFROM a\n", "services:\n  a:\n    extends: a\n    build: {context: .}\n",
    "a:\n  extends: [b, a]\nb:\n  extends: a\n  script: x\n", "apiVersion: a\nkind: Job\n---\n- - a\n--- x\nkind: PyTorchJob\n",
    "on: push\njobs:\n  a:\n    steps:\n    - name: x\n      run: |\n        a: b\n", "[testenv]\nA\n = b\n[Service]\nExecStart=a\n",
    "env = {\nenv[\n", "\t- a: b\n -\n---\n...\n", "a: {b: c\n- |\n  x: y\nz: >-\n", "?", "\x00\n\\\n",
])  # fmt: skip


def check(facts: FileFacts, scripts: list[Script], text: str) -> list[Root]:
    roots = roots_of(facts, scripts, text)
    for index, root in enumerate(roots):
        assert -1 <= root.before < index
    return roots


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([*MODULES, "json", "markup", "other"]), st.lists(SETTINGS, max_size=6), st.lists(SCRIPTS, max_size=5),
    st.lists(COMPONENTS, max_size=4), st.lists(INCLUSIONS, max_size=3), TEXTS, st.sampled_from(["p", ".gitlab-ci.yml"]),
)  # fmt: skip
def test_no_facts_make_it_raise(
    kind: str, given_: list[Setting], scripts: list[Script], components: list[Component], inclusions: list[Inclusion],
    text: str, path: str,
) -> None:  # fmt: skip
    facts = FileFacts(path, kind, settings=given_, components=components, inclusions=inclusions)
    roots = check(facts, scripts, text)
    if (
        kind not in ("shell", "dockerfile") and path == "p"
    ):  # one body; stages that are thrown away; jobs that are hidden
        assert lost(scripts, roots) == []


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in FIXTURES}))
def test_every_script_of_the_fixtures_is_run_by_a_root(folder: str) -> None:
    for path in FIXTURES:
        data = path.read_bytes()
        kind = kind_of(path.name, data[:256], docs=True)
        if path.parent.name != folder or kind is None or len(data) > 300_000:
            continue
        text = data.decode("utf-8", "replace")
        facts, scripts = parts_of(text, path.name, kind)
        roots = check(facts, scripts, text)
        assert kind == "dockerfile" or lost(scripts, roots) == [], path
