/* Inside of the quantisers: best scale and min of a group whose values are scale * code - min, codes in [0, hi]. */
#ifndef CONVECT_KERNELS_QUANTIZE_MIN_H
#define CONVECT_KERNELS_QUANTIZE_MIN_H

#include "kernels/quantize_lanes.h"

typedef struct lane_min_fit {
    lane_values scale; /* >= 0 */
    lane_values min;   /* >= 0 */
} lane_min_fit;

/* Per lane: tries inverse scales (hi + step * j) / (max - min), j in [-n_steps, n_steps], refits scale and min by least
 * squares (min clipped to >= 0), refines the best n_refine times. */
void lane_fit_min(const lane_group *g, float hi, float step, int n_steps, int n_refine, lane_min_fit *out);

/* Squared error of each lane with exactly this scale and min. */
lane_values lane_min_error(const lane_group *g, float hi, const lane_min_fit *fit);

/* Codes of element i of every lane: nearest of [0, hi]. per_scale = 1 / scale, 0 where scale is 0. */
static inline lane_values lane_min_code(const lane_group *g, size_t i, lane_values per_scale, lane_values min,
                                        float hi) {
    return lane_code((g->x[i] + min) * per_scale, 0.0F, hi);
}

#endif
