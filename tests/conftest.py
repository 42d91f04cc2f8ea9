"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import recorded
from hypothesis import HealthCheck, settings

from envdoctor.internal_errors import InternalErrors

# A machine that is busy is no failure: no example has a deadline, and slowness of drawing them fails nothing either.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


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


@pytest.fixture(scope="session", autouse=True)
def recorded_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where recorded nodes are unpacked when a test asks for one. All tests share them, so that none may write there."""
    recorded.unpack_below(tmp_path_factory.mktemp("nodes"))
    yield
    assert not recorded.written_into(), "a test wrote into the folder of a recorded node; recorded.copy_of gives a copy"


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
