/* The quantised products (contract 2.2) and dequantisation, written once per rule over unpacked super-blocks. A tile of
 * rows is unpacked once and meets every vector; a row's partial result waits in y between stretches of the row. The
 * order of every float operation is fixed by the rule, so tiles and levels change no bit. */
#include <math.h>
#include <stdbool.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/level/ops.h"

enum {
    TILE_ROWS = 4,        /* a vector is read from L1 this many times once it is there */
    TILE_SUPERBLOCKS = 8, /* 4 x 8 unpacked super-blocks are 15 KiB: half an L1 */
};

/* One super-block's share of an activation record. */
typedef struct act_part {
    const int8_t *q;
    const float *ds;
    const int32_t *sum16;
} act_part;

static int32_t dot16(const int8_t *restrict code, const int8_t *restrict q) {
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) sum += code[i] * q[i];
    return sum;
}

/* Exact integers of n blocks: p[0][b] and p[1][b] of their halves. */
static void halves_plain(const superblock *sb, const int8_t *q, size_t n, int32_t p[2][SUPERBLOCK_BLOCKS]) {
    for (size_t b = 0; b < n; b++) {
        p[0][b] = sb->scale[0][b] * dot16(sb->code + 32 * b, q + 32 * b);
        p[1][b] = sb->scale[1][b] * dot16(sb->code + 32 * b + 16, q + 32 * b + 16);
    }
}

#if defined(__AVX2__)
/* Eight partial sums of block b. |code| <= 128 and |q| <= 127 give pairs of at most 32,512: no saturation. The scales
 * lie as [half][block], one half in each lane, so that one shuffle spreads those of block b. */
static inline __m256i block_partials(const superblock *sb, const int8_t *q, __m256i scales, int b) {
    __m256i code = _mm256_load_si256((const __m256i *)(const void *)(sb->code + 32 * b));
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(q + 32 * b));
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(code), _mm256_sign_epi8(x, code));
    __m256i scale = _mm256_shuffle_epi8(scales, _mm256_set1_epi16((short)(2 * b | (2 * b + 1) << 8)));
    return _mm256_madd_epi16(pairs, scale);
}

static inline __m256i four_blocks(const superblock *sb, const int8_t *q, __m256i scales, int b) {
    __m256i p01 = _mm256_hadd_epi32(block_partials(sb, q, scales, b), block_partials(sb, q, scales, b + 1));
    __m256i p23 = _mm256_hadd_epi32(block_partials(sb, q, scales, b + 2), block_partials(sb, q, scales, b + 3));
    return _mm256_hadd_epi32(p01, p23); /* lane 0: first halves of the four, lane 1: second halves */
}

static inline void halves(const superblock *sb, const int8_t *q, size_t n, int32_t p[2][SUPERBLOCK_BLOCKS]) {
    if (n != SUPERBLOCK_BLOCKS) { /* reading on would leave the vector */
        halves_plain(sb, q, n, p);
        return;
    }
    __m256i scales = _mm256_load_si256((const __m256i *)(const void *)sb->scale);
    __m256i lo = four_blocks(sb, q, scales, 0);
    __m256i hi = four_blocks(sb, q, scales, 4);
    _mm256_storeu_si256((__m256i *)(void *)p[0], _mm256_permute2x128_si256(lo, hi, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)p[1], _mm256_permute2x128_si256(lo, hi, 0x31));
}
#else
#define halves halves_plain
#endif

/* The integers of n blocks as floats (all below 2^24, so exact): P_b, or with each_half those of the halves. */
static inline void products(const superblock *sb, const int8_t *q, size_t n, bool each_half, float *p) {
    int32_t half[2][SUPERBLOCK_BLOCKS] = {{0}};
    halves(sb, q, n, half);
    for (size_t b = 0; b < SUPERBLOCK_BLOCKS; b++) {
        p[b] = (float)(each_half ? half[0][b] : half[0][b] + half[1][b]);
        if (each_half) p[SUPERBLOCK_BLOCKS + b] = (float)half[1][b];
    }
}

/* t of the unit of blocks first..end-1; +0 if it has none. */
static inline float unit_sum(format_rule rule, const superblock *sb, const float *p, act_part a, size_t first,
                             size_t end) {
    float u = 0.0F;
    float v = 0.0F;
    for (size_t b = first; b < end; b++) {
        float da = a.ds[2 * b];
        float s = a.ds[2 * b + 1];
        if (rule == FORMAT_RULE_HALF) {
            u = fmaf(sb->d[2 * b] * da, p[b], u);
            u = fmaf(sb->d[2 * b + 1] * da, p[SUPERBLOCK_BLOCKS + b], u);
        } else if (rule == FORMAT_RULE_BLOCK || rule == FORMAT_RULE_BLOCK_MIN) {
            u = fmaf(sb->d[b] * da, p[b], u);
        } else {
            u = fmaf(da, p[b], u);
        }
        if (rule == FORMAT_RULE_BLOCK_MIN) v = fmaf(sb->m[b], s, v);
        if (rule == FORMAT_RULE_SUPER_MIN) v = fmaf(s, (float)sb->min[0][b], v);
        if (rule == FORMAT_RULE_SUPER_MIN16) {
            int32_t mins = sb->min[0][b] * a.sum16[2 * b] + sb->min[1][b] * a.sum16[2 * b + 1];
            v = fmaf(da, (float)mins, v);
        }
    }
    if (rule == FORMAT_RULE_BLOCK_MIN) return u + v;
    if (rule == FORMAT_RULE_BLOCK || rule == FORMAT_RULE_HALF) return u;
    float t = sb->d[first / 4] * u;
    return rule == FORMAT_RULE_SUPER ? t : fmaf(-sb->dmin, v, t);
}

/* acc plus the sums of the super-blocks of n_blocks blocks, in rising order. */
static inline float row_sum(format_rule rule, const superblock *sb, size_t n_blocks, act_part a, float acc) {
    for (size_t b = 0; b < n_blocks; b += SUPERBLOCK_BLOCKS, sb++) {
        float p[2 * SUPERBLOCK_BLOCKS];
        size_t n = n_blocks - b < SUPERBLOCK_BLOCKS ? n_blocks - b : SUPERBLOCK_BLOCKS;
        act_part part = {a.q + 32 * b, a.ds + 2 * b, a.sum16 + 2 * b};
        products(sb, part.q, n, rule == FORMAT_RULE_HALF, p);
        float lo = unit_sum(rule, sb, p, part, 0, n < 4 ? n : 4);
        float hi = n > 4 ? unit_sum(rule, sb, p, part, 4, n) : 0.0F;
        acc = acc + (lo + hi);
    }
    return acc;
}

typedef float (*row_sum_fn)(const superblock *sb, size_t n_blocks, act_part a, float acc);

#define ROW_SUM(rule)                                                                                                  \
    static float row_sum_##rule(const superblock *sb, size_t n_blocks, act_part a, float acc) {                        \
        return row_sum(FORMAT_RULE_##rule, sb, n_blocks, a, acc);                                                      \
    }
ROW_SUM(SUPER)
ROW_SUM(SUPER_MIN)
ROW_SUM(SUPER_MIN16)
ROW_SUM(BLOCK)
ROW_SUM(BLOCK_MIN)
ROW_SUM(HALF)

static void decode_stretch(superblock_decode_fn decode, const uint8_t *p, size_t bytes, size_t n_blocks,
                           superblock *out) {
    for (size_t b = 0; b < n_blocks; b += SUPERBLOCK_BLOCKS, p += bytes, out++) {
        decode(p, n_blocks - b < SUPERBLOCK_BLOCKS ? n_blocks - b : SUPERBLOCK_BLOCKS, out);
    }
}

/* bytes: of a whole super-block. */
static void matvec(const matvec_args *args, superblock_decode_fn decode, row_sum_fn sum, size_t bytes) {
    superblock tile[TILE_ROWS][TILE_SUPERBLOCKS];
    const size_t stretch = (size_t)TILE_SUPERBLOCKS * SUPERBLOCK_BLOCKS;
    size_t n_blocks = args->k / BLOCK_ELEMS;
    for (size_t row = 0; row < args->n_rows; row += TILE_ROWS) {
        size_t n_rows = args->n_rows - row < TILE_ROWS ? args->n_rows - row : TILE_ROWS;
        for (size_t b = 0; b < n_blocks; b += stretch) {
            size_t n = n_blocks - b < stretch ? n_blocks - b : stretch;
            const uint8_t *w = args->w + row * args->row_bytes + b / SUPERBLOCK_BLOCKS * bytes;
            for (size_t r = 0; r < n_rows; r++) decode_stretch(decode, w + r * args->row_bytes, bytes, n, tile[r]);
            for (size_t c = 0; c < args->n_cols; c++) {
                const act_view *v = &args->act[c];
                act_part part = {v->q + 32 * b, v->ds + 2 * b, v->sum16 + 2 * b};
                float *y = args->y + c * args->y_stride + row;
                for (size_t r = 0; r < n_rows; r++) y[r] = sum(tile[r], n, part, b ? y[r] : 0.0F);
            }
        }
    }
}

/* Exact values: every product of d, scale and code fits 24 bits, so only an added min or offset rounds. */
static inline float weight(format_rule rule, const superblock *sb, size_t e) {
    size_t b = e / 32;
    size_t h = e / 16 % 2;
    float code = (float)sb->code[e];
    if (rule == FORMAT_RULE_HALF) return sb->d[e / 16] * code;
    if (rule == FORMAT_RULE_BLOCK) return sb->d[b] * code;
    if (rule == FORMAT_RULE_BLOCK_MIN) return sb->d[b] * code + sb->m[b];
    float y = sb->d[e / 128] * (float)sb->scale[h][b] * code;
    if (rule == FORMAT_RULE_SUPER) return y;
    return y - sb->dmin * (float)sb->min[rule == FORMAT_RULE_SUPER_MIN ? 0 : h][b];
}

static void dequantize(format_rule rule, superblock_decode_fn decode, size_t bytes, const uint8_t *row, size_t k,
                       float *out) {
    for (size_t i = 0; i < k; i += SUPERBLOCK_ELEMS, row += bytes) {
        superblock sb;
        size_t n = k - i < SUPERBLOCK_ELEMS ? k - i : SUPERBLOCK_ELEMS;
        decode(row, n / BLOCK_ELEMS, &sb);
        for (size_t e = 0; e < n; e++) out[i + e] = weight(rule, &sb, e);
    }
}

#define LEVEL_DEFINE(symbol, elems, block_bytes, rule)                                                                 \
    void KERNEL(matvec_##symbol)(const matvec_args *args) {                                                            \
        matvec(args, KERNEL(decode_##symbol), row_sum_##rule, SUPERBLOCK_ELEMS / (elems) * (block_bytes));             \
    }                                                                                                                  \
    void KERNEL(dequantize_##symbol)(const uint8_t *row, size_t k, float *out) {                                       \
        dequantize(FORMAT_RULE_##rule, KERNEL(decode_##symbol), SUPERBLOCK_ELEMS / (elems) * (block_bytes), row, k,    \
                   out);                                                                                               \
    }
#define LEVEL_DEFINE_FLOAT(symbol, elems, bytes, rule)       /* kernels/level/float.c */
#define LEVEL_DEFINE_SUPER(symbol, elems, bytes, rule)       LEVEL_DEFINE(symbol, elems, bytes, rule)
#define LEVEL_DEFINE_SUPER_MIN(symbol, elems, bytes, rule)   LEVEL_DEFINE(symbol, elems, bytes, rule)
#define LEVEL_DEFINE_SUPER_MIN16(symbol, elems, bytes, rule) LEVEL_DEFINE(symbol, elems, bytes, rule)
#define LEVEL_DEFINE_BLOCK(symbol, elems, bytes, rule)       LEVEL_DEFINE(symbol, elems, bytes, rule)
#define LEVEL_DEFINE_BLOCK_MIN(symbol, elems, bytes, rule)   LEVEL_DEFINE(symbol, elems, bytes, rule)
#define LEVEL_DEFINE_HALF(symbol, elems, bytes, rule)        LEVEL_DEFINE(symbol, elems, bytes, rule)
#define X(symbol, id, elems, bytes, rule, bound)             LEVEL_DEFINE_##rule(symbol, elems, bytes, rule)
FORMAT_LIST(X)
#undef X
