/* Which library the code that asks belongs to. */

struct library { const char *path; uint16_t size; uintptr_t base; };
#define MAX_LIBRARIES 1024
static struct library libraries[MAX_LIBRARIES], unknown_library = {"", 0, 0};
static uint32_t library_count;
static char path_room[128 * 1024];
static uint32_t path_used;

struct search { uintptr_t address, base; const char *name; };

static int holds_address(struct dl_phdr_info *info, size_t size, void *data) {
  struct search *search = data;
  (void)size;
  for (int at = 0; at < info->dlpi_phnum; at++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[at];
    if (segment->p_type == PT_LOAD && search->address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz) {
      search->base = info->dlpi_addr;
      search->name = info->dlpi_name ? info->dlpi_name : "";
      return 1;
    }
  }
  return 0;
}

/* An absolute path for a name of the dynamic linker; "" is the program itself. Returns its length. */
static size_t absolute(const char *name, char *path, size_t room) {
  long size = 0;
  if (!*name) {
    size = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, room - 1);
    return size > 0 ? (size_t)size : 0;
  }
  if (*name != '/' && strchr(name, '/')) {
    size = syscall(SYS_getcwd, path, room / 2);
    if (size > 0) path[size - 1] = '/'; /* the size counts the final NUL */
  }
  size_t start = size > 0 ? (size_t)size : 0, rest = strnlen(name, room - start - 1);
  memcpy(path + start, name, rest);
  return start + rest;
}

/* dl_iterate_phdr and not dladdr: dladdr waits for the lock that dlopen holds while it runs constructors, and a
   constructor may wait for a thread that asks for a variable. */
static struct library *find_library(uintptr_t address) {
  struct search search = {address, 0, NULL};
  dl_iterate_phdr(holds_address, &search);
  if (!search.name) return &unknown_library;
  uint32_t known = load(&library_count);
  for (uint32_t at = 0; at < known && at < MAX_LIBRARIES; at++)
    if (load(&libraries[at].path) && libraries[at].base == search.base) return &libraries[at];
  char path[1024];
  size_t size = absolute(search.name, path, sizeof path);
  uint32_t place = add(&path_used, (uint32_t)size), index = add(&library_count, 1);
  if (place + size > sizeof path_room || index >= MAX_LIBRARIES) return &unknown_library;
  memcpy(path_room + place, path, size);
  libraries[index].size = (uint16_t)size;
  libraries[index].base = search.base;
  store(&libraries[index].path, path_room + place);
  return &libraries[index];
}

struct caller { uintptr_t address; struct library *library; };
#define CALLERS 4096
static struct caller callers[CALLERS];

static struct library *library_of(void *code) {
  uintptr_t address = (uintptr_t)code;
  for (unsigned probe = 0; probe < 8; probe++) {
    struct caller *caller = &callers[((address >> 2) * 2654435761u + probe) % CALLERS];
    uintptr_t seen = load(&caller->address);
    if (seen == address) return caller->library;
    if (seen == 0 && swap(&caller->address, &seen, 1)) { /* 1: claimed, no code lies there */
      caller->library = find_library(address);
      store(&caller->address, address);
      return caller->library;
    }
  }
  return find_library(address);
}
