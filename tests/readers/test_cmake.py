"""CMake: which flags are for which libraries, under which conditions; places, comments, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import FileFacts

NAME = "CMakeLists.txt"
MODULE = "pybind11_add_module(ops a.cpp)\n"


def shown(facts: FileFacts) -> list[str]:
    """Each flag on one line: where, what, for which libraries, under which conditions."""
    lines = []
    for call in facts.calls:
        assert call.name == ":compiler.flag"
        modules = ",".join(a.text for a in call.arguments if a.keyword == "module")
        branch = "".join(f" <{b.arm} {b.condition}>" for b in call.branch)
        lines.append(f"{call.place.line} {call.arguments[0].text} {modules}{branch}")
    return lines


FLAGS = {
    "a variable": ('set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -O3 -Wall")', ["1 -O3 ops", "1 -Wall ops"]),
    "a variable of another kind": ('set(SOURCES "-O3")', []),
    "its text in the cache is no flag": ('set(X_FLAGS "-O3" CACHE STRING "not -O2")', ["1 -O3 ops"]),
    "appended": ("list(APPEND CUDA_NVCC_FLAGS --ftz=true)", ["1 --ftz=true ops"]),
    "appended text": ('string(APPEND CMAKE_CUDA_FLAGS " -O3")', ["1 -O3 ops"]),
    "replaced text": ('string(REPLACE "-O3" "-O2" CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS}")', []),
    "options": ("add_compile_options(-O3\n  -g)", ["1 -O3 ops", "2 -g ops"]),
    "options of a target": ("target_compile_options(ops PRIVATE -O3)", ["1 -O3 ops"]),
    "options of another target": ("target_compile_options(tool PRIVATE -O3)", ["1 -O3 tool"]),
    "in a generator expression": (
        "target_compile_options(ops PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--ftz=true>)", ["1 --ftz=true ops"],
    ),
    "several in one": ('target_compile_options(ops PRIVATE "$<$<CONFIG:Release>:-O3;-g>")', ["1 -O3 ops", "1 -g ops"]),
    "properties": ('set_target_properties(ops PROPERTIES COMPILE_FLAGS "-O3" FOLDER "-x")', ["1 -O3 ops"]),
    "a property": ("set_property(TARGET ops APPEND PROPERTY COMPILE_OPTIONS -O3)", ["1 -O3 ops"]),
    "of the command that adds it": ("cuda_add_library(kernels SHARED k.cu OPTIONS -O3)", ["1 -O3 kernels"]),
    "said": ('message(STATUS "-O3")', []),
    "tried": ("check_cxx_compiler_flag(-O3 HAS_O3)", []),
    "a comment": ("# set(A_FLAGS -O3)", []),
    "a comment in brackets": ("#[==[ set(A_FLAGS -O3)\n ]] ]==]", []),
    "text in brackets": ("set(A_FLAGS [[-O3]])", ["1 -O3 ops"]),
    "no flag": ("add_compile_options(a-b ${X}-y /path/-z)", []),
    "under a condition": ("if(FAST)\nadd_compile_options(-O3)\nendif()", ["2 -O3 ops <if FAST>"]),
    "else": (
        "if(A)\nelseif(B)\nadd_compile_options(-g)\nelse()\nadd_compile_options(-O3)\nendif()\nadd_compile_options(-s)",
        ["3 -g ops <elif 1 B>", "5 -O3 ops <else not (B)>", "7 -s ops"],
    ),
    "upper case": ("ADD_COMPILE_OPTIONS(-O3)", ["1 -O3 ops"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), FLAGS.values(), ids=FLAGS)
def test_flags(text: str, wanted: list[str]) -> None:
    facts = facts_of(f"{text}\n{MODULE}", NAME)
    assert shown(facts) == wanted
    assert facts.problems == []


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("add_library(a SHARED a.cc)", "a"),
        ("add_library(a MODULE a.cc)", "a"),
        ("add_library(a STATIC a.cc)", ""),
        ("add_library(a INTERFACE)", ""),
        ("project(p)\npybind11_add_module(${PROJECT_NAME} a.cc)", "p"),
        ("set(T t)\npython_add_library(${T} MODULE a.cc)", "t"),
        ("add_library(a SHARED a.cc)\nset_target_properties(a PROPERTIES PREFIX '' OUTPUT_NAME _a)", "_a,a"),
        ("add_executable(tool a.cc)", ""),
    ],
)
def test_libraries(text: str, modules: str) -> None:
    facts = facts_of(f"{text}\nadd_compile_options(-O3)\n", NAME)
    assert shown(facts)[-1].split(" ", 2)[2] == modules


def test_uses() -> None:
    text = "option(BUILD_X OFF)\nset(HOME_OF_Y $ENV{Y_HOME})\nif(EXISTS ${BUILD_X})\nendif()\n"
    assert [use.name for use in facts_of(text, NAME).uses] == ["Y_HOME", "BUILD_X", "HOME_OF_Y"]


FLAG = st.from_regex(r"-{1,2}[A-Za-z][a-z0-9-]{0,6}(=true)?", fullmatch=True)


@given(st.lists(FLAG, min_size=1, max_size=6), st.sampled_from(["add_compile_options({})", 'set(A_FLAGS "{}")']))
def test_places_hold(flags: list[str], shape: str) -> None:
    text = f"# before\n{shape.format('  '.join(flags))}\n"
    facts = facts_of(text, NAME)
    assert [call.arguments[0].text for call in facts.calls] == flags
    assert [excerpt(text, call.place) for call in facts.calls] == flags


@given(st.text('set(A_FLAGS -O3)"[]#=\\\n $<:>{}\x00\u00e9', max_size=120))
def test_any_text_is_read(text: str) -> None:
    facts = facts_of(text, NAME)
    check_places(text, facts)
    for call in facts.calls:
        assert excerpt(text, call.place) == call.arguments[0].text


LINES = [
    "if(A)",
    "else()",
    "endif()",
    "set(F_FLAGS -O3)",
    "set(",
    ")",
    '"',
    "[[",
    "]]",
    "#[[",
    "add_compile_options(-g",
    "x",
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
def test_any_lines_are_read(text: str) -> None:
    check_places(text, facts_of(text, NAME))


@pytest.mark.slow
@pytest.mark.parametrize("line", ["set(A_FLAGS -O3)\n", "[[", "(", "if(a)\n", '"', "a(", "#[[", "a b ", "$<:-a", "-"])
def test_time_is_bounded(line: str) -> None:
    check_repeated(line, NAME)


def test_what_is_wrong_is_said() -> None:
    facts = facts_of("set(A_FLAGS -O3)\n$$$\nadd_compile_options(-g", NAME)
    assert [p.place.line for p in facts.problems] == [2]
    assert [call.arguments[0].text for call in facts.calls] == ["-O3", "-g"]
