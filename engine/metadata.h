/* Reading a model's hyperparameters: any integer width whose value fits, with a range for each. Every error names the
 * key, what the file says and what is allowed. */
#ifndef CONVECT_ENGINE_METADATA_H
#define CONVECT_ENGINE_METADATA_H

#include "engine/gguf.h"

typedef struct metadata {
    const gguf *file;
    const char *prefix; /* architecture: keys are prefix.key */
} metadata;

typedef struct metadata_range {
    uint64_t min, max;
} metadata_range;

/* The value of key, or NULL. */
const gguf_kv *metadata_find(const metadata *m, const char *key);

/* Required integer in range. */
convect_status metadata_size(const metadata *m, const char *key, metadata_range range, size_t *out,
                             convect_error *err) CONVECT_MUST_CHECK;
/* The same with a value for an absent key. */
convect_status metadata_size_or(const metadata *m, const char *key, metadata_range range, size_t fallback, size_t *out,
                                convect_error *err) CONVECT_MUST_CHECK;
/* Element i of an array, or the scalar for every i. */
convect_status metadata_size_at(const metadata *m, const char *key, size_t i, metadata_range range, size_t *out,
                                convect_error *err) CONVECT_MUST_CHECK;
/* Required finite number with min < value < max. */
convect_status metadata_float(const metadata *m, const char *key, double min, double max, double *out,
                              convect_error *err) CONVECT_MUST_CHECK;

#endif
