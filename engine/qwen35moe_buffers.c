/* Scratch of a pass: every buffer at a multiple of 64 bytes of one block. */
#include "engine/qwen35moe_pass.h"

#define BUFFER_ALIGN 64

typedef struct layout {
    uint8_t *base; /* NULL: measuring */
    size_t n_bytes;
} layout;

static void *lay(layout *l, size_t n, size_t element_bytes) {
    void *p = l->base ? l->base + l->n_bytes : NULL;
    l->n_bytes += (n * element_bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
    return p;
}

static float *lay_floats(layout *l, size_t n) {
    return lay(l, n, sizeof(float));
}

/* Rows with their records; k_act is the widest record that they will hold. */
static pass_rows lay_rows(layout *l, size_t n_rows, size_t k, size_t k_act) {
    pass_rows r = {.k = k};
    r.x = lay_floats(l, n_rows * k_act);
    r.act = lay(l, n_rows, sizeof *r.act);
    uint8_t *records = lay(l, n_rows, act_bytes(k_act));
    for (size_t t = 0; records && t < n_rows; t++) r.act[t] = act_view_at(records + t * act_bytes(k_act), k);
    return r;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void lay_mixers(layout *l, const qwen35moe *m, size_t T, size_t n_workers, pass_buffers *b) {
    const qwen35moe_params *p = &m->params;
    const size_t value_dim = p->n_v_heads * p->state_dim;
    const size_t n_channels = 2 * p->n_k_heads * p->state_dim + value_dim;
    b->mixed = lay_floats(l, T * larger(n_channels, p->n_head * 2 * p->head_dim));
    b->conv = lay_floats(l, T * n_channels);
    b->z = lay_floats(l, T * value_dim);
    b->alpha = lay_floats(l, T * p->n_v_heads);
    b->beta = lay_floats(l, T * p->n_v_heads);
    b->k = lay_floats(l, T * p->n_head_kv * p->head_dim);
    b->v = lay_floats(l, T * p->n_head_kv * p->head_dim);
    b->cosines = lay_floats(l, T * p->n_rope_pairs);
    b->sines = lay_floats(l, T * p->n_rope_pairs);
    b->o = lay_rows(l, T, m->act_k_max, m->act_k_max);
    b->delta = lay_floats(l, n_workers * ops_deltanet_scratch_floats(p->state_dim, p->state_dim));
}

static bool has_float_experts(const qwen35moe *m) {
    for (size_t i = 0; i < m->params.n_layers; i++) {
        if (weight_is_float(&m->layers[i].experts.gate) || weight_is_float(&m->layers[i].experts.up)) return true;
    }
    return false;
}

static void lay_experts(layout *l, const qwen35moe *m, size_t T, pass_buffers *b) {
    const qwen35moe_params *p = &m->params;
    const size_t E = p->n_experts, S = T * p->n_used, H = p->n_embd, f = p->expert_width, fs = p->shared_width;
    b->router = lay_floats(l, T * E);
    b->terms = lay_floats(l, T * E);
    b->shared_logit = lay_floats(l, T);
    b->ids = lay(l, S, sizeof *b->ids);
    b->weights = lay_floats(l, S);
    b->slots = lay(l, S, sizeof *b->slots);
    b->slot_row = lay(l, S, sizeof *b->slot_row);
    b->first = lay(l, E + 1, sizeof *b->first);
    b->active = lay(l, E, sizeof *b->active);
    b->slot_act = lay(l, S, sizeof *b->slot_act);
    b->slot_x = has_float_experts(m) ? lay_floats(l, S * H) : NULL;
    b->gate = lay_floats(l, S * f);
    b->up = lay_floats(l, S * f);
    b->hidden = lay_rows(l, S, f, f);
    b->out = lay_floats(l, S * H);
    b->shared_gate = lay_floats(l, T * fs);
    b->shared_up = lay_floats(l, T * fs);
    b->shared = lay_rows(l, T, fs, fs);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the buffers are written through */
size_t pass_buffers_lay(const qwen35moe *m, size_t n_rows_max, size_t n_workers, uint8_t *base, pass_buffers *out) {
    layout l = {.base = base};
    const size_t H = m->params.n_embd;
    out->x = lay_floats(&l, n_rows_max * H);
    out->h = lay_rows(&l, n_rows_max, H, H);
    out->y = lay_floats(&l, n_rows_max * H);
    lay_mixers(&l, m, n_rows_max, n_workers, out);
    lay_experts(&l, m, n_rows_max, out);
    return l.n_bytes;
}
