/* Counter-based random numbers of made-up models: value i of a stream is a function of (key, i), so that any thread may
 * make any part of a tensor. Finaliser of splitmix64 (Steele, Lea, Flood 2014). Pure. */
#ifndef CONVECT_TOOLS_SYNTH_RANDOM_H
#define CONVECT_TOOLS_SYNTH_RANDOM_H

#include <stdint.h>

static inline uint64_t random_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t random_u64(uint64_t key, uint64_t i) {
    return random_mix(key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Key of a named stream. */
static inline uint64_t random_key(uint64_t seed, const char *name) {
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return random_mix(seed ^ random_mix(h));
}

/* [0, 1). */
static inline double random_unit(uint64_t key, uint64_t i) {
    return (double)(random_u64(key, i) >> 11) * 0x1p-53;
}

/* Nearly normal, mean 0, variance 1, |v| < 3.5: the sum of four 16-bit uniforms. */
static inline float random_normal(uint64_t key, uint64_t i) {
    uint64_t u = random_u64(key, i);
    int64_t sum = (int64_t)((u & 0xffff) + (u >> 16 & 0xffff) + (u >> 32 & 0xffff) + (u >> 48)) - 131070;
    return (float)sum * 2.6429e-5F; /* sqrt(3) / 65536 */
}

#endif
