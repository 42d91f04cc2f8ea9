"""What stands around a fix stays byte by byte, whatever it is: comments in any encoding, line ends of any kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.cli.main import main

pytestmark = pytest.mark.slow

TRAINS = b"torch.nn.Linear(4, 1)(x).sum().backward()"
CASES = {
    "a ghost": ("a.sh", b"export NCCL_DETERMINISTIC=1\nls\n", b"ls\n"),
    "a word": ("a.sh", b"export A=1 NCCL_DETERMINISTIC=1 B=2\n", b"export A=1 B=2\n"),
    "a name": ("a.sh", b"export RCCL_DEBUG=INFO\n", b"export NCCL_DEBUG=INFO\n"),
    "an export": ("a.sh", b"NCCL_ALGO=Ring\ntorchrun t.py\n", b"export NCCL_ALGO=Ring\ntorchrun t.py\n"),
    "a seed": ("t.py", b"import torch\n" + TRAINS + b"\n", b"import torch\n\ntorch.manual_seed(0)\n\n" + TRAINS + b"\n"),
    "a late write": (
        "t.py",
        b'import os\nimport torch.distributed as dist\ndist.init_process_group()\ndist.barrier()\nos.environ["NCCL_ALGO"] = "Ring"\n',
        b'import os\nimport torch.distributed as dist\ndist.init_process_group()\nos.environ["NCCL_ALGO"] = "Ring"\ndist.barrier()\n',
    ),
    "an option": (
        "t.py",
        b"import torch\ntorch.manual_seed(1)\ntorch.backends.cudnn.benchmark = True\n" + TRAINS + b"\n",
        b"import torch\ntorch.manual_seed(1)\ntorch.backends.cudnn.benchmark = False\n" + TRAINS + b"\n",
    ),
    "an entry": (".env", b"A=1\nNCCL_DETERMINISTIC=1\n", b"A=1\n"),
}  # fmt: skip
WORDS = st.sampled_from(
    [b"a", b" ", b"\t", b"'", b'"', b"\\", b"$", b"`", b"(", "é".encode(), "漢🙂".encode(), b"\xe9", b"\xff"]
)
COMMENTS = st.lists(st.tuples(st.lists(WORDS, max_size=6).map(b"".join), st.sampled_from([b"\n", b"\r\n"])), max_size=4)


def comment(lines: list[tuple[bytes, bytes]]) -> bytes:
    """A block of comments, with a blank line before and behind."""
    return b"\n" + b"".join(b"# " + text.replace(b"\\", b"/") + b"." + end for text, end in lines) + b"\n"


@pytest.mark.parametrize("case", CASES)
@given(before=COMMENTS, behind=COMMENTS, mark=st.booleans())
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_around_a_fix_stays(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    before: list[tuple[bytes, bytes]], behind: list[tuple[bytes, bytes]], mark: bool,
) -> None:  # fmt: skip
    name, text, fixed = CASES[case]
    head = (b"\xef\xbb\xbf" if mark and name != ".env" else b"") + comment(before)
    path = tmp_path / name
    path.write_bytes(head + text + comment(behind))
    monkeypatch.chdir(tmp_path)
    main(["scan", "--fix", "--unsafe-fixes", "--format", "concise"])
    assert path.read_bytes() == head + fixed + comment(behind)
