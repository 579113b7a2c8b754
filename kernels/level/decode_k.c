/* Unpacking of the K-quants: super-blocks of 256 with integer scales per 16 or 32 elements. Always whole super-blocks,
 * so the block count is not looked at. */
#include "kernels/level/bytes.h"
#include "kernels/level/ops.h"

/* The loops below spell every shift as a constant: only then does gcc keep them in bytes (Q6_K: 2.4 times faster). */

/* Four blocks of two-bit codes from 32 bytes, the lowest bits first. */
static void two_bits(const uint8_t *restrict qs, int8_t *restrict code) {
    for (int i = 0; i < 32; i++) {
        code[i] = (int8_t)(qs[i] & 3);
        code[32 + i] = (int8_t)(qs[i] >> 2 & 3);
        code[64 + i] = (int8_t)(qs[i] >> 4 & 3);
        code[96 + i] = (int8_t)(qs[i] >> 6);
    }
}

/* Bit b of 32 bytes, times weight, added to the codes of block b. */
static inline void high_bits(const uint8_t *restrict high, int weight, int8_t *restrict code) {
    for (int i = 0; i < 32; i++) {
        code[i] = (int8_t)(code[i] + (high[i] & 1) * weight);
        code[32 + i] = (int8_t)(code[32 + i] + (high[i] >> 1 & 1) * weight);
        code[64 + i] = (int8_t)(code[64 + i] + (high[i] >> 2 & 1) * weight);
        code[96 + i] = (int8_t)(code[96 + i] + (high[i] >> 3 & 1) * weight);
        code[128 + i] = (int8_t)(code[128 + i] + (high[i] >> 4 & 1) * weight);
        code[160 + i] = (int8_t)(code[160 + i] + (high[i] >> 5 & 1) * weight);
        code[192 + i] = (int8_t)(code[192 + i] + (high[i] >> 6 & 1) * weight);
        code[224 + i] = (int8_t)(code[224 + i] + (high[i] >> 7) * weight);
    }
}

void KERNEL(decode_Q2_K)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    (void)n_blocks;
    out->d[0][r] = out->d[1][r] = factor_load(p + 80);
    out->dmin[r] = factor_load(p + 82);
    for (int i = 0; i < 16; i++) {
        out->scale[r][i % 2][i / 2] = p[i] & 15;
        out->min[i % 2][i / 2][r] = p[i] >> 4;
    }
    for (int n = 0; n < 2; n++) two_bits(p + 16 + 32 * n, out->code[r] + 128 * n);
}

void KERNEL(decode_Q3_K)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    (void)n_blocks;
    const uint8_t *sc = p + 96;
    out->d[0][r] = out->d[1][r] = factor_load(p + 108);
    for (int i = 0; i < 16; i++) {
        int low = i < 8 ? sc[i] & 15 : sc[i - 8] >> 4;
        int high = sc[8 + i % 4] >> 2 * (i / 4) & 3;
        out->scale[r][i % 2][i / 2] = (int16_t)((low | high << 4) - 32);
    }
    for (int n = 0; n < 2; n++) two_bits(p + 32 + 32 * n, out->code[r] + 128 * n);
    for (int e = 0; e < SUPERBLOCK_ELEMS; e++) out->code[r][e] = (int8_t)(out->code[r][e] - 4);
    high_bits(p, 4, out->code[r]);
}

/* The 6-bit scale and min of each block, packed in 12 bytes. */
static void scales_and_mins(const uint8_t *s, size_t r, superblock *out) {
    for (int b = 0; b < 4; b++) {
        out->scale[r][0][b] = out->scale[r][1][b] = s[b] & 63;
        out->min[0][b][r] = s[b + 4] & 63;
        out->scale[r][0][b + 4] = out->scale[r][1][b + 4] = (int16_t)((s[b + 8] & 15) | s[b] >> 6 << 4);
        out->min[0][b + 4][r] = (int16_t)(s[b + 8] >> 4 | s[b + 4] >> 6 << 4);
    }
}

/* Blocks 2n and 2n + 1 are the low and high nibbles of bytes 32n.. . */
static void nibble_pairs(const uint8_t *restrict qs, int8_t *restrict code) {
    for (int n = 0; n < 4; n++) {
        for (int i = 0; i < 32; i++) {
            code[64 * n + i] = qs[32 * n + i] & 15;
            code[64 * n + 32 + i] = (int8_t)(qs[32 * n + i] >> 4);
        }
    }
}

void KERNEL(decode_Q4_K)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    (void)n_blocks;
    out->d[0][r] = out->d[1][r] = factor_load(p);
    out->dmin[r] = factor_load(p + 2);
    scales_and_mins(p + 4, r, out);
    nibble_pairs(p + 16, out->code[r]);
}

void KERNEL(decode_Q5_K)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    (void)n_blocks;
    out->d[0][r] = out->d[1][r] = factor_load(p);
    out->dmin[r] = factor_load(p + 2);
    scales_and_mins(p + 4, r, out);
    nibble_pairs(p + 48, out->code[r]);
    high_bits(p + 16, 16, out->code[r]);
}

/* Four blocks: nibbles of 64 bytes (low ones first), two high bits of each from 32 bytes; minus 32. */
static void six_bits(const uint8_t *restrict low, const uint8_t *restrict high, int8_t *restrict code) {
    for (int i = 0; i < 32; i++) {
        code[i] = (int8_t)(((low[i] & 15) | (high[i] & 3) << 4) - 32);
        code[32 + i] = (int8_t)(((low[32 + i] & 15) | (high[i] >> 2 & 3) << 4) - 32);
        code[64 + i] = (int8_t)((low[i] >> 4 | (high[i] >> 4 & 3) << 4) - 32);
        code[96 + i] = (int8_t)((low[32 + i] >> 4 | high[i] >> 6 << 4) - 32);
    }
}

void KERNEL(decode_Q6_K)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    (void)n_blocks;
    out->d[0][r] = out->d[1][r] = factor_load(p + 208);
    for (int i = 0; i < 16; i++) out->scale[r][i % 2][i / 2] = (int8_t)p[192 + i];
    for (int n = 0; n < 2; n++) six_bits(p + 64 * n, p + 128 + 32 * n, out->code[r] + 128 * n);
}

/* Not a K-quant, but packed as Q2_K. */
void KERNEL(decode_TQ2_0)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    (void)n_blocks;
    out->d[0][r] = out->d[1][r] = factor_load(p + 64);
    for (int b = 0; b < SUPERBLOCK_BLOCKS; b++) out->scale[r][0][b] = out->scale[r][1][b] = 1;
    for (int n = 0; n < 2; n++) two_bits(p + 32 * n, out->code[r] + 128 * n);
    for (int e = 0; e < SUPERBLOCK_ELEMS; e++) out->code[r][e] = (int8_t)(out->code[r][e] - 1);
}
