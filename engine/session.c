/* Life of a session, and its decode steps. Prefill: session_sync.c. */
#include "engine/session.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/float_mode.h"
#include "engine/pages.h"

#define N_CTX_DEFAULT   4096
#define N_CHUNK_DEFAULT 512
#define N_CHUNK_MAX     16384
#define N_SNAPSHOTS_MAX 4096

/* Slots beyond snapshots: the live state, the grid point, and the rows of a step (prefill needs fewer). */
#define N_SLOTS_FIXED (2 + CONVECT_STEP_ROWS_MAX)

typedef struct session_plan {
    size_t n_ctx, n_chunk, n_rows, n_snapshots;
    ops_kv_type kv_type;
    convect_session_sizes sizes;
} session_plan;

static convect_status plan_options(const convect_model *m, const convect_session_options *o, session_plan *p,
                                   convect_error *err) {
    const size_t most = m->info.n_ctx_max_tokens;
    p->n_ctx = o->n_ctx_tokens ? o->n_ctx_tokens : most < N_CTX_DEFAULT ? most : N_CTX_DEFAULT;
    if (p->n_ctx > most) {
        return convect_fail(err, CONVECT_USAGE, "a context of %zu tokens was asked for; the model has %zu", p->n_ctx,
                            most);
    }
    p->n_chunk = o->prefill_chunk_tokens ? o->prefill_chunk_tokens : N_CHUNK_DEFAULT;
    if (p->n_chunk % CONVECT_GRID_TOKENS != 0 || p->n_chunk > N_CHUNK_MAX) {
        return convect_fail(err, CONVECT_USAGE,
                            "a prefill chunk of %zu tokens; it must be a multiple of %d, at most %d", p->n_chunk,
                            CONVECT_GRID_TOKENS, N_CHUNK_MAX);
    }
    if ((unsigned)o->kv_type >= CONVECT_KV_COUNT)
        return convect_fail(err, CONVECT_USAGE, "unknown KV type %d", (int)o->kv_type);
    if (o->n_snapshots > N_SNAPSHOTS_MAX) {
        return convect_fail(err, CONVECT_USAGE, "%zu snapshots; at most %d", o->n_snapshots, N_SNAPSHOTS_MAX);
    }
    const size_t n_grid = (p->n_ctx + CONVECT_GRID_TOKENS - 1) / CONVECT_GRID_TOKENS * CONVECT_GRID_TOKENS;
    if (p->n_chunk > n_grid) p->n_chunk = n_grid;
    p->n_rows = p->n_chunk; /* at least 64, so a decode step fits */
    p->n_snapshots = o->n_snapshots;
    p->kv_type = model_kv_type(o->kv_type);
    return CONVECT_OK;
}

static size_t output_floats(const convect_model *m, const session_plan *p) {
    return (CONVECT_STEP_ROWS_MAX + p->n_snapshots) * (m->info.n_vocab + m->info.n_embd);
}

static convect_status plan_session(const convect_model *m, const convect_session_options *options, session_plan *p,
                                   convect_error *err) {
    static const convect_session_options defaults = {0};
    *p = (session_plan){0};
    const convect_status status = plan_options(m, options ? options : &defaults, p, err);
    if (status != CONVECT_OK) return status;
    const state_layout *layout = m->family->state(m->weights);
    p->sizes.n_ctx_tokens = p->n_ctx;
    p->sizes.kv_bytes = kv_bytes_per_token(m->family->kv(m->weights), p->kv_type) * p->n_ctx;
    p->sizes.state_bytes = (uint64_t)(N_SLOTS_FIXED + p->n_snapshots) * layout->n_bytes;
    p->sizes.scratch_bytes = m->family->scratch_bytes(m->weights, p->n_rows, cpu_pool_size(m->pool));
    p->sizes.output_bytes = output_floats(m, p) * sizeof(float) + p->n_ctx * sizeof(int32_t);
    return CONVECT_OK;
}

convect_status convect_session_measure(const convect_model *model, const convect_session_options *options,
                                       convect_session_sizes *out, convect_error *err) {
    session_plan p;
    const convect_status status = plan_session(model, options, &p, err);
    *out = p.sizes;
    return status;
}

static convect_status allocate(convect_session *s, const session_plan *p, convect_error *err) {
    const convect_model *m = s->model;
    convect_status status = kv_init(&s->kv, m->family->kv(m->weights), p->kv_type, p->n_ctx, err);
    if (status == CONVECT_OK)
        status = state_pool_init(&s->states, m->family->state(m->weights), N_SLOTS_FIXED + p->n_snapshots, err);
    if (status != CONVECT_OK) return status;
    s->exec.scratch_bytes = (size_t)p->sizes.scratch_bytes;
    s->exec.scratch = pages_alloc(s->exec.scratch_bytes);
    s->output_bytes = output_floats(m, p) * sizeof(float);
    s->outputs = pages_alloc(s->output_bytes);
    s->rows = calloc(p->n_rows, sizeof *s->rows);
    s->tokens = calloc(p->n_ctx, sizeof *s->tokens);
    s->snapshots = calloc(p->n_snapshots + 1, sizeof *s->snapshots);
    if (s->exec.scratch && s->outputs && s->rows && s->tokens && s->snapshots) return CONVECT_OK;
    return convect_fail(err, CONVECT_NO_FIT,
                        "no memory for a prefill chunk of %zu tokens (%zu MiB); use a smaller chunk", p->n_chunk,
                        s->exec.scratch_bytes >> 20);
}

static void lay_outputs(convect_session *s) {
    const size_t V = s->model->info.n_vocab, H = s->model->info.n_embd;
    s->logits = s->outputs;
    s->hidden = s->logits + CONVECT_STEP_ROWS_MAX * V;
    float *next = s->hidden + CONVECT_STEP_ROWS_MAX * H;
    for (size_t i = 0; i < s->n_snapshots; i++) {
        s->snapshots[i] = (session_snapshot){.point = {.slot = STATE_NONE}, .logits = next, .hidden = next + V};
        next += V + H;
    }
}

convect_status convect_session_create(convect_model *model, const convect_session_options *options,
                                      convect_session **out, convect_error *err) {
    *out = NULL;
    session_plan p;
    convect_status status = plan_session(model, options, &p, err);
    if (status != CONVECT_OK) return status;
    convect_session *s = calloc(1, sizeof *s);
    if (!s) return convect_fail(err, CONVECT_NO_FIT, "no memory for a session");
    s->model = model;
    s->n_ctx = p.n_ctx;
    s->n_chunk = p.n_chunk;
    s->n_snapshots = p.n_snapshots;
    status = allocate(s, &p, err);
    if (status != CONVECT_OK) {
        convect_session_destroy(s);
        return status;
    }
    s->exec = (family_exec){.weights = model->weights,
                            .pool = model->pool,
                            .kernels = model->kernels,
                            .ops = model->ops,
                            .scratch = s->exec.scratch,
                            .scratch_bytes = s->exec.scratch_bytes,
                            .n_rows_max = p.n_rows};
    lay_outputs(s);
    s->grid.slot = STATE_NONE;
    s->live = state_pool_acquire(&s->states); /* fresh pages: the zero state of an empty timeline */
    s->is_prefilled = true;
    *out = s;
    return CONVECT_OK;
}

void convect_session_destroy(convect_session *s) {
    if (!s) return;
    kv_deinit(&s->kv);
    state_pool_deinit(&s->states);
    pages_free(s->exec.scratch, s->exec.scratch_bytes);
    pages_free(s->outputs, s->output_bytes);
    free(s->rows);
    free(s->tokens);
    free(s->snapshots);
    free(s);
}

convect_status session_check_tokens(const convect_session *s, const int32_t *tokens, size_t n, convect_error *err) {
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] < 0 || (size_t)tokens[i] >= s->model->info.n_vocab) {
            return convect_fail(err, CONVECT_USAGE, "token %zu has id %d; the vocabulary has ids 0 to %zu", i,
                                tokens[i], s->model->info.n_vocab - 1);
        }
    }
    return CONVECT_OK;
}

const float *session_forward(convect_session *s, const family_step *step) {
    pthread_mutex_lock(&s->model->pool_lock);
    const unsigned mode = float_mode_enter(); /* a step of one row computes on this thread outside of the pool too */
    const float *hidden = s->model->family->forward(&s->exec, step);
    float_mode_leave(mode);
    pthread_mutex_unlock(&s->model->pool_lock);
    return hidden;
}

void session_output(convect_session *s, const float *hidden, size_t n_rows) {
    memcpy(s->hidden, hidden, n_rows * s->model->info.n_embd * sizeof *hidden);
    pthread_mutex_lock(&s->model->pool_lock);
    const unsigned mode = float_mode_enter();
    s->model->family->head(&s->exec, s->hidden, n_rows, s->logits);
    float_mode_leave(mode);
    pthread_mutex_unlock(&s->model->pool_lock);
}

void session_drop_pending(convect_session *s) {
    for (size_t i = 0; i < s->n_pending; i++) state_pool_release(&s->states, s->row_slots[i]);
    s->n_pending = 0;
}

static void end_point(convect_session *s, resume_point *point) {
    state_pool_release(&s->states, point->slot);
    *point = (resume_point){.slot = STATE_NONE};
}

void session_write_from(convect_session *s, size_t p) {
    if (s->grid.n_tokens > p) end_point(s, &s->grid);
    for (size_t i = 0; i < s->n_snapshots; i++) {
        if (s->snapshots[i].point.n_tokens > p) end_point(s, &s->snapshots[i].point);
    }
    if (s->n_kv > p) s->n_kv = p;
    if (s->n_prefilled > p) s->n_prefilled = p;
}

void session_rewind(convect_session *s, resume_point point) {
    state_pool_share(&s->states, point.slot);
    state_pool_release(&s->states, s->live);
    s->live = point.slot;
    s->n_tokens = point.n_tokens;
    s->is_prefilled = true;
    s->has_output = false;
}

/* Rows of a step and their chain of states. */
static void step_rows(convect_session *s, const int32_t *tokens, size_t n, family_segment *segments) {
    size_t from = s->live;
    for (size_t i = 0; i < n; i++) {
        const size_t p = s->n_tokens + i;
        const int32_t at = (int32_t)p;
        s->rows[i] = (family_row){.token = tokens[i], .positions = {at, at, at}, .i_kv = p, .kv = &s->kv};
        s->tokens[p] = tokens[i];
        s->row_slots[i] = state_pool_acquire(&s->states);
        segments[i] = (family_segment){.row_begin = i,
                                       .n_rows = 1,
                                       .state_in = state_pool_at(&s->states, from),
                                       .state_out = state_pool_at(&s->states, s->row_slots[i])};
        from = s->row_slots[i];
    }
}

convect_status convect_session_step(convect_session *s, const int32_t *tokens, size_t n, convect_error *err) {
    if (n < 1 || n > CONVECT_STEP_ROWS_MAX) {
        return convect_fail(err, CONVECT_USAGE, "a step of %zu rows; 1 to %d are possible", n, CONVECT_STEP_ROWS_MAX);
    }
    if (s->n_pending > 0) return convect_fail(err, CONVECT_USAGE, "the last step waits for convect_session_accept");
    if (n > s->n_ctx - s->n_tokens) {
        return convect_fail(err, CONVECT_USAGE, "the context of %zu tokens is full; use a larger --ctx", s->n_ctx);
    }
    const convect_status status = session_check_tokens(s, tokens, n, err);
    if (status != CONVECT_OK) return status;
    family_segment segments[CONVECT_STEP_ROWS_MAX];
    session_write_from(s, s->n_tokens);
    step_rows(s, tokens, n, segments);
    const family_step step = {.kind = FAMILY_DECODE,
                              .rows = s->rows,
                              .n_rows = n,
                              .segments = segments,
                              .n_segments = n,
                              .tap = s->tap,
                              .tap_user = s->tap_user};
    session_output(s, session_forward(s, &step), n);
    s->n_pending = n;
    s->has_output = false;
    return CONVECT_OK;
}

convect_status convect_session_accept(convect_session *s, size_t n_accepted, convect_error *err) {
    if (n_accepted > s->n_pending) {
        return convect_fail(err, CONVECT_USAGE, "%zu rows accepted of a step of %zu", n_accepted, s->n_pending);
    }
    if (n_accepted > 0) {
        state_pool_release(&s->states, s->live);
        s->live = s->row_slots[n_accepted - 1];
        state_pool_share(&s->states, s->live);
        s->n_tokens += n_accepted;
        s->n_kv = s->n_tokens;
        s->is_prefilled = false;
    }
    session_drop_pending(s);
    return CONVECT_OK;
}

static int32_t greedy(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (logits[i] > logits[best]) best = i;
    }
    return (int32_t)best;
}

convect_status convect_session_propose(convect_session *s, int32_t last, const int32_t *proposed, size_t n_proposed,
                                       size_t *n_accepted, convect_error *err) {
    int32_t tokens[CONVECT_STEP_ROWS_MAX] = {last};
    *n_accepted = 0;
    if (n_proposed > CONVECT_STEP_ROWS_MAX - 1) {
        return convect_fail(err, CONVECT_USAGE, "%zu proposed tokens; at most %d", n_proposed,
                            CONVECT_STEP_ROWS_MAX - 1);
    }
    if (n_proposed > 0) memcpy(tokens + 1, proposed, n_proposed * sizeof *proposed);
    const convect_status status = convect_session_step(s, tokens, 1 + n_proposed, err);
    if (status != CONVECT_OK) return status;
    size_t n = 0;
    while (n < n_proposed && proposed[n] == greedy(convect_session_logits(s, n), s->model->info.n_vocab)) n++;
    *n_accepted = n;
    return convect_session_accept(s, 1 + n, err);
}

size_t convect_session_n_tokens(const convect_session *s) {
    return s->n_tokens;
}

const int32_t *convect_session_tokens(const convect_session *s) {
    return s->tokens;
}

const float *convect_session_logits(const convect_session *s, size_t i_row) {
    return s->logits + i_row * s->model->info.n_vocab;
}

const float *convect_session_hidden(const convect_session *s, size_t i_row) {
    return s->hidden + i_row * s->model->info.n_embd;
}

void convect_session_tap(convect_session *s, convect_layer_tap tap, void *user) {
    s->tap = tap;
    s->tap_user = user;
}
