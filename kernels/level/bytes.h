/* Eight small integers in the bytes of a uint64_t (little-endian: first in the lowest byte), and block headers. */
#ifndef CONVECT_KERNELS_LEVEL_BYTES_H
#define CONVECT_KERNELS_LEVEL_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/half.h"

#define BYTES_ONES 0x0101010101010101ULL
#define BYTES_HIGH 0x8080808080808080ULL

/* Byte j is 1 where byte j of x has bit j set. */
static inline uint64_t bytes_diagonal(uint64_t x) {
    return ((x & 0x8040201008040201ULL) + 0x7f7f7f7f7f7f7f7fULL) >> 7 & BYTES_ONES;
}

/* Byte j is bit j of mask. */
static inline uint64_t bytes_of_bits(uint32_t mask) {
    return bytes_diagonal(mask * BYTES_ONES);
}

/* Negates byte j where byte j of the mask has bit j set; no byte of x may be 0 (the added 1 would carry over). */
static inline uint64_t bytes_negate(uint64_t x, uint64_t mask) {
    uint64_t set = bytes_diagonal(mask);
    return (x ^ ((set << 8) - set)) + set;
}

/* Each byte plus a small number, within -100..100: the high bit is turned over before and after, so nothing carries. */
static inline uint64_t bytes_add(uint64_t x, int number) {
    return ((x ^ BYTES_HIGH) + (uint64_t)(int64_t)number * BYTES_ONES) ^ BYTES_HIGH;
}

static inline uint64_t bytes_load(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline void bytes_store(int8_t *p, uint64_t x) {
    memcpy(p, &x, sizeof x);
}

/* The f16 factor at p, widened exactly. */
static inline float factor_load(const uint8_t *p) {
#if defined(__F16C__)
    return _cvtsh_ss(half_load(p));
#else
    return half_to_float(half_load(p));
#endif
}

#endif
