/* Prefill on the grid, resume points and snapshots. */
#include "engine/session.h"

#include <string.h>

#include "engine/base/check.h"

/* What a prefill reports to. */
typedef struct sync_watch {
    convect_progress progress;
    convect_row_callback on_row; /* every row's logits are computed if given */
    void *user;
} sync_watch;

static void set_point(convect_session *s, resume_point *point, size_t slot, size_t n_tokens) {
    state_pool_share(&s->states, slot);
    state_pool_release(&s->states, point->slot);
    *point = (resume_point){slot, n_tokens};
}

static void set_live(convect_session *s, size_t slot, size_t n_tokens) { /* takes over the reference */
    state_pool_release(&s->states, s->live);
    s->live = slot;
    s->n_tokens = n_tokens;
    s->is_prefilled = true;
}

static void chunk_rows(convect_session *s, const int32_t *tokens, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const size_t p = s->n_tokens + i;
        const int32_t at = (int32_t)p;
        s->rows[i] = (family_row){.token = tokens[i], .positions = {at, at, at}, .i_kv = p, .kv = &s->kv};
        s->tokens[p] = tokens[i];
    }
}

static family_segment segment(const convect_session *s, size_t row_begin, size_t n_rows, size_t from, size_t to) {
    return (family_segment){row_begin, n_rows, state_pool_at(&s->states, from), state_pool_at(&s->states, to)};
}

/* Runs rows [n_tokens, n_tokens + n) from the live state. The state at the last grid point strictly before the end is
 * kept as the resume point: there is always something left to compute after it, and its logits. */
static const float *run_chunk(convect_session *s, const int32_t *tokens, size_t n) {
    const size_t p = s->n_tokens, n_before = (n - 1) / CONVECT_GRID_TOKENS * CONVECT_GRID_TOKENS;
    session_write_from(s, p);
    chunk_rows(s, tokens, n);
    family_segment segments[2];
    size_t n_segments = 0, from = s->live;
    if (n_before > 0) {
        const size_t middle = state_pool_acquire(&s->states);
        segments[n_segments++] = segment(s, 0, n_before, from, middle);
        from = middle;
    }
    const size_t end = state_pool_acquire(&s->states);
    segments[n_segments++] = segment(s, n_before, n - n_before, from, end);
    const family_step step = {.kind = FAMILY_PREFILL,
                              .rows = s->rows,
                              .n_rows = n,
                              .segments = segments,
                              .n_segments = n_segments,
                              .tap = s->tap,
                              .tap_user = s->tap_user};
    const float *hidden = session_forward(s, &step);
    set_point(s, &s->grid, from, p + n_before);
    if (n_before > 0) state_pool_release(&s->states, from); /* the point holds it now */
    set_live(s, end, p + n);
    s->n_kv = s->n_prefilled = s->n_tokens;
    return hidden;
}

/* Logits of all n rows in blocks of a step's size; the values do not depend on the block. False if the watcher wants
 * no more. */
static bool report_rows(convect_session *s, const float *hidden, size_t n, const sync_watch *watch) {
    const size_t H = s->model->info.n_embd, first = s->n_tokens - n;
    for (size_t t = 0; t < n; t += CONVECT_STEP_ROWS_MAX) {
        const size_t n_rows = n - t < CONVECT_STEP_ROWS_MAX ? n - t : CONVECT_STEP_ROWS_MAX;
        session_output(s, hidden + t * H, n_rows);
        for (size_t i = 0; i < n_rows; i++) {
            if (!watch->on_row(watch->user, first + t + i, convect_session_logits(s, i), convect_session_hidden(s, i)))
                return false;
        }
    }
    return true;
}

/* Prefills tokens[n_tokens..n): the timeline is on the grid and equals the tokens so far. */
static convect_status prefill(convect_session *s, const int32_t *tokens, size_t n, const sync_watch *watch,
                              convect_error *err) {
    CONVECT_CHECK(s->n_tokens % CONVECT_GRID_TOKENS == 0 && s->n_tokens < n);
    while (s->n_tokens < n) {
        const size_t left = n - s->n_tokens, n_rows = left < s->n_chunk ? left : s->n_chunk;
        const float *hidden = run_chunk(s, tokens + s->n_tokens, n_rows);
        s->has_output = false;
        if (watch->on_row && !report_rows(s, hidden, n_rows, watch))
            return convect_fail(err, CONVECT_CANCELLED, "interrupted after %zu of %zu tokens", s->n_tokens, n);
        if (s->n_tokens == n) {
            session_output(s, hidden + (n_rows - 1) * s->model->info.n_embd, 1);
            s->has_output = true;
        }
        if (watch->progress && !watch->progress(watch->user, s->n_tokens, n) && s->n_tokens < n) {
            return convect_fail(err, CONVECT_CANCELLED, "prefill was interrupted after %zu of %zu tokens", s->n_tokens,
                                n);
        }
    }
    return CONVECT_OK;
}

static convect_status check_prompt(const convect_session *s, const int32_t *tokens, size_t n, convect_error *err) {
    if (n < 1) return convect_fail(err, CONVECT_USAGE, "the prompt is empty; give at least one token");
    if (n > s->n_ctx) {
        const size_t most = s->model->info.n_ctx_max_tokens;
        if (n > most)
            return convect_fail(err, CONVECT_USAGE, "the prompt has %zu tokens, the model takes %zu at most", n, most);
        return convect_fail(err, CONVECT_USAGE, "the prompt has %zu tokens, the context %zu; use a larger --ctx", n,
                            s->n_ctx);
    }
    return session_check_tokens(s, tokens, n, err);
}

static void consider(resume_point *best, resume_point point, size_t n_max) {
    if (point.slot == STATE_NONE || point.n_tokens > n_max) return;
    if (best->slot == STATE_NONE || point.n_tokens > best->n_tokens) *best = point;
}

/* The highest resume point within the first n_max tokens; slot STATE_NONE if there is none. */
static resume_point find_resume(const convect_session *s, size_t n_max) {
    resume_point best = {.slot = STATE_NONE};
    consider(&best, s->grid, n_max);
    if (s->is_prefilled && s->n_tokens % CONVECT_GRID_TOKENS == 0) {
        consider(&best, (resume_point){s->live, s->n_tokens}, n_max);
    }
    for (size_t i = 0; i < s->n_snapshots; i++) consider(&best, s->snapshots[i].point, n_max);
    return best;
}

static void rewind_to_start(convect_session *s) {
    const size_t slot = state_pool_acquire(&s->states);
    state_pool_zero(&s->states, slot);
    set_live(s, slot, 0);
    s->has_output = false;
}

static size_t common_prefix(const convect_session *s, const int32_t *tokens, size_t n) {
    size_t n_same = 0;
    while (n_same < n && n_same < s->n_kv && s->tokens[n_same] == tokens[n_same]) n_same++;
    return n_same;
}

static void load_snapshot(convect_session *s, const session_snapshot *snapshot) {
    session_rewind(s, snapshot->point);
    s->has_output = snapshot->has_output;
    if (!snapshot->has_output) return;
    memcpy(s->logits, snapshot->logits, s->model->info.n_vocab * sizeof *s->logits);
    memcpy(s->hidden, snapshot->hidden, s->model->info.n_embd * sizeof *s->hidden);
}

/* A snapshot at exactly n tokens brings its logits: nothing is left to compute. */
static bool load_exact_snapshot(convect_session *s, size_t n) {
    for (size_t i = 0; i < s->n_snapshots; i++) {
        const session_snapshot *snapshot = &s->snapshots[i];
        if (snapshot->point.slot == STATE_NONE || snapshot->point.n_tokens != n || !snapshot->has_output) continue;
        load_snapshot(s, snapshot);
        return true;
    }
    return false;
}

convect_status convect_session_sync(convect_session *s, const int32_t *tokens, size_t n_tokens,
                                    convect_progress progress, void *user, convect_error *err) {
    const convect_status status = check_prompt(s, tokens, n_tokens, err);
    if (status != CONVECT_OK) return status;
    session_drop_pending(s);
    const size_t n_same = common_prefix(s, tokens, n_tokens);
    if (n_same == n_tokens) {
        if (s->n_tokens == n_tokens && s->has_output) return CONVECT_OK;
        if (load_exact_snapshot(s, n_tokens)) return CONVECT_OK;
    }
    const resume_point point = find_resume(s, n_same < n_tokens - 1 ? n_same : n_tokens - 1);
    if (point.slot == STATE_NONE)
        rewind_to_start(s);
    else
        session_rewind(s, point);
    const sync_watch watch = {.progress = progress, .user = user};
    return prefill(s, tokens, n_tokens, &watch, err);
}

convect_status convect_session_sync_all(convect_session *s, const int32_t *tokens, size_t n_tokens,
                                        convect_row_callback on_row, void *user, convect_error *err) {
    const convect_status status = check_prompt(s, tokens, n_tokens, err);
    if (status != CONVECT_OK) return status;
    session_drop_pending(s);
    rewind_to_start(s);
    const sync_watch watch = {.on_row = on_row, .user = user};
    return prefill(s, tokens, n_tokens, &watch, err);
}

static convect_status find_snapshot(convect_session *s, size_t i, session_snapshot **out, convect_error *err) {
    if (i >= s->n_snapshots) {
        return convect_fail(err, CONVECT_USAGE, "snapshot %zu; the session holds %zu", i, s->n_snapshots);
    }
    *out = &s->snapshots[i];
    return CONVECT_OK;
}

convect_status convect_session_snapshot_save(convect_session *s, size_t i_snapshot, convect_error *err) {
    session_snapshot *snapshot = NULL;
    const convect_status status = find_snapshot(s, i_snapshot, &snapshot, err);
    if (status != CONVECT_OK) return status;
    if (!s->is_prefilled || s->n_pending > 0 || s->n_tokens % CONVECT_GRID_TOKENS != 0) {
        return convect_fail(err, CONVECT_USAGE,
                            "a snapshot is taken where prefill ended at a multiple of %d tokens, not at %zu",
                            CONVECT_GRID_TOKENS, s->n_tokens);
    }
    set_point(s, &snapshot->point, s->live, s->n_tokens);
    snapshot->has_output = s->has_output;
    if (s->has_output) {
        memcpy(snapshot->logits, s->logits, s->model->info.n_vocab * sizeof *s->logits);
        memcpy(snapshot->hidden, s->hidden, s->model->info.n_embd * sizeof *s->hidden);
    }
    return CONVECT_OK;
}

convect_status convect_session_snapshot_restore(convect_session *s, size_t i_snapshot, convect_error *err) {
    session_snapshot *snapshot = NULL;
    const convect_status status = find_snapshot(s, i_snapshot, &snapshot, err);
    if (status != CONVECT_OK) return status;
    if (snapshot->point.slot == STATE_NONE) {
        return convect_fail(err, CONVECT_USAGE,
                            "snapshot %zu holds nothing: it was never saved, or its positions were written again",
                            i_snapshot);
    }
    session_drop_pending(s);
    load_snapshot(s, snapshot);
    return CONVECT_OK;
}
