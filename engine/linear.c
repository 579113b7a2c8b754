#include "engine/linear.h"

#include "cpu/pool.h"

#define LINEAR_GRAIN_ROWS 8

static void job_share(const kernel_table *kernels, const kernel_ops *ops, const linear_job *job, size_t i_worker,
                      size_t n_workers) {
    const weight *w = job->w;
    size_t begin, end;
    cpu_pool_share(w->n_rows, LINEAR_GRAIN_ROWS, i_worker, n_workers, &begin, &end);
    if (begin == end || job->n_cols == 0) return;
    const matvec_args args = {.w = w->data + job->i_mat * w->mat_bytes + begin * w->row_bytes,
                              .row_bytes = w->row_bytes,
                              .n_rows = end - begin,
                              .k = w->k,
                              .act = job->act,
                              .x = job->x,
                              .x_stride = job->x_stride,
                              .n_cols = job->n_cols,
                              .y = job->y + begin,
                              .y_stride = job->y_stride};
    kernels->matvec[w->format](&args);
    if (!w->scale) return;
    for (size_t c = 0; c < job->n_cols; c++) ops->scale(args.y + c * args.y_stride, w->scale[job->i_mat], end - begin);
}

void linear_share(const kernel_table *kernels, const kernel_ops *ops, const linear_job *jobs, size_t n_jobs,
                  size_t i_worker, size_t n_workers) {
    for (size_t j = 0; j < n_jobs; j++) job_share(kernels, ops, &jobs[j], i_worker, n_workers);
}
