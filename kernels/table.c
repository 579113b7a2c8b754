#include "kernels/table.h"

#include "engine/base/check.h"

extern const kernel_table kernel_table_ref;
extern const kernel_table kernel_table_avx2;

const kernel_table *kernel_table_get(kernel_level level) {
    static const kernel_table *const tables[KERNEL_LEVEL_COUNT] = {
        [KERNEL_LEVEL_REF] = &kernel_table_ref,
        [KERNEL_LEVEL_AVX2] = &kernel_table_avx2,
    };
    CONVECT_CHECK((unsigned)level < KERNEL_LEVEL_COUNT);
    return tables[level];
}

const char *kernel_level_name(kernel_level level) {
    static const char *const names[KERNEL_LEVEL_COUNT] = {"ref", "avx2"};
    CONVECT_CHECK((unsigned)level < KERNEL_LEVEL_COUNT);
    return names[level];
}
