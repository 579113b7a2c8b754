/* F32, F16 and BF16 weights with f32 vectors (contract 2.5). Eight rows are widened and transposed, so that one step of
 * the fixed chain serves eight rows; the chain of each row is that of the contract. */
#include <math.h>
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/half.h"
#include "kernels/level/ops.h"

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

typedef struct lanes {
    float row[TILE_ROWS];
} lanes;

/* acc += S of one super-block of n elements for eight rows; w is [n] lanes. */
static void superblock_add(const lanes *restrict w, const float *restrict x, size_t n, lanes *restrict acc) {
    lanes unit[2] = {{{0}}, {{0}}};
    for (size_t b = 0; b < n / BLOCK_ELEMS; b++) {
        lanes p = {{0}};
        for (size_t i = BLOCK_ELEMS * b; i < BLOCK_ELEMS * (b + 1); i++) {
            for (int r = 0; r < TILE_ROWS; r++) p.row[r] = fmaf(w[i].row[r], x[i], p.row[r]);
        }
        for (int r = 0; r < TILE_ROWS; r++) unit[b / 4].row[r] += p.row[r];
    }
    for (int r = 0; r < TILE_ROWS; r++) acc->row[r] += unit[0].row[r] + unit[1].row[r];
}

/* Eight rows from w on, n_rows of them real, elements k0..k0+n-1, as [n] lanes; a missing row is zero. */
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
                lanes acc = {{0}};
                if (k0) memcpy(&acc, y, n_rows * sizeof *y);
                superblock_add(tile, args->x + c * args->x_stride + k0, n, &acc);
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
