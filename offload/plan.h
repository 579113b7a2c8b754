/* The memory plan: bytes per purpose and place, made before anything is allocated. Pure functions on small structs: the
 * caller says how large things get (plan_measure), the plan says whether they fit and, if not, which change is
 * cheapest. One place for now: RAM. Any thread. */
#ifndef CONVECT_OFFLOAD_PLAN_H
#define CONVECT_OFFLOAD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

#define PLAN_CTX_GRID_TOKENS 64  /* contexts that the plan proposes are multiples of it */
#define PLAN_CTX_MIN_TOKENS  512 /* the plan lowers or proposes no context below it */

/* X(symbol, name in text and JSON, what it is) */
#define PLAN_PURPOSE_LIST(X)                                                                                           \
    X(WEIGHTS, "weights", "the model file, mapped: shared with the page cache")                                        \
    X(KV, "kv", "KV cache, grows with the context")                                                                    \
    X(STATE, "state", "recurrent state and its snapshots")                                                             \
    X(SCRATCH, "scratch", "activations of a prefill chunk")                                                            \
    X(OUTPUT, "output", "logits, hidden states, token lists")                                                          \
    X(PROGRAM, "program", "tokenizer, metadata, threads")

typedef enum plan_purpose {
#define X(symbol, name, text) PLAN_##symbol,
    PLAN_PURPOSE_LIST(X)
#undef X
        PLAN_PURPOSE_COUNT
} plan_purpose;

typedef struct plan_sizes {
    uint64_t bytes[PLAN_PURPOSE_COUNT];
} plan_sizes;

/* Sizes at a context length and KV type; must not fall when the context grows. */
typedef void (*plan_measure)(const void *model, size_t n_ctx_tokens, bool has_small_kv, plan_sizes *out);

typedef struct plan_request {
    plan_measure measure;
    const void *model;    /* for measure */
    size_t n_ctx_tokens;  /* what is wanted */
    bool is_ctx_fixed;    /* the user gave it: fit or fail. Otherwise the plan may lower it */
    bool has_small_kv;    /* the small KV type is asked for already */
    const char *small_kv; /* how to ask for it: "--kv int8"; NULL if there is none */
    uint64_t ram_bytes;   /* room: --ram, or what the machine has available */
    bool is_ram_fixed;    /* the user gave it (changes the sentence only) */
} plan_request;

typedef struct plan {
    plan_sizes sizes; /* in RAM */
    uint64_t total_bytes;
    uint64_t ram_bytes;  /* room */
    size_t n_ctx_tokens; /* as wanted, or lowered to fit */
    bool fits;
} plan;

/* OK, or NO_FIT with one sentence that names the cheapest change that helps (a smaller --ctx, the small KV type, both,
 * or a smaller file); *out is filled either way, for n_ctx_tokens as wanted where nothing fits. */
convect_status plan_make(const plan_request *request, plan *out, convect_error *err) CONVECT_MUST_CHECK;

const char *plan_purpose_name(plan_purpose purpose); /* static storage */
const char *plan_purpose_text(plan_purpose purpose);

#endif
