"""Fixtures that all tests share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import recorded
from hypothesis import HealthCheck, settings
from support import scan_json

from envdoctor.core.internal_errors import InternalErrors

# A machine that is busy is no failure: no example has a deadline, and slowness of drawing them fails nothing either.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("patient"), max_examples=10)
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """The inner loop tries fewer examples of each property."""
    if "not slow" in config.option.markexpr and not config.getoption("--hypothesis-profile"):
        settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is left to the night is slow: an expression for `-m` takes the place of the one that leaves it out."""
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def errors_met() -> Iterator[list[str]]:
    """The errors of ours that come up."""
    met: list[str] = []
    real = InternalErrors.add

    def add(self: InternalErrors, path: str, doing: str, error: BaseException) -> None:
        met.append(f"{path}: {doing}: {error!r}")
        real(self, path, doing, error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InternalErrors, "add", add)
        yield met


@pytest.fixture(autouse=True)
def no_internal_error(request: pytest.FixtureRequest, errors_met: list[str]) -> Iterator[None]:
    """An error of ours ends no scan, so that a test would not see it: none may come up where none is wanted."""
    errors_met.clear()
    yield
    assert not errors_met or request.node.get_closest_marker("internal_errors"), errors_met


@pytest.fixture(scope="session", autouse=True)
def recorded_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where recorded nodes are unpacked when a test asks for one. All tests share them, so that none may write there."""
    recorded.unpack_below(tmp_path_factory.mktemp("nodes"))
    yield
    assert not recorded.written_into(), "a test wrote into the folder of a recorded node; recorded.copy_of gives a copy"


@pytest.fixture(scope="session")
def compiled_rules(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of the cache that hold what the TOML under `rules/` says: they take longer to make than most scans."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "a.sh").write_text("export NCCL_ALGO=Ring\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        scan_json(folder, "--no-cache", "a.sh")
    return sorted((folder / "envdoctor").glob("*.json"))


@pytest.fixture
def cache(
    compiled_rules: list[Path], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A cache of its own for a test, which holds the rules and nothing that was scanned."""
    folder = tmp_path_factory.mktemp("cache")
    (folder / "envdoctor").mkdir()
    for path in compiled_rules:
        shutil.copy(path, folder / "envdoctor")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


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
