/* Expert choice and the combination of expert outputs. */
#include "kernels/level/layer_ops.h"

/* p[i] = exp(logit[i] - largest). A NaN logit makes its own p NaN, which is never greater than another: the choice
 * stays k distinct experts. */
static void softmax_terms(const float *logits, size_t n, float *p) {
    float largest = logits[0];
    for (size_t i = 1; i < n; i++) largest = logits[i] > largest ? logits[i] : largest;
    for (size_t i = 0; i < n; i++) p[i] = numerics_exp(logits[i] - largest);
}

/* Index of the largest p that is not taken (taken ones are negative); the lowest index of equals. */
static size_t pick_largest(const float *p, size_t n) {
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < 0) continue;
        if (best == n || p[i] > p[best]) best = i;
    }
    return best;
}

void KERNEL(ops_router)(const float *logits, size_t n, size_t k, float *scratch, uint32_t *ids, float *weights) {
    softmax_terms(logits, n, scratch);
    float sum = 0;
    for (size_t e = 0; e < k; e++) {
        const size_t best = pick_largest(scratch, n);
        ids[e] = (uint32_t)best;
        weights[e] = scratch[best];
        sum = sum + weights[e];
        scratch[best] = -1.0F;
    }
    for (size_t e = 0; e < k; e++) weights[e] = weights[e] / sum;
}

void KERNEL(ops_moe_combine)(const float *const *o, const float *w, size_t k, const float *shared, float gate_logit,
                             size_t n, float *x) {
    const float gate = numerics_sigmoid(gate_logit);
    for (size_t i = 0; i < n; i++) {
        float y = 0;
        for (size_t e = 0; e < k; e++) y = fmaf(w[e], o[e][i], y);
        y = y + shared[i] * gate;
        x[i] = x[i] + y;
    }
}
