/* Inside of the quantisers: four groups of 16 or 32 values are searched side by side, one group a lane of a vector, so
 * that every sum runs down a lane in rising order: the same bits whatever instructions the compiler picks. Included by
 * kernels/quantize_*.c only. */
#ifndef CONVECT_KERNELS_QUANTIZE_LANES_H
#define CONVECT_KERNELS_QUANTIZE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kernels/half.h"

#define QUANTIZE_LANES     4
#define QUANTIZE_ELEMS_MAX 32
#define QUANTIZE_EMPTY_BELOW                                                                                           \
    1e-30F /* a group whose largest magnitude is below it becomes zeros: no f16 scale reaches */

typedef float lane_values __attribute__((vector_size(16)));
typedef int32_t lane_mask __attribute__((vector_size(16))); /* all ones or zero, from a comparison */

typedef struct lane_group {
    lane_values x[QUANTIZE_ELEMS_MAX]; /* element i of all lanes */
    size_t n;                          /* elements of a lane: 16 or 32 */
} lane_group;

static inline lane_values lane_all(float v) {
    return (lane_values){v, v, v, v};
}

static inline lane_values lane_pick(lane_mask m, lane_values yes, lane_values no) {
    return (lane_values)(((lane_mask)yes & m) | ((lane_mask)no & ~m));
}

static inline lane_values lane_abs(lane_values v) {
    return lane_pick(v < 0.0F, -v, v);
}

static inline lane_values lane_clamp(lane_values v, float lo, float hi) {
#ifdef __SSE2__ /* one instruction each instead of four; operands in the order that gives the same as below */
    return (lane_values)_mm_min_ps(_mm_max_ps((__m128)v, _mm_set1_ps(lo)), _mm_set1_ps(hi));
#else
    v = lane_pick(v > lo, v, lane_all(lo));
    return lane_pick(v < hi, v, lane_all(hi));
#endif
}

/* Nearest integer code in [lo, hi], ties to even; v may be infinite. */
static inline lane_values lane_code(lane_values v, float lo, float hi) {
    return (lane_clamp(v, lo, hi) + 0x1.8p23F) - 0x1.8p23F;
}

/* The same for one value. */
static inline float nearest_code(float v, float lo, float hi) {
    v = v > lo ? v : lo;
    v = v < hi ? v : hi;
    return (v + 0x1.8p23F) - 0x1.8p23F;
}

/* a / b where b is at least tiny in magnitude, 0 elsewhere. */
static inline lane_values lane_ratio(lane_values a, lane_values b) {
    lane_mask ok = lane_abs(b) >= QUANTIZE_EMPTY_BELOW;
    return (lane_values)((lane_mask)(a / lane_pick(ok, b, lane_all(1.0F))) & ok);
}

/* Lane b = values x[b * n .. b * n + n); lanes from n_lanes on are zero. */
static inline void lane_load(const float *x, size_t n, size_t n_lanes, lane_group *out) {
    out->n = n;
    for (size_t i = 0; i < n; i++) {
        lane_values v = {0};
        for (size_t b = 0; b < n_lanes; b++) {
            v[b] = x[b * n + i];
        }
        out->x[i] = v;
    }
}

#endif
