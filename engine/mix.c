#include "engine/mix.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/check.h"

typedef struct mix_rule {
    format_id plain;     /* elsewhere */
    format_id important; /* in important layers */
} mix_rule;

typedef struct mix_row {
    const char *name;
    uint32_t file_type;
    format_id other; /* matrices of unknown name */
    mix_rule rule[MIX_ROLE_COUNT];
} mix_row;

#define ALL(f)                                                                                                         \
    { FORMAT_##f, FORMAT_##f }
#define SOME(p, i)                                                                                                     \
    { FORMAT_##p, FORMAT_##i }
#define SAME(f)                                                                                                        \
    {                                                                                                                  \
        [MIX_ROLE_EMBEDDING] = ALL(f), [MIX_ROLE_HEAD] = ALL(f), [MIX_ROLE_ATTN_QKV] = ALL(f),                         \
        [MIX_ROLE_ATTN_INNER] = ALL(f), [MIX_ROLE_ATTN_V] = ALL(f), [MIX_ROLE_ATTN_OUTPUT] = ALL(f),                   \
        [MIX_ROLE_SSM] = ALL(f), [MIX_ROLE_SHARED_GATE_UP] = ALL(f), [MIX_ROLE_SHARED_DOWN] = ALL(f),                  \
        [MIX_ROLE_EXPERT_GATE_UP] = ALL(f), [MIX_ROLE_EXPERT_DOWN] = ALL(f)                                            \
    }

static const mix_row mixes[MIX_COUNT] = {
    [MIX_Q8_0] = {"q8_0", 7, FORMAT_Q8_0, SAME(Q8_0)},
    [MIX_Q6_K] = {"q6_k", 18, FORMAT_Q6_K, SAME(Q6_K)},
    [MIX_Q4_K_M] = {"q4_k_m",
                    15,
                    FORMAT_Q4_K,
                    {[MIX_ROLE_EMBEDDING] = ALL(Q4_K),
                     [MIX_ROLE_HEAD] = ALL(Q6_K),
                     [MIX_ROLE_ATTN_QKV] = ALL(Q5_K),
                     [MIX_ROLE_ATTN_INNER] = ALL(Q4_K),
                     [MIX_ROLE_ATTN_V] = ALL(Q8_0),
                     [MIX_ROLE_ATTN_OUTPUT] = ALL(Q5_K),
                     [MIX_ROLE_SSM] = ALL(Q4_K),
                     [MIX_ROLE_SHARED_GATE_UP] = ALL(Q4_K),
                     [MIX_ROLE_SHARED_DOWN] = SOME(Q4_K, Q6_K),
                     [MIX_ROLE_EXPERT_GATE_UP] = ALL(Q4_K),
                     [MIX_ROLE_EXPERT_DOWN] = SOME(Q4_K, Q6_K)}},
    [MIX_UD_Q4] = {"ud-q4",
                   15,
                   FORMAT_Q8_0,
                   {[MIX_ROLE_EMBEDDING] = ALL(Q8_0),
                    [MIX_ROLE_HEAD] = ALL(Q6_K),
                    [MIX_ROLE_ATTN_QKV] = ALL(Q8_0),
                    [MIX_ROLE_ATTN_INNER] = ALL(Q8_0),
                    [MIX_ROLE_ATTN_V] = ALL(Q8_0),
                    [MIX_ROLE_ATTN_OUTPUT] = ALL(Q8_0),
                    [MIX_ROLE_SSM] = ALL(Q8_0),
                    [MIX_ROLE_SHARED_GATE_UP] = ALL(Q8_0),
                    [MIX_ROLE_SHARED_DOWN] = ALL(Q8_0),
                    [MIX_ROLE_EXPERT_GATE_UP] = ALL(Q4_K),
                    [MIX_ROLE_EXPERT_DOWN] = SOME(IQ4_NL, Q5_K)}},
    [MIX_Q2_K] = {"q2_k",
                  10,
                  FORMAT_Q4_K,
                  {[MIX_ROLE_EMBEDDING] = ALL(Q2_K),
                   [MIX_ROLE_HEAD] = ALL(Q6_K),
                   [MIX_ROLE_ATTN_QKV] = ALL(Q4_K),
                   [MIX_ROLE_ATTN_INNER] = ALL(Q4_K),
                   [MIX_ROLE_ATTN_V] = ALL(Q6_K),
                   [MIX_ROLE_ATTN_OUTPUT] = ALL(Q5_K),
                   [MIX_ROLE_SSM] = ALL(Q4_K),
                   [MIX_ROLE_SHARED_GATE_UP] = ALL(Q4_K),
                   [MIX_ROLE_SHARED_DOWN] = ALL(Q5_K),
                   [MIX_ROLE_EXPERT_GATE_UP] = ALL(Q2_K),
                   [MIX_ROLE_EXPERT_DOWN] = SOME(Q2_K, Q3_K)}},
};

static const char *const role_names[MIX_ROLE_COUNT] = {
    [MIX_ROLE_EMBEDDING] = "embedding",
    [MIX_ROLE_HEAD] = "head",
    [MIX_ROLE_ROUTER] = "router",
    [MIX_ROLE_ATTN_QKV] = "attention qkv",
    [MIX_ROLE_ATTN_INNER] = "attention q, k, gate",
    [MIX_ROLE_ATTN_V] = "attention v",
    [MIX_ROLE_ATTN_OUTPUT] = "attention output",
    [MIX_ROLE_SSM] = "deltanet",
    [MIX_ROLE_SHARED_GATE_UP] = "shared gate, up",
    [MIX_ROLE_SHARED_DOWN] = "shared down",
    [MIX_ROLE_EXPERT_GATE_UP] = "expert gate, up",
    [MIX_ROLE_EXPERT_DOWN] = "expert down",
    [MIX_ROLE_PLAIN] = "norms and vectors",
};

typedef struct role_row {
    const char *stem; /* name without "blk.N." and without ".weight" */
    mix_role role;
} role_row;

static const role_row roles[] = {
    {"token_embd", MIX_ROLE_EMBEDDING},
    {"nextn.embed_tokens", MIX_ROLE_EMBEDDING},
    {"output", MIX_ROLE_HEAD},
    {"nextn.shared_head_head", MIX_ROLE_HEAD},
    {"ffn_gate_inp", MIX_ROLE_ROUTER},
    {"ffn_gate_inp_shexp", MIX_ROLE_ROUTER},
    {"attn_qkv", MIX_ROLE_ATTN_QKV},
    {"attn_q", MIX_ROLE_ATTN_INNER},
    {"attn_k", MIX_ROLE_ATTN_INNER},
    {"attn_gate", MIX_ROLE_ATTN_INNER},
    {"nextn.eh_proj", MIX_ROLE_ATTN_INNER},
    {"attn_v", MIX_ROLE_ATTN_V},
    {"attn_output", MIX_ROLE_ATTN_OUTPUT},
    {"ssm_out", MIX_ROLE_SSM},
    {"ssm_alpha", MIX_ROLE_SSM},
    {"ssm_beta", MIX_ROLE_SSM},
    {"ffn_gate_shexp", MIX_ROLE_SHARED_GATE_UP},
    {"ffn_up_shexp", MIX_ROLE_SHARED_GATE_UP},
    {"ffn_gate", MIX_ROLE_SHARED_GATE_UP},
    {"ffn_up", MIX_ROLE_SHARED_GATE_UP},
    {"ffn_down_shexp", MIX_ROLE_SHARED_DOWN},
    {"ffn_down", MIX_ROLE_SHARED_DOWN},
    {"ffn_gate_exps", MIX_ROLE_EXPERT_GATE_UP},
    {"ffn_up_exps", MIX_ROLE_EXPERT_GATE_UP},
    {"ffn_gate_up_exps", MIX_ROLE_EXPERT_GATE_UP},
    {"ffn_down_exps", MIX_ROLE_EXPERT_DOWN},
};

const char *mix_name(mix_id id) {
    CONVECT_CHECK(id < MIX_COUNT);
    return mixes[id].name;
}

uint32_t mix_file_type(mix_id id) {
    CONVECT_CHECK(id < MIX_COUNT);
    return mixes[id].file_type;
}

const char *mix_role_name(mix_role role) {
    CONVECT_CHECK(role < MIX_ROLE_COUNT);
    return role_names[role];
}

/* Digits of "blk.N." -> N, and where the rest begins. */
static bool layer_prefix(const char *name, size_t *layer, const char **rest) {
    if (strncmp(name, "blk.", 4) != 0) return false;
    const char *p = name + 4;
    size_t n = 0;
    for (; *p >= '0' && *p <= '9' && n < 100000; p++) n = 10 * n + (size_t)(*p - '0');
    if (p == name + 4 || *p != '.') return false;
    *layer = n;
    *rest = p + 1;
    return true;
}

bool mix_layer_of(const char *name, size_t *out) {
    const char *rest;
    return layer_prefix(name, out, &rest);
}

mix_role mix_role_of(const char *name) {
    size_t layer;
    const char *stem = name;
    (void)layer_prefix(name, &layer, &stem);
    size_t n = strlen(stem);
    static const char tail[] = ".weight";
    if (n < sizeof tail || strcmp(stem + n - (sizeof tail - 1), tail) != 0) return MIX_ROLE_PLAIN;
    n -= sizeof tail - 1;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strlen(roles[i].stem) == n && memcmp(roles[i].stem, stem, n) == 0) return roles[i].role;
    }
    return MIX_ROLE_PLAIN;
}

static bool is_important(size_t i, size_t n) {
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

format_id mix_fallback(format_id wanted, uint64_t row_elems) {
    if (row_elems % format_get(wanted)->block_elems == 0) return wanted;
    if (row_elems % 32 != 0) return FORMAT_F16;
    return wanted == FORMAT_Q5_K || wanted == FORMAT_Q6_K ? FORMAT_Q8_0 : FORMAT_IQ4_NL;
}

static format_id mix_wanted(mix_id id, const mix_model *model, const mix_tensor *tensor) {
    mix_role role = mix_role_of(tensor->name);
    bool is_conv = strstr(tensor->name, "ssm_conv1d") != NULL;
    if (tensor->n_dims < 2 || is_conv || role == MIX_ROLE_ROUTER) return FORMAT_F32;
    if (role == MIX_ROLE_PLAIN) return mixes[id].other;
    size_t layer = 0;
    bool in_layer = mix_layer_of(tensor->name, &layer);
    bool important = in_layer && is_important(layer, model->n_layers);
    if (role == MIX_ROLE_EMBEDDING && !in_layer && model->is_tied) role = MIX_ROLE_HEAD;
    if (id == MIX_Q4_K_M && model->n_experts < 4) { /* the expert rule raises these two */
        if (role == MIX_ROLE_ATTN_V) return important ? FORMAT_Q6_K : FORMAT_Q4_K;
        if (role == MIX_ROLE_ATTN_OUTPUT) return FORMAT_Q4_K;
    }
    return important ? mixes[id].rule[role].important : mixes[id].rule[role].plain;
}

mix_choice mix_choose(mix_id id, const mix_model *model, const mix_tensor *tensor) {
    CONVECT_CHECK(id < MIX_COUNT && tensor->row_elems > 0);
    format_id wanted = mix_wanted(id, model, tensor);
    return (mix_choice){mix_fallback(wanted, tensor->row_elems), wanted};
}
