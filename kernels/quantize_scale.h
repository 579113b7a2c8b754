/* Inside of the quantisers: best scale of a group whose values are scale * code, codes in [lo, hi]. */
#ifndef CONVECT_KERNELS_QUANTIZE_SCALE_H
#define CONVECT_KERNELS_QUANTIZE_SCALE_H

#include "kernels/quantize_lanes.h"

typedef struct lane_scale_fit { /* best so far; start from zeros */
    lane_values scale;
    lane_values gain; /* sum x^2 - squared error */
} lane_scale_fit;

/* Given xq = sum x * q and qq = sum q * q of one try, takes its least-squares scale where that beats the best. */
static inline void lane_scale_keep(lane_values xq, lane_values qq, lane_scale_fit *best) {
    lane_values scale = lane_ratio(xq, qq);
    lane_values gain = scale * xq;
    lane_mask better = gain > best->gain;
    best->scale = lane_pick(better, scale, best->scale);
    best->gain = lane_pick(better, gain, best->gain);
}

/* The value of largest magnitude of each lane, with its sign. */
lane_values lane_peak(const lane_group *g);

/* Per lane: the scale s that minimises sum (x - s * q)^2 over the tried inverse scales, q = nearest code. Each try puts
 * the peak at lo - step * j or hi + step * j, j in [-n_steps, n_steps], then refits s by least squares; the best try is
 * refined once more. 0 for an empty lane. */
void lane_fit_scale(const lane_group *g, float lo, float hi, float step, int n_steps, lane_values *scale);

#endif
