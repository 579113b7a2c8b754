/* Mixes: which format each tensor of a model gets when it is quantised (`convect quantize`) or made up
 * (`convect synth`). Pure data and one pure function; any thread.
 *
 *   q8_0    everything Q8_0
 *   q6_k    everything Q6_K
 *   q4_k_m  the usual Q4_K_M: Q4_K; head Q6_K; ffn_down Q6_K in half of the layers; attn_qkv Q5_K; with four or more
 *           experts attn_v Q8_0 and attn_output Q5_K (rules of ik_llama.cpp's quantizer, re-stated)
 *   ud-q4   our own "dynamic" mix: what every token reads is Q8_0 (attention, DeltaNet, shared expert), head Q6_K,
 * experts Q4_K for gate and up, down Q5_K in important layers and IQ4_NL elsewhere q2_k    smallest that still answers:
 * experts and embedding Q2_K, down Q3_K in important layers, the rest Q4_K to Q6_K
 *
 * Important layers: the first and last eighth and every third between (i < n/8, i >= 7n/8, (i - n/8) % 3 == 2).
 * In every mix 1-D tensors, routers and ssm_conv1d stay F32. */
#ifndef CONVECT_ENGINE_MIX_H
#define CONVECT_ENGINE_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/format.h"

typedef enum mix_id { MIX_Q8_0, MIX_Q6_K, MIX_Q4_K_M, MIX_UD_Q4, MIX_Q2_K, MIX_COUNT } mix_id;

/* What a tensor is for, by its name: the parts that plans and summaries add up. */
typedef enum mix_role {
    MIX_ROLE_EMBEDDING,  /* token_embd, nextn.embed_tokens */
    MIX_ROLE_HEAD,       /* output, nextn.shared_head_head */
    MIX_ROLE_ROUTER,     /* ffn_gate_inp, ffn_gate_inp_shexp */
    MIX_ROLE_ATTN_QKV,   /* fused, and the DeltaNet input projection */
    MIX_ROLE_ATTN_INNER, /* attn_q, attn_k, attn_gate, nextn.eh_proj */
    MIX_ROLE_ATTN_V,
    MIX_ROLE_ATTN_OUTPUT,
    MIX_ROLE_SSM,            /* ssm_out, ssm_alpha, ssm_beta */
    MIX_ROLE_SHARED_GATE_UP, /* shared expert or dense FFN */
    MIX_ROLE_SHARED_DOWN,
    MIX_ROLE_EXPERT_GATE_UP,
    MIX_ROLE_EXPERT_DOWN,
    MIX_ROLE_PLAIN, /* norms, biases, ssm_a, ssm_conv1d: stays F32; and matrices of unknown name */
    MIX_ROLE_COUNT
} mix_role;

typedef struct mix_tensor {
    const char *name; /* GGUF name */
    uint32_t n_dims;
    uint64_t row_elems; /* ne[0] */
} mix_tensor;

typedef struct mix_model {
    size_t n_layers;  /* block_count, MTP blocks included */
    size_t n_experts; /* 0: dense */
    bool is_tied;     /* no output tensor: token_embd is the head */
} mix_model;

typedef struct mix_choice {
    format_id format;
    format_id wanted; /* what the mix asks for: differs from format where the row length does not fit its blocks */
} mix_choice;

const char *mix_name(mix_id id);                  /* "q4_k_m"; static storage */
uint32_t mix_file_type(mix_id id);                /* value of general.file_type (llama.cpp's enumeration) */
const char *mix_role_name(mix_role role);         /* "expert down"; static storage */
mix_role mix_role_of(const char *name);           /* by the name alone */
bool mix_layer_of(const char *name, size_t *out); /* N of "blk.N."; false for global tensors */

/* The format of a tensor in a mix. A row that no block of the wanted format fits falls back to a 32-block format at
 * least as precise (Q4_K, Q3_K, Q2_K -> IQ4_NL; Q5_K, Q6_K -> Q8_0), one that is no multiple of 32 to F16. */
mix_choice mix_choose(mix_id id, const mix_model *model, const mix_tensor *tensor);

/* The format a row of this length gets instead of `wanted`; `wanted` itself if it fits. */
format_id mix_fallback(format_id wanted, uint64_t row_elems);

#endif
