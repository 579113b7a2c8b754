/* Tensors of family qwen35moe: finds them, checks every shape against the metadata. */
#include "engine/qwen35moe.h"

#include <stdlib.h>

#include "kernels/rope.h"

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        convect_status try_status = (call);                                                                            \
        if (try_status != CONVECT_OK) return try_status;                                                               \
    } while (0)

typedef struct matrix_want {
    const char *name;
    size_t k, n_rows, n_mats;
    weight *out;
} matrix_want;

static convect_status bind_matrices(binder *b, size_t i_block, const matrix_want *want, size_t n, convect_error *err) {
    for (size_t i = 0; i < n; i++) {
        const tensor_name name = binder_layer_name(i_block, want[i].name);
        TRY(binder_matrix(b, name.text, want[i].k, want[i].n_rows, want[i].n_mats, want[i].out, err));
    }
    return CONVECT_OK;
}

static convect_status bind_vector(binder *b, size_t i_block, const char *name, size_t n, const float **out,
                                  convect_error *err) {
    return binder_vector(b, binder_layer_name(i_block, name).text, n, 1, out, err);
}

static convect_status bind_attention(qwen35moe *m, size_t i_block, qwen35moe_attention *a, convect_error *err) {
    const qwen35moe_params *p = &m->params;
    const size_t H = p->n_embd, D = p->head_dim;
    const matrix_want want[] = {{"attn_q.weight", H, p->n_head * 2 * D, 1, &a->q},
                                {"attn_k.weight", H, p->n_head_kv * D, 1, &a->k},
                                {"attn_v.weight", H, p->n_head_kv * D, 1, &a->v},
                                {"attn_output.weight", p->n_head * D, H, 1, &a->out}};
    TRY(bind_matrices(&m->tensors, i_block, want, sizeof want / sizeof want[0], err));
    TRY(bind_vector(&m->tensors, i_block, "attn_q_norm.weight", D, &a->q_norm, err));
    return bind_vector(&m->tensors, i_block, "attn_k_norm.weight", D, &a->k_norm, err);
}

/* The file has a channel's taps together; the kernel walks channels, so taps become rows. */
static convect_status bind_conv(qwen35moe *m, size_t i_block, const float **out, convect_error *err) {
    const size_t n_taps = m->params.n_taps;
    const size_t n_channels = (2 * m->params.n_k_heads + m->params.n_v_heads) * m->params.state_dim;
    const tensor_name name = binder_layer_name(i_block, "ssm_conv1d.weight");
    const float *by_channel = NULL;
    TRY(binder_vector(&m->tensors, name.text, n_taps, n_channels, &by_channel, err));
    float *by_tap = binder_floats(&m->tensors, n_taps * n_channels);
    if (!by_tap) return convect_fail(err, CONVECT_NO_FIT, "no memory for tensor %s", name.text);
    for (size_t c = 0; c < n_channels; c++) {
        for (size_t t = 0; t < n_taps; t++) by_tap[t * n_channels + c] = by_channel[c * n_taps + t];
    }
    *out = by_tap;
    return CONVECT_OK;
}

static convect_status bind_deltanet(qwen35moe *m, size_t i_block, qwen35moe_deltanet *d, convect_error *err) {
    const qwen35moe_params *p = &m->params;
    const size_t H = p->n_embd, nv = p->n_v_heads, value_dim = nv * p->state_dim;
    const size_t n_channels = 2 * p->n_k_heads * p->state_dim + value_dim;
    const matrix_want want[] = {{"attn_qkv.weight", H, n_channels, 1, &d->qkv},
                                {"attn_gate.weight", H, value_dim, 1, &d->gate},
                                {"ssm_alpha.weight", H, nv, 1, &d->alpha},
                                {"ssm_beta.weight", H, nv, 1, &d->beta},
                                {"ssm_out.weight", value_dim, H, 1, &d->out}};
    TRY(bind_matrices(&m->tensors, i_block, want, sizeof want / sizeof want[0], err));
    TRY(bind_conv(m, i_block, &d->conv, err));
    TRY(bind_vector(&m->tensors, i_block, "ssm_a", nv, &d->a, err));
    const bool is_bare = binder_has(&m->tensors, binder_layer_name(i_block, "ssm_dt").text); /* Ollama's name */
    TRY(bind_vector(&m->tensors, i_block, is_bare ? "ssm_dt" : "ssm_dt.bias", nv, &d->dt, err));
    TRY(bind_vector(&m->tensors, i_block, "ssm_norm.weight", p->state_dim, &d->norm, err));
    d->conv_off = state_layout_add(&m->state, STATE_CONV, i_block, (p->n_taps - 1) * n_channels * sizeof(float));
    d->s_off = state_layout_add(&m->state, STATE_DELTA, i_block, value_dim * p->state_dim * sizeof(float));
    return CONVECT_OK;
}

/* Gate and up as two tensors, or as one whose first f rows of each expert are the gate's. */
static convect_status bind_gate_up(qwen35moe *m, size_t i_block, qwen35moe_experts *x, convect_error *err) {
    const qwen35moe_params *p = &m->params;
    const size_t H = p->n_embd, f = p->expert_width, E = p->n_experts;
    const tensor_name fused = binder_layer_name(i_block, "ffn_gate_up_exps.weight");
    if (!binder_has(&m->tensors, fused.text)) {
        const matrix_want want[] = {{"ffn_gate_exps.weight", H, f, E, &x->gate},
                                    {"ffn_up_exps.weight", H, f, E, &x->up}};
        return bind_matrices(&m->tensors, i_block, want, 2, err);
    }
    TRY(binder_matrix(&m->tensors, fused.text, H, 2 * f, E, &x->gate, err));
    x->gate.n_rows = f;
    x->up = x->gate;
    x->up.data += f * x->gate.row_bytes;
    return CONVECT_OK;
}

static convect_status bind_experts(qwen35moe *m, size_t i_block, qwen35moe_experts *x, convect_error *err) {
    const qwen35moe_params *p = &m->params;
    const size_t H = p->n_embd, fs = p->shared_width;
    const matrix_want want[] = {{"ffn_gate_inp.weight", H, p->n_experts, 1, &x->router},
                                {"ffn_down_exps.weight", p->expert_width, H, p->n_experts, &x->down},
                                {"ffn_gate_inp_shexp.weight", H, 1, 1, &x->shared_gate_logit},
                                {"ffn_gate_shexp.weight", H, fs, 1, &x->shared_gate},
                                {"ffn_up_shexp.weight", H, fs, 1, &x->shared_up},
                                {"ffn_down_shexp.weight", fs, H, 1, &x->shared_down}};
    TRY(bind_matrices(&m->tensors, i_block, want, sizeof want / sizeof want[0], err));
    return bind_gate_up(m, i_block, x, err);
}

static convect_status bind_layer(qwen35moe *m, size_t i_block, bool is_attention, qwen35moe_layer *layer,
                                 convect_error *err) {
    const size_t H = m->params.n_embd;
    layer->is_attention = is_attention;
    TRY(bind_vector(&m->tensors, i_block, "attn_norm.weight", H, &layer->attn_norm, err));
    TRY(bind_vector(&m->tensors, i_block, "post_attention_norm.weight", H, &layer->ffn_norm, err));
    if (is_attention)
        TRY(bind_attention(m, i_block, &layer->attention, err));
    else
        TRY(bind_deltanet(m, i_block, &layer->deltanet, err));
    return bind_experts(m, i_block, &layer->experts, err);
}

static convect_status bind_trunk(qwen35moe *m, const gguf *file, convect_error *err) {
    const qwen35moe_params *p = &m->params;
    if (!binder_has(&m->tensors, "blk.0.attn_norm.weight") && p->n_blocks > p->n_layers) {
        return convect_fail(err, CONVECT_NOT_SUPPORTED,
                            "the file holds only the MTP block of a model; open the model's own file");
    }
    TRY(binder_matrix(&m->tensors, "token_embd.weight", p->n_embd, p->n_vocab, 1, &m->embd, err));
    TRY(binder_vector(&m->tensors, "output_norm.weight", p->n_embd, 1, &m->output_norm, err));
    m->head = m->embd;
    if (binder_has(&m->tensors, "output.weight")) {
        TRY(binder_matrix(&m->tensors, "output.weight", p->n_embd, p->n_vocab, 1, &m->head, err));
    }
    m->kv = (kv_shape){.n_heads = p->n_head_kv, .dim = p->head_dim};
    for (size_t i = 0; i < p->n_layers; i++) {
        bool is_attention;
        TRY(qwen35moe_is_attention(file, i, &is_attention, err));
        if (is_attention) m->layers[i].attention.i_kv = m->kv.n_layers++;
        TRY(bind_layer(m, i, is_attention, &m->layers[i], err));
    }
    return CONVECT_OK;
}

static convect_status bind_mtp_block(qwen35moe *m, size_t i_mtp, convect_error *err) {
    const size_t i_block = m->params.n_layers + i_mtp, H = m->params.n_embd, V = m->params.n_vocab;
    qwen35moe_mtp *t = &m->mtp[i_mtp];
    binder *b = &m->tensors;
    const matrix_want want[] = {{"nextn.eh_proj.weight", 2 * H, H, 1, &t->combine}};
    TRY(bind_matrices(b, i_block, want, 1, err));
    TRY(bind_vector(b, i_block, "nextn.enorm.weight", H, &t->embd_norm, err));
    TRY(bind_vector(b, i_block, "nextn.hnorm.weight", H, &t->hidden_norm, err));
    t->head_norm = m->output_norm;
    t->embd = m->embd;
    t->head = m->head;
    const matrix_want optional[] = {{"nextn.embed_tokens.weight", H, V, 1, &t->embd},
                                    {"nextn.shared_head_head.weight", H, V, 1, &t->head}};
    for (size_t i = 0; i < 2; i++) {
        if (binder_has(b, binder_layer_name(i_block, optional[i].name).text))
            TRY(bind_matrices(b, i_block, &optional[i], 1, err));
    }
    if (binder_has(b, binder_layer_name(i_block, "nextn.shared_head_norm.weight").text))
        TRY(bind_vector(b, i_block, "nextn.shared_head_norm.weight", H, &t->head_norm, err));
    t->layer.attention.i_kv = i_mtp;
    return bind_layer(m, i_block, true, &t->layer, err);
}

/* MTP tensors are optional as a whole: a file without them runs, without drafts. */
static convect_status bind_mtp(qwen35moe *m, const convect_log *log, convect_error *err) {
    const size_t n = m->params.n_blocks - m->params.n_layers;
    const tensor_name first = binder_layer_name(m->params.n_layers, "nextn.eh_proj.weight");
    if (n == 0) return CONVECT_OK;
    if (!binder_has(&m->tensors, first.text)) {
        convect_log_write(log, CONVECT_LOG_INFO, "the metadata names %zu MTP blocks, the file holds none of them", n);
        return CONVECT_OK;
    }
    for (size_t i = 0; i < n; i++) TRY(bind_mtp_block(m, i, err));
    m->n_mtp = n;
    return CONVECT_OK;
}

static void find_widest(qwen35moe *m) {
    const qwen35moe_params *p = &m->params;
    const size_t widths[] = {p->n_embd, p->n_head * p->head_dim, p->n_v_heads * p->state_dim};
    for (size_t i = 0; i < 3; i++) m->act_k_max = widths[i] > m->act_k_max ? widths[i] : m->act_k_max;
}

static convect_status bind_all(qwen35moe *m, const gguf *file, const convect_log *log, convect_error *err) {
    TRY(qwen35moe_read_params(file, &m->params, err));
    const qwen35moe_params *p = &m->params;
    TRY(binder_init(&m->tensors, file, err));
    TRY(state_layout_init(&m->state, 2 * p->n_layers, err));
    m->layers = calloc(p->n_layers, sizeof *m->layers);
    m->mtp = calloc(p->n_blocks - p->n_layers + 1, sizeof *m->mtp);
    m->rope_frequencies = calloc(p->n_rope_pairs, sizeof *m->rope_frequencies);
    m->rope_axes = calloc(p->n_rope_pairs, sizeof *m->rope_axes);
    if (!m->layers || !m->mtp || !m->rope_frequencies || !m->rope_axes) {
        return convect_fail(err, CONVECT_NO_FIT, "no memory for %zu layers", p->n_blocks);
    }
    rope_frequencies(p->rope_base, p->n_rope_pairs, m->rope_frequencies);
    rope_axes(p->rope_sections, p->n_rope_pairs, m->rope_axes);
    TRY(bind_trunk(m, file, err));
    TRY(bind_mtp(m, log, err));
    TRY(binder_check_small(&m->tensors, err));
    find_widest(m);
    binder_report_unused(&m->tensors, log);
    return CONVECT_OK;
}

convect_status qwen35moe_bind(const gguf *file, const convect_log *log, void **out, convect_error *err) {
    *out = NULL;
    qwen35moe *m = calloc(1, sizeof *m);
    if (!m) return convect_fail(err, CONVECT_NO_FIT, "no memory for the model");
    convect_status status = bind_all(m, file, log, err);
    if (status != CONVECT_OK) {
        qwen35moe_unbind(m);
        return status;
    }
    *out = m;
    return CONVECT_OK;
}

void qwen35moe_unbind(void *weights) {
    qwen35moe *m = weights;
    if (!m) return;
    binder_deinit(&m->tensors);
    state_layout_deinit(&m->state);
    free(m->layers);
    free(m->mtp);
    free(m->rope_frequencies);
    free(m->rope_axes);
    free(m);
}

static uint64_t matrix_bytes(const weight *w) {
    return (uint64_t)w->n_rows * w->row_bytes;
}

static uint64_t layer_bytes(const qwen35moe *m, const qwen35moe_layer *l) {
    const qwen35moe_experts *x = &l->experts;
    const weight *dense[] = {&x->router, &x->shared_gate_logit, &x->shared_gate, &x->shared_up, &x->shared_down};
    const weight *attention[] = {&l->attention.q, &l->attention.k, &l->attention.v, &l->attention.out};
    const weight *deltanet[] = {&l->deltanet.qkv, &l->deltanet.gate, &l->deltanet.alpha, &l->deltanet.beta,
                                &l->deltanet.out};
    uint64_t sum = m->params.n_used * (matrix_bytes(&x->gate) + matrix_bytes(&x->up) + matrix_bytes(&x->down));
    for (size_t i = 0; i < 5; i++) sum += matrix_bytes(dense[i]);
    for (size_t i = 0; l->is_attention && i < 4; i++) sum += matrix_bytes(attention[i]);
    for (size_t i = 0; !l->is_attention && i < 5; i++) sum += matrix_bytes(deltanet[i]);
    return sum;
}

void qwen35moe_describe(const void *weights, convect_model_info *out) {
    const qwen35moe *m = weights;
    out->n_vocab = m->params.n_vocab;
    out->n_embd = m->params.n_embd;
    out->n_layers = m->params.n_layers;
    out->n_mtp = m->n_mtp;
    out->n_ctx_max_tokens = m->params.n_ctx;
    out->weight_bytes_per_token = m->embd.row_bytes + matrix_bytes(&m->head);
    for (size_t i = 0; i < m->params.n_layers; i++) out->weight_bytes_per_token += layer_bytes(m, &m->layers[i]);
    out->state_bytes = m->state.n_bytes;
}
