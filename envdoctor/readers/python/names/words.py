"""What a Python name says about the thing it names: an environment, a script, a command, a log call."""

from __future__ import annotations

from functools import lru_cache

from envdoctor.core.regexes import regex

WORD = regex(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]*")
CAPITALS = regex(r"_*[A-Z][A-Z0-9_]+")

ENVIRONMENT = {"env", "envs", "environ", "environs", "environment", "environments", "envvar", "envvars"}
NOT_ENVIRONMENT = {
    "action", "actual", "alias", "aliases", "allowed", "arg", "args", "assert", "audit", "backup", "blocked",
    "cfg", "check", "class", "cls", "collect", "collected", "compare", "config", "configs", "denied",
    "deprecated", "describe", "description", "descriptions", "diff", "doc", "docs", "dump", "expected", "file",
    "files", "forbidden", "format", "forward", "gym", "help", "id", "ids", "info", "infos", "invalid", "key",
    "keys", "known", "kwargs", "list", "log", "map", "mapping", "meta", "metadata", "mode", "name", "names",
    "obs", "observation", "old", "orig", "original", "parse", "path", "prefix", "prefixes", "prev", "previous",
    "print", "record", "recorded", "registry", "removed", "renamed", "report", "required", "reserved", "reward",
    "save", "saved", "schema", "show", "snapshot", "space", "spec", "state", "status", "step", "summary",
    "supported", "type", "types", "unset", "validate", "validators", "vec", "verify", "wrapper",
}  # fmt: skip
"""Words that make of an environment something else: a description of it, a record of it, or a simulator."""
RUNTIME = ("env_variables", "env_vars", "environment", "environment_variables", "environment_vars", "envs", "envvars")
SETTERS = {
    "add", "apply", "default", "defaults", "ensure", "inject", "override", "patch", "put", "set",
    "setup", "update", "with",
}  # fmt: skip
REMOVERS = {"del", "delete", "unset", "remove", "clear", "pop"}
NOT_READERS = REMOVERS | SETTERS | {
    "assert", "check", "define", "dump", "expect", "forward", "list", "make", "name", "names", "pass", "record",
    "register", "report", "require", "show", "validate", "verify",
}  # fmt: skip
"""Words of functions that take the name of a variable and do not hand out its value."""
QUESTIONS = {"is", "has", "get", "was", "are"}
SETTER_WORDS = {"setenv", "putenv"}
READERS = {"getenv", "env", "envs", "environ", "envvar", "flag", "environment"}
SCRIPT = {
    "bash", "body", "cmd", "cmds", "command", "commands", "content", "contents", "entrypoint", "env",
    "environment", "envs", "export", "exports", "header", "job", "launch", "launcher", "lines", "parts",
    "preamble", "prefix", "prolog", "prologue", "run", "sbatch", "script", "scripts", "setup", "sh", "shell",
    "slurm", "submit", "template",
}  # fmt: skip
NOT_SCRIPT = {
    "advice", "bad", "description", "doc", "docs", "error", "errors", "example", "examples", "expected", "good",
    "help", "hint", "hints", "instruction", "instructions", "invalid", "markdown", "message", "messages", "msg",
    "note", "notes", "readme", "regex", "report", "suggestion", "suggestions", "tip", "tips", "title", "usage",
    "warning", "warnings",
}  # fmt: skip
RUNNERS = {
    "bash", "call", "cmd", "command", "exec", "execute", "launch", "popen", "run", "send", "sendline", "sh",
    "shell", "spawn", "ssh", "submit", "sudo", "system",
}  # fmt: skip
REPORTS = {
    "collect", "describe", "diagnose", "diagnostics", "dump", "info", "metadata", "provenance", "report", "snapshot",
    "status", "summary", "manifest", "fingerprint", "probe", "show",
}  # fmt: skip
SAVED = {
    "backup", "before", "old", "orig", "original", "prev", "previous", "restore", "save", "saved",
}  # fmt: skip
LOGGERS = {
    "critical", "debug", "deprecate", "deprecated", "echo", "error", "exception", "fail", "fatal", "info", "log",
    "pprint", "print", "secho", "skip", "skipif", "success", "warn", "warning", "xfail",
}  # fmt: skip
PAIR_CLASSES = ("EnvVar", "EnvironmentVariable", "KeyValuePair")
"""Ends of the names of classes of a name and its value."""


@lru_cache(maxsize=4096)
def words(name: str) -> frozenset[str]:
    """The words of a name in snake case, camel case or capitals, in lower case."""
    return frozenset(word.lower() for word in WORD.findall(name))


@lru_cache(maxsize=4096)
def says_environment(name: str) -> bool:
    """The name of a mapping that is plainly the environment of some process (`env`, `WORKER_ENV`, `extra_envs`)."""
    own = words(name)
    return not own.isdisjoint(ENVIRONMENT) and own.isdisjoint(NOT_ENVIRONMENT)


@lru_cache(maxsize=4096)
def says_runtime(name: str) -> bool:
    """The name of an environment that a framework or scheduler gives to its workers (`env_vars`, `runtime_env`)."""
    return name.lower().endswith(RUNTIME) or "runtime" in words(name)


@lru_cache(maxsize=4096)
def says_setter(name: str) -> bool:
    """The name of a function that sets environment variables (`set_env`, `setenv`, `update_environment_variables`)."""
    own = words(name)
    if not own.isdisjoint(QUESTIONS):
        return False
    environment = not own.isdisjoint(ENVIRONMENT) and (own - {"unset"}).isdisjoint(NOT_ENVIRONMENT)
    named = environment or not own.isdisjoint({"export", "exports"})
    verb = not own.isdisjoint(SETTERS) or (environment and "export" in own)
    return not own.isdisjoint(SETTER_WORDS) or (named and verb)


@lru_cache(maxsize=4096)
def says_reader(name: str) -> bool:
    """The name of a function that reads an environment variable (`env_bool`, `getenv_int`, `read_flag`)."""
    own = words(name)
    asks = own.isdisjoint(NOT_READERS) or not own.isdisjoint({"is", "has"})
    return asks and not own.isdisjoint(READERS) and not says_setter(name) and not says_log(name)


@lru_cache(maxsize=4096)
def says_script(name: str) -> bool:
    """The name of text that becomes a shell script or command."""
    own = words(name)
    return not own.isdisjoint(SCRIPT) and own.isdisjoint(NOT_SCRIPT)


@lru_cache(maxsize=4096)
def denies_script(name: str) -> bool:
    """The name of text for people, even where it looks like a command."""
    return not words(name).isdisjoint(NOT_SCRIPT)


@lru_cache(maxsize=4096)
def says_runner(name: str) -> bool:
    """The name of a function that runs a command it is given as text."""
    return not words(name).isdisjoint(RUNNERS)


@lru_cache(maxsize=4096)
def says_log(name: str) -> bool:
    """The name of a function that prints, logs or reports its arguments, and no more."""
    own = words(name)
    return name in LOGGERS or not own.isdisjoint({"print", "log", "logger", "echo", "warn", "warning", "pprint"})


@lru_cache(maxsize=4096)
def says_report(name: str) -> bool:
    """The name of something that tells how things stand (`determinism_status`, `env_info`)."""
    return not words(name).isdisjoint(REPORTS)


@lru_cache(maxsize=4096)
def says_saved(name: str) -> bool:
    """The name of a value that is kept to be put back later (`old_algo`, `saved_env`)."""
    return not words(name).isdisjoint(SAVED)


def is_pair_class(name: str) -> bool:
    """A class of a name and its value (`V1EnvVar`)."""
    return name.endswith(PAIR_CLASSES)


def is_capitals(name: str) -> bool:
    """A name in the form of environment variables."""
    return CAPITALS.fullmatch(name) is not None


def is_variable(name: str) -> bool:
    """A name that an environment variable can have in a shell."""
    return VARIABLE.fullmatch(name) is not None
