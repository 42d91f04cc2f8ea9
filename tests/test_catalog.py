"""The catalogue as a machine: order of releases, lookups, files that are refused, further files, the compiled form."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from envdoctor.knowledge.catalog import build as catalog_build
from envdoctor.knowledge.catalog import read as catalog_read
from envdoctor.knowledge.catalog.build import build_catalog
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.model import CONDITIONS, Catalog, CatalogError, Reading
from envdoctor.knowledge.catalog.read import catalog_from
from envdoctor.knowledge.catalog.releases import Library, label_key
from envdoctor.knowledge.catalog.schema import WHEN
from envdoctor.knowledge.catalog.values import TESTS, faults, number_in
from envdoctor.knowledge.files import rule_paths

Tree = Callable[[Mapping[str, str]], Path]


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    return load_catalog()


def library(name: str) -> Library:
    return catalog().libraries[name]


# Order of releases


@pytest.mark.parametrize("name", ["nccl", "rccl", "torch", "miopen"])
def test_labels_with_numbers_stand_in_the_order_of_their_numbers(name: str) -> None:
    keys = [key for label in library(name).releases if (key := label_key(label))]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("name", "lower", "higher"),
    [
        ("rccl", "6.3-staging", "6.3.0"), ("rccl", "7.0-pre", "7.0.0"), ("rccl", "6.4.0", "7.0-pre"),
        ("rccl", "7.2.0", "7.11-pre"), ("rccl", "7.14", "10.0"), ("rccl", "10.1", "dev-2.31.2"),
        ("rccl", "6.2.2", "6.2.4"),
        ("rccl", "6.2.4", "6.3-staging"), ("nccl", "2.3.5-5", "2.3.7-1"), ("nccl", "2.5.6-1", "2.5.6-2"),
        ("nccl", "2.9.9", "2.10.3"), ("nccl", "2.20.5", "2.21"), ("nccl", "2.30.7-1", "2.31.2"),
        ("nccl", "1.3.4", "2.3.5"),
        ("nccl", "2.32.3", "2.33.1"), ("nccl", "2.33.1", "no number"), ("torch", "2.9.1", "2.10.0"),
        ("torch", "2.1", "2.1.3"),
    ],
)  # fmt: skip
def test_positions(name: str, lower: str, higher: str) -> None:
    assert library(name).position(lower) < library(name).position(higher)


@pytest.mark.parametrize(
    ("name", "version", "labels"),
    [
        ("rccl", "6.2", ["6.2.0", "6.2.1", "6.2.2"]), ("rccl", "rocm-6.2.1", ["6.2.1"]), ("rccl", "6.3", ["6.3.0"]),
        ("rccl", "7.0", ["7.0.0"]), ("rccl", "7.0-pre", ["7.0-pre"]), ("rccl", "7.11.0", ["7.11"]),
        ("rccl", "6.2.4", []),
        ("nccl", "2.3.5", ["2.3.5-5"]), ("nccl", "2.5.6", ["2.5.6-1", "2.5.6-2"]), ("nccl", "2.1", []),
        ("nccl", "2.20.5+cuda12.4", ["2.20.5-1"]), ("torch", "2.4.1+rocm6.1", ["2.4.1"]), ("torch", "2", None),
        ("miopen", "6.3", ["6.3-develop"]),
    ],
)  # fmt: skip
def test_a_short_version_means_all_that_begin_with_it(name: str, version: str, labels: list[str] | None) -> None:
    known = library(name)
    expected = labels if labels is not None else list(known.releases)
    assert [known.releases[place] for place in known.matching(version)] == expected


VERSIONS = st.lists(st.integers(0, 40), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@given(first=VERSIONS, second=VERSIONS, name=st.sampled_from(["nccl", "rccl", "torch"]))
def test_positions_never_contradict_the_numbers(first: str, second: str, name: str) -> None:
    def key(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in (version + ".0.0.0").split(".")[:4])

    lower, higher = sorted((first, second), key=key)
    assert library(name).position(lower) <= library(name).position(higher)


@given(version=VERSIONS, name=st.sampled_from(["nccl", "rccl", "torch", "miopen", "hip"]))
def test_around_gives_matches_neighbours_or_nothing(version: str, name: str) -> None:
    known = library(name)
    places = known.around(version)
    if known.matching(version):
        assert places == known.matching(version)
    elif places:
        assert places[0] < known.position(version) < places[1]
    else:
        numbered = [i for i, label in enumerate(known.releases) if label_key(label)]
        position = known.position(version)
        assert not numbered or position < numbered[0] or position > numbered[-1]


LADDER = Library(
    "x", "X", releases=("1.0", "1.1", "1.2", "1.3", "2.0"), documented=frozenset({"1.1", "1.3"}), current="1.2"
)


@pytest.mark.parametrize(
    ("reading", "states"),
    [
        (Reading("x"), [None] * 5),
        (Reading("x", "1.0"), [True] * 5),
        (Reading("x", "1.2"), [False, None, True, True, True]),
        (Reading("x", "1.2", pinned=True), [False, False, True, True, True]),
        (Reading("x", "1.2", older=True), [None, None, True, True, True]),
        (Reading("x", "1.3"), [False, False, False, True, True]),
        (Reading("x", "1.0", "1.2"), [True, True, True, None, False]),
        (Reading("x", "1.0", "1.1"), [True, True, False, False, False]),
        (Reading("x", "1.0", gaps=frozenset({"1.1"}), unsure=frozenset({"2.0"})), [True, False, True, True, None]),
        (Reading("x", "1.2", probable=True), [False, None, None, None, None]),
    ],
)
def test_state_of_each_release(reading: Reading, states: list[bool | None]) -> None:
    assert [reading.state(LADDER, place) for place in range(5)] == states


def test_ended_only_before_what_is_in_use() -> None:
    assert Reading("x", "1.0", "1.1").ended(LADDER)
    assert not Reading("x", "1.0", "1.2").ended(LADDER)
    assert not Reading("x", "1.0").ended(LADDER)


# Lookups


def test_variables_are_a_mapping() -> None:
    variables = catalog().variables
    assert len(variables) == len(list(variables)) > 1300
    assert list(variables) == sorted(variables)
    assert variables["NCCL_ALGO"] is catalog().variable("NCCL_ALGO")
    assert catalog().variable("NCCL_NO_SUCH") is None
    with pytest.raises(KeyError):
        variables["NCCL_NO_SUCH"]


def test_every_variable_can_be_made_and_stands_in_the_file_of_its_kind() -> None:
    for name, variable in catalog().variables.items():
        assert variable.name == name
        assert (ROOT / "rules" / "catalog" / variable.file).is_file()
    assert catalog().variables["NCCL_ALGO"].file == "nccl.toml"
    assert catalog().variables["RCCL_ALGO"].file == "rccl.toml"
    assert catalog().variables["NCCL_SHARP_DISABLE"].file == "network-plugins.toml"


def test_real_names_are_what_something_reads() -> None:
    real = set(catalog().real_names())
    assert {"NCCL_ALGO", "NCCL_MIN_NRINGS", "RCCL_TREES"} <= real
    assert not real & {"NCCL_DETERMINISTIC", "NCCL_CHECKS_DISABLE", "HOME", "NVTE_BUILD_DEBUG"}


def test_a_file_with_a_judged_name_holds_a_trigger() -> None:
    tokens = catalog().triggers()
    assert len(tokens) <= 60
    for name, variable in catalog().variables.items():
        if variable.status not in ("incidental", "debug-build", "build-time"):
            assert any(token in name.encode() for token in tokens), name
    assert not any(token in b"export HOME=/root SLURM_JOB_ID=1" for token in tokens)


@pytest.mark.parametrize(
    "name", ["NCCL_ALGOS", "RCCL_ALGOO", "TORCH_NCCL_FOO", "MIOPEN_FOO", "NVTE_FOO", "HSA_FOO", "PYTHONASHSEED"]
)
def test_near_misses_hold_a_trigger_too(name: str) -> None:
    assert any(token in name.encode() for token in catalog().triggers())


# Values


@pytest.mark.parametrize(
    ("text", "number", "expected"),
    [
        ("12", "strtoll", (12, "")), ("0x10", "strtoll", (16, "")), ("010", "strtoll", (8, "")),
        ("08", "strtoll", (0, "8")),
        ("-2", "strtoll", (-2, "")), ("+3", "strtoll", (3, "")), (" 4M", "strtoll", (4, "M")),
        ("M", "strtoll", (None, "M")),
        ("-0x1f", "strtoll", (-31, "")), ("010", "atoi", (10, "")), ("7abc", "atoi", (7, "abc")),
        ("0x10", "atoi", (0, "x10")),
        ("1_000", "python", (1000, "")), ("1x", "python", (None, "1x")), (" 7 ", "python", (7, "")),
        ("-1", "decimal", (None, "-1")), ("007", "decimal", (7, "")), ("1", "", (None, "1")),
    ],
)  # fmt: skip
def test_numbers_are_read_as_the_libraries_read_them(text: str, number: str, expected: tuple[int | None, str]) -> None:
    assert number_in(text, number) == expected


def test_each_condition_has_a_shape_and_a_test() -> None:
    assert set(CONDITIONS) | {"beside", "unless"} == set(WHEN)
    assert set(TESTS) | {"unknown_word"} == set(CONDITIONS)


@given(text=st.text(max_size=40), comment=st.text(max_size=20), platform=st.sampled_from([None, "cuda", "rocm"]))
def test_no_text_breaks_the_judgement(text: str, comment: str, platform: str | None) -> None:
    for name in ("NCCL_ALGO", "NCCL_BUFFSIZE", "CUBLAS_WORKSPACE_CONFIG", "ROCR_VISIBLE_DEVICES", "MIOPEN_FIND_MODE"):
        faults(catalog().variables[name], catalog(), text, comment, platform, {"nccl": "2.20.5", "rocm": "6.2"})


# Files


def test_the_compiled_form_is_what_parsing_gives(tmp_path: Path) -> None:
    from envdoctor.knowledge.compile import compile_all

    written = {path.name: path for path in compile_all(ROOT / "rules", tmp_path)}
    compiled = json.loads(written["catalog.json"].read_text(encoding="utf-8"))
    assert compiled == build_catalog(rule_paths("catalog", ROOT / "rules"))
    again = catalog_from(compiled)
    assert list(again.variables) == list(catalog().variables)
    assert again.variables["NCCL_ALGO"] == catalog().variables["NCCL_ALGO"]


TABLES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(TABLES)
def test_packing_keeps_everything(content: Any) -> None:
    packed = catalog_read.pack({"x": content})
    assert '"' not in packed
    assert catalog_read.unpack(packed) == {"x": content}


BASE = """
[library.nccl]
title = "NCCL"
releases = ["2.1.0", "2.2.0"]

[parser.strtoll]
text = "a number"
number = "strtoll"

[variable.NCCL_A]
read_by.nccl = { since = "2.1.0" }
"""

REFUSED = {
    "range": ('value = { type = "int", range = [1] }', "variable.NCCL_A.value.range: expected two integers"),
    "range order": ('value = { type = "int", range = [9, 1] }', "value.range: expected the lower integer first"),
    "unknown key": ('sumary = "x"', "variable.NCCL_A.sumary: unknown key (did you mean summary?)"),
    "unknown status": ('status = "gost"', "variable.NCCL_A.status: expected one of real, ghost"),
    "status hint": ('status = "gost"', "(did you mean ghost?)"),
    "unknown type": ('value = { type = "integer" }', "variable.NCCL_A.value.type: expected one of"),
    "no type": ("value = { range = [1, 2] }", "variable.NCCL_A.value.type: missing"),
    "unknown parser": (
        'value = { type = "int", parser = "strtol" }',
        "value.parser: unknown parser (did you mean strtoll?)",
    ),
    "number without parser": (
        'value = { type = "int", range = [1, 9] }',
        "variable.NCCL_A.value.parser: missing: int is judged only where it is known how it is read; name a parser "
        "(strtoll), say what goes wrong under bad, or leave value out",
    ),
    "truth value without parser": ('value = { type = "bool-int" }', "value.parser: missing: bool-int is judged only"),
    "number that nobody reads": (
        'value = { type = "string" }\n[[variable.NCCL_A.bad]]\nwhen = { above = 1 }\neffect = "x"\nverdict = "ignored"',
        "variable.NCCL_A.bad[0].when.above: never met: value.parser has to say how a number is read (strtoll)",
    ),
    "number of a parser that reads none": (
        '[parser.words]\ntext = "x"\n[[parser.words.bad]]\nwhen = { not_integer = true }\neffect = "x"\n'
        'verdict = "ignored"',
        "parser.words.number: missing: bad[0] asks for a number",
    ),
    "words": (
        'value = { type = "enum", words = { nccl = [["2.9.0", ["A"]]] } }',
        "value.words.nccl: 2.9.0 is not a release",
    ),
    "words shape": ('value = { type = "enum", words = { nccl = [["2.1.0"]] } }', "expected [release, entry]"),
    "unknown library": ('read_by.ncl = { since = "2.1.0" }', "unknown library (did you mean nccl?)"),
    "cached": ('cached = "yes"', "variable.NCCL_A.cached: expected true or false"),
    "evidence": ('evidence = "x"', "variable.NCCL_A.evidence: expected a list of texts"),
    "empty text": ('note = " "', "variable.NCCL_A.note: expected text"),
    "replaced by": ('replaced_by = "NCCL_B"', "replaced_by: NCCL_B is not the name of a real variable"),
    "meant of a real one": ('meant = "NCCL_A"', "variable.NCCL_A.meant: only for names that nothing reads"),
    "no condition": (
        '[[variable.NCCL_A.bad]]\nwhen = {}\neffect = "x"\nverdict = "ignored"',
        "expected exactly one of values",
    ),
    "two conditions": (
        '[[variable.NCCL_A.bad]]\nwhen = { above = 1, below = 0 }\neffect = "x"\nverdict = "ignored"',
        "variable.NCCL_A.bad[0].when: expected exactly one of",
    ),
    "false condition": (
        '[[variable.NCCL_A.bad]]\nwhen = { not_integer = false }\neffect = "x"\nverdict = "ignored"',
        "when.not_integer: expected true",
    ),
    "regex": (
        '[[variable.NCCL_A.bad]]\nwhen = { matches = "(" }\neffect = "x"\nverdict = "ignored"',
        "when.matches: not a regular expression",
    ),
    "verdict": (
        '[[variable.NCCL_A.bad]]\nwhen = { above = 1 }\neffect = "x"\nverdict = "bad"',
        "verdict: expected one of",
    ),
    "no effect": ('[[variable.NCCL_A.bad]]\nwhen = { above = 1 }\nverdict = "ignored"', "bad[0].effect: missing"),
    "since without library": (
        '[[variable.NCCL_A.bad]]\nwhen = { above = 1 }\neffect = "x"\nverdict = "ignored"\nsince = "2.1.0"',
        "since and until need library",
    ),
    "bad since": (
        '[[variable.NCCL_A.bad]]\nwhen = { above = 1 }\neffect = "x"\nverdict = "ignored"\nlibrary = "nccl"\n'
        'since = "3"',
        "bad[0].since: 3 is not a release of this library",
    ),
    "need": (
        '[[variable.NCCL_A.needs]]\ntext = "x"\nsetting = { name = "NCCL_B" }',
        "setting.name: NCCL_B is not in the catalogue",
    ),
    "conflict": ('[[variable.NCCL_A.conflicts]]\nwhy = "x"', "conflicts[0]: expected either with or against"),
    "own conflict": ('[[variable.NCCL_A.conflicts]]\nwhy = "x"\nwith = "NCCL_A"', "does not conflict with itself"),
    "table": ('[[variable.NCCL_A.needs]]\ntext = "x"\nversion = "2"', "needs[0].version: expected a table"),
    "section": ("[[prefixes]]\nname = 'X_'", "prefixes: unknown key (did you mean prefix?)"),
    "prefix name": ("[[prefix]]\nclosed = true", "prefix[0].name: missing"),
    "prefix span": ('[[prefix]]\nname = "X_"\ncomplete = { nccl = ["2.1.0"] }', "complete.nccl: expected two texts"),
    "prefix label": (
        '[[prefix]]\nname = "X_"\ncomplete = { nccl = ["2.1.0", "9"] }',
        "complete.nccl: 9 is not a release",
    ),
    "library label": (
        '[library.x]\ntitle = "X"\nreleases = ["1"]\ndocumented = ["2"]',
        "documented: 2 is not a release",
    ),
    "label twice": ('[library.x]\ntitle = "X"\nreleases = ["1", "1"]', "releases: a label stands there twice"),
    "ghost with reader": (
        '[variable.NCCL_G]\nstatus = "ghost"\nread_by.nccl = { since = "2.1.0" }',
        "variable.NCCL_G.read_by: a ghost name has no readers",
    ),
    "no reader": ('[variable.NCCL_R]\nsummary = "x"', "variable.NCCL_R.read_by: missing"),
    "span order": ('[variable.NCCL_S]\nread_by.nccl = { since = "2.2.0", until = "2.1.0" }', "since comes after until"),
    "gap label": ('[variable.NCCL_S]\nread_by.nccl = { since = "2.1.0", gaps = ["x"] }', "x is not a release"),
    "default shape": ('[variable.NCCL_S]\nread_by.nccl = { default = [["2.1.0"]] }', "default: expected two texts"),
    "functions since": (
        'value = { type = "list", functions_since = { nccl = "9" } }',
        "functions_since: 9 is not a release",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_with_a_mistake_is_refused(tree: Tree, text: str, message: str) -> None:
    path = tree({"nccl.toml": BASE + text + "\n"}) / "nccl.toml"
    with pytest.raises(CatalogError) as error:
        build_catalog([path])
    assert message in str(error.value)
    assert str(error.value).startswith("rules/catalog/nccl.toml: ")


def test_what_is_not_toml_is_refused(tree: Tree) -> None:
    path = tree({"nccl.toml": "[variable"}) / "nccl.toml"
    with pytest.raises(CatalogError, match=r"^rules/catalog/nccl\.toml: "):
        build_catalog([path])


def test_two_files_do_not_share_a_variable(tree: Tree) -> None:
    root = tree({"a.toml": BASE, "b.toml": '[variable.NCCL_A]\nread_by.nccl = { since = "2.2.0" }\n'})
    message = r"rules/catalog/b\.toml: variable\.NCCL_A: already in rules/catalog/a\.toml"
    with pytest.raises(CatalogError, match=message):
        build_catalog([root / "a.toml", root / "b.toml"])


EXTRA = """
[library.ours]
title = "our launcher"

[[prefix]]
name = "OURS_"
closed = true

[variable.OURS_MODE]
summary = "how it runs"
read_by.ours = { evidence = "ours/launcher.c" }
value = { type = "enum", words = ["fast", "exact"] }

[[variable.OURS_MODE.bad]]
when = { unknown_word = true }
effect = "it does not start"
verdict = "refused"

[variable.NCCL_TIMEOUT]
read_by.ours = { evidence = "ours/launcher.c" }
"""


def test_a_further_file_adds_and_replaces(tree: Tree) -> None:
    path = tree({"site.toml": EXTRA}) / "site.toml"
    wider = load_catalog([path])
    assert wider.variables["OURS_MODE"].file == "site.toml"
    assert faults(wider.variables["OURS_MODE"], wider, "slow")[0].effect == "it does not start"
    assert wider.variables["NCCL_TIMEOUT"].status == "real"
    assert wider.variables["NCCL_ALGO"] == catalog().variables["NCCL_ALGO"]
    prefix = wider.prefix_of("OURS_X")
    assert prefix is not None and prefix.closed
    assert b"OURS_" in wider.triggers() and "OURS_MODE" in wider.real_names()
    assert catalog().variables["NCCL_TIMEOUT"].status == "ghost"


def test_a_further_file_is_checked_and_named(tree: Tree) -> None:
    path = tree({"site.toml": EXTRA.replace("verdict", "verdit")}) / "site.toml"
    with pytest.raises(CatalogError) as error:
        load_catalog([path])
    assert str(error.value) == f"{path}: variable.OURS_MODE.bad[0].verdit: unknown key (did you mean verdict?)"


def test_a_further_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="site"):
        load_catalog([tmp_path / "site.toml"])


def test_triggers_leave_out_what_another_one_covers() -> None:
    variables: dict[str, dict[str, Any]] = {"A_B": {}, "C": {"status": "incidental"}, "D_E": {}, "F_G": {}}
    prefixes = [{"name": "A_"}, {"name": "F_", "foreign": "x"}, {"name": "XA_B", "triggers": ["A_B", "_E"]}]
    assert catalog_build.triggers(variables, prefixes) == ["A_", "F_G", "_E"]


def test_loading_the_compiled_form_imports_no_parser(tmp_path: Path) -> None:
    code = (
        "import sys; from envdoctor.knowledge.catalog.load import load_catalog; load_catalog(); load_catalog().variable('NCCL_ALGO');"
        "slow = ('tomllib', 'tomli', 'packaging', 'difflib', 'hashlib', 'envdoctor.knowledge.catalog.schema');"
        "print([m for m in slow if m in sys.modules])"
    )
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "", "PYTHONPATH": str(ROOT)}
    for expected in ("toml", "[]"):  # the first run fills the cache
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert expected in run.stdout
