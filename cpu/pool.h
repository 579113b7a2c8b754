/* A fixed team of worker threads and one fork-join primitive. Worker 0 is the caller. Workers spin briefly between
 * regions, then sleep; an idle pool burns nothing. The split of work never changes a result: kernels compute each row
 * on its own. One caller at a time per pool. */
#ifndef CONVECT_CPU_POOL_H
#define CONVECT_CPU_POOL_H

#include "engine/base/status.h"

typedef struct cpu_pool cpu_pool;

/* Runs on every worker: index in [0, n_workers). */
typedef void (*cpu_pool_fn)(void *arg, size_t i_worker, size_t n_workers);

/* n_threads 0: one per physical core this process may run on. */
convect_status cpu_pool_create(size_t n_threads, cpu_pool **out, convect_error *err) CONVECT_MUST_CHECK;
void cpu_pool_destroy(cpu_pool *pool); /* NULL is fine */
size_t cpu_pool_size(const cpu_pool *pool);

/* Calls fn on all workers and returns when all have finished. */
void cpu_pool_run(cpu_pool *pool, cpu_pool_fn fn, void *arg);

/* Meeting point inside a region: returns when every worker of the pool has called it. */
void cpu_pool_barrier(cpu_pool *pool);

/* Share of worker i of n items in units of `grain`: [*begin, *end). Pure; covers [0, n) exactly over all workers. */
void cpu_pool_share(size_t n, size_t grain, size_t i_worker, size_t n_workers, size_t *begin, size_t *end);

#endif
