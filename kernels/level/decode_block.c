/* Unpacking of the formats with short blocks (32 to 128 elements) and of the ternary ones. */
#include <string.h>

#include "kernels/half.h"
#include "kernels/level/ops.h"

/* Codebook of IQ4_NL and IQ4_XS, and twice the E2M1 values (spec of the formats; kernels/FORMATS.md). */
static const int8_t fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static void scale_one(superblock *out) {
    for (int h = 0; h < 2; h++) {
        for (int b = 0; b < SUPERBLOCK_BLOCKS; b++) out->scale[h][b] = 1;
    }
}

/* 16 bytes: low nibbles are the first 16 elements, high nibbles the other 16. */
static void nibbles(const uint8_t *restrict qs, int offset, int8_t *restrict code) {
    for (int i = 0; i < 16; i++) {
        code[i] = (int8_t)((qs[i] & 15) + offset);
        code[16 + i] = (int8_t)((qs[i] >> 4) + offset);
    }
}

static void nibbles_mapped(const uint8_t *qs, int n, const int8_t values[16], int8_t *code) {
    for (int i = 0; i < n; i++) {
        code[i] = values[qs[i] & 15];
        code[n + i] = values[qs[i] >> 4];
    }
}

/* As nibbles, plus a fifth bit from qh: bit i for element i. */
static void five_bits(const uint8_t *restrict qs, const uint8_t *restrict high, int offset, int8_t *restrict code) {
    uint32_t qh = (uint32_t)half_load(high) | (uint32_t)half_load(high + 2) << 16;
    for (int i = 0; i < 16; i++) {
        code[i] = (int8_t)(((qs[i] & 15) | (int)(qh >> i & 1) << 4) + offset);
        code[16 + i] = (int8_t)(((qs[i] >> 4) | (int)(qh >> (16 + i) & 1) << 4) + offset);
    }
}

void KERNEL(decode_Q4_0)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t b = 0; b < n_blocks; b++, p += 18) {
        out->d[b] = half_to_float(half_load(p));
        nibbles(p + 2, -8, out->code + 32 * b);
    }
}

void KERNEL(decode_Q4_1)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t b = 0; b < n_blocks; b++, p += 20) {
        out->d[b] = half_to_float(half_load(p));
        out->m[b] = half_to_float(half_load(p + 2));
        nibbles(p + 4, 0, out->code + 32 * b);
    }
}

void KERNEL(decode_Q5_0)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t b = 0; b < n_blocks; b++, p += 22) {
        out->d[b] = half_to_float(half_load(p));
        five_bits(p + 6, p + 2, -16, out->code + 32 * b);
    }
}

void KERNEL(decode_Q5_1)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t b = 0; b < n_blocks; b++, p += 24) {
        out->d[b] = half_to_float(half_load(p));
        out->m[b] = half_to_float(half_load(p + 2));
        five_bits(p + 8, p + 4, 0, out->code + 32 * b);
    }
}

void KERNEL(decode_Q8_0)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t b = 0; b < n_blocks; b++, p += 34) {
        out->d[b] = half_to_float(half_load(p));
        memcpy(out->code + 32 * b, p + 2, 32);
    }
}

void KERNEL(decode_IQ4_NL)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t b = 0; b < n_blocks; b++, p += 18) {
        out->d[b] = half_to_float(half_load(p));
        nibbles_mapped(p + 2, 16, iq4_values, out->code + 32 * b);
    }
}

void KERNEL(decode_IQ4_XS)(const uint8_t *p, size_t n_blocks, superblock *out) {
    uint32_t high = half_load(p + 2);
    out->d[0] = out->d[1] = half_to_float(half_load(p));
    for (size_t b = 0; b < n_blocks; b++) {
        int s = (p[4 + b / 2] >> 4 * (b & 1) & 15) | (int)(high >> 2 * b & 3) << 4;
        out->scale[0][b] = out->scale[1][b] = (int16_t)(s - 32);
        nibbles_mapped(p + 8 + 16 * b, 16, iq4_values, out->code + 32 * b);
    }
}

/* Half of the E8M0 power of two, since the codes are doubled: 2^(e - 128), an f32 denormal for e < 2. */
static float mxfp4_scale(uint32_t e) {
    return float_from_bits(e < 2 ? 0x00200000U << e : (e - 1) << 23);
}

void KERNEL(decode_MXFP4)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t b = 0; b < n_blocks; b++, p += 17) {
        out->d[b] = mxfp4_scale(p[0]);
        nibbles_mapped(p + 1, 16, fp4_values, out->code + 32 * b);
    }
}

/* Half of an E4M3 value without sign, since the codes are doubled; 0x7f (NaN) counts as 0. */
static float nvfp4_scale(uint32_t s) {
    uint32_t exponent = s >> 3 & 15;
    float mantissa = (float)(s & 7);
    if (s == 0x7f) return 0.0F;
    if (exponent == 0) return mantissa * 0x1p-10F;
    return (8.0F + mantissa) * float_from_bits((exponent + 116U) << 23); /* 2^(exponent - 7 - 3 - 1) */
}

void KERNEL(decode_NVFP4)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t i = 0; i < 2 * n_blocks; i++) { /* 16 elements; four of them to a stored block */
        const uint8_t *block = p + 36 * (i / 4);
        out->d[i] = nvfp4_scale(block[i % 4]);
        nibbles_mapped(block + 4 + 8 * (i % 4), 8, fp4_values, out->code + 16 * i);
    }
}

void KERNEL(decode_Q1_0)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t unit = 0; unit < n_blocks / 4; unit++, p += 18) {
        int8_t *code = out->code + 128 * unit;
        out->d[unit] = half_to_float(half_load(p));
        for (int i = 0; i < 128; i++) code[i] = (int8_t)((p[2 + i / 8] >> i % 8 & 1) * 2 - 1);
    }
}

void KERNEL(decode_Q2_0)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    for (size_t i = 0; i < n_blocks / 2; i++, p += 18) { /* a stored block is two blocks of 32 with one d */
        int8_t *code = out->code + 64 * i;
        out->d[2 * i] = out->d[2 * i + 1] = half_to_float(half_load(p));
        for (int j = 0; j < 64; j++) code[j] = (int8_t)((p[2 + j / 4] >> 2 * (j % 4) & 3) - 1);
    }
}

/* Digit n (n_digits of them, most significant first) of each of n_bytes base-3 fractions, n outermost. */
static int8_t *ternary_digits(const uint8_t *qs, int n_bytes, int n_digits, int8_t *code) {
    uint32_t power = 1;
    for (int n = 0; n < n_digits; n++, power *= 3) {
        for (int i = 0; i < n_bytes; i++) *code++ = (int8_t)((int)((qs[i] * power & 255U) * 3U >> 8) - 1);
    }
    return code;
}

void KERNEL(decode_TQ1_0)(const uint8_t *p, size_t n_blocks, superblock *out) {
    (void)n_blocks; /* always whole */
    scale_one(out);
    out->d[0] = out->d[1] = half_to_float(half_load(p + 52));
    int8_t *code = ternary_digits(p, 32, 5, out->code);
    code = ternary_digits(p + 32, 16, 5, code);
    ternary_digits(p + 48, 4, 4, code);
}

void KERNEL(decode_TQ2_0)(const uint8_t *p, size_t n_blocks, superblock *out) {
    scale_one(out);
    out->d[0] = out->d[1] = half_to_float(half_load(p + 64));
    for (size_t b = 0; b < n_blocks; b++) {
        const uint8_t *qs = p + 32 * (b / 4);
        for (int i = 0; i < 32; i++) out->code[32 * b + i] = (int8_t)((qs[i] >> 2 * (b % 4) & 3) - 1);
    }
}
