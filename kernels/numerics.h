/* The float arithmetic that every level computes with the same bits: exp, log and what is built of them, reciprocal
 * square root, sums of 16 partials. No libm in a result: libm changes between systems. exp and swiglu are the numerics
 * contract (2.3 in engine/ARCHITECTURE.md). Needs -ffp-contract=off; pure; any thread. C only. */
#ifndef CONVECT_KERNELS_NUMERICS_H
#define CONVECT_KERNELS_NUMERICS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/half.h"

/* Adding 1.5 * 2^23 rounds |x| < 2^22 to an integer, ties to even, which then stands in the low bits. */
#define NUMERICS_MAGIC 12582912.0F

/* e^x, x clamped to [-87, 88], NaN stays NaN. Relative error <= 7.7e-8 on [-80, 80]. Degree-7 Taylor sum after taking
 * out n * ln 2, with ln 2 in two parts so that r is exact to the last bits. */
static inline float numerics_exp(float x) {
    float c = x < -87.0F ? -87.0F : x;
    c = c > 88.0F ? 88.0F : c;
    float z = fmaf(c, 0x1.715476p+0F, NUMERICS_MAGIC);
    float n = z - NUMERICS_MAGIC;
    float r = fmaf(n, -0x1.62e430p-1F, c);
    r = fmaf(n, 0x1.05c610p-29F, r);
    float p = 0x1.a01a02p-13F;       /* 1/5040 */
    p = fmaf(p, r, 0x1.6c16c2p-10F); /* 1/720 */
    p = fmaf(p, r, 0x1.111112p-7F);  /* 1/120 */
    p = fmaf(p, r, 0x1.555556p-5F);  /* 1/24 */
    p = fmaf(p, r, 0x1.555556p-3F);  /* 1/6 */
    p = fmaf(p, r, 0.5F);
    p = fmaf(p, r, 1.0F);
    p = fmaf(p, r, 1.0F);
    float y = float_from_bits(float_bits(p) + (float_bits(z) << 23));
    return x == x ? y : x; /* a NaN's payload must not reach the exponent */
}

/* ln x for normal x > 0 (relative error <= 1.5e-7 away from 1, absolute 1e-7 near it); +Inf and NaN pass through; other
 * x are the caller's bug. x = 2^e * m with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(s), s = (m - 1) / (m + 1). */
static inline float numerics_log(float x) {
    uint32_t bits = float_bits(x) - 0x3f3504f3U; /* bits of sqrt(1/2) */
    float e = (float)((int32_t)bits >> 23);
    float m = float_from_bits((bits & 0x7fffffU) + 0x3f3504f3U);
    float f = m - 1.0F;
    float s = f / (2.0F + f);
    float q = s * s;
    float p = 0x1.3b13b2p-3F;       /* 2/13 */
    p = fmaf(p, q, 0x1.745d18p-3F); /* 2/11 */
    p = fmaf(p, q, 0x1.c71c72p-3F); /* 2/9 */
    p = fmaf(p, q, 0x1.24924ap-2F); /* 2/7 */
    p = fmaf(p, q, 0x1.99999ap-2F); /* 2/5 */
    p = fmaf(p, q, 0x1.555556p-1F); /* 2/3 */
    float t = (p * q) * s;          /* 2 atanh(s) = 2 s + t */
    float y = fmaf(e, -0x1.05c610p-29F, t);
    y = fmaf(2.0F, s, y);
    y = fmaf(e, 0x1.62e430p-1F, y);
    return x < INFINITY ? y : x;
}

/* ln(1 + x) for x in [0, 1]: the rounding of 1 + x is put back by the derivative 1 / (1 + x). */
static inline float numerics_log1p(float x) {
    float u = 1.0F + x;
    return numerics_log(u) + (x - (u - 1.0F)) / u;
}

static inline float numerics_sigmoid(float x) {
    return 1.0F / (1.0F + numerics_exp(-x));
}

/* ln(1 + e^x), without overflow: max(x, 0) + ln(1 + e^-|x|). */
static inline float numerics_softplus(float x) {
    return (x > 0.0F ? x : 0.0F) + numerics_log1p(numerics_exp(x > 0.0F ? -x : x));
}

static inline float numerics_silu(float x) {
    return x / (1.0F + numerics_exp(-x));
}

static inline float numerics_swiglu(float gate, float up) {
    return numerics_silu(gate) * up;
}

/* 1 / sqrt(x) as two IEEE steps: the approximate instruction differs between makers. */
static inline float numerics_rsqrt(float x) {
    return 1.0F / sqrtf(x);
}

/* The one order of long float sums: 16 partials, element i into partial i mod 16, rising; then a tree 8-4-2-1. Vector
 * registers of 4, 8 or 16 floats all compute exactly this. */
enum { NUMERICS_PARTIALS = 16 };

static inline float numerics_tree16(float p[NUMERICS_PARTIALS]) {
    for (int width = 8; width >= 1; width /= 2) {
        for (int j = 0; j < width; j++) p[j] = p[j] + p[j + width];
    }
    return p[0];
}

/* Sum of x[i] * y[i], each added with one rounding; x and y may be the same. */
static inline float numerics_dot(const float *x, const float *y, size_t n) {
    float p[NUMERICS_PARTIALS] = {0};
    size_t i = 0;
    for (; i + NUMERICS_PARTIALS <= n; i += NUMERICS_PARTIALS) {
        for (size_t j = 0; j < NUMERICS_PARTIALS; j++) p[j] = fmaf(x[i + j], y[i + j], p[j]);
    }
    for (size_t j = 0; i + j < n; j++) p[j] = fmaf(x[i + j], y[i + j], p[j]);
    return numerics_tree16(p);
}

/* Sum of x[i]. */
static inline float numerics_sum(const float *x, size_t n) {
    float p[NUMERICS_PARTIALS] = {0};
    size_t i = 0;
    for (; i + NUMERICS_PARTIALS <= n; i += NUMERICS_PARTIALS) {
        for (size_t j = 0; j < NUMERICS_PARTIALS; j++) p[j] = p[j] + x[i + j];
    }
    for (size_t j = 0; i + j < n; j++) p[j] = p[j] + x[i + j];
    return numerics_tree16(p);
}

#endif
