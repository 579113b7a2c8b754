/* The worker pool: every worker runs every region once, results of a region are visible after it, shares cover the
 * range, barriers hold, idle pools wake up. Run under ThreadSanitizer too (tools/check.sh --all). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/features.h"
#include "cpu/pool.h"

#define N_WORKERS_MAX 5

static cpu_pool *make_pool(size_t n) {
    cpu_pool *pool = NULL;
    convect_error err = {0};
    if (cpu_pool_create(n, &pool, &err) != CONVECT_OK) fail_msg("%s", err.text);
    return pool;
}

typedef struct counts {
    cpu_pool *pool;
    size_t n_calls[N_WORKERS_MAX]; /* one per worker, plain: the region is the only synchronisation */
    size_t n_seen;
    size_t sums[N_WORKERS_MAX];
} counts;

static void count_call(void *arg, size_t i, size_t n) {
    counts *c = arg;
    c->n_calls[i]++;
    if (i == 0) c->n_seen = n;
}

static void every_worker_once(void **state) {
    (void)state;
    for (size_t n = 1; n <= N_WORKERS_MAX; n++) {
        counts c = {0};
        cpu_pool *pool = make_pool(n);
        assert_int_equal(cpu_pool_size(pool), n);
        for (size_t round = 0; round < 300; round++) {
            cpu_pool_run(pool, count_call, &c);
            for (size_t i = 0; i < n; i++) assert_int_equal(c.n_calls[i], round + 1);
        }
        assert_int_equal(c.n_seen, n);
        cpu_pool_destroy(pool);
    }
}

static void sleepers_wake(void **state) {
    (void)state;
    counts c = {0};
    cpu_pool *pool = make_pool(3);
    for (size_t round = 0; round < 5; round++) {
        (void)usleep(30000); /* longer than any spin: the workers sleep now */
        cpu_pool_run(pool, count_call, &c);
        for (size_t i = 0; i < 3; i++) assert_int_equal(c.n_calls[i], round + 1);
    }
    cpu_pool_destroy(pool);
}

static void write_then_sum(void *arg, size_t i, size_t n) {
    counts *c = arg;
    for (size_t round = 1; round <= 50; round++) {
        c->n_calls[i] = round * (i + 1);
        cpu_pool_barrier(c->pool);
        c->sums[i] = 0;
        for (size_t j = 0; j < n; j++) c->sums[i] += c->n_calls[j];
        cpu_pool_barrier(c->pool);
    }
}

static void barrier_separates(void **state) {
    (void)state;
    counts c = {.pool = make_pool(4)};
    for (size_t round = 0; round < 20; round++) {
        cpu_pool_run(c.pool, write_then_sum, &c);
        for (size_t i = 0; i < 4; i++) assert_int_equal(c.sums[i], 50 * (1 + 2 + 3 + 4));
    }
    cpu_pool_destroy(c.pool);
}

static void shares_cover(void **state) {
    (void)state;
    for (size_t n = 0; n < 70; n++) {
        for (size_t grain = 1; grain <= 16; grain += 5) {
            for (size_t n_workers = 1; n_workers <= 9; n_workers++) {
                size_t next = 0, least = SIZE_MAX, most = 0;
                for (size_t i = 0; i < n_workers; i++) {
                    size_t begin, end;
                    cpu_pool_share(n, grain, i, n_workers, &begin, &end);
                    assert_int_equal(begin, next);
                    assert_true(begin <= end && (begin % grain == 0 || begin == n));
                    next = end;
                    const size_t units = (end - begin + grain - 1) / grain;
                    least = units < least ? units : least;
                    most = units > most ? units : most;
                }
                assert_int_equal(next, n);
                assert_true(most - least <= 1);
            }
        }
    }
}

#if defined(__x86_64__)
static void read_mode(void *arg, size_t i, size_t n) {
    (void)n;
    ((unsigned *)arg)[i] = _mm_getcsr() & ~0x3fu;
}

/* A caller with flush-to-zero set (a library built with fast math) must not change results, nor lose its setting. */
static void float_mode_is_ieee(void **state) {
    (void)state;
    unsigned modes[3] = {0};
    cpu_pool *pool = make_pool(3);
    const unsigned old = _mm_getcsr();
    _mm_setcsr(old | 0x8040u);
    cpu_pool_run(pool, read_mode, modes);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(old);
    for (size_t i = 0; i < 3; i++) assert_int_equal(modes[i], 0x1f80u);
    assert_int_equal(after & 0x8040u, 0x8040u);
    cpu_pool_destroy(pool);
}
#endif

static void too_many_threads(void **state) {
    (void)state;
    cpu_pool *pool = NULL;
    convect_error err = {0};
    assert_int_equal(cpu_pool_create(1u << 20, &pool, &err), CONVECT_USAGE);
    assert_null(pool);
    assert_non_null(strstr(err.text, "threads"));
    cpu_pool_destroy(NULL);
}

static void features(void **state) {
    (void)state;
    assert_true(cpu_count_cores() >= 1);
    assert_true(cpu_has_level(KERNEL_LEVEL_REF));
    assert_true(cpu_has_level(cpu_best_level()));
    assert_int_equal(cpu_level_from_name("ref"), KERNEL_LEVEL_REF);
    assert_int_equal(cpu_level_from_name("avx2"), KERNEL_LEVEL_AVX2);
    assert_int_equal(cpu_level_from_name("mmx"), KERNEL_LEVEL_COUNT);
    cpu_pool *pool = make_pool(0);
    assert_int_equal(cpu_pool_size(pool), cpu_count_cores());
    cpu_pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_worker_once),
        cmocka_unit_test(sleepers_wake),
        cmocka_unit_test(barrier_separates),
        cmocka_unit_test(shares_cover),
#if defined(__x86_64__)
        cmocka_unit_test(float_mode_is_ieee),
#endif
        cmocka_unit_test(too_many_threads),
        cmocka_unit_test(features)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
