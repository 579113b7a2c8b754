#include "kernels/quantize.h"

#include <math.h>
#include <string.h>

#include "engine/base/check.h"
#include "kernels/half.h"
#include "kernels/quantize_blocks.h"

static void quantize_f32(const float *x, size_t k, uint8_t *out) {
    memcpy(out, x, k * sizeof *x);
}

static void quantize_f16(const float *x, size_t k, uint8_t *out) {
    for (size_t i = 0; i < k; i++) {
        half_store(out + 2 * i, half_from_float(x[i]));
    }
}

static void quantize_bf16(const float *x, size_t k, uint8_t *out) {
    for (size_t i = 0; i < k; i++) {
        half_store(out + 2 * i, bf16_from_float(x[i]));
    }
}

typedef void (*quantize_fn)(const float *x, size_t k, uint8_t *out);

static const quantize_fn quantizers[FORMAT_COUNT] = {
    [FORMAT_F32] = quantize_f32,   [FORMAT_F16] = quantize_f16,   [FORMAT_BF16] = quantize_bf16,
    [FORMAT_Q8_0] = quantize_q8_0, [FORMAT_Q4_0] = quantize_q4_0, [FORMAT_IQ4_NL] = quantize_iq4_nl,
    [FORMAT_Q2_K] = quantize_q2_k, [FORMAT_Q3_K] = quantize_q3_k, [FORMAT_Q4_K] = quantize_q4_k,
    [FORMAT_Q5_K] = quantize_q5_k, [FORMAT_Q6_K] = quantize_q6_k,
};

bool quantize_has(format_id id) {
    CONVECT_CHECK(id < FORMAT_COUNT);
    return quantizers[id] != NULL;
}

bool quantize_row(format_id id, const float *x, size_t k, uint8_t *out) {
    CONVECT_CHECK(quantize_has(id) && k % format_get(id)->block_elems == 0);
    int n_bad = 0;
    for (size_t i = 0; i < k; i++) {
        n_bad |= !(fabsf(x[i]) <= QUANTIZE_MAGNITUDE_MAX);
    } /* catches NaN too */
    if (n_bad) return false;
    quantizers[id](x, k, out);
    return true;
}
