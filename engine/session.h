/* A session inside the engine: one timeline and what it can be resumed from.
 *
 *   position   0 ........ grid.n_tokens ..... n_tokens ........ n_kv
 *   KV         [ written by prefill: n_prefilled ][ by steps  ][ stale ]
 *
 * tokens[p] is the token whose keys and values lie at position p, for p < n_kv; the timeline is its prefix n_tokens.
 * A resume point is a recurrent state at a grid position, made by prefill, whose keys and values are still there; it
 * ends when a position below it is written. */
#ifndef CONVECT_ENGINE_SESSION_H
#define CONVECT_ENGINE_SESSION_H

#include "engine/model.h"

typedef struct resume_point {
    size_t slot;     /* STATE_NONE: no point */
    size_t n_tokens; /* multiple of 64 */
} resume_point;

typedef struct session_snapshot {
    resume_point point;
    bool has_output; /* of token n_tokens - 1 */
    float *logits;   /* [n_vocab], borrowed from the session's outputs */
    float *hidden;   /* [n_embd] */
} session_snapshot;

struct convect_session {
    convect_model *model;
    size_t n_ctx, n_chunk; /* n_chunk: prefill rows per pass, a multiple of 64 */
    kv_cache kv;
    state_pool states;
    family_exec exec;
    family_row *rows; /* [exec.n_rows_max] owned */
    int32_t *tokens;  /* [n_ctx] owned */
    size_t n_tokens, n_kv, n_prefilled;
    size_t live;                 /* slot of the state at n_tokens */
    bool is_prefilled;           /* prefill made the live state */
    bool has_output;             /* row 0 of the outputs belongs to token n_tokens - 1, made by prefill */
    resume_point grid;           /* last grid point before the end of the last prefill */
    session_snapshot *snapshots; /* [n_snapshots] owned */
    size_t n_snapshots;
    size_t n_pending;                        /* rows of a step that wait for accept */
    size_t row_slots[CONVECT_STEP_ROWS_MAX]; /* state after each pending row */
    float *outputs;                          /* one block: logits, hidden, snapshots' copies; owned */
    size_t output_bytes;
    float *logits; /* [CONVECT_STEP_ROWS_MAX][n_vocab] in outputs */
    float *hidden; /* [CONVECT_STEP_ROWS_MAX][n_embd] in outputs */
    convect_layer_tap tap;
    void *tap_user;
};

/* Drops rows that wait for accept. */
void session_drop_pending(convect_session *s);

/* Position p is about to be written: resume points above it end. */
void session_write_from(convect_session *s, size_t p);

/* The timeline becomes the first point.n_tokens positions, its state shared with the point. */
void session_rewind(convect_session *s, resume_point point);

/* Runs one pass under the model's pool lock. Returns the hidden states in scratch. */
const float *session_forward(convect_session *s, const family_step *step);

/* Logits and hidden of hidden rows [n_rows] into output rows 0.. */
void session_output(convect_session *s, const float *hidden, size_t n_rows);

/* Token ids within the vocabulary. USAGE names the first bad one. */
convect_status session_check_tokens(const convect_session *s, const int32_t *tokens, size_t n,
                                    convect_error *err) CONVECT_MUST_CHECK;

#endif
