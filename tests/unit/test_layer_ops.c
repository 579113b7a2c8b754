/* Layer operations (kernels/layer_ops.h): every level gives the same bits, and each operation agrees with a double
 * oracle. Tolerances are relative to the root mean square of the oracle and stand beside each check; the single errors
 * are a few f32 roundings (6e-8) of sums of 64-1000 terms, or f16 and int8 rounding where named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/features.h"
#include "kernels/layer_ops.h"
#include "kernels/rope.h"

static uint64_t seed = 1;

static double uniform(void) { /* [-1, 1) */
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(seed >> 11) * 0x1p-52 - 1;
}

static float *random_floats(size_t n, double scale) {
    float *x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = (float)(scale * uniform());
    return x;
}

static float *copy_floats(const float *x, size_t n) {
    float *y = malloc((n + 1) * sizeof *y);
    assert_non_null(y);
    memcpy(y, x, n * sizeof *x);
    return y;
}

/* Largest |a - b| over rms(b). */
static double distance(const float *a, const double *b, size_t n) {
    double worst = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = fabs((double)a[i] - b[i]);
        if (!(d <= worst)) worst = d;
        sum += b[i] * b[i];
    }
    return worst / sqrt(sum / (double)n + 1e-300);
}

static const kernel_ops *level_ops(int level) {
    return cpu_has_level((kernel_level)level) ? kernel_ops_get((kernel_level)level) : NULL;
}

/* for (ops of each level that this CPU has) */
#define FOR_LEVELS(ops)                                                                                                \
    for (int level_ = 0; level_ < KERNEL_LEVEL_COUNT; level_++)                                                        \
        for (const kernel_ops *ops = level_ops(level_); ops; ops = NULL)

/* Keeps the first level's bytes and compares the others with them. */
static void same_bits(const void *now, void *first, size_t n_bytes, int level) {
    if (level == 0)
        memcpy(first, now, n_bytes);
    else
        assert_memory_equal(now, first, n_bytes);
}

static void norms(void **state) {
    (void)state;
    static const size_t sizes[] = {32, 64, 96, 100, 2048};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t n = sizes[s];
        float *x = random_floats(n, 3), *w = random_floats(n, 1), y[2048], first[2048], first_l2[2048];
        double sum = 0, want[2048], want_l2[2048];
        for (size_t i = 0; i < n; i++) sum += (double)x[i] * x[i];
        for (size_t i = 0; i < n; i++) {
            want[i] = x[i] / sqrt(sum / (double)n + 1e-6) * w[i];
            want_l2[i] = x[i] / sqrt(sum + 1e-6) * 0.125;
        }
        FOR_LEVELS(ops) {
            ops->rms_norm(x, w, n, 1e-6F, y);
            assert_true(distance(y, want, n) < 1e-6);
            same_bits(y, first, n * sizeof *y, level_);
            memcpy(y, x, n * sizeof *y);
            ops->l2_norm(y, n, 1e-6F, 0.125F, y);
            assert_true(distance(y, want_l2, n) < 1e-6);
            same_bits(y, first_l2, n * sizeof *y, level_);
        }
        free(x), free(w);
    }
}

/* An all-zero row gives zeros, not NaN: transformers' form of both norms. */
static void norms_of_zero(void **state) {
    (void)state;
    FOR_LEVELS(ops) {
        float x[64] = {0}, w[64], y[64];
        for (size_t i = 0; i < 64; i++) w[i] = 1;
        ops->rms_norm(x, w, 64, 1e-6F, y);
        for (size_t i = 0; i < 64; i++) assert_true(y[i] == 0);
        ops->l2_norm(x, 64, 1e-6F, 1, y);
        for (size_t i = 0; i < 64; i++) assert_true(y[i] == 0);
    }
}

static void rope(void **state) {
    (void)state;
    const size_t n_pairs = 32;
    float frequencies[32], cosines[32], sines[32];
    uint8_t axes[32];
    rope_frequencies(1e7, n_pairs, frequencies);
    rope_axes((const int64_t[3]){11, 11, 10}, n_pairs, axes);
    size_t n_axis[3] = {0};
    for (size_t i = 0; i < n_pairs; i++) n_axis[axes[i]]++;
    assert_int_equal(n_axis[0], 11), assert_int_equal(n_axis[1], 11), assert_int_equal(n_axis[2], 10);
    assert_int_equal(axes[31], 1), assert_int_equal(axes[29], 2), assert_int_equal(axes[30], 0);
    static const int32_t positions[][3] = {
        {0, 0, 0}, {1, 1, 1}, {77, 5, 12}, {262143, 262143, 262143}, {1000000, 3, 9}};
    for (size_t p = 0; p < sizeof positions / sizeof positions[0]; p++) {
        rope_angles(positions[p], axes, frequencies, n_pairs, cosines, sines);
        float *x = random_floats(2 * n_pairs, 2), first[64];
        double want[64];
        for (size_t i = 0; i < n_pairs; i++) {
            assert_true(fabs((double)frequencies[i] / pow(1e7, -(double)i / 32) - 1) < 2e-7);
            const double angle = (float)positions[p][axes[i]] * frequencies[i]; /* f32 product, as transformers */
            assert_true(fabs(cosines[i] - cos(angle)) < 6e-8 && fabs(sines[i] - sin(angle)) < 6e-8);
            want[i] = x[i] * cos(angle) - x[i + 32] * sin(angle);
            want[i + 32] = x[i + 32] * cos(angle) + x[i] * sin(angle);
        }
        FOR_LEVELS(ops) {
            float y[64];
            memcpy(y, x, sizeof y);
            ops->rope(y, cosines, sines, n_pairs);
            assert_true(distance(y, want, 64) < 1e-6);
            same_bits(y, first, sizeof y, level_);
        }
        free(x);
    }
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void gates(void **state) {
    (void)state;
    enum { N = 203 };
    float *x = random_floats(N, 2), *g = random_floats(N, 10), *dt = random_floats(N, 3), *a = random_floats(N, 1);
    float first[4][N];
    double want[4][N];
    g[0] = 80, g[1] = -80, g[2] = 0, dt[0] = 0, dt[1] = 0;
    for (size_t i = 0; i < N; i++) {
        want[0][i] = x[i] * sigmoid(g[i]);
        want[1][i] = x[i] * (g[i] * sigmoid(g[i]));
        want[2][i] = a[i] * log1p(exp((double)g[i] + dt[i]));
        want[3][i] = sigmoid(x[i]);
    }
    FOR_LEVELS(ops) {
        float *y[4] = {copy_floats(x, N), copy_floats(x, N), copy_floats(g, N), copy_floats(x, N)};
        ops->sigmoid_gate(y[0], g, N);
        ops->silu_gate(y[1], g, N);
        ops->deltanet_gates(y[2], y[3], a, dt, N);
        for (size_t k = 0; k < 4; k++) {
            assert_true(distance(y[k], want[k], N) < 1e-6);
            same_bits(y[k], first[k], N * sizeof(float), level_);
            free(y[k]);
        }
    }
    free(x), free(g), free(dt), free(a);
}

static void router(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{1, 1}, {7, 2}, {32, 4}, {256, 8}, {512, 10}, {9, 9}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const size_t n = shapes[s][0], k = shapes[s][1];
        float *logits = random_floats(n, 4), *scratch = random_floats(n, 1), weights[10], first_w[10];
        uint32_t ids[10], first_ids[10];
        if (n > 8) logits[3] = logits[8] = 5; /* a tie at the top: the lower index first */
        FOR_LEVELS(ops) {
            ops->router(logits, n, k, scratch, ids, weights);
            double sum = 0;
            for (size_t e = 0; e < k; e++) sum += exp((double)logits[ids[e]] - logits[ids[0]]);
            for (size_t e = 0; e < k; e++) {
                assert_true(fabs(weights[e] - exp((double)logits[ids[e]] - logits[ids[0]]) / sum) < 1e-6);
                if (e > 0) assert_true(logits[ids[e]] <= logits[ids[e - 1]]);
            }
            for (size_t i = 0; i < n; i++) { /* nothing outside the choice is larger than its last */
                bool is_chosen = false;
                for (size_t e = 0; e < k; e++) is_chosen = is_chosen || ids[e] == i;
                if (!is_chosen) assert_true(logits[i] <= logits[ids[k - 1]]);
            }
            if (n > 8) assert_true(ids[0] == 3 && ids[1] == 8);
            same_bits(ids, first_ids, k * sizeof *ids, level_);
            same_bits(weights, first_w, k * sizeof *weights, level_);
        }
        free(logits), free(scratch);
    }
}

/* A damaged model's NaN logits must still name k distinct experts: ids become addresses. */
static void router_of_nan(void **state) {
    (void)state;
    FOR_LEVELS(ops) {
        float logits[16], scratch[16], weights[8];
        uint32_t ids[8];
        for (size_t n_nan = 1; n_nan <= 16; n_nan += 5) {
            for (size_t i = 0; i < 16; i++) logits[i] = i < n_nan ? NAN : (float)i;
            ops->router(logits, 16, 8, scratch, ids, weights);
            for (size_t e = 0; e < 8; e++) {
                assert_true(ids[e] < 16);
                for (size_t j = 0; j < e; j++) assert_true(ids[j] != ids[e]);
            }
        }
    }
}

static void combine(void **state) {
    (void)state;
    enum { N = 100, K = 3 };
    float *o[K], *shared = random_floats(N, 1), *x = random_floats(N, 1), first[N];
    const float w[K] = {0.5F, 0.3F, 0.2F};
    for (size_t e = 0; e < K; e++) o[e] = random_floats(N, 2);
    double want[N];
    for (size_t i = 0; i < N; i++) {
        want[i] = x[i] + shared[i] * sigmoid(0.7F);
        for (size_t e = 0; e < K; e++) want[i] += (double)w[e] * o[e][i];
    }
    FOR_LEVELS(ops) {
        float *y = copy_floats(x, N);
        ops->moe_combine((const float *const *)o, w, K, shared, 0.7F, N, y);
        assert_true(distance(y, want, N) < 1e-6);
        same_bits(y, first, N * sizeof *y, level_);
        free(y);
    }
    for (size_t e = 0; e < K; e++) free(o[e]);
    free(shared), free(x);
}

/* Attention over n_keys positions against a double softmax of the unrounded keys and values. */
static void attention_case(ops_kv_type type, size_t dim, size_t n_heads, size_t n_keys, double tolerance) {
    const size_t bytes = ops_kv_bytes(type, dim);
    float *k = random_floats(n_keys * dim, 1), *v = random_floats(n_keys * dim, 1),
          *q = random_floats(n_heads * dim, 2);
    uint8_t *keys = calloc(n_keys, bytes), *values = calloc(n_keys, bytes), *first_kv = calloc(n_keys, bytes);
    float *out = random_floats(n_heads * dim, 1), *first = random_floats(n_heads * dim, 1);
    double *want = calloc(n_heads * dim, sizeof *want), *p = calloc(n_keys, sizeof *p);
    assert_true(keys && values && first_kv && want && p);
    const double scale = 1 / sqrt((double)dim);
    for (size_t h = 0; h < n_heads; h++) {
        double sum = 0;
        for (size_t i = 0; i < n_keys; i++) {
            double s = 0;
            for (size_t d = 0; d < dim; d++) s += (double)q[h * dim + d] * k[i * dim + d];
            sum += p[i] = exp(s * scale);
        }
        for (size_t i = 0; i < n_keys; i++)
            for (size_t d = 0; d < dim; d++) want[h * dim + d] += p[i] / sum * v[i * dim + d];
    }
    FOR_LEVELS(ops) {
        for (size_t i = 0; i < n_keys; i++) {
            ops->kv_store(type, k + i * dim, dim, keys + i * bytes);
            ops->kv_store(type, v + i * dim, dim, values + i * bytes);
        }
        same_bits(keys, first_kv, n_keys * bytes, level_);
        ops_attention_args args = {.q = q,
                                   .q_stride = dim,
                                   .n_heads = n_heads,
                                   .dim = dim,
                                   .scale = (float)scale,
                                   .kv_type = type,
                                   .k = {keys, bytes},
                                   .v = {values, bytes},
                                   .n_keys = n_keys,
                                   .out = out,
                                   .out_stride = dim};
        ops->attention(&args);
        const double d = distance(out, want, n_heads * dim);
        if (!(d < tolerance)) fail_msg("kv %d dim %zu heads %zu keys %zu: %.2e", type, dim, n_heads, n_keys, d);
        same_bits(out, first, n_heads * dim * sizeof *out, level_);
        for (size_t h = 0; h < n_heads; h++) { /* a head alone gives the same bits */
            args.q = q + h * dim, args.n_heads = 1, args.out = out + h * dim;
            ops->attention(&args);
        }
        assert_memory_equal(out, first, n_heads * dim * sizeof *out);
    }
    free(k), free(v), free(q), free(keys), free(values), free(first_kv), free(out), free(first), free(want), free(p);
}

static void attention(void **state) {
    (void)state;
    static const size_t n_keys[] = {1, 2, 63, 255, 256, 257, 513, 900};
    for (size_t i = 0; i < sizeof n_keys / sizeof n_keys[0]; i++) {
        attention_case(OPS_KV_F32, 128, 4, n_keys[i], 1e-5);
        attention_case(OPS_KV_F16, 256, 8, n_keys[i], 3e-3);  /* rounding of K and V: 2^-11 each */
        attention_case(OPS_KV_INT8, 64, 16, n_keys[i], 6e-2); /* half a step of amax / 127 each */
    }
    attention_case(OPS_KV_INT8, 96, 1, 300, 6e-2); /* a last group of 32 */
    attention_case(OPS_KV_F16, 32, 3, 300, 3e-3);
}

static void int8_groups(void **state) {
    (void)state;
    FOR_LEVELS(ops) {
        float x[96] = {0};
        uint8_t store[96 + 8];
        for (size_t i = 0; i < 64; i++) x[i] = (float)i - 32; /* amax 32: code -127 at 0; second group all zero */
        ops->kv_store(OPS_KV_INT8, x, 96, store);
        float scale[2];
        memcpy(scale, store + 96, sizeof scale);
        assert_true(scale[0] == 32.0F / 127.0F && scale[1] == 0);
        assert_int_equal((int8_t)store[0], -127);
        assert_int_equal((int8_t)store[33], 4); /* 1 * 127 / 32 = 3.97 */
        for (size_t i = 64; i < 96; i++) assert_int_equal(store[i], 0);
        x[70] = INFINITY;
        ops->kv_store(OPS_KV_INT8, x, 96, store);
        memcpy(scale, store + 96, sizeof scale);
        assert_true(scale[0] == 32.0F / 127.0F && isnan(scale[1]));
    }
}

static void convolution(void **state) {
    (void)state;
    enum { C = 70, T = 9 };
    for (size_t n_taps = 2; n_taps <= 5; n_taps++) {
        const size_t n_history = n_taps - 1;
        float *m = random_floats(T * C, 2), *w = random_floats(n_taps * C, 1),
              *history = random_floats(n_history * C, 2);
        float u[T * C], first[T * C], step[T * C], rolled[4 * C];
        double want[T * C];
        for (size_t t = 0; t < T; t++) {
            for (size_t c = 0; c < C; c++) {
                double sum = 0;
                for (size_t tap = 0; tap < n_taps; tap++) {
                    const size_t at = t + tap;
                    const float x = at < n_history ? history[at * C + c] : m[(at - n_history) * C + c];
                    sum += (double)w[tap * C + c] * x;
                }
                want[t * C + c] = sum * sigmoid(sum);
            }
        }
        FOR_LEVELS(ops) {
            float *hist = copy_floats(history, n_history * C);
            ops_conv_args args = {.m = m,
                                  .m_stride = C,
                                  .w = w,
                                  .n_taps = n_taps,
                                  .n_channels = C,
                                  .c_end = C,
                                  .hist_in = hist,
                                  .hist_out = hist,
                                  .n_rows = T,
                                  .u = u,
                                  .u_stride = C};
            ops->conv_silu(&args);
            assert_true(distance(u, want, T * C) < 1e-6);
            same_bits(u, first, sizeof u, level_);
            assert_memory_equal(hist, m + (T - n_history) * C, n_history * C * sizeof *hist);
            /* one row at a time, channels in two parts, history handed from row to row */
            memcpy(rolled, history, n_history * C * sizeof(float));
            for (size_t t = 0; t < T; t++) {
                args.m = m + t * C, args.n_rows = 1, args.hist_in = args.hist_out = rolled, args.u = step + t * C;
                args.c_begin = 0, args.c_end = 33;
                ops->conv_silu(&args);
                args.c_begin = 33, args.c_end = C;
                ops->conv_silu(&args);
            }
            assert_memory_equal(step, u, sizeof u);
            assert_memory_equal(rolled, hist, n_history * C * sizeof(float));
            free(hist);
        }
        free(m), free(w), free(history);
    }
}

typedef struct delta_data {
    size_t d, n_rows;
    float *q, *k, *v, *g, *beta, *state;
} delta_data;

static delta_data make_delta(size_t d, size_t n_rows, double decay) {
    delta_data x = {d,
                    n_rows,
                    random_floats(n_rows * d, 1),
                    random_floats(n_rows * d, 1),
                    random_floats(n_rows * d, 1),
                    random_floats(n_rows, 1),
                    random_floats(n_rows, 1),
                    random_floats(d * d, 0.3)};
    const kernel_ops *ops = kernel_ops_get(KERNEL_LEVEL_REF);
    for (size_t t = 0; t < n_rows; t++) {
        ops->l2_norm(x.q + t * d, d, 1e-6F, 1.0F / sqrtf((float)d), x.q + t * d);
        ops->l2_norm(x.k + t * d, d, 1e-6F, 1, x.k + t * d);
        x.g[t] = (float)(-decay * (x.g[t] + 1) / 2);
        x.beta[t] = (x.beta[t] + 1) / 2;
    }
    return x;
}

static void free_delta(delta_data *x) {
    free(x->q), free(x->k), free(x->v), free(x->g), free(x->beta), free(x->state);
}

static ops_deltanet_args delta_args(const delta_data *x, const float *in, float *state, float *out, float *scratch) {
    return (ops_deltanet_args){.q = x->q,
                               .k = x->k,
                               .v = x->v,
                               .qk_stride = x->d,
                               .v_stride = x->d,
                               .g = x->g,
                               .beta = x->beta,
                               .gate_stride = 1,
                               .dk = x->d,
                               .dv = x->d,
                               .n_rows = x->n_rows,
                               .state_in = in,
                               .state_out = state,
                               .out = out,
                               .out_stride = x->d,
                               .scratch = scratch};
}

/* The recurrence in double, state transposed as in the kernels. */
static void delta_oracle(const delta_data *x, double *s, double *out) {
    const size_t d = x->d;
    for (size_t i = 0; i < d * d; i++) s[i] = x->state[i];
    for (size_t t = 0; t < x->n_rows; t++) {
        for (size_t j = 0; j < d; j++) {
            double p = 0, o = 0;
            for (size_t i = 0; i < d; i++) p += (s[j * d + i] *= exp((double)x->g[t])) * x->k[t * d + i];
            const double correction = x->beta[t] * (x->v[t * d + j] - p);
            for (size_t i = 0; i < d; i++) o += (s[j * d + i] += correction * x->k[t * d + i]) * x->q[t * d + i];
            out[t * d + j] = o;
        }
    }
}

/* Recurrence and chunked form against the oracle and each other: within 1e-4 by contract, about 1e-6 in fact. */
static void deltanet_case(size_t d, double decay) {
    const size_t n = OPS_GROUP_TOKENS;
    delta_data x = make_delta(d, n, decay);
    double *want_s = calloc(d * d, sizeof *want_s), *want = calloc(n * d, sizeof *want);
    float *s = random_floats(d * d, 1), *out = random_floats(n * d, 1), *again = random_floats(d * d, 1);
    float *scratch = random_floats(ops_deltanet_scratch_floats(d, d), 1);
    float *first[4];
    for (size_t i = 0; i < 4; i++) first[i] = random_floats(n * d + d * d, 1);
    assert_true(want_s && want);
    delta_oracle(&x, want_s, want);
    FOR_LEVELS(ops) {
        ops_deltanet_args args = delta_args(&x, x.state, s, out, scratch);
        ops->deltanet_steps(&args);
        assert_true(distance(out, want, n * d) < 1e-5 && distance(s, want_s, d * d) < 1e-5);
        same_bits(out, first[0], n * d * sizeof *out, level_);
        same_bits(s, first[1], d * d * sizeof *s, level_);
        ops->deltanet_group(&args);
        const double worst = fmax(distance(out, want, n * d), distance(s, want_s, d * d));
        if (!(worst < 1e-5)) fail_msg("chunked d %zu decay %g: %.2e", d, decay, worst);
        same_bits(out, first[2], n * d * sizeof *out, level_);
        same_bits(s, first[3], d * d * sizeof *s, level_);
        /* in place, and row by row: the same bits */
        memcpy(again, x.state, d * d * sizeof *again);
        args.state_in = args.state_out = again;
        ops->deltanet_group(&args);
        assert_memory_equal(again, s, d * d * sizeof *again);
        memcpy(again, x.state, d * d * sizeof *again);
        for (size_t t = 0; t < n; t++) {
            ops_deltanet_args row = delta_args(&x, again, again, out + t * d, scratch);
            row.q += t * d, row.k += t * d, row.v += t * d, row.g += t, row.beta += t, row.n_rows = 1;
            ops->deltanet_steps(&row);
        }
        assert_memory_equal(out, first[0], n * d * sizeof *out);
        assert_memory_equal(again, first[1], d * d * sizeof *again);
    }
    for (size_t i = 0; i < 4; i++) free(first[i]);
    free(want_s), free(want), free(s), free(out), free(again), free(scratch);
    free_delta(&x);
}

static void deltanet(void **state) {
    (void)state;
    deltanet_case(32, 0.1);
    deltanet_case(64, 1);
    deltanet_case(128, 0.02);
    deltanet_case(128, 20); /* e^-1280 over the group: nothing may overflow or become NaN */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms),       cmocka_unit_test(norms_of_zero), cmocka_unit_test(rope),
        cmocka_unit_test(gates),       cmocka_unit_test(router),        cmocka_unit_test(router_of_nan),
        cmocka_unit_test(combine),     cmocka_unit_test(attention),     cmocka_unit_test(int8_groups),
        cmocka_unit_test(convolution), cmocka_unit_test(deltanet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
