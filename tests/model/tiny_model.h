/* Tiny random qwen35moe models for tests: a configuration in, a GGUF file out. Element i of tensor NAME is a hash of
 * (NAME, i) times a power of two, the same as in tests/golden/make_golden.py, so golden results need no stored weights.
 * Header-only; a test includes it once. */
#ifndef CONVECT_TESTS_TINY_MODEL_H
#define CONVECT_TESTS_TINY_MODEL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/gguf_write.h"
#include "kernels/format.h"

typedef struct tiny_config {
    uint32_t n_embd, n_layers, interval, n_mtp;
    uint32_t n_head, n_head_kv, head_dim, rope_dims;
    uint32_t n_k_heads, n_v_heads, state_dim, conv;
    uint32_t n_experts, top_k, expert_width, shared_width;
    uint32_t n_vocab, n_ctx;
    float rope_theta, eps;
    bool tied;
    bool fused_gate_up; /* one ffn_gate_up_exps instead of two tensors */
} tiny_config;

/* Turns one tensor's f32 values into the bytes of another format; NULL keeps F32. Chooses by name. Returns the ggml
 * type and writes the bytes of n_rows rows of k elements to out (room for f32). */
typedef uint32_t (*tiny_encode)(void *user, const char *name, const float *x, size_t n_rows, size_t k, void *out,
                                size_t *n_bytes);

static uint64_t tiny_fnv1a(const char *name) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

/* Value i of a stream, in [-1, 1), a multiple of 2^-15. */
static float tiny_uniform(uint64_t stream, uint64_t i) {
    uint64_t z = stream + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (float)((int64_t)(z >> 48) - 32768) * 0x1p-15f;
}

static bool tiny_ends(const char *name, const char *tail) {
    size_t n = strlen(name), m = strlen(tail);
    return n >= m && strcmp(name + n - m, tail) == 0;
}

/* y = offset + scale * u of a tensor, by its name. */
static void tiny_affine(const char *name, uint64_t k, float *offset, float *scale) {
    *offset = 0;
    if (tiny_ends(name, "norm.weight")) {
        *offset = 1, *scale = 0.25f;
    } else if (tiny_ends(name, "ssm_a")) {
        *offset = -1, *scale = 0.875f;
    } else if (tiny_ends(name, "ssm_dt.bias")) {
        *offset = -2, *scale = 0.5f;
    } else if (tiny_ends(name, "ssm_conv1d.weight")) {
        *scale = 0.5f;
    } else if (strcmp(name, "token_embd.weight") == 0) {
        *scale = 1;
    } else {
        *scale = (float)exp2(floor(log2(2.5 / sqrt((double)k))));
        if (tiny_ends(name, "ffn_gate_inp.weight") || tiny_ends(name, "attn_q.weight") ||
            tiny_ends(name, "attn_k.weight"))
            *scale *= 2;
    }
}

typedef struct tiny_tensor {
    char name[64];
    uint32_t n_dims;
    uint64_t ne[4];
} tiny_tensor;

#define TINY_TENSORS_MAX 512

typedef struct tiny_list {
    tiny_tensor t[TINY_TENSORS_MAX];
    size_t n;
} tiny_list;

static void tiny_add(tiny_list *l, int i_layer, const char *name, uint64_t a, uint64_t b, uint64_t c) {
    CONVECT_CHECK(l->n < TINY_TENSORS_MAX);
    tiny_tensor *t = &l->t[l->n++];
    if (i_layer < 0)
        (void)snprintf(t->name, sizeof t->name, "%s", name);
    else
        (void)snprintf(t->name, sizeof t->name, "blk.%d.%s", i_layer, name);
    t->n_dims = c ? 3 : b ? 2 : 1;
    t->ne[0] = a, t->ne[1] = b ? b : 1, t->ne[2] = c ? c : 1, t->ne[3] = 1;
}

static void tiny_add_moe(tiny_list *l, const tiny_config *c, int i) {
    uint64_t H = c->n_embd, E = c->n_experts, f = c->expert_width, fs = c->shared_width;
    tiny_add(l, i, "post_attention_norm.weight", H, 0, 0);
    tiny_add(l, i, "ffn_gate_inp.weight", H, E, 0);
    if (c->fused_gate_up) {
        tiny_add(l, i, "ffn_gate_up_exps.weight", H, 2 * f, E);
    } else {
        tiny_add(l, i, "ffn_gate_exps.weight", H, f, E);
        tiny_add(l, i, "ffn_up_exps.weight", H, f, E);
    }
    tiny_add(l, i, "ffn_down_exps.weight", f, H, E);
    tiny_add(l, i, "ffn_gate_inp_shexp.weight", H, 0, 0);
    tiny_add(l, i, "ffn_gate_shexp.weight", H, fs, 0);
    tiny_add(l, i, "ffn_up_shexp.weight", H, fs, 0);
    tiny_add(l, i, "ffn_down_shexp.weight", fs, H, 0);
}

static void tiny_add_attention(tiny_list *l, const tiny_config *c, int i) {
    uint64_t H = c->n_embd, D = c->head_dim;
    tiny_add(l, i, "attn_norm.weight", H, 0, 0);
    tiny_add(l, i, "attn_q.weight", H, c->n_head * 2 * D, 0);
    tiny_add(l, i, "attn_k.weight", H, c->n_head_kv * D, 0);
    tiny_add(l, i, "attn_v.weight", H, c->n_head_kv * D, 0);
    tiny_add(l, i, "attn_output.weight", c->n_head * D, H, 0);
    tiny_add(l, i, "attn_q_norm.weight", D, 0, 0);
    tiny_add(l, i, "attn_k_norm.weight", D, 0, 0);
}

static void tiny_add_deltanet(tiny_list *l, const tiny_config *c, int i) {
    uint64_t H = c->n_embd, d = c->state_dim, nv = c->n_v_heads, value_dim = nv * d;
    uint64_t conv_dim = 2 * c->n_k_heads * d + value_dim;
    tiny_add(l, i, "attn_norm.weight", H, 0, 0);
    tiny_add(l, i, "attn_qkv.weight", H, conv_dim, 0);
    tiny_add(l, i, "attn_gate.weight", H, value_dim, 0);
    tiny_add(l, i, "ssm_beta.weight", H, nv, 0);
    tiny_add(l, i, "ssm_alpha.weight", H, nv, 0);
    tiny_add(l, i, "ssm_conv1d.weight", c->conv, conv_dim, 0);
    tiny_add(l, i, "ssm_dt.bias", nv, 0, 0);
    tiny_add(l, i, "ssm_a", nv, 0, 0);
    tiny_add(l, i, "ssm_norm.weight", d, 0, 0);
    tiny_add(l, i, "ssm_out.weight", value_dim, H, 0);
}

static void tiny_tensors(const tiny_config *c, tiny_list *l) {
    l->n = 0;
    tiny_add(l, -1, "token_embd.weight", c->n_embd, c->n_vocab, 0);
    tiny_add(l, -1, "output_norm.weight", c->n_embd, 0, 0);
    if (!c->tied) tiny_add(l, -1, "output.weight", c->n_embd, c->n_vocab, 0);
    for (int i = 0; i < (int)c->n_layers; i++) {
        if ((uint32_t)(i + 1) % c->interval == 0)
            tiny_add_attention(l, c, i);
        else
            tiny_add_deltanet(l, c, i);
        tiny_add_moe(l, c, i);
    }
    for (int i = (int)c->n_layers; i < (int)(c->n_layers + c->n_mtp); i++) {
        tiny_add(l, i, "nextn.eh_proj.weight", 2 * (uint64_t)c->n_embd, c->n_embd, 0);
        tiny_add(l, i, "nextn.enorm.weight", c->n_embd, 0, 0);
        tiny_add(l, i, "nextn.hnorm.weight", c->n_embd, 0, 0);
        tiny_add(l, i, "nextn.shared_head_norm.weight", c->n_embd, 0, 0);
        tiny_add_attention(l, c, i);
        tiny_add_moe(l, c, i);
    }
}

static void tiny_kv_u32(gguf_writer *w, const char *key, uint32_t v) {
    char full[96];
    (void)snprintf(full, sizeof full, "qwen35moe.%s", key);
    gguf_writer_kv_u32(w, full, v);
}

static void tiny_metadata(gguf_writer *w, const tiny_config *c) {
    int32_t pairs = (int32_t)c->rope_dims / 2, h = (pairs - 1) / 3;
    int32_t sections[4] = {pairs - 2 * h, h, h, 0};
    gguf_writer_kv_string(w, "general.architecture", "qwen35moe", 9);
    tiny_kv_u32(w, "block_count", c->n_layers + c->n_mtp);
    tiny_kv_u32(w, "context_length", c->n_ctx);
    tiny_kv_u32(w, "embedding_length", c->n_embd);
    tiny_kv_u32(w, "attention.head_count", c->n_head);
    tiny_kv_u32(w, "attention.head_count_kv", c->n_head_kv);
    tiny_kv_u32(w, "attention.key_length", c->head_dim);
    tiny_kv_u32(w, "attention.value_length", c->head_dim);
    gguf_writer_kv_f32(w, "qwen35moe.attention.layer_norm_rms_epsilon", c->eps);
    gguf_writer_kv_f32(w, "qwen35moe.rope.freq_base", c->rope_theta);
    tiny_kv_u32(w, "rope.dimension_count", c->rope_dims);
    gguf_writer_kv_i32s(w, "qwen35moe.rope.dimension_sections", sections, 4);
    tiny_kv_u32(w, "expert_count", c->n_experts);
    tiny_kv_u32(w, "expert_used_count", c->top_k);
    tiny_kv_u32(w, "expert_feed_forward_length", c->expert_width);
    tiny_kv_u32(w, "expert_shared_feed_forward_length", c->shared_width);
    tiny_kv_u32(w, "ssm.conv_kernel", c->conv);
    tiny_kv_u32(w, "ssm.state_size", c->state_dim);
    tiny_kv_u32(w, "ssm.group_count", c->n_k_heads);
    tiny_kv_u32(w, "ssm.time_step_rank", c->n_v_heads);
    tiny_kv_u32(w, "ssm.inner_size", c->n_v_heads * c->state_dim);
    tiny_kv_u32(w, "full_attention_interval", c->interval);
    if (c->n_mtp) tiny_kv_u32(w, "nextn_predict_layers", c->n_mtp);
}

/* Values of a tensor, f32; the caller frees them. A fused gate_up holds the values of its two halves' own names. */
static float *tiny_values(const tiny_tensor *t, size_t *n) {
    *n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2]);
    float *x = malloc(*n * sizeof *x), offset, scale;
    CONVECT_CHECK(x);
    const char *fused = strstr(t->name, "ffn_gate_up_exps");
    if (!fused) {
        tiny_affine(t->name, t->ne[0], &offset, &scale);
        uint64_t stream = tiny_fnv1a(t->name);
        for (size_t i = 0; i < *n; i++) x[i] = offset + scale * tiny_uniform(stream, i);
        return x;
    }
    size_t half = (size_t)(t->ne[0] * t->ne[1] / 2);
    for (int part = 0; part < 2; part++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s%s", (int)(fused - t->name), t->name,
                       part ? "ffn_up_exps.weight" : "ffn_gate_exps.weight");
        tiny_affine(name, t->ne[0], &offset, &scale);
        uint64_t stream = tiny_fnv1a(name);
        for (size_t i = 0; i < half * t->ne[2]; i++)
            x[(2 * (i / half) + (size_t)part) * half + i % half] = offset + scale * tiny_uniform(stream, i);
    }
    return x;
}

static bool tiny_may_encode(const tiny_tensor *t) {
    return t->n_dims > 1 && !tiny_ends(t->name, "ssm_conv1d.weight");
}

/* Writes the model to path. encode NULL: all F32. Aborts on a failed write (tests). */
static void tiny_model_write(const char *path, const tiny_config *c, tiny_encode encode, void *user) {
    tiny_list *l = malloc(sizeof *l);
    CONVECT_CHECK(l);
    tiny_tensors(c, l);
    gguf_writer *w = NULL;
    convect_error err = {0};
    CONVECT_CHECK(gguf_writer_open(path, &w, &err) == CONVECT_OK);
    tiny_metadata(w, c);
    void **data = calloc(l->n, sizeof *data);
    size_t *n_bytes = calloc(l->n, sizeof *n_bytes);
    CONVECT_CHECK(data && n_bytes);
    for (size_t i = 0; i < l->n; i++) {
        size_t n;
        float *x = tiny_values(&l->t[i], &n);
        uint32_t type = 0;
        data[i] = x, n_bytes[i] = n * sizeof *x;
        if (encode && tiny_may_encode(&l->t[i])) {
            data[i] = malloc(n * sizeof *x);
            CONVECT_CHECK(data[i]);
            size_t k = (size_t)l->t[i].ne[0];
            type = encode(user, l->t[i].name, x, n / k, k, data[i], &n_bytes[i]);
            free(x);
        }
        gguf_writer_tensor(w, l->t[i].name, type, l->t[i].n_dims, l->t[i].ne);
    }
    CONVECT_CHECK(gguf_writer_begin_data(w, &err) == CONVECT_OK);
    for (size_t i = 0; i < l->n; i++) {
        CONVECT_CHECK(gguf_write_at(w, i, 0, data[i], n_bytes[i], &err) == CONVECT_OK);
        free(data[i]);
    }
    CONVECT_CHECK(gguf_writer_commit(w, &err) == CONVECT_OK);
    free(data), free(n_bytes), free(l);
}

#endif
