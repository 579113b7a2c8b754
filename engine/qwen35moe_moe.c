/* The expert layer of family qwen35moe: router, routed experts grouped by expert, shared expert, combination in rank
 * order. The same order of sums for one row and for many. */
#include "engine/qwen35moe_pass.h"

#include <string.h>

static void region_router(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_experts *x = &p->layer->experts;
    const linear_job jobs[] = {
        pass_job(p, &x->router, &p->b.h, p->b.router), pass_job(p, &x->shared_gate_logit, &p->b.h, p->b.shared_logit),
        pass_job(p, &x->shared_gate, &p->b.h, p->b.shared_gate), pass_job(p, &x->shared_up, &p->b.h, p->b.shared_up)};
    pass_jobs(p, jobs, 4, i_worker, n_workers);
}

/* Experts of each row, and the shared expert's SwiGLU. */
static void region_choose(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_params *m = &p->model->params;
    const size_t E = m->n_experts, k = m->n_used, fs = m->shared_width;
    size_t begin, end;
    cpu_pool_share(p->n_rows, 1, i_worker, n_workers, &begin, &end);
    for (size_t t = begin; t < end; t++) {
        p->exec->ops->router(p->b.router + t * E, E, k, p->b.terms + t * E, p->b.ids + t * k, p->b.weights + t * k);
        p->exec->kernels->swiglu(p->b.shared_gate + t * fs, p->b.shared_up + t * fs, fs, p->b.shared.x + t * fs);
        pass_quantize(p, &p->b.shared, t);
    }
}

/* Sorts (row, rank) pairs by expert: counts, first slots, then rows in rising order. */
static void assign_slots(pass *p) {
    const size_t E = p->model->params.n_experts, k = p->model->params.n_used, n = p->n_rows * k;
    pass_buffers *b = &p->b;
    memset(b->first, 0, (E + 1) * sizeof *b->first);
    for (size_t i = 0; i < n; i++) b->first[b->ids[i] + 1]++;
    p->n_active = 0;
    for (size_t e = 0; e < E; e++) {
        if (b->first[e + 1] > 0) b->active[p->n_active++] = (uint32_t)e;
        b->first[e + 1] += b->first[e];
    }
    for (size_t i = 0; i < n; i++) { /* first[e] runs ahead to first[e + 1] */
        const uint32_t slot = b->first[b->ids[i]]++;
        b->slots[i] = slot;
        b->slot_row[slot] = (uint32_t)(i / k);
        b->slot_act[slot] = b->h.act[i / k];
    }
    for (size_t e = E; e > 0; e--) b->first[e] = b->first[e - 1];
    b->first[0] = 0;
}

/* Float matrices read f32 vectors, which must lie together. */
static void region_gather(const pass *p, size_t i_worker, size_t n_workers) {
    const size_t H = p->model->params.n_embd;
    size_t begin, end;
    cpu_pool_share(p->n_rows * p->model->params.n_used, 1, i_worker, n_workers, &begin, &end);
    for (size_t s = begin; s < end; s++) {
        memcpy(p->b.slot_x + s * H, p->b.h.x + p->b.slot_row[s] * H, H * sizeof(float));
    }
}

/* Job of one expert over its slots; in and out are per slot. */
static linear_job expert_job(const pass *p, const weight *w, size_t e, const float *x, const act_view *act, float *y) {
    const size_t first = p->b.first[e];
    return (linear_job){.w = w,
                        .i_mat = e,
                        .x = x ? x + first * w->k : NULL,
                        .x_stride = w->k,
                        .act = act + first,
                        .n_cols = p->b.first[e + 1] - first,
                        .y = y + first * w->n_rows,
                        .y_stride = w->n_rows};
}

static void region_gate_up(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_experts *x = &p->layer->experts;
    for (size_t i = 0; i < p->n_active; i++) {
        const size_t e = p->b.active[i];
        const linear_job jobs[] = {expert_job(p, &x->gate, e, p->b.slot_x, p->b.slot_act, p->b.gate),
                                   expert_job(p, &x->up, e, p->b.slot_x, p->b.slot_act, p->b.up)};
        pass_jobs(p, jobs, 2, i_worker, n_workers);
    }
}

static void region_swiglu(const pass *p, size_t i_worker, size_t n_workers) {
    const size_t f = p->model->params.expert_width;
    size_t begin, end;
    cpu_pool_share(p->n_rows * p->model->params.n_used, 1, i_worker, n_workers, &begin, &end);
    for (size_t s = begin; s < end; s++) {
        p->exec->kernels->swiglu(p->b.gate + s * f, p->b.up + s * f, f, p->b.hidden.x + s * f);
        pass_quantize(p, &p->b.hidden, s);
    }
}

static void region_down(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_experts *x = &p->layer->experts;
    for (size_t i = 0; i < p->n_active; i++) {
        const size_t e = p->b.active[i];
        const linear_job job = expert_job(p, &x->down, e, p->b.hidden.x, p->b.hidden.act, p->b.out);
        pass_jobs(p, &job, 1, i_worker, n_workers);
    }
    const linear_job shared = pass_job(p, &x->shared_down, &p->b.shared, p->b.y);
    pass_jobs(p, &shared, 1, i_worker, n_workers);
}

static void region_combine(const pass *p, size_t i_worker, size_t n_workers) {
    const size_t H = p->model->params.n_embd, k = p->model->params.n_used;
    const float *outputs[64]; /* expert_used_count is at most 64 (qwen35moe_params.c) */
    size_t begin, end;
    cpu_pool_share(p->n_rows, 1, i_worker, n_workers, &begin, &end);
    for (size_t t = begin; t < end; t++) {
        for (size_t e = 0; e < k; e++) outputs[e] = p->b.out + p->b.slots[t * k + e] * H;
        p->exec->ops->moe_combine(outputs, p->b.weights + t * k, k, p->b.y + t * H, p->b.shared_logit[t], H,
                                  p->b.x + t * H);
    }
}

void pass_experts(pass *p) {
    pass_run(p, region_router);
    pass_run_rows(p, region_choose);
    assign_slots(p);
    if (p->b.slot_x) pass_run_rows(p, region_gather);
    pass_run(p, region_gate_up);
    pass_run_rows(p, region_swiglu);
    pass_run(p, region_down);
    pass_run_rows(p, region_combine);
}
