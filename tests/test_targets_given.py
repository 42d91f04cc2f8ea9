"""Targets that people give with --target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.target import TargetError
from envdoctor.knowledge.targets.given import parse_target


@pytest.mark.parametrize(
    ("text", "platform", "versions", "gpus"),
    [
        ("rocm", "rocm", {}, ()),
        ("amd", "rocm", {}, ()),
        ("cuda", "cuda", {}, ()),
        ("ascend", "ascend", {}, ()),
        ("rocm-6.2,torch-2.4", "rocm", {"rocm": "6.2", "torch": "2.4", "rccl": "2.20.5", "miopen": "3.2.0"}, ()),
        ("ROCm-6.2.4 , Torch-2.6.0", "rocm",
         {"rocm": "6.2.4", "torch": "2.6.0", "rccl": "2.20.5", "miopen": "3.2.0"}, ()),
        ("rocm-5.2", "rocm", {"rocm": "5.2"}, ()),
        ("rocm-6.2,rccl-2.21.5", "rocm", {"rocm": "6.2", "rccl": "2.21.5", "miopen": "3.2.0"}, ()),
        ("nccl-2.21.5", "cuda", {"nccl": "2.21.5"}, ()),
        ("cuda-12.1,torch-2.4.1", "cuda", {"cuda": "12.1", "torch": "2.4.1", "nccl": "2.20.5"}, ()),
        ("cuda-12.4,torch-2.4.1", "cuda", {"cuda": "12.4", "torch": "2.4.1"}, ()),
        ("cuda,torch-2.6", "cuda", {"torch": "2.6", "nccl": "2.21.5"}, ()),
        ("cu121", "cuda", {"cuda": "12.1"}, ()),
        ("torch-2.8", None, {"torch": "2.8"}, ()),
        ("pytorch==2.8.0", None, {"torch": "2.8.0"}, ()),
        ("torch-2.7.0a0+git63", None, {"torch": "2.7.0a0+git63"}, ()),
        ("rocm6.2", "rocm", {"rocm": "6.2", "rccl": "2.20.5", "miopen": "3.2.0"}, ()),
        ("transformer-engine-1.12", None, {"te": "1.12"}, ()),
        ("mi300x", "rocm", {}, ("gfx942",)),
        ("h100,nccl-2.21.5", "cuda", {"nccl": "2.21.5"}, ("sm_90",)),
        ("gfx90a,gfx942", "rocm", {}, ("gfx90a", "gfx942")),
        ("sm_80", "cuda", {}, ("sm_80",)),
        ("mi250,mi250x", "rocm", {}, ("gfx90a",)),
    ],
)  # fmt: skip
def test_given(text: str, platform: str | None, versions: dict[str, str], gpus: tuple[str, ...]) -> None:
    target = parse_target(text)
    assert (target.platform, dict(target.versions), target.gpus) == (platform, versions, gpus)
    assert target.reasons == target.conflicts == ()
    assert target.plain is (platform is not None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty part is not known"),
        ("rocm,", "an empty part is not known"),
        ("rcom-6.2", r"rcom-6\.2 is not known \(did you mean rocm-6\.2\?\)"),
        ("torhc-2.4", r"\(did you mean torch-2\.4\?\)"),
        ("mi900x", r"\(did you mean mi300x\?\)"),
        ("zzz", "zzz is not known; a comma list of rocm, cuda, ascend, torch"),
        ("rocm-six", "rocm-six is not known"),
        ("torch 2.4", r"torch 2\.4 is not known \(did you mean torch-2\.4\?\)"),
        ("rocm,cuda", "rocm and cuda belong to different platforms"),
        ("rocm-6.2,nccl-2.21.5", r"rocm-6\.2 and nccl-2\.21\.5 belong to different platforms"),
        ("h100,mi300x", "h100 and mi300x belong to different platforms"),
        ("torch-2.4,torch-2.5", r"torch is given twice: 2\.4 and 2\.5"),
    ],
)
def test_errors_say_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        parse_target(text)


def test_an_error_is_short() -> None:
    with pytest.raises(TargetError) as caught:
        parse_target("x")
    assert len(str(caught.value).split("\n")) == 1


@given(st.text(max_size=30))
def test_any_text_is_a_target_or_an_error(text: str) -> None:
    try:
        target = parse_target(text)
    except TargetError as error:
        assert str(error)
    else:
        assert target.platform in ("cuda", "rocm", "ascend", None)
