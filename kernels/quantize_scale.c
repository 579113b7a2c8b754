#include "kernels/quantize_scale.h"

lane_values lane_peak(const lane_group *g) {
    lane_values peak = {0};
    for (size_t i = 0; i < g->n; i++) {
        peak = lane_pick(lane_abs(g->x[i]) > lane_abs(peak), g->x[i], peak);
    }
    return peak;
}

/* Quantises every lane with its inverse scale, refits, keeps what is better than before. */
static void scale_try(const lane_group *g, lane_values inverse, float lo, float hi, lane_scale_fit *best) {
    lane_values xq = {0};
    lane_values qq = {0};
    for (size_t i = 0; i < g->n; i++) {
        lane_values q = lane_code(g->x[i] * inverse, lo, hi);
        xq += g->x[i] * q;
        qq += q * q;
    }
    lane_scale_keep(xq, qq, best);
}

void lane_fit_scale(const lane_group *g, float lo, float hi, float step, int n_steps, lane_values *scale) {
    lane_values per_peak = lane_ratio(lane_all(1.0F), lane_peak(g));
    lane_scale_fit best = {{0}, {0}};
    for (int j = -n_steps; j <= n_steps; j++) {
        float grow = step * (float)j;
        scale_try(g, (lo - grow) * per_peak, lo, hi, &best);
        scale_try(g, (hi + grow) * per_peak, lo, hi, &best);
    }
    scale_try(g, lane_ratio(lane_all(1.0F), best.scale), lo, hi, &best);
    *scale = best.scale;
}
