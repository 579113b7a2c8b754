/* Softmax attention over fixed key ranges, and the KV cache's element types. */
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/level/layer_ops.h"

#define KV_TINY_BITS 0x21800000U /* 2^-60, as in the activation record: a group below it is zero */
#define KV_INF_BITS  0x7f800000U

static void halves_widen(const uint8_t *src, size_t n, float *out) {
    size_t i = 0;
#if defined(__F16C__) /* exact, so the same bits as half_to_float */
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(src + 2 * i))));
    }
#endif
    for (; i < n; i++) out[i] = half_to_float(half_load(src + 2 * i));
}

static size_t codes_bytes(size_t dim) {
    return (dim + 3) & ~(size_t)3;
}

static void codes_widen(const uint8_t *src, size_t dim, float *out) {
    for (size_t first = 0; first < dim; first += OPS_KV_GROUP) {
        float scale;
        memcpy(&scale, src + codes_bytes(dim) + 4 * (first / OPS_KV_GROUP), sizeof scale);
        const size_t n = dim - first < OPS_KV_GROUP ? dim - first : OPS_KV_GROUP;
        for (size_t i = first; i < first + n; i++) out[i] = (float)(int8_t)src[i] * scale;
    }
}

/* Values of one position; returns them in place for F32, else in buffer. */
static const float *kv_load(ops_kv_type type, const uint8_t *src, size_t dim, float *buffer) {
    if (type == OPS_KV_F32) return (const float *)(const void *)src;
    if (type == OPS_KV_F16)
        halves_widen(src, dim, buffer);
    else
        codes_widen(src, dim, buffer);
    return buffer;
}

static void group_store(const float *x, size_t n, uint8_t *codes, uint8_t *scale_out) {
    uint32_t magnitude = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = float_bits(x[i]) & 0x7fffffffU;
        magnitude = bits > magnitude ? bits : magnitude;
    }
    float scale = 0, inverse = 0;
    if (magnitude >= KV_INF_BITS) {
        scale = float_from_bits(0x7fc00000U);
    } else if (magnitude >= KV_TINY_BITS) {
        scale = float_from_bits(magnitude) / 127.0F;
        inverse = 127.0F / float_from_bits(magnitude);
    }
    for (size_t i = 0; i < n; i++) {
        const float code = inverse == 0 ? 0.0F : x[i] * inverse;
        codes[i] = (uint8_t)(float_bits(code + NUMERICS_MAGIC) - 0x4b400000U);
    }
    memcpy(scale_out, &scale, sizeof scale);
}

void KERNEL(ops_kv_store)(ops_kv_type type, const float *x, size_t dim, uint8_t *dst) {
    if (type == OPS_KV_F32) {
        memcpy(dst, x, dim * sizeof *x);
    } else if (type == OPS_KV_F16) {
        for (size_t i = 0; i < dim; i++) half_store(dst + 2 * i, half_from_float(x[i]));
    } else {
        for (size_t first = 0; first < dim; first += OPS_KV_GROUP) {
            const size_t n = dim - first < OPS_KV_GROUP ? dim - first : OPS_KV_GROUP;
            group_store(x + first, n, dst + first, dst + codes_bytes(dim) + 4 * (first / OPS_KV_GROUP));
        }
    }
}

/* One range's softmax terms of one head, or the merged result of several. */
typedef struct partial {
    float largest; /* of the scores */
    float total;   /* of the terms */
    float acc[OPS_HEAD_DIM_MAX];
} partial;

/* Scores of all heads over keys [first, first + n): scores[h][i]. */
static void range_scores(const ops_attention_args *a, size_t first, size_t n, float scores[][OPS_KEY_RANGE_TOKENS]) {
    float buffer[OPS_HEAD_DIM_MAX];
    for (size_t i = 0; i < n; i++) {
        const float *k = kv_load(a->kv_type, a->k.data + (first + i) * a->k.stride_bytes, a->dim, buffer);
        for (size_t h = 0; h < a->n_heads; h++) {
            scores[h][i] = numerics_dot(a->q + h * a->q_stride, k, a->dim) * a->scale;
        }
    }
}

/* Turns scores into terms exp(s - max) in place. */
static void range_terms(float *scores, size_t n, partial *out) {
    float largest = scores[0]; /* NOLINT(clang-analyzer-core.uninitialized.Assign): n >= 1 */
    for (size_t i = 1; i < n; i++) largest = scores[i] > largest ? scores[i] : largest;
    for (size_t i = 0; i < n; i++) scores[i] = numerics_exp(scores[i] - largest);
    out->largest = largest;
    out->total = numerics_sum(scores, n);
}

static void range_values(const ops_attention_args *a, size_t first, size_t n, float terms[][OPS_KEY_RANGE_TOKENS],
                         partial *out) {
    float buffer[OPS_HEAD_DIM_MAX];
    for (size_t h = 0; h < a->n_heads; h++) memset(out[h].acc, 0, a->dim * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        const float *v = kv_load(a->kv_type, a->v.data + (first + i) * a->v.stride_bytes, a->dim, buffer);
        for (size_t h = 0; h < a->n_heads; h++) {
            const float p = terms[h][i];
            float *acc = out[h].acc;
            for (size_t d = 0; d < a->dim; d++) acc[d] = fmaf(p, v[d], acc[d]);
        }
    }
}

static void merge(partial *all, const partial *next, size_t dim) {
    const float largest = next->largest > all->largest ? next->largest : all->largest;
    const float f = numerics_exp(all->largest - largest), f_next = numerics_exp(next->largest - largest);
    all->largest = largest;
    all->total = fmaf(next->total, f_next, all->total * f);
    for (size_t d = 0; d < dim; d++) all->acc[d] = fmaf(next->acc[d], f_next, all->acc[d] * f);
}

/* Range [first, first + n) of all heads into out; scores: working space. */
static void range_attend(const ops_attention_args *a, size_t first, size_t n, float scores[][OPS_KEY_RANGE_TOKENS],
                         partial *out) {
    range_scores(a, first, n, scores);
    for (size_t h = 0; h < a->n_heads; h++) range_terms(scores[h], n, &out[h]);
    range_values(a, first, n, scores, out);
}

static size_t range_keys(const ops_attention_args *a, size_t first) {
    const size_t left = a->n_keys - first;
    return left < OPS_KEY_RANGE_TOKENS ? left : OPS_KEY_RANGE_TOKENS;
}

void KERNEL(ops_attention)(const ops_attention_args *a) {
    float scores[OPS_HEADS_PER_CALL_MAX][OPS_KEY_RANGE_TOKENS];
    partial all[OPS_HEADS_PER_CALL_MAX], next[OPS_HEADS_PER_CALL_MAX];
    range_attend(a, 0, range_keys(a, 0), scores, all);
    for (size_t first = OPS_KEY_RANGE_TOKENS; first < a->n_keys; first += OPS_KEY_RANGE_TOKENS) {
        range_attend(a, first, range_keys(a, first), scores, next);
        for (size_t h = 0; h < a->n_heads; h++) merge(&all[h], &next[h], a->dim);
    }
    for (size_t h = 0; h < a->n_heads; h++) {
        float *y = a->out + h * a->out_stride;
        for (size_t d = 0; d < a->dim; d++) y[d] = all[h].acc[d] / all[h].total;
    }
}
