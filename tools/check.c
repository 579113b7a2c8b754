/* convect check FILE: is this file a model that Convect can run, and are its weights sound? The stages, each printed as
 * it passes: sums (if asked for), structure, family, tokenizer, weights. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

#include "cpu/pool.h"
#include "engine/tokenizer.h"
#include "engine/weight_check.h"
#include "tools/commands.h"
#include "tools/file_digest.h"
#include "tools/interrupt.h"
#include "tools/progress.h"

typedef struct check_job {
    const command_context *ctx;
    const char *path;
    bool wants_json, is_quiet;
    gguf *file;
    json_object *found; /* what --json prints */
    progress bar;
} check_job;

static bool on_progress(void *user, uint64_t n_done, uint64_t n_total) {
    check_job *job = user;
    (void)n_total;
    progress_show(&job->bar, n_done);
    return !interrupt_seen();
}

static void add_count(json_object *o, const char *key, uint64_t n) {
    json_object_object_add(o, key, json_object_new_uint64(n));
}

/* ---- stages ---- */

static convect_status print_sum(check_job *job, const char *path, json_object *sums, convect_error *err) {
    char sum[FILE_DIGEST_TEXT_BYTES];
    progress_begin(&job->bar, "SHA-256:", "MB", 1e6, job->file ? gguf_file_bytes(job->file) : 0, job->is_quiet);
    const convect_status status = file_digest(path, on_progress, job, sum, err);
    progress_end(&job->bar);
    if (status != CONVECT_OK) return status;
    json_object_object_add(sums, path, json_object_new_string(sum));
    if (!job->wants_json) printf("%s  %s\n", sum, path);
    return CONVECT_OK;
}

/* Of every shard; of the file as it is where it is no GGUF. */
static convect_status print_sums(check_job *job, convect_error *err) {
    json_object *sums = json_object_new_object();
    json_object_object_add(job->found, "sha256", sums);
    if (!job->file) return print_sum(job, job->path, sums, err);
    convect_status status = CONVECT_OK;
    for (size_t i = 0; i < gguf_n_shards(job->file) && !status; i++)
        status = print_sum(job, gguf_shard_path(job->file, i), sums, err);
    return status;
}

static convect_status check_structure(check_job *job, convect_error *err) {
    const bool wants_sums = option_flag(job->ctx->options, OPT_SHA256);
    const convect_status opened = gguf_open(job->path, &job->file, err);
    const bool has_file = opened == CONVECT_OK || opened == CONVECT_DAMAGED || opened == CONVECT_NOT_SUPPORTED;
    convect_error ignored = {0}; /* the reason why it does not open is worth more than why it has no sum */
    const convect_status summed = wants_sums && has_file ? print_sums(job, opened ? &ignored : err) : CONVECT_OK;
    if (opened != CONVECT_OK || summed != CONVECT_OK) return opened ? opened : summed;
    add_count(job->found, "files", gguf_n_shards(job->file));
    add_count(job->found, "file_bytes", gguf_file_bytes(job->file));
    add_count(job->found, "tensors", gguf_n_tensors(job->file));
    if (!job->wants_json)
        printf("structure  ok  %zu file%s, %.1f MB, %zu metadata entries, %zu tensors, every range inside its file\n",
               gguf_n_shards(job->file), gguf_n_shards(job->file) == 1 ? "" : "s",
               (double)gguf_file_bytes(job->file) / 1e6, gguf_n_kv(job->file), gguf_n_tensors(job->file));
    return CONVECT_OK;
}

static convect_status check_tokenizer(check_job *job, const convect_model_info *info, convect_error *err) {
    tokenizer *t = NULL;
    const convect_status status = tokenizer_create(job->file, &t, err);
    if (status != CONVECT_OK) {
        convect_error_context(err, "%s: ", job->path);
        return status;
    }
    const size_t n_tokens = tokenizer_n_vocab(t);
    tokenizer_destroy(t);
    if (n_tokens != info->n_vocab)
        return convect_fail(err, CONVECT_DAMAGED, "%s: the tokenizer has %zu tokens, the model %zu", job->path,
                            n_tokens, info->n_vocab);
    if (!job->wants_json) printf("tokenizer  ok  %zu tokens\n", n_tokens);
    return CONVECT_OK;
}

static convect_status check_family(check_job *job, convect_error *err) {
    convect_model *model = NULL;
    convect_model_info info;
    const convect_model_options options = {.log = job->ctx->log, .n_threads = 1};
    convect_status status = convect_model_open(job->path, &options, &model, err);
    if (status != CONVECT_OK) return status;
    convect_model_describe(model, &info);
    convect_model_close(model);
    json_object_object_add(job->found, "architecture", json_object_new_string(info.architecture));
    add_count(job->found, "layers", info.n_layers);
    if (!job->wants_json)
        printf("family     ok  %s, %zu layers%s, context %zu tokens: every tensor is there and has its shape\n",
               info.architecture, info.n_layers, info.n_mtp ? " and MTP" : "", info.n_ctx_max_tokens);
    return check_tokenizer(job, &info, err);
}

static convect_status check_weights(check_job *job, convect_error *err) {
    cpu_pool *pool = NULL;
    uint64_t n_bytes = 0;
    const weight_check_options options = {
        .is_full = option_flag(job->ctx->options, OPT_FULL), .progress = on_progress, .user = job};
    convect_status status = cpu_pool_create(option_u64(job->ctx->options, OPT_THREADS), &pool, err);
    if (status != CONVECT_OK) return status;
    progress_begin(&job->bar, "checking weights:", "MB", 1e6, gguf_file_bytes(job->file), job->is_quiet);
    status = weight_check(job->file, pool, &options, &n_bytes, err);
    progress_end(&job->bar);
    cpu_pool_destroy(pool);
    add_count(job->found, "weight_bytes_read", n_bytes);
    json_object_object_add(job->found, "is_full", json_object_new_boolean(options.is_full));
    if (!status && !job->wants_json)
        printf("weights    ok  no scale that is not finite in %s%.1f MB%s\n", options.is_full ? "all " : "samples of ",
               (double)n_bytes / 1e6, options.is_full ? "" : "; --full reads everything");
    return status;
}

convect_status cmd_check(const command_context *ctx, convect_error *err) {
    check_job job = {.ctx = ctx,
                     .path = ctx->args[0],
                     .wants_json = option_flag(ctx->options, OPT_JSON),
                     .is_quiet = option_flag(ctx->options, OPT_QUIET),
                     .found = json_object_new_object()};
    interrupt_watch();
    convect_status status = check_structure(&job, err);
    if (!status) status = check_family(&job, err);
    if (!status) status = check_weights(&job, err);
    if (job.wants_json) {
        json_object_object_add(job.found, "ok", json_object_new_boolean(status == CONVECT_OK));
        json_object_object_add(job.found, "status", json_object_new_string(convect_status_name(status)));
        json_object_object_add(job.found, "error", status && err ? json_object_new_string(err->text) : NULL);
        printf("%s\n",
               json_object_to_json_string_ext(job.found, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    }
    json_object_put(job.found);
    gguf_close(job.file);
    return status;
}
