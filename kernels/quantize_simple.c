/* Formats with one f16 scale for 32 values (spec: ggml's block layouts Q8_0, Q4_0, IQ4_NL). */
#include <math.h>

#include "kernels/quantize_blocks.h"
#include "kernels/quantize_scale.h"

enum { SIMPLE_ELEMS = 32, NIBBLE_BLOCK_BYTES = 18, Q8_0_BLOCK_BYTES = 34 };

/* d = amax / 127, codes by the unrounded d: what the reference quantiser writes. */
static void quantize_q8_0_block(const float *x, uint8_t *out) {
    float amax = 0.0F;
    for (size_t i = 0; i < SIMPLE_ELEMS; i++) {
        amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    }
    float d = amax / 127.0F;
    float inverse = amax < QUANTIZE_EMPTY_BELOW ? 0.0F : 1.0F / d;
    half_store(out, half_from_float(d));
    for (size_t i = 0; i < SIMPLE_ELEMS; i++) {
        float v = x[i] * inverse;
        out[2 + i] = (uint8_t)(int8_t)(v + (v < 0.0F ? -0.5F : 0.5F)); /* half away from zero */
    }
}

void quantize_q8_0(const float *x, size_t k, uint8_t *out) {
    for (size_t i = 0; i < k / SIMPLE_ELEMS; i++) {
        quantize_q8_0_block(x + i * SIMPLE_ELEMS, out + i * Q8_0_BLOCK_BYTES);
    }
}

typedef void (*nibble_fit_fn)(const lane_group *g, lane_values *scale);
typedef lane_values (*nibble_code_fn)(lane_values v); /* 0..15 of v = value / d */

static void quantize_nibbles(const float *x, size_t k, uint8_t *out, nibble_fit_fn fit, nibble_code_fn code) {
    size_t n_blocks = k / SIMPLE_ELEMS;
    for (size_t first = 0; first < n_blocks; first += QUANTIZE_LANES) {
        size_t n = n_blocks - first < QUANTIZE_LANES ? n_blocks - first : QUANTIZE_LANES;
        uint8_t *blocks = out + first * NIBBLE_BLOCK_BYTES;
        lane_group g;
        lane_values scale;
        lane_load(x + first * SIMPLE_ELEMS, SIMPLE_ELEMS, n, &g);
        fit(&g, &scale);
        lane_values d = {0};
        for (size_t b = 0; b < n; b++) {
            half_store(blocks + b * NIBBLE_BLOCK_BYTES, half_from_float(scale[b]));
            d[b] = half_to_float(half_from_float(scale[b]));
        }
        lane_values inverse = lane_ratio(lane_all(1.0F), d);
        for (size_t i = 0; i < 16; i++) {
            lane_values byte = code(g.x[i] * inverse) + 16.0F * code(g.x[i + 16] * inverse);
            for (size_t b = 0; b < n; b++) {
                blocks[b * NIBBLE_BLOCK_BYTES + 2 + i] = (uint8_t)(int)byte[b];
            }
        }
    }
}

static void q4_0_fit(const lane_group *g, lane_values *scale) {
    lane_fit_scale(g, -8.0F, 7.0F, 0.2F, 4, scale);
}

static lane_values q4_0_code(lane_values v) {
    return lane_code(v, -8.0F, 7.0F) + 8.0F;
}

void quantize_q4_0(const float *x, size_t k, uint8_t *out) {
    quantize_nibbles(x, k, out, q4_0_fit, q4_0_code);
}

static const float iq4_nl_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* Adds step[c] for every midpoint c below v: nearest value without a table look-up. */
static inline lane_values iq4_nl_climb(lane_values v, float start, const float step[15]) {
    lane_values q = lane_all(start);
    for (size_t c = 0; c < 15; c++) {
        lane_mask above = v > 0.5F * (iq4_nl_values[c] + iq4_nl_values[c + 1]);
        q += (lane_values)((lane_mask)lane_all(step[c]) & above);
    }
    return q;
}

static lane_values iq4_nl_code(lane_values v) {
    static const float ones[15] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return iq4_nl_climb(v, 0.0F, ones);
}

static void iq4_nl_try(const lane_group *g, lane_values inverse, lane_scale_fit *best) {
    static const float rise[15] = {23, 21, 18, 16, 14, 13, 12, 11, 12, 12, 13, 15, 16, 20, 24}; /* value differences */
    lane_values xq = {0};
    lane_values qq = {0};
    for (size_t i = 0; i < g->n; i++) {
        lane_values q = iq4_nl_climb(g->x[i] * inverse, iq4_nl_values[0], rise);
        xq += g->x[i] * q;
        qq += q * q;
    }
    lane_scale_keep(xq, qq, best);
}

/* The value of largest magnitude goes to -127 or 113, give or take a few steps. */
static void iq4_nl_fit(const lane_group *g, lane_values *scale) {
    enum { N_STEPS = 3 };
    lane_values per_peak = lane_ratio(lane_all(1.0F), lane_peak(g));
    lane_scale_fit best = {{0}, {0}};
    for (int j = -N_STEPS; j <= N_STEPS; j++) {
        float grow = 1.0F + 0.05F * (float)j;
        iq4_nl_try(g, iq4_nl_values[0] * grow * per_peak, &best);
        iq4_nl_try(g, iq4_nl_values[15] * grow * per_peak, &best);
    }
    iq4_nl_try(g, lane_ratio(lane_all(1.0F), best.scale), &best);
    *scale = best.scale;
}

void quantize_iq4_nl(const float *x, size_t k, uint8_t *out) {
    quantize_nibbles(x, k, out, iq4_nl_fit, iq4_nl_code);
}
