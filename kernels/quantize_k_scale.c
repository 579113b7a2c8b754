/* K-quants without mins: 16 groups of 16 values, an integer scale a group, one f16 scale a super-block (Q3_K, Q6_K). */
#include <math.h>
#include <string.h>

#include "kernels/quantize_blocks.h"
#include "kernels/quantize_scale.h"

enum { SUPER_ELEMS = 256, N_GROUPS = 16, GROUP_ELEMS = 16, Q3_K_BYTES = 110, Q6_K_BYTES = 210 };

typedef struct scale_grid { /* the codes and scales a format can hold */
    float code_lo, code_hi;
    float scale_lo, scale_hi; /* lo = -hi - 1 */
    float step;
    int n_steps;
} scale_grid;

typedef struct scale_super {
    uint16_t d;
    int scale[N_GROUPS];
    float code[SUPER_ELEMS];
} scale_super;

/* Least-squares d for the codes and scales as they are; 0 if there is nothing to fit. */
static float scale_refit_d(const float *x, const scale_super *s) {
    float xy = 0.0F;
    float yy = 0.0F;
    for (size_t g = 0; g < N_GROUPS; g++) {
        float xq = 0.0F;
        float qq = 0.0F;
        for (size_t i = g * GROUP_ELEMS; i < (g + 1) * GROUP_ELEMS; i++) {
            xq += x[i] * s->code[i];
            qq += s->code[i] * s->code[i];
        }
        xy += (float)s->scale[g] * xq;
        yy += (float)(s->scale[g] * s->scale[g]) * qq;
    }
    return yy > 0.0F ? xy / yy : 0.0F;
}

static void scale_encode(const float *x, const scale_grid *grid, float d, scale_super *s) {
    for (size_t g = 0; g < N_GROUPS; g++) {
        float step = d * (float)s->scale[g];
        float inverse = fabsf(step) < QUANTIZE_EMPTY_BELOW ? 0.0F : 1.0F / step;
        for (size_t i = g * GROUP_ELEMS; i < (g + 1) * GROUP_ELEMS; i++) {
            s->code[i] = nearest_code(x[i] * inverse, grid->code_lo, grid->code_hi);
        }
    }
}

static void scale_fit_super(const float *x, const scale_grid *grid, scale_super *s) {
    float fit[N_GROUPS];
    float peak = 0.0F;
    for (size_t first = 0; first < N_GROUPS; first += QUANTIZE_LANES) {
        lane_group g;
        lane_values scale;
        lane_load(x + first * GROUP_ELEMS, GROUP_ELEMS, QUANTIZE_LANES, &g);
        lane_fit_scale(&g, grid->code_lo, grid->code_hi, grid->step, grid->n_steps, &scale);
        for (size_t b = 0; b < QUANTIZE_LANES; b++) {
            fit[first + b] = scale[b];
            peak = fabsf(scale[b]) > fabsf(peak) ? scale[b] : peak;
        }
    }
    float d = half_to_float(half_from_float(peak / grid->scale_lo)); /* the peak gets the longer, negative end */
    for (size_t g = 0; g < N_GROUPS; g++) {
        s->scale[g] = d == 0.0F ? 0 : (int)nearest_code(fit[g] / d, grid->scale_lo, grid->scale_hi);
    }
    scale_encode(x, grid, d, s);
    s->d = half_from_float(scale_refit_d(x, s));
    scale_encode(x, grid, half_to_float(s->d), s);
}

static void q6_k_pack(const scale_super *s, uint8_t *out) {
    memset(out, 0, Q6_K_BYTES);
    for (size_t e = 0; e < SUPER_ELEMS; e++) {
        size_t n = e / 128;
        size_t j = e % 128 / 32;
        size_t l = e % 32;
        uint8_t q = (uint8_t)(int)(s->code[e] + 32.0F);
        out[64 * n + 32 * (j & 1) + l] |= (uint8_t)((q & 15) << (j < 2 ? 0 : 4));
        out[128 + 32 * n + l] |= (uint8_t)((q >> 4) << 2 * j);
    }
    for (size_t g = 0; g < N_GROUPS; g++) {
        out[192 + g] = (uint8_t)(int8_t)s->scale[g];
    }
    half_store(out + 208, s->d);
}

static void q3_k_pack(const scale_super *s, uint8_t *out) {
    memset(out, 0, Q3_K_BYTES);
    for (size_t e = 0; e < SUPER_ELEMS; e++) {
        size_t n = e / 128;
        size_t j = e % 128 / 32;
        size_t l = e % 32;
        int q = (int)s->code[e];
        out[32 + 32 * n + l] |= (uint8_t)((q & 3) << 2 * j);
        if (q >= 0) out[l] |= (uint8_t)(1U << (4 * n + j));
    }
    for (size_t g = 0; g < N_GROUPS; g++) {
        unsigned scale = (unsigned)(s->scale[g] + 32);
        out[96 + g % 8] |= (uint8_t)((scale & 15) << (g < 8 ? 0 : 4));
        out[104 + g % 4] |= (uint8_t)((scale >> 4) << 2 * (g / 4));
    }
    half_store(out + 108, s->d);
}

void quantize_q6_k(const float *x, size_t k, uint8_t *out) {
    static const scale_grid grid = {-32.0F, 31.0F, -128.0F, 127.0F, 0.25F, 3};
    scale_super s;
    for (size_t i = 0; i < k / SUPER_ELEMS; i++) {
        scale_fit_super(x + i * SUPER_ELEMS, &grid, &s);
        q6_k_pack(&s, out + i * Q6_K_BYTES);
    }
}

void quantize_q3_k(const float *x, size_t k, uint8_t *out) {
    static const scale_grid grid = {-4.0F, 3.0F, -32.0F, 31.0F, 0.15F, 5};
    scale_super s;
    for (size_t i = 0; i < k / SUPER_ELEMS; i++) {
        scale_fit_super(x + i * SUPER_ELEMS, &grid, &s);
        q3_k_pack(&s, out + i * Q3_K_BYTES);
    }
}
