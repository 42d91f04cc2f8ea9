/* The record file: its layout, and how an event is written. envdoctor/node/trace/records.py reads the same layout. */

#define MAGIC 0x3154524356444e45ull /* ENDVCRT1 */
#define RECORD_MAGIC 0x52434452u
#define HEADER_SIZE 65536
#define UNIT 64
#define NO_VALUE 0xffffu
#define MAX_NAME 255
#define MAX_VALUE 1024

enum kind { PROCESS = 1, ENVIRONMENT, ASK, SET, UNSET, CLEAR, EXEC, VOID };
enum flag { VALUE_CUT = 1, VALUE_HIDDEN = 2, EXEC_FAILED = 4, FORKED = 8 };
#define NO_PROCESS UINT32_MAX /* EXEC: the process of the record is not known */

struct header {
  uint64_t magic;
  uint64_t units;              /* room after the header, in units */
  uint64_t real, monotonic;    /* nanoseconds at which the file was made, by both clocks */
  uint64_t next;               /* first free unit, from 1: 0 stands for no record */
  uint64_t lost;               /* records that found no room */
  char host[65];
  char patterns[];             /* "PNCCL_" a prefix, "NNAME" a name, lower case: never record values; ends with "" */
};

struct record {
  uint32_t ready;              /* RECORD_MAGIC, written last */
  uint16_t kind, flags;
  uint32_t units, process;     /* length; unit of the process's own record, for a FORKED PROCESS of its ancestor's */
  uint64_t first, last;        /* monotonic nanoseconds */
  uint64_t count;              /* PROCESS: parent's pid */
  uint64_t hash;               /* PROCESS, EXEC: pid */
  uint16_t name, value, library, spare; /* lengths of the three texts that follow */
  char text[];
};

_Static_assert(sizeof(void *) == 8, "64-bit processes only");

static struct header *file;

enum { NEW, BUSY, READY, OFF };
static int state = NEW;

/* A page that the kernel empties in a child after fork: 0 says that this process has no record yet. */
static struct { uint32_t process, pid; } *own, own_fallback;
static int wiped_on_fork;
static uint32_t ancestor; /* the process recorded last in this memory and what it was copied from by fork */

static char own_path[4096], trace_variable[4096 + 16];
#define TRACE "ENVDOCTOR_TRACE"

extern char **environ;

static char *walk(const char *name) {
  size_t size = strlen(name);
  if (environ && size)
    for (char **entry = environ; *entry; entry++)
      if (!strncmp(*entry, name, size) && (*entry)[size] == '=') return *entry + size + 1;
  return NULL;
}

static uint64_t now(clockid_t clock) {
  struct timespec time;
  return clock_gettime(clock, &time) ? 0 : (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
