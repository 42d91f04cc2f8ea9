"""What kind of text goes into a file or a command: by the name of the target, or else by what the text looks like."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from envdoctor.core.regexes import regex
from envdoctor.readers.kinds import kind_of, shebang_kind

NOWHERE = ("/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty", "&1", "&2")
_NO_SETTINGS = {".log", ".txt", ".md", ".rst", ".csv", ".tsv", ".html", ".out", ".err", ".json", ".jsonl", ".xml"}
_CI_FILES = regex(r"\$\{?(GITHUB_ENV|BASH_ENV|CIRCLE_ENV|BITBUCKET_ENV)\b")
_START_FILES = regex(r"(?:^|/)\.?(?:bashrc|bash_profile|bash_login|profile|zshrc|zshenv|zprofile|kshrc|bash_aliases)$")
_ENV_FILE = regex(
    r"(?:^|[/._-])(?:deepspeed_env|env(?:ironment)?(?:\.list|file|vars?)?)(?:$|[._-](?!py$|sh$|ya?ml$))|\.env$"
)
_LAUNCHER_FILE = regex(r"deepspeed_env|DS_ENV_FILE|/etc/environment\Z|env\.list\Z")
_ENV_VARIABLE = regex(r"ENV_?FILE|\bDS_ENV|ENV_LIST|DOTENV", re.IGNORECASE)
_SETTING_LINE = regex(r"(export\s+)?[A-Za-z_]\w*\+?=")
_PYTHON_LINE = regex(r"(?:import|from|def|class|with|print\(|@)\b")
_DIRECTIVE_LINE = regex(r"#(?:SBATCH|PBS|BSUB)\b")


def file_kind(name: str) -> str | None:
    """The kind of a file that is written, by its name; None where the name says nothing of it."""
    if match := _CI_FILES.search(name):
        return "shell" if match[1] == "BASH_ENV" else "ci-env"
    pure = PurePosixPath(name.strip("\"'"))
    base = pure.name
    if _START_FILES.search(name):
        return "shell"
    if kind := kind_of(base):
        return None if kind == "markup" else kind
    if _ENV_FILE.search(base.lower()) or _ENV_VARIABLE.search(name):
        return "launcher-env-file" if _LAUNCHER_FILE.search(name) else "env-file"
    if base.endswith((".conf", ".cfg")):
        return "conf-file"
    return None


def keeps_settings(name: str) -> bool:
    """False for files that hold output for people or other programs, whatever it looks like."""
    return name not in NOWHERE and PurePosixPath(name).suffix.lower() not in _NO_SETTINGS


def content_kind(text: str) -> str | None:
    """The kind of text by what it looks like: its first line, directives, or most of its lines."""
    stripped = text.lstrip()
    if stripped.startswith("#!"):
        return shebang_kind(stripped[:200].encode("ascii", "replace"))
    lines = [line.strip() for line in stripped[:20_000].splitlines()]
    meaning = [line for line in lines if line and not line.startswith("#")]
    if not meaning:
        return None
    if any(_DIRECTIVE_LINE.match(line) for line in lines[:40]):
        return "shell"
    if re.match(r"FROM\s+\S", meaning[0]):
        return "dockerfile"
    if any(line.startswith("apiVersion:") for line in meaning[:5]):
        return "yaml"
    return _by_most_lines(meaning)


def _by_most_lines(lines: list[str]) -> str | None:
    settings = [match for line in lines if (match := _SETTING_LINE.match(line))]
    exports = sum(1 for match in settings if match[1])
    if exports:
        return "shell"
    if sum(1 for line in lines if _PYTHON_LINE.match(line)) * 3 > len(lines):
        return "python"
    return "env-file" if len(settings) * 2 > len(lines) else None
