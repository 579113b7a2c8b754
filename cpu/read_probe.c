#include "cpu/read_probe.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu/machine.h"
#include "engine/base/stats.h"

#define BUFFER_BYTES_MIN (UINT64_C(256) << 20)
#define BUFFER_BYTES_MAX (UINT64_C(1) << 30)
#define PASSES_MIN       2
#define PASSES_MAX       32
#define PASSES_NS        UINT64_C(150000000)
#define LANES            32 /* independent sums: the reads must not wait for each other */

typedef struct probe {
    uint64_t *words;
    size_t n_words;           /* a multiple of LANES */
    atomic_uint_fast64_t sum; /* keeps the reads alive */
} probe;

static void fill(void *arg, size_t i_worker, size_t n_workers) {
    probe *p = arg;
    size_t begin, end;
    cpu_pool_share(p->n_words, LANES, i_worker, n_workers, &begin, &end);
    memset(p->words + begin, 1, (end - begin) * sizeof *p->words); /* first touch: on this worker's node */
}

static void read_all(void *arg, size_t i_worker, size_t n_workers) {
    probe *p = arg;
    size_t begin, end;
    cpu_pool_share(p->n_words, LANES, i_worker, n_workers, &begin, &end);
    uint64_t sums[LANES] = {0}, sum = 0;
    for (size_t i = begin; i < end; i += LANES)
        for (size_t k = 0; k < LANES; k++) sums[k] += p->words[i + k];
    for (size_t k = 0; k < LANES; k++) sum += sums[k];
    atomic_fetch_add_explicit(&p->sum, sum, memory_order_relaxed); /* the join orders it */
}

static double best_rate(cpu_pool *pool, probe *p) {
    double best = 0;
    cpu_pool_run(pool, fill, p);
    const uint64_t first_ns = stats_now_ns();
    for (int pass = 0; pass < PASSES_MAX; pass++) {
        const uint64_t start_ns = stats_now_ns();
        if (pass >= PASSES_MIN && start_ns - first_ns > PASSES_NS) break;
        cpu_pool_run(pool, read_all, p);
        const double rate = (double)(p->n_words * sizeof *p->words) / (double)(stats_now_ns() - start_ns);
        if (rate > best) best = rate;
    }
    return best;
}

convect_status cpu_read_probe(cpu_pool *pool, cpu_read_rate *out, convect_error *err) {
    cpu_machine machine;
    cpu_machine_describe(&machine);
    uint64_t n_bytes = 4 * machine.cache_bytes;
    if (n_bytes < BUFFER_BYTES_MIN) n_bytes = BUFFER_BYTES_MIN;
    if (n_bytes > BUFFER_BYTES_MAX) n_bytes = BUFFER_BYTES_MAX;
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return convect_fail(err, CONVECT_NO_FIT, "no memory (%llu MiB) to measure the read bandwidth",
                            (unsigned long long)(n_bytes >> 20));
    (void)madvise(memory, n_bytes, MADV_HUGEPAGE); /* as fast as it gets; a refusal only costs speed */
    probe p = {.words = memory, .n_words = n_bytes / sizeof *p.words / LANES * LANES};
    *out = (cpu_read_rate){best_rate(pool, &p), n_bytes, machine.cache_bytes};
    (void)munmap(memory, n_bytes);
    return CONVECT_OK;
}
