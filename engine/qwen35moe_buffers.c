/* Scratch of a pass: one block, laid out by an arena. */
#include "engine/qwen35moe_pass.h"

static float *lay_floats(arena *a, size_t n) {
    return arena_push_array(a, n, sizeof(float));
}

/* Rows with their records; k_act is the widest record that they will hold. */
static pass_rows lay_rows(arena *a, size_t n_rows, size_t k, size_t k_act) {
    pass_rows r = {.k = k};
    r.x = lay_floats(a, n_rows * k_act);
    r.act = arena_push_array(a, n_rows, sizeof *r.act);
    uint8_t *records = arena_push_array(a, n_rows, act_bytes(k_act));
    for (size_t t = 0; records && t < n_rows; t++) r.act[t] = act_view_at(records + t * act_bytes(k_act), k);
    return r;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void lay_mixers(arena *a, const qwen35moe *m, size_t T, size_t n_workers, pass_buffers *b) {
    const qwen35moe_params *p = &m->params;
    const size_t value_dim = p->n_v_heads * p->state_dim;
    const size_t n_channels = 2 * p->n_k_heads * p->state_dim + value_dim;
    b->mixed = lay_floats(a, T * larger(n_channels, p->n_head * 2 * p->head_dim));
    b->conv = lay_floats(a, T * n_channels);
    b->z = lay_floats(a, T * value_dim);
    b->alpha = lay_floats(a, T * p->n_v_heads);
    b->beta = lay_floats(a, T * p->n_v_heads);
    b->k = lay_floats(a, T * p->n_head_kv * p->head_dim);
    b->v = lay_floats(a, T * p->n_head_kv * p->head_dim);
    b->cosines = lay_floats(a, T * p->n_rope_pairs);
    b->sines = lay_floats(a, T * p->n_rope_pairs);
    b->o = lay_rows(a, T, m->act_k_max, m->act_k_max);
    b->delta = lay_floats(a, n_workers * ops_deltanet_scratch_floats(p->state_dim, p->state_dim));
}

static bool has_float_experts(const qwen35moe *m) {
    for (size_t i = 0; i < m->params.n_layers; i++) {
        if (weight_is_float(&m->layers[i].experts.gate) || weight_is_float(&m->layers[i].experts.up)) return true;
    }
    return false;
}

static void lay_experts(arena *a, const qwen35moe *m, size_t T, pass_buffers *b) {
    const qwen35moe_params *p = &m->params;
    const size_t E = p->n_experts, S = T * p->n_used, H = p->n_embd, f = p->expert_width, fs = p->shared_width;
    b->router = lay_floats(a, T * E);
    b->terms = lay_floats(a, T * E);
    b->shared_logit = lay_floats(a, T);
    b->ids = arena_push_array(a, S, sizeof *b->ids);
    b->weights = lay_floats(a, S);
    b->slots = arena_push_array(a, S, sizeof *b->slots);
    b->slot_row = arena_push_array(a, S, sizeof *b->slot_row);
    b->first = arena_push_array(a, E + 1, sizeof *b->first);
    b->active = arena_push_array(a, E, sizeof *b->active);
    b->slot_act = arena_push_array(a, S, sizeof *b->slot_act);
    b->slot_x = has_float_experts(m) ? lay_floats(a, S * H) : NULL;
    b->gate = lay_floats(a, S * f);
    b->up = lay_floats(a, S * f);
    b->hidden = lay_rows(a, S, f, f);
    b->out = lay_floats(a, S * H);
    b->shared_gate = lay_floats(a, T * fs);
    b->shared_up = lay_floats(a, T * fs);
    b->shared = lay_rows(a, T, fs, fs);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the buffers are written through */
void pass_buffers_lay(const qwen35moe *m, size_t n_rows_max, size_t n_workers, arena *a, pass_buffers *out) {
    const size_t H = m->params.n_embd;
    out->x = lay_floats(a, n_rows_max * H);
    out->h = lay_rows(a, n_rows_max, H, H);
    out->y = lay_floats(a, n_rows_max * H);
    lay_mixers(a, m, n_rows_max, n_workers, out);
    lay_experts(a, m, n_rows_max, out);
}
