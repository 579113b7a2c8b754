#include "cpu/features.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>
#ifdef CONVECT_HAVE_HWLOC
#include <hwloc.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static bool has_avx2_level(void) {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    const bool has_f16c = (c >> 29) & 1;
    /* the builtin also asks the operating system whether it saves the wide registers */
    return has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

bool cpu_has_level(kernel_level level) {
    switch (level) {
    case KERNEL_LEVEL_REF: return true;
    case KERNEL_LEVEL_AVX2: return has_avx2_level();
    case KERNEL_LEVEL_COUNT: break;
    }
    return false;
}

kernel_level cpu_best_level(void) {
    return has_avx2_level() ? KERNEL_LEVEL_AVX2 : KERNEL_LEVEL_REF;
}

kernel_level cpu_level_from_name(const char *name) {
    int level = 0;
    while (level < KERNEL_LEVEL_COUNT && strcmp(name, kernel_level_name((kernel_level)level)) != 0) level++;
    return (kernel_level)level;
}

size_t cpu_count_logical(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return (size_t)CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (size_t)n : 1;
}

bool cpu_has_topology(void) {
    return access("/sys/devices/system/cpu/cpu0/topology", F_OK) == 0;
}

#ifdef CONVECT_HAVE_HWLOC
static size_t count_physical(void) {
    hwloc_topology_t topology;
    if (!cpu_has_topology() || hwloc_topology_init(&topology) != 0) return 0;
    size_t n = 0;
    hwloc_cpuset_t mine = hwloc_bitmap_alloc();
    if (mine && hwloc_topology_load(topology) == 0 && hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_obj_t core = NULL;
        while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL) {
            if (hwloc_bitmap_intersects(core->cpuset, mine)) n++;
        }
    }
    hwloc_bitmap_free(mine);
    hwloc_topology_destroy(topology);
    return n;
}
#endif

size_t cpu_count_cores(void) {
#ifdef CONVECT_HAVE_HWLOC
    const size_t n = count_physical();
    if (n > 0) return n;
#endif
    return cpu_count_logical();
}
