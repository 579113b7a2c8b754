/* Forward pass of family qwen35moe, top to bottom: embedding, layers, last norm, head. */
#include "engine/qwen35moe.h"

#include <string.h>

#include "engine/base/check.h"
#include "engine/qwen35moe_pass.h"
#include "kernels/rope.h"

typedef struct pass_region {
    const pass *p;
    pass_fn fn;
} pass_region;

static void run_region(void *arg, size_t i_worker, size_t n_workers) {
    const pass_region *r = arg;
    r->fn(r->p, i_worker, n_workers);
}

void pass_run(const pass *p, pass_fn fn) {
    pass_region region = {p, fn};
    cpu_pool_run(p->exec->pool, run_region, &region);
}

void pass_run_rows(const pass *p, pass_fn fn) {
    if (p->n_rows == 1)
        fn(p, 0, 1);
    else
        pass_run(p, fn);
}

void pass_jobs(const pass *p, const linear_job *jobs, size_t n_jobs, size_t i_worker, size_t n_workers) {
    linear_share(p->exec->kernels, p->exec->ops, jobs, n_jobs, i_worker, n_workers);
}

linear_job pass_job(const pass *p, const weight *w, const pass_rows *in, float *y) {
    return (linear_job){
        .w = w, .x = in->x, .x_stride = in->k, .act = in->act, .n_cols = p->n_rows, .y = y, .y_stride = w->n_rows};
}

void pass_quantize(const pass *p, const pass_rows *rows, size_t i_row) {
    p->exec->kernels->act_quantize(rows->x + i_row * rows->k, rows->k, rows->act[i_row]);
}

static void share_rows(const pass *p, size_t i_worker, size_t n_workers, size_t *begin, size_t *end) {
    cpu_pool_share(p->n_rows, 1, i_worker, n_workers, begin, end);
}

/* x = embedding of each row, exact values of the stored format; and the row's angles. */
static void region_embed(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe *m = p->model;
    const size_t H = m->params.n_embd, n_pairs = m->params.n_rope_pairs;
    size_t begin, end;
    share_rows(p, i_worker, n_workers, &begin, &end);
    for (size_t t = begin; t < end; t++) {
        const family_row *row = &p->step->rows[t];
        float *x = p->b.x + t * H;
        if (row->embd) {
            memcpy(x, row->embd, H * sizeof *x);
        } else {
            p->exec->kernels->dequantize[m->embd.format](m->embd.data + (size_t)row->token * m->embd.row_bytes, H, x);
            if (m->embd.scale) p->exec->ops->scale(x, m->embd.scale[0], H);
        }
        rope_angles(row->positions, m->rope_axes, m->rope_frequencies, n_pairs, p->b.cosines + t * n_pairs,
                    p->b.sines + t * n_pairs);
    }
}

static void norm_rows(const pass *p, const float *w, size_t i_worker, size_t n_workers, bool adds) {
    const size_t H = p->model->params.n_embd;
    size_t begin, end;
    share_rows(p, i_worker, n_workers, &begin, &end);
    for (size_t t = begin; t < end; t++) {
        if (adds) p->exec->ops->add(p->b.x + t * H, p->b.y + t * H, H);
        p->exec->ops->rms_norm(p->b.x + t * H, w, H, p->model->params.eps, p->b.h.x + t * H);
        pass_quantize(p, &p->b.h, t);
    }
}

static void region_attn_norm(const pass *p, size_t i_worker, size_t n_workers) {
    norm_rows(p, p->layer->attn_norm, i_worker, n_workers, false);
}

static void region_ffn_norm(const pass *p, size_t i_worker, size_t n_workers) {
    norm_rows(p, p->layer->ffn_norm, i_worker, n_workers, true);
}

static void region_output_norm(const pass *p, size_t i_worker, size_t n_workers) {
    norm_rows(p, p->model->output_norm, i_worker, n_workers, false);
}

static pass pass_begin(const family_exec *exec, const family_step *step, size_t n_rows) {
    pass p = {.model = exec->weights, .exec = exec, .step = step, .n_rows = n_rows};
    arena a;
    arena_wrap(&a, exec->scratch, exec->scratch_bytes);
    pass_buffers_lay(p.model, exec->n_rows_max, cpu_pool_size(exec->pool), &a, &p.b);
    return p;
}

static const float *forward(const family_exec *exec, const family_step *step) {
    CONVECT_CHECK(step->n_rows >= 1 && step->n_rows <= exec->n_rows_max);
    pass p = pass_begin(exec, step, step->n_rows);
    pass_run_rows(&p, region_embed);
    for (size_t i = 0; i < p.model->params.n_layers; i++) {
        p.layer = &p.model->layers[i];
        pass_run_rows(&p, region_attn_norm);
        if (p.layer->is_attention)
            pass_attention(&p);
        else
            pass_deltanet(&p);
        pass_run_rows(&p, region_ffn_norm);
        pass_experts(&p);
        if (step->tap) step->tap(step->tap_user, i, p.n_rows, p.b.x);
    }
    pass_run_rows(&p, region_output_norm);
    return p.b.h.x;
}

typedef struct head_region {
    const pass *p;
    float *logits;
} head_region;

static void run_head(void *arg, size_t i_worker, size_t n_workers) {
    const head_region *r = arg;
    const linear_job job = pass_job(r->p, &r->p->model->head, &r->p->b.o, r->logits);
    pass_jobs(r->p, &job, 1, i_worker, n_workers);
}

/* The rows may lie in scratch: they are copied to o, whose rows are at least as wide. */
/* NOLINTNEXTLINE(readability-non-const-parameter): logits is written through the region */
static void head(const family_exec *exec, const float *hidden, size_t n_rows, float *logits) {
    CONVECT_CHECK(n_rows <= CONVECT_STEP_ROWS_MAX && n_rows <= exec->n_rows_max);
    pass p = pass_begin(exec, NULL, n_rows);
    p.b.o.k = p.model->params.n_embd;
    memcpy(p.b.o.x, hidden, n_rows * p.b.o.k * sizeof *hidden);
    for (size_t t = 0; t < n_rows; t++) {
        p.b.o.act[t] = act_view_at(p.b.o.act[t].q, p.b.o.k);
        pass_quantize(&p, &p.b.o, t);
    }
    head_region region = {&p, logits};
    cpu_pool_run(exec->pool, run_head, &region);
}

static const kv_shape *kv(const void *weights) {
    return &((const qwen35moe *)weights)->kv;
}

static const state_layout *state(const void *weights) {
    return &((const qwen35moe *)weights)->state;
}

static size_t scratch_bytes(const void *weights, size_t n_rows_max, size_t n_workers) {
    arena a;
    pass_buffers b;
    arena_measure(&a);
    pass_buffers_lay(weights, n_rows_max, n_workers, &a, &b);
    return arena_peak_bytes(&a);
}

const family family_qwen35moe = {.architecture = "qwen35moe",
                                 .bind = qwen35moe_bind,
                                 .unbind = qwen35moe_unbind,
                                 .describe = qwen35moe_describe,
                                 .kv = kv,
                                 .state = state,
                                 .scratch_bytes = scratch_bytes,
                                 .forward = forward,
                                 .head = head};
