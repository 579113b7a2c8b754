#include "engine/gguf_summary.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/check.h"

const char *gguf_part_name(gguf_part part) {
    static const char *const names[GGUF_PART_COUNT] = {
#define X(symbol, name) name,
        GGUF_PART_LIST(X)
#undef X
    };
    CONVECT_CHECK((unsigned)part < GGUF_PART_COUNT);
    return names[part];
}

double gguf_bits_per_weight(const gguf_sum *sum) {
    return sum->n_elems ? 8.0 * (double)sum->n_bytes / (double)sum->n_elems : 0;
}

/* <architecture>.<name> as an integer; false if absent or of another kind. */
static bool read_model_key(const gguf *g, const char *name, uint64_t *out) {
    gguf_string arch;
    char key[128];
    if (!gguf_read_string(gguf_kv_find(g, "general.architecture"), &arch) || arch.n_bytes > 64) return false;
    (void)snprintf(key, sizeof key, "%.*s.%s", (int)arch.n_bytes, arch.data, name);
    const gguf_kv *kv = gguf_kv_find(g, key);
    return kv && kv->type != GGUF_ARRAY && gguf_read_u64(kv, 0, out);
}

/* Splits "blk.N.rest"; false if name has another form. */
static bool split_block(const char *name, uint64_t *i_block, const char **rest) {
    if (strncmp(name, "blk.", 4) != 0) return false;
    const char *p = name + 4;
    uint64_t n = 0;
    for (; *p >= '0' && *p <= '9' && n < 1000000; p++) n = 10 * n + (uint64_t)(*p - '0');
    if (p == name + 4 || *p != '.') return false;
    *i_block = n;
    *rest = p + 1;
    return true;
}

static bool starts(const char *text, const char *head) {
    return strncmp(text, head, strlen(head)) == 0;
}

static bool is_deltanet_block(const gguf *g, uint64_t i_block) {
    static const char *const marks[] = {"ssm_out.weight", "ssm_a", "ssm_conv1d.weight"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "blk.%llu.%s", (unsigned long long)i_block, marks[i]);
        if (gguf_tensor_find(g, name)) return true;
    }
    return false;
}

static bool is_norm(const char *name) {
    return strstr(name, "_norm.") || strstr(name, "norm.weight");
}

static gguf_part part_in_block(const gguf *g, uint64_t i_block, const char *rest) {
    if (strstr(rest, "_shexp")) return GGUF_PART_SHARED_EXPERT;
    if (strstr(rest, "_exps")) return GGUF_PART_EXPERTS;
    if (starts(rest, "ffn_gate_inp") || starts(rest, "exp_probs")) return GGUF_PART_ROUTER;
    if (is_norm(rest)) return GGUF_PART_NORMS;
    if (starts(rest, "ssm_")) return GGUF_PART_DELTANET;
    if (starts(rest, "attn_")) return is_deltanet_block(g, i_block) ? GGUF_PART_DELTANET : GGUF_PART_ATTENTION;
    return starts(rest, "ffn_") ? GGUF_PART_FEED_FORWARD : GGUF_PART_OTHER;
}

gguf_part gguf_part_of(const gguf *g, const gguf_summary *s, const gguf_tensor *t) {
    uint64_t i_block;
    const char *rest;
    if (strstr(t->name, "nextn.") || starts(t->name, "mtp.")) return GGUF_PART_MTP;
    if (split_block(t->name, &i_block, &rest))
        return i_block >= s->n_main_blocks ? GGUF_PART_MTP : part_in_block(g, i_block, rest);
    if (is_norm(t->name)) return GGUF_PART_NORMS;
    if (starts(t->name, "token_embd.")) return GGUF_PART_EMBEDDING;
    return starts(t->name, "output.") ? GGUF_PART_HEAD : GGUF_PART_OTHER;
}

static uint64_t token_bytes(const gguf_summary *s, gguf_part part, const gguf_tensor *t) {
    switch (part) {
    case GGUF_PART_MTP: return 0;
    case GGUF_PART_EMBEDDING: return s->is_tied ? t->n_bytes : t->n_bytes / (t->ne[1] * t->ne[2] * t->ne[3]);
    case GGUF_PART_EXPERTS: return s->has_expert_counts ? t->n_bytes / s->n_experts * s->n_experts_used : t->n_bytes;
    default: return t->n_bytes;
    }
}

static void add(gguf_sum *sum, const gguf_tensor *t, uint64_t n_token_bytes) {
    sum->n_tensors++;
    sum->n_elems += t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
    sum->n_bytes += t->n_bytes;
    sum->token_bytes += n_token_bytes;
}

static gguf_sum *sum_of_type(gguf_summary *s, uint32_t id) {
    size_t i = 0;
    while (i < s->n_types && s->types[i].type->id != id) i++;
    if (i == s->n_types) {
        CONVECT_CHECK(s->n_types < GGUF_SUMMARY_TYPES_MAX); /* there are 33 types that the reader lets through */
        s->types[s->n_types++].type = gguf_ggml_type_find(id);
    }
    return &s->types[i].sum;
}

void gguf_summarise(const gguf *g, gguf_summary *s) {
    *s = (gguf_summary){.is_tied = !gguf_tensor_find(g, "output.weight"), .n_main_blocks = UINT64_MAX};
    s->has_expert_counts = read_model_key(g, "expert_count", &s->n_experts) &&
                           read_model_key(g, "expert_used_count", &s->n_experts_used) && s->n_experts > 0 &&
                           s->n_experts_used <= s->n_experts;
    uint64_t n_blocks, n_mtp = 0;
    (void)read_model_key(g, "nextn_predict_layers", &n_mtp);
    if (read_model_key(g, "block_count", &n_blocks) && n_mtp <= n_blocks) s->n_main_blocks = n_blocks - n_mtp;
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        gguf_part part = gguf_part_of(g, s, t);
        uint64_t n = token_bytes(s, part, t);
        add(&s->total, t, n);
        add(&s->parts[part], t, n);
        add(sum_of_type(s, t->ggml_type), t, n);
    }
}
