#include "cpu/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef CONVECT_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "cpu/features.h"

static void read_name(char *out, size_t n_bytes) {
    (void)snprintf(out, n_bytes, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f) return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        const char *value = strncmp(line, "model name", 10) == 0 ? strstr(line, ": ") : NULL;
        if (!value) continue;
        (void)snprintf(out, n_bytes, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        break;
    }
    (void)fclose(f);
}

static const char *const known_flags[] = {"avx2",        "fma",         "f16c",     "bmi2",     "avx_vnni", "avx512f",
                                          "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"};

/* Is word one of the words of line? */
static bool has_word(const char *line, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = strstr(line, word); at; at = strstr(at + n, word))
        if ((at == line || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\n' || at[n] == 0)) return true;
    return false;
}

static void select_flags(const char *line, char out[CPU_FLAGS_BYTES]) {
    size_t n = 0;
    for (size_t i = 0; i < sizeof known_flags / sizeof known_flags[0]; i++)
        if (has_word(line, known_flags[i]))
            n += (size_t)snprintf(out + n, CPU_FLAGS_BYTES - n, "%s%s", n ? " " : "", known_flags[i]);
}

void cpu_machine_flags(char out[CPU_FLAGS_BYTES]) {
    out[0] = 0;
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f) return;
    char line[8192]; /* some 200 flags */
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "flags", 5) != 0) continue;
        select_flags(line, out);
        break;
    }
    (void)fclose(f);
}

#ifdef CONVECT_HAVE_HWLOC
static uint64_t sum_caches(void) {
    hwloc_topology_t topology;
    uint64_t sum = 0;
    if (!cpu_has_topology() || hwloc_topology_init(&topology) != 0) return 0;
    if (hwloc_topology_load(topology) == 0) {
        hwloc_obj_t cache = NULL;
        while ((cache = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_L3CACHE, cache)) != NULL)
            sum += cache->attr->cache.size;
    }
    hwloc_topology_destroy(topology);
    return sum;
}
#endif

static uint64_t count_cache_bytes(void) {
#ifdef CONVECT_HAVE_HWLOC
    const uint64_t sum = sum_caches();
    if (sum > 0) return sum;
#endif
    const long one = sysconf(_SC_LEVEL3_CACHE_SIZE); /* of one: the best there is without hwloc */
    return one > 0 ? (uint64_t)one : 0;
}

void cpu_machine_describe(cpu_machine *out) {
    read_name(out->name, sizeof out->name);
    out->n_cores = cpu_count_cores();
    const long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    out->ram_bytes = n_pages > 0 && page_bytes > 0 ? (uint64_t)n_pages * (uint64_t)page_bytes : 0;
    out->cache_bytes = count_cache_bytes();
}
