/* Writing events down, each once. */

#define REMEMBERED 4096
static struct record *remembered[REMEMBERED];

static uint64_t hashed(uint64_t hash, const void *data, size_t size) {
  for (const unsigned char *at = data, *end = at + size; at < end; at++) hash = (hash ^ *at) * 0x100000001b3ull;
  return hash;
}

static struct record *claim(size_t text) {
  uint64_t units = (sizeof(struct record) + text + UNIT - 1) / UNIT;
  uint64_t place = load(&file->next) + units > file->units ? file->units : add(&file->next, units);
  if (place + units > file->units) {
    add(&file->lost, 1);
    return NULL;
  }
  struct record *record = (struct record *)((char *)file + HEADER_SIZE + place * UNIT);
  record->units = (uint32_t)units;
  return record;
}

static uint32_t unit_of(const struct record *record) {
  return (uint32_t)(((const char *)record - (const char *)file - HEADER_SIZE) / UNIT);
}

struct event {
  enum kind kind;
  uint32_t process;
  const char *name, *value;
  size_t name_size, value_size;
  int watched, forked;
  const struct library *library;
};

static struct record *write_record(const struct event *event, uint64_t hash, uint64_t count) {
  size_t value = event->value && event->watched > 1 ? event->value_size : 0;
  size_t kept = value < MAX_VALUE ? value : MAX_VALUE;
  struct record *record = claim(event->name_size + kept + event->library->size);
  if (!record) return NULL;
  record->kind = (uint16_t)event->kind;
  record->flags = (uint16_t)((kept < value ? VALUE_CUT : 0) | (event->forked ? FORKED : 0) |
                             (event->value && event->watched < 2 ? VALUE_HIDDEN : 0));
  record->process = event->process ? event->process : unit_of(record);
  record->first = record->last = now(CLOCK_MONOTONIC);
  record->count = count;
  record->hash = hash;
  record->name = (uint16_t)event->name_size;
  record->value = event->value ? (uint16_t)kept : NO_VALUE;
  record->library = event->library->size;
  char *text = record->text;
  memcpy(text, event->name, event->name_size);
  if (kept) memcpy(text + event->name_size, event->value, kept);
  memcpy(text + event->name_size + kept, event->library->path, event->library->size);
  store(&record->ready, RECORD_MAGIC);
  return record;
}

/* Counts the event if it was seen before, else writes it down. */
static void note(struct event *event) {
  uint64_t hash = hashed(0xcbf29ce484222325ull, event->name, event->name_size);
  hash = hashed(hash, &event->process, sizeof event->process);
  hash = hashed(hash, &event->library, sizeof event->library);
  hash = hashed(hash, &event->kind, sizeof event->kind) + (event->value != NULL);
  if (event->value && event->watched > 1) hash = hashed(hash, event->value, event->value_size);
  for (unsigned probe = 0; probe < 8; probe++) {
    struct record **slot = &remembered[(hash + probe) % REMEMBERED], *seen = load(slot);
    if (seen && seen->hash == hash && seen->process == event->process) {
      add(&seen->count, 1);
      if (event->kind != ASK) store(&seen->last, now(CLOCK_MONOTONIC));
      return;
    }
    if (seen) continue;
    struct record *record = write_record(event, hash, 1);
    if (record) swap(slot, &seen, record);
    return;
  }
  write_record(event, hash, 1);
}

static void note_environment(uint32_t process) {
  if (!environ) return;
  for (char **entry = environ; *entry; entry++) {
    const char *equals = strchr(*entry, '=');
    int known = equals && equals - *entry <= MAX_NAME ? watched(*entry) : 0;
    if (!known) continue;
    struct event event = {ENVIRONMENT, process, *entry, equals + 1, (size_t)(equals - *entry), strlen(equals + 1),
                          known, 0, &unknown_library};
    write_record(&event, 0, 1);
  }
}

static uint32_t this_process(void) {
  uint32_t known = load(&own->process), pid = 0;
  if (known && (wiped_on_fork || own->pid == (pid = (uint32_t)syscall(SYS_getpid)))) return known;
  if (!pid) pid = (uint32_t)syscall(SYS_getpid);
  char path[1024];
  struct library program = {path, (uint16_t)absolute("", path, sizeof path), 0};
  struct event event = {PROCESS, 0, "", NULL, 0, 0, 0, 0, &program};
  event.process = ancestor;
  event.forked = ancestor != 0;
  struct record *record = write_record(&event, pid, (uint64_t)syscall(SYS_getppid));
  if (!record) return 0;
  if (!swap(&own->process, &known, unit_of(record))) {
    record->kind = VOID;
    return known;
  }
  own->pid = pid;
  ancestor = unit_of(record);
  note_environment(unit_of(record));
  return unit_of(record);
}
