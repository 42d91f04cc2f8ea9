"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from envdoctor.core.internal_errors import InternalErrors


@pytest.fixture(autouse=True)
def no_internal_error(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An error of ours ends no scan, so that a test would not see it: none may come up where none is wanted."""
    met: list[str] = []
    real = InternalErrors.add

    def add(self: InternalErrors, path: str, doing: str, error: BaseException) -> None:
        met.append(f"{path}: {doing}: {error!r}")
        real(self, path, doing, error)

    monkeypatch.setattr(InternalErrors, "add", add)
    yield
    assert not met or request.node.get_closest_marker("internal_errors"), met


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Write files under a fresh folder and return it."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.lstrip("\n"), encoding="utf-8")
        return tmp_path

    return write
