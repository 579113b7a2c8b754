/* Metadata of family qwen35moe. Keys as llama.cpp writes them; ranges are ours. */
#include "engine/qwen35moe.h"

#include <string.h>

#include "engine/metadata.h"
#include "kernels/rope.h"

#define ARCHITECTURE "qwen35moe"

typedef struct size_key {
    const char *key;
    size_t *out;
    metadata_range range;
} size_key;

static convect_status read_sizes(const metadata *m, const size_key *keys, size_t n, convect_error *err) {
    for (size_t i = 0; i < n; i++) {
        convect_status status = metadata_size(m, keys[i].key, keys[i].range, keys[i].out, err);
        if (status != CONVECT_OK) return status;
    }
    return CONVECT_OK;
}

static convect_status must_be(bool holds, const char *what, size_t found, convect_error *err) {
    if (holds) return CONVECT_OK;
    return convect_fail(err, CONVECT_NOT_SUPPORTED, "metadata of " ARCHITECTURE ": %s, but it is %zu", what, found);
}

#define REQUIRE(cond, what, found)                                                                                     \
    do {                                                                                                               \
        convect_status require_status = must_be(cond, what, found, err);                                               \
        if (require_status != CONVECT_OK) return require_status;                                                       \
    } while (0)

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        convect_status try_status = (call);                                                                            \
        if (try_status != CONVECT_OK) return try_status;                                                               \
    } while (0)

convect_status qwen35moe_is_attention(const gguf *file, size_t i_layer, bool *out, convect_error *err) {
    const metadata m = {file, ARCHITECTURE};
    size_t value;
    if (metadata_find(&m, "attention.recurrent_layers")) {
        TRY(metadata_size_at(&m, "attention.recurrent_layers", i_layer, (metadata_range){0, 1}, &value, err));
        *out = value == 0;
        return CONVECT_OK;
    }
    TRY(metadata_size_or(&m, "full_attention_interval", (metadata_range){1, 1024}, 4, &value, err));
    *out = (i_layer + 1) % value == 0;
    return CONVECT_OK;
}

/* Head counts may be per layer, 0 standing on DeltaNet layers; all attention layers must agree. */
static convect_status read_heads(const metadata *m, qwen35moe_params *p, const char *key, size_t *out,
                                 convect_error *err) {
    size_t n_found = 0;
    for (size_t i = 0; i < p->n_blocks; i++) {
        bool is_attention = true;
        if (i < p->n_layers) TRY(qwen35moe_is_attention(m->file, i, &is_attention, err));
        if (!is_attention) continue;
        size_t n;
        TRY(metadata_size_at(m, key, i, (metadata_range){1, 4096}, &n, err));
        if (n_found++ > 0 && n != *out) {
            return convect_fail(err, CONVECT_NOT_SUPPORTED,
                                "metadata " ARCHITECTURE ".%s differs between layers (%zu and %zu)", key, *out, n);
        }
        *out = n;
    }
    if (n_found > 0) return CONVECT_OK;
    return metadata_size_at(m, key, 0, (metadata_range){1, 4096}, out, err); /* no attention layer uses it */
}

static convect_status read_rope(const metadata *m, qwen35moe_params *p, convect_error *err) {
    size_t n_dims;
    TRY(metadata_float(m, "rope.freq_base", 1, 1e30, &p->rope_base, err));
    TRY(metadata_size(m, "rope.dimension_count", (metadata_range){2, p->head_dim}, &n_dims, err));
    REQUIRE(n_dims % 2 == 0, "rope.dimension_count must be even", n_dims);
    p->n_rope_pairs = n_dims / 2;
    p->rope_sections[0] = (int64_t)p->n_rope_pairs;
    if (metadata_find(m, "rope.dimension_sections")) {
        size_t sum = 0, section[3];
        for (size_t i = 0; i < 3; i++) {
            TRY(metadata_size_at(m, "rope.dimension_sections", i, (metadata_range){0, p->n_rope_pairs}, &section[i],
                                 err));
            p->rope_sections[i] = (int64_t)section[i];
            sum += section[i];
        }
        REQUIRE(sum == p->n_rope_pairs, "rope.dimension_sections must sum to half of rope.dimension_count", sum);
    }
    gguf_string type;
    const gguf_kv *kv = metadata_find(m, "rope.scaling.type");
    if (kv && gguf_read_string(kv, &type) && !(type.n_bytes == 4 && memcmp(type.data, "none", 4) == 0)) {
        return convect_fail(err, CONVECT_NOT_SUPPORTED, "rope scaling '%.*s' is not supported; use the file without it",
                            (int)(type.n_bytes < 32 ? type.n_bytes : 32), type.data);
    }
    return CONVECT_OK;
}

static convect_status read_attention(const metadata *m, qwen35moe_params *p, convect_error *err) {
    size_t value_dim;
    double eps;
    TRY(read_heads(m, p, "attention.head_count", &p->n_head, err));
    TRY(read_heads(m, p, "attention.head_count_kv", &p->n_head_kv, err));
    REQUIRE(p->n_head % p->n_head_kv == 0, "attention.head_count must be a multiple of attention.head_count_kv",
            p->n_head);
    TRY(metadata_size(m, "attention.key_length", (metadata_range){32, OPS_HEAD_DIM_MAX}, &p->head_dim, err));
    TRY(metadata_size(m, "attention.value_length", (metadata_range){32, OPS_HEAD_DIM_MAX}, &value_dim, err));
    REQUIRE(p->head_dim % 32 == 0, "attention.key_length must be a multiple of 32", p->head_dim);
    REQUIRE(value_dim == p->head_dim, "attention.value_length must equal attention.key_length", value_dim);
    TRY(metadata_float(m, "attention.layer_norm_rms_epsilon", 0, 1, &eps, err));
    p->eps = (float)eps;
    return read_rope(m, p, err);
}

static convect_status read_deltanet(const metadata *m, qwen35moe_params *p, convect_error *err) {
    size_t inner;
    const size_key keys[] = {{"ssm.conv_kernel", &p->n_taps, {2, 8}},
                             {"ssm.state_size", &p->state_dim, {32, OPS_HEAD_DIM_MAX}},
                             {"ssm.group_count", &p->n_k_heads, {1, 4096}},
                             {"ssm.time_step_rank", &p->n_v_heads, {1, 4096}},
                             {"ssm.inner_size", &inner, {32, 1 << 22}}};
    TRY(read_sizes(m, keys, sizeof keys / sizeof keys[0], err));
    REQUIRE(p->state_dim % 32 == 0, "ssm.state_size must be a multiple of 32", p->state_dim);
    REQUIRE(p->n_v_heads % p->n_k_heads == 0, "ssm.time_step_rank must be a multiple of ssm.group_count", p->n_v_heads);
    REQUIRE(inner == p->n_v_heads * p->state_dim, "ssm.inner_size must be ssm.time_step_rank * ssm.state_size", inner);
    return CONVECT_OK;
}

static convect_status read_experts(const metadata *m, qwen35moe_params *p, convect_error *err) {
    TRY(metadata_size(m, "expert_count", (metadata_range){1, 65536}, &p->n_experts, err));
    const size_t used_max = p->n_experts < 64 ? p->n_experts : 64;
    const size_key keys[] = {{"expert_used_count", &p->n_used, {1, used_max}},
                             {"expert_feed_forward_length", &p->expert_width, {32, 1 << 20}},
                             {"expert_shared_feed_forward_length", &p->shared_width, {32, 1 << 20}}};
    TRY(read_sizes(m, keys, sizeof keys / sizeof keys[0], err));
    REQUIRE(p->expert_width % 32 == 0, "expert_feed_forward_length must be a multiple of 32", p->expert_width);
    REQUIRE(p->shared_width % 32 == 0, "expert_shared_feed_forward_length must be a multiple of 32", p->shared_width);
    return CONVECT_OK;
}

/* The vocabulary is the embedding's, and must agree with the tokenizer's list where the file has one. */
static convect_status read_vocab(const metadata *m, qwen35moe_params *p, convect_error *err) {
    const gguf_tensor *embd = gguf_tensor_find(m->file, "token_embd.weight");
    if (!embd) return convect_fail(err, CONVECT_DAMAGED, "tensor token_embd.weight is missing");
    if (embd->ne[1] > 1 << 24) {
        return convect_fail(err, CONVECT_DAMAGED, "tensor token_embd.weight has %llu rows; at most 2^24 tokens",
                            (unsigned long long)embd->ne[1]);
    }
    p->n_vocab = (size_t)embd->ne[1];
    const gguf_kv *tokens = gguf_kv_find(m->file, "tokenizer.ggml.tokens");
    if (tokens && tokens->type == GGUF_ARRAY && tokens->n_elements != p->n_vocab) {
        return convect_fail(err, CONVECT_DAMAGED, "token_embd.weight has %zu rows; tokenizer.ggml.tokens has %llu",
                            p->n_vocab, (unsigned long long)tokens->n_elements);
    }
    return CONVECT_OK;
}

convect_status qwen35moe_read_params(const gguf *file, qwen35moe_params *p, convect_error *err) {
    const metadata m = {file, ARCHITECTURE};
    *p = (qwen35moe_params){0};
    TRY(metadata_size(&m, "block_count", (metadata_range){1, 1024}, &p->n_blocks, err));
    size_t n_mtp;
    TRY(metadata_size_or(&m, "nextn_predict_layers", (metadata_range){0, p->n_blocks - 1}, 0, &n_mtp, err));
    p->n_layers = p->n_blocks - n_mtp;
    TRY(metadata_size(&m, "context_length", (metadata_range){1, 1 << 24}, &p->n_ctx, err));
    TRY(metadata_size(&m, "embedding_length", (metadata_range){32, 1 << 17}, &p->n_embd, err));
    REQUIRE(p->n_embd % 32 == 0, "embedding_length must be a multiple of 32", p->n_embd);
    TRY(read_attention(&m, p, err));
    TRY(read_deltanet(&m, p, err));
    TRY(read_experts(&m, p, err));
    return read_vocab(&m, p, err);
}
