"""Facts that are kept: the same as those that were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT

from envdoctor.cache import facts as facts_cache
from envdoctor.cache.facts import Store, from_bytes, packed, to_bytes, unpacked
from envdoctor.cli.main import main
from envdoctor.core.facts import Branch, Call, FileFacts, Place, Problem, Scope, Value
from envdoctor.core.source import Source
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.readers import registry as readers
from envdoctor.readers.kinds import kind_of

Tree = Callable[[Mapping[str, str]], Path]
PLACE = Place("a.py", 1, 2, 3, 4, cell=5)


def texts() -> dict[str, str]:
    """Every example of every rule, and the fixtures, by a name that says their kind."""
    found = {f"{rule.name}-{i}/{e.file}": e.code for rule in load_rulebook() for i, e in enumerate(rule.examples)}
    for path in (ROOT / "tests/fixtures").rglob("*"):
        if path.is_file() and path.stat().st_size < 100_000:
            found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    return found


def test_what_is_kept_is_what_was_read() -> None:
    kinds = set()
    for path, text in texts().items():
        kind = kind_of(path, text[:256].encode(), True)
        if kind is not None:
            found = readers.read(Source(path, text), kind)
            assert from_bytes(to_bytes(found)) == found
            kinds.add(kind)
    assert len(kinds) > 15


@pytest.mark.parametrize(
    "item",
    [PLACE, Value("template", "${A:-b}", ("A",), "b"), Branch("i", "if", ""), "text", None, 1.5, True, (), ("a", 1),
     Call("f", "call", (), PLACE, 3, Scope("function", "g"), (Branch("i", "else"), Branch("j", "if")))],
)  # fmt: skip
def test_records_are_packed_as_plain_lists(item: object) -> None:
    assert unpacked(packed(item)) == item
    assert type(unpacked(packed(item))) is type(item)


def read_once(source: Source, kind: str) -> FileFacts:
    return readers.read(source, kind)


def never(source: Source, kind: str) -> FileFacts:
    raise AssertionError("it is kept")


SCRIPT = "export NCCL_DEBUG=INFO\n" * 100


def store_with(path: Path) -> FileFacts:
    store = Store(str(path))
    found = store.read(Source("a.sh", SCRIPT), "shell", read_once)
    store.save()
    return found


def test_a_file_is_read_once(tmp_path: Path) -> None:
    found = store_with(tmp_path / "facts")
    assert Store(str(tmp_path / "facts")).read(Source("a.sh", SCRIPT), "shell", never) == found


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [("b.sh", SCRIPT, "shell"), ("a.sh", SCRIPT + "\n", "shell"), ("a.sh", SCRIPT, "env-file")],
    ids=["another path", "another text", "another kind"],
)
def test_other_files_are_read(tmp_path: Path, path: str, text: str, kind: str) -> None:
    store_with(tmp_path / "facts")
    found = Store(str(tmp_path / "facts")).read(Source(path, text), kind, read_once)
    assert found == readers.read(Source(path, text), kind)
    assert found.path == path


def test_what_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    def failing(source: Source, kind: str) -> FileFacts:
        return FileFacts(source.path, kind, problems=[Problem("no", PLACE)])

    store = Store(str(tmp_path / "facts"))
    assert store.read(Source("a.sh", SCRIPT), "shell", failing).problems
    store.save()
    assert store.read(Source("a.sh", SCRIPT), "shell", read_once).settings


def test_a_broken_store_is_none(tmp_path: Path) -> None:
    path = tmp_path / "facts"
    found = store_with(path)
    whole = path.read_bytes()
    for data in (b"", whole[:-1], whole[:50], whole + b"x", b"\xff" * 90, whole.replace(b"NCCL", b"RCCL")):
        path.write_bytes(data)
        assert Store(str(path)).read(Source("a.sh", SCRIPT), "shell", read_once) == found


def test_what_is_not_used_goes_when_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "facts"
    store_with(path)
    monkeypatch.setattr(facts_cache, "LARGEST", 2 * path.stat().st_size)
    store = Store(str(path))
    store.read(Source("b.sh", SCRIPT), "shell", read_once)
    store.save()
    assert len(facts_cache._loaded(str(path))) == 1


def test_an_edited_tree_is_judged_as_it_is(
    tree: Tree,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    root = tree({"a.sh": SCRIPT, "b.sh": "source a.sh\ntorchrun train.py\n", "train.py": "import torch\n" * 200})
    monkeypatch.chdir(root)

    def scan(*words: str) -> str:
        main(["scan", "--format", "json", "--hints", *words])
        return capsys.readouterr().out

    for number in range(3):
        (root / "b.sh").write_text(f"source a.sh\nexport NCCL_DETERMINISTIC={number}\ntorchrun train.py\n")
        assert scan() == scan("--no-cache")
