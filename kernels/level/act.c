/* Contract 2.1: the activation record; and 2.3: SwiGLU. */
#include <string.h>

#include "kernels/level.h"
#include "kernels/level/ops.h"
#include "kernels/numerics.h"

#define TINY_BITS 0x21800000U    /* 2^-60: below it a block is zero, so that every later number is normal */
#define INF_BITS  0x7f800000U    /* a block with an infinity or a NaN makes the results NaN */
#define INV_127   0x1.020408p-7F /* RN(1 / 127) */
#define NAN_BITS  0x7fc00000U    /* the one NaN that is stored */

/* Codes of one block; returns da (a NaN for a block that is not finite). */
static float block_quantize(const float *restrict x, int8_t *restrict q) {
    uint32_t magnitude = 0; /* integers, so that Inf and NaN win on every CPU */
    for (int i = 0; i < 32; i++) {
        uint32_t bits = float_bits(x[i]) & 0x7fffffffU;
        magnitude = bits > magnitude ? bits : magnitude;
    }
    if (magnitude >= INF_BITS || magnitude < TINY_BITS) {
        memset(q, 0, 32);
        return magnitude < TINY_BITS ? 0.0F : float_from_bits(NAN_BITS);
    }
    float a = float_from_bits(magnitude);
    float inv = 127.0F / a;
    for (int i = 0; i < 32; i++) {
        q[i] = (int8_t)(int32_t)(float_bits(x[i] * inv + NUMERICS_MAGIC) - 0x4b400000U);
    }
    return a * INV_127;
}

void KERNEL(act_quantize)(const float *x, size_t k, act_view out) {
    for (size_t b = 0; b < k / 32; b++) {
        int8_t *q = out.q + 32 * b;
        float da = block_quantize(x + 32 * b, q);
        int32_t sum[2] = {0, 0};
        for (int i = 0; i < 16; i++) {
            sum[0] += q[i];
            sum[1] += q[16 + i];
        }
        memcpy(out.sum16 + 2 * b, sum, sizeof sum);
        out.ds[2 * b] = da;
        out.ds[2 * b + 1] = da == da ? da * (float)(sum[0] + sum[1]) : da;
    }
}

void KERNEL(swiglu)(const float *gate, const float *up, size_t n, float *out) {
    for (size_t i = 0; i < n; i++) out[i] = numerics_swiglu(gate[i], up[i]);
}
