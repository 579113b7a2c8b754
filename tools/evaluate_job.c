#include "tools/evaluate_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/stats.h"
#include "tools/interrupt.h"
#include "tools/output_path.h"

convect_status evaluate_read_text(const char *path, text_input *out, convect_error *err) {
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!in) return convect_fail(err, CONVECT_NOT_FOUND, "cannot open %s: %s", path, strerror(errno));
    const convect_status status = text_input_read_all(out, in, err);
    if (in != stdin) (void)fclose(in);
    if (status != CONVECT_OK) convect_error_context(err, "%s: ", path);
    return status;
}

static bool on_progress(void *user, uint64_t n_done, uint64_t n_total) {
    evaluate_job *job = user;
    (void)n_total;
    progress_show(&job->bar, n_done);
    return !interrupt_seen();
}

static convect_status open_model(evaluate_job *job, convect_error *err) {
    convect_status status = convect_model_open(job->path, &job->model_options, &job->model, err);
    if (status != CONVECT_OK) return status;
    convect_model_describe(job->model, &job->info);
    status = tokenizer_create(convect_model_gguf(job->model), &job->tokenizer, err);
    if (status != CONVECT_OK) {
        convect_error_context(err, "%s: ", job->path);
        return status;
    }
    const size_t n_tokens = tokenizer_n_vocab(job->tokenizer);
    if (n_tokens == job->info.n_vocab) return CONVECT_OK;
    return convect_fail(err, CONVECT_DAMAGED, "%s: the tokenizer has %zu tokens, the model %zu", job->path, n_tokens,
                        job->info.n_vocab);
}

convect_status evaluate_job_run(evaluate_job *job, convect_error *err) {
    convect_status status = open_model(job, err);
    if (status == CONVECT_OK) status = output_check_model(job->options.save_path, convect_model_gguf(job->model), err);
    if (status == CONVECT_OK)
        status = tokenizer_encode(job->tokenizer, job->text->data, job->text->n_bytes, job->reads_special, &job->tokens,
                                  err);
    if (status != CONVECT_OK) return status;
    evaluate_options options = job->options;
    options.progress = on_progress;
    options.progress_user = job;
    const uint64_t start_ns = stats_now_ns();
    progress_begin(&job->bar, job->what, "tokens", 1, job->tokens.n, job->is_quiet);
    status = evaluate_text(job->model, job->tokens.ids, job->tokens.n, &options, &job->result, err);
    progress_end(&job->bar);
    job->evaluate_ns = stats_now_ns() - start_ns;
    return status;
}

void evaluate_job_close(evaluate_job *job) {
    evaluate_free(&job->result);
    token_list_free(&job->tokens);
    tokenizer_destroy(job->tokenizer);
    convect_model_close(job->model);
    job->tokenizer = NULL;
    job->model = NULL;
}
