/* Quantisers: f32 rows to GGUF blocks, for `convect quantize`, `convect synth` and tests. They minimise the plain
 * squared error of what the dequantiser gives back, by a small search over scales with a least-squares refit. Plain
 * arithmetic in one fixed order: the same bits on every CPU and thread count. Pure; any thread. */
#ifndef CONVECT_KERNELS_QUANTIZE_H
#define CONVECT_KERNELS_QUANTIZE_H

#include <stdbool.h>

#include "kernels/format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Largest magnitude that quantize_row accepts: what a binary16 scale can carry for every format. */
#define QUANTIZE_MAGNITUDE_MAX 65504.0F

/* F32 F16 BF16 Q8_0 Q4_0 IQ4_NL Q2_K Q3_K Q4_K Q5_K Q6_K. */
bool quantize_has(format_id id);

/* Writes format_row_bytes(id, k) bytes to out. id must have a quantiser and k be a multiple of its block (checked).
 * False, with out undefined, if a value is not finite or larger than QUANTIZE_MAGNITUDE_MAX. */
bool quantize_row(format_id id, const float *x, size_t k, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
