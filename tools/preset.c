#include "tools/preset.h"

#include <stdio.h>
#include <string.h>

static const preset presets[] = {
    {.name = "35b-a3b",
     .model_name = "synthetic 35B-A3B",
     .n_layers = 40,
     .n_mtp = 1,
     .n_ctx = 262144,
     .n_vocab = 248320,
     .n_embd = 2048,
     .n_head = 16,
     .n_head_kv = 2,
     .head_dim = 256,
     .rope_dims = 64,
     .rope_sections = {11, 11, 10, 0},
     .rope_theta = 1e7F,
     .norm_eps = 1e-6F,
     .n_experts = 256,
     .n_experts_used = 8,
     .expert_width = 512,
     .shared_width = 512,
     .conv_kernel = 4,
     .state_dim = 128,
     .n_k_heads = 16,
     .n_v_heads = 32,
     .full_interval = 4},
};

const preset *preset_at(size_t i) {
    return i < sizeof presets / sizeof *presets ? &presets[i] : NULL;
}

typedef struct list_maker { /* the first failure stays in status; later calls do nothing */
    model_list *list;
    const preset *p;
    mix_id mix;
    mix_model model;
    convect_status status;
    convect_error *err;
} list_maker;

static void put_kv(list_maker *m, const char *key, gguf_type type, const void *data, size_t n_bytes) {
    if (!m->status) m->status = model_list_add_kv(m->list, key, type, type, 1, data, n_bytes, m->err);
}

static void put_u32(list_maker *m, const char *key, uint32_t v) {
    put_kv(m, key, GGUF_U32, &v, sizeof v);
}

static void put_f32(list_maker *m, const char *key, float v) {
    put_kv(m, key, GGUF_F32, &v, sizeof v);
}

static void put_string(list_maker *m, const char *key, const char *text) {
    uint8_t packed[128];
    uint64_t n = strlen(text);
    memcpy(packed, &n, 8);
    memcpy(packed + 8, text, n);
    put_kv(m, key, GGUF_STRING, packed, 8 + n);
}

/* Array whose elements the generator makes up. */
static void put_made_up(list_maker *m, const char *key, gguf_type element, uint64_t n) {
    if (!m->status) m->status = model_list_add_kv(m->list, key, GGUF_ARRAY, element, n, NULL, 0, m->err);
}

static void put_metadata(list_maker *m, uint32_t n_mtp) {
    const preset *p = m->p;
    put_string(m, "general.architecture", "qwen35moe");
    put_string(m, "general.type", "model");
    put_string(m, "general.name", p->model_name);
    put_u32(m, "general.file_type", mix_file_type(m->mix));
    put_u32(m, "general.quantization_version", 2);
    put_u32(m, "qwen35moe.block_count", p->n_layers + n_mtp);
    put_u32(m, "qwen35moe.context_length", p->n_ctx);
    put_u32(m, "qwen35moe.embedding_length", p->n_embd);
    put_u32(m, "qwen35moe.attention.head_count", p->n_head);
    put_u32(m, "qwen35moe.attention.head_count_kv", p->n_head_kv);
    put_u32(m, "qwen35moe.attention.key_length", p->head_dim);
    put_u32(m, "qwen35moe.attention.value_length", p->head_dim);
    put_f32(m, "qwen35moe.attention.layer_norm_rms_epsilon", p->norm_eps);
    put_f32(m, "qwen35moe.rope.freq_base", p->rope_theta);
    put_u32(m, "qwen35moe.rope.dimension_count", p->rope_dims);
    if (!m->status) {
        m->status = model_list_add_kv(m->list, "qwen35moe.rope.dimension_sections", GGUF_ARRAY, GGUF_I32, 4,
                                      p->rope_sections, sizeof p->rope_sections, m->err);
    }
    put_u32(m, "qwen35moe.expert_count", p->n_experts);
    put_u32(m, "qwen35moe.expert_used_count", p->n_experts_used);
    put_u32(m, "qwen35moe.expert_feed_forward_length", p->expert_width);
    put_u32(m, "qwen35moe.expert_shared_feed_forward_length", p->shared_width);
    put_u32(m, "qwen35moe.ssm.conv_kernel", p->conv_kernel);
    put_u32(m, "qwen35moe.ssm.state_size", p->state_dim);
    put_u32(m, "qwen35moe.ssm.group_count", p->n_k_heads);
    put_u32(m, "qwen35moe.ssm.time_step_rank", p->n_v_heads);
    put_u32(m, "qwen35moe.ssm.inner_size", p->n_v_heads * p->state_dim);
    put_u32(m, "qwen35moe.full_attention_interval", p->full_interval);
    if (n_mtp) put_u32(m, "qwen35moe.nextn_predict_layers", n_mtp);
}

static void put_tokenizer(list_maker *m) {
    static const uint8_t no = 0;
    put_string(m, "tokenizer.ggml.model", "gpt2");
    put_string(m, "tokenizer.ggml.pre", "qwen35");
    put_made_up(m, "tokenizer.ggml.tokens", GGUF_STRING, m->p->n_vocab);
    put_made_up(m, "tokenizer.ggml.token_type", GGUF_I32, m->p->n_vocab);
    put_made_up(m, "tokenizer.ggml.merges", GGUF_STRING, m->p->n_vocab);
    put_u32(m, "tokenizer.ggml.eos_token_id", 0); /* set by the generator, which knows the ids */
    put_u32(m, "tokenizer.ggml.padding_token_id", 0);
    put_kv(m, "tokenizer.ggml.add_bos_token", GGUF_BOOL, &no, 1);
    if (!m->status) {
        m->status = model_list_add_kv(m->list, "tokenizer.chat_template", GGUF_STRING, GGUF_STRING, 1, NULL, 0, m->err);
    }
}

/* A tensor of up to three dims (0: missing); layer -1 is global. */
static void put(list_maker *m, int layer, const char *stem, uint64_t ne0, uint64_t ne1, uint64_t ne2) {
    list_tensor t = {.n_dims = ne2 ? 3 : ne1 ? 2 : 1, .ne = {ne0, ne1 ? ne1 : 1, ne2 ? ne2 : 1, 1}};
    if (layer < 0) {
        (void)snprintf(t.name, sizeof t.name, "%s", stem);
    } else {
        (void)snprintf(t.name, sizeof t.name, "blk.%d.%s", layer, stem);
    }
    t.format = mix_choose(m->mix, &m->model, &(mix_tensor){t.name, t.n_dims, ne0}).format;
    if (!m->status) m->status = model_list_add_tensor(m->list, &t, m->err);
}

static void put_attention(list_maker *m, int i) {
    const preset *p = m->p;
    put(m, i, "attn_q.weight", p->n_embd, 2 * p->n_head * p->head_dim, 0); /* query and output gate */
    put(m, i, "attn_k.weight", p->n_embd, p->n_head_kv * p->head_dim, 0);
    put(m, i, "attn_v.weight", p->n_embd, p->n_head_kv * p->head_dim, 0);
    put(m, i, "attn_output.weight", p->n_head * p->head_dim, p->n_embd, 0);
    put(m, i, "attn_q_norm.weight", p->head_dim, 0, 0);
    put(m, i, "attn_k_norm.weight", p->head_dim, 0, 0);
}

static void put_deltanet(list_maker *m, int i) {
    const preset *p = m->p;
    uint32_t n_v = p->n_v_heads * p->state_dim;
    uint32_t n_channels = 2 * p->n_k_heads * p->state_dim + n_v;
    put(m, i, "attn_qkv.weight", p->n_embd, n_channels, 0);
    put(m, i, "attn_gate.weight", p->n_embd, n_v, 0);
    put(m, i, "ssm_conv1d.weight", p->conv_kernel, n_channels, 0);
    put(m, i, "ssm_dt.bias", p->n_v_heads, 0, 0);
    put(m, i, "ssm_a", p->n_v_heads, 0, 0);
    put(m, i, "ssm_beta.weight", p->n_embd, p->n_v_heads, 0);
    put(m, i, "ssm_alpha.weight", p->n_embd, p->n_v_heads, 0);
    put(m, i, "ssm_norm.weight", p->state_dim, 0, 0);
    put(m, i, "ssm_out.weight", n_v, p->n_embd, 0);
}

static void put_layer(list_maker *m, int i, bool is_full) {
    const preset *p = m->p;
    put(m, i, "attn_norm.weight", p->n_embd, 0, 0);
    if (is_full) {
        put_attention(m, i);
    } else {
        put_deltanet(m, i);
    }
    put(m, i, "post_attention_norm.weight", p->n_embd, 0, 0);
    put(m, i, "ffn_gate_inp.weight", p->n_embd, p->n_experts, 0);
    put(m, i, "ffn_gate_exps.weight", p->n_embd, p->expert_width, p->n_experts);
    put(m, i, "ffn_up_exps.weight", p->n_embd, p->expert_width, p->n_experts);
    put(m, i, "ffn_down_exps.weight", p->expert_width, p->n_embd, p->n_experts);
    put(m, i, "ffn_gate_inp_shexp.weight", p->n_embd, 0, 0);
    put(m, i, "ffn_gate_shexp.weight", p->n_embd, p->shared_width, 0);
    put(m, i, "ffn_up_shexp.weight", p->n_embd, p->shared_width, 0);
    put(m, i, "ffn_down_shexp.weight", p->shared_width, p->n_embd, 0);
}

static void put_mtp(list_maker *m, int i) {
    put_layer(m, i, true);
    put(m, i, "nextn.eh_proj.weight", 2 * m->p->n_embd, m->p->n_embd, 0);
    put(m, i, "nextn.enorm.weight", m->p->n_embd, 0, 0);
    put(m, i, "nextn.hnorm.weight", m->p->n_embd, 0, 0);
    put(m, i, "nextn.shared_head_norm.weight", m->p->n_embd, 0, 0);
}

convect_status preset_list(const preset *p, mix_id mix, bool with_mtp, model_list *out, convect_error *err) {
    *out = (model_list){.n_shards = 1};
    uint32_t n_mtp = with_mtp ? p->n_mtp : 0;
    list_maker m = {out, p, mix, {p->n_layers + n_mtp, p->n_experts, false}, CONVECT_OK, err};
    put_metadata(&m, n_mtp);
    put_tokenizer(&m);
    put(&m, -1, "token_embd.weight", p->n_embd, p->n_vocab, 0);
    for (uint32_t i = 0; i < p->n_layers; i++) put_layer(&m, (int)i, (i + 1) % p->full_interval == 0);
    for (uint32_t i = 0; i < n_mtp; i++) put_mtp(&m, (int)(p->n_layers + i));
    put(&m, -1, "output_norm.weight", p->n_embd, 0, 0);
    put(&m, -1, "output.weight", p->n_embd, p->n_vocab, 0);
    return m.status;
}
