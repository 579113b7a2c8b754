#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sampler.h"
#include "kernels/philox.h"

#define PLAIN                                                                                                          \
    (sampler_options) {                                                                                                \
        .temperature = 1, .top_p = 1, .seed = 7                                                                        \
    }

/* Known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds). */
static void philox_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t want[4];
    } cases[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         UINT64_C(0x299f31d0a4093822),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        philox_block counter;
        memcpy(counter.w, cases[i].counter, sizeof counter.w);
        philox_block got = philox(counter, cases[i].key);
        assert_memory_equal(got.w, cases[i].want, sizeof got.w);
    }
}

static sampler *create(sampler_options options, size_t n_vocab, size_t n_real, const bool *banned) {
    sampler *s = NULL;
    convect_error err = {0};
    if (sampler_create(&options, n_vocab, n_real, banned, &s, &err) != CONVECT_OK) fail_msg("%s", err.text);
    return s;
}

static int32_t pick(sampler *s, const float *logits, uint64_t i_step) {
    int32_t id = -1;
    assert_int_equal(sampler_pick(s, logits, i_step, &id, NULL), CONVECT_OK);
    return id;
}

/* Counts n draws into counts[n_vocab]. */
static void count(sampler_options options, const float *logits, size_t n_vocab, const bool *banned, size_t n,
                  size_t *counts) {
    sampler *s = create(options, n_vocab, n_vocab, banned);
    memset(counts, 0, n_vocab * sizeof *counts);
    for (size_t i = 0; i < n; i++) counts[pick(s, logits, i)]++;
    sampler_destroy(s);
}

static void greedy(void **state) {
    (void)state;
    float logits[6] = {1, 3, -2, 3, 9, 10};
    bool banned[6] = {[4] = true};
    sampler_options options = {.temperature = 0};
    sampler *s = create(options, 6, 5, banned);
    assert_int_equal(pick(s, logits, 0), 1); /* lowest id of the equal ones; 4 is banned, 5 not real */
    logits[3] = nextafterf(3, 4);
    assert_int_equal(pick(s, logits, 0), 3);
    for (int i = 0; i < 6; i++) logits[i] = -1e30F;
    assert_int_equal(pick(s, logits, 0), 0);
    sampler_destroy(s);
}

/* 200,000 draws against the softmax: chi-square with 7 degrees of freedom below its 99.9 % point. The seed is fixed, so
 * the result is too. */
static void distribution(void **state) {
    (void)state;
    static const float logits[8] = {0.5F, 2, -1, 1.25F, 0, -3, 1.9F, 0.1F};
    enum { N = 200000 };
    for (int k = 0; k < 3; k++) {
        sampler_options options = {.temperature = k == 0   ? 1
                                                  : k == 1 ? 0.6F
                                                           : 2,
                                   .top_p = 1,
                                   .min_p = k == 2 ? 1e-6F : 0,
                                   .seed = (uint64_t)k << 40 | 5};
        size_t counts[8];
        count(options, logits, 8, NULL, N, counts);
        double sum = 0, chi_square = 0;
        for (int i = 0; i < 8; i++) sum += exp((double)logits[i] / (double)options.temperature);
        for (int i = 0; i < 8; i++) {
            double want = N * exp((double)logits[i] / (double)options.temperature) / sum;
            chi_square += ((double)counts[i] - want) * ((double)counts[i] - want) / want;
        }
        if (!(chi_square < 24.32)) fail_msg("chi-square %g at temperature %g", chi_square, (double)options.temperature);
    }
}

static void draws_depend_on_seed_and_step_alone(void **state) {
    (void)state;
    float logits[100];
    for (int i = 0; i < 100; i++) logits[i] = sinf((float)i * 7);
    sampler *a = create(PLAIN, 100, 100, NULL), *b = create(PLAIN, 100, 100, NULL);
    sampler_options other = PLAIN;
    other.seed = 8;
    sampler *c = create(other, 100, 100, NULL);
    int n_same = 0;
    for (uint64_t i = 0; i < 200; i++) (void)pick(b, logits, 1000 + i); /* history does not matter */
    for (uint64_t i = 0; i < 200; i++) {
        int32_t id = pick(a, logits, i);
        assert_int_equal(pick(b, logits, i), id);
        n_same += pick(c, logits, i) == id;
    }
    assert_true(n_same < 50);
    assert_int_equal(pick(a, logits, 0) == pick(a, logits, UINT64_C(1) << 32) &&
                         pick(a, logits, 1) == pick(a, logits, UINT64_C(1) << 32 | 1) &&
                         pick(a, logits, 2) == pick(a, logits, UINT64_C(1) << 32 | 2),
                     0); /* the step's upper half counts */
    sampler_destroy(a);
    sampler_destroy(b);
    sampler_destroy(c);
}

/* Which of the 6 tokens ever appear. */
static void check_kept(sampler_options options, const float *logits, const char *want) {
    size_t counts[6];
    count(options, logits, 6, NULL, 3000, counts);
    for (int i = 0; i < 6; i++)
        if ((counts[i] > 0) != (want[i] == '1')) fail_msg("token %d came %zu times, wanted %s", i, counts[i], want);
}

static void truncation(void **state) {
    (void)state;
    /* shares 0.4 0.2 0.2 0.1 0.08 0.02, in the order 2 0 4 1 3 5 */
    const float logits[6] = {logf(0.2F), logf(0.1F), logf(0.4F), logf(0.08F), logf(0.2F), logf(0.02F)};
    sampler_options o = PLAIN;
    check_kept(o, logits, "111111");
    o.top_k = 1;
    check_kept(o, logits, "001000");
    o.top_k = 2; /* 0 and 4 are equal: the lower id stays */
    check_kept(o, logits, "101000");
    o.top_k = 100;
    check_kept(o, logits, "111111");
    o = PLAIN;
    o.top_p = 0.39F;
    check_kept(o, logits, "001000");
    o.top_p = 0.41F;
    check_kept(o, logits, "101000");
    o.top_p = 0.81F;
    check_kept(o, logits, "111010");
    o.top_p = 1e-30F; /* at least one */
    check_kept(o, logits, "001000");
    o.top_k = 3; /* of the three best, 0.8 in all: 0.5 0.25 0.25 */
    o.top_p = 0.49F;
    check_kept(o, logits, "001000");
    o.top_p = 0.7F;
    check_kept(o, logits, "101000");
    o = PLAIN;
    o.min_p = 0.24F;
    check_kept(o, logits, "111010");
    o.min_p = 0.26F;
    check_kept(o, logits, "101010");
    o.min_p = 0.99F;
    check_kept(o, logits, "001000");
    o.top_k = 4;
    o.min_p = 0.15F;
    check_kept(o, logits, "111010");
}

static void banned_never_appear(void **state) {
    (void)state;
    float logits[50];
    bool banned[50] = {0};
    for (int i = 0; i < 50; i++) {
        logits[i] = (float)(i % 5);
        banned[i] = i % 3 == 0;
    }
    for (int k = 0; k < 2; k++) {
        sampler_options o = PLAIN;
        o.top_k = k == 0 ? 0 : 10;
        sampler *s = create(o, 50, 40, banned);
        for (uint64_t i = 0; i < 5000; i++) {
            int32_t id = pick(s, logits, i);
            assert_true(id >= 0 && id < 40 && !banned[id]);
        }
        sampler_destroy(s);
    }
}

static void extremes(void **state) {
    (void)state;
    float logits[3] = {3e38F, -3e38F, 2.9e38F};
    sampler_options o = PLAIN;
    sampler *s = create(o, 3, 3, NULL);
    for (uint64_t i = 0; i < 100; i++) assert_int_equal(pick(s, logits, i), 0);
    sampler_destroy(s);
    o.temperature = 1e-30F;
    const float near[3] = {1, nextafterf(1, 2), 1};
    s = create(o, 3, 3, NULL);
    for (uint64_t i = 0; i < 100; i++) assert_int_equal(pick(s, near, i), 1);
    sampler_destroy(s);
}

/* 300,000 equal logits: every part of the vocabulary is reached, and top-k takes the lowest ids. */
static void large_vocabulary(void **state) {
    (void)state;
    enum { N = 300000 };
    float *logits = calloc(N, sizeof *logits);
    assert_non_null(logits);
    sampler *s = create(PLAIN, N, N, NULL);
    sampler_options o = PLAIN;
    o.top_k = 20;
    sampler *top = create(o, N, N, NULL);
    size_t tenths[10] = {0};
    for (uint64_t i = 0; i < 50; i++) {
        tenths[pick(s, logits, i) / (N / 10)]++;
        assert_true(pick(top, logits, i) < 20);
    }
    for (int i = 0; i < 10; i++) assert_true(tenths[i] > 0);
    sampler_destroy(s);
    sampler_destroy(top);
    free(logits);
}

static void faults(void **state) {
    (void)state;
    sampler *s = NULL;
    const sampler_options bad[] = {{.temperature = -1, .top_p = 1},
                                   {.temperature = NAN, .top_p = 1},
                                   {.temperature = INFINITY, .top_p = 1},
                                   {.temperature = 1, .top_p = 0},
                                   {.temperature = 1, .top_p = 1.5F},
                                   {.temperature = 1, .top_p = NAN},
                                   {.temperature = 1, .top_p = 1, .min_p = 1},
                                   {.temperature = 1, .top_p = 1, .min_p = -0.1F}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(sampler_create(&bad[i], 4, 4, NULL, &s, NULL), CONVECT_USAGE);
    const bool all[4] = {true, true, true, true};
    const sampler_options good = PLAIN;
    assert_int_equal(sampler_create(&good, 4, 4, all, &s, NULL), CONVECT_USAGE);
    assert_int_equal(sampler_create(&good, 4, 5, NULL, &s, NULL), CONVECT_USAGE);
    assert_int_equal(sampler_create(&good, 0, 0, NULL, &s, NULL), CONVECT_USAGE);
    assert_null(s);
    for (int k = 0; k < 2; k++) {
        s = create((sampler_options){.temperature = (float)k, .top_p = 1}, 4, 3, NULL);
        for (int i = 0; i < 4; i++) {
            float logits[4] = {0, 1, 2, 3};
            logits[i] = i % 2 ? NAN : -INFINITY;
            int32_t id;
            convect_error err = {0};
            assert_int_equal(sampler_pick(s, logits, 0, &id, &err), CONVECT_DAMAGED);
            assert_non_null(strstr(err.text, (const char *[]){"token 0", "token 1", "token 2", "token 3"}[i]));
        }
        sampler_destroy(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(greedy),
        cmocka_unit_test(distribution),
        cmocka_unit_test(draws_depend_on_seed_and_step_alone),
        cmocka_unit_test(truncation),
        cmocka_unit_test(banned_never_appear),
        cmocka_unit_test(extremes),
        cmocka_unit_test(large_vocabulary),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
