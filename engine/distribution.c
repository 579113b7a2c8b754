#include "engine/distribution.h"

#include <math.h>

#include "engine/base/check.h"

bool distribution_of(const float *logits, size_t n, distribution *out) {
    CONVECT_CHECK(n > 0);
    size_t top = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(logits[i])) return false;
        if (logits[i] > logits[top]) top = i;
    }
    for (size_t i = 0; i < n; i++) sum += exp((double)logits[i] - (double)logits[top]);
    *out = (distribution){logits, n, (int32_t)top, (double)logits[top] + log(sum)};
    return true;
}

float distribution_logp(const distribution *d, int32_t id) {
    return (float)((double)d->logits[id] - d->log_z);
}

/* Is a less likely than b? A total order: equal logits rank by id. */
static bool is_below(const distribution *d, int32_t a, int32_t b) {
    const float x = d->logits[a], y = d->logits[b];
    return x < y || (x == y && a > b);
}

/* Restores the heap (least likely id at the root) below position i. */
static void sift_down(const distribution *d, int32_t *heap, size_t n, size_t i) {
    const int32_t id = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_below(d, heap[child + 1], heap[child])) child++;
        if (!is_below(d, heap[child], id)) break;
        heap[i] = heap[child];
    }
    heap[i] = id;
}

void distribution_select(const distribution *d, size_t n_top, int32_t *ids) {
    CONVECT_CHECK(n_top <= d->n);
    if (n_top == 0) return;
    for (size_t i = 0; i < n_top; i++) ids[i] = (int32_t)i;
    for (size_t i = n_top / 2; i-- > 0;) sift_down(d, ids, n_top, i);
    for (size_t i = n_top; i < d->n; i++) {
        if (!is_below(d, ids[0], (int32_t)i)) continue;
        ids[0] = (int32_t)i;
        sift_down(d, ids, n_top, 0);
    }
    for (size_t n = n_top - 1; n > 0; n--) { /* the least likely goes to the end */
        const int32_t least = ids[0];
        ids[0] = ids[n];
        ids[n] = least;
        sift_down(d, ids, n, 0);
    }
}

float distribution_log_rest(const distribution *d, const int32_t *ids, size_t n_ids, uint8_t *seen) {
    CONVECT_CHECK(n_ids <= d->n);
    if (n_ids == d->n) return -INFINITY;
    for (size_t i = 0; i < n_ids; i++) seen[ids[i]] = 1;
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < d->n; i++)
        if (!seen[i] && (double)d->logits[i] > max) max = (double)d->logits[i];
    for (size_t i = 0; i < d->n; i++)
        if (!seen[i]) sum += exp((double)d->logits[i] - max);
    for (size_t i = 0; i < n_ids; i++) seen[ids[i]] = 0;
    return (float)(max + log(sum) - d->log_z);
}
