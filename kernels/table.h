/* The CPU kernel table: one function per op (and format), one table per instruction-set level. Tables are constant
 * after kernel_table_get and shared by all threads. A kernel is a function of its arguments: no allocation, lock, log
 * or error. Shapes and alias rules stand beside each member; sizes were checked when the model was bound. */
#ifndef CONVECT_KERNELS_TABLE_H
#define CONVECT_KERNELS_TABLE_H

#include "kernels/act.h"
#include "kernels/format.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kernel_level { KERNEL_LEVEL_REF, KERNEL_LEVEL_AVX2, KERNEL_LEVEL_COUNT } kernel_level;

/* y[c * y_stride + r] = row r of w times vector c, for r < n_rows, c < n_cols. Rows are GGUF rows of k elements. A sum
 * depends on its row and vector alone, never on n_rows or n_cols. y overlaps nothing. */
typedef struct matvec_args {
    const uint8_t *w; /* first row; any alignment */
    size_t row_bytes; /* distance between rows */
    size_t n_rows;
    size_t k;            /* elements of a row, a multiple of 32 and of the format's block */
    const act_view *act; /* [n_cols] records; read by quantised formats */
    const float *x;      /* [n_cols][x_stride] f32 vectors; read by FORMAT_RULE_FLOAT formats */
    size_t x_stride;
    size_t n_cols;
    float *y; /* [n_cols][y_stride] */
    size_t y_stride;
} matvec_args;

typedef void (*matvec_fn)(const matvec_args *args);
typedef void (*dequantize_fn)(const uint8_t *row, size_t k,
                              float *out); /* exact f32 values; k a multiple of the block */

typedef struct kernel_table {
    kernel_level level;
    matvec_fn matvec[FORMAT_COUNT];
    dequantize_fn dequantize[FORMAT_COUNT];
    void (*act_quantize)(const float *x, size_t k, act_view out);             /* contract 2.1 */
    void (*swiglu)(const float *gate, const float *up, size_t n, float *out); /* contract 2.3; out may be gate or up */
} kernel_table;

/* The table of a level. The caller makes sure that this CPU has it (cpu/features.h). Static storage. */
const kernel_table *kernel_table_get(kernel_level level);

const char *kernel_level_name(kernel_level level); /* "ref", "avx2" */

#ifdef __cplusplus
}
#endif
#endif
