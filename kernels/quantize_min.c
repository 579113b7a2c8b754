#include "kernels/quantize_min.h"

typedef struct min_sums { /* of the values, per lane */
    lane_values lo, hi;   /* min(0, smallest), max(0, largest) */
    lane_values x, xx;
} min_sums;

typedef struct min_best {
    lane_min_fit fit;
    lane_values error;
} min_best;

static min_sums min_range(const lane_group *g) {
    min_sums s = {{0}, {0}, {0}, {0}};
    for (size_t i = 0; i < g->n; i++) {
        lane_values x = g->x[i];
        s.lo = lane_pick(x < s.lo, x, s.lo);
        s.hi = lane_pick(x > s.hi, x, s.hi);
        s.x += x;
        s.xx += x * x;
    }
    return s;
}

/* Least squares for y = scale * q - min with min >= 0 from the sums of one try; keeps it where its error is smaller. */
static void min_keep(const min_sums *sums, float n, lane_values q, lane_values qq, lane_values xq, min_best *best) {
    lane_values det = n * qq - q * q; /* 0 if all codes are equal */
    lane_values scale = lane_ratio(n * xq - sums->x * q, det);
    lane_values min = lane_ratio(q * xq - qq * sums->x, det);
    lane_mask no_min = (min < 0.0F) | (det <= 0.0F);
    min = lane_pick(no_min, lane_all(0.0F), min);
    scale = lane_pick(no_min, lane_ratio(xq, qq), scale);
    lane_values error =
        sums->xx + scale * scale * qq + n * min * min - 2.0F * (scale * xq - min * sums->x + scale * min * q);
    lane_mask better = (scale > 0.0F) & (error < best->error);
    best->fit.scale = lane_pick(better, scale, best->fit.scale);
    best->fit.min = lane_pick(better, min, best->fit.min);
    best->error = lane_pick(better, error, best->error);
}

/* Quantises with code = (x + offset) * inverse, refits, keeps what is better. */
static void min_try(const lane_group *g, const min_sums *sums, lane_values inverse, lane_values offset, float hi,
                    min_best *best) {
    lane_values sq = {0};
    lane_values qq = {0};
    lane_values xq = {0};
    for (size_t i = 0; i < g->n; i++) {
        lane_values q = lane_min_code(g, i, inverse, offset, hi);
        sq += q;
        qq += q * q;
        xq += g->x[i] * q;
    }
    min_keep(sums, (float)g->n, sq, qq, xq, best);
}

void lane_fit_min(const lane_group *g, float hi, float step, int n_steps, int n_refine, lane_min_fit *out) {
    min_sums sums = min_range(g);
    lane_values per_range = lane_ratio(lane_all(1.0F), sums.hi - sums.lo);
    min_best best = {{{0}, {0}}, sums.xx}; /* all zeros */
    for (int j = -n_steps; j <= n_steps; j++) {
        min_try(g, &sums, (hi + step * (float)j) * per_range, -sums.lo, hi, &best);
    }
    for (int r = 0; r < n_refine; r++) {
        min_try(g, &sums, lane_ratio(lane_all(1.0F), best.fit.scale), best.fit.min, hi, &best);
    }
    *out = best.fit;
}

lane_values lane_min_error(const lane_group *g, float hi, const lane_min_fit *fit) {
    lane_values error = {0};
    lane_values inverse = lane_ratio(lane_all(1.0F), fit->scale);
    for (size_t i = 0; i < g->n; i++) {
        lane_values e = g->x[i] + fit->min - fit->scale * lane_min_code(g, i, inverse, fit->min, hi);
        error += e * e;
    }
    return error;
}
