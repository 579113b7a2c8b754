/* Random blocks of every weight format, made directly: codes are random bits, scales come from a small set of templates
 * whose weights have root mean square 1, then the block's scale is multiplied by what the tensor wants. */
#ifndef CONVECT_TOOLS_SYNTH_BLOCK_H
#define CONVECT_TOOLS_SYNTH_BLOCK_H

#include <stdbool.h>

#include "kernels/format.h"

#define SYNTH_TEMPLATES       64
#define SYNTH_BLOCK_BYTES_MAX 210

typedef struct synth_block_maker {
    format_id format;
    uint8_t block[SYNTH_TEMPLATES][SYNTH_BLOCK_BYTES_MAX];
    float d[SYNTH_TEMPLATES]; /* scale and min that give root mean square 1 */
    float min[SYNTH_TEMPLATES];
} synth_block_maker;

/* Formats with a recipe: all but F32, F16 and BF16. */
bool synth_block_has(format_id format);

/* format must have a recipe (checked). */
void synth_block_init(synth_block_maker *m, format_id format);

/* Blocks first..first + n of the stream `key`, with root mean square rms. Any thread. */
void synth_block_fill(const synth_block_maker *m, float rms, uint64_t key, uint64_t first, size_t n, uint8_t *out);

#endif
