/* A row of logits as a probability distribution: its normaliser, its most likely tokens, and the mass of the rest. All
 * sums in double precision, in order of the ids. */
#ifndef CONVECT_ENGINE_DISTRIBUTION_H
#define CONVECT_ENGINE_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct distribution {
    const float *logits; /* [n]; borrowed */
    size_t n;
    int32_t top;  /* the most likely token; the lowest id of equal ones */
    double log_z; /* log of the sum of exp(logit) */
} distribution;

/* False if a logit is NaN or infinite. */
bool distribution_of(const float *logits, size_t n, distribution *out);

/* Natural log-probability of a token, rounded to f32. */
float distribution_logp(const distribution *d, int32_t id);

/* The n_top most likely ids in order, equal ones by id. n_top <= d->n. */
void distribution_select(const distribution *d, size_t n_top, int32_t *ids);

/* Log of the mass of every token but ids[0..n_ids), which are distinct; -INFINITY if none is left. seen: [n] zeros,
 * zeros again afterwards. */
float distribution_log_rest(const distribution *d, const int32_t *ids, size_t n_ids, uint8_t *seen);

#endif
