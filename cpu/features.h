/* What this CPU can run. Pure queries; any thread. */
#ifndef CONVECT_CPU_FEATURES_H
#define CONVECT_CPU_FEATURES_H

#include <stdbool.h>

#include "kernels/table.h"

/* True if this CPU (and its operating system) runs code of that level. */
bool cpu_has_level(kernel_level level);

/* The highest level this CPU runs. */
kernel_level cpu_best_level(void);

/* Level by name ("ref", "avx2"), or KERNEL_LEVEL_COUNT if there is none of that name. */
kernel_level cpu_level_from_name(const char *name);

/* Logical processors the process may run on. At least 1. */
size_t cpu_count_logical(void);

/* Cores the process may run on: physical ones where hwloc is built in, else logical ones. At least 1. */
size_t cpu_count_cores(void);

/* Does the kernel show its cores in /sys? Without it (a bare chroot) hwloc finds nothing and complains on stderr, so it
 * is not asked then. */
bool cpu_has_topology(void);

#endif
