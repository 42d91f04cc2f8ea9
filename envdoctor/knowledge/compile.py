"""All rule files as JSON, as a wheel carries them."""

from __future__ import annotations

from pathlib import Path

from envdoctor.knowledge import apis, claims, intent, launchers, levels, rulebook
from envdoctor.knowledge.catalog.build import build_catalog
from envdoctor.knowledge.files import Build, dump, rule_paths
from envdoctor.knowledge.targets import data


def compile_all(root: Path, out: Path) -> list[Path]:
    """Write the JSON of every kind of rule file under `root` into `out`; the build hook calls this.

    Add a kind here when `load_compiled` gets a new caller.
    """
    kinds: tuple[tuple[str, str, Build], ...] = (
        ("catalog", "catalog", build_catalog), ("rules", "*", rulebook.build), ("targets", "targets", data.build),
        ("claims", ".", claims.build), ("levels", "levels", levels.build),
        ("launchers", "launchers", launchers.build),
        ("apis", "apis", apis.build), ("intent", "intent", intent.build),
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, folder, build in kinds:
        path = out / f"{name}.json"
        path.write_text(dump(build(rule_paths(folder, root))), encoding="utf-8")
        written.append(path)
    return written
