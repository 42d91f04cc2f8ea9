"""Which reader a file is for: by its name, or by its first line where the name says nothing."""

from __future__ import annotations

from envdoctor.core.regexes import regex

SUFFIXES = {
    ".sh": "shell", ".bash": "shell", ".zsh": "shell", ".ksh": "shell", ".sbatch": "shell", ".slurm": "shell",
    ".sub": "shell", ".job": "shell", ".pbs": "shell", ".lsf": "shell", ".bats": "shell", ".qsub": "shell",
    ".py": "python", ".pyi": "python", ".pyw": "python", ".ipynb": "notebook",
    ".dockerfile": "dockerfile", ".containerfile": "dockerfile",
    ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".jsonc": "json", ".json5": "json", ".code-workspace": "json",
    ".toml": "toml", ".ini": "ini", ".cfg": "ini", ".service": "ini", ".container": "ini",
    ".env": "env-file", ".conf": "conf", ".properties": "conf",
    ".csh": "csh", ".tcsh": "csh", ".fish": "fish", ".mk": "make", ".mak": "make", ".just": "justfile",
    ".cmake": "cmake",
    ".tcl": "modulefile", ".lua": "lua-modulefile",
    ".tf": "terraform", ".tfvars": "terraform", ".hcl": "terraform", ".nomad": "terraform",
}  # fmt: skip
NAMES = {
    "dockerfile": "dockerfile", "containerfile": "dockerfile",
    ".bashrc": "shell", ".profile": "shell", ".bash_profile": "shell", ".bash_login": "shell", ".bash_aliases": "shell",
    ".zshrc": "shell", ".zshenv": "shell", ".zprofile": "shell", ".envrc": "shell",
    ".cshrc": "csh", ".tcshrc": "csh", ".login": "csh",
    "makefile": "make", "gnumakefile": "make", "justfile": "justfile", ".justfile": "justfile", "pipfile": "toml",
    "cmakelists.txt": "cmake",
    "nccl.conf": "nccl-conf", ".nccl.conf": "nccl-conf", "rccl.conf": "nccl-conf", ".rccl.conf": "nccl-conf",
    ".deepspeed_env": "deepspeed-env", "env.list": "docker-env-file", "env_vars": "env-file", "envfile": "env-file",
}  # fmt: skip
DOCUMENTS = {".md", ".markdown", ".mdx", ".rst"}
TEMPLATE_SUFFIXES = {
    ".j2", ".jinja", ".jinja2", ".tmpl", ".template", ".tpl", ".tftpl", ".in", ".example", ".sample", ".dist",
}  # fmt: skip
SHELLS = ("sh", "bash", "zsh", "ksh", "dash", "ash")
PROGRAMS = {
    **dict.fromkeys(SHELLS, "shell"), "csh": "csh", "tcsh": "csh", "fish": "fish", "make": "make", "gmake": "make",
    "just": "justfile", "tclsh": "modulefile", "lua": "lua-modulefile",
}  # fmt: skip
SCRIPTS = ("shell", "csh", "fish", "make", "justfile")
"""Kinds of files that start and source others."""
PYTHON_SUFFIXES = (".py", ".ipynb")
PYTHON = ("python", "notebook")
"""Kinds of files that are programs in Python."""
MODULE_MARK = b"#%Module"

_VARIANT = regex(r"(dockerfile|containerfile|makefile)[._-]")
_ENV_FILE = regex(r".*\.env(?:[._-][\w-]+)*|(?:.*[_-])?env(?:[_-]?(?:vars?|file))?")


def kind_of(path: str, head: bytes = b"", docs: bool = False) -> str | None:
    """The kind of a file; None: not ours to read. `docs`: documents are read too, for the code blocks in them."""
    name = _bare(path.rpartition("/")[2].lower())
    suffix = _suffix(name)
    if kind := NAMES.get(name) or SUFFIXES.get(suffix):
        return (shebang_kind(head) or kind) if kind == "shell" and head.startswith(b"#!") else kind
    if variant := _VARIANT.match(name):
        return SUFFIXES.get(suffix) or NAMES[variant[1]]
    if head.startswith(b"#!"):
        return shebang_kind(head)
    if head.startswith(MODULE_MARK):
        return "modulefile"
    if suffix in DOCUMENTS:
        return "markup" if docs else None
    if path.endswith("etc/environment"):
        return "launcher-env-file"
    return "env-file" if _ENV_FILE.fullmatch(name) else None


def _bare(name: str) -> str:
    """A name without what makes it a template (`job.yaml.j2`, `job.yaml-template`)."""
    name = name.removesuffix("-template")
    while (suffix := _suffix(name)) in TEMPLATE_SUFFIXES:
        name = name[: -len(suffix)]
    return name


def _suffix(name: str) -> str:
    """The last suffix of a name, as `pathlib` has it; called for each file of a tree."""
    at = name.rfind(".")
    return name[at:] if 0 < at < len(name) - 1 else ""


def shebang_kind(head: bytes) -> str | None:
    """The kind of a script, by the interpreter that a `#!` line names."""
    words = head.split(b"\n", 1)[0][2:].decode("ascii", "replace").split()
    if words and words[0].endswith("/env"):
        words = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
    program = words[0].rsplit("/", 1)[-1] if words else ""
    return "python" if program.startswith("python") else PROGRAMS.get(program)
