"""The shim in real programs: what is recorded, and that the program does not notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from native import compile_c, needs_compiler
from traced import PATTERNS, Traced, shim, traced

from envdoctor.node.trace.records import HEADER, NamePattern, create, read_all

pytestmark = [
    pytest.mark.slow,
    needs_compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="the shim is for Linux"),
]

HEAD = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <pthread.h>
#include <dlfcn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/resource.h>
extern char **environ;
"""


def program(body: str, *flags: str, head: str = "") -> Path:
    return compile_c(f"{HEAD}\n{head}\nint main(int argc, char **argv) {{ {body} }}", "-w", *flags, name="program")


def ran(body: str, *, head: str = "", flags: tuple[str, ...] = (), status: int = 0, **environment: str) -> Traced:
    result = traced(program(body, *flags, head=head), environment=environment)
    assert result.status == status, result.err
    assert result.err == ""
    return result


# What is recorded


def test_asked_early_in_time_late_and_never() -> None:
    result = ran(
        """
        getenv("NCCL_FROM_START"); getenv("NCCL_LATE"); getenv("NCCL_EARLY_AND_AGAIN");
        setenv("NCCL_LATE", "1", 1); setenv("NCCL_IN_TIME", "2", 1); setenv("NCCL_EARLY_AND_AGAIN", "3", 1);
        getenv("NCCL_IN_TIME"); getenv("NCCL_EARLY_AND_AGAIN"); return 0;
        """,
        NCCL_FROM_START="0",
        NCCL_NEVER="x",
    )
    assert result.asked("NCCL_FROM_START") == [("program", 1, "0")]
    assert result.asked("NCCL_LATE") == [("program", 1, None)]
    assert result.asked("NCCL_IN_TIME") == [("program", 1, "2")]
    assert result.asked("NCCL_EARLY_AND_AGAIN") == [("program", 1, None), ("program", 1, "3")]
    assert result.asked("NCCL_NEVER") == []
    late = {setting.variable for setting in result.run.settings if setting.late}
    assert late == {"NCCL_LATE"}
    assert {s.variable: s.value for s in result.run.settings} == {
        "NCCL_FROM_START": "0",
        "NCCL_NEVER": "x",
        "NCCL_LATE": "1",
        "NCCL_IN_TIME": "2",
        "NCCL_EARLY_AND_AGAIN": "3",
    }


def test_times_are_in_order_and_seconds_since_the_start() -> None:
    result = ran('getenv("NCCL_A"); usleep(200000); setenv("NCCL_A", "1", 1); return 0;')
    (late,) = result.setting("NCCL_A").late
    assert 0 < late.asked < 5
    assert 0.2 <= late.given - late.asked < 5


def test_every_way_to_set_and_unset() -> None:
    result = ran(
        """
        setenv("NCCL_SET", "1", 1); setenv("NCCL_KEPT", "other", 0); putenv("NCCL_PUT=2");
        setenv("NCCL_GONE", "3", 1); unsetenv("NCCL_GONE"); putenv("NCCL_GONE_TOO"); setenv("NCCL_EMPTY", "", 1);
        setenv("", "x", 1); setenv("NCCL=BAD", "x", 1); putenv(strdup("OTHER=1")); return getenv("NCCL_GONE_TOO") != 0;
        """,
        NCCL_KEPT="first",
        NCCL_GONE_TOO="4",
    )
    given = {s.variable: [g.value for g in s.given] for s in result.run.settings}
    assert given == {
        "NCCL_SET": ["1"],
        "NCCL_KEPT": [],
        "NCCL_PUT": ["2"],
        "NCCL_GONE": ["3"],
        "NCCL_GONE_TOO": [],
        "NCCL_EMPTY": [""],
    }
    assert result.setting("NCCL_KEPT").value == "first"
    unset = {record.name for record in result.recordings[0].records if record.kind == "unset"}
    assert unset == {"NCCL_GONE", "NCCL_GONE_TOO"}


def test_secure_getenv_and_repeats_are_counted() -> None:
    result = ran('for (int i = 0; i < 1000; i++) getenv("NCCL_A"); secure_getenv("NCCL_A"); return 0;', NCCL_A="1")
    assert result.asked("NCCL_A") == [("program", 1001, "1")]


def test_unwatched_names_and_odd_arguments_leave_no_trace() -> None:
    result = ran(
        'getenv("HOME"); getenv("NCC"); getenv(""); getenv("RANKS"); getenv("XNCCL_A"); getenv("nccl_a"); return 0;',
        SECRET="s",
    )
    assert result.run.settings == ()


def test_long_names_and_values() -> None:
    result = ran(
        """
        char name[600] = "NCCL_"; memset(name + 5, 'N', 200); getenv(name);
        memset(name + 5, 'N', 500); getenv(name);
        char value[5000]; memset(value, 'v', 4999); value[4999] = 0; setenv("NCCL_LONG", value, 1);
        return strlen(getenv("NCCL_LONG")) != 4999;
        """
    )
    assert result.asked("NCCL_" + "N" * 200) == [("program", 1, None)]
    assert len(result.run.settings) == 2
    assert result.setting("NCCL_LONG").value == "v" * 1024
    assert not result.setting("NCCL_LONG").late


def test_value_that_is_not_to_be_recorded() -> None:
    patterns = [
        NamePattern("NCCL_", prefix=True, value=False),
        NamePattern("NCCL_KNOWN"),
        NamePattern("NCCL_KN", value=False),
    ]
    code = 'getenv("NCCL_SECRET"); setenv("NCCL_SECRET", "hunter3", 1); getenv("NCCL_KNOWN"); return 0;'
    result = traced(program(code), environment={"NCCL_SECRET": "hunter2", "NCCL_KNOWN": "1"}, patterns=patterns)
    assert result.asked("NCCL_SECRET") == [("program", 1, "(not recorded)")]
    assert result.asked("NCCL_KNOWN") == [("program", 1, "1")]
    assert "hunter" not in repr(result.recordings)


def test_library_that_asks_is_named_by_its_path(tmp_path: Path) -> None:
    asker = 'char *getenv(const char *); int ask(void) { return !getenv("NCCL_A"); }'
    linked = compile_c(asker, "-shared", "-fPIC", name="liblinked.so")
    opened = compile_c(asker, "-shared", "-fPIC", name="libopened.so")
    code = compile_c(
        HEAD + 'int ask(void); int main(int c, char **v) { void *l = dlopen(v[1], RTLD_NOW); getenv("NCCL_A");'
        'return ask() + ((int (*)(void))dlsym(l, "ask"))(); }',
        str(linked),
        f"-Wl,-rpath,{linked.parent}",
        "-ldl",
        name="program",
    )
    result = traced(code, opened, environment={"NCCL_A": "1"})
    assert result.status == 0, result.err
    libraries = {a.library for a in result.setting("NCCL_A").asked}
    assert libraries == {str(linked), str(opened), str(code)}


def test_library_opened_by_a_relative_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asker = 'char *getenv(const char *); __attribute__((constructor)) static void ask(void) { getenv("NCCL_A"); }'
    library = compile_c(asker, "-shared", "-fPIC", name="librelative.so")
    monkeypatch.chdir(library.parent.parent)
    result = traced(program("return !dlopen(argv[1], RTLD_NOW);", "-ldl"), f"./{library.parent.name}/librelative.so")
    (asked,) = result.setting("NCCL_A").asked
    assert os.path.normpath(asked.library) == str(library)


def test_before_main_and_before_the_shim_is_ready() -> None:
    """Constructors of libraries run before the shim's own."""
    early = (
        'char *getenv(const char *); __attribute__((constructor(101))) static void f(void) { getenv("NCCL_EARLY"); }'
    )
    library = compile_c(early, "-shared", "-fPIC", name="libearly.so")
    code = 'return strcmp(getenv("NCCL_EARLY"), "1");'
    result = traced(program(code, "-Wl,--no-as-needed", str(library)), environment={"NCCL_EARLY": "1"})
    assert result.status == 0, result.err
    assert sorted(result.asked("NCCL_EARLY")) == [("libearly.so", 1, "1"), ("program", 1, "1")]


def test_threads_lose_no_count() -> None:
    head = """
    static void *work(void *number) {
      char name[32]; sprintf(name, "NCCL_T%d", (int)(long)number % 4);
      for (int i = 0; i < 5000; i++) { getenv(name); getenv("NCCL_ALL"); }
      return NULL;
    }
    """
    body = """
    pthread_t threads[8];
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    return 0;
    """
    result = ran(body, head=head, flags=("-pthread",))
    assert result.asked("NCCL_ALL") == [("program", 40000, None)]
    assert [result.asked(f"NCCL_T{i}") for i in range(4)] == [[("program", 10000, None)]] * 4


# That the program does not notice


def test_output_descriptors_and_errno_are_untouched() -> None:
    code = program(
        """
        errno = 77; getenv("NCCL_A"); setenv("NCCL_B", "1", 1); if (errno != 77) return 1;
        for (int fd = 3; fd < 256; fd++) if (fcntl(fd, F_GETFD) != -1) printf("open %d\\n", fd);
        int fd = open("/dev/null", O_RDONLY); printf("%d\\n", fd); return 0;
        """
    )
    result = traced(code)
    assert (result.status, result.out, result.err) == (0, "3\n", "")


def test_all_descriptors_closed() -> None:
    body = 'for (int fd = 0; fd < 1024; fd++) close(fd); getenv("NCCL_A"); setenv("NCCL_A", "1", 1); return 0;'
    result = ran(body)
    assert result.asked("NCCL_A") == [("program", 1, None)]
    assert result.setting("NCCL_A").late


def test_no_descriptor_to_be_had_and_no_file_to_be_written() -> None:
    body = """
    struct rlimit none = {0, 0}; setrlimit(RLIMIT_NOFILE, &none); setrlimit(RLIMIT_FSIZE, &none);
    getenv("NCCL_A"); if (!fork()) { getenv("NCCL_B"); _exit(0); } wait(NULL); return 0;
    """
    result = ran(body)
    assert result.asked("NCCL_A") == [("program", 1, None)]
    assert result.asked("NCCL_B") == [("program", 1, None)]


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("_exit(3);", 3),
        ("exit(4);", 4),
        ("abort();", -signal.SIGABRT),
        ("kill(getpid(), SIGKILL);", -signal.SIGKILL),
        ("*(volatile int *)0 = 1;", -signal.SIGSEGV),
    ],
)
def test_however_it_ends(end: str, status: int) -> None:
    result = ran(f'getenv("NCCL_A"); getenv("NCCL_A"); {end} return 0;', status=status, flags=("-O0",))
    assert result.asked("NCCL_A") == [("program", 2, None)]


def test_environment_cleared_and_replaced() -> None:
    body = """
    clearenv(); if (getenv("NCCL_A")) return 1;
    setenv("NCCL_A", "2", 1); if (strcmp(getenv("NCCL_A"), "2")) return 2;
    environ = NULL; if (getenv("NCCL_A")) return 3;
    char *own[] = {"NCCL_B=own", NULL}; environ = own; return strcmp(getenv("NCCL_B"), "own");
    """
    result = ran(body, NCCL_A="1")
    assert [value for _, _, value in result.asked("NCCL_A")] == [None, "2"]
    assert result.asked("NCCL_B") == [("program", 1, "own")]


def test_preloaded_libraries_of_the_user_stay() -> None:
    """Another library that interposes getenv is still asked, and its answer is what counts."""
    other = compile_c(
        'char *getenv(const char *name) { return "from the other"; }', "-shared", "-fPIC", "-w", name="libother.so"
    )
    code = program('puts(getenv("NCCL_A")); puts(getenv("HOME")); return 0;')
    result = traced(code, environment={"LD_PRELOAD": str(other)})
    assert result.out == "from the other\n" * 2
    assert result.asked("NCCL_A") == [("program", 1, "from the other")]


def test_constructor_that_waits_for_a_thread_that_asks() -> None:
    """With dladdr, which takes the lock that dlopen holds, this never ends."""
    source = """
    #include <pthread.h>
    #include <stdlib.h>
    static void *ask(void *unused) { getenv("NCCL_A"); return unused; }
    __attribute__((constructor)) static void start(void) {
      pthread_t thread; pthread_create(&thread, NULL, ask, NULL); pthread_join(thread, NULL);
    }
    """
    library = compile_c(source, "-shared", "-fPIC", "-pthread", name="libwaits.so")
    result = traced(program("return !dlopen(argv[1], RTLD_NOW);", "-ldl"), library, timeout=20)
    assert result.status == 0
    assert result.asked("NCCL_A") == [("libwaits.so", 1, None)]


def test_asked_inside_malloc() -> None:
    """Allocators ask for their settings at the first allocation, whoever makes it."""
    head = """
    static char room[1 << 20]; static size_t used; static int inside;
    void *malloc(size_t size) {
      if (inside) abort();
      inside = 1; getenv("NCCL_MALLOC"); inside = 0;
      void *at = room + used; used += (size + 15) & ~15ul; return at;
    }
    void *calloc(size_t n, size_t size) { return malloc(n * size); }
    void *realloc(void *old, size_t size) { void *at = malloc(size); if (old) memcpy(at, old, size); return at; }
    void free(void *at) {}
    """
    result = ran('setenv("NCCL_A", "1", 1); getenv("NCCL_A"); return 0;', head=head)
    (malloc,) = [count for _, count, _ in result.asked("NCCL_MALLOC")]
    assert malloc > 0


def test_asked_in_a_signal_handler() -> None:
    head = 'static void handle(int s) { getenv("NCCL_HANDLER"); getenv("NCCL_BOTH"); }'
    body = """
    struct itimerval often = {{0, 200}, {0, 200}}; signal(SIGALRM, handle); setitimer(ITIMER_REAL, &often, NULL);
    char name[32];
    for (int i = 0; i < 200000; i++) {
      getenv("NCCL_BOTH");
      if (i % 100 == 0) { sprintf(name, "NCCL_%d", i); getenv(name); }
    }
    return 0;
    """
    result = ran(body, head=head)
    assert sum(count for _, count, _ in result.asked("NCCL_BOTH")) >= 200000
    assert all(result.asked(f"NCCL_{i}") == [("program", 1, None)] for i in range(0, 200000, 100))


# Processes


def test_child_after_fork() -> None:
    body = """
    getenv("NCCL_PARENT");
    if (!fork()) { getenv("NCCL_CHILD"); setenv("NCCL_SET_IN_CHILD", "1", 1); _exit(0); }
    wait(NULL); getenv("NCCL_PARENT"); return 0;
    """
    result = ran(body, NCCL_CHILD="c")
    assert result.asked("NCCL_PARENT") == [("program", 2, None)]
    assert result.asked("NCCL_CHILD") == [("program", 1, "c")]
    assert len(result.run.processes) == 2
    child = max(result.run.processes, key=lambda process: process.seconds)
    assert child.parent_pid == result.pid
    assert child.fork_of is not None


def test_fork_server_whose_worker_sets_too_late() -> None:
    """The library asked in the server, and its workers inherit the answer: what they set comes too late."""
    body = """
    getenv("NCCL_CACHED");
    for (int i = 0; i < 3; i++) if (!fork()) { setenv("NCCL_CACHED", "1", 1); setenv("NCCL_NEW", "1", 1);
      getenv("NCCL_NEW"); _exit(0); }
    while (wait(NULL) > 0) {}
    return 0;
    """
    result = ran(body)
    assert len(result.setting("NCCL_CACHED").late) == 3
    assert result.setting("NCCL_NEW").late == ()


def test_set_for_a_child_is_not_late() -> None:
    body = """
    getenv("NCCL_A"); if (argc > 1) return 0;
    setenv("NCCL_A", "1", 1); execl(argv[0], argv[0], "again", NULL); return 1;
    """
    forked = 'getenv("NCCL_A"); if (argc > 1) return 0; setenv("NCCL_A", "1", 1);' \
             'if (!fork()) { execl(argv[0], argv[0], "again", NULL); } int s; wait(&s); return s;'  # fmt: skip
    for code in (body, forked):
        result = ran(code)
        assert [value for _, _, value in result.asked("NCCL_A")] == [None, "1"]
    assert result.setting("NCCL_A").late == ()


def test_thousands_of_forks() -> None:
    body = """
    for (int i = 0; i < 3000; i++) {
      pid_t child = fork();
      if (!child) { getenv("NCCL_A"); getenv("NCCL_A"); _exit(0); }
      waitpid(child, NULL, 0);
    }
    return 0;
    """
    begin = time.monotonic()
    result = ran(body, NCCL_A="1")
    assert time.monotonic() - begin < 60
    assert result.asked("NCCL_A") == [("program", 6000, "1")]
    assert result.run.lost == 0


def test_room_runs_out() -> None:
    """What finds no room is counted, and the program goes on."""
    body = """
    for (int i = 0; i < 5000; i++) { char name[32]; sprintf(name, "NCCL_%d", i); setenv(name, name, 1); getenv(name); }
    return strcmp(getenv("NCCL_4999"), "NCCL_4999");
    """
    result = traced(program(body), size=256 * 1024)
    assert result.status == 0, result.err
    assert result.run.lost > 5000
    assert result.run.untraced == ()
    assert result.asked("NCCL_0") == [("program", 1, "NCCL_0")]


ASKS = 'if (argc == 1) { puts(getenv("NCCL_KEPT") ? getenv("NCCL_KEPT") : "none"); return 0; }'
STARTS = {
    "execve": "execve(argv[1], args, own);",
    "execle": 'execle(argv[1], "x", NULL, own);',
    "execvpe": "execvpe(argv[1], args, own);",
    "execv": "environ = own; execv(argv[1], args);",
    "execvp": "environ = own; execvp(argv[1], args);",
    "execl": 'environ = own; execl(argv[1], "x", NULL);',
    "execlp": 'environ = own; execlp(argv[1], "x", NULL);',
    "fexecve": "fexecve(open(argv[1], O_RDONLY), args, own);",
    "execveat": "execveat(AT_FDCWD, argv[1], args, own, 0);",
    "vfork": "if (!vfork()) { execve(argv[1], args, own); _exit(9); } wait(NULL); return 0;",
    "posix_spawn": "pid_t p; if (posix_spawn(&p, argv[1], 0, 0, args, own)) return 8; wait(NULL); return 0;",
    "posix_spawnp": "if (posix_spawnp(0, argv[1], 0, 0, args, own)) return 8; wait(NULL); return 0;",
    "null": "execve(argv[1], args, NULL);",
}


@pytest.mark.parametrize("call", STARTS)
def test_followed_into_a_program_with_an_environment_of_its_own(call: str) -> None:
    body = f"""
    {ASKS}
    char *args[] = {{"x", NULL}}, *own[] = {{"NCCL_KEPT=1", "LD_PRELOAD=/nowhere/libx.so", NULL}};
    if (argc > 2) own[1] = NULL;
    {STARTS[call]} return 7;
    """
    code = program(body)
    result = traced(code, code, "without")
    assert result.status == 0, result.err
    value = None if call == "null" else "1"
    assert result.out == ("none\n" if value is None else "1\n")
    assert result.asked("NCCL_KEPT")[0][2] == value
    assert result.run.untraced == ()
    keeps = traced(code, code)
    assert "/nowhere/libx.so" in keeps.err or call == "null"


def test_a_trace_inside_a_trace_keeps_its_own_record() -> None:
    body = f"""{ASKS} char *own[] = {{"NCCL_KEPT=1", "ENVDOCTOR_TRACE=/nowhere", NULL}};
    execve(argv[1], argv + 1, own); return 7;"""
    code = program(body)
    result = traced(code, code)
    assert (result.status, result.out) == (0, "1\n")
    assert result.asked("NCCL_KEPT") == []


def test_env_minus_i_and_python_subprocess() -> None:
    code = program(f"{ASKS} return 1;")
    shell = traced("/bin/sh", "-c", f"env -i NCCL_KEPT=1 {code}")
    assert shell.asked("NCCL_KEPT") == [("program", 2, "1")]
    run = f"import subprocess; subprocess.run([{str(code)!r}], env={{'NCCL_KEPT': '2'}}, check=True)"
    python = traced(sys.executable, "-c", run)
    assert (python.status, python.err) == (0, "")
    assert python.asked("NCCL_KEPT") == [("program", 2, "2")]


def test_static_program_is_said_to_be_untraced() -> None:
    static = compile_static()
    direct = traced(static, environment={"NCCL_A": "1"})
    assert direct.status == 0
    assert direct.recordings[0].records == ()
    started = traced("/bin/sh", "-c", f"{static}; true", environment={"NCCL_A": "1"})
    assert started.run.untraced == (str(static),)


def compile_static() -> Path:
    try:
        return compile_c('#include <stdlib.h>\nint main(void) { return !getenv("NCCL_A"); }', "-static", name="static")
    except pytest.fail.Exception as error:
        pytest.skip(f"no static C library: {error}")


def test_failed_exec_is_not_reported_as_untraced() -> None:
    result = ran(
        'execl("/nowhere", "x", NULL); execl("/etc/passwd", "x", NULL); execlp("nowhere", "x", NULL); return 0;'
    )
    assert result.run.untraced == ()


def test_python_program() -> None:
    """os.environ writes through setenv; its reads never reach C, and are not claimed to be seen."""
    code = """
import ctypes, os
os.environ["NCCL_SET"] = "1"; os.environ["NCCL_READ"]; os.environ.get("NCCL_READ")
os.environ.pop("NCCL_READ"); ctypes.CDLL(None).getenv(b"NCCL_SET")
"""
    result = traced(sys.executable, "-c", code, environment={"NCCL_READ": "1"})
    assert result.status == 0, result.err
    assert result.asked("NCCL_READ") == []
    ((library, count, value),) = result.asked("NCCL_SET")
    assert "ffi" in library
    assert (count, value) == (1, "1")
    (given,) = result.setting("NCCL_SET").given
    assert "python" in Path(given.library).name


def test_without_record_file_nothing_happens() -> None:
    code = program('puts(getenv("NCCL_A")); return 0;')
    for trace in ("/nowhere", "/etc/passwd", ""):
        env = {"NCCL_A": "1", "LD_PRELOAD": str(shim()), "ENVDOCTOR_TRACE": trace}
        done = subprocess.run([code], env=env, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("1\n", "")


def test_another_host_writes_a_file_of_its_own(tmp_path: Path) -> None:
    """Under srun or mpirun over a shared folder: the record's maker is another host."""
    records = tmp_path / "records"
    create(records, PATTERNS, size=1 << 20)
    data = bytearray(records.read_bytes())
    fields = list(HEADER.unpack_from(data))
    HEADER.pack_into(data, 0, *fields[:-1], b"head-node")
    records.write_bytes(data)
    env = {"NCCL_A": "1", "LD_PRELOAD": str(shim()), "ENVDOCTOR_TRACE": str(records)}
    code = program('getenv("NCCL_A"); if (!fork()) getenv("NCCL_B"); return 0;')
    processes = [subprocess.Popen([code], env=env) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    time.sleep(0.2)
    recordings = read_all(records)
    assert [recording.host for recording in recordings] == ["head-node", os.uname().nodename]
    assert recordings[0].records == ()
    asks = [record for record in recordings[1].records if record.kind == "ask"]
    assert sorted(record.name for record in asks) == ["NCCL_A"] * 4 + ["NCCL_B"] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records", f"records@{os.uname().nodename}"]


# What it costs


def test_cost_of_a_question() -> None:
    """Not a benchmark: a guard against a slow path, with much room for a busy machine."""
    body = """
    struct timespec a, b; volatile char *keep; getenv("NCCL_A");
    for (int name = 0; name < 2; name++) {
      clock_gettime(CLOCK_MONOTONIC, &a);
      for (int i = 0; i < 1000000; i++) keep = getenv(name ? "NCCL_A" : "UNWATCHED");
      clock_gettime(CLOCK_MONOTONIC, &b);
      printf("%f\\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
    }
    return 0;
    """
    unwatched, watched = map(float, ran(body, head="#include <time.h>", NCCL_A="1").out.split())
    assert unwatched < 500  # nanoseconds each
    assert watched < 1500
