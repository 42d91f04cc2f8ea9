"""All that is ever asked of git, with a configuration of ours and of nobody else: nothing of a repository runs.

Git runs programs that a repository names: `core.fsmonitor`, hooks, filters (`filter.*.clean`, `.process`), comparisons
(`diff.external`, `diff.*.textconv`), the transport of a partial clone that lacks an object. It takes a folder of a
clone that looks like a bare repository for one, and asks nested repositories by their own configuration. No list of
options that turn these off is complete, and old releases know few of them. So git never sees the folder of the
repository: it gets a *view*, made for one answer in the folder for temporary files, which holds links to the index, the
objects and the references, a configuration of ours, and nothing else. (`contrib/workdir/git-new-workdir` of git makes
work trees in this way.) Which repository it is, is found here too, by its `.git` alone.

Started without the `subprocess` module, whose import takes as long as git does.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
SECONDS = 60
"""What a git that hangs may take."""
LARGEST = 1_000_000
"""Bytes of a configuration, and of any other small file of a repository, that is looked at."""
LARGEST_INDEX = 500_000_000
"""Bytes of an index, and of any file that git is given to read: that of the largest repositories is a tenth of it."""
SHARED = ("objects", "refs", "packed-refs", "reftable", "shallow", "info/exclude", "logs/refs")
"""What all work trees of a repository share."""
OWN = ("index", "logs/HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD")
"""What each work tree has for itself."""
CONFIGURATION = (
    ("core.bare", "false"), ("core.fsmonitor", ""), ("core.hooksPath", os.devnull), ("core.attributesFile", os.devnull),
    ("core.untrackedCache", "false"), ("core.quotePath", "true"), ("protocol.allow", "never"),
    # Line ends do not count as changes, whatever the repository was checked out with.
    ("core.autocrlf", "input"),
)  # fmt: skip
WORDS = ("--no-pager", "-c", "safe.bareRepository=explicit")
"""The second is for a git that git itself starts: none is known to."""
TAKEN = {
    "core.ignorecase": ("true", "yes", "on", "1", ""), "core.precomposeunicode": ("true", "yes", "on", "1", ""),
    "extensions.objectformat": ("sha1", "sha256"), "extensions.refstorage": ("files", "reftable"),
}  # fmt: skip
"""What has to be known of a repository's own configuration to read its files, and the values that are taken."""
TAKEN_KEYS = r"^(core\.(ignorecase|precomposeunicode)|extensions\.(objectformat|refstorage))$"
FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


class Repository:
    """A work tree, the folder with its index, and the one with the objects and references."""

    def __init__(self, top: str, own: str, shared: str) -> None:
        self.top = top
        self.own = own
        self.shared = shared

    def configuration(self) -> bytes:
        """Its configuration; empty where there is none, or no plain file."""
        return _small(f"{self.shared}/config") or b""


def repository_of(folder: str) -> Repository | None:
    """The repository whose work tree holds a folder; None where there is none, and inside of a `.git`."""
    here = os.path.realpath(folder)
    while os.path.basename(here) != ".git":
        if (found := _repository_at(here)) is not None:
            return found
        if (above := os.path.dirname(here)) == here:
            return None
        here = above
    return None


def _repository_at(top: str) -> Repository | None:
    """The repository of a work tree, by its `.git`: a folder, or a file that names one (submodules, further trees)."""
    own = f"{top}/.git"
    if not os.path.isdir(own):
        word, _, named = (_small(own) or b"").partition(b":")
        if word != b"gitdir":
            return None
        own = os.path.join(top, os.fsdecode(named.strip()))
    common = (_small(f"{own}/commondir") or b"").strip()
    shared = os.path.join(own, os.fsdecode(common)) if common else own
    whole = os.path.isfile(f"{own}/HEAD") and os.path.isdir(f"{shared}/objects") and os.path.isdir(f"{shared}/refs")
    return Repository(top, own, shared) if whole else None


def _small(path: str) -> bytes | None:
    """The bytes of a plain file that is not large; None of anything else, which may have no end."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(file)
        return os.read(file, LARGEST) if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST else None
    except OSError:
        return None
    finally:
        os.close(file)


class GitView:
    """The folder by which git sees a repository; gone when it is closed. `OSError`: none can be made."""

    def __init__(self, repository: Repository, more: Iterable[tuple[str, str]] = ()) -> None:
        self.repository = repository
        self._program = _program()
        self.path = _new_folder()
        try:
            self._fill(more)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> GitView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, folder: str, *words: str) -> GitAnswer:
        """What git says in a folder of the work tree. `OSError`: it does not run, or has hung."""
        return self.start(folder, *words).answer()

    def start(self, folder: str, *words: str) -> Running:
        """The same, to be waited for."""
        command = [self._program, *WORDS, "-C", folder, *words]
        return Running(command, _environment(self.path, self.repository.top), f"{self.path}/said")

    def _fill(self, more: Iterable[tuple[str, str]]) -> None:
        for folder in ("info", "logs"):
            os.mkdir(f"{self.path}/{folder}", 0o700)
        own, shared = self.repository.own, self.repository.shared
        for base, names in ((shared, SHARED), (own, OWN)):
            for name in names:
                if _is_plain(source := f"{base}/{name}"):
                    os.symlink(os.path.abspath(source), f"{self.path}/{name}")
        for name in _other_parts(own):
            # Git marks it as used when it reads it, so that it gets one of its own.
            _write(f"{self.path}/{name}", _bytes(f"{own}/{name}"))
        _write(f"{self.path}/HEAD", _small(f"{own}/HEAD") or b"")
        self._configure(CONFIGURATION)
        taken = self._taken()
        version = "1" if any(key.startswith("extensions.") for key, _ in taken) else "0"
        ignores = self._user_ignores()
        self._configure((("core.repositoryFormatVersion", version), ("core.excludesFile", ignores), *taken, *more))

    def _configure(self, settings: Iterable[tuple[str, str]]) -> None:
        """Add settings to our configuration."""
        with open(f"{self.path}/config", "ab") as file:
            file.write(os.fsencode("".join(_line(*setting) for setting in settings)))

    def settings(self, path: str, keys: str, *more: str) -> list[tuple[str, str]]:
        """The settings of a configuration file whose names fit a pattern, as git reads it: the last one holds."""
        asked = self.ask("/", "config", "--file", path, *more, "-z", "--get-regexp", keys)
        pairs = (entry.partition("\n") for entry in os.fsdecode(asked.out).split("\0") if entry)
        return [(key, value) for key, _, value in pairs]

    def _taken(self) -> list[tuple[str, str]]:
        """What is taken over of a repository's own configuration. Git is asked only where it says something of it."""
        said = self.repository.configuration().lower()
        if not any(key.rpartition(".")[2].encode() in said for key in TAKEN):
            return []
        found = dict(self.settings(f"{self.repository.shared}/config", TAKEN_KEYS, "--no-includes"))
        chosen = {key: value for key, value in found.items() if value.lower() in TAKEN.get(key, ())}
        return [(key, "true" if key.startswith("core.") else value) for key, value in chosen.items()]

    def _user_ignores(self) -> str:
        """The user's own file of names to ignore, which git and linters respect; git skips one that is not there."""
        home = os.path.expanduser("~")
        base = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
        found = f"{base}/git/ignore"
        chosen = os.environ.get("GIT_CONFIG_GLOBAL")
        for path in (chosen,) if chosen is not None else (f"{base}/git/config", f"{home}/.gitconfig"):
            said = (_small(path) or b"").lower()
            if b"excludesfile" in said or b"include" in said:
                named = self.settings(path, r"^core\.excludesfile$", "--includes")
                found = os.path.expanduser(named[-1][1]) if named else found
        return found

    def close(self) -> None:
        """Remove the folder: files and links in it and in the two folders below, and nothing that a link leads to."""
        for folder in (f"{self.path}/info", f"{self.path}/logs", self.path):
            _remove(folder)


def _remove(folder: str) -> None:
    try:
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)
    except OSError:  # it is for temporary files: whoever cleans there finds what is left
        return


def _new_folder() -> str:
    """A folder for this user alone."""
    error = OSError("there is no folder for temporary files")
    for base in (os.environ.get("TMPDIR", ""), *FOLDERS):
        if not os.path.isabs(base):
            continue
        path = f"{base.rstrip('/')}/envdoctor-git-{os.getpid()}-{os.urandom(8).hex()}"
        try:
            os.mkdir(path, 0o700)
        except OSError as reason:
            error = reason
        else:
            return path
    raise error


def _is_plain(path: str) -> bool:
    """A folder, or a file of a fair size, and no device or pipe that git would wait for."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_INDEX)


def _other_parts(own: str) -> list[str]:
    """The files that hold the rest of an index in parts, by their names: the index holds their hash."""
    names = [name for name in os.listdir(own) if name.startswith("sharedindex.") and _is_plain(f"{own}/{name}")]
    index = _bytes(f"{own}/index") if names and _is_plain(f"{own}/index") else b""
    return [name for name in names if _hash(name.partition(".")[2]) in index]


def _hash(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return digits.encode("utf-8", "surrogateescape")


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(LARGEST_INDEX)


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _line(key: str, value: str) -> str:
    """A setting as git's configuration has it: `section.subsection.name`, where any character may be in the second."""
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    head = f'[{section} "{_escaped(subsection)}"]' if subsection else f"[{section}]"
    return f'{head}\n\t{name} = "{_escaped(value)}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _program() -> str:
    """The git of the PATH. What stands there without a whole path is left out: it can lie in what is scanned."""
    name = "git.exe" if os.name == "nt" else "git"
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError("there is no git in PATH")


def _environment(view: str, top: str) -> dict[str, str]:
    """The environment of git: nothing of ours that is meant for git, and no file of the user or the machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nothing = dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull)
    switches = dict.fromkeys(("GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM", "GIT_NO_LAZY_FETCH"), "1")
    off = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "none", "PAGER": "cat"}
    # Releases before 2.32 know no GIT_CONFIG_GLOBAL: they look into the home folder.
    homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME"), view)
    return {**kept, **nothing, **switches, **off, **homes, "GIT_DIR": view, "GIT_WORK_TREE": top, "LC_ALL": "C"}


class GitAnswer:
    """How git ended and what it printed; `said` is the first line on standard error."""

    def __init__(self, status: int, out: bytes, said: str) -> None:
        self.status = status
        self.out = out
        self.said = said


class Running:
    """A git that works while something else is done."""

    def __init__(self, command: list[str], environment: Mapping[str, str], said: str) -> None:
        self._command, self._environment, self._said = command, environment, said
        self._child: tuple[int, int] | None = self._spawned() if hasattr(os, "posix_spawn") else None

    def _spawned(self) -> tuple[int, int]:
        """The child, and the end of the pipe that it writes to."""
        ours, theirs = os.pipe()
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, theirs, 1),
            (os.POSIX_SPAWN_OPEN, 2, self._said, os.O_WRONLY | os.O_CREAT, 0o600),
        ]  # fmt: skip
        try:
            return os.posix_spawn(self._command[0], self._command, self._environment, file_actions=actions), ours
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)

    def answer(self) -> GitAnswer:
        """Wait for it. `OSError`: it does not run, or has hung."""
        status, out = _collected(*self._child) if self._child is not None else self._ran()
        said = (_small(self._said) or b"").decode("utf-8", "replace").partition("\n")[0]
        return GitAnswer(status, out, said)

    def _ran(self) -> tuple[int, bytes]:
        import subprocess

        try:
            with open(self._said, "wb") as said:
                run = subprocess.run(
                    self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
                    timeout=SECONDS, check=False,
                )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"git did not answer in {SECONDS} s") from error
        return run.returncode, run.stdout


def _collected(child: int, pipe: int) -> tuple[int, bytes]:
    """The exit status of a child and all that it printed."""
    import select
    import time

    parts = []
    end = time.monotonic() + SECONDS
    poll = select.poll()  # `select.select` takes no number above 1023
    poll.register(pipe, select.POLLIN)
    hung = False
    try:
        while True:
            if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
                hung = True
                break
            if not (part := os.read(pipe, 1 << 16)):
                break
            parts.append(part)
    except BaseException:
        hung = True
        raise
    finally:
        if hung:
            os.kill(child, 9)
        os.close(pipe)
        _, status = os.waitpid(child, 0)
    if hung:
        raise TimeoutError(f"git did not answer in {SECONDS} s")
    return os.waitstatus_to_exitcode(status), b"".join(parts)


class Listing:
    """Tracked files of a folder and new ones that are not ignored; git is started at once and read when asked."""

    def __init__(self, folder: str) -> None:
        self._view: GitView | None = None
        self._running: Running | None = None
        repository = repository_of(folder)
        try:
            if repository is not None:
                self._view = GitView(repository)
                self._running = self._view.start(folder, *LIST)
        except OSError:
            self.close()

    def raw(self) -> bytes | None:
        """Names, each followed by a NUL; None where git has no say."""
        if self._running is None:
            return None
        try:
            answer = self._running.answer()
        except OSError:
            return None
        finally:
            self.close()
        return answer.out if answer.status == 0 else None

    def close(self) -> None:
        """Nothing is left of what was asked."""
        if self._view is not None:
            self._view.close()
        self._view = self._running = None

    def __del__(self) -> None:
        self.close()
