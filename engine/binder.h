/* Finds a family's tensors in a file and checks their shapes. Matrices stay views of the mapped bytes; small vectors
 * are widened to f32. Owns the widened vectors; keeps count of what was used, so that the rest can be reported. */
#ifndef CONVECT_ENGINE_BINDER_H
#define CONVECT_ENGINE_BINDER_H

#include "engine/base/log.h"
#include "engine/gguf.h"
#include "engine/linear.h"

typedef struct binder {
    const gguf *file;
    bool *is_used;   /* [n_tensors] owned */
    float **vectors; /* [n_vectors] owned, each too */
    size_t n_vectors, n_vectors_max;
} binder;

convect_status binder_init(binder *b, const gguf *file, convect_error *err) CONVECT_MUST_CHECK;
void binder_deinit(binder *b);

/* Name of a layer's tensor: "blk.<i_layer>.<name>" in a static-size buffer. */
typedef struct tensor_name {
    char text[64];
} tensor_name;
tensor_name binder_layer_name(size_t i_layer, const char *name);

bool binder_has(const binder *b, const char *name);

/* Matrix (or stack of n_mats matrices) of n_rows rows of k elements, with its optional ".scale" companion. n_mats 1
 * also accepts a 1-D tensor of k elements as one row. The tensor must exist. */
convect_status binder_matrix(binder *b, const char *name, size_t k, size_t n_rows, size_t n_mats, weight *out,
                             convect_error *err) CONVECT_MUST_CHECK;

/* Tensor of exactly n elements (1-D, or k x n/k read in file order), any format, as f32. */
convect_status binder_vector(binder *b, const char *name, size_t k, size_t n_rows, const float **out,
                             convect_error *err) CONVECT_MUST_CHECK;

/* Room for n floats that live as long as the binder. */
float *binder_floats(binder *b, size_t n);

/* DAMAGED naming the first used F32, F16 or BF16 tensor of at most 1 MiB that holds a number that is not finite. An
 * infinity in a gate or a norm can end in plausible, wrong text; the large tensors are what `convect check --full`
 * reads. */
convect_status binder_check_small(const binder *b, convect_error *err) CONVECT_MUST_CHECK;

/* Says once how many tensors nothing used, with the first name. */
void binder_report_unused(const binder *b, const convect_log *log);

#endif
