/* convect ppl MODEL -f TEXT: how well the model predicts a text, alone or beside another one. */
#include <string.h>

#include "tools/commands.h"
#include "tools/evaluate_job.h"
#include "tools/interrupt.h"
#include "tools/output_path.h"

static convect_kv_type kv_of(const option_values *o) {
    static const convect_kv_type types[] = {CONVECT_KV_F16, CONVECT_KV_INT8}; /* in the order of --kv */
    return types[option_choice(o, OPT_KV)];
}

static evaluate_job job_of(const command_context *ctx) {
    const option_values *o = ctx->options;
    const char *level = option_text(o, OPT_CPU_LEVEL);
    return (evaluate_job){.path = ctx->args[0],
                          .reads_special = option_flag(o, OPT_TEXT_SPECIAL),
                          .what = "perplexity:",
                          .model_options = {.log = ctx->log,
                                            .n_threads = option_u64(o, OPT_THREADS),
                                            .kernel_level = strcmp(level, "auto") == 0 ? NULL : level},
                          .options = {.session = {.n_ctx_tokens = option_u64(o, OPT_WINDOW),
                                                  .kv_type = kv_of(o),
                                                  .prefill_chunk_tokens = option_u64(o, OPT_CHUNK)},
                                      .save_path = option_text(o, OPT_SAVE_LOGITS),
                                      .n_top = option_u64(o, OPT_TOP),
                                      .base_path = option_text(o, OPT_KL),
                                      .n_changes_max = option_u64(o, OPT_CHANGES)},
                          .is_quiet = option_flag(o, OPT_QUIET)};
}

convect_status cmd_ppl(const command_context *ctx, convect_error *err) {
    if (!option_is_set(ctx->options, OPT_FILE))
        return convect_fail(err, CONVECT_USAGE, "no text: name a file with -f (or - for standard input)");
    text_input text = {0};
    evaluate_job job = job_of(ctx);
    job.text = &text;
    interrupt_watch();
    convect_status status = output_check_file(job.options.save_path, option_text(ctx->options, OPT_FILE), err);
    if (!status) status = output_check_file(job.options.save_path, job.options.base_path, err);
    if (!status) status = evaluate_read_text(option_text(ctx->options, OPT_FILE), &text, err);
    if (!status) status = evaluate_job_run(&job, err);
    if (!status && option_flag(ctx->options, OPT_JSON))
        evaluate_job_print_json(&job);
    else if (!status)
        evaluate_job_print(&job);
    evaluate_job_close(&job);
    text_input_free(&text);
    return status;
}
