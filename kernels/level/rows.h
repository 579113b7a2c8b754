/* Arithmetic on one number of each of four rows (kernels/superblock.h). */
#ifndef CONVECT_KERNELS_LEVEL_ROWS_H
#define CONVECT_KERNELS_LEVEL_ROWS_H

#include <math.h>
#if defined(__FMA__)
#include <immintrin.h>
#endif

#include "kernels/superblock.h"

static inline row_floats all_rows(float x) {
    return (row_floats){x, x, x, x};
}

static inline row_floats rows_fma(row_floats a, row_floats b, row_floats c) {
#if defined(__FMA__)
    return (row_floats)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
#else
    for (int r = 0; r < SUPERBLOCK_ROWS; r++) c[r] = fmaf(a[r], b[r], c[r]);
    return c;
#endif
}

static inline row_floats rows_to_float(row_ints x) { /* exact: below 2^24 */
    return __builtin_convertvector(x, row_floats);
}

#endif
