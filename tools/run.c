/* convect run: one prompt, one answer. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <json-c/json.h>

#include "engine/base/build_info.h"
#include "engine/base/json.h"
#include "engine/base/stats.h"
#include "engine/chat_prompt.h"
#include "engine/convect.h"
#include "engine/sampler.h"
#include "engine/tokenizer.h"
#include "tools/commands.h"
#include "tools/plan_options.h"
#include "tools/interrupt.h"
#include "tools/output_path.h"
#include "tools/progress.h"
#include "tools/run_report.h"
#include "tools/text_input.h"

typedef struct run_job {
    const command_context *ctx;
    bool is_quiet;
    text_input text; /* the prompt */
    convect_model *model;
    tokenizer *tokenizer;
    convect_session *session;
    sampler *sampler;
    bool *banned; /* [n_vocab] ids that are padding */
    token_list prompt;
    detokenizer detokenizer;
    progress bar;
    run_report report;
} run_job;

/* ---- prompt ---- */

static convect_status read_prompt(run_job *job, convect_error *err) {
    const command_context *ctx = job->ctx;
    const bool is_raw = option_flag(ctx->options, OPT_RAW);
    if (option_flag(ctx->options, OPT_SPECIAL) && !is_raw)
        return convect_fail(err, CONVECT_USAGE, "--special goes with --raw: a chat message cannot hold control tokens");
    if (option_is_set(ctx->options, OPT_SYSTEM) && is_raw)
        return convect_fail(err, CONVECT_USAGE, "--system belongs to the chat form; --raw has none");
    if (ctx->n_args < 2 && isatty(STDIN_FILENO))
        return convect_fail(err, CONVECT_USAGE, "no prompt: give one, or - to type it and end with Ctrl+D");
    const char *text = ctx->n_args < 2 ? "-" : ctx->args[1];
    convect_status status = strcmp(text, "-") == 0 ? text_input_read_all(&job->text, stdin, err)
                                                   : text_input_append(&job->text, text, strlen(text), err);
    if (status != CONVECT_OK) return status;
    const gguf_string whole = {job->text.data, job->text.n_bytes};
    if ((is_raw ? whole : chat_prompt_trim(whole)).n_bytes == 0)
        return convect_fail(err, CONVECT_USAGE, "the prompt is empty");
    return CONVECT_OK;
}

/* By the file's template, thinking off. */
static convect_status encode_chat(run_job *job, gguf_string system, gguf_string user, convect_error *err) {
    chat_prompt *p = NULL;
    convect_status status = chat_prompt_create(convect_model_gguf(job->model), job->tokenizer, &p, err);
    if (status == CONVECT_OK && chat_prompt_is_plain(p) && !job->is_quiet)
        convect_log_write(job->ctx->log, CONVECT_LOG_INFO,
                          "the file has no chat template: the prompt takes the form of plain ChatML");
    if (status == CONVECT_OK) status = chat_prompt_encode(p, system, user, false, &job->prompt, err);
    if (status != CONVECT_OK) convect_error_context(err, "%s: ", job->report.path);
    chat_prompt_destroy(p);
    return status;
}

static convect_status encode_prompt(run_job *job, convect_error *err) {
    const option_values *o = job->ctx->options;
    const gguf_string text = {job->text.data, job->text.n_bytes};
    if (option_flag(o, OPT_RAW))
        return tokenizer_encode(job->tokenizer, text.data, text.n_bytes, option_flag(o, OPT_SPECIAL), &job->prompt,
                                err);
    gguf_string system = {0};
    if (option_is_set(o, OPT_SYSTEM)) {
        const char *system_text = option_text(o, OPT_SYSTEM);
        system = (gguf_string){system_text, strlen(system_text)};
    }
    return encode_chat(job, system, text, err);
}

/* ---- set-up ---- */

static bool on_progress(void *user, uint64_t n_done, uint64_t n_total) {
    run_job *job = user;
    (void)n_total;
    progress_show(&job->bar, n_done);
    return !interrupt_seen();
}

static convect_status open_model(run_job *job, convect_error *err) {
    const option_values *o = job->ctx->options;
    const char *level = option_text(o, OPT_CPU_LEVEL);
    const convect_model_options options = {.log = job->ctx->log,
                                           .n_threads = (size_t)option_u64(o, OPT_THREADS),
                                           .kernel_level = strcmp(level, "auto") == 0 ? NULL : level,
                                           .progress = on_progress,
                                           .progress_user = job};
    const uint64_t start_ns = stats_now_ns();
    convect_status status = convect_model_open(job->report.path, &options, &job->model, err);
    if (status != CONVECT_OK) return status;
    convect_model_describe(job->model, &job->report.model);
    status = tokenizer_create(convect_model_gguf(job->model), &job->tokenizer, err);
    if (status != CONVECT_OK) {
        convect_error_context(err, "%s: ", job->report.path);
        return status;
    }
    job->report.load_ns = stats_now_ns() - start_ns;
    const size_t n_tokens = tokenizer_n_vocab(job->tokenizer), n_rows = job->report.model.n_vocab;
    if (n_tokens == n_rows) return CONVECT_OK;
    return convect_fail(err, CONVECT_DAMAGED, "%s: the tokenizer has %zu tokens, the model %zu", job->report.path,
                        n_tokens, n_rows);
}

static convect_status open_session(run_job *job, convect_error *err) {
    const option_values *o = job->ctx->options;
    run_report *r = &job->report;
    convect_session_options options = session_options_of(o, &r->model);
    const model_plan_limits limits = plan_limits_of(o);
    plan p;
    r->kv_type = options.kv_type;
    r->chunk_tokens = options.prefill_chunk_tokens;
    convect_status status = model_plan(job->model, &options, &limits, &p, err);
    if (status != CONVECT_OK) return status;
    if (p.n_ctx_tokens < options.n_ctx_tokens)
        convect_log_write(job->ctx->log, CONVECT_LOG_WARN, "context lowered from %zu to %zu tokens to fit into %.2f GB",
                          options.n_ctx_tokens, p.n_ctx_tokens, (double)p.ram_bytes / 1e9);
    options.n_ctx_tokens = p.n_ctx_tokens;
    status = convect_session_measure(job->model, &options, &r->session, err);
    if (status == CONVECT_OK) status = convect_session_create(job->model, &options, &job->session, err);
    return status;
}

static convect_status open_sampler(run_job *job, convect_error *err) {
    const option_values *o = job->ctx->options;
    const size_t n_vocab = job->report.model.n_vocab;
    sampler_options *s = &job->report.sampling;
    *s = (sampler_options){.temperature = option_flag(o, OPT_GREEDY) ? 0 : (float)option_f64(o, OPT_TEMP),
                           .top_k = (uint32_t)option_u64(o, OPT_TOP_K),
                           .top_p = (float)option_f64(o, OPT_TOP_P),
                           .min_p = (float)option_f64(o, OPT_MIN_P),
                           .seed = option_u64(o, OPT_SEED)};
    job->banned = calloc(n_vocab, sizeof *job->banned);
    if (!job->banned) return convect_fail(err, CONVECT_NO_FIT, "no memory for a vocabulary of %zu tokens", n_vocab);
    for (size_t i = 0; i < n_vocab; i++) job->banned[i] = tokenizer_is_unused(job->tokenizer, (int32_t)i);
    return sampler_create(s, n_vocab, tokenizer_n_real(job->tokenizer), job->banned, &job->sampler, err);
}

static void print_banner(const run_job *job) {
    const build_info *build = build_info_get();
    const run_report *r = &job->report;
    if (job->is_quiet) return;
    convect_log_write(job->ctx->log, CONVECT_LOG_INFO,
                      "%s (%s%s) runs on the CPU: %zu threads, %s; it has no GPU path yet", build->version,
                      build->commit, build->dirty_mark, r->model.n_threads, r->model.kernel_level);
    convect_log_write(job->ctx->log, CONVECT_LOG_INFO,
                      "%s, %zu layers, %.1f MiB; context %zu of %zu tokens, KV %s %.1f MiB", r->model.architecture,
                      r->model.n_layers, (double)r->model.file_bytes / 0x1p20, r->session.n_ctx_tokens,
                      r->model.n_ctx_max_tokens, r->kv_type == CONVECT_KV_INT8 ? "int8 (lossy)" : "f16",
                      (double)r->session.kv_bytes / 0x1p20);
}

/* ---- answer ---- */

/* Bytes of the answer to stdout, at once. */
static convect_status put(gguf_string bytes, convect_error *err) {
    if (bytes.n_bytes == 0) return CONVECT_OK;
    (void)fwrite(bytes.data, 1, bytes.n_bytes, stdout);
    return output_flush(err);
}

static convect_status prefill(run_job *job, convect_error *err) {
    const uint64_t start_ns = stats_now_ns();
    progress_begin(&job->bar, "reading the prompt:", "tokens", 1, job->prompt.n, job->is_quiet);
    const convect_status status =
        convect_session_sync(job->session, job->prompt.ids, job->prompt.n, on_progress, job, err);
    progress_end(&job->bar);
    job->report.n_prompt = convect_session_n_tokens(job->session);
    job->report.prompt_ns = stats_now_ns() - start_ns;
    return status;
}

/* Runs the decode step of a token that was picked. */
static convect_status step(run_job *job, int32_t id, convect_error *err) {
    const uint64_t start_ns = stats_now_ns();
    convect_status status = convect_session_step(job->session, &id, 1, err);
    if (status == CONVECT_OK) status = convect_session_accept(job->session, 1, err);
    job->report.decode_ns += stats_now_ns() - start_ns;
    job->report.n_steps += status == CONVECT_OK;
    return status;
}

/* Picks the next token, writes it, and decides whether it was the last one: then sets report.end and *is_last. */
static convect_status next_token(run_job *job, uint64_t n_max, bool *is_last, convect_error *err) {
    run_report *r = &job->report;
    int32_t id;
    convect_status status = sampler_pick(job->sampler, convect_session_logits(job->session, 0), r->n_answer, &id, err);
    if (status != CONVECT_OK) return status;
    r->n_answer++;
    *is_last = true;
    r->end = RUN_END_STOP;
    if (tokenizer_is_stop(job->tokenizer, id) && !option_flag(job->ctx->options, OPT_IGNORE_EOS)) return CONVECT_OK;
    if (!tokenizer_is_control(job->tokenizer, id)) /* they are no text */
        status = put(detokenizer_push(&job->detokenizer, tokenizer_piece(job->tokenizer, id)), err);
    if (status != CONVECT_OK) return status;
    r->end = RUN_END_LENGTH;
    if (r->n_answer == n_max) return CONVECT_OK;
    r->end = RUN_END_CONTEXT;
    if (convect_session_n_tokens(job->session) == r->session.n_ctx_tokens) return CONVECT_OK;
    *is_last = false;
    return step(job, id, err);
}

static convect_status answer(run_job *job, convect_error *err) {
    const option_values *o = job->ctx->options;
    const uint64_t n_max = option_is_set(o, OPT_N_PREDICT) ? option_u64(o, OPT_N_PREDICT) : UINT64_MAX;
    job->report.end = RUN_END_LENGTH;
    convect_status status = CONVECT_OK;
    for (bool is_last = n_max == 0; status == CONVECT_OK && !is_last;) {
        if (interrupt_seen()) return convect_fail(err, CONVECT_CANCELLED, "interrupted");
        status = next_token(job, n_max, &is_last, err);
    }
    return status;
}

/* Prefill and answer; whatever happens, the text so far is complete and its times are known. */
static convect_status generate(run_job *job, convect_error *err) {
    run_report *r = &job->report;
    convect_status status = prefill(job, err);
    if (status == CONVECT_OK) status = answer(job, err);
    if (status != CONVECT_OK) r->end = status == CONVECT_CANCELLED ? RUN_END_INTERRUPTED : RUN_END_FAILED;
    if (status == CONVECT_OK || status == CONVECT_CANCELLED) {
        const convect_status flushed = put(detokenizer_flush(&job->detokenizer), err);
        if (isatty(STDOUT_FILENO)) (void)putc('\n', stdout);
        if (status == CONVECT_OK) status = flushed;
    }
    if (status == CONVECT_OK && r->end == RUN_END_CONTEXT)
        convect_log_write(
            job->ctx->log, CONVECT_LOG_WARN,
            "the context of %zu tokens is full, the answer ends here; --ctx makes room (the model has %zu)",
            r->session.n_ctx_tokens, r->model.n_ctx_max_tokens);
    return status;
}

/* ---- report ---- */

static convect_status write_report(run_job *job, convect_error *err) {
    struct json_object *o = run_report_json(&job->report);
    if (!o) return convect_fail(err, CONVECT_NO_FIT, "no memory for --stats-json");
    const convect_status status = json_file_write(option_text(job->ctx->options, OPT_STATS_JSON), o, err);
    json_object_put(o);
    return status;
}

static convect_status report(run_job *job, convect_error *err) {
    const bool wants_json = option_is_set(job->ctx->options, OPT_STATS_JSON);
    struct rusage usage;
    if (job->is_quiet && !wants_json) return CONVECT_OK;
    (void)fflush(stdout);
    if (getrusage(RUSAGE_SELF, &usage) == 0) job->report.peak_rss_bytes = (uint64_t)usage.ru_maxrss << 10;
    convect_error ignored = {0}; /* a machine too full to measure: the report then says nothing about bandwidth */
    if (job->report.n_steps > 0 && convect_model_measure_read(job->model, &job->report.read, &ignored) != CONVECT_OK)
        convect_log_write(job->ctx->log, CONVECT_LOG_WARN, "%s", ignored.text);
    char line[512];
    run_report_line(&job->report, line, sizeof line);
    if (!job->is_quiet) convect_log_write(job->ctx->log, CONVECT_LOG_INFO, "%s", line);
    return wants_json ? write_report(job, err) : CONVECT_OK;
}

static convect_status run(run_job *job, convect_error *err) {
    convect_status status = read_prompt(job, err);
    if (status != CONVECT_OK) return status;
    interrupt_watch();
    status = open_model(job, err);
    if (status == CONVECT_OK)
        status =
            output_check_model(option_text(job->ctx->options, OPT_STATS_JSON), convect_model_gguf(job->model), err);
    if (status == CONVECT_OK) status = open_session(job, err);
    if (status == CONVECT_OK) status = open_sampler(job, err);
    if (status != CONVECT_OK) return status;
    print_banner(job);
    status = encode_prompt(job, err);
    if (status == CONVECT_OK) status = generate(job, err);
    if (status != CONVECT_OK && status != CONVECT_CANCELLED) return status;
    const convect_status reported = report(job, err);
    return status != CONVECT_OK ? status : reported;
}

convect_status cmd_run(const command_context *ctx, convect_error *err) {
    run_job job = {.ctx = ctx, .is_quiet = option_flag(ctx->options, OPT_QUIET)};
    job.report.path = ctx->args[0];
    job.report.is_raw = option_flag(ctx->options, OPT_RAW);
    const convect_status status = run(&job, err);
    sampler_destroy(job.sampler);
    convect_session_destroy(job.session);
    tokenizer_destroy(job.tokenizer);
    convect_model_close(job.model);
    token_list_free(&job.prompt);
    text_input_free(&job.text);
    free(job.banned);
    return status;
}
