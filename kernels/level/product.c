/* The quantised products (contract 2.2) and dequantisation, written once per rule over unpacked super-blocks. A tile of
 * rows is unpacked once and meets every vector; a row's partial result waits in y between stretches of the row. The
 * order of every float operation is fixed by the rule, so tiles and levels change no bit. */
#include <string.h>

#include "kernels/level/ops.h"
#include "kernels/level/rows.h"

enum { TILE_SUPERBLOCKS = 8 }; /* eight unpacked super-blocks of four rows are 16 KiB: half an L1 */

/* One super-block's share of an activation record. */
typedef struct act_part {
    const int8_t *q;
    const float *ds;
    const int32_t *sum16;
} act_part;

/* Scaled exact integers of the two halves of block b with the codes q of that block. */
typedef struct block_ints {
    row_ints half[2];
} block_ints;

#if defined(__AVX2__)
/* Eight partial sums of block b of row r. |code| <= 128 and |q| <= 127 give pairs of at most 32,512: no saturation. The
 * scales lie as [half][block], one half in each lane, so that one shuffle spreads those of block b. */
static inline __m256i row_partials(const superblock *sb, size_t r, size_t b, __m256i x) {
    __m256i code = _mm256_load_si256((const __m256i *)(const void *)(sb->code[r] + BLOCK_ELEMS * b));
    __m256i scales = _mm256_load_si256((const __m256i *)(const void *)sb->scale[r]);
    __m256i spread = _mm256_set1_epi16((short)(2 * b | (2 * b + 1) << 8));
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(code), _mm256_sign_epi8(x, code));
    return _mm256_madd_epi16(pairs, _mm256_shuffle_epi8(scales, spread));
}

static inline block_ints block_products(const superblock *sb, size_t b, const int8_t *q) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)q);
    __m256i p01 = _mm256_hadd_epi32(row_partials(sb, 0, b, x), row_partials(sb, 1, b, x));
    __m256i p23 = _mm256_hadd_epi32(row_partials(sb, 2, b, x), row_partials(sb, 3, b, x));
    __m256i sums = _mm256_hadd_epi32(p01, p23); /* lane h: half h of the four rows */
    return (block_ints){{(row_ints)_mm256_castsi256_si128(sums), (row_ints)_mm256_extracti128_si256(sums, 1)}};
}
#else
static int32_t dot16(const int8_t *restrict code, const int8_t *restrict q) {
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) sum += code[i] * q[i];
    return sum;
}

static inline block_ints block_products(const superblock *sb, size_t b, const int8_t *q) {
    block_ints p;
    for (size_t r = 0; r < SUPERBLOCK_ROWS; r++) {
        for (size_t h = 0; h < 2; h++) {
            p.half[h][r] = sb->scale[r][h][b] * dot16(sb->code[r] + BLOCK_ELEMS * b + 16 * h, q + 16 * h);
        }
    }
    return p;
}
#endif

/* u of a unit after block b. */
static inline row_floats block_add(format_rule rule, const superblock *sb, size_t b, act_part a, row_floats u) {
    block_ints p = block_products(sb, b, a.q + BLOCK_ELEMS * b);
    row_floats da = all_rows(a.ds[2 * b]);
    if (rule == FORMAT_RULE_HALF) {
        u = rows_fma(sb->d[2 * b] * da, rows_to_float(p.half[0]), u);
        return rows_fma(sb->d[2 * b + 1] * da, rows_to_float(p.half[1]), u);
    }
    if (rule == FORMAT_RULE_BLOCK || rule == FORMAT_RULE_BLOCK_MIN) da = sb->d[b] * da;
    return rows_fma(da, rows_to_float(p.half[0] + p.half[1]), u);
}

/* v of a unit after block b. */
static inline row_floats min_add(format_rule rule, const superblock *sb, size_t b, act_part a, row_floats v) {
    row_floats s = all_rows(a.ds[2 * b + 1]);
    if (rule == FORMAT_RULE_BLOCK_MIN) return rows_fma(sb->m[b], s, v);
    if (rule == FORMAT_RULE_SUPER_MIN) return rows_fma(s, rows_to_float(sb->min[0][b]), v);
    if (rule == FORMAT_RULE_SUPER_MIN16) {
        row_ints m = sb->min[0][b] * a.sum16[2 * b] + sb->min[1][b] * a.sum16[2 * b + 1];
        return rows_fma(all_rows(a.ds[2 * b]), rows_to_float(m), v);
    }
    return v;
}

/* t of the unit of blocks first..end-1. */
static inline row_floats unit_sum(format_rule rule, const superblock *sb, act_part a, size_t first, size_t end) {
    row_floats u = all_rows(0.0F);
    row_floats v = all_rows(0.0F);
    for (size_t b = first; b < end; b++) {
        u = block_add(rule, sb, b, a, u);
        v = min_add(rule, sb, b, a, v);
    }
    if (rule == FORMAT_RULE_BLOCK_MIN) return u + v;
    if (rule == FORMAT_RULE_BLOCK || rule == FORMAT_RULE_HALF) return u;
    row_floats t = sb->d[first / 4] * u;
    return rule == FORMAT_RULE_SUPER ? t : rows_fma(-sb->dmin, v, t);
}

/* acc plus the sums of the super-blocks of n_blocks blocks, in rising order. */
static inline row_floats row_sum(format_rule rule, const superblock *sb, size_t n_blocks, act_part a, row_floats acc) {
    for (size_t b = 0; b < n_blocks; b += SUPERBLOCK_BLOCKS, sb++) {
        size_t n = n_blocks - b;
        act_part part = {a.q + BLOCK_ELEMS * b, a.ds + 2 * b, a.sum16 + 2 * b};
        row_floats lo = unit_sum(rule, sb, part, 0, n < 4 ? n : 4);
        row_floats hi = n > 4 ? unit_sum(rule, sb, part, 4, n < 8 ? n : 8) : all_rows(0.0F);
        acc = acc + (lo + hi);
    }
    return acc;
}

typedef row_floats (*row_sum_fn)(const superblock *sb, size_t n_blocks, act_part a, row_floats acc);

#define ROW_SUM(rule)                                                                                                  \
    static row_floats row_sum_##rule(const superblock *sb, size_t n_blocks, act_part a, row_floats acc) {              \
        return row_sum(FORMAT_RULE_##rule, sb, n_blocks, a, acc);                                                      \
    }
ROW_SUM(SUPER)
ROW_SUM(SUPER_MIN)
ROW_SUM(SUPER_MIN16)
ROW_SUM(BLOCK)
ROW_SUM(BLOCK_MIN)
ROW_SUM(HALF)

/* Unpacks n_blocks blocks of the rows at w, row_bytes apart; bytes: of a whole super-block. Where fewer than four rows
 * are left the last one stands in for the missing ones. */
static void tile_decode(superblock_decode_fn decode, const uint8_t *w, size_t row_bytes, size_t n_rows, size_t bytes,
                        size_t n_blocks, superblock *tile) {
    for (size_t r = 0; r < SUPERBLOCK_ROWS; r++) {
        const uint8_t *p = w + (r < n_rows ? r : n_rows - 1) * row_bytes;
        superblock *out = tile;
        for (size_t b = 0; b < n_blocks; b += SUPERBLOCK_BLOCKS, p += bytes, out++) {
            decode(p, n_blocks - b < SUPERBLOCK_BLOCKS ? n_blocks - b : SUPERBLOCK_BLOCKS, r, out);
        }
    }
}

static void matvec(const matvec_args *args, superblock_decode_fn decode, row_sum_fn sum, size_t bytes) {
    superblock tile[TILE_SUPERBLOCKS];
    const size_t stretch = (size_t)TILE_SUPERBLOCKS * SUPERBLOCK_BLOCKS;
    size_t n_blocks = args->k / BLOCK_ELEMS;
    for (size_t row = 0; row < args->n_rows; row += SUPERBLOCK_ROWS) {
        size_t n_rows = args->n_rows - row < SUPERBLOCK_ROWS ? args->n_rows - row : SUPERBLOCK_ROWS;
        for (size_t b = 0; b < n_blocks; b += stretch) {
            size_t n = n_blocks - b < stretch ? n_blocks - b : stretch;
            const uint8_t *w = args->w + row * args->row_bytes + b / SUPERBLOCK_BLOCKS * bytes;
            tile_decode(decode, w, args->row_bytes, n_rows, bytes, n, tile);
            for (size_t c = 0; c < args->n_cols; c++) {
                const act_view *v = &args->act[c];
                act_part part = {v->q + BLOCK_ELEMS * b, v->ds + 2 * b, v->sum16 + 2 * b};
                float *y = args->y + c * args->y_stride + row;
                row_floats acc = all_rows(0.0F);
                if (b) memcpy(&acc, y, n_rows * sizeof *y);
                acc = sum(tile, n, part, acc);
                memcpy(y, &acc, n_rows * sizeof *y);
            }
        }
    }
}

/* Exact values: every product of d, scale and code fits 24 bits, so only an added min or offset rounds. */
static inline float weight(format_rule rule, const superblock *sb, size_t e) {
    size_t b = e / 32;
    size_t h = e / 16 % 2;
    float code = (float)sb->code[0][e];
    if (rule == FORMAT_RULE_HALF) return sb->d[e / 16][0] * code;
    if (rule == FORMAT_RULE_BLOCK) return sb->d[b][0] * code;
    if (rule == FORMAT_RULE_BLOCK_MIN) return sb->d[b][0] * code + sb->m[b][0];
    float y = sb->d[e / 128][0] * (float)sb->scale[0][h][b] * code;
    if (rule == FORMAT_RULE_SUPER) return y;
    return y - sb->dmin[0] * (float)sb->min[rule == FORMAT_RULE_SUPER_MIN ? 0 : h][b][0];
}

static void dequantize(format_rule rule, superblock_decode_fn decode, size_t bytes, const uint8_t *row, size_t k,
                       float *out) {
    for (size_t i = 0; i < k; i += SUPERBLOCK_ELEMS, row += bytes) {
        superblock sb;
        size_t n = k - i < SUPERBLOCK_ELEMS ? k - i : SUPERBLOCK_ELEMS;
        decode(row, n / BLOCK_ELEMS, 0, &sb);
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
