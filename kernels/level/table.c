/* The kernel table of one level. */
#include "kernels/level/ops.h"

#define LEVEL_ID_ref    KERNEL_LEVEL_REF
#define LEVEL_ID_avx2   KERNEL_LEVEL_AVX2
#define LEVEL_ID(level) KERNEL_PASTE(LEVEL_ID, level)

const kernel_table KERNEL(kernel_table) = {
    .level = LEVEL_ID(KERNEL_LEVEL),
    .matvec =
        {
#define X(symbol, id, elems, bytes, rule, bound) [FORMAT_##symbol] = KERNEL(matvec_##symbol),
            FORMAT_LIST(X)
#undef X
        },
    .dequantize =
        {
#define X(symbol, id, elems, bytes, rule, bound) [FORMAT_##symbol] = KERNEL(dequantize_##symbol),
            FORMAT_LIST(X)
#undef X
        },
    .act_quantize = KERNEL(act_quantize),
    .swiglu = KERNEL(swiglu),
};
