/* The two token mixers of family qwen35moe: gated attention and Gated DeltaNet. */
#include "engine/qwen35moe_pass.h"

#include <math.h>

#include "engine/base/check.h"

#define L2_EPS 1e-6F /* transformers' l2norm: x * rsqrt(sum x^2 + 1e-6) */

/* ------------------------------------------------------------------ gated attention */

static void region_qkv(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_attention *a = &p->layer->attention;
    const linear_job jobs[] = {pass_job(p, &a->q, &p->b.h, p->b.mixed), pass_job(p, &a->k, &p->b.h, p->b.k),
                               pass_job(p, &a->v, &p->b.h, p->b.v)};
    pass_jobs(p, jobs, 3, i_worker, n_workers);
}

/* Query head of a row within the rows of attn_q: D query values, then D gate values. */
static float *query_at(const pass *p, size_t i_row, size_t i_head) {
    const qwen35moe_params *m = &p->model->params;
    return p->b.mixed + (i_row * m->n_head + i_head) * 2 * m->head_dim;
}

static void norm_and_rotate(const pass *p, size_t i_row, float *x, const float *norm) {
    const qwen35moe_params *m = &p->model->params;
    p->exec->ops->rms_norm(x, norm, m->head_dim, m->eps, x);
    p->exec->ops->rope(x, p->b.cosines + i_row * m->n_rope_pairs, p->b.sines + i_row * m->n_rope_pairs,
                       m->n_rope_pairs);
}

static void store_head(const pass *p, size_t i_row, size_t i_head) {
    const qwen35moe_params *m = &p->model->params;
    const qwen35moe_attention *a = &p->layer->attention;
    const family_row *row = &p->step->rows[i_row];
    const size_t off = (i_row * m->n_head_kv + i_head) * m->head_dim;
    norm_and_rotate(p, i_row, p->b.k + off, a->k_norm);
    const ops_kv_view keys = kv_keys(row->kv, a->i_kv, i_head), values = kv_values(row->kv, a->i_kv, i_head);
    p->exec->ops->kv_store(row->kv->type, p->b.k + off, m->head_dim, keys.data + row->i_kv * keys.stride_bytes);
    p->exec->ops->kv_store(row->kv->type, p->b.v + off, m->head_dim, values.data + row->i_kv * values.stride_bytes);
}

/* Norms and positions of all heads of a share of (row, head): KV heads first, then query heads. */
static void region_heads(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_params *m = &p->model->params;
    const size_t n_per_row = m->n_head_kv + m->n_head;
    size_t begin, end;
    cpu_pool_share(p->n_rows * n_per_row, 1, i_worker, n_workers, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const size_t t = i / n_per_row, head = i % n_per_row;
        if (head < m->n_head_kv)
            store_head(p, t, head);
        else
            norm_and_rotate(p, t, query_at(p, t, head - m->n_head_kv), p->layer->attention.q_norm);
    }
}

/* Query heads of one KV head per call: all, or fewer if there are too few (row, KV head) pairs for the workers. */
static size_t heads_per_call(const pass *p, size_t n_workers) {
    const qwen35moe_params *m = &p->model->params;
    const size_t group = m->n_head / m->n_head_kv, n_pairs = p->n_rows * m->n_head_kv;
    const size_t n_parts = (n_workers + n_pairs - 1) / n_pairs;
    size_t n = n_parts < group ? (group + n_parts - 1) / n_parts : 1;
    return n < OPS_HEADS_PER_CALL_MAX ? n : OPS_HEADS_PER_CALL_MAX;
}

static void attend(const pass *p, size_t i_row, size_t i_kv_head, size_t first, size_t n_heads) {
    const qwen35moe_params *m = &p->model->params;
    const family_row *row = &p->step->rows[i_row];
    const size_t i_kv = p->layer->attention.i_kv, i_head = i_kv_head * (m->n_head / m->n_head_kv) + first;
    float *out = p->b.o.x + (i_row * m->n_head + i_head) * m->head_dim;
    const ops_attention_args args = {.q = query_at(p, i_row, i_head),
                                     .q_stride = 2 * m->head_dim,
                                     .n_heads = n_heads,
                                     .dim = m->head_dim,
                                     .scale = 1.0F / sqrtf((float)m->head_dim),
                                     .kv_type = row->kv->type,
                                     .k = kv_keys(row->kv, i_kv, i_kv_head),
                                     .v = kv_values(row->kv, i_kv, i_kv_head),
                                     .n_keys = row->i_kv + 1,
                                     .out = out,
                                     .out_stride = m->head_dim};
    p->exec->ops->attention(&args);
    for (size_t h = 0; h < n_heads; h++) {
        p->exec->ops->sigmoid_gate(out + h * m->head_dim, args.q + h * args.q_stride + m->head_dim, m->head_dim);
    }
}

/* Later rows see more keys, so workers take rows in turn. */
static void region_attend(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_params *m = &p->model->params;
    const size_t group = m->n_head / m->n_head_kv, n_call = heads_per_call(p, n_workers);
    const size_t n_parts = (group + n_call - 1) / n_call, n_items = p->n_rows * m->n_head_kv * n_parts;
    for (size_t i = i_worker; i < n_items; i += n_workers) {
        const size_t part = i % n_parts, head = i / n_parts % m->n_head_kv, first = part * n_call;
        attend(p, i / n_parts / m->n_head_kv, head, first, group - first < n_call ? group - first : n_call);
    }
}

static void region_quantize_o(const pass *p, size_t i_worker, size_t n_workers) {
    size_t begin, end;
    cpu_pool_share(p->n_rows, 1, i_worker, n_workers, &begin, &end);
    for (size_t t = begin; t < end; t++) pass_quantize(p, &p->b.o, t);
}

static void region_output(const pass *p, size_t i_worker, size_t n_workers) {
    const weight *w = p->layer->is_attention ? &p->layer->attention.out : &p->layer->deltanet.out;
    const linear_job job = pass_job(p, w, &p->b.o, p->b.y);
    pass_jobs(p, &job, 1, i_worker, n_workers);
}

/* The rows of o take the width of the mixer at hand. */
static pass with_output_width(const pass *p, size_t k) {
    pass local = *p;
    local.b.o.k = k;
    for (size_t t = 0; t < p->n_rows; t++) local.b.o.act[t] = act_view_at(p->b.o.act[t].q, k);
    return local;
}

void pass_attention(const pass *p) {
    const pass local = with_output_width(p, p->model->params.n_head * p->model->params.head_dim);
    pass_run(&local, region_qkv);
    pass_run(&local, region_heads);
    pass_run(&local, region_attend);
    pass_run_rows(&local, region_quantize_o);
    pass_run(&local, region_output);
}

/* ------------------------------------------------------------------ Gated DeltaNet */

static void region_project(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_deltanet *d = &p->layer->deltanet;
    const linear_job jobs[] = {pass_job(p, &d->qkv, &p->b.h, p->b.mixed), pass_job(p, &d->gate, &p->b.h, p->b.z),
                               pass_job(p, &d->alpha, &p->b.h, p->b.alpha), pass_job(p, &d->beta, &p->b.h, p->b.beta)};
    pass_jobs(p, jobs, 4, i_worker, n_workers);
}

static size_t n_channels_of(const qwen35moe_params *m) {
    return (2 * m->n_k_heads + m->n_v_heads) * m->state_dim;
}

static void convolve(const pass *p, const family_segment *s, size_t c_begin, size_t c_end) {
    const qwen35moe_deltanet *d = &p->layer->deltanet;
    const size_t n_channels = n_channels_of(&p->model->params);
    const ops_conv_args args = {.m = p->b.mixed + s->row_begin * n_channels,
                                .m_stride = n_channels,
                                .w = d->conv,
                                .n_taps = p->model->params.n_taps,
                                .n_channels = n_channels,
                                .c_begin = c_begin,
                                .c_end = c_end,
                                .hist_in = (const float *)(const void *)(s->state_in + d->conv_off),
                                .hist_out = (float *)(void *)(s->state_out + d->conv_off),
                                .n_rows = s->n_rows,
                                .u = p->b.conv + s->row_begin * n_channels,
                                .u_stride = n_channels};
    p->exec->ops->conv_silu(&args);
}

/* q and k of head i (Q heads, then K heads) to unit length; q also takes the 1/sqrt(d) of the scores. */
static void normalize_head(const pass *p, size_t i_head) {
    const qwen35moe_params *m = &p->model->params;
    const float scale = i_head < m->n_k_heads ? 1.0F / sqrtf((float)m->state_dim) : 1.0F;
    for (size_t t = 0; t < p->n_rows; t++) {
        float *x = p->b.conv + t * n_channels_of(m) + i_head * m->state_dim;
        p->exec->ops->l2_norm(x, m->state_dim, L2_EPS, scale, x);
    }
}

/* Workers take whole heads of channels, so that norms follow without a meeting. */
static void region_convolve(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_params *m = &p->model->params;
    size_t begin, end;
    cpu_pool_share(2 * m->n_k_heads + m->n_v_heads, 1, i_worker, n_workers, &begin, &end);
    if (begin == end) return;
    for (size_t s = 0; s < p->step->n_segments; s++) {
        convolve(p, &p->step->segments[s], begin * m->state_dim, end * m->state_dim);
    }
    for (size_t i = begin; i < end && i < 2 * m->n_k_heads; i++) normalize_head(p, i);
}

static void region_gates(const pass *p, size_t i_worker, size_t n_workers) {
    const qwen35moe_deltanet *d = &p->layer->deltanet;
    const size_t nv = p->model->params.n_v_heads;
    size_t begin, end;
    cpu_pool_share(p->n_rows, 1, i_worker, n_workers, &begin, &end);
    for (size_t t = begin; t < end; t++) {
        p->exec->ops->deltanet_gates(p->b.alpha + t * nv, p->b.beta + t * nv, d->a, d->dt, nv);
    }
}

/* Arguments of V head i from row t on; in a GGUF file of this family V head i reads K head i mod n_k_heads. */
static ops_deltanet_args head_args(const pass *p, size_t i_head, size_t t, size_t i_worker) {
    const qwen35moe_params *m = &p->model->params;
    const size_t d = m->state_dim, n_channels = n_channels_of(m), i_k = i_head % m->n_k_heads;
    const float *row = p->b.conv + t * n_channels;
    return (ops_deltanet_args){.q = row + i_k * d,
                               .k = row + (m->n_k_heads + i_k) * d,
                               .v = row + (2 * m->n_k_heads + i_head) * d,
                               .qk_stride = n_channels,
                               .v_stride = n_channels,
                               .g = p->b.alpha + t * m->n_v_heads + i_head,
                               .beta = p->b.beta + t * m->n_v_heads + i_head,
                               .gate_stride = m->n_v_heads,
                               .dk = d,
                               .dv = d,
                               .out = p->b.o.x + t * p->b.o.k + i_head * d,
                               .out_stride = p->b.o.k,
                               .scratch = p->b.delta + i_worker * ops_deltanet_scratch_floats(d, d)};
}

/* Full groups of a prefill segment by the chunked form, other rows by the recurrence. */
static void run_head(const pass *p, const family_segment *s, size_t i_head, size_t i_worker) {
    const size_t d = p->model->params.state_dim, off = p->layer->deltanet.s_off + i_head * d * d * sizeof(float);
    const float *from = (const float *)(const void *)(s->state_in + off);
    float *to = (float *)(void *)(s->state_out + off);
    for (size_t done = 0; done < s->n_rows;) {
        ops_deltanet_args args = head_args(p, i_head, s->row_begin + done, i_worker);
        const bool is_group = p->step->kind == FAMILY_PREFILL && s->n_rows - done >= OPS_GROUP_TOKENS;
        args.n_rows = is_group ? OPS_GROUP_TOKENS : s->n_rows - done;
        args.state_in = from;
        args.state_out = to;
        if (is_group)
            p->exec->ops->deltanet_group(&args);
        else
            p->exec->ops->deltanet_steps(&args);
        from = to;
        done += args.n_rows;
    }
}

/* y_h = RMS(o_h) * SiLU(z_h) */
static void finish_head(const pass *p, size_t i_head) {
    const qwen35moe_params *m = &p->model->params;
    for (size_t t = 0; t < p->n_rows; t++) {
        float *o = p->b.o.x + t * p->b.o.k + i_head * m->state_dim;
        p->exec->ops->rms_norm(o, p->layer->deltanet.norm, m->state_dim, m->eps, o);
        p->exec->ops->silu_gate(o, p->b.z + (t * m->n_v_heads + i_head) * m->state_dim, m->state_dim);
    }
}

static void region_delta(const pass *p, size_t i_worker, size_t n_workers) {
    size_t begin, end;
    cpu_pool_share(p->model->params.n_v_heads, 1, i_worker, n_workers, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        for (size_t s = 0; s < p->step->n_segments; s++) run_head(p, &p->step->segments[s], i, i_worker);
        finish_head(p, i);
    }
}

void pass_deltanet(const pass *p) {
    const pass local = with_output_width(p, p->model->params.n_v_heads * p->model->params.state_dim);
    pass_run(&local, region_project);
    pass_run_rows(&local, region_gates);
    pass_run(&local, region_convolve);
    pass_run(&local, region_delta);
    pass_run_rows(&local, region_quantize_o);
    pass_run(&local, region_output);
}
