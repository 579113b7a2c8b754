/* IEEE binary16 and bfloat16 <-> f32 in integer arithmetic: the same bits on every CPU. Pure; any thread. */
#ifndef CONVECT_KERNELS_HALF_H
#define CONVECT_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint32_t float_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float float_from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Round to nearest even; at and above 65520 infinity; a NaN stays a quiet NaN. */
static inline uint16_t half_from_float(float f) {
    uint32_t bits = float_bits(f);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000U);
    uint32_t mag = bits & 0x7fffffffU;
    if (mag > 0x7f800000U) return (uint16_t)(sign | 0x7e00U);
    if (mag >= 0x47800000U) return (uint16_t)(sign | 0x7c00U); /* >= 2^16 */
    if (mag < 0x38800000U) {                                   /* < 2^-14: one ulp of 0.5 is 2^-24 */
        return (uint16_t)(sign | (float_bits(float_from_bits(mag) + 0.5F) - 0x3f000000U));
    }
    return (uint16_t)(sign | ((mag - 0x38000000U + 0xfffU + ((mag >> 13) & 1U)) >> 13));
}

static inline float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000U) << 16;
    uint32_t exponent = (h >> 10) & 31U;
    uint32_t mantissa = h & 0x3ffU;
    if (exponent == 31) return float_from_bits(sign | 0x7f800000U | (mantissa << 13));
    if (exponent == 0) {
        float mag = (float)mantissa * 0x1p-24F;
        return sign ? -mag : mag;
    }
    return float_from_bits(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

/* Unaligned little-endian load and store of a binary16 inside a block. */
static inline uint16_t half_load(const uint8_t *p) {
    return (uint16_t)(p[0] | (uint32_t)p[1] << 8);
}

static inline void half_store(uint8_t *p, uint16_t h) {
    p[0] = (uint8_t)h;
    p[1] = (uint8_t)(h >> 8);
}

/* Round to nearest even; a NaN stays a quiet NaN. */
static inline uint16_t bf16_from_float(float f) {
    uint32_t bits = float_bits(f);
    if ((bits & 0x7fffffffU) > 0x7f800000U) return (uint16_t)((bits >> 16) | 0x40U);
    return (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

static inline float bf16_to_float(uint16_t h) {
    return float_from_bits((uint32_t)h << 16);
}

#ifdef __cplusplus
}
#endif
#endif
