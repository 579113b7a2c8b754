#include "tools/quantize_verify.h"

#include <stdio.h>
#include <unistd.h>

#include "tools/evaluate_job.h"
#include "tools/interrupt.h"

#define PATH_BYTES 4096

static evaluate_job job_of(const command_context *ctx, const text_input *text, size_t i_arg) {
    const option_values *o = ctx->options;
    return (evaluate_job){.path = ctx->args[i_arg],
                          .text = text,
                          .reads_special = option_flag(o, OPT_TEXT_SPECIAL),
                          .model_options = {.log = ctx->log, .n_threads = option_u64(o, OPT_THREADS)},
                          .options = {.session = {.n_ctx_tokens = option_u64(o, OPT_WINDOW)},
                                      .n_top = option_u64(o, OPT_TOP),
                                      .n_changes_max = option_u64(o, OPT_CHANGES)},
                          .is_quiet = option_flag(o, OPT_QUIET)};
}

static convect_status run_source(const command_context *ctx, const text_input *text, const char *path,
                                 convect_error *err) {
    evaluate_job job = job_of(ctx, text, 0);
    job.what = "evaluating the source:";
    job.options.save_path = path;
    const convect_status status = evaluate_job_run(&job, err);
    evaluate_job_close(&job);
    return status;
}

static convect_status run_result(const command_context *ctx, const text_input *text, const char *path,
                                 convect_error *err) {
    evaluate_job job = job_of(ctx, text, 1);
    job.what = "evaluating the result:";
    job.options.base_path = path;
    const convect_status status = evaluate_job_run(&job, err);
    if (!status) evaluate_job_print(&job);
    evaluate_job_close(&job);
    return status;
}

convect_status quantize_verify(const command_context *ctx, const text_input *text, convect_error *err) {
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s.%ld.logits", ctx->args[1], (long)getpid()) >= (int)sizeof path)
        return convect_fail(err, CONVECT_IO, "the path of the result is too long for a file beside it");
    interrupt_watch();
    convect_status status = run_source(ctx, text, path, err);
    if (!status) status = run_result(ctx, text, path, err);
    (void)unlink(path);
    if (status) convect_error_context(err, "%s is written, but comparing it failed: ", ctx->args[1]);
    return status;
}
