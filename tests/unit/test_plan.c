/* The memory plan on made-up sizes: what fits, what is lowered, which change each refusal names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "offload/memory.h"
#include "offload/plan.h"

#define MB 1000000U

typedef struct toy_model {
    uint64_t weights_mb, kv_kb_per_token;
} toy_model;

static void measure_toy(const void *model, size_t n_ctx_tokens, bool has_small_kv, plan_sizes *out) {
    const toy_model *m = model;
    out->bytes[PLAN_WEIGHTS] = m->weights_mb * MB;
    out->bytes[PLAN_KV] = n_ctx_tokens * m->kv_kb_per_token * 1000 / (has_small_kv ? 2 : 1);
    out->bytes[PLAN_STATE] = 60 * MB;
    out->bytes[PLAN_SCRATCH] = 40 * MB;
}

static const toy_model toy = {20000, 100}; /* 20 GB, 0.1 MB a token */

static plan_request request_of(size_t n_ctx_tokens, bool is_fixed, uint64_t ram_mb) {
    return (plan_request){.measure = measure_toy,
                          .model = &toy,
                          .n_ctx_tokens = n_ctx_tokens,
                          .is_ctx_fixed = is_fixed,
                          .small_kv = "--kv int8",
                          .ram_bytes = ram_mb * MB,
                          .is_ram_fixed = true};
}

static void fits_as_wanted(void **state) {
    (void)state;
    plan p;
    convect_error err = {0};
    plan_request r = request_of(8192, true, 20100 + 820);
    assert_int_equal(plan_make(&r, &p, &err), CONVECT_OK);
    assert_true(p.fits);
    assert_int_equal(p.n_ctx_tokens, 8192);
    assert_int_equal(p.total_bytes, 20100ULL * MB + 8192ULL * 100000);
    assert_int_equal(p.sizes.bytes[PLAN_KV], 8192ULL * 100000);
}

/* A context that nobody asked for gives way, to the largest on the grid. */
static void lowers_a_default_context(void **state) {
    (void)state;
    plan p;
    convect_error err = {0};
    plan_request r = request_of(8192, false, 20100 + 300);
    assert_int_equal(plan_make(&r, &p, &err), CONVECT_OK);
    assert_true(p.fits);
    assert_int_equal(p.n_ctx_tokens, 3000 / 64 * 64);
    assert_true(p.total_bytes <= p.ram_bytes);
}

static void refusals_name_the_cheapest_change(void **state) {
    (void)state;
    static const struct {
        size_t n_ctx_tokens;
        uint64_t ram_mb;
        bool has_small_kv;
        const char *says;
        const char *says_not;
    } rows[] = {
        {8192, 20100 + 500, false, "--ctx 4992 fits, or --kv int8", "weights alone"},
        {8192, 20100 + 300, false, "--ctx 2944 fits", "int8"},     /* int8 alone is not enough */
        {8192, 20100 + 300, true, "--ctx 5952 fits", "--kv int8"}, /* asked for already */
        {600, 20100 + 31, false, "--kv int8 fits", "--ctx"},       /* 310 tokens of f16: no --ctx worth naming */
        {8192, 20100 + 40, false, "--kv int8 --ctx 768 fits", "weights alone"},
        {8192, 20100 + 10, false, "no context of 512 tokens", "weights alone"},
        {8192, 12000, false, "weights alone are 20.00 GB", "--ctx"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan p;
        convect_error err = {0};
        plan_request r = request_of(rows[i].n_ctx_tokens, true, rows[i].ram_mb);
        r.has_small_kv = rows[i].has_small_kv;
        assert_int_equal(plan_make(&r, &p, &err), CONVECT_NO_FIT);
        assert_false(p.fits);
        assert_int_equal(p.n_ctx_tokens, rows[i].n_ctx_tokens);
        assert_non_null(strstr(err.text, "allowed by --ram"));
        if (!strstr(err.text, rows[i].says)) fail_msg("row %zu says: %s", i, err.text);
        if (strstr(err.text, rows[i].says_not)) fail_msg("row %zu says: %s", i, err.text);
    }
}

/* What a refusal proposes does fit. */
static void proposals_hold(void **state) {
    (void)state;
    for (uint64_t ram_mb = 20155; ram_mb < 20920; ram_mb += 17) {
        plan p;
        convect_error err = {0};
        plan_request r = request_of(8192, true, ram_mb);
        if (plan_make(&r, &p, &err) == CONVECT_OK) continue;
        const char *at = strstr(err.text, "--ctx ");
        assert_non_null(at);
        size_t n = strtoul(at + strlen("--ctx "), NULL, 10);
        assert_true(n >= PLAN_CTX_MIN_TOKENS);
        r.n_ctx_tokens = n;
        assert_int_equal(plan_make(&r, &p, NULL), CONVECT_OK);
        r.n_ctx_tokens = n + 64; /* and is the largest that does */
        assert_int_equal(plan_make(&r, &p, NULL), CONVECT_NO_FIT);
    }
}

static void measure_huge(const void *model, size_t n_ctx_tokens, bool has_small_kv, plan_sizes *out) {
    (void)model;
    (void)n_ctx_tokens;
    (void)has_small_kv;
    for (size_t i = 0; i < PLAN_PURPOSE_COUNT; i++) out->bytes[i] = UINT64_MAX / 2;
}

static void sums_do_not_wrap(void **state) {
    (void)state;
    plan p;
    plan_request r = request_of(8192, false, 1000);
    r.measure = measure_huge;
    assert_int_equal(plan_make(&r, &p, NULL), CONVECT_NO_FIT);
    assert_true(p.total_bytes == UINT64_MAX);
}

static void machine_has_memory(void **state) {
    (void)state;
    uint64_t n = memory_available_bytes();
    assert_true(n > 16 * MB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_as_wanted),
        cmocka_unit_test(lowers_a_default_context),
        cmocka_unit_test(refusals_name_the_cheapest_change),
        cmocka_unit_test(proposals_hold),
        cmocka_unit_test(sums_do_not_wrap),
        cmocka_unit_test(machine_has_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
