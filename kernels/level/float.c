/* F32, F16 and BF16 weights with f32 vectors (contract 2.5). Eight rows are widened and transposed, so that one step of
 * the fixed chain serves eight rows; the chain of each row is that of the contract. */
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/half.h"
#include "kernels/level/ops.h"
#include "kernels/level/rows.h"

enum { TILE_ROWS = 8 };

typedef void (*widen_fn)(const uint8_t *p, size_t n, float *restrict out);

static void widen_F32(const uint8_t *p, size_t n, float *restrict out) {
    memcpy(out, p, n * sizeof *out);
}

static void widen_BF16(const uint8_t *p, size_t n, float *restrict out) {
    for (size_t i = 0; i < n; i++) out[i] = bf16_to_float(half_load(p + 2 * i));
}

static void widen_F16(const uint8_t *p, size_t n, float *restrict out) {
    size_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        __m128i h = _mm_loadu_si128((const __m128i *)(const void *)(p + 2 * i));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(h));
    }
#endif
    for (; i < n; i++) out[i] = half_to_float(half_load(p + 2 * i));
}

/* One number of each of eight rows. */
typedef union lanes {
    row_floats four[2];
    float row[TILE_ROWS];
} lanes;

/* p of the n blocks of a unit: chains of 32, blocks side by side because each chain waits for itself. */
static inline void block_chains(const lanes *w, const float *x, size_t n, lanes p[4]) {
    for (size_t i = 0; i < BLOCK_ELEMS; i++) {
        for (size_t b = 0; b < n; b++) {
            size_t e = BLOCK_ELEMS * b + i;
            row_floats v = all_rows(x[e]);
            p[b].four[0] = rows_fma(w[e].four[0], v, p[b].four[0]);
            p[b].four[1] = rows_fma(w[e].four[1], v, p[b].four[1]);
        }
    }
}

/* t of a unit of n blocks for eight rows; w is [32 n] lanes. */
static inline lanes unit_sum(const lanes *w, const float *x, size_t n) {
    lanes p[4] = {0};
    lanes u = {0};
    if (n == 4) {
        block_chains(w, x, 4, p);
    } else {
        block_chains(w, x, n, p);
    }
    for (size_t b = 0; b < n; b++) {
        for (size_t g = 0; g < 2; g++) u.four[g] = u.four[g] + p[b].four[g];
    }
    return u;
}

/* acc += S of one super-block of n_blocks blocks for eight rows. */
static void superblock_add(const lanes *w, const float *x, size_t n_blocks, lanes *acc) {
    size_t n_lo = n_blocks < 4 ? n_blocks : 4;
    lanes lo = unit_sum(w, x, n_lo);
    lanes hi = unit_sum(w + BLOCK_ELEMS * n_lo, x + BLOCK_ELEMS * n_lo, n_blocks - n_lo);
    for (size_t g = 0; g < 2; g++) acc->four[g] = acc->four[g] + (lo.four[g] + hi.four[g]);
}

/* Eight rows from row on (zeros where the matrix ends), elements k0..k0+n-1, as [n] lanes. */
static void tile_load(const matvec_args *args, size_t row, size_t k0, size_t n, widen_fn widen, size_t elem_bytes,
                      lanes *out) {
    float wide[TILE_ROWS][SUPERBLOCK_ELEMS] = {{0}};
    for (size_t r = 0; r < TILE_ROWS && row + r < args->n_rows; r++) {
        widen(args->w + (row + r) * args->row_bytes + k0 * elem_bytes, n, wide[r]);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < TILE_ROWS; r++) out[i].row[r] = wide[r][i];
    }
}

static void matvec(const matvec_args *args, widen_fn widen, size_t elem_bytes) {
    lanes tile[SUPERBLOCK_ELEMS];
    for (size_t row = 0; row < args->n_rows; row += TILE_ROWS) {
        size_t n_rows = args->n_rows - row < TILE_ROWS ? args->n_rows - row : TILE_ROWS;
        for (size_t k0 = 0; k0 < args->k; k0 += SUPERBLOCK_ELEMS) {
            size_t n = args->k - k0 < SUPERBLOCK_ELEMS ? args->k - k0 : SUPERBLOCK_ELEMS;
            tile_load(args, row, k0, n, widen, elem_bytes, tile);
            for (size_t c = 0; c < args->n_cols; c++) {
                float *y = args->y + c * args->y_stride + row;
                lanes acc = {0};
                if (k0) memcpy(&acc, y, n_rows * sizeof *y);
                superblock_add(tile, args->x + c * args->x_stride + k0, n / BLOCK_ELEMS, &acc);
                memcpy(y, &acc, n_rows * sizeof *y);
            }
        }
    }
}

#define LEVEL_DEFINE(symbol, elem_bytes)                                                                               \
    void KERNEL(matvec_##symbol)(const matvec_args *args) {                                                            \
        matvec(args, widen_##symbol, elem_bytes);                                                                      \
    }                                                                                                                  \
    void KERNEL(dequantize_##symbol)(const uint8_t *row, size_t k, float *out) {                                       \
        widen_##symbol(row, k, out);                                                                                   \
    }
LEVEL_DEFINE(F32, 4)
LEVEL_DEFINE(F16, 2)
LEVEL_DEFINE(BF16, 2)
