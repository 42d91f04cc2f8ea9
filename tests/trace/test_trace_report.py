"""A traced run in JSON and in words."""

from __future__ import annotations

import json

import pytest

from envdoctor.node.trace.merge import Asked, GivenSetting, Late, Run, TracedSetting
from envdoctor.reports.trace import as_json, as_text, masked_command

NCCL = "/opt/lib/libnccl.so.2"


def run_of(*settings: TracedSetting, ranks: tuple[int, ...] = ()) -> Run:
    return Run((), settings, ranks, None, (), 0)


def setting(value: str | None = "1", name: str = "NCCL_A", **parts: tuple[object, ...]) -> TracedSetting:
    fields = {"asked": (), "given": (), "late": (), "ranks": (), **parts}
    return TracedSetting(name, value, **fields)  # type: ignore[arg-type]


def test_json_has_the_agreed_keys() -> None:
    run = run_of(
        setting(
            "Ring",
            "NCCL_ALGO",
            asked=(Asked(NCCL, 0, 1.23456789, 2, None), Asked("", None, 2.0, 1, "Ring")),
            given=(GivenSetting("/bin/python", 0, 3.0, "Ring"),),
            late=(Late(NCCL, 0, 1.2, 3.0),),
            ranks=(0, 1),
        ),
        setting(name="NCCL_DETERMINISTIC"),
    )
    report = json.loads(json.dumps(as_json(run, ["python", "train.py"], ["a limit"])))
    assert report == {
        "version": 1,
        "command": ["python", "train.py"],
        "settings": [
            {
                "variable": "NCCL_ALGO",
                "value": "Ring",
                "asked": [
                    {"library": NCCL, "rank": 0, "seconds": 1.234568, "count": 2, "value": None},
                    {"library": "(generated code)", "rank": None, "seconds": 2.0, "count": 1, "value": "Ring"},
                ],
                "late": True,
                "ranks": [0, 1],
                "set": [{"library": "/bin/python", "rank": 0, "seconds": 3.0, "value": "Ring"}],
            },
            {
                "variable": "NCCL_DETERMINISTIC",
                "value": "1",
                "asked": [],
                "late": False,
                "ranks": [],
                "set": [],
            },
        ],
        "limits": ["a limit"],
    }


def test_credentials_are_masked_everywhere() -> None:
    secret = "hf_abcdefghijklmnopqrstuv"
    run = run_of(
        setting(
            secret, "NCCL_A", asked=(Asked(NCCL, None, 1, 1, secret),), given=(GivenSetting(NCCL, None, 1, secret),)
        ),
        setting("hunter2", "NCCL_TOKEN"),
    )
    command = ["run", "--token", "hunter2", "--api-key=hunter2", "PASSWORD=hunter2", secret]
    text = json.dumps(as_json(run, command, [])) + as_text(run, [])
    assert secret not in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["python", "train.py", "--lr=0.1"], ["python", "train.py", "--lr=0.1"]),
        (["--token", "abc", "x"], ["--token", "(masked)", "x"]),
        (["--auth-token=abc"], ["--auth-token=(masked)"]),
        (["--tokens", "5"], ["--tokens", "5"]),
        (["env", "NCCL_DEBUG=INFO"], ["env", "NCCL_DEBUG=INFO"]),
    ],
)
def test_masked_command(command: list[str], shown: list[str]) -> None:
    assert masked_command(command) == shown


@pytest.mark.parametrize(
    ("given", "ranks", "line"),
    [
        (setting(), (), "NCCL_A  1  never asked for in this run"),
        (
            setting(asked=(Asked(NCCL, None, 0.5, 3, "1"),)),
            (),
            "NCCL_A  1  asked for by libnccl.so.2 at 0.5000 s (3x)",
        ),
        (
            setting(asked=tuple(Asked(NCCL, rank, 0.5, 1, "1") for rank in (0, 1, 3)), ranks=(0, 1, 2, 3)),
            (0, 1, 2, 3),
            "NCCL_A  1  asked for by libnccl.so.2 at 0.5000 s (3x, ranks 0-1, 3)",
        ),
        (setting(ranks=(1,)), (0, 1), "NCCL_A  1  set only in rank 1 of 2\n             never asked for in this run"),
        (
            setting(asked=(Asked(NCCL, 0, 0.5, 1, None),)),
            (0,),
            "NCCL_A  1  set in no rank\n"
            "             asked for by libnccl.so.2 at 0.5000 s (1x, rank 0), where it was not set",
        ),
        (
            setting(
                asked=(Asked(NCCL, 0, 0.5, 1, None), Asked("/lib/b.so", 0, 0.7, 1, "1")),
                late=(Late(NCCL, 0, 0.5, 0.6),),
                ranks=(0,),
            ),
            (0,),
            "NCCL_A  1  TOO LATE for libnccl.so.2 (rank 0): it asked at 0.5000 s, the variable was set at 0.6000 s, "
            "and it did not ask again\n             asked for by b.so at 0.7000 s (1x, rank 0)",
        ),
        (setting(None, asked=(Asked("", None, 1, 1, None),)), (), "NCCL_A  (not set)  asked for by (generated code)"),
        (setting("x" * 60), (), f"NCCL_A  {'x' * 37}...  never"),
    ],
)
def test_text_line(given: TracedSetting, ranks: tuple[int, ...], line: str) -> None:
    assert f"\n  {line}" in as_text(run_of(given, ranks=ranks), [])


def test_text_summary_and_limits() -> None:
    run = run_of(
        setting(asked=(Asked(NCCL, 0, 1, 1, "1"),), ranks=(0,)), setting(name="NCCL_B", ranks=(0,)), ranks=(0,)
    )
    text = as_text(run, ["first limit", "second limit"])
    assert text.startswith("envdoctor trace: 2 settings, 1 asked for, 1 never asked for, 1 rank\n")
    assert text.endswith("What this trace cannot tell:\n  - first limit\n  - second limit\n")
    assert as_text(run_of(), []).startswith("envdoctor trace: no setting that the catalogue knows was found\n")


def test_text_is_safe_for_a_terminal() -> None:
    run = run_of(setting("\x1b]0;owned\x07\n::error::x", asked=(Asked("/tmp/\x1b[31mlib.so", None, 1, 1, "x"),)))
    text = as_text(run, ["/tmp/\x1b[2Jprogram"])
    assert "\x1b" not in text
    assert "\n::error" not in text
