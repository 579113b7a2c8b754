/* Prints what an evaluate_job found. */
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>

#include "engine/base/build_info.h"
#include "engine/text_escape.h"
#include "tools/evaluate_job.h"

#define PIECE_BYTES 96 /* of a token's text, escaped */

static const char *kv_name(uint32_t type) {
    return type == CONVECT_KV_F16 ? "f16" : type == CONVECT_KV_F32 ? "f32" : "int8 (lossy)";
}

static const char *piece_text(const evaluate_job *job, int32_t id, char out[PIECE_BYTES]) {
    const gguf_string piece = tokenizer_piece(job->tokenizer, id);
    (void)text_escape(out, PIECE_BYTES, piece.data, piece.n_bytes);
    return out;
}

/* What the divergence means when the base file leaves tokens out. */
static void kl_meaning(const evaluate_kl *kl, char *out, size_t n_bytes) {
    if (kl->is_full) {
        (void)snprintf(out, n_bytes, "over the whole vocabulary");
    } else {
        (void)snprintf(out, n_bytes,
                       "over the %zu most likely tokens of the base and one outcome for all others, whose mean mass is "
                       "%.2e: a lower bound of the divergence over the whole vocabulary",
                       kl->n_top, kl->base_rest_mean);
    }
}

static void print_change(const evaluate_job *job, const evaluate_change *c) {
    char base[PIECE_BYTES], own[PIECE_BYTES];
    printf("  token %-8" PRIu64 " base \"%s\" (%d) by %s%.4f, now \"%s\" (%d) by %.4f\n", c->position,
           piece_text(job, c->base_id, base), c->base_id, c->base_gap_is_least ? "more than " : "", (double)c->base_gap,
           piece_text(job, c->id, own), c->id, (double)c->gap);
}

static void print_kl(const evaluate_job *job) {
    const evaluate_kl *kl = &job->result.kl;
    char meaning[256];
    kl_meaning(kl, meaning, sizeof meaning);
    printf("against \"%s\"%s, KV %s: perplexity %.4f there\n", kl->base.model_name,
           kl->is_same_model ? " (the same file)" : "", kv_name(kl->base.kv_type), kl->base_perplexity);
    printf("KL(base || this), nats: mean %.6g, median %.6g, p99 %.6g, max %.6g (token %" PRIu64 ")\n", kl->mean,
           kl->median, kl->p99, kl->max, kl->max_position);
    printf("  %s\n", meaning);
    printf("same most likely token: %.3f %% (%" PRIu64 " of %" PRIu64 ")\n",
           100 * (double)kl->n_same_top / (double)job->result.n_predicted, kl->n_same_top, job->result.n_predicted);
    if (kl->n_changes == 0) return;
    printf("changed: %" PRIu64 " (%zu listed; differences of log-probabilities)\n", kl->n_changes, kl->n_listed);
    for (size_t i = 0; i < kl->n_listed; i++) print_change(job, &kl->changes[i]);
}

void evaluate_job_print(const evaluate_job *job) {
    const evaluate_result *r = &job->result;
    printf("perplexity %.4f (negative log-likelihood %.5f +- %.5f), KV %s\n", r->perplexity, r->nll_mean, r->nll_error,
           kv_name(job->options.session.kv_type));
    printf("%" PRIu64 " tokens predicted: the second halves of %zu windows of %zu tokens; %" PRIu64
           " left out at the end\n",
           r->n_predicted, r->n_windows, r->n_window_tokens, r->n_left_out);
    if (r->has_kl) print_kl(job);
}

/* ---- JSON ---- */

static void add_number(struct json_object *o, const char *key, double x) {
    json_object_object_add(o, key, isfinite(x) ? json_object_new_double(x) : NULL);
}

static void add_count(struct json_object *o, const char *key, uint64_t n) {
    json_object_object_add(o, key, json_object_new_uint64(n));
}

static void add_text(struct json_object *o, const char *key, const char *text) {
    json_object_object_add(o, key, json_object_new_string(text));
}

static void add_bool(struct json_object *o, const char *key, bool is_true) {
    json_object_object_add(o, key, json_object_new_boolean(is_true));
}

static struct json_object *change_json(const evaluate_job *job, const evaluate_change *c) {
    char text[PIECE_BYTES];
    struct json_object *o = json_object_new_object();
    add_count(o, "position", c->position);
    add_count(o, "base_id", (uint64_t)c->base_id);
    add_text(o, "base_text", piece_text(job, c->base_id, text));
    add_count(o, "id", (uint64_t)c->id);
    add_text(o, "text", piece_text(job, c->id, text));
    add_number(o, "base_gap", (double)c->base_gap);
    add_bool(o, "base_gap_is_least", c->base_gap_is_least);
    add_number(o, "gap", (double)c->gap);
    return o;
}

static struct json_object *kl_json(const evaluate_job *job) {
    const evaluate_kl *kl = &job->result.kl;
    char meaning[256];
    kl_meaning(kl, meaning, sizeof meaning);
    struct json_object *o = json_object_new_object(), *changes = json_object_new_array();
    add_text(o, "base_model", kl->base.model_name);
    add_bool(o, "base_is_same_model", kl->is_same_model);
    add_text(o, "base_kv", kv_name(kl->base.kv_type));
    add_number(o, "base_perplexity", kl->base_perplexity);
    add_number(o, "mean", kl->mean);
    add_number(o, "median", kl->median);
    add_number(o, "p99", kl->p99);
    add_number(o, "max", kl->max);
    add_count(o, "max_position", kl->max_position);
    add_text(o, "meaning", meaning);
    add_bool(o, "is_lower_bound", !kl->is_full);
    add_count(o, "n_top", kl->n_top);
    add_number(o, "base_rest_mean", kl->base_rest_mean);
    add_count(o, "n_same_top", kl->n_same_top);
    add_number(o, "same_top_share", (double)kl->n_same_top / (double)job->result.n_predicted);
    add_count(o, "n_changes", kl->n_changes);
    for (size_t i = 0; i < kl->n_listed; i++) json_object_array_add(changes, change_json(job, &kl->changes[i]));
    json_object_object_add(o, "changes", changes);
    return o;
}

void evaluate_job_print_json(const evaluate_job *job) {
    const evaluate_result *r = &job->result;
    const build_info *build = build_info_get();
    struct json_object *o = json_object_new_object();
    add_text(o, "version", build->version);
    add_text(o, "commit", build->commit);
    add_bool(o, "is_dirty", build->dirty_mark[0] != 0);
    add_text(o, "model", job->path);
    add_text(o, "kv", kv_name(job->options.session.kv_type));
    add_bool(o, "kv_is_lossy", job->options.session.kv_type == CONVECT_KV_INT8);
    add_text(o, "kernel_level", job->info.kernel_level);
    add_count(o, "n_threads", job->info.n_threads);
    add_number(o, "perplexity", r->perplexity);
    add_number(o, "nll_mean", r->nll_mean);
    add_number(o, "nll_error", r->nll_error);
    add_count(o, "n_predicted", r->n_predicted);
    add_count(o, "n_windows", r->n_windows);
    add_count(o, "n_window_tokens", r->n_window_tokens);
    add_count(o, "n_left_out", r->n_left_out);
    add_number(o, "evaluate_us", (double)job->evaluate_ns / 1e3);
    if (r->has_kl) json_object_object_add(o, "kl", kl_json(job));
    printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(o);
}
