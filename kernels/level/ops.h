/* What the files of kernels/level/ define, once per level: a decode, a product and a dequantisation per format, and the
 * contract's vector ops. kernels/level/table.c collects them. */
#ifndef CONVECT_KERNELS_LEVEL_OPS_H
#define CONVECT_KERNELS_LEVEL_OPS_H

#include "kernels/level.h"
#include "kernels/superblock.h"
#include "kernels/table.h"

#define X(symbol, id, elems, bytes, rule, bound)                                                                       \
    void KERNEL(matvec_##symbol)(const matvec_args *args);                                                             \
    void KERNEL(dequantize_##symbol)(const uint8_t *row, size_t k, float *out);                                        \
    LEVEL_DECLARE_##rule(symbol)
#define LEVEL_DECLARE_DECODE(symbol)                                                                                   \
    void KERNEL(decode_##symbol)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out);
#define LEVEL_DECLARE_FLOAT(symbol)       /* not quantised: no super-block */
#define LEVEL_DECLARE_SUPER(symbol)       LEVEL_DECLARE_DECODE(symbol)
#define LEVEL_DECLARE_SUPER_MIN(symbol)   LEVEL_DECLARE_DECODE(symbol)
#define LEVEL_DECLARE_SUPER_MIN16(symbol) LEVEL_DECLARE_DECODE(symbol)
#define LEVEL_DECLARE_BLOCK(symbol)       LEVEL_DECLARE_DECODE(symbol)
#define LEVEL_DECLARE_BLOCK_MIN(symbol)   LEVEL_DECLARE_DECODE(symbol)
#define LEVEL_DECLARE_HALF(symbol)        LEVEL_DECLARE_DECODE(symbol)
FORMAT_LIST(X)
#undef X

void KERNEL(act_quantize)(const float *x, size_t k, act_view out);
void KERNEL(swiglu)(const float *gate, const float *up, size_t n, float *out);

extern const kernel_table KERNEL(kernel_table);

#endif
