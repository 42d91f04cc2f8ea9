"""Fixtures of the smoke test: torch of the running interpreter, or a plain reason to skip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from smoke_lab import Lab, has_torch, marked, servers


@pytest.fixture(scope="session")
def torch_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if not has_torch():
        pytest.skip("torch is not installed for this interpreter")
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.first.close()
    assert marked(lab.mark) == []


@pytest.fixture
def lab(torch_lab: Lab) -> Iterator[Lab]:
    yield torch_lab
    ranks = [pid for pid in marked(torch_lab.mark) if pid not in servers(torch_lab)]
    assert ranks == [], "ranks are left"
