/* Inputs of the contract tests: they hit the working range (a gate of 0.1 to 10), where exp saturates nothing, and the
 * tails: tiny, huge, infinite, NaN, zero, denormal. A test on large random values alone passed with fast-math on. */
#ifndef CONVECT_TESTS_GPU_SAMPLES_H
#define CONVECT_TESTS_GPU_SAMPLES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/half.h"

typedef struct sample_rng {
    uint64_t state;
} sample_rng;

static inline uint32_t sample_bits(sample_rng *rng) { /* splitmix64 */
    uint64_t z = rng->state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

static inline float sample_unit(sample_rng *rng) { /* [0, 1) */
    return (float)(sample_bits(rng) >> 8) * 0x1p-24F;
}

static inline float sample_signed(sample_rng *rng, float low, float high) { /* magnitude in [low, high), log scale */
    float m = low * powf(high / low, sample_unit(rng));
    return sample_bits(rng) & 1U ? -m : m;
}

enum { SAMPLE_KINDS = 8 };

/* One value of block kind i_block mod SAMPLE_KINDS. */
static inline float sample_value(sample_rng *rng, size_t i_block) {
    static const float specials[] = {0.0F, -0.0F, 1e-45F, -1e-39F, 88.5F, -104.0F, 3.4e38F, -3.4e38F};
    switch (i_block % SAMPLE_KINDS) {
    case 0: return sample_signed(rng, 0.1F, 10.0F);
    case 1: return sample_signed(rng, 1e-3F, 100.0F);
    case 2: return sample_signed(rng, 0x1p-66F, 0x1p-58F); /* around the 2^-60 floor */
    case 3: return sample_signed(rng, 1e30F, 3e38F);
    case 4: return specials[sample_bits(rng) % 8];
    case 5: return sample_bits(rng) % 40 == 0 ? INFINITY : sample_signed(rng, 0.1F, 10.0F);
    case 6: return sample_bits(rng) % 40 == 0 ? NAN : sample_signed(rng, 0.1F, 10.0F);
    default: return float_from_bits(sample_bits(rng)); /* any bits: NaN payloads, denormals */
    }
}

/* Equal bits, or both a NaN. */
static inline bool sample_same(float a, float b) {
    return float_bits(a) == float_bits(b) || (a != a && b != b);
}

#endif
