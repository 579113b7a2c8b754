/* Family qwen35moe (Qwen3.5 / Qwen3.6 MoE): its hyperparameters and weights as read from a file. Tensor names and
 * shapes: llama.cpp's GGUF names for this architecture. Symbols in comments: H hidden, D head size, d DeltaNet head
 * size, Kd = n_k_heads d, Vd = n_v_heads d, C = 2 Kd + Vd convolution channels, E experts, f expert width. */
#ifndef CONVECT_ENGINE_QWEN35MOE_H
#define CONVECT_ENGINE_QWEN35MOE_H

#include "engine/binder.h"
#include "engine/family.h"

typedef struct qwen35moe_params {
    size_t n_blocks; /* with MTP blocks */
    size_t n_layers; /* without */
    size_t n_ctx, n_embd, n_vocab;
    size_t n_head, n_head_kv, head_dim;
    size_t n_rope_pairs;
    size_t n_experts, n_used, expert_width, shared_width;
    size_t n_taps, state_dim, n_k_heads, n_v_heads;
    double rope_base;
    int64_t rope_sections[3]; /* pairs by time, height, width */
    float eps;
} qwen35moe_params;

typedef struct qwen35moe_attention { /* full attention */
    weight q;                        /* [H -> n_head * 2 D]: per head D query rows, then D gate rows */
    weight k, v, out;
    const float *q_norm, *k_norm; /* [D] */
    size_t i_kv;                  /* layer index in the KV cache */
} qwen35moe_attention;

typedef struct qwen35moe_deltanet {
    weight qkv;             /* [H -> C]: Q heads, K heads, V heads */
    weight gate;            /* [H -> Vd] */
    weight alpha, beta;     /* [H -> n_v_heads] */
    weight out;             /* [Vd -> H] */
    const float *conv;      /* [n_taps][C], tap 0 oldest */
    const float *a, *dt;    /* [n_v_heads]: -exp(A_log), time step bias */
    const float *norm;      /* [d] */
    size_t conv_off, s_off; /* parts of a state slot */
} qwen35moe_deltanet;

typedef struct qwen35moe_experts {
    weight router;            /* [H -> E] */
    weight gate, up, down;    /* E matrices [H -> f], [H -> f], [f -> H] */
    weight shared_gate_logit; /* [H -> 1] */
    weight shared_gate, shared_up, shared_down;
} qwen35moe_experts;

typedef struct qwen35moe_layer {
    bool is_attention;
    const float *attn_norm, *ffn_norm; /* [H] */
    qwen35moe_attention attention;     /* if is_attention */
    qwen35moe_deltanet deltanet;       /* else */
    qwen35moe_experts experts;
} qwen35moe_layer;

/* One multi-token-prediction block: checked now, run by drafting. embd and head fall back to the trunk's. */
typedef struct qwen35moe_mtp {
    weight combine; /* [2 H -> H]: embedding half first */
    const float *embd_norm, *hidden_norm, *head_norm;
    weight embd, head;
    qwen35moe_layer layer; /* full attention; its i_kv is the MTP block's index */
} qwen35moe_mtp;

typedef struct qwen35moe {
    qwen35moe_params params;
    binder tensors;
    weight embd, head; /* [H -> n_vocab]; equal if tied */
    const float *output_norm;
    qwen35moe_layer *layers; /* [n_layers] owned */
    qwen35moe_mtp *mtp;      /* [n_mtp] owned */
    size_t n_mtp;            /* blocks present in the file */
    kv_shape kv;
    state_layout state;
    float *rope_frequencies; /* [n_rope_pairs] owned */
    uint8_t *rope_axes;      /* [n_rope_pairs] owned */
    size_t act_k_max;        /* widest input of a matrix */
} qwen35moe;

/* The family's bind, unbind and describe (engine/family.h). */
convect_status qwen35moe_bind(const gguf *file, const convect_log *log, void **out, convect_error *err);
void qwen35moe_unbind(void *weights);
void qwen35moe_describe(const void *weights, convect_model_info *out);

/* Reads and checks the metadata. */
convect_status qwen35moe_read_params(const gguf *file, qwen35moe_params *p, convect_error *err) CONVECT_MUST_CHECK;

/* True if trunk layer i is full attention; checked by qwen35moe_read_params for all layers. */
convect_status qwen35moe_is_attention(const gguf *file, size_t i_layer, bool *out,
                                      convect_error *err) CONVECT_MUST_CHECK;

#endif
