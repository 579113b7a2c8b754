/* Inside of the quantisers: one function per format; k a multiple of the block, values checked by quantize_row. */
#ifndef CONVECT_KERNELS_QUANTIZE_BLOCKS_H
#define CONVECT_KERNELS_QUANTIZE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

void quantize_q8_0(const float *x, size_t k, uint8_t *out);
void quantize_q4_0(const float *x, size_t k, uint8_t *out);
void quantize_iq4_nl(const float *x, size_t k, uint8_t *out);
void quantize_q2_k(const float *x, size_t k, uint8_t *out);
void quantize_q3_k(const float *x, size_t k, uint8_t *out);
void quantize_q4_k(const float *x, size_t k, uint8_t *out);
void quantize_q5_k(const float *x, size_t k, uint8_t *out);
void quantize_q6_k(const float *x, size_t k, uint8_t *out);

#endif
