#include "kernels/layer_ops.h"

#include "engine/base/check.h"

extern const kernel_ops kernel_ops_ref;
#if defined(__x86_64__)
extern const kernel_ops kernel_ops_avx2;
#endif

const kernel_ops *kernel_ops_get(kernel_level level) {
    CONVECT_CHECK(level < KERNEL_LEVEL_COUNT);
#if defined(__x86_64__)
    if (level == KERNEL_LEVEL_AVX2) return &kernel_ops_avx2;
#endif
    return &kernel_ops_ref;
}
