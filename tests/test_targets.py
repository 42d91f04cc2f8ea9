"""The entry of target inference: cheap to import, and everything behind it is found."""

from __future__ import annotations

import subprocess
import sys

from envdoctor.analysis.target.infer import infer

LATER = (
    "envdoctor.knowledge.targets.table",
    "envdoctor.analysis.target.hints",
    "packaging",
    "tomllib",
    "tomli",
    "difflib",
    "json",
)


def test_importing_the_words_loads_none_of_the_machinery() -> None:
    code = f"import sys, envdoctor.core.target; print([m for m in {LATER!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.strip() == "[]"


def test_inference_needs_no_toml_parser_and_no_packaging() -> None:
    """With the compiled table at hand; the first call makes it where it is missing."""
    infer([("run.sh", "module load rocm/6.2\n")], [])
    code = (
        "import sys; from envdoctor.analysis.target.infer import infer; "
        "print(infer([('run.sh', 'module load rocm/6.2\\n')], []).platform); "
        "print([m for m in ('packaging', 'tomllib', 'tomli', 'envdoctor.knowledge.targets.data') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.split("\n")[:2] == ["rocm", "[]"]
