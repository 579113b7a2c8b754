#include "engine/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/base/check.h"
#include "engine/distribution.h"
#include "engine/gguf.h"

#define SAMPLE_BYTES 256 /* of each tensor, for the model's hash */

typedef struct evaluation {
    const evaluate_options *options;
    evaluate_result *out;
    convect_session *session;
    logits_writer *writer;
    logits_reader *reader;
    size_t n_vocab, n_top;
    int32_t *ids;   /* [n_top] of the record to save */
    float *logps;   /* [n_top] */
    uint8_t *seen;  /* [n_vocab] zeros */
    float *kls;     /* [n_predicted]; with a base */
    uint64_t n_kls; /* positions compared so far */
    double sum, sum_squares, base_sum, base_rest_sum;
    uint64_t n_done, n_tokens; /* of the windows */
    const int32_t *tokens;     /* of the window at hand */
    uint64_t i_first;          /* its first token in the text */
    convect_status status;     /* first failure of a row */
    convect_error *err;
} evaluation;

/* ---- one position ---- */

static convect_status save_row(evaluation *e, const distribution *d, int32_t target) {
    distribution_select(d, e->n_top, e->ids);
    for (size_t i = 0; i < e->n_top; i++) e->logps[i] = distribution_logp(d, e->ids[i]);
    const logits_row row = {target, distribution_logp(d, target), distribution_log_rest(d, e->ids, e->n_top, e->seen),
                            e->ids, e->logps};
    return logits_writer_put(e->writer, &row, e->err);
}

/* A term of the divergence between two measures, p log(p/q) - p + q: never negative, and the added parts cancel over a
 * distribution, so that rounding cannot make the sum negative. */
static double kl_term(float log_p, float log_q) {
    const double p = exp((double)log_p), q = exp((double)log_q);
    return p > 0 ? p * ((double)log_p - (double)log_q) - p + q : q;
}

static double kl_of(evaluation *e, const logits_row *base, const distribution *d) {
    const size_t n_top = logits_reader_header(e->reader)->n_top;
    double sum = 0;
    for (size_t i = 0; i < n_top; i++) sum += kl_term(base->logps[i], distribution_logp(d, base->ids[i]));
    const float rest = distribution_log_rest(d, base->ids, n_top, e->seen);
    if (n_top < e->n_vocab) sum += kl_term(base->tail_logp, rest);
    return sum > 0 ? sum : 0; /* each term is exact to some 1e-16 */
}

static void note_change(evaluation *e, const logits_row *base, const distribution *d, uint64_t position) {
    evaluate_kl *kl = &e->out->kl;
    if (kl->n_changes++ >= e->options->n_changes_max) return;
    const size_t n_top = logits_reader_header(e->reader)->n_top;
    size_t i = 0;
    while (i < n_top && base->ids[i] != d->top) i++;
    const float other = base->logps[i < n_top ? i : n_top - 1];
    kl->changes[kl->n_listed++] =
        (evaluate_change){.position = position,
                          .base_id = base->ids[0],
                          .id = d->top,
                          .base_gap = base->logps[0] - other,
                          .base_gap_is_least = i == n_top,
                          .gap = distribution_logp(d, d->top) - distribution_logp(d, base->ids[0])};
}

static convect_status compare_row(evaluation *e, const distribution *d, int32_t target, uint64_t position) {
    evaluate_kl *kl = &e->out->kl;
    logits_row base;
    const convect_status status = logits_reader_next(e->reader, &base, e->err);
    if (status != CONVECT_OK) return status;
    if (base.target != target)
        return convect_fail(e->err, CONVECT_DAMAGED, "%s holds token %d for position %llu, the text %d",
                            e->options->base_path, base.target, (unsigned long long)position, target);
    const double exact = kl_of(e, &base, d);
    const float value = (float)exact; /* as sorted later: median <= p99 <= max */
    e->kls[e->n_kls++] = value;
    kl->mean += exact;
    if ((double)value > kl->max || e->n_kls == 1) {
        kl->max = (double)value;
        kl->max_position = position;
    }
    e->base_sum -= (double)base.target_logp;
    e->base_rest_sum += exp((double)base.tail_logp);
    if (base.ids[0] == d->top)
        kl->n_same_top++;
    else
        note_change(e, &base, d, position);
    return CONVECT_OK;
}

static convect_status row(evaluation *e, size_t i, const float *logits) {
    distribution d;
    const uint64_t position = e->i_first + i + 1;
    const int32_t target = e->tokens[i + 1];
    if (!distribution_of(logits, e->n_vocab, &d))
        return convect_fail(e->err, CONVECT_DAMAGED,
                            "the logits after token %llu of the text are not finite: the weights or the arithmetic are "
                            "damaged (convect check --full looks at the weights)",
                            (unsigned long long)position);
    const double nll = -((double)logits[target] - d.log_z);
    e->sum += nll;
    e->sum_squares += nll * nll;
    e->out->n_predicted++;
    convect_status status = e->writer ? save_row(e, &d, target) : CONVECT_OK;
    if (!status && e->reader) status = compare_row(e, &d, target, position);
    return status;
}

static bool on_row(void *user, size_t position, const float *logits, const float *hidden) {
    (void)hidden;
    evaluation *e = user;
    const size_t n = e->out->n_window_tokens;
    if (position >= n / 2 && position + 1 < n) e->status = row(e, position, logits);
    e->n_done++;
    const bool goes_on =
        !e->options->progress || e->options->progress(e->options->progress_user, e->n_done, e->n_tokens);
    return e->status == CONVECT_OK && goes_on;
}

/* ---- set-up ---- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t n_bytes) {
    return XXH3_64bits_withSeed(data, n_bytes, hash);
}

uint64_t evaluate_model_hash(const convect_model *model) {
    const gguf *g = convect_model_gguf(model);
    uint64_t hash = 0;
    for (size_t i = 0; i < gguf_n_kv(g); i++) {
        const gguf_kv *kv = gguf_kv_at(g, i);
        hash = hash_bytes(hash_bytes(hash, kv->key.data, kv->key.n_bytes), kv->data, kv->n_bytes);
    }
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        hash = hash_bytes(hash, t->name, strlen(t->name));
        hash = hash_bytes(hash, t->ne, sizeof t->ne);
        hash = hash_bytes(hash, &t->ggml_type, sizeof t->ggml_type);
        hash = hash_bytes(hash, t->data, t->n_bytes < SAMPLE_BYTES ? t->n_bytes : SAMPLE_BYTES);
    }
    return hash;
}

static logits_header header_of(const evaluation *e, const convect_model *model, const int32_t *tokens,
                               uint64_t n_predicted) {
    logits_header h = {.n_vocab = (uint32_t)e->n_vocab,
                       .n_top = (uint32_t)e->n_top,
                       .n_window_tokens = (uint32_t)e->out->n_window_tokens,
                       .kv_type = (uint32_t)e->options->session.kv_type,
                       .n_positions = n_predicted,
                       .tokens_hash = hash_bytes(0, tokens, e->n_tokens * sizeof *tokens),
                       .model_hash = evaluate_model_hash(model)};
    gguf_string name;
    if (gguf_read_string(gguf_kv_find(convect_model_gguf(model), "general.name"), &name)) {
        for (size_t i = 0; i < name.n_bytes && i < sizeof h.model_name - 1 && name.data[i]; i++)
            h.model_name[i] = (unsigned char)name.data[i] < 0x20 || name.data[i] == 0x7f ? '?' : name.data[i];
    }
    return h;
}

/* Was the base file made from this text, in these windows? */
static convect_status check_base(const evaluation *e, const logits_header *want, convect_error *err) {
    const logits_header *have = logits_reader_header(e->reader);
    const char *path = e->options->base_path;
    if (have->n_vocab != want->n_vocab)
        return convect_fail(err, CONVECT_USAGE, "%s is of a model with %u tokens in its vocabulary, this one has %u",
                            path, have->n_vocab, want->n_vocab);
    if (have->n_window_tokens != want->n_window_tokens)
        return convect_fail(err, CONVECT_USAGE, "%s was made with windows of %u tokens, not %u: use --ctx %u", path,
                            have->n_window_tokens, want->n_window_tokens, have->n_window_tokens);
    if (have->tokens_hash != want->tokens_hash || have->n_positions != want->n_positions)
        return convect_fail(err, CONVECT_USAGE, "%s was made from another text, or by another tokenizer", path);
    return CONVECT_OK;
}

static convect_status open_base(evaluation *e, const logits_header *want, convect_error *err) {
    convect_status status = logits_reader_open(e->options->base_path, &e->reader, err);
    if (!status) status = check_base(e, want, err);
    if (status) return status;
    evaluate_kl *kl = &e->out->kl;
    kl->base = *logits_reader_header(e->reader);
    kl->is_same_model = kl->base.model_hash == want->model_hash;
    kl->n_top = kl->base.n_top;
    kl->is_full = kl->base.n_top == kl->base.n_vocab;
    e->out->has_kl = true;
    e->kls = calloc(want->n_positions, sizeof *e->kls);
    kl->changes = calloc(e->options->n_changes_max + 1, sizeof *kl->changes);
    if (!e->kls || !kl->changes)
        return convect_fail(err, CONVECT_NO_FIT, "no memory for the figures of %llu positions",
                            (unsigned long long)want->n_positions);
    return CONVECT_OK;
}

static convect_status allocate(evaluation *e, convect_error *err) {
    e->seen = calloc(e->n_vocab, 1);
    e->ids = calloc(e->n_top, sizeof *e->ids);
    e->logps = calloc(e->n_top, sizeof *e->logps);
    if (!e->seen || !e->ids || !e->logps)
        return convect_fail(err, CONVECT_NO_FIT, "no memory for a vocabulary of %zu tokens", e->n_vocab);
    return CONVECT_OK;
}

static convect_status cut(evaluation *e, size_t n_tokens, convect_error *err) {
    const size_t n_window = e->options->session.n_ctx_tokens;
    CONVECT_CHECK(n_window >= EVALUATE_TOKENS_MIN);
    if (n_tokens < EVALUATE_TOKENS_MIN)
        return convect_fail(err, CONVECT_USAGE, "the text has %zu tokens; at least %d are needed", n_tokens,
                            EVALUATE_TOKENS_MIN);
    evaluate_result *r = e->out;
    r->n_window_tokens = n_tokens < n_window ? n_tokens : n_window;
    r->n_windows = n_tokens / r->n_window_tokens;
    e->n_tokens = (uint64_t)r->n_windows * r->n_window_tokens;
    r->n_left_out = n_tokens - e->n_tokens;
    return CONVECT_OK;
}

static convect_status start(evaluation *e, convect_model *model, const int32_t *tokens, size_t n_tokens,
                            convect_error *err) {
    const evaluate_options *o = e->options;
    convect_model_info info;
    convect_model_describe(model, &info);
    e->n_vocab = info.n_vocab;
    e->n_top = o->n_top == 0 || o->n_top > info.n_vocab ? info.n_vocab : o->n_top;
    convect_status status = cut(e, n_tokens, err);
    if (!status) status = allocate(e, err);
    if (status) return status;
    const size_t n_window = e->out->n_window_tokens;
    const logits_header header =
        header_of(e, model, tokens, (uint64_t)e->out->n_windows * (n_window - 1 - n_window / 2));
    if (o->base_path) status = open_base(e, &header, err);
    if (!status) status = convect_session_create(model, &o->session, &e->session, err);
    if (!status && o->save_path) status = logits_writer_open(o->save_path, &header, &e->writer, err);
    return status;
}

/* ---- the whole ---- */

static convect_status run_windows(evaluation *e, const int32_t *tokens, convect_error *err) {
    convect_status status = CONVECT_OK;
    const size_t n = e->out->n_window_tokens;
    for (size_t i = 0; i < e->out->n_windows && !status; i++) {
        e->tokens = tokens + i * n;
        e->i_first = (uint64_t)i * n;
        status = convect_session_sync_all(e->session, e->tokens, n, on_row, e, err);
        if (e->status) status = e->status; /* why the rows stopped; its message is the older one */
    }
    return status;
}

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void summarise_kl(evaluation *e) {
    evaluate_kl *kl = &e->out->kl;
    const uint64_t n = e->n_kls;
    kl->mean /= (double)n;
    kl->base_rest_mean = e->base_rest_sum / (double)n;
    kl->base_perplexity = exp(e->base_sum / (double)n);
    qsort(e->kls, n, sizeof *e->kls, by_value);
    kl->median = ((double)e->kls[(n - 1) / 2] + (double)e->kls[n / 2]) / 2;
    kl->p99 = (double)e->kls[(n * 99 + 99) / 100 - 1]; /* the smallest that 99 % do not exceed */
}

static void summarise(evaluation *e) {
    evaluate_result *r = e->out;
    const double n = (double)r->n_predicted;
    r->nll_mean = e->sum / n;
    const double variance = n > 1 ? (e->sum_squares - n * r->nll_mean * r->nll_mean) / (n - 1) : 0;
    r->nll_error = variance > 0 ? sqrt(variance / n) : 0;
    r->perplexity = exp(r->nll_mean);
    if (e->reader) summarise_kl(e);
}

convect_status evaluate_text(convect_model *model, const int32_t *tokens, size_t n_tokens,
                             const evaluate_options *options, evaluate_result *out, convect_error *err) {
    convect_error own = {0}; /* rows that fail need one to write to */
    evaluation e = {.options = options, .out = out, .err = err ? err : &own};
    *out = (evaluate_result){0};
    convect_status status = start(&e, model, tokens, n_tokens, e.err);
    if (!status) status = run_windows(&e, tokens, e.err);
    if (!status && e.reader) status = logits_reader_finish(e.reader, e.err);
    if (!status) summarise(&e);
    if (!status && e.writer) {
        status = logits_writer_commit(e.writer, e.err);
        e.writer = NULL;
    }
    logits_writer_abandon(e.writer);
    logits_reader_close(e.reader);
    convect_session_destroy(e.session);
    free(e.ids);
    free(e.logps);
    free(e.seen);
    free(e.kls);
    if (status) evaluate_free(out);
    return status;
}

void evaluate_free(evaluate_result *result) {
    free(result->kl.changes);
    result->kl.changes = NULL;
}
