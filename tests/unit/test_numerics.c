/* Activation records (contract 2.1) against an evaluation in double, with their edges; exp, log and what is built of
 * them against libm in double; sums of 16 partials; equal bits at every level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "kernels/numerics.h"
#include "tests/unit/contract_oracle.h"

#define TINY 0x1p-60F

static int same_float(float a, float b) {
    return float_bits(a) == float_bits(b) || (a != a && b != b);
}

/* The record of one block, as the contract words it. */
static void record_oracle(const float *x, int8_t *q, float *da, float *s, int32_t *sum16) {
    uint32_t m = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t bits = float_bits(x[i]) & 0x7fffffffU;
        if (bits > m) m = bits;
    }
    sum16[0] = sum16[1] = 0;
    memset(q, 0, 32);
    *da = *s = m >= 0x7f800000U ? NAN : 0;
    if (m >= 0x7f800000U || m < 0x21800000U) return;
    float a = float_from_bits(m);
    float inv = (float)(127.0 / (double)a);
    for (int i = 0; i < 32; i++) {
        q[i] = (int8_t)rint((double)(float)((double)x[i] * (double)inv));
        sum16[i / 16] += q[i];
    }
    *da = (float)((double)a * (double)0x1.020408p-7F);
    *s = (float)((double)*da * (sum16[0] + sum16[1]));
}

static void check_record(kernel_level level, const float *x) {
    _Alignas(4) uint8_t buf[48];
    int8_t q[32];
    float da;
    float s;
    int32_t sum16[2];
    act_view v = act_view_at(buf, 32);
    memset(buf, 0xee, sizeof buf);
    kernel_table_get(level)->act_quantize(x, 32, v);
    record_oracle(x, q, &da, &s, sum16);
    assert_memory_equal(v.q, q, 32);
    assert_memory_equal(v.sum16, sum16, sizeof sum16);
    assert_true(same_float(v.ds[0], da) && same_float(v.ds[1], s));
    if (da != da) assert_true(float_bits(v.ds[0]) == 0x7fc00000U && float_bits(v.ds[1]) == 0x7fc00000U);
}

static void records_level(kernel_level level) {
    static const float tops[] = {0.0F,   0x1p-149F, 0x1.fffffep-61F, TINY,   -TINY,    0x1.000002p-60F,
                                 1e-30F, 1.0F,      -3.4028235e38F,  127.0F, INFINITY, -INFINITY,
                                 NAN,    -NAN};
    uint64_t seed = 1;
    float x[32];
    for (size_t t = 0; t < sizeof tops / sizeof *tops; t++) {
        for (int i = 0; i < 32; i++) x[i] = (float)(i - 16) / 64.0F * (isfinite(tops[t]) ? tops[t] : 1.0F);
        x[t % 32] = tops[t];
        check_record(level, x);
    }
    for (int i = 0; i < 32; i++) x[i] = (float)(i - 16) + 0.5F; /* inv is 1: ties go to even codes */
    x[0] = 127.0F;
    check_record(level, x);
    for (int n = 0; n < 20000; n++) {
        float size = ldexpf(1.0F, (int)(oracle_random(&seed) % 200) - 90);
        for (int i = 0; i < 32; i++) x[i] = oracle_normal(&seed) * size;
        check_record(level, x);
        float a = fabsf(x[0]); /* then elements a hair from a tie between two codes: the order of the two steps shows */
        for (int i = 1; i < 32; i++) x[i] = ((float)(oracle_random(&seed) % 253) - 126.5F) * (a / 127.0F);
        check_record(level, x);
    }
}

/* The largest code is 127 for every mantissa of the largest element. */
static void largest_code(kernel_level level) {
    _Alignas(4) uint8_t buf[48];
    act_view v = act_view_at(buf, 32);
    float x[32] = {0};
    for (uint32_t mantissa = 0; mantissa < 1U << 23; mantissa += 7) {
        x[3] = float_from_bits(0x3f800000U | mantissa);
        x[9] = -x[3];
        kernel_table_get(level)->act_quantize(x, 32, v);
        if (v.q[3] != 127 || v.q[9] != -127) fail_msg("%a has code %d", (double)x[3], v.q[3]);
    }
}

static void swiglu_level(kernel_level level) {
    enum { N = 4099 };
    static float gate[N], up[N], got[N];
    static const float tails[] = {0.0F,    -0.0F,  87.0F,   88.0F,    89.0F,     -87.0F, -88.0F,
                                  -104.0F, 500.0F, -500.0F, INFINITY, -INFINITY, 1e-30F, -1e-38F};
    uint64_t seed = 2;
    for (int i = 0; i < N; i++) {
        gate[i] = oracle_normal(&seed) * ((i & 7) ? 4.0F : 40.0F);
        up[i] = oracle_normal(&seed);
    }
    memcpy(gate, tails, sizeof tails);
    kernel_table_get(level)->swiglu(gate, up, N, got);
    for (int i = 0; i < N; i++) {
        assert_true(same_float(got[i], numerics_swiglu(gate[i], up[i])));
        if (!isfinite(gate[i])) continue;
        double want = (double)gate[i] / (1 + exp(-fmax((double)gate[i], -88.0))) * (double)up[i];
        double limit = 3e-7 * fabs(want) + 1e-37;
        if (fabs((double)got[i] - want) > limit)
            fail_msg("swiglu(%a): %a, want %a", (double)gate[i], (double)got[i], want);
    }
    float nan_in[4] = {NAN, float_from_bits(0x7fc00001U), 1.0F, float_from_bits(0xffc12345U)};
    float ups[4] = {1, 1, NAN, 1};
    kernel_table_get(level)->swiglu(nan_in, ups, 4, nan_in); /* in place */
    for (int i = 0; i < 4; i++) assert_true(isnan(nan_in[i]));
}

static void on_every_level(void (*check)(kernel_level level)) {
    for (int level = 0; level < KERNEL_LEVEL_COUNT; level++) {
        if (level_missing((kernel_level)level)) {
            print_message("skipped: this CPU lacks level %s\n", kernel_level_name((kernel_level)level));
            continue;
        }
        check((kernel_level)level);
    }
}

static void activation_records(void **state) {
    (void)state;
    on_every_level(records_level);
    on_every_level(largest_code);
}

static void swiglu(void **state) {
    (void)state;
    on_every_level(swiglu_level);
}

static void exp_error(void **state) {
    (void)state;
    double worst = 0;
    for (int i = -80000; i <= 80000; i++) {
        float x = (float)i * 0x1.0624dep-10F; /* about 0.001 */
        double want = exp((double)x);
        worst = fmax(worst, fabs((double)numerics_exp(x) - want) / want);
    }
    print_message("exp: largest relative error %.3g\n", worst);
    assert_true(worst <= 7.7e-8);
    assert_true(numerics_exp(0) == 1.0F && numerics_exp(-0.0F) == 1.0F);
    assert_true(numerics_exp(-INFINITY) == numerics_exp(-87.0F) && numerics_exp(INFINITY) == numerics_exp(88.0F));
    for (uint32_t payload = 0; payload < 64; payload++) {
        assert_true(isnan(numerics_exp(float_from_bits(0x7fc00000U | payload))));
        assert_true(isnan(numerics_sigmoid(float_from_bits(0xffc00000U | payload))));
    }
}

/* Every bit of exp and SwiGLU on -90..90, as the contract's prototype computed them: another polynomial of the same
 * accuracy would make CPU and GPU differ. */
static void exp_bits(void **state) {
    (void)state;
    uint64_t hash = 0xcbf29ce484222325ULL; /* FNV-1a, 64 bits */
    for (int i = -36864; i <= 36864; i++) {
        float x = (float)i * 0x1.4p-9F;
        uint32_t bits[2] = {float_bits(numerics_exp(x)), float_bits(numerics_swiglu(x, 0.75F))};
        for (int k = 0; k < 8; k++) hash = (hash ^ (bits[k / 4] >> 8 * (k % 4) & 255U)) * 0x100000001b3ULL;
    }
    assert_true(hash == 0x847a857e98557573ULL);
}

static void log_error(void **state) {
    (void)state;
    uint64_t seed = 3;
    double worst = 0;
    double worst_softplus = 0;
    for (int i = 0; i < 400000; i++) {
        float x = float_from_bits(0x00800000U + (uint32_t)(oracle_random(&seed) % 0x7f000000U));
        if (i % 4 == 0) x = 1.0F + (oracle_normal(&seed)) * 0.1F;
        worst = fmax(worst, fabs((double)numerics_log(x) - log((double)x)) / fmax(fabs(log((double)x)), 1e-3));
        float z = oracle_normal(&seed) * 20.0F;
        double want = log1p(exp((double)z));
        worst_softplus = fmax(worst_softplus, fabs((double)numerics_softplus(z) - want) / want);
    }
    print_message("log, softplus: largest relative error %.3g, %.3g\n", worst, worst_softplus);
    assert_true(worst <= 2e-7 && worst_softplus <= 3e-7);
    assert_true(numerics_log(1.0F) == 0.0F && numerics_log(INFINITY) == INFINITY && isnan(numerics_log(NAN)));
    assert_true(numerics_softplus(1000.0F) == 1000.0F && numerics_softplus(INFINITY) == INFINITY);
    assert_true(numerics_softplus(-INFINITY) < 1e-37F && isnan(numerics_softplus(NAN)));
    assert_true(numerics_rsqrt(4.0F) == 0.5F && numerics_sigmoid(0) == 0.5F);
}

/* The order of a sum, spelled out. */
static void partial_sums(void **state) {
    (void)state;
    uint64_t seed = 4;
    float x[100];
    float y[100];
    for (size_t n = 0; n <= 100; n++) {
        float dot[16] = {0};
        float sum[16] = {0};
        for (size_t i = 0; i < n; i++) {
            x[i] = oracle_normal(&seed);
            y[i] = oracle_normal(&seed);
            dot[i % 16] = fmaf(x[i], y[i], dot[i % 16]);
            sum[i % 16] = sum[i % 16] + x[i];
        }
        for (int w = 8; w; w /= 2) {
            for (int j = 0; j < w; j++) {
                dot[j] += dot[j + w];
                sum[j] += sum[j + w];
            }
        }
        assert_true(same_float(numerics_dot(x, y, n), dot[0]) && same_float(numerics_sum(x, n), sum[0]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activation_records), cmocka_unit_test(swiglu),    cmocka_unit_test(exp_error),
        cmocka_unit_test(exp_bits),           cmocka_unit_test(log_error), cmocka_unit_test(partial_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
