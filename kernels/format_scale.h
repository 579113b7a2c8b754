/* Where the float parts of stored blocks lie (scales, minima, or the weights themselves), to find the ones that are not
 * finite: a NaN or an infinity there makes every product with its row a NaN. Pure; any thread. */
#ifndef CONVECT_KERNELS_FORMAT_SCALE_H
#define CONVECT_KERNELS_FORMAT_SCALE_H

#include <stdbool.h>

#include "kernels/format.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct format_fault {
    size_t i_block;
    size_t byte_off;   /* of the field, from the first block */
    const char *field; /* "d", "dmin", "m", "scale", "weight"; static storage */
} format_fault;

/* The first field that is not finite in n_blocks stored blocks (any alignment). False if all are finite. MXFP4: the
 * exponent 255, which the format defines as NaN. NVFP4 has none: its one NaN code counts as 0. */
bool format_find_fault(format_id id, const uint8_t *blocks, size_t n_blocks, format_fault *out);

#ifdef __cplusplus
}
#endif
#endif
