"""What the key of a mapping says about its value: environment, script, list of words, image."""

from __future__ import annotations

from functools import lru_cache

from envdoctor.core.regexes import regex

VARIABLE = regex(r"[A-Z_][A-Z0-9_]*|[A-Z][A-Z0-9]*_[A-Za-z0-9_]+")
"""Names that a map under an environment key sets; keys in lower case are options of the project."""
IDENTIFIER = regex(r"[A-Za-z_][A-Za-z0-9_]*")
RESOURCE = regex(r"[a-z0-9][a-z0-9.-]*\.(?:com|ai|io|org|net)/[\w.-]+")
IMAGE = regex(r"(?:docker:(?://)?)?[\w.-]+(?::\d+)?(?:/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[0-9a-f]+)?")

_WORDS = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENVIRONMENT = {"env", "envs", "environ", "environment", "environments", "envvar", "envvars", "envset"}
_NO_ENVIRONMENT = {
    "file", "files", "from", "name", "names", "id", "type", "kind", "config", "configs", "kwargs", "args", "class",
    "path", "paths", "dir", "spec", "wrapper", "wrappers", "manager", "step", "steps", "copy", "key", "keys",
    "params", "url", "version", "prefix", "image",
}  # fmt: skip
_SETTINGS = {"env", "envs", "vars", "variables", "settings", "params", "parameters", "options", "tuning", "flags"}
_SCRIPT = {
    "run", "script", "scripts", "command", "commands", "cmd", "cmds", "entrypoint", "setup", "bash", "sh", "shell",
    "exec", "startup", "bootstrap", "userdata", "runcmd", "prolog", "prologue", "epilog", "epilogue", "hook", "init",
    "prerun", "postrun",
}  # fmt: skip
_LISTS_OF_COMMANDS = {"commands", "cmds", "scripts", "script", "setup", "runcmd", "run", "hook", "bootstrap"}
_CARRIERS = {"docker", "container", "podman", "run"}
_OPTIONS = {"options", "option", "opts", "args", "flags", "arguments"}
_IMAGES = {"image", "dockerimage", "containerimage", "imageid", "imagename", "baseimage", "imageuri"}

SKIPPED = {
    "labels", "annotations", "matchLabels", "matchExpressions", "nodeSelector", "openAPIV3Schema", "description",
    "permissions", "strategy", "matrix", "binaryData",
}  # fmt: skip
"""Keys under which no environment stands."""


@lru_cache(maxsize=4096)
def key_words(key: str) -> tuple[str, ...]:
    """The words of a key in lower case: `extraEnvVars` and `extra_env_vars` have the same ones."""
    return tuple(word.lower() for word in _WORDS.findall(key.rsplit("/", 1)[-1].rsplit(".", 1)[-1]))


@lru_cache(maxsize=4096)
def names_environment(key: str) -> bool:
    """Whether the name of a key says environment (`env`, `envVars`, `extra_env`, `environment_variables`)."""
    words = key_words(key)
    if words[:1] in (("nccl",), ("rccl",)):
        return len(words) == 1 or words[-1] in _SETTINGS
    return bool(_ENVIRONMENT.intersection(words)) and not _NO_ENVIRONMENT.intersection(words)


def names_forwarding(key: str) -> bool:
    """Whether a key lists names that are copied from the caller (`hydra.job.env_copy`, `passenv`)."""
    return "".join(key_words(key)) in {"envcopy", "passenv", "passenvs", "forwardenv", "forwardenvs", "envforward"}


@lru_cache(maxsize=4096)
def names_script(key: str) -> bool:
    """Whether the name of a key says that its text is run by a shell."""
    words = key_words(key)
    return bool(words) and (words[-1] in _SCRIPT or words[-2:] in (("user", "data"), ("pre", "run")))


def lists_commands(key: str) -> bool:
    """Whether a list under a script key holds commands, not the words of one."""
    return key_words(key)[-1:] != () and key_words(key)[-1] in _LISTS_OF_COMMANDS


def names_options(key: str) -> bool:
    """Whether a key holds options of a container run (`run_options`, `docker_args`)."""
    words = key_words(key)
    return words == ("options",) or (len(words) > 1 and words[-1] in _OPTIONS and bool(_CARRIERS.intersection(words)))


def names_image(key: str) -> bool:
    """Whether a key holds a reference to a container image."""
    return "".join(key_words(key)) in _IMAGES
