/* Sampling from logits: greedy, or temperature + top-k + top-p + min-p with a counter-based generator (the draw of step
 * i depends on seed and i alone). Equal logits and seed give the same token on every machine: contract exp, fixed
 * orders. A sampler is caller-owned and belongs to one thread. */
#ifndef CONVECT_ENGINE_SAMPLER_H
#define CONVECT_ENGINE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

typedef struct sampler_options {
    float temperature; /* 0: greedy; else > 0 */
    uint32_t top_k;    /* 0: off */
    float top_p;       /* (0, 1]; 1: off */
    float min_p;       /* [0, 1); 0: off */
    uint64_t seed;
} sampler_options;

typedef struct sampler sampler;

/* n_vocab logits per call; ids at and above n_real (or marked unused by `banned`, may be NULL) are never produced.
 * banned: [n_vocab], borrowed for the sampler's life. */
convect_status sampler_create(const sampler_options *options, size_t n_vocab, size_t n_real, const bool *banned,
                              sampler **out, convect_error *err) CONVECT_MUST_CHECK;
void sampler_destroy(sampler *s);

/* Picks a token; i_step counts draws of this answer. A non-finite logit is an error naming the position (INTERNAL
 * numbers of a damaged model: DAMAGED). Allocates nothing. */
convect_status sampler_pick(sampler *s, const float *logits, uint64_t i_step, int32_t *out,
                            convect_error *err) CONVECT_MUST_CHECK;

#endif
