/* Angles of rotary position embedding. Computed in double arithmetic with our own series, not libm, so every system and
 * level gets the same f32 values. Pure; any thread. */
#ifndef CONVECT_KERNELS_ROPE_H
#define CONVECT_KERNELS_ROPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[i] = RN(1 / RN(base^(i / n_pairs))), i < n_pairs: the two roundings of transformers' inv_freq. base > 1, so no
 * frequency exceeds 1. */
void rope_frequencies(double base, size_t n_pairs, float *out);

/* cosines[i], sines[i] of the angle RN(position_i * frequencies[i]), where position_i is positions[axes[i]] (0 time,
 * 1 height, 2 width; all three equal for text). Positions in [0, 2^24). */
void rope_angles(const int32_t positions[3], const uint8_t *axes, const float *frequencies, size_t n_pairs,
                 float *cosines, float *sines);

/* Interleaved M-RoPE: pair i turns by height if i % 3 == 1 and i < 3 sections[1], by width if i % 3 == 2 and
 * i < 3 sections[2], else by time. */
void rope_axes(const int64_t sections[3], size_t n_pairs, uint8_t *axes);

#ifdef __cplusplus
}
#endif
#endif
