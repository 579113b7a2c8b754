/* How much memory this process may still take. */
#ifndef CONVECT_OFFLOAD_MEMORY_H
#define CONVECT_OFFLOAD_MEMORY_H

#include <stdint.h>

/* MemAvailable of /proc/meminfo, or what the process's control groups (v2) leave where that is less; page cache counts
 * as available in both. UINT64_MAX where the system does not say. Any thread. */
uint64_t memory_available_bytes(void);

#endif
