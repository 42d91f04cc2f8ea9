/* Records which environment variables a program asks for, sets and unsets.

   Loaded with LD_PRELOAD. ENVDOCTOR_TRACE names the record file, which its maker filled with a header and the names to
   watch. The file is mapped and shared by all processes of one host, so that

   - no descriptor is held: a program may close all of its descriptors, or run out of them;
   - nothing has to be flushed: what was recorded outlives exit, _exit, exec and SIGKILL;
   - repeats of one question only raise a count in place.

   getenv may be called before constructors, inside malloc, in signal handlers and in several threads at once:
   nothing here allocates, locks or writes to a descriptor. Whoever loses a race writes a second record of the same
   thing, and the reader adds them up.

   Only symbols that glibc and musl both have are used. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define load(where) __atomic_load_n((where), __ATOMIC_ACQUIRE)
#define store(where, what) __atomic_store_n((where), (what), __ATOMIC_RELEASE)
#define add(where, what) __atomic_fetch_add((where), (what), __ATOMIC_RELAXED)
#define swap(where, expected, what) \
  __atomic_compare_exchange_n((where), (expected), (what), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#include "shim_records.h"
#include "shim_names.h"
#include "shim_callers.h"
#include "shim_events.h"
#include "shim_start.h"

/* ---- The functions that programs call. The next definition of each is looked up once, before main; a constructor
   that runs earlier still gets its variable, from the environment itself. */

static char *(*next_getenv)(const char *), *(*next_secure_getenv)(const char *);
static int (*next_setenv)(const char *, const char *, int), (*next_putenv)(char *), (*next_unsetenv)(const char *);
static int (*next_clearenv)(void);
static int (*next_execve)(const char *, char *const[], char *const[]);
static int (*next_execvpe)(const char *, char *const[], char *const[]);
static int (*next_fexecve)(int, char *const[], char *const[]);
static int (*next_execveat)(int, const char *, char *const[], char *const[], int);
typedef int spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
                  char *const[]);
static spawn *next_posix_spawn, *next_posix_spawnp;

#define LOOK_UP(name) (*(void **)&next_##name = dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void look_up_all(void) {
  LOOK_UP(getenv), LOOK_UP(secure_getenv), LOOK_UP(setenv), LOOK_UP(putenv), LOOK_UP(unsetenv), LOOK_UP(clearenv);
  LOOK_UP(execve), LOOK_UP(execvpe), LOOK_UP(fexecve), LOOK_UP(execveat);
  LOOK_UP(posix_spawn), LOOK_UP(posix_spawnp);
  recording();
}

EXPORT char *getenv(const char *name) {
  char *value = next_getenv ? next_getenv(name) : walk(name);
  ask(name, value, __builtin_return_address(0));
  return value;
}

EXPORT char *secure_getenv(const char *name) {
  char *value = next_secure_getenv ? next_secure_getenv(name) : walk(name);
  ask(name, value, __builtin_return_address(0));
  return value;
}

EXPORT int setenv(const char *name, const char *value, int overwrite) {
  if (!next_setenv && !LOOK_UP(setenv)) return -1;
  int kept = !overwrite && name && walk(name);
  int result = next_setenv(name, value, overwrite);
  if (!result && !kept) note_change(SET, name, strnlen(name, MAX_NAME + 1), value, __builtin_return_address(0));
  return result;
}

EXPORT int putenv(char *text) {
  if (!next_putenv && !LOOK_UP(putenv)) return -1;
  int result = next_putenv(text);
  char *equals = result ? NULL : strchr(text, '=');
  if (equals) note_change(SET, text, (size_t)(equals - text), equals + 1, __builtin_return_address(0));
  if (!equals && !result)
    note_change(UNSET, text, strnlen(text, MAX_NAME + 1), NULL, __builtin_return_address(0));
  return result;
}

EXPORT int unsetenv(const char *name) {
  if (!next_unsetenv && !LOOK_UP(unsetenv)) return -1;
  int result = next_unsetenv(name);
  if (!result) note_change(UNSET, name, strnlen(name, MAX_NAME + 1), NULL, __builtin_return_address(0));
  return result;
}

EXPORT int clearenv(void) {
  recording(); /* from here on the environment no longer says where to */
  if (!next_clearenv && !LOOK_UP(clearenv)) return -1;
  int result = next_clearenv();
  if (!result) note_change(CLEAR, "", 0, NULL, __builtin_return_address(0));
  return result;
}

/* ---- Starting other programs: they are followed even where the program passes an environment of its own. This runs
   in children of vfork, so it uses the stack alone. */

struct handed_on { size_t count, preload; int trace, shim; };

static struct handed_on examine(char *const envp[]) {
  struct handed_on found = {0, SIZE_MAX, 0, 0};
  for (; envp && envp[found.count]; found.count++) {
    const char *entry = envp[found.count];
    if (!strncmp(entry, TRACE "=", sizeof TRACE)) found.trace = 1;
    if (strncmp(entry, "LD_PRELOAD=", 11)) continue;
    found.preload = found.count;
    found.shim = strstr(entry, own_path) != NULL;
  }
  return found;
}

/* Fills `list` (two entries more than envp) and `preload` with an environment that keeps the trace going. */
static void complete(const struct handed_on *found, char *const envp[], char **list, char *preload) {
  size_t count = found->count;
  if (count) memcpy(list, envp, count * sizeof *list);
  if (!found->trace) list[count++] = trace_variable;
  if (!found->shim) {
    char *end = append(append(preload, "LD_PRELOAD="), own_path);
    const char *others = found->preload == SIZE_MAX ? "" : envp[found->preload] + 11;
    if (*others) append(append(end, ":"), others);
    list[found->preload == SIZE_MAX ? count++ : found->preload] = preload;
  }
  list[count] = NULL;
}

/* Declares `envp_on`: `envp` with what the trace needs. A very large environment is passed on as it is. */
#define WITH_TRACE(envp)                                                                                     \
  char *const *envp_on = (envp);                                                                             \
  int traced = recording();                                                                                  \
  struct handed_on found_ = examine(envp_on);                                                                \
  if (traced && !(found_.trace && found_.shim) && found_.count < 4096) {                                   \
    char **list_ = __builtin_alloca((found_.count + 3) * sizeof *list_);                                     \
    size_t others_ = found_.preload == SIZE_MAX ? 0 : strlen(envp_on[found_.preload]);                       \
    complete(&found_, envp_on, list_, __builtin_alloca(strlen(own_path) + others_ + 16));                    \
    envp_on = list_;                                                                                         \
  }

/* Notes which program a process becomes: if no record of that program follows, it could not be traced. */
static struct record *note_start(const char *program, uint64_t pid, uint64_t since) {
  struct event event = {EXEC, NO_PROCESS, "", program, 0, program ? strlen(program) : 0, 2, 0,
                        &unknown_library};
  struct record *record = program && load(&state) == READY ? write_record(&event, pid, 1) : NULL;
  if (record && since) record->first = since;
  return record;
}

static struct record *note_exec(int folder, const char *path) {
  if (!path || syscall(SYS_faccessat, folder, path, X_OK)) return NULL; /* one of many tries along PATH */
  return note_start(path, (uint64_t)syscall(SYS_getpid), 0);
}

static int failed(struct record *start, int result) {
  if (start) start->flags |= EXEC_FAILED;
  return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
  WITH_TRACE(envp);
  struct record *start = note_exec(AT_FDCWD, path);
  if (!next_execve) return failed(start, (int)syscall(SYS_execve, path, argv, envp_on));
  return failed(start, next_execve(path, argv, envp_on));
}

EXPORT int execvpe(const char *name, char *const argv[], char *const envp[]) {
  if (!next_execvpe && !LOOK_UP(execvpe)) return -1;
  WITH_TRACE(envp);
  struct record *start = note_start(name, (uint64_t)syscall(SYS_getpid), 0);
  return failed(start, next_execvpe(name, argv, envp_on));
}

EXPORT int execv(const char *path, char *const argv[]) { return execve(path, argv, environ); }

EXPORT int execvp(const char *name, char *const argv[]) { return execvpe(name, argv, environ); }

EXPORT int fexecve(int descriptor, char *const argv[], char *const envp[]) {
  if (!next_fexecve && !LOOK_UP(fexecve)) return -1;
  WITH_TRACE(envp);
  return next_fexecve(descriptor, argv, envp_on);
}

EXPORT int execveat(int folder, const char *path, char *const argv[], char *const envp[], int flags) {
  WITH_TRACE(envp);
  struct record *start = note_exec(folder, path);
  if (!next_execveat) return failed(start, (int)syscall(SYS_execveat, folder, path, argv, envp_on, flags));
  return failed(start, next_execveat(folder, path, argv, envp_on, flags));
}

#define COLLECT_ARGUMENTS                                                       \
  size_t count = 1;                                                             \
  va_list list;                                                                 \
  va_start(list, first);                                                        \
  while (va_arg(list, char *)) count++;                                         \
  va_end(list);                                                                 \
  char **argv = __builtin_alloca((count + 1) * sizeof *argv);                   \
  argv[0] = (char *)(uintptr_t)first;                                           \
  va_start(list, first);                                                        \
  for (size_t at = 1; at <= count; at++) argv[at] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...) {
  COLLECT_ARGUMENTS;
  va_end(list);
  return execve(path, argv, environ);
}

EXPORT int execlp(const char *name, const char *first, ...) {
  COLLECT_ARGUMENTS;
  va_end(list);
  return execvpe(name, argv, environ);
}

EXPORT int execle(const char *path, const char *first, ...) {
  COLLECT_ARGUMENTS;
  char *const *envp = va_arg(list, char *const *);
  va_end(list);
  return execve(path, argv, envp);
}

static int spawned(spawn *next, pid_t *pid, const char *program, const posix_spawn_file_actions_t *actions,
                   const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  pid_t child = 0;
  if (!next) return ENOSYS;
  WITH_TRACE(envp);
  uint64_t since = now(CLOCK_MONOTONIC);
  int result = next(&child, program, actions, attributes, argv, envp_on);
  if (pid && !result) *pid = child;
  if (!result) note_start(program, (uint64_t)child, since);
  return result;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  if (!next_posix_spawn) LOOK_UP(posix_spawn);
  return spawned(next_posix_spawn, pid, path, actions, attributes, argv, envp);
}

EXPORT int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  if (!next_posix_spawnp) LOOK_UP(posix_spawnp);
  return spawned(next_posix_spawnp, pid, name, actions, attributes, argv, envp);
}
