/* Unpacking of the codebook formats: indices choose rows of 4 or 8 elements, masks their signs. Scales become odd
 * integers and d takes the power of two that this leaves over. Always whole super-blocks of 256. Indices are masked to
 * the size of their codebook, so no file can make a read go astray. */
#include <string.h>

#include "kernels/codebooks.h"
#include "kernels/level/bytes.h"
#include "kernels/level/ops.h"

/* A 7-bit sign index: bit 7 makes the number of minus signs even. */
static uint32_t signs_even(uint32_t index) {
#define EVEN1(i)  (uint8_t)((i) | __builtin_parity(i) << 7)
#define EVEN4(i)  EVEN1(i), EVEN1((i) + 1), EVEN1((i) + 2), EVEN1((i) + 3)
#define EVEN16(i) EVEN4(i), EVEN4((i) + 4), EVEN4((i) + 8), EVEN4((i) + 12)
    static const uint8_t even[128] = {EVEN16(0),  EVEN16(16), EVEN16(32), EVEN16(48),
                                      EVEN16(64), EVEN16(80), EVEN16(96), EVEN16(112)};
    return even[index];
}

static uint32_t load32(const uint8_t *p) {
    return (uint32_t)half_load(p) | (uint32_t)half_load(p + 2) << 16;
}

/* A block: four groups of eight, each a row of the codebook and the mask of its minus signs. */
typedef struct groups {
    uint64_t row[4];
    uint64_t mask[4];
} groups;

static inline void groups_store(int8_t *code, const groups *g) {
    uint64_t out[4];
    uint64_t spread[4];
    for (int l = 0; l < 4; l++) spread[l] = g->mask[l] * BYTES_ONES;
    for (int l = 0; l < 4; l++) out[l] = bytes_negate(g->row[l], spread[l]);
    memcpy(code, out, sizeof out);
}

/* Both halves' scales are 2 * nibble + 1. */
static void scales_by_half(const uint8_t *scales, size_t r, superblock *out) {
    for (int b = 0; b < 8; b++) {
        out->scale[r][0][b] = (int16_t)(2 * (scales[b] & 15) + 1);
        out->scale[r][1][b] = (int16_t)(2 * (scales[b] >> 4) + 1);
    }
}

static void scale_both(superblock *out, size_t r, size_t b, uint32_t s) {
    out->scale[r][0][b] = out->scale[r][1][b] = (int16_t)(2 * s + 1);
}

void KERNEL(decode_IQ2_XXS)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    out->d[0][r] = out->d[1][r] = factor_load(p) * 0.125F;
    for (size_t b = 0; b < n_blocks; b++) {
        groups group;
        const uint8_t *g = p + 2 + 8 * b;
        uint32_t v = load32(g + 4);
        scale_both(out, r, b, v >> 28);
        for (size_t l = 0; l < 4; l++) {
            group.row[l] = codebook_iq2xxs[g[l]];
            group.mask[l] = signs_even(v >> 7 * l & 127);
        }
        groups_store(out->code[r] + 32 * b, &group);
    }
}

void KERNEL(decode_IQ2_XS)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    out->d[0][r] = out->d[1][r] = factor_load(p) * 0.125F;
    scales_by_half(p + 66, r, out);
    for (size_t b = 0; b < n_blocks; b++) {
        groups group;
        for (size_t l = 0; l < 4; l++) {
            uint32_t w = half_load(p + 2 + 8 * b + 2 * l);
            group.row[l] = codebook_iq2xs[w & 511];
            group.mask[l] = signs_even(w >> 9);
        }
        groups_store(out->code[r] + 32 * b, &group);
    }
}

void KERNEL(decode_IQ2_S)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    out->d[0][r] = out->d[1][r] = factor_load(p) * 0.125F;
    scales_by_half(p + 74, r, out);
    for (size_t b = 0; b < n_blocks; b++) {
        groups group;
        for (size_t l = 0; l < 4; l++) {
            uint32_t high = p[66 + b] >> 2 * l & 3U;
            group.row[l] = codebook_iq2s[p[2 + 4 * b + l] | high << 8];
            group.mask[l] = p[34 + 4 * b + l];
        }
        groups_store(out->code[r] + 32 * b, &group);
    }
}

static uint64_t two_rows(const uint32_t *codebook, uint32_t first, uint32_t second) {
    return codebook[first] | (uint64_t)codebook[second] << 32;
}

void KERNEL(decode_IQ3_XXS)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    out->d[0][r] = out->d[1][r] = factor_load(p) * 0.25F;
    for (size_t b = 0; b < n_blocks; b++) {
        groups group;
        uint32_t v = load32(p + 66 + 4 * b);
        scale_both(out, r, b, v >> 28);
        for (size_t l = 0; l < 4; l++) {
            const uint8_t *q = p + 2 + 8 * b + 2 * l;
            group.row[l] = two_rows(codebook_iq3xxs, q[0], q[1]);
            group.mask[l] = signs_even(v >> 7 * l & 127);
        }
        groups_store(out->code[r] + 32 * b, &group);
    }
}

void KERNEL(decode_IQ3_S)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    out->d[0][r] = out->d[1][r] = factor_load(p);
    for (size_t b = 0; b < n_blocks; b++) {
        groups group;
        scale_both(out, r, b, p[106 + b / 2] >> 4 * (b % 2) & 15U);
        for (size_t l = 0; l < 4; l++) {
            const uint8_t *q = p + 2 + 8 * b + 2 * l;
            uint32_t high = (uint32_t)p[66 + b] >> 2 * l;
            group.row[l] = two_rows(codebook_iq3s, q[0] | (high & 1) << 8, q[1] | (high >> 1 & 1) << 8);
            group.mask[l] = p[74 + 4 * b + l];
        }
        groups_store(out->code[r] + 32 * b, &group);
    }
}

/* 8 * (-1, 0 or 1) plus or minus 1. */
static void ternary_store(int8_t *codes, size_t group, uint32_t row, int minus) {
    uint64_t eight = codebook_iq1s[row] << 3 & 0xf8 * BYTES_ONES;
    bytes_store(codes + 8 * group, bytes_add(eight, minus ? -1 : 1));
}

void KERNEL(decode_IQ1_S)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    out->d[0][r] = out->d[1][r] = factor_load(p) * 0.125F;
    for (size_t b = 0; b < n_blocks; b++) {
        uint32_t w = half_load(p + 34 + 2 * b);
        scale_both(out, r, b, w >> 12 & 7);
        for (size_t l = 0; l < 4; l++) {
            ternary_store(out->code[r], 4 * b + l, p[2 + 4 * b + l] | (w >> 3 * l & 7) << 8, (w & 0x8000) != 0);
        }
    }
}

void KERNEL(decode_IQ1_M)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    uint32_t sc[4];
    for (int i = 0; i < 4; i++) sc[i] = half_load(p + 48 + 2 * i);
    uint32_t d = sc[0] >> 12 | (sc[1] >> 8 & 0xf0) | (sc[2] >> 4 & 0xf00) | (sc[3] & 0xf000);
    out->d[0][r] = out->d[1][r] = half_to_float((uint16_t)d) * 0.125F;
    for (size_t b = 0; b < n_blocks; b++) {
        for (size_t h = 0; h < 2; h++) {
            out->scale[r][h][b] = (int16_t)(2 * (sc[b / 2] >> (6 * (b % 2) + 3 * h) & 7) + 1);
        }
        for (size_t l = 0; l < 4; l++) {
            uint32_t nibble = p[32 + 2 * b + l / 2] >> 4 * (l % 2) & 15U;
            ternary_store(out->code[r], 4 * b + l, p[4 * b + l] | (nibble & 7) << 8, (nibble & 8) != 0);
        }
    }
}
