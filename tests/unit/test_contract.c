/* The matrix products: every format at every level against the oracle, in equality; against exact sums in double, with
 * a tolerance; and the ways a call may be cut (rows, columns, alignment, ends of memory), which change no bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/contract_oracle.h"

enum { COLS_MAX = 33, ROWS_MAX = 9, K_MAX = 2368 };

#define FOR_EACH_FORMAT(f) for (format_id f = (format_id)0; f < FORMAT_COUNT; f = (format_id)(f + 1))

/* Row lengths to try: one block, ends in every part of a super-block, more than one stretch of unpacked blocks. */
static size_t k_of(format_id f, int i) {
    static const size_t lengths[4][6] = {{32, 128, 160, 288, 640, 2336},
                                         {64, 128, 192, 320, 576, 2368},
                                         {128, 256, 384, 640, 128, 2176},
                                         {256, 512, 768, 2048, 256, 2304}};
    uint32_t elems = format_get(f)->block_elems;
    return lengths[elems == 64 ? 1 : elems == 128 ? 2 : elems == 256 ? 3 : 0][i];
}

/* A product's operands, each in memory of its own. */
typedef struct problem {
    format_id f;
    size_t k, n_rows, n_cols;
    uint8_t *w;
    float *x;
    uint8_t *records;
    act_view act[COLS_MAX];
    float *y;
} problem;

static void fill_vector(float *x, size_t k, size_t col, uint64_t *s) {
    static const float sizes[] = {1, 0.01F, 1e-18F, 3e17F};
    for (size_t i = 0; i < k; i++) x[i] = oracle_normal(s) * sizes[col % 4];
    for (size_t i = 0; i < k && col % 5 == 4; i++) x[i] = i / 32 % 3 ? 2.0F : -2.0F; /* every code at its end */
    for (size_t i = 0; i < 32 && col % 6 == 5; i++) x[i] = 0;
}

static void problem_init(problem *p, format_id f, size_t k, size_t n_rows, size_t n_cols, uint64_t seed) {
    size_t row_bytes = format_row_bytes(f, k);
    *p = (problem){.f = f, .k = k, .n_rows = n_rows, .n_cols = n_cols};
    p->w = malloc(n_rows * row_bytes);
    p->x = malloc(n_cols * k * sizeof *p->x);
    p->records = malloc(n_cols * act_bytes(k));
    p->y = malloc(n_cols * n_rows * sizeof *p->y);
    assert_true(p->w && p->x && p->records && p->y);
    for (size_t r = 0; r < n_rows; r++) oracle_fill(f, p->w + r * row_bytes, k, &seed);
    for (size_t c = 0; c < n_cols; c++) {
        p->act[c] = act_view_at(p->records + c * act_bytes(k), k);
        fill_vector(p->x + c * k, k, c, &seed);
        kernel_table_get(KERNEL_LEVEL_REF)->act_quantize(p->x + c * k, k, p->act[c]);
    }
}

static void problem_deinit(problem *p) {
    free(p->w);
    free(p->x);
    free(p->records);
    free(p->y);
}

static matvec_args problem_args(const problem *p) {
    return (matvec_args){.w = p->w,
                         .row_bytes = format_row_bytes(p->f, p->k),
                         .n_rows = p->n_rows,
                         .k = p->k,
                         .act = p->act,
                         .x = p->x,
                         .x_stride = p->k,
                         .n_cols = p->n_cols,
                         .y = p->y,
                         .y_stride = p->n_rows};
}

static void same_bits(const problem *p, const char *what, const float *got, const float *want, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (float_bits(got[i]) == float_bits(want[i]) || (got[i] != got[i] && want[i] != want[i])) continue;
        fail_msg("%s %s: k %zu, %zu rows, %zu columns, result %zu: %a, want %a", format_get(p->f)->name, what, p->k,
                 p->n_rows, p->n_cols, i, (double)got[i], (double)want[i]);
    }
}

static void check_against_oracle(kernel_level level, format_id f, size_t k) {
    static float w[K_MAX];
    static float mins[K_MAX];
    problem p;
    problem_init(&p, f, k, ROWS_MAX, 6, 77 + k + (uint64_t)f * 1000);
    matvec_args args = problem_args(&p);
    kernel_table_get(level)->matvec[f](&args);
    for (size_t r = 0; r < p.n_rows; r++) {
        const uint8_t *row = p.w + r * args.row_bytes;
        if (format_get(f)->rule == FORMAT_RULE_FLOAT) {
            kernel_table_get(KERNEL_LEVEL_REF)->dequantize[f](row, k, w);
        } else {
            oracle_integers(f, row, k, w, mins);
        }
        for (size_t c = 0; c < p.n_cols; c++) {
            float want = oracle_row(f, row, w, mins, k, p.act[c], p.x + c * k);
            same_bits(&p, kernel_level_name(level), &p.y[c * p.n_rows + r], &want, 1);
        }
    }
    problem_deinit(&p);
}

static void oracle_level(kernel_level level) {
    if (level_missing(level)) {
        print_message("skipped: this CPU lacks level %s\n", kernel_level_name(level));
        skip();
    }
    FOR_EACH_FORMAT(f) {
        for (int i = 0; i < 6; i++) check_against_oracle(level, f, k_of(f, i));
    }
}

static void oracle_ref(void **state) {
    (void)state;
    oracle_level(KERNEL_LEVEL_REF);
}

static void oracle_avx2(void **state) {
    (void)state;
    oracle_level(KERNEL_LEVEL_AVX2);
}

/* Against sums in double of the dequantised weights and the quantised activations. The chain has at most 4 + 2 + 1 + 10
 * roundings of 2^-24 (float formats: 32 + 4 + 12) relative to the sum of magnitudes. */
static void double_sums(void **state) {
    (void)state;
    static float w[K_MAX];
    FOR_EACH_FORMAT(f) {
        problem p;
        problem_init(&p, f, k_of(f, 5), 5, 5, 5 + (uint64_t)f);
        matvec_args args = problem_args(&p);
        kernel_table_get(KERNEL_LEVEL_REF)->matvec[f](&args);
        int is_float = format_get(f)->rule == FORMAT_RULE_FLOAT;
        for (size_t i = 0; i < p.n_rows * p.n_cols; i++) {
            size_t c = i / p.n_rows;
            double sum = 0;
            double size = 0;
            kernel_table_get(KERNEL_LEVEL_REF)->dequantize[f](p.w + i % p.n_rows * args.row_bytes, p.k, w);
            for (size_t e = 0; e < p.k; e++) {
                double x =
                    is_float ? (double)p.x[c * p.k + e] : (double)p.act[c].q[e] * (double)p.act[c].ds[2 * (e / 32)];
                sum += (double)w[e] * x;
                size += fabs((double)w[e] * x);
            }
            if (oracle_factor_table[f].m_at >= 0) size *= 4; /* d * u and dmin * v each exceed their difference */
            if (!(fabs((double)p.y[i] - sum) <= 4e-6 * size + 1e-36)) {
                fail_msg("%s: %.9g, in double %.9g (sum of magnitudes %.3g)", format_get(f)->name, (double)p.y[i], sum,
                         size);
            }
        }
        problem_deinit(&p);
    }
}

/* |P_b| of the format list: the largest |scale * code| that random blocks show, times 32 (16 for NVFP4) times 127. */
static void product_bounds(void **state) {
    (void)state;
    enum { SUPERS = 3000 };
    static float w[SUPERS * 256];
    static float mins[SUPERS * 256];
    static uint8_t row[SUPERS * 1024];
    FOR_EACH_FORMAT(f) {
        const format_traits *t = format_get(f);
        uint64_t seed = 99;
        float top = 0;
        if (t->rule == FORMAT_RULE_FLOAT) continue;
        oracle_fill(f, row, (size_t)SUPERS * 256, &seed);
        oracle_integers(f, row, (size_t)SUPERS * 256, w, mins);
        for (size_t i = 0; i < (size_t)SUPERS * 256; i++) {
            assert_true(w[i] == (float)(int)w[i]);
            top = fabsf(w[i]) > top ? fabsf(w[i]) : top;
        }
        uint32_t bound = (uint32_t)top * (t->rule == FORMAT_RULE_HALF ? 16 : 32) * 127;
        if (bound != t->p_bound) fail_msg("%s: bound %u, listed %u", t->name, bound, t->p_bound);
        assert_true(bound < 1U << 24);
    }
}

/* Reference bits of a problem, one column at a time. */
static float *reference(const problem *p) {
    float *y = malloc(p->n_rows * p->n_cols * sizeof *y);
    assert_non_null(y);
    for (size_t c = 0; c < p->n_cols; c++) {
        matvec_args args = problem_args(p);
        args.act += c;
        args.x += c * p->k;
        args.n_cols = 1;
        args.y = y + c * p->n_rows;
        kernel_table_get(KERNEL_LEVEL_REF)->matvec[p->f](&args);
    }
    return y;
}

static void cuts_level(kernel_level level, format_id f) {
    static const size_t cols[] = {1, 2, 3, 4, 5, 6, 7, 8, COLS_MAX};
    static const size_t rows[] = {1, 3, 4, 7, ROWS_MAX};
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++) {
        problem p;
        problem_init(&p, f, k_of(f, (int)i % 6), rows[i % 5], cols[i], i + 1);
        float *want = reference(&p);
        matvec_args args = problem_args(&p);
        kernel_table_get(level)->matvec[f](&args);
        same_bits(&p, kernel_level_name(level), p.y, want, p.n_rows * p.n_cols);
        free(want);
        problem_deinit(&p);
    }
}

static void cuts(void **state) {
    (void)state;
    for (int level = 0; level < KERNEL_LEVEL_COUNT; level++) {
        if (level_missing((kernel_level)level)) {
            print_message("skipped: this CPU lacks level %s\n", kernel_level_name((kernel_level)level));
            continue;
        }
        FOR_EACH_FORMAT(f) cuts_level((kernel_level)level, f);
    }
}

/* n bytes that end (or begin) at a page that may not be touched. */
typedef struct fenced {
    uint8_t *map;
    size_t map_bytes;
    uint8_t *p;
} fenced;

static fenced fenced_create(size_t n, int at_end) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t body = (n + page - 1) / page * page;
    fenced f = {.map_bytes = body + 2 * page};
    f.map = mmap(NULL, f.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.map != MAP_FAILED);
    assert_int_equal(mprotect(f.map + page, body, PROT_READ | PROT_WRITE), 0);
    f.p = f.map + page + (at_end ? body - n : 0);
    return f;
}

/* Every operand against a guard page of its own, the three parts of the record too; weights thus at odd addresses. */
static void check_fenced(kernel_level level, format_id f, size_t k, int at_end) {
    problem p;
    problem_init(&p, f, k, 5, 1, k + 3);
    float *want = reference(&p);
    matvec_args args = problem_args(&p);
    const void *from[] = {p.w, p.x, p.act[0].q, p.act[0].ds, p.act[0].sum16, want};
    size_t bytes[] = {p.n_rows * args.row_bytes, k * sizeof(float), k, k / 4, k / 4, p.n_rows * sizeof(float)};
    enum { N = sizeof from / sizeof *from };
    fenced fence[N];
    for (int i = 0; i < N; i++) {
        fence[i] = fenced_create(bytes[i], at_end);
        memcpy(fence[i].p, from[i], bytes[i]);
    }
    act_view act = {(int8_t *)fence[2].p, (float *)(void *)fence[3].p, (int32_t *)(void *)fence[4].p, k};
    args.w = fence[0].p;
    args.x = (const float *)(const void *)fence[1].p;
    args.act = &act;
    args.y = (float *)(void *)fence[5].p;
    memset(args.y, 0xee, bytes[5]);
    kernel_table_get(level)->matvec[f](&args);
    same_bits(&p, "at a guard page", args.y, want, p.n_rows);
    float *out = malloc(k * sizeof *out);
    assert_non_null(out);
    kernel_table_get(level)->dequantize[f](args.w, k, out);
    kernel_table_get(level)->act_quantize(args.x, k, act);
    assert_memory_equal(act.q, p.act[0].q, k);
    free(out);
    for (int i = 0; i < N; i++) munmap(fence[i].map, fence[i].map_bytes);
    free(want);
    problem_deinit(&p);
}

static void guard_pages(void **state) {
    (void)state;
    for (int level = 0; level < KERNEL_LEVEL_COUNT; level++) {
        if (level_missing((kernel_level)level)) continue;
        FOR_EACH_FORMAT(f) {
            size_t step = format_get(f)->block_elems < 32 ? 32 : format_get(f)->block_elems;
            for (size_t k = step; k <= 512; k += step) { /* every remainder of a super-block */
                check_fenced((kernel_level)level, f, k, 0);
                check_fenced((kernel_level)level, f, k, 1);
            }
        }
    }
}

/* Row distances wider than a row, and outputs wider than the rows: nothing outside is written. */
static void strides(void **state) {
    (void)state;
    FOR_EACH_FORMAT(f) {
        problem p;
        problem_init(&p, f, k_of(f, 3), 6, 3, 4);
        float *want = reference(&p);
        matvec_args args = problem_args(&p);
        args.row_bytes *= 2;
        args.n_rows = 3;
        args.y_stride = 5;
        float y[15];
        float even[9];
        for (int i = 0; i < 15; i++) y[i] = -7;
        args.y = y;
        for (int i = 0; i < 9; i++) even[i] = want[i / 3 * 6 + i % 3 * 2];
        kernel_table_get(KERNEL_LEVEL_REF)->matvec[f](&args);
        for (size_t c = 0; c < 3; c++) {
            same_bits(&p, "with strides", y + 5 * c, even + 3 * c, 3);
            assert_true(y[5 * c + 3] == -7 && y[5 * c + 4] == -7);
        }
        free(want);
        problem_deinit(&p);
    }
}

/* A NaN or an infinity in a vector makes its own results NaN (a float product of an infinity: not finite) and no other.
 */
static void not_finite(void **state) {
    (void)state;
    for (int level = 0; level < KERNEL_LEVEL_COUNT; level++) {
        if (level_missing((kernel_level)level)) continue;
        FOR_EACH_FORMAT(f) {
            problem p;
            problem_init(&p, f, k_of(f, 2), 4, 4, 8);
            float *want = reference(&p);
            p.x[1 * p.k + 5] = NAN;
            p.x[2 * p.k + 7] = INFINITY;
            for (size_t c = 1; c < 3; c++) {
                kernel_table_get((kernel_level)level)->act_quantize(p.x + c * p.k, p.k, p.act[c]);
            }
            matvec_args args = problem_args(&p);
            kernel_table_get((kernel_level)level)->matvec[f](&args);
            int is_float = format_get(f)->rule == FORMAT_RULE_FLOAT;
            for (size_t r = 0; r < 4; r++) {
                assert_true(isnan(p.y[4 + r]));
                assert_true(is_float ? !isfinite(p.y[8 + r]) : isnan(p.y[8 + r]));
            }
            same_bits(&p, "beside a NaN", p.y, want, 4);
            same_bits(&p, "beside a NaN", p.y + 12, want + 12, 4);
            free(want);
            problem_deinit(&p);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_ref),     cmocka_unit_test(oracle_avx2), cmocka_unit_test(double_sums),
        cmocka_unit_test(product_bounds), cmocka_unit_test(cuts),        cmocka_unit_test(guard_pages),
        cmocka_unit_test(strides),        cmocka_unit_test(not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
