"""Infer the targets of files in checkouts of public repositories and compare with those that were judged by hand.

    python tools/check_targets.py FOLDER [--verbose]

FOLDER holds one checkout per repository, named `owner+name`, at the commit that `tests/field/targets.toml` names; those
that are not there are passed over. Prints each file whose verdict is not the one that the label records, and the
figures: right (nothing claimed that is not so), wrong, missed (something known that is not said).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from envdoctor.knowledge.files import loads_toml

LABELS = Path(__file__).parent.parent / "tests" / "field" / "targets.toml"
Row = Mapping[str, Any]
NOTHING: Row = {"platform": None, "versions": {}, "gpus": []}


class Verdict(NamedTuple):
    """Whether nothing wrong is claimed, and whether something that is known is not said."""

    right: bool
    missed: bool


def labels() -> list[dict[str, Any]]:
    """All labels, in the order of the file."""
    found: list[dict[str, Any]] = loads_toml(LABELS.read_text(encoding="utf-8"))["target"]
    return found


def judged(label: Row, said: Row) -> Verdict:
    """What is said of a file against what a person knows. A series (`12.8`) is no wrong claim of its release."""
    platform, known, versions = said["platform"] or "", label["versions"], said["versions"]
    false = [key for key, value in versions.items() if not f"{known.get(key, '')}.".startswith(f"{value}.")]
    more = set(said["gpus"]) - set(label.get("gpus", said["gpus"]))
    right = platform in ("", label["platform"]) and not false and not more
    return Verdict(right, (label["platform"] != "" and not platform) or not set(known) <= set(versions))


def printed(checkout: Path) -> dict[str, Row]:
    """What `--show-target` says of each file of a checkout."""
    command = [sys.executable, "-m", "envdoctor", "scan", "--show-target", "--format", "json", "."]
    run = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    return {path: group for group in json.loads(run.stdout)["targets"] for path in group["paths"]}


def main() -> int:
    """Compare; 0 where every verdict is the recorded one and nothing wrong is claimed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--verbose", action="store_true", help="also what is said of each file")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    outputs: dict[str, dict[str, Row]] = {}
    for label in labels():
        repository = label["repository"]
        checkout = arguments.folder / repository.replace("/", "+")
        if not checkout.is_dir():
            continue
        if repository not in outputs:
            outputs[repository] = printed(checkout)
        said = outputs[repository].get(label["path"], NOTHING)
        verdict = judged(label, said)
        counts.update(["right" if verdict.right else "wrong"] + ["missed"] * verdict.missed)
        differs = verdict != (label["right"], label["missed"])
        counts.update(["other than recorded"] * differs)
        if differs or arguments.verbose or not verdict.right:
            said_here = f"{said['platform'] or 'unknown'} {dict(said['versions'])} {list(said['gpus'])}"
            print(f"{'OTHER ' if differs else ''}{repository}:{label['path']}: {said_here}, {verdict};", end=" ")
            print(f"known: {label['platform'] or 'unknown'} {label['versions']}: {label['why']}")
    print(", ".join(f"{counts[what]} {what}" for what in ("right", "wrong", "missed", "other than recorded")))
    return int(bool(counts["wrong"] or counts["other than recorded"]))


if __name__ == "__main__":
    sys.exit(main())
