#include "offload/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES  512
#define PATH_BYTES  1024
#define GROUPS_ROOT "/sys/fs/cgroup"

/* First number on the line of `path` that begins with key (empty: the first line); UINT64_MAX if there is none. */
static uint64_t number_in(const char *path, const char *key) {
    char line[LINE_BYTES];
    uint64_t value = UINT64_MAX;
    FILE *f = fopen(path, "re");
    if (!f) return value;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *digits = line + strlen(key) + strspn(line + strlen(key), " \t");
        if (*digits >= '0' && *digits <= '9') value = strtoull(digits, NULL, 10);
        break;
    }
    (void)fclose(f);
    return value;
}

/* What one control group leaves: memory.max - (memory.current - page cache). */
static uint64_t group_leaves(const char *group) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s%s/memory.max", GROUPS_ROOT, group);
    uint64_t max = number_in(path, ""); /* "max" is no number: no limit */
    if (max == UINT64_MAX) return max;
    (void)snprintf(path, sizeof path, "%s%s/memory.current", GROUPS_ROOT, group);
    uint64_t current = number_in(path, "");
    (void)snprintf(path, sizeof path, "%s%s/memory.stat", GROUPS_ROOT, group);
    uint64_t cache = number_in(path, "file ");
    uint64_t used = current == UINT64_MAX ? 0 : current;
    if (cache != UINT64_MAX) used = cache < used ? used - cache : 0;
    return used < max ? max - used : 0;
}

/* The least that the process's group and the groups above it leave. */
static uint64_t groups_leave(void) {
    char line[LINE_BYTES];
    char group[LINE_BYTES] = "";
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f) return UINT64_MAX;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "0::", 3) == 0) (void)snprintf(group, sizeof group, "%s", line + 3);
    }
    (void)fclose(f);
    group[strcspn(group, "\n")] = 0;
    uint64_t least = group_leaves("");
    for (char *slash = strrchr(group, '/'); slash; slash = strrchr(group, '/')) {
        uint64_t here = group_leaves(group);
        if (here < least) least = here;
        *slash = 0;
    }
    return least;
}

uint64_t memory_available_bytes(void) {
    uint64_t kib = number_in("/proc/meminfo", "MemAvailable:");
    uint64_t machine = kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
    uint64_t groups = groups_leave();
    return groups < machine ? groups : machine;
}
