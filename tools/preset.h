/* Geometries of real models, as data, and the model_list that each gives with a mix. Sources: public configurations and
 * GGUF headers (the qwen35moe tensor tables are in engine/ARCHITECTURE.md). */
#ifndef CONVECT_TOOLS_PRESET_H
#define CONVECT_TOOLS_PRESET_H

#include "engine/mix.h"
#include "tools/model_list.h"

typedef struct preset {
    const char *name; /* as in --preset */
    const char *model_name;
    uint32_t n_layers, n_mtp; /* trunk layers; MTP blocks of the full model */
    uint32_t n_ctx, n_vocab;
    uint32_t n_embd;
    uint32_t n_head, n_head_kv, head_dim;
    uint32_t rope_dims;
    int32_t rope_sections[4];
    float rope_theta, norm_eps;
    uint32_t n_experts, n_experts_used, expert_width, shared_width;
    uint32_t conv_kernel, state_dim, n_k_heads, n_v_heads, full_interval;
} preset;

/* By index of the --preset choice; NULL past the last. Static storage. */
const preset *preset_at(size_t i);

/* The list of p in a mix, with the MTP blocks where asked for. Errors: NO_FIT. *out stays freeable. */
convect_status preset_list(const preset *p, mix_id mix, bool with_mtp, model_list *out,
                           convect_error *err) CONVECT_MUST_CHECK;

#endif
