/* What machine this is, for stats and benches. Reads /proc and, where it is built in, hwloc; any thread. */
#ifndef CONVECT_CPU_MACHINE_H
#define CONVECT_CPU_MACHINE_H

#include <stddef.h>
#include <stdint.h>

typedef struct cpu_machine {
    char name[96];  /* of the processor, "unknown" if the system does not say */
    size_t n_cores; /* that this process may run on */
    uint64_t ram_bytes;
    uint64_t cache_bytes; /* last-level caches together; 0: unknown */
} cpu_machine;

void cpu_machine_describe(cpu_machine *out);

#define CPU_FLAGS_BYTES 256

/* Those extensions of the instruction set that kernels are, or may be, written for, as the system names them: "avx2 fma
 * avx512f ..."; empty where the system does not say. */
void cpu_machine_flags(char out[CPU_FLAGS_BYTES]);

#endif
