/* An independent evaluation of the quantised products for tests: it never sees an unpacked super-block. The integers of
 * a row come from its dequantised values (which golden blocks prove) after the factors in a copy of its blocks have
 * been set to one or zero; the sums then follow contract 2.2 word by word. */
#ifndef CONVECT_TESTS_CONTRACT_ORACLE_H
#define CONVECT_TESTS_CONTRACT_ORACLE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half.h"
#include "kernels/table.h"

/* The instruction sets of a level, by name; this CPU may lack them. */
static inline int level_missing(kernel_level level) {
    /* every AVX2 CPU has F16C, which clang's builtin does not know */
    return level == KERNEL_LEVEL_AVX2 &&
           !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"));
}

static inline uint64_t oracle_random(uint64_t *s) { /* splitmix64 */
    uint64_t z = (*s += 0x9e3779b97f4a7c15ULL);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

/* Roughly normal, deviation 1. */
static inline float oracle_normal(uint64_t *s) {
    float t = 0;
    for (int i = 0; i < 8; i++) t += (float)(oracle_random(s) >> 40) * 0x1p-24F - 0.5F;
    return t * 1.2247449F;
}

/* Where a format keeps its factors, and the factor that makes its dequantised values integers. */
typedef struct oracle_factors {
    int d_at;       /* byte of the f16 d; -1 MXFP4, -2 NVFP4, -3 IQ1_M */
    int m_at;       /* byte of the f16 dmin or m; -1 if none */
    uint16_t d_one; /* f16 bits: 1, 4 or 8 */
    float share;    /* 1 / d_one */
} oracle_factors;

static const oracle_factors oracle_factor_table[FORMAT_COUNT] = {
    [FORMAT_Q4_0] = {0, -1, 0x3c00, 1},         [FORMAT_Q4_1] = {0, 2, 0x3c00, 1},
    [FORMAT_Q5_0] = {0, -1, 0x3c00, 1},         [FORMAT_Q5_1] = {0, 2, 0x3c00, 1},
    [FORMAT_Q8_0] = {0, -1, 0x3c00, 1},         [FORMAT_Q2_K] = {80, 82, 0x3c00, 1},
    [FORMAT_Q3_K] = {108, -1, 0x3c00, 1},       [FORMAT_Q4_K] = {0, 2, 0x3c00, 1},
    [FORMAT_Q5_K] = {0, 2, 0x3c00, 1},          [FORMAT_Q6_K] = {208, -1, 0x3c00, 1},
    [FORMAT_IQ2_XXS] = {0, -1, 0x4800, 0.125F}, [FORMAT_IQ2_XS] = {0, -1, 0x4800, 0.125F},
    [FORMAT_IQ3_XXS] = {0, -1, 0x4400, 0.25F},  [FORMAT_IQ1_S] = {0, -1, 0x4800, 0.125F},
    [FORMAT_IQ4_NL] = {0, -1, 0x3c00, 1},       [FORMAT_IQ3_S] = {0, -1, 0x3c00, 1},
    [FORMAT_IQ2_S] = {0, -1, 0x4800, 0.125F},   [FORMAT_IQ4_XS] = {0, -1, 0x3c00, 1},
    [FORMAT_IQ1_M] = {-3, -1, 0x4800, 0.125F},  [FORMAT_TQ1_0] = {52, -1, 0x3c00, 1},
    [FORMAT_TQ2_0] = {64, -1, 0x3c00, 1},       [FORMAT_MXFP4] = {-1, -1, 0x3c00, 1},
    [FORMAT_NVFP4] = {-2, -1, 0x3c00, 1},       [FORMAT_Q1_0] = {0, -1, 0x3c00, 1},
    [FORMAT_Q2_0] = {0, -1, 0x3c00, 1},
};

/* Sets the factors of one stored block; MXFP4 and NVFP4 get their own coding of one (values are doubled). */
static inline void oracle_set_factors(format_id id, uint8_t *block, uint16_t d, uint16_t m) {
    oracle_factors f = oracle_factor_table[id];
    if (f.d_at >= 0) half_store(block + f.d_at, d);
    if (f.m_at >= 0) half_store(block + f.m_at, m);
    if (f.d_at == -1) block[0] = 128;
    if (f.d_at == -2) memset(block, 0x40, 4);
    for (int i = 0; f.d_at == -3 && i < 4; i++) {
        block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (d >> 4 * i & 15) << 4);
    }
}

/* Factor d of elements 16 * i on of the row. */
static inline float oracle_d(format_id id, const uint8_t *row, size_t i) {
    const format_traits *t = format_get(id);
    oracle_factors f = oracle_factor_table[id];
    const uint8_t *block = row + 16 * i / t->block_elems * t->block_bytes;
    uint32_t d = 0;
    if (f.d_at == -1) return (float)ldexp(1, block[0] - 128);
    if (f.d_at == -2) {
        int s = block[i % 4];
        if (s == 0x7f) return 0;
        int e = s >> 3 & 15;
        return (float)(0.5 * (e ? ldexp(1 + (s & 7) / 8.0, e - 7) : ldexp(s & 7, -9)));
    }
    for (int k = 0; f.d_at == -3 && k < 4; k++) d |= (uint32_t)(block[49 + 2 * k] >> 4) << 4 * k;
    if (f.d_at >= 0) d = half_load(block + f.d_at);
    return half_to_float((uint16_t)d) * f.share;
}

static inline float oracle_m(format_id id, const uint8_t *row, size_t i) {
    const format_traits *t = format_get(id);
    return half_to_float(half_load(row + 16 * i / t->block_elems * t->block_bytes + oracle_factor_table[id].m_at));
}

/* Integers of a row: w[k] = scale * code; mins[k], each element's integer min (formats with integer mins). */
static inline void oracle_integers(format_id id, const uint8_t *row, size_t k, float *w, float *mins) {
    const format_traits *t = format_get(id);
    size_t bytes = format_row_bytes(id, k);
    uint8_t *copy = malloc(bytes);
    memcpy(copy, row, bytes);
    for (uint8_t *b = copy; b < copy + bytes; b += t->block_bytes) {
        oracle_set_factors(id, b, oracle_factor_table[id].d_one, 0);
    }
    kernel_table_get(KERNEL_LEVEL_REF)->dequantize[id](copy, k, w);
    if (oracle_factor_table[id].m_at >= 0) {
        for (uint8_t *b = copy; b < copy + bytes; b += t->block_bytes) oracle_set_factors(id, b, 0, 0xbc00);
        kernel_table_get(KERNEL_LEVEL_REF)->dequantize[id](copy, k, mins);
    }
    free(copy);
}

/* Exact integer sum of 16 products. */
static inline int64_t oracle_p16(const float *w, const int8_t *q) {
    int64_t p = 0;
    for (int i = 0; i < 16; i++) p += (int64_t)w[i] * q[i];
    return p;
}

/* t of the unit of blocks b0..b1-1 of the row. */
static inline float oracle_unit(format_id id, const uint8_t *row, const float *w, const float *mins, act_view a,
                                size_t b0, size_t b1) {
    format_rule rule = format_get(id)->rule;
    float u = 0;
    float v = 0;
    for (size_t b = b0; b < b1; b++) {
        float da = a.ds[2 * b];
        float s = a.ds[2 * b + 1];
        int64_t lo = oracle_p16(w + 32 * b, a.q + 32 * b);
        int64_t hi = oracle_p16(w + 32 * b + 16, a.q + 32 * b + 16);
        float d = oracle_d(id, row, 2 * b);
        switch (rule) {
        case FORMAT_RULE_HALF:
            u = fmaf(d * da, (float)lo, u);
            u = fmaf(oracle_d(id, row, 2 * b + 1) * da, (float)hi, u);
            break;
        case FORMAT_RULE_BLOCK_MIN:
            v = fmaf(oracle_m(id, row, 2 * b), s, v);
            u = fmaf(d * da, (float)(lo + hi), u);
            break;
        case FORMAT_RULE_BLOCK: u = fmaf(d * da, (float)(lo + hi), u); break;
        case FORMAT_RULE_SUPER_MIN:
            v = fmaf(s, mins[32 * b], v);
            u = fmaf(da, (float)(lo + hi), u);
            break;
        case FORMAT_RULE_SUPER_MIN16:
            v = fmaf(
                da,
                (float)(oracle_p16(mins + 32 * b, a.q + 32 * b) + oracle_p16(mins + 32 * b + 16, a.q + 32 * b + 16)),
                v);
            u = fmaf(da, (float)(lo + hi), u);
            break;
        default: u = fmaf(da, (float)(lo + hi), u); break;
        }
    }
    if (rule == FORMAT_RULE_HALF || rule == FORMAT_RULE_BLOCK) return u;
    if (rule == FORMAT_RULE_BLOCK_MIN) return u + v;
    float t = oracle_d(id, row, 2 * b0) * u;
    return rule == FORMAT_RULE_SUPER ? t : fmaf(-oracle_m(id, row, 2 * b0), v, t);
}

/* t of a unit of an F32, F16 or BF16 row (contract 2.5); w exact f32. */
static inline float oracle_float_unit(const float *w, const float *x, size_t b0, size_t b1) {
    float u = 0;
    for (size_t b = b0; b < b1; b++) {
        float p = 0;
        for (size_t i = 32 * b; i < 32 * b + 32; i++) p = fmaf(w[i], x[i], p);
        u = u + p;
    }
    return u;
}

/* y of one row: w and mins from oracle_integers, or exact values for a float format. */
static inline float oracle_row(format_id id, const uint8_t *row, const float *w, const float *mins, size_t k,
                               act_view a, const float *x) {
    size_t n = k / 32;
    float acc = 0;
    for (size_t b = 0; b < n; b += 8) {
        float t[2] = {0, 0};
        for (size_t h = 0; h < 2; h++) {
            size_t b0 = b + 4 * h < n ? b + 4 * h : n;
            size_t b1 = b0 + 4 < n ? b0 + 4 : n;
            if (b0 == b1) continue;
            t[h] = format_get(id)->rule == FORMAT_RULE_FLOAT ? oracle_float_unit(w, x, b0, b1)
                                                             : oracle_unit(id, row, w, mins, a, b0, b1);
        }
        float s = t[0] + t[1];
        acc = acc + s;
    }
    return acc;
}

/* Random blocks with weight-like factors; about one block in eight is extreme: zero or denormal factors, all codes and
 * scales at one end. */
static inline void oracle_fill(format_id id, uint8_t *row, size_t k, uint64_t *s) {
    const format_traits *t = format_get(id);
    size_t bytes = format_row_bytes(id, k);
    for (size_t i = 0; i < bytes; i++) row[i] = (uint8_t)(oracle_random(s) >> 32);
    for (uint8_t *b = row; b < row + bytes; b += t->block_bytes) {
        uint64_t r = oracle_random(s);
        if (t->rule == FORMAT_RULE_FLOAT) { /* finite, |w| below 2 */
            b[t->block_bytes - 1] &= 0xbf;
            continue;
        }
        if (r % 16 == 1) memset(b, 0xff, t->block_bytes);
        if (r % 16 == 2) memset(b, 0, t->block_bytes);
        uint16_t d = (uint16_t)((r >> 8 & 0x8000) | (4 + (r >> 24) % 8) << 10 | (r >> 40 & 1023));
        uint16_t m = (uint16_t)((r >> 9 & 0x8000) | (4 + (r >> 28) % 8) << 10 | (r >> 50 & 1023));
        if (r % 16 == 3) d &= 1023;
        if (r % 16 == 4) d = 0;
        uint8_t own = (uint8_t)(r % 32 == 5 ? r >> 20 & 3 : 112 + (r >> 20) % 16); /* MXFP4 */
        uint8_t nv[4];
        memcpy(nv, b, 4);
        oracle_set_factors(id, b, d, m);
        if (id == FORMAT_MXFP4) b[0] = own;
        if (id == FORMAT_NVFP4) memcpy(b, nv, 4);
    }
}

#endif
