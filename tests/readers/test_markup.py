"""Code blocks of Markdown and reStructuredText: only with a language, only where documents are asked for."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.readers.kinds import kind_of

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "guide.md": [
        "6 set NCCL_ALGO=Ring yes shell subshell:code block at line 5",
        "13 set NCCL_DEBUG=INFO unknown configuration subshell:code block at line 11",
        "17 set NCCL_PROTO=LL yes shell subshell:code block at line 16",
        "19 set NCCL_CROSS_NIC=1 yes shell command:torchrun",
        "28 set NCCL_IB_HCA=mlx5 unknown configuration subshell:code block at line 27",
        "33 set NCCL_NTHREADS=256 yes python-environ subshell:code block at line 31",
    ],
    "guide.rst": [
        "7 set NCCL_ALGO=Ring yes shell subshell:code block at line 4",
        "9 set NCCL_PROTO=LL yes shell subshell:code block at line 4",
        "20 set NCCL_DEBUG=INFO unknown configuration subshell:code block at line 17",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("markup", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


def test_documents_are_read_only_where_they_are_asked_for() -> None:
    assert [kind_of(name) for name in ("README.md", "a.rst", "a.markdown")] == [None] * 3
    assert [kind_of(name, docs=True) for name in ("README.md", "a.rst", "a.markdown", "a.txt")] == ["markup"] * 3 + [
        None
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("```sh\nexport A_B=1\n```\nexport A_B=2\n", [2]),
        ("````sh\n```\nexport A_B=1\n````\n", [3]),
        ("```\nexport A_B=1\n```\n", []),
        ("```text\nexport A_B=1\n```\n", []),
        ("  ```bash\n  export A_B=1\n  ```\n", [2]),
        ("~~~bash\nexport A_B=1\n```\nexport A_B=2\n", [2, 4]),
        ("```bash title=x\nexport A_B=1\n```\n", [2]),
        ("```console\nexport A_B=1\n$ export A_B=2\n```\n", [3]),
        ("```{code-block} bash\nexport A_B=1\n```\n", [2]),
        ("`export A_B=1`\n", []),
        ('```json\n{"env": {"A_B": 1}}\n', [2]),
    ],
)
def test_shapes(text: str, lines: list[int]) -> None:
    facts = facts_of(text, "x.md")
    assert [s.place.line for s in facts.settings] == lines
    check_places(text, facts)


@given(
    st.lists(st.tuples(NAMES, st.text("ab1/:.,-", min_size=1, max_size=6)), min_size=1, max_size=5),
    st.sampled_from(
        [
            ("x.md", "> ```bash\n", "> ", "> ```\n"),
            ("x.md", "- a\n  ```sh\n", "  ", "  ```\n"),
            ("x.rst", "x\n\n.. code:: bash\n\n", "    ", "end\n"),
        ]
    ),
)
def test_places_hold(pairs: list[tuple[str, str]], shape: tuple[str, str, str, str]) -> None:
    path, head, indent, tail = shape
    text = head + "".join(f"{indent}export {name}={value}\n" for name, value in pairs) + tail
    facts = facts_of(text, path)
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


LINES = [
    "```bash",
    "```",
    "~~~",
    "export A_B=1",
    "  ```yaml",
    "env: {A_B: 1}",
    ".. code-block:: bash",
    "   :linenos:",
    "   export A_B=1",
    "text",
    "> ```python",
    "> import os",
    "```console",
    "$ export A_B=1 \\",
    "",
    "```json",
    "```toml",
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join), st.sampled_from(["x.md", "x.rst"]))
def test_any_lines_are_read(text: str, path: str) -> None:
    check_places(text, facts_of(text, path))


@pytest.mark.slow
@pytest.mark.parametrize("path", ["x.md", "x.rst"])
@pytest.mark.parametrize(
    "line", ["```bash\nexport A_B=1\n```\n", "```", "```text\n", ".. code:: bash\n\n   export A_B=1\n\n", " ", "> "]
)
def test_time_is_bounded(path: str, line: str) -> None:
    check_repeated(line, path)
