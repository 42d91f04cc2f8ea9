"""What each fix does to a file, what it leaves alone, and that fixing ends."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT

from envdoctor.cli.main import main
from envdoctor.fixes import verify
from envdoctor.knowledge.rulebook import load_rulebook

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "NCCL_DETERMINISTIC"
REMOVED = [
    ("a.sh", "export NCCL_DETERMINISTIC=1\nexport NCCL_ALGO=Ring\n", "export NCCL_ALGO=Ring\n"),
    ("a.sh", "NCCL_DETERMINISTIC=1  # why\nls\n", "ls\n"),
    ("a.sh", "ls\nexport NCCL_DETERMINISTIC=1", "ls"),
    ("a.sh", "declare -x NCCL_DETERMINISTIC='1'\nls\n", "ls\n"),
    ("a.sh", 'export NCCL_DETERMINISTIC="${NCCL_DETERMINISTIC:-1}"\nls\n', "ls\n"),
    ("a.sh", ": ${NCCL_DETERMINISTIC:=1}\nls\n", "ls\n"),
    ("a.sh", "export NCCL_DETERMINISTIC=1\nexport NCCL_DETERMINISTIC\nls\n", "ls\n"),
    ("a.sh", "export A=1 NCCL_DETERMINISTIC='1' B=2\n", "export A=1 B=2\n"),
    ("a.sh", "export NCCL_DETERMINISTIC=1 B=2\n", "export B=2\n"),
    ("a.sh", "export B=2 NCCL_DETERMINISTIC=1\n", "export B=2\n"),
    ("a.sh", "export A=1 \\\n  NCCL_DETERMINISTIC=1 \\\n  B=2\n", "export A=1 \\\n  B=2\n"),
    ("a.sh", "export A=1 \\\n  NCCL_DETERMINISTIC=1\nls\n", "export A=1\nls\n"),
    ("a.sh", "NCCL_DETERMINISTIC=1 NCCL_ALGO=Ring python t.py\n", "NCCL_ALGO=Ring python t.py\n"),
    ("a.sh", "NCCL_DETERMINISTIC=1 \\\npython t.py\n", "python t.py\n"),
    ("a.sh", "if true; then\n  export NCCL_DETERMINISTIC=1\nfi\n", "if true; then\n  :\nfi\n"),
    ("a.sh", "f() {\n  export NCCL_DETERMINISTIC=1  # x\n}\n", "f() {\n  :  # x\n}\n"),
    ("a.sh", "case $x in\n  a)\n    export NCCL_DETERMINISTIC=1\n    ;;\nesac\n",
     "case $x in\n  a)\n    :\n    ;;\nesac\n"),
    ("a.sh", "export NCCL_DETERMINISTIC=1; python t.py\n", "python t.py\n"),
    ("a.sh", 'bash -c "export NCCL_DETERMINISTIC=1 && python t.py"\n', 'bash -c "python t.py"\n'),
    ("a.sh", "mpirun -np 4 -x NCCL_DETERMINISTIC=1 python t.py\n", "mpirun -np 4 python t.py\n"),
    ("a.sh", "mpirun -np 4 \\\n  -x NCCL_DETERMINISTIC \\\n  python t.py\n", "mpirun -np 4 \\\n  python t.py\n"),
    ("a.sh", "docker run -e NCCL_DETERMINISTIC=1 img\n", "docker run img\n"),
    ("a.sh", "docker run --env=NCCL_DETERMINISTIC=1 --rm img\n", "docker run --rm img\n"),
    ("a.sh", "srun --export=ALL,NCCL_DETERMINISTIC=1 python t.py\n", "srun --export=ALL python t.py\n"),
    ("a.sh", "docker run -e RCCL_DEBUG=INFO -e NCCL_DEBUG=INFO i\n", "docker run -e NCCL_DEBUG=INFO i\n"),
    ("a.csh", "setenv NCCL_DETERMINISTIC 1\nls\n", "ls\n"),
    ("a.fish", "set -gx NCCL_DETERMINISTIC 1\nls\n", "ls\n"),
    (".env", "A=1\nNCCL_DETERMINISTIC=1\n", "A=1\n"),
    ("Dockerfile", "FROM x\nENV NCCL_DETERMINISTIC=1\nENV B=1\n", "FROM x\nENV B=1\n"),
    ("Dockerfile", "FROM x\nENV NCCL_DETERMINISTIC 1\n", "FROM x\n"),
    ("Dockerfile", "FROM x\nENV A=1 NCCL_DETERMINISTIC=1\n", "FROM x\nENV A=1\n"),
    ("Dockerfile", "FROM x\nENV A=1 \\\n    NCCL_DETERMINISTIC=1\n", "FROM x\nENV A=1\n"),
    ("Dockerfile", "FROM x\nENV NCCL_DETERMINISTIC=1 \\\n    A=1\n", "FROM x\nENV \\\n    A=1\n"),
    ("docker-compose.yml", "services:\n  t:\n    environment:\n      - A=1\n      - NCCL_DETERMINISTIC=1\n",
     "services:\n  t:\n    environment:\n      - A=1\n"),
    ("docker-compose.yml", 'services:\n  t:\n    environment:\n      A: "1"\n      NCCL_DETERMINISTIC: "1"\n',
     'services:\n  t:\n    environment:\n      A: "1"\n'),
    ("pod.yaml", "kind: Pod\nspec:\n  containers:\n  - name: t\n    env:\n    - name: A\n      value: '1'\n"
     "    - name: NCCL_DETERMINISTIC\n      value: '1'\n",
     "kind: Pod\nspec:\n  containers:\n  - name: t\n    env:\n    - name: A\n      value: '1'\n"),
    ("env.json", '{"env_vars": {\n  "NCCL_DETERMINISTIC": "1",\n  "A": "1"\n}}\n', '{"env_vars": {\n  "A": "1"\n}}\n'),
    ("env.json", '{"env_vars": {\n  "A": "1",\n  "NCCL_DETERMINISTIC": "1"\n}}\n', '{"env_vars": {\n  "A": "1"\n}}\n'),
    ("a.py", 'import os\nos.environ["NCCL_DETERMINISTIC"] = "1"\nx = 1\n', "import os\nx = 1\n"),
    ("a.py", 'import os\nos.environ.setdefault(\n    "NCCL_DETERMINISTIC", "1"\n)  # why\n', "import os\n"),
    ("a.py", 'import os\nif x:\n    os.environ["NCCL_DETERMINISTIC"] = str(y)\n', "import os\nif x:\n    pass\n"),
    ("a.py", 'import os\nos.environ.update({"NCCL_DETERMINISTIC": "1", "NCCL_ALGO": "Ring"})\n',
     'import os\nos.environ.update({"NCCL_ALGO": "Ring"})\n'),
    ("a.py", 'import os\nos.environ.update({"NCCL_ALGO": "Ring", "NCCL_DETERMINISTIC": "1"})\n',
     'import os\nos.environ.update({"NCCL_ALGO": "Ring"})\n'),
    ("a.py", 'import os\nos.environ.update({\n    "é": "ü", "NCCL_DETERMINISTIC": "1",\n})\n',
     'import os\nos.environ.update({\n    "é": "ü", })\n'.replace(" })", " \n})")),
]  # fmt: skip
KEPT = [
    ("a.sh", "export NCCL_DETERMINISTIC=$(make_it)\n"),
    ("a.sh", "true && export NCCL_DETERMINISTIC=1\n"),
    ("a.sh", "true &&\nexport NCCL_DETERMINISTIC=1\n"),
    ("a.sh", "export NCCL_DETERMINISTIC=1 && ls\nset -u\necho $NCCL_DETERMINISTIC\n"),
    ("a.sh", "export NCCL_DETERMINISTIC=1\nset -u\necho $NCCL_DETERMINISTIC\n"),
    ("a.sh", "export NCCL_DETERMINISTIC=1  # envdoctor: ignore[ghost-variable]\n"),
    ("a.py", 'import os\nos.environ["NCCL_DETERMINISTIC"] = make_it()\n'),
    ("a.py", 'import os\nos.environ["NCCL_DETERMINISTIC"] = "1"; x = 1\n'),
    ("a.py", 'import os\nif x: os.environ["NCCL_DETERMINISTIC"] = "1"\n'),
    ("docker-compose.yml", "services:\n  t:\n    environment:\n      - NCCL_DETERMINISTIC=1\n"),
    ("a.sh", "export RCCL_DEBUG=INFO\n"),
    ("a.sh", "export NCCL_P2P_DISABLE=true\n"),
    ("a.sh", "export NCCL_ASYNC_ERROR_HANDLING=1\n"),
    ("a.sh", "NCCL_ALGO=Ring\npython -m torch.distributed.run t.py\n"),
]  # fmt: skip
UNSAFE = [
    ("a.sh", "export NCCL_LL_THRESHOLD=0\nls\n", "ls\n"),
    ("a.sh", "export RCCL_DEBUG=INFO\n", "export NCCL_DEBUG=INFO\n"),
    ("a.sh", "export RCCL_DEBUG=${RCCL_DEBUG:-INFO}\n", "export NCCL_DEBUG=${NCCL_DEBUG:-INFO}\n"),
    ("a.sh", "RCCL_DEBUG=INFO\nexport RCCL_DEBUG\n", "NCCL_DEBUG=INFO\nexport NCCL_DEBUG\n"),
    ("a.sh", "export RCCL_DEBUG=INFO\nmpirun -x RCCL_DEBUG python t.py\n",
     "export NCCL_DEBUG=INFO\nmpirun -x NCCL_DEBUG python t.py\n"),
    ("a.py", "import os\nos.environ['RCCL_DEBUG'] = 'INFO'\n", "import os\nos.environ['NCCL_DEBUG'] = 'INFO'\n"),
    ("env.json", '{"env_vars": {"RCCL_DEBUG": "INFO"}}\n', '{"env_vars": {"NCCL_DEBUG": "INFO"}}\n'),
    ("a.sh", 'export NCCL_P2P_DISABLE="true"\n', 'export NCCL_P2P_DISABLE="1"\n'),
    ("a.sh", "export NCCL_P2P_DISABLE=off\n", "export NCCL_P2P_DISABLE=off\n"),
    ("a.sh", "export CUBLAS_WORKSPACE_CONFIG=4096:8\n", "export CUBLAS_WORKSPACE_CONFIG=:4096:8\n"),
    ("a.sh", "export CUBLAS_WORKSPACE_CONFIG=:4096:2\n", "export CUBLAS_WORKSPACE_CONFIG=:4096:2\n"),
    ("a.sh", "export NCCL_PROTO=Simpel\n", "export NCCL_PROTO=Simple\n"),
    ("a.sh", "export NCCL_PROTO=Ring\n", "export NCCL_PROTO=Ring\n"),
    ("a.py", "import os\nos.environ['NCCL_P2P_DISABLE'] = 'true'\n",
     "import os\nos.environ['NCCL_P2P_DISABLE'] = '1'\n"),
    ("a.sh", "NCCL_ALGO=Ring\ntorchrun t.py\n", "export NCCL_ALGO=Ring\ntorchrun t.py\n"),
    ("a.sh", "export NCCL_ALGO=Ring NCCL_PROTO=LL\nmpirun -x NCCL_DEBUG -H a,b python t.py\n",
     "export NCCL_ALGO=Ring NCCL_PROTO=LL\nmpirun -x NCCL_ALGO -x NCCL_PROTO -x NCCL_DEBUG -H a,b python t.py\n"),
    ("a.sh", "export NCCL_ALGO=Ring\ndocker run img torchrun t.py\n",
     "export NCCL_ALGO=Ring\ndocker run -e NCCL_ALGO img torchrun t.py\n"),
    ("a.sh", "export NCCL_ALGO=Ring\nexport B=2\nsrun --export=B python t.py\n",
     "export NCCL_ALGO=Ring\nexport B=2\nsrun --export=ALL,B python t.py\n"),
]  # fmt: skip


def fixed(root: Path, *words: str) -> int:
    """Exit status of `envdoctor scan --fix` in a folder."""
    return main(["scan", "--fix", "--format", "concise", *words])


@pytest.mark.parametrize(("name", "before", "after"), REMOVED)
def test_ghosts_go(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str) -> None:
    root = tree({name: before})
    monkeypatch.chdir(root)
    fixed(root, "--select", "ghost-variable,misnamed-variable")
    assert (root / name).read_text(encoding="utf-8") == after


@pytest.mark.parametrize(("name", "text"), KEPT)
def test_what_is_not_plain_or_not_safe_stays(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    root = tree({name: text})
    monkeypatch.chdir(root)
    fixed(root)
    assert (root / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("name", "before", "after"), UNSAFE)
def test_unsafe_fixes(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str) -> None:
    root = tree({name: before})
    monkeypatch.chdir(root)
    fixed(root)
    assert (root / name).read_text(encoding="utf-8") == before
    fixed(root, "--unsafe-fixes")
    assert (root / name).read_text(encoding="utf-8") == after


OLD = "export NCCL_ASYNC_ERROR_HANDLING=1\n"


@pytest.mark.parametrize(
    ("target", "more", "safe"),
    [
        ("torch-2.4", {}, True),
        ("rocm-6.2", {}, False),
        ("torch-2.4", {"b.py": 'import os\nx = os.environ["NCCL_ASYNC_ERROR_HANDLING"]\n'}, False),
        ("torch-2.4", {"README.md": "NCCL_ASYNC_ERROR_HANDLING is old"}, True),
        ("torch-2.4", {"b.sh": "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"}, True),
    ],
)
def test_a_new_name_is_safe_where_it_is_known_to_be_read(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, target: str, more: dict[str, str], safe: bool
) -> None:
    root = tree({"a.sh": OLD, **more})
    monkeypatch.chdir(root)
    fixed(root, "--target", target)
    assert ((root / "a.sh").read_text() == OLD.replace("NCCL", "TORCH_NCCL")) == safe


def test_status_says_what_is_left(tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    root = tree({"a.sh": f"export {GHOST}=1\nexport NCCL_P2P_DISABLE=true\n"})
    monkeypatch.chdir(root)
    assert fixed(root) == 1
    said = capsys.readouterr()
    assert said.out.count("\n") == 1
    assert "bad-value" in said.out
    assert "1 fixed; 1 file written" in said.err
    assert fixed(root, "--unsafe-fixes") == 0


def test_diff_changes_nothing_and_applies(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture
) -> None:
    root = tree({"a.sh": f"a\nexport {GHOST}=1\nb", "c.sh": f"export {GHOST}=1"})
    before = {p.name: p.read_bytes() for p in root.iterdir()}
    monkeypatch.chdir(root)
    assert main(["scan", "--diff"]) == 1
    assert {p.name: p.read_bytes() for p in root.iterdir()} == before
    assert capsysbinary.readouterr().out.decode() == (
        f"--- a/a.sh\n+++ b/a.sh\n@@ -1,3 +1,2 @@\n a\n-export {GHOST}=1\n b\n\\ No newline at end of file\n"
        f"--- a/c.sh\n+++ b/c.sh\n@@ -1 +0,0 @@\n-export {GHOST}=1\n\\ No newline at end of file\n"
    )
    fixed(root)
    assert main(["scan", "--diff"]) == 0
    assert main(["scan", "--diff", "nowhere.sh"]) == 2


def test_unsafe_fixes_alone_are_refused(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree({"a.sh": f"export {GHOST}=1\n"}))
    assert main(["scan", "--unsafe-fixes"]) == 2


def test_json_says_how(tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.chdir(tree({"a.sh": f"export {GHOST}=1\n"}))
    main(["scan", "--format", "json"])
    fix = json.loads(capsys.readouterr().out)["findings"][0]["fix"]
    assert fix == {"description": f"remove {GHOST}", "safe": True, "edits": [
        {"path": "a.sh", "line": 1, "column": 1, "end_line": 2, "end_column": 1, "text": ""}]}  # fmt: skip


BAD = [(r.name, i, e) for r in load_rulebook() for i, e in enumerate(r.examples) if e.kind == "bad" and not e.node]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of all examples of the rules and of the readers' fixtures, each in a folder of its own."""
    root = tmp_path_factory.mktemp("fixing")
    for name, number, example in BAD:
        for file, code in {example.file: example.code, **{f["file"]: f["code"] for f in example.files}}.items():
            path = root / f"{name}-{number}" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code.lstrip("\n"), encoding="utf-8")
    shutil.copytree(ROOT / "tests" / "fixtures", root / "fixtures")
    shutil.copytree(ROOT / "examples", root / "examples")
    return root


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--fix"], ["--fix", "--unsafe-fixes"], ["--add-ignores"]], ids=" ".join)
def test_fixing_everything_ends_and_everything_parses(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, words: list[str]
) -> None:
    monkeypatch.chdir(project)
    before = {p: p.read_bytes() for p in sorted(project.rglob("*")) if p.is_file()}
    main(["scan", *words, "--format", "json"])
    left = json.loads(capsys.readouterr().out)["findings"]
    changed = [p for p, data in before.items() if p.read_bytes() != data]
    assert changed
    for path in changed:
        assert verify.still_parses(path.name, before[path], path.read_bytes()), path
    if "--fix" in words:
        wanted = {True} | ({False} if "--unsafe-fixes" in words else set())
        assert [f for f in left if f["fix"] and f["fix"]["safe"] in wanted] == []
    after = {p: p.read_bytes() for p in sorted(project.rglob("*")) if p.is_file()}
    main(["scan", *words, "--format", "concise"])
    assert {p: p.read_bytes() for p in sorted(project.rglob("*")) if p.is_file()} == after
