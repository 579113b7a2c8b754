/* Measures how fast the workers of a pool read memory together: the ceiling that decoding is compared with. */
#ifndef CONVECT_CPU_READ_PROBE_H
#define CONVECT_CPU_READ_PROBE_H

#include <stdint.h>

#include "cpu/pool.h"

typedef struct cpu_read_rate {
    double gb_per_s; /* 1e9 bytes a second; the best of the passes */
    uint64_t buffer_bytes;
    uint64_t cache_bytes; /* last-level caches of the machine; 0: unknown */
} cpu_read_rate;

/* Takes four times the machine's last-level caches, at least 256 MiB and at most 1 GiB, lets each worker fill its share
 * and read it from end to end: at least two passes, more while 0.15 s are not over. The memory is given back. Error:
 * NO_FIT. */
convect_status cpu_read_probe(cpu_pool *pool, cpu_read_rate *out, convect_error *err) CONVECT_MUST_CHECK;

#endif
