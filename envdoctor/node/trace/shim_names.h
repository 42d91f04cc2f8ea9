/* Which names are watched. */

struct pattern { const char *text; uint16_t size; char prefix, value; };
#define MAX_PATTERNS 4096
static struct pattern patterns[MAX_PATTERNS];
static uint16_t first_of[257]; /* patterns of one first byte lie between first_of[byte] and first_of[byte + 1] */

static const char *next_pattern(const char *at) {
  const char *end = (const char *)file + HEADER_SIZE;
  size_t size = at < end ? strnlen(at, (size_t)(end - at)) : 0;
  return size > 1 && at + size < end ? at + size + 1 : NULL;
}

static void read_patterns(void) {
  uint16_t count[256] = {0}, total = 0;
  for (const char *at = file->patterns, *next; (next = next_pattern(at)) && total < MAX_PATTERNS; at = next, total++)
    count[(unsigned char)at[1]]++;
  for (int byte = 0; byte < 256; byte++) first_of[byte + 1] = (uint16_t)(first_of[byte] + count[byte]);
  uint16_t left = total;
  for (const char *at = file->patterns, *next; left && (next = next_pattern(at)); at = next, left--) {
    unsigned char byte = (unsigned char)at[1];
    struct pattern *pattern = &patterns[first_of[byte + 1] - count[byte]--];
    *pattern = (struct pattern){at + 1, (uint16_t)(next - at - 2), (*at | 32) == 'p', *at < 'a'};
  }
}

/* 0: not watched, 1: watched without its value, 2: watched. */
static int watched(const char *name) {
  unsigned char byte = (unsigned char)*name;
  int found = 0;
  for (unsigned at = first_of[byte]; at < first_of[byte + 1]; at++) {
    const struct pattern *pattern = &patterns[at];
    if (strncmp(name, pattern->text, pattern->size)) continue;
    if (!pattern->prefix && name[pattern->size] && name[pattern->size] != '=') continue;
    if (pattern->value) return 2;
    found = 1;
  }
  return found;
}
