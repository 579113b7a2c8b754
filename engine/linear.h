/* A weight matrix (or a stack of equal ones, one per expert) as it lies in the mapped file, and products with it split
 * over workers. Views: nothing here owns memory. */
#ifndef CONVECT_ENGINE_LINEAR_H
#define CONVECT_ENGINE_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/layer_ops.h"
#include "kernels/table.h"

typedef struct weight {
    const uint8_t *data; /* first row of matrix 0; NULL: the file has no such tensor */
    format_id format;
    size_t k;      /* elements of a row: input width */
    size_t n_rows; /* output width */
    size_t row_bytes;
    size_t n_mats;      /* 1, or the number of experts */
    size_t mat_bytes;   /* distance between matrices */
    const float *scale; /* [n_mats] factor of every output (NVFP4), or NULL */
} weight;

static inline bool weight_is_float(const weight *w) {
    return format_get(w->format)->rule == FORMAT_RULE_FLOAT;
}

/* y[c * y_stride + r] = row r of matrix i_mat times vector c. */
typedef struct linear_job {
    const weight *w;
    size_t i_mat;
    const float *x; /* [n_cols][x_stride]; float formats */
    size_t x_stride;
    const act_view *act; /* [n_cols]; quantised formats */
    size_t n_cols;       /* 0: nothing to do */
    float *y;
    size_t y_stride;
} linear_job;

/* Worker i of n computes its share of the rows of each job. Values do not depend on the split. */
void linear_share(const kernel_table *kernels, const kernel_ops *ops, const linear_job *jobs, size_t n_jobs,
                  size_t i_worker, size_t n_workers);

#endif
