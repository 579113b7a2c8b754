/* The activation record: a vector quantised once, to int8 in blocks of 32, for every quantised matrix product that
 * reads it (numerics contract 2.1 in engine/ARCHITECTURE.md). A view never owns memory. */
#ifndef CONVECT_KERNELS_ACT_H
#define CONVECT_KERNELS_ACT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Record of k elements, k a multiple of 32. Layout in one buffer of act_bytes(k): q at 0, ds at k, sum16 at k + k/4. */
typedef struct act_view {
    int8_t *q; /* [k] codes, |q| <= 127 */
    float *ds; /* [k/32][2]: da = amax/127 and s = RN(da * sum of the block's codes); both NaN if the block has one */
    int32_t *sum16; /* [k/16] sums of 16 codes */
    size_t k;
} act_view;

static inline size_t act_bytes(size_t k) {
    return k + k / 2;
}

/* View of a record in buf (act_bytes(k) bytes, 4-byte aligned). */
static inline act_view act_view_at(void *buf, size_t k) {
    uint8_t *b = (uint8_t *)buf;
    act_view v = {(int8_t *)b, (float *)(void *)(b + k), (int32_t *)(void *)(b + k + k / 4), k};
    return v;
}

#ifdef __cplusplus
}
#endif
#endif
