/* Finding the record file. */

static int all_written(int descriptor, const char *data, size_t size) {
  while (size) {
    long done = syscall(SYS_write, descriptor, data, size);
    if (done <= 0) return 0;
    data += done;
    size -= (size_t)done;
  }
  return 1;
}

/* Every byte gets its room on the disk now: to touch a mapped page for which there is none kills the program. */
static int made_full_size(int descriptor, size_t size) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < size) return 0;
  if (!syscall(SYS_fallocate, descriptor, 0, (off_t)0, (off_t)size)) return 1;
  static const char zeros[4096];
  for (size_t done = 0; done < size; done += sizeof zeros)
    if (!all_written(descriptor, zeros, sizeof zeros)) return 0;
  return 1;
}

static struct header *map(int descriptor) {
  long size = syscall(SYS_lseek, descriptor, 0L, SEEK_END);
  struct header *mapped = MAP_FAILED;
  if (size >= HEADER_SIZE) mapped = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) return NULL;
  if (mapped->magic == MAGIC && mapped->units <= ((uint64_t)size - HEADER_SIZE) / UNIT) return mapped;
  munmap(mapped, (size_t)size);
  return NULL;
}

static struct header *map_path(const char *path) {
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0) return NULL;
  struct header *mapped = map(descriptor);
  syscall(SYS_close, descriptor);
  return mapped;
}

static char *append(char *at, const char *text) {
  size_t size = strlen(text);
  memcpy(at, text, size + 1);
  return at + size;
}

/* On another host than the file's maker (srun, mpirun over a shared folder): a file of this host beside it, since a
   mapping is shared within one host only. */
static struct header *map_for_host(struct header *made, const char *path, const char *host) {
  char here[4096], fresh[4096 + 16]; /* two names of one length: "records@host", and "records~host.00001234" */
  if (strlen(path) + strlen(host) + 2 > sizeof here) return NULL;
  append(append(append(here, path), "@"), host);
  struct header *mapped = map_path(here);
  if (mapped) return mapped;
  char digits[] = ".00000000";
  for (uint32_t pid = (uint32_t)syscall(SYS_getpid), at = 8; pid && at; pid /= 10, at--) digits[at] += (char)(pid % 10);
  append(append(fresh, here), digits);
  fresh[strlen(path)] = '~';
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return NULL;
  if (made_full_size(descriptor, HEADER_SIZE + (size_t)made->units * UNIT)) {
    struct header start = {0};
    memcpy(&start, made, sizeof start);
    start.real = now(CLOCK_REALTIME);
    start.monotonic = now(CLOCK_MONOTONIC);
    start.next = 1;
    start.lost = 0;
    memset(start.host, 0, sizeof start.host);
    append(start.host, host);
    size_t patterns_at = offsetof(struct header, patterns);
    syscall(SYS_lseek, descriptor, 0L, SEEK_SET);
    if (all_written(descriptor, (const char *)&start, patterns_at) &&
        all_written(descriptor, made->patterns, HEADER_SIZE - patterns_at))
      syscall(SYS_linkat, AT_FDCWD, fresh, AT_FDCWD, here, 0);
  }
  syscall(SYS_close, descriptor);
  syscall(SYS_unlinkat, AT_FDCWD, fresh, 0);
  return map_path(here);
}

/* glibc's own pthread_atfork; musl has only the latter, under which the emptied page has to do. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

/* Emulators accept MADV_WIPEONFORK and do not honour it. */
static void forget_process(void) { own->process = 0; }

static int started(void) {
  const char *path = walk(TRACE);
  struct utsname system;
  if (!path || !*path || strlen(path) >= sizeof own_path || uname(&system)) return 0;
  if (!(file = map_path(path))) return 0;
  system.nodename[64] = 0;
  if (strncmp(file->host, system.nodename, 64) && !(file = map_for_host(file, path, system.nodename))) return 0;
  append(append(trace_variable, TRACE "="), path);
  struct search search = {(uintptr_t)&walk, 0, NULL};
  dl_iterate_phdr(holds_address, &search);
  own_path[search.name ? absolute(search.name, own_path, sizeof own_path) : 0] = 0;
  read_patterns();
  own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  wiped_on_fork = own != MAP_FAILED && !madvise(own, 4096, 18 /* MADV_WIPEONFORK, Linux 4.14 */);
  if (own == MAP_FAILED) own = (void *)&own_fallback;
  if (__register_atfork) __register_atfork(NULL, NULL, forget_process, NULL);
  return 1;
}

/* 1 if recording is on. Whoever comes while another thread, or the code below on the stack, starts it, is not seen. */
static int recording(void) {
  int seen = load(&state);
  if (seen == NEW && swap(&state, &seen, BUSY)) {
    int error = errno;
    int on = started();
    store(&state, seen = on ? READY : OFF);
    if (on) this_process();
    errno = error;
  }
  return seen == READY;
}

static void note_change(enum kind kind, const char *name, size_t size, const char *value, void *code) {
  if (!recording() || size > MAX_NAME) return;
  int known = kind == CLEAR ? 2 : watched(name), error = errno;
  if (!known) return;
  struct event event = {kind, this_process(), name, value, size, value ? strlen(value) : 0, known, 0,
                        library_of(code)};
  if (event.process) note(&event);
  errno = error;
}

static void ask(const char *name, const char *value, void *code) {
  if (!name || !recording()) return;
  if (watched(name)) note_change(ASK, name, strnlen(name, MAX_NAME + 1), value, code);
}
