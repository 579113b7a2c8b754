/* The operations of a forward pass that are no matrix product: arguments, shapes and the order of every sum. One table
 * of functions per instruction-set level, all levels the same bits (numerics contract in engine/ARCHITECTURE.md):
 * - sum16: a sum over a contiguous axis has 16 partials (element i goes to partial i mod 16, rising, by fma from +0),
 *   added as a tree 8-4-2-1;
 * - chain: a sum of scaled rows, one fma per term in rising order, from the value named;
 * - exp and log are our own, 1/sqrt is a square root and a division, each rounded.
 * A kernel is a function of its arguments: no allocation, lock, log or error. Pointers are aligned to 4 bytes and do
 * not overlap unless stated. Any thread; callers split work by the outer index given for each operation. */
#ifndef CONVECT_KERNELS_LAYER_OPS_H
#define CONVECT_KERNELS_LAYER_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/table.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPS_HEAD_DIM_MAX       512 /* largest attention head and DeltaNet state; bounds the kernels' stack buffers */
#define OPS_GROUP_TOKENS       64  /* DeltaNet group on the absolute grid */
#define OPS_KEY_RANGE_TOKENS   256 /* attention partial: keys [256 j, 256 (j + 1)) */
#define OPS_HEADS_PER_CALL_MAX 16  /* query heads that share one KV head in one attention call */
#define OPS_KV_GROUP           64  /* int8 KV: elements of a head that share a scale */

typedef enum ops_kv_type { OPS_KV_F16, OPS_KV_F32, OPS_KV_INT8, OPS_KV_COUNT } ops_kv_type;

/* Keys or values of one head: position p at data + p * stride_bytes. F16: [dim] binary16. F32: [dim] f32. INT8: [dim]
 * codes, then [ceil(dim / 64)] f32 scales at the next multiple of 4; an element is RN(code * scale). */
typedef struct ops_kv_view {
    uint8_t *data;
    size_t stride_bytes;
} ops_kv_view;

/* Bytes of one position of one head, a multiple of 4. */
static inline size_t ops_kv_bytes(ops_kv_type type, size_t dim) {
    switch (type) {
    case OPS_KV_F16: return (2 * dim + 3) & ~(size_t)3;
    case OPS_KV_F32: return 4 * dim;
    case OPS_KV_INT8: return ((dim + 3) & ~(size_t)3) + 4 * ((dim + OPS_KV_GROUP - 1) / OPS_KV_GROUP);
    case OPS_KV_COUNT: break;
    }
    return 0;
}

/* Query heads of one row against one KV head: out[h] = softmax(q[h] . K * scale) V over keys [0, n_keys).
 * Range j holds keys [256 j, min(256 (j + 1), n_keys)): s = RN(sum16(q k) * scale), m_j = max s, p = exp(s - m_j),
 * l_j = sum16(p), a_j = chain over keys of p v from +0. Ranges are merged in rising order, starting from range 0:
 * M = max(m, m_j), f = exp(m - M), f_j = exp(m_j - M), l = fma(l_j, f_j, RN(l f)), a likewise. out = RN(a / l). */
typedef struct ops_attention_args {
    const float *q; /* [n_heads][q_stride], dim values each */
    size_t q_stride;
    size_t n_heads; /* 1..OPS_HEADS_PER_CALL_MAX */
    size_t dim;     /* head size, <= OPS_HEAD_DIM_MAX */
    float scale;    /* 1 / sqrt(dim) */
    ops_kv_type kv_type;
    ops_kv_view k, v;
    size_t n_keys; /* >= 1 */
    float *out;    /* [n_heads][out_stride] */
    size_t out_stride;
} ops_attention_args;

/* Causal depthwise convolution and SiLU over n_rows consecutive rows, channels [c_begin, c_end):
 * u[t][c] = SiLU(chain over tap of w[tap][c] * m[t - (n_taps - 1) + tap][c] from +0), tap 0 oldest. Rows before the
 * first come from hist_in; the last n_taps - 1 rows go to hist_out (may be hist_in). */
typedef struct ops_conv_args {
    const float *m; /* [n_rows][m_stride] before the convolution */
    size_t m_stride;
    const float *w; /* [n_taps][n_channels] */
    size_t n_taps;  /* 2..8 */
    size_t n_channels;
    size_t c_begin, c_end;
    const float *hist_in; /* [n_taps - 1][n_channels], oldest first */
    float *hist_out;
    size_t n_rows;
    float *u; /* [n_rows][u_stride] */
    size_t u_stride;
} ops_conv_args;

/* One V head of Gated DeltaNet over n_rows consecutive rows. State [dv][dk] (row j = column j of the paper's S).
 * Recurrence, per row: S = RN(e^g S); p_j = sum16(S_j k); d_j = RN(beta RN(v_j - p_j)); S_j = fma(d_j, k, S_j);
 * o_j = sum16(S_j q). */
typedef struct ops_deltanet_args {
    const float *q, *k; /* [n_rows][qk_stride], dk values, normalised, q also scaled by 1/sqrt(dk) */
    const float *v;     /* [n_rows][v_stride], dv values */
    size_t qk_stride, v_stride;
    const float *g, *beta; /* [n_rows][gate_stride]: log decay <= 0, and step */
    size_t gate_stride;
    size_t dk, dv; /* multiples of 16, <= OPS_HEAD_DIM_MAX */
    size_t n_rows; /* chunked form: exactly OPS_GROUP_TOKENS */
    const float *state_in;
    float *state_out; /* may be state_in */
    float *out;       /* [n_rows][out_stride] */
    size_t out_stride;
    float *scratch; /* chunked form: ops_deltanet_scratch_floats(dk, dv) floats */
} ops_deltanet_args;

static inline size_t ops_deltanet_scratch_floats(size_t dk, size_t dv) {
    return 2 * OPS_GROUP_TOKENS * OPS_GROUP_TOKENS + OPS_GROUP_TOKENS * (dk + dv) + 3 * OPS_GROUP_TOKENS;
}

typedef struct kernel_ops {
    /* y = RN(RN(x r) w), r = RN(1 / RN(sqrt(RN(RN(sum16(x x) / n) + eps)))). y may be x. */
    void (*rms_norm)(const float *x, const float *w, size_t n, float eps, float *y);
    /* y = RN(RN(x r) scale), r = RN(1 / RN(sqrt(RN(sum16(x x) + eps)))). y may be x. */
    void (*l2_norm)(const float *x, size_t n, float eps, float scale, float *y);
    /* Rotates pairs (i, i + n_pairs) of x in place by angles whose cosine and sine are given, [n_pairs] each. */
    void (*rope)(float *x, const float *cosines, const float *sines, size_t n_pairs);
    /* x = RN(x + y) */
    void (*add)(float *x, const float *y, size_t n);
    /* y = RN(y * scale) */
    void (*scale)(float *y, float scale, size_t n);
    /* x = RN(x * sigmoid(gate)), sigmoid(a) = RN(1 / RN(1 + exp(-a))) */
    void (*sigmoid_gate)(float *x, const float *gate, size_t n);
    /* x = RN(x * SiLU(gate)), SiLU(a) = RN(a / RN(1 + exp(-a))) */
    void (*silu_gate)(float *x, const float *gate, size_t n);
    /* g = RN(a * softplus(RN(alpha + dt))) and beta = sigmoid(beta), in place over alpha and beta */
    void (*deltanet_gates)(float *alpha, float *beta, const float *a, const float *dt, size_t n);
    /* Softmax over n logits and the k best: p_i = exp(logit_i - max); rank by p falling, ties by lower index;
     * weight = RN(p / chain of the k p's in rank order). k <= n. scratch: n floats. */
    void (*router)(const float *logits, size_t n, size_t k, float *scratch, uint32_t *ids, float *weights);
    /* y = chain over ranks e of w[e] * o[e] from +0, elements [0, n); then y = RN(y + RN(shared * gate)), with
     * gate = sigmoid(gate_logit); then x = RN(x + y). */
    void (*moe_combine)(const float *const *o, const float *w, size_t k, const float *shared, float gate_logit,
                        size_t n, float *x);
    /* Stores dim values as position data of a KV head. F16: round to nearest even. INT8: per group of 64,
     * scale = RN(amax / 127), code = rint(RN(x * RN(127 / amax))), all zero where amax < 2^-60; NaN scale if the group
     * holds a NaN or Inf. */
    void (*kv_store)(ops_kv_type type, const float *x, size_t dim, uint8_t *dst);
    void (*attention)(const ops_attention_args *args);
    void (*conv_silu)(const ops_conv_args *args);
    void (*deltanet_steps)(const ops_deltanet_args *args);
    void (*deltanet_group)(const ops_deltanet_args *args);
} kernel_ops;

/* The operations of a level; the caller makes sure that this CPU has it (cpu/features.h). Static storage. */
const kernel_ops *kernel_ops_get(kernel_level level);

#ifdef __cplusplus
}
#endif
#endif
