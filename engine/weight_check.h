/* Looks for scales and weights that are not finite in the tensors of a GGUF file. Reads with pread, so that a failing
 * disk is an error and no signal. */
#ifndef CONVECT_ENGINE_WEIGHT_CHECK_H
#define CONVECT_ENGINE_WEIGHT_CHECK_H

#include "cpu/pool.h"
#include "engine/convect.h"
#include "engine/gguf.h"

typedef struct weight_check_options {
    bool is_full;              /* every block; else four samples of some 4 KiB from each tensor */
    convect_progress progress; /* bytes; false cancels between tensors; may be NULL */
    void *user;
} weight_check_options;

/* Checks the tensors in order, on all workers of pool, and stops at the first one with a fault. *n_read_bytes: what was
 * looked at (integer and f64 tensors are not). g must be an opened file, not bytes in memory. Errors: DAMAGED, naming
 * tensor, field, block and offset of the first fault; IO; CANCELLED; NO_FIT. */
convect_status weight_check(const gguf *g, cpu_pool *pool, const weight_check_options *options, uint64_t *n_read_bytes,
                            convect_error *err) CONVECT_MUST_CHECK;

#endif
