/* A family of models: its weights as data read from the file, and one forward pass. A family has no state of its own
 * beyond the bound weights, which are immutable: sequences live in kv_cache and state slots that the caller names per
 * row, so rows of one step may belong to one sequence or to several. */
#ifndef CONVECT_ENGINE_FAMILY_H
#define CONVECT_ENGINE_FAMILY_H

#include "cpu/pool.h"
#include "engine/convect.h"
#include "engine/gguf.h"
#include "engine/kv.h"
#include "engine/state.h"
#include "kernels/layer_ops.h"
#include "kernels/table.h"

/* One input row. Its keys and values go to position i_kv of kv; it sees positions 0..i_kv. */
typedef struct family_row {
    const float *embd; /* [n_embd], or NULL: the embedding of token */
    kv_cache *kv;
    size_t i_kv;
    int32_t token;        /* in [0, n_vocab) */
    int32_t positions[3]; /* time, height, width; equal for text */
} family_row;

/* Consecutive rows that carry one recurrent state: state_in (never written) to state_out (another slot). */
typedef struct family_segment {
    size_t row_begin, n_rows;
    const uint8_t *state_in;
    uint8_t *state_out;
} family_segment;

/* The kind decides the order of sums, never the number of rows: in a prefill chunk every segment starts on the grid of
 * 64 positions and its full groups of 64 take the chunked DeltaNet form; a decode step takes the recurrence. */
typedef enum family_step_kind { FAMILY_DECODE, FAMILY_PREFILL } family_step_kind;

typedef struct family_step {
    family_step_kind kind;
    const family_row *rows;
    size_t n_rows;
    const family_segment *segments; /* cover the rows in order */
    size_t n_segments;
    convect_layer_tap tap; /* or NULL */
    void *tap_user;
} family_step;

/* What a pass runs with. scratch: family scratch_bytes(weights, n_rows_max, n_workers), aligned to 64. */
typedef struct family_exec {
    const void *weights;
    cpu_pool *pool;
    const kernel_table *kernels;
    const kernel_ops *ops;
    uint8_t *scratch;
    size_t scratch_bytes;
    size_t n_rows_max;
} family_exec;

typedef struct family {
    const char *architecture; /* general.architecture of its files */

    /* Reads hyperparameters, finds and checks every tensor. Errors name the key or tensor, what was found and what
     * was expected. *out is released with unbind. */
    convect_status (*bind)(const gguf *g, const convect_log *log, void **out, convect_error *err);
    void (*unbind)(void *weights);                                  /* NULL is fine */
    void (*describe)(const void *weights, convect_model_info *out); /* all but architecture and file_bytes */
    const kv_shape *(*kv)(const void *weights);
    const state_layout *(*state)(const void *weights);

    size_t (*scratch_bytes)(const void *weights, size_t n_rows_max, size_t n_workers);
    /* Runs all layers. Returns [n_rows][n_embd] hidden states after the last norm, in scratch until the next call. */
    const float *(*forward)(const family_exec *exec, const family_step *step);
    /* logits [n_rows][n_vocab] of hidden rows [n_rows][n_embd]; n_rows <= CONVECT_STEP_ROWS_MAX. */
    void (*head)(const family_exec *exec, const float *hidden, size_t n_rows, float *logits);
} family;

extern const family family_qwen35moe;

#endif
