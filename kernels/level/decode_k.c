/* Unpacking of the K-quants: super-blocks of 256 with integer scales per 16 or 32 elements. Always whole super-blocks,
 * so the block count is not looked at. */
#include "kernels/level/bytes.h"
#include "kernels/level/ops.h"

/* Two-bit codes: block b = 4 n + j has bits 2j of bytes 32n.. . */
static void two_bits(const uint8_t *restrict qs, int8_t *restrict code) {
    for (int b = 0; b < 8; b++) {
        for (int i = 0; i < 32; i++) code[32 * b + i] = (int8_t)(qs[32 * (b / 4) + i] >> 2 * (b % 4) & 3);
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
    two_bits(p + 16, out->code[r]);
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
    two_bits(p + 32, out->code[r]);
    for (int b = 0; b < 8; b++) { /* a clear bit of the high mask takes 4 off */
        for (int i = 0; i < 32; i++) {
            out->code[r][32 * b + i] = (int8_t)(out->code[r][32 * b + i] - ((~p[i] >> b & 1) << 2));
        }
    }
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
    for (int b = 0; b < 8; b++) {
        for (int i = 0; i < 32; i++) {
            out->code[r][32 * b + i] = (int8_t)(out->code[r][32 * b + i] | (p[16 + i] >> b & 1) << 4);
        }
    }
}

void KERNEL(decode_Q6_K)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    (void)n_blocks;
    out->d[0][r] = out->d[1][r] = factor_load(p + 208);
    for (int i = 0; i < 16; i++) out->scale[r][i % 2][i / 2] = (int8_t)p[192 + i];
    for (int b = 0; b < 8; b++) {
        const uint8_t *low = p + 64 * (b / 4) + 32 * (b % 2);
        const uint8_t *high = p + 128 + 32 * (b / 4);
        int shift = b % 4 < 2 ? 0 : 4;
        for (int i = 0; i < 32; i++) {
            out->code[r][32 * b + i] = (int8_t)(((low[i] >> shift & 15) | (high[i] >> 2 * (b % 4) & 3) << 4) - 32);
        }
    }
}
