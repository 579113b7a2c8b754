/* Unpacking of the formats with short blocks (32 to 128 elements) and of the ternary ones. */
#include "kernels/level/bytes.h"
#include "kernels/level/ops.h"

/* Codebook of IQ4_NL and IQ4_XS, and twice the E2M1 values (spec of the formats; kernels/FORMATS.md). */
static const int8_t fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static void scale_one(size_t r, superblock *out) {
    for (int h = 0; h < 2; h++) {
        for (int b = 0; b < SUPERBLOCK_BLOCKS; b++) out->scale[r][h][b] = 1;
    }
}

/* 16 bytes: low nibbles are the first 16 elements, high nibbles the other 16. GNU vectors, because gcc 12 unrolls the
 * plain loops of 16 before it can vectorise them (8 times slower). */
static void nibbles(const uint8_t *qs, int8_t offset, int8_t *code) {
    typedef uint8_t bytes16 __attribute__((vector_size(16)));
    bytes16 q;
    memcpy(&q, qs, sizeof q);
    bytes16 low = (q & 15) + (uint8_t)offset;
    bytes16 high = (q >> 4) + (uint8_t)offset;
    memcpy(code, &low, sizeof low);
    memcpy(code + 16, &high, sizeof high);
}

/* 16 bytes: low nibbles choose the values of the first 16 elements, high nibbles those of the others. */
static void nibbles_mapped(const uint8_t *qs, const int8_t values[16], int8_t *code) {
#if defined(__AVX2__)
    __m128i table = _mm_loadu_si128((const __m128i *)(const void *)values);
    __m128i low = _mm_set1_epi8(15);
    __m128i q = _mm_loadu_si128((const __m128i *)(const void *)qs);
    __m128i high = _mm_and_si128(_mm_srli_epi16(q, 4), low);
    _mm_storeu_si128((__m128i *)(void *)code, _mm_shuffle_epi8(table, _mm_and_si128(q, low)));
    _mm_storeu_si128((__m128i *)(void *)(code + 16), _mm_shuffle_epi8(table, high));
#else
    for (int i = 0; i < 16; i++) {
        code[i] = values[qs[i] & 15];
        code[16 + i] = values[qs[i] >> 4];
    }
#endif
}

/* As nibbles, plus a fifth bit: bit i of the 32 bits at high for element i. */
static void five_bits(const uint8_t *qs, const uint8_t *high, int offset, int8_t *code) {
    for (size_t i = 0; i < 4; i++) {
        uint64_t q = bytes_load(qs + 8 * (i % 2)) >> 4 * (i / 2) & 15 * BYTES_ONES;
        bytes_store(code + 8 * i, bytes_add(q | bytes_of_bits(high[i]) << 4, offset));
    }
}

void KERNEL(decode_Q4_0)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t b = 0; b < n_blocks; b++, p += 18) {
        out->d[b][r] = factor_load(p);
        nibbles(p + 2, -8, out->code[r] + 32 * b);
    }
}

void KERNEL(decode_Q4_1)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t b = 0; b < n_blocks; b++, p += 20) {
        out->d[b][r] = factor_load(p);
        out->m[b][r] = factor_load(p + 2);
        nibbles(p + 4, 0, out->code[r] + 32 * b);
    }
}

void KERNEL(decode_Q5_0)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t b = 0; b < n_blocks; b++, p += 22) {
        out->d[b][r] = factor_load(p);
        five_bits(p + 6, p + 2, -16, out->code[r] + 32 * b);
    }
}

void KERNEL(decode_Q5_1)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t b = 0; b < n_blocks; b++, p += 24) {
        out->d[b][r] = factor_load(p);
        out->m[b][r] = factor_load(p + 2);
        five_bits(p + 8, p + 4, 0, out->code[r] + 32 * b);
    }
}

void KERNEL(decode_Q8_0)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t b = 0; b < n_blocks; b++, p += 34) {
        out->d[b][r] = factor_load(p);
        memcpy(out->code[r] + 32 * b, p + 2, 32);
    }
}

void KERNEL(decode_IQ4_NL)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t b = 0; b < n_blocks; b++, p += 18) {
        out->d[b][r] = factor_load(p);
        nibbles_mapped(p + 2, iq4_values, out->code[r] + 32 * b);
    }
}

void KERNEL(decode_IQ4_XS)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    uint32_t high = half_load(p + 2);
    out->d[0][r] = out->d[1][r] = factor_load(p);
    for (size_t b = 0; b < n_blocks; b++) {
        int s = (p[4 + b / 2] >> 4 * (b & 1) & 15) | (int)(high >> 2 * b & 3) << 4;
        out->scale[r][0][b] = out->scale[r][1][b] = (int16_t)(s - 32);
        nibbles_mapped(p + 8 + 16 * b, iq4_values, out->code[r] + 32 * b);
    }
}

/* Half of the E8M0 power of two, since the codes are doubled: 2^(e - 128), an f32 denormal for e < 2. */
static float mxfp4_scale(uint32_t e) {
    return float_from_bits(e < 2 ? 0x00200000U << e : (e - 1) << 23);
}

void KERNEL(decode_MXFP4)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t b = 0; b < n_blocks; b++, p += 17) {
        out->d[b][r] = mxfp4_scale(p[0]);
        nibbles_mapped(p + 1, fp4_values, out->code[r] + 32 * b);
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

void KERNEL(decode_NVFP4)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t b = 0; b < n_blocks; b++) { /* two blocks of 32 to a stored block; 16 elements share 8 bytes */
        const uint8_t *stored = p + 36 * (b / 2);
        int8_t *code = out->code[r] + 32 * b;
        int8_t nibble[32];
        out->d[2 * b][r] = nvfp4_scale(stored[2 * (b % 2)]);
        out->d[2 * b + 1][r] = nvfp4_scale(stored[2 * (b % 2) + 1]);
        nibbles_mapped(stored + 4 + 16 * (b % 2), fp4_values, nibble);
        for (int i = 0; i < 4; i++) memcpy(code + 8 * i, nibble + 16 * (i % 2) + 8 * (i / 2), 8);
    }
}

void KERNEL(decode_Q1_0)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t unit = 0; unit < n_blocks / 4; unit++, p += 18) {
        int8_t *code = out->code[r] + 128 * unit;
        out->d[unit][r] = factor_load(p);
        for (int i = 0; i < 16; i++) bytes_store(code + 8 * i, ~(bytes_of_bits(p[2 + i]) * 254U)); /* -1 or 1 */
    }
}

void KERNEL(decode_Q2_0)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    scale_one(r, out);
    for (size_t i = 0; i < n_blocks / 2; i++, p += 18) { /* a stored block is two blocks of 32 with one d */
        out->d[2 * i][r] = out->d[2 * i + 1][r] = factor_load(p);
        for (size_t j = 0; j < 8; j++) { /* two bytes, each spread over four */
            uint64_t x = p[2 + 2 * j] | (uint64_t)p[3 + 2 * j] << 32;
            x = (x | x << 6 | x << 12 | x << 18) & 3 * BYTES_ONES;
            bytes_store(out->code[r] + 64 * i + 8 * j, bytes_add(x, -1));
        }
    }
}

/* Digit n (n_digits of them, most significant first) of each of n_bytes base-3 fractions, n outermost. */
static int8_t *ternary_digits(const uint8_t *restrict qs, size_t n_bytes, int n_digits, int8_t *restrict code) {
    uint16_t power = 1;
    for (int n = 0; n < n_digits; n++, power = (uint16_t)(power * 3), code += n_bytes) {
        for (size_t i = 0; i < n_bytes; i++) {
            uint16_t fraction = (uint16_t)(qs[i] * power) & 255;
            code[i] = (int8_t)((uint16_t)(fraction * 3) / 256 - 1);
        }
    }
    return code;
}

void KERNEL(decode_TQ1_0)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out) {
    (void)n_blocks; /* always whole */
    scale_one(r, out);
    out->d[0][r] = out->d[1][r] = factor_load(p + 52);
    int8_t *code = ternary_digits(p, 32, 5, out->code[r]);
    code = ternary_digits(p + 32, 16, 5, code);
    ternary_digits(p + 48, 4, 4, code);
}
