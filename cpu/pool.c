#include "cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/features.h"
#include "cpu/float_mode.h"
#include "engine/base/check.h"

/* About 50-100 us of polling: longer than the gap between two regions of a decode step, short enough to cost nothing
 * when the session is idle. With more workers than processors a spinning worker only keeps another from running. */
#define POOL_SPINS       4096
#define POOL_SPINS_FEW   16
#define POOL_THREADS_MAX 1024

typedef struct pool_worker {
    cpu_pool *pool;
    size_t index;
    pthread_t thread;
} pool_worker;

struct cpu_pool {
    size_t n_workers;
    int n_spins;
    size_t n_started; /* threads that exist; worker 0 has none */
    pool_worker *workers;
    cpu_pool_fn fn; /* written by the caller before generation moves, read after */
    void *arg;
    bool stop;
    _Atomic uint32_t generation; /* counts regions; workers wait for it to change */
    _Atomic size_t n_pending;    /* workers 1.. still inside the region */
    _Atomic size_t n_sleeping;   /* workers inside pthread_cond_wait or about to be */
    _Atomic bool is_caller_asleep;
    _Atomic size_t n_at_barrier;
    _Atomic uint32_t barrier_phase;
    pthread_mutex_t lock; /* only for sleeping and waking */
    pthread_cond_t wake_workers;
    pthread_cond_t wake_caller;
};

static inline void spin_pause(void) {
#if defined(__x86_64__)
    _mm_pause();
#else
    sched_yield();
#endif
}

/* Returns when generation differs from seen. The sleeper raises n_sleeping and then reads generation; the caller moves
 * generation and then reads n_sleeping: with sequential consistency one of them sees the other. */
static void wait_generation(cpu_pool *pool, uint32_t seen) {
    for (int i = 0; i < pool->n_spins; i++) {
        if (atomic_load(&pool->generation) != seen) return;
        spin_pause();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->n_sleeping, 1);
    while (atomic_load(&pool->generation) == seen) pthread_cond_wait(&pool->wake_workers, &pool->lock);
    atomic_fetch_sub(&pool->n_sleeping, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_pending(cpu_pool *pool) {
    for (int i = 0; i < pool->n_spins; i++) {
        if (atomic_load(&pool->n_pending) == 0) return;
        spin_pause();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->is_caller_asleep, true);
    while (atomic_load(&pool->n_pending) != 0) pthread_cond_wait(&pool->wake_caller, &pool->lock);
    atomic_store(&pool->is_caller_asleep, false);
    pthread_mutex_unlock(&pool->lock);
}

static void finish_region(cpu_pool *pool) {
    if (atomic_fetch_sub(&pool->n_pending, 1) != 1) return;
    if (!atomic_load(&pool->is_caller_asleep)) return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->wake_caller);
    pthread_mutex_unlock(&pool->lock);
}

static void start_region(cpu_pool *pool) {
    atomic_store(&pool->n_pending, pool->n_started);
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->n_sleeping) == 0) return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->wake_workers);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *arg) {
    pool_worker *w = arg;
    cpu_pool *pool = w->pool;
    char name[16];
    (void)snprintf(name, sizeof name, "convect-%zu", w->index % 10000);
    (void)pthread_setname_np(pthread_self(), name);
    (void)float_mode_enter();
    for (uint32_t seen = 0;; seen++) {
        wait_generation(pool, seen);
        if (pool->stop) break;
        pool->fn(pool->arg, w->index, pool->n_workers);
        finish_region(pool);
    }
    return NULL;
}

/* Workers take no signals but those that their own memory accesses raise: SIGINT belongs to the program's own threads,
 * while a SIGBUS that is blocked would kill without asking the program's handler. */
static bool start_workers(cpu_pool *pool) {
    sigset_t all, old;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = true;
    for (size_t i = 1; ok && i < pool->n_workers; i++) {
        pool->workers[i] = (pool_worker){.pool = pool, .index = i};
        ok = pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]) == 0;
        if (ok) pool->n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok;
}

convect_status cpu_pool_create(size_t n_threads, cpu_pool **out, convect_error *err) {
    *out = NULL;
    if (n_threads == 0) n_threads = cpu_count_cores();
    if (n_threads > POOL_THREADS_MAX) {
        return convect_fail(err, CONVECT_USAGE, "%zu threads asked for; the most is %d", n_threads, POOL_THREADS_MAX);
    }
    cpu_pool *pool = calloc(1, sizeof *pool);
    if (pool) pool->workers = calloc(n_threads, sizeof *pool->workers);
    if (!pool || !pool->workers) {
        free(pool);
        return convect_fail(err, CONVECT_NO_FIT, "no memory for %zu threads", n_threads);
    }
    pool->n_workers = n_threads;
    pool->n_spins = n_threads <= cpu_count_logical() ? POOL_SPINS : POOL_SPINS_FEW;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake_workers, NULL);
    pthread_cond_init(&pool->wake_caller, NULL);
    if (!start_workers(pool)) {
        const size_t n = pool->n_started;
        cpu_pool_destroy(pool);
        return convect_fail(err, CONVECT_NO_FIT, "the system gave %zu of %zu threads; ask for fewer", n + 1, n_threads);
    }
    *out = pool;
    return CONVECT_OK;
}

void cpu_pool_destroy(cpu_pool *pool) {
    if (!pool) return;
    pool->stop = true;
    start_region(pool);
    for (size_t i = 1; i <= pool->n_started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake_caller);
    pthread_cond_destroy(&pool->wake_workers);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

size_t cpu_pool_size(const cpu_pool *pool) {
    return pool->n_workers;
}

void cpu_pool_run(cpu_pool *pool, cpu_pool_fn fn, void *arg) {
    const unsigned mode = float_mode_enter();
    if (pool->n_workers > 1) {
        pool->fn = fn;
        pool->arg = arg;
        start_region(pool);
    }
    fn(arg, 0, pool->n_workers);
    if (pool->n_workers > 1) wait_pending(pool);
    float_mode_leave(mode);
}

void cpu_pool_barrier(cpu_pool *pool) {
    const uint32_t phase = atomic_load(&pool->barrier_phase);
    if (atomic_fetch_add(&pool->n_at_barrier, 1) + 1 == pool->n_workers) {
        atomic_store(&pool->n_at_barrier, 0);
        atomic_store(&pool->barrier_phase, phase + 1);
        return;
    }
    for (int i = 0; atomic_load(&pool->barrier_phase) == phase; i++) {
        if (i < pool->n_spins)
            spin_pause();
        else
            sched_yield();
    }
}

void cpu_pool_share(size_t n, size_t grain, size_t i_worker, size_t n_workers, size_t *begin, size_t *end) {
    CONVECT_DEBUG_CHECK(grain > 0 && i_worker < n_workers);
    const size_t n_units = n / grain + (n % grain != 0);
    const size_t base = n_units / n_workers, extra = n_units % n_workers;
    const size_t first = base * i_worker + (i_worker < extra ? i_worker : extra);
    const size_t last = first + base + (i_worker < extra ? 1 : 0);
    *begin = first * grain < n ? first * grain : n;
    *end = last * grain < n ? last * grain : n;
}
