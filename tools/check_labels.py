"""Scan checkouts of public repositories and compare with the findings that were judged by hand.

    python tools/check_labels.py FOLDER [--rules ED1,ED2]

FOLDER holds one checkout per repository, named `owner+name`, at the commit that `tests/field/labels*.toml` names.
Prints findings without a label, labels judged true that are not found any more, and labels judged false that still are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envdoctor.knowledge.files import loads_toml

LABELS = Path(__file__).parent.parent / "tests" / "field"
Key = tuple[str, str, int, str, str]


def labels() -> dict[Key, dict[str, Any]]:
    """All labels by repository, path, line, rule and variable."""
    found: dict[Key, dict[str, Any]] = {}
    for path in sorted(LABELS.glob("labels*.toml")):
        for label in loads_toml(path.read_text(encoding="utf-8"))["finding"]:
            found[key(label["repository"], label)] = label
    return found


def key(repository: str, row: dict[str, Any]) -> Key:
    """What makes a finding the same one."""
    return repository, row["path"], row["line"], row["rule"], row.get("variable") or ""


def scanned(folder: Path, rules: str) -> Iterator[tuple[Key, str]]:
    """Every finding in every checkout, with its message."""
    for checkout in sorted(p for p in folder.iterdir() if "+" in p.name):
        chosen = ["--select", rules] if rules else []
        command = [sys.executable, "-m", "envdoctor", "scan", "--format", "json", *chosen, "."]
        run = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        for finding in json.loads(run.stdout)["findings"]:
            yield key(checkout.name.replace("+", "/"), finding), finding["message"]


def main() -> int:
    """Compare; 0 where every finding has a label and no false kind is left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rules", default="", help="only these rules")
    arguments = parser.parse_args()
    known = labels()
    present = {p.name.replace("+", "/") for p in arguments.folder.iterdir()}
    found = dict(scanned(arguments.folder, arguments.rules))
    counts: Counter[str] = Counter()
    for place, message in found.items():
        label = known.get(place)
        counts["true" if label and label["true"] else "false" if label else "unlabelled"] += 1
        if label is None or not label["true"]:
            what = "FALSE     " if label else "UNLABELLED"
            print(f"{what} {place[0]}:{place[1]}:{place[2]} {place[3]} {message[:120]}")
    for place, label in known.items():
        selected = not arguments.rules or place[3].startswith(tuple(arguments.rules.split(",")))
        if label["true"] and place[0] in present and selected and place not in found:
            counts["missing"] += 1
            print(f"MISSING    {place[0]}:{place[1]}:{place[2]} {place[3]} {place[4]}")
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    return int(bool(counts["unlabelled"] or counts["false"]))


if __name__ == "__main__":
    sys.exit(main())
