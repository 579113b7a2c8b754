/* Convect's public header: a loaded model, and a session on it.
 *
 * Two nouns. A convect_model is immutable after open and shared by any number of threads. A convect_session is one
 * mutable timeline (tokens, KV cache, recurrent state, logits) with one caller at a time; it owns its state and logits.
 * Callers always pass the whole prefix they want; the session decides what it can keep, so nobody holds stale state.
 *
 * Numerics (engine/ARCHITECTURE.md): prefill runs on an absolute grid of 64 positions, so logits do not depend on chunk
 * size, resume point or thread count; a decode step of n rows computes each row exactly as a step of one. */
#ifndef CONVECT_H
#define CONVECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/log.h"
#include "engine/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CONVECT_GRID_TOKENS   64 /* prefill grid; resume points lie on it */
#define CONVECT_STEP_ROWS_MAX 8  /* rows of one decode step */

typedef struct convect_model convect_model;
typedef struct convect_session convect_session;

/* Progress of loading or prefill, called from the caller's thread. Return false to cancel (CONVECT_CANCELLED). */
typedef bool (*convect_progress)(void *user, uint64_t n_done, uint64_t n_total);

typedef struct convect_model_options {
    const convect_log *log;    /* NULL: silent */
    size_t n_threads;          /* 0: one per physical core */
    const char *kernel_level;  /* "ref", "avx2"; NULL: the best this CPU has. Never changes a result */
    convect_progress progress; /* bytes; may be NULL */
    void *progress_user;
} convect_model_options;

/* f16: default. f32: no rounding of K and V, for golden comparisons. int8: groups of 64, lossy, asked for by name. */
typedef enum convect_kv_type { CONVECT_KV_F16, CONVECT_KV_F32, CONVECT_KV_INT8, CONVECT_KV_COUNT } convect_kv_type;

typedef struct convect_session_options {
    size_t n_ctx_tokens; /* 0: the smaller of the model's context and 4096 */
    convect_kv_type kv_type;
    size_t prefill_chunk_tokens; /* multiple of 64; 0: 512 */
    size_t n_snapshots;          /* state snapshots this session can hold; 0 is fine */
} convect_session_options;

/* Maps and checks FILE (first shard of a split), binds the family. Errors: NOT_FOUND, DAMAGED, NOT_SUPPORTED, NO_FIT.
 */
convect_status convect_model_open(const char *path, const convect_model_options *options, convect_model **out,
                                  convect_error *err) CONVECT_MUST_CHECK;
void convect_model_close(convect_model *model); /* after all its sessions; NULL is fine */

typedef struct convect_model_info {
    const char *architecture; /* "qwen35moe" */
    size_t n_vocab;           /* length of a logits row */
    size_t n_embd;            /* hidden size */
    size_t n_layers;          /* without MTP blocks */
    size_t n_mtp;             /* MTP blocks present in the file */
    size_t n_ctx_max_tokens;  /* from metadata */
    size_t n_threads;         /* workers */
    const char *kernel_level; /* "avx2" */
    uint64_t file_bytes;
    uint64_t weight_bytes_per_token;               /* weights read for one decoded token (top-k experts) */
    uint64_t kv_bytes_per_token[CONVECT_KV_COUNT]; /* by convect_kv_type */
    uint64_t state_bytes;                          /* recurrent state of one sequence */
} convect_model_info;

void convect_model_describe(const convect_model *model, convect_model_info *out);

/* How fast the model's workers read memory together, measured now: at least 256 MiB for about 0.3 s. Waits for a pass
 * of a session in another thread. Error: NO_FIT. */
typedef struct convect_read_rate {
    double gb_per_s;       /* 1e9 bytes a second */
    uint64_t buffer_bytes; /* read by each pass */
    uint64_t cache_bytes;  /* the machine's last-level caches; 0: unknown */
} convect_read_rate;
convect_status convect_model_measure_read(convect_model *model, convect_read_rate *out,
                                          convect_error *err) CONVECT_MUST_CHECK;

struct gguf;
const struct gguf *convect_model_gguf(const convect_model *model); /* borrowed: metadata, tokenizer, template */

/* Bytes a session will take, by purpose; plain arithmetic, nothing is allocated. Zero options mean the defaults. */
typedef struct convect_session_sizes {
    size_t n_ctx_tokens;    /* after defaults */
    uint64_t kv_bytes;      /* touched as positions are written */
    uint64_t state_bytes;   /* all slots: one per decode row, grid point and snapshot; touched on first use */
    uint64_t scratch_bytes; /* of a prefill chunk */
    uint64_t output_bytes;  /* logits, hidden states, token lists */
} convect_session_sizes;
convect_status convect_session_measure(const convect_model *model, const convect_session_options *options,
                                       convect_session_sizes *out, convect_error *err) CONVECT_MUST_CHECK;

/* Allocates all state, KV and scratch; after it the token path allocates nothing. Errors: NO_FIT, USAGE. */
convect_status convect_session_create(convect_model *model, const convect_session_options *options,
                                      convect_session **out, convect_error *err) CONVECT_MUST_CHECK;
void convect_session_destroy(convect_session *session); /* NULL is fine */

/* Makes the timeline exactly tokens[0..n_tokens): keeps the longest prefix it can resume from (grid points and
 * snapshots), prefills the rest. Afterwards row 0 of logits and hidden belong to the last token. On failure or cancel
 * the timeline is some prefix of tokens. progress counts tokens; may be NULL. */
convect_status convect_session_sync(convect_session *session, const int32_t *tokens, size_t n_tokens,
                                    convect_progress progress, void *user, convect_error *err) CONVECT_MUST_CHECK;

/* Called for each position that sync_all prefills, in order; pointers are valid during the call. Return false to stop
 * (CONVECT_CANCELLED). */
typedef bool (*convect_row_callback)(void *user, size_t position, const float *logits, const float *hidden);

/* As convect_session_sync, and hands out logits [n_vocab] and hidden [n_embd] of every position from the first one. It
 * keeps nothing of the old timeline, so that all positions are seen. For teacher-forced evaluation. */
convect_status convect_session_sync_all(convect_session *session, const int32_t *tokens, size_t n_tokens,
                                        convect_row_callback on_row, void *user, convect_error *err) CONVECT_MUST_CHECK;

/* One decode step: appends rows tokens[0..n), 1 <= n <= CONVECT_STEP_ROWS_MAX, as proposed continuation. Row i of
 * logits and hidden belongs to tokens[i]. The rows are proposals until convect_session_accept. */
convect_status convect_session_step(convect_session *session, const int32_t *tokens, size_t n,
                                    convect_error *err) CONVECT_MUST_CHECK;

/* Keeps the first n_accepted rows of the last step (0..n) and drops the rest, KV and recurrent state included. Must be
 * called before the next step; n_accepted = n after a plain step of accepted tokens. */
convect_status convect_session_accept(convect_session *session, size_t n_accepted,
                                      convect_error *err) CONVECT_MUST_CHECK;

/* One verification: runs last token + n proposed ones, counts how many proposals equal the greedy choice of the row
 * before, keeps those rows. *n_accepted in [0, n_proposed]; logits row 0.. as in a step. */
convect_status convect_session_propose(convect_session *session, int32_t last, const int32_t *proposed,
                                       size_t n_proposed, size_t *n_accepted, convect_error *err) CONVECT_MUST_CHECK;

size_t convect_session_n_tokens(const convect_session *session);
const int32_t *convect_session_tokens(const convect_session *session);
const float *convect_session_logits(const convect_session *session, size_t i_row); /* [n_vocab] */
const float *convect_session_hidden(const convect_session *session,
                                    size_t i_row); /* [n_embd], after output_norm: MTP input */

/* Snapshots of the recurrent state, by index < n_snapshots. Saving is allowed at a grid position reached by prefill
 * (USAGE elsewhere) and copies no state; a restored session continues bit for bit as if it had been prefilled to there,
 * logits included. Keys and values are not copied: a snapshot ends when a position below it is written again with
 * another timeline, and restoring it is then USAGE. convect_session_sync resumes from snapshots by itself. */
convect_status convect_session_snapshot_save(convect_session *session, size_t i_snapshot,
                                             convect_error *err) CONVECT_MUST_CHECK;
convect_status convect_session_snapshot_restore(convect_session *session, size_t i_snapshot,
                                                convect_error *err) CONVECT_MUST_CHECK;

/* Hidden state after each layer of the last prefill chunk or step, for golden tests: called with layer index
 * (0..n_layers-1), rows and [n_rows][n_embd] values. NULL turns it off. */
typedef void (*convect_layer_tap)(void *user, size_t i_layer, size_t n_rows, const float *x);
void convect_session_tap(convect_session *session, convect_layer_tap tap, void *user);

#ifdef __cplusplus
}
#endif
#endif
