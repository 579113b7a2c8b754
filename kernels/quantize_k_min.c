/* K-quants with mins: groups of 16 (Q2_K) or 32 (Q4_K, Q5_K) values, an integer scale and min a group, two f16 scales a
 * super-block. */
#include <string.h>

#include "kernels/quantize_blocks.h"
#include "kernels/quantize_min.h"

enum { SUPER_ELEMS = 256, N_GROUPS_MAX = 16, Q2_K_BYTES = 84, Q4_K_BYTES = 144, Q5_K_BYTES = 176 };

typedef struct min_grid { /* what a format can hold, and how hard to search */
    size_t group_elems;
    float code_hi;
    float scale_hi; /* of the integer scales and mins */
    float step;
    int n_steps;
    int n_refine;
} min_grid;

typedef struct min_super {
    uint16_t d;
    uint16_t dmin;
    uint8_t scale[N_GROUPS_MAX];
    uint8_t min[N_GROUPS_MAX];
    uint8_t code[SUPER_ELEMS];
} min_super;

static float lanes_max(lane_values v, float at_least) {
    for (size_t b = 0; b < QUANTIZE_LANES; b++) {
        at_least = v[b] > at_least ? v[b] : at_least;
    }
    return at_least;
}

/* Integer scales and mins of the lanes nearest to fit; then single steps up and down of each, keeping what lowers the
 * true error of the lane: rounding a scale moves the best min and the other way round. On return fit holds the
 * integers. */
static void min_round(const lane_group *g, const min_grid *grid, float d, float dmin, lane_min_fit *fit) {
    static const float moves[][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, 1}};
    lane_min_fit base = {lane_code(lane_ratio(fit->scale, lane_all(d)), 0.0F, grid->scale_hi),
                         lane_code(lane_ratio(fit->min, lane_all(dmin)), 0.0F, grid->scale_hi)};
    lane_values best = {0};
    for (size_t m = 0; m < sizeof moves / sizeof *moves; m++) {
        lane_min_fit at = {lane_clamp(base.scale + moves[m][0], 0.0F, grid->scale_hi),
                           lane_clamp(base.min + moves[m][1], 0.0F, grid->scale_hi)};
        lane_min_fit real = {d * at.scale, dmin * at.min};
        lane_values error = lane_min_error(g, grid->code_hi, &real);
        lane_mask better = error < best;
        if (m == 0) better |= ~better; /* all */
        best = lane_pick(better, error, best);
        fit->scale = lane_pick(better, at.scale, fit->scale);
        fit->min = lane_pick(better, at.min, fit->min);
    }
}

static void min_encode(const lane_group *g, const min_grid *grid, const lane_min_fit *fit, size_t first_group, float d,
                       float dmin, min_super *s) {
    lane_values per_scale = lane_ratio(lane_all(1.0F), d * fit->scale);
    for (size_t b = 0; b < QUANTIZE_LANES; b++) {
        s->scale[first_group + b] = (uint8_t)fit->scale[b];
        s->min[first_group + b] = (uint8_t)fit->min[b];
    }
    for (size_t i = 0; i < g->n; i++) {
        lane_values q = lane_min_code(g, i, per_scale, dmin * fit->min, grid->code_hi);
        for (size_t b = 0; b < QUANTIZE_LANES; b++) {
            s->code[(first_group + b) * g->n + i] = (uint8_t)(int)q[b];
        }
    }
}

static void min_fit_super(const float *x, const min_grid *grid, min_super *s) {
    size_t n_lots = SUPER_ELEMS / (QUANTIZE_LANES * grid->group_elems); /* 2 or 4 */
    lane_group g[N_GROUPS_MAX / QUANTIZE_LANES];
    lane_min_fit fit[N_GROUPS_MAX / QUANTIZE_LANES];
    float scale_max = 0.0F;
    float min_max = 0.0F;
    for (size_t h = 0; h < n_lots; h++) {
        lane_load(x + h * QUANTIZE_LANES * grid->group_elems, grid->group_elems, QUANTIZE_LANES, &g[h]);
        lane_fit_min(&g[h], grid->code_hi, grid->step, grid->n_steps, grid->n_refine, &fit[h]);
        scale_max = lanes_max(fit[h].scale, scale_max);
        min_max = lanes_max(fit[h].min, min_max);
    }
    s->d = half_from_float(scale_max / grid->scale_hi);
    s->dmin = half_from_float(min_max / grid->scale_hi);
    float d = half_to_float(s->d);
    float dmin = half_to_float(s->dmin);
    for (size_t h = 0; h < n_lots; h++) {
        min_round(&g[h], grid, d, dmin, &fit[h]);
        min_encode(&g[h], grid, &fit[h], h * QUANTIZE_LANES, d, dmin, s);
    }
}

static void q2_k_pack(const min_super *s, uint8_t *out) {
    memset(out, 0, Q2_K_BYTES);
    for (size_t g = 0; g < 16; g++) {
        out[g] = (uint8_t)(s->scale[g] | s->min[g] << 4);
    }
    for (size_t e = 0; e < SUPER_ELEMS; e++) {
        out[16 + 32 * (e / 128) + e % 32] |= (uint8_t)(s->code[e] << 2 * (e % 128 / 32));
    }
    half_store(out + 80, s->d);
    half_store(out + 82, s->dmin);
}

/* The twelve bytes of 6-bit scales and mins shared by Q4_K and Q5_K. */
static void pack_scales_6bit(const min_super *s, uint8_t *out) {
    for (size_t b = 0; b < 4; b++) {
        out[b] = (uint8_t)(s->scale[b] | (s->scale[b + 4] >> 4) << 6);
        out[b + 4] = (uint8_t)(s->min[b] | (s->min[b + 4] >> 4) << 6);
        out[b + 8] = (uint8_t)((s->scale[b + 4] & 15) | (s->min[b + 4] & 15) << 4);
    }
}

static void pack_nibbles(const min_super *s, uint8_t *out) {
    for (size_t e = 0; e < SUPER_ELEMS; e += 64) {
        for (size_t l = 0; l < 32; l++) {
            out[e / 2 + l] = (uint8_t)((s->code[e + l] & 15) | (s->code[e + 32 + l] & 15) << 4);
        }
    }
}

void quantize_q2_k(const float *x, size_t k, uint8_t *out) {
    static const min_grid grid = {16, 3.0F, 15.0F, 0.15F, 5, 2};
    min_super s;
    for (size_t i = 0; i < k / SUPER_ELEMS; i++) {
        min_fit_super(x + i * SUPER_ELEMS, &grid, &s);
        q2_k_pack(&s, out + i * Q2_K_BYTES);
    }
}

void quantize_q4_k(const float *x, size_t k, uint8_t *out) {
    static const min_grid grid = {32, 15.0F, 63.0F, 0.3F, 4, 2};
    min_super s;
    for (size_t i = 0; i < k / SUPER_ELEMS; i++) {
        uint8_t *block = out + i * Q4_K_BYTES;
        min_fit_super(x + i * SUPER_ELEMS, &grid, &s);
        half_store(block, s.d);
        half_store(block + 2, s.dmin);
        pack_scales_6bit(&s, block + 4);
        pack_nibbles(&s, block + 16);
    }
}

void quantize_q5_k(const float *x, size_t k, uint8_t *out) {
    static const min_grid grid = {32, 31.0F, 63.0F, 0.4F, 4, 2};
    min_super s;
    for (size_t i = 0; i < k / SUPER_ELEMS; i++) {
        uint8_t *block = out + i * Q5_K_BYTES;
        min_fit_super(x + i * SUPER_ELEMS, &grid, &s);
        half_store(block, s.d);
        half_store(block + 2, s.dmin);
        pack_scales_6bit(&s, block + 4);
        memset(block + 16, 0, 32);
        for (size_t e = 0; e < SUPER_ELEMS; e++) {
            block[16 + e % 32] |= (uint8_t)((s.code[e] >> 4) << (e / 32));
        }
        pack_nibbles(&s, block + 48);
    }
}
