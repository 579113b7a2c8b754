/* Weights of made-up tensors: what each tensor is for decides how large its values are, so that activations stay finite
 * and of order one through any number of layers. */
#ifndef CONVECT_TOOLS_SYNTH_FILL_H
#define CONVECT_TOOLS_SYNTH_FILL_H

#include "tools/model_list.h"
#include "tools/synth_block.h"

typedef struct synth_style {
    uint64_t seed;
    double skew; /* Zipf exponent of expert popularity; 0: uniform */
    size_t n_experts, n_experts_used;
    size_t n_value_channels; /* of DeltaNet: ssm.inner_size */
    bool is_tied;            /* no output tensor */
} synth_style;

typedef enum synth_kind {
    SYNTH_BLOCKS,  /* random blocks with root mean square rms */
    SYNTH_NORMAL,  /* normal values of that rms */
    SYNTH_NORM,    /* around 1 */
    SYNTH_DECAY,   /* ssm_a: -2 to -0.5 */
    SYNTH_DT_BIAS, /* -3 to -1: with ssm_a a memory of about ten tokens */
    SYNTH_CONV,    /* newest tap strongest */
    SYNTH_ROUTER   /* normal rows, each of its own rms */
} synth_kind;

typedef struct synth_source {
    list_tensor tensor;
    synth_kind kind;
    uint64_t key;
    float rms;
    uint64_t n_key_channels;        /* SYNTH_CONV with a skew: channels of queries and keys, which come first; else 0 */
    const synth_block_maker *maker; /* SYNTH_BLOCKS; borrowed */
    float row_rms[1024];            /* SYNTH_ROUTER */
} synth_source;

/* makers: [FORMAT_COUNT], initialised for formats with a recipe. */
void synth_source_init(synth_source *s, const list_tensor *t, const synth_style *style,
                       const synth_block_maker *makers);

/* Bytes of elements [first, first + n) of the tensor taken as one run of blocks; both multiples of the block.
 * scratch: [n] floats. Any thread. */
void synth_source_fill(const synth_source *s, uint64_t first, size_t n, float *scratch, uint8_t *out);

#endif
