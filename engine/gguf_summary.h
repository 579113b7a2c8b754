/* What a GGUF file spends its bytes on, from the names, shapes and types of its tensors: totals per part of the model
 * and per type, and the bytes that one decoded token reads. Works on any file; names that are not known count as
 * "other". */
#ifndef CONVECT_ENGINE_GGUF_SUMMARY_H
#define CONVECT_ENGINE_GGUF_SUMMARY_H

#include "engine/gguf.h"

/* X(symbol, name shown) */
#define GGUF_PART_LIST(X)                                                                                              \
    X(EMBEDDING, "embedding")                                                                                          \
    X(ATTENTION, "attention")                                                                                          \
    X(DELTANET, "DeltaNet") /* with the projections of such a layer, which are called attn_qkv and attn_gate */        \
    X(ROUTER, "router")                                                                                                \
    X(EXPERTS, "experts")                                                                                              \
    X(SHARED_EXPERT, "shared expert") /* with its gate */                                                              \
    X(FEED_FORWARD, "feed-forward")   /* dense */                                                                      \
    X(NORMS, "norms")                                                                                                  \
    X(HEAD, "head")                                                                                                    \
    X(MTP, "MTP") /* whole blocks */                                                                                   \
    X(OTHER, "other")

typedef enum gguf_part {
#define X(symbol, name) GGUF_PART_##symbol,
    GGUF_PART_LIST(X)
#undef X
        GGUF_PART_COUNT
} gguf_part;

#define GGUF_SUMMARY_TYPES_MAX 40

typedef struct gguf_sum {
    uint64_t n_tensors, n_elems, n_bytes;
    uint64_t token_bytes; /* read for one decoded token */
} gguf_sum;

typedef struct gguf_type_sum {
    const gguf_ggml_type *type;
    gguf_sum sum;
} gguf_type_sum;

typedef struct gguf_summary {
    gguf_sum total;
    gguf_sum parts[GGUF_PART_COUNT];
    gguf_type_sum types[GGUF_SUMMARY_TYPES_MAX]; /* in order of first appearance */
    size_t n_types;
    bool is_tied;            /* no output tensor: the embedding is the head, and is read whole */
    bool has_expert_counts;  /* else experts count as read whole */
    uint64_t n_experts;      /* <architecture>.expert_count */
    uint64_t n_experts_used; /* <architecture>.expert_used_count */
    uint64_t n_main_blocks;  /* blocks that are not MTP; UINT64_MAX if the metadata does not say */
} gguf_summary;

/* Per token: one row of the embedding, n_experts_used / n_experts of the experts, nothing of MTP (drafting apart), all
 * the rest. */
void gguf_summarise(const gguf *g, gguf_summary *s);

const char *gguf_part_name(gguf_part part); /* static storage */

/* The part that tensor t of g belongs to; s needs n_main_blocks only. */
gguf_part gguf_part_of(const gguf *g, const gguf_summary *s, const gguf_tensor *t);

double gguf_bits_per_weight(const gguf_sum *sum); /* 0 for an empty sum */

#endif
