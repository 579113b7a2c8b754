/* Sampling from logits: greedy, or temperature, then top-k, then top-p, then min-p, then one draw of a counter-based
 * generator, so that the draw of step i depends on seed and i alone.
 *
 * Equal logits and seed give the same token on every machine and in any order of summation: token i has the
 * whole-number weight w_i = floor(2^40 exp((logit_i - logit_max) / temperature)) with the contract's exp
 * (kernels/numerics.h), sums of weights are exact, candidates are ordered by logit falling, then index rising, and the
 * draw r = floor(u * sum / 2^64), u = the first 64 bits of philox(step, seed), takes the first candidate whose running
 * sum exceeds r.
 *
 * A sampler is caller-owned and belongs to one thread. */
#ifndef CONVECT_ENGINE_SAMPLER_H
#define CONVECT_ENGINE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

typedef struct sampler_options {
    float temperature; /* 0: greedy, the other fields do not matter; else > 0 */
    uint32_t top_k;    /* keep so many of the best; 0: off */
    float top_p;       /* (0, 1]; keep the best whose weights reach this share of the weights kept so far; 1: off */
    float min_p;       /* [0, 1); keep weights of at least this share of the best one's; 0: off */
    uint64_t seed;
} sampler_options;

typedef struct sampler sampler;

/* n_vocab (1..2^24) logits per call; ids at and above n_real (1..n_vocab) or marked in `banned` are never produced.
 * banned: [n_vocab], borrowed for the sampler's life, or NULL. Errors: USAGE (an option out of range, every id banned),
 * NO_FIT. */
convect_status sampler_create(const sampler_options *options, size_t n_vocab, size_t n_real, const bool *banned,
                              sampler **out, convect_error *err) CONVECT_MUST_CHECK;
void sampler_destroy(sampler *s); /* NULL is fine */

/* Picks a token from logits [n_vocab]; i_step counts the draws of this answer. The best token is the one with the
 * highest logit, of equal ones the lowest id. A logit that is not finite, banned or not, is DAMAGED and names its id:
 * the model's numbers went wrong. Allocates nothing. */
convect_status sampler_pick(sampler *s, const float *logits, uint64_t i_step, int32_t *out,
                            convect_error *err) CONVECT_MUST_CHECK;

#endif
