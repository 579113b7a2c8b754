/* Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011: 128 random bits as a pure function of a 128-bit counter and a 64-bit key. Any thread, any order.
 */
#ifndef CONVECT_KERNELS_PHILOX_H
#define CONVECT_KERNELS_PHILOX_H

#include <stdint.h>

typedef struct philox_block {
    uint32_t w[4];
} philox_block;

static inline philox_block philox_round(philox_block c, uint32_t key_0, uint32_t key_1) {
    uint64_t p0 = UINT64_C(0xD2511F53) * c.w[0], p1 = UINT64_C(0xCD9E8D57) * c.w[2];
    return (philox_block){
        {(uint32_t)(p1 >> 32) ^ c.w[1] ^ key_0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c.w[3] ^ key_1, (uint32_t)p0}};
}

static inline philox_block philox(philox_block counter, uint64_t key) {
    uint32_t key_0 = (uint32_t)key, key_1 = (uint32_t)(key >> 32);
    for (int i = 0; i < 10; i++) {
        counter = philox_round(counter, key_0, key_1);
        key_0 += 0x9E3779B9U; /* golden ratio */
        key_1 += 0xBB67AE85U; /* sqrt(3) - 1 */
    }
    return counter;
}

#endif
