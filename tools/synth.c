/* convect synth OUT: a model of real geometry with random weights, for tests and benches. */
#include <stdio.h>

#include "engine/base/stats.h"
#include "tools/commands.h"
#include "tools/output_path.h"
#include "tools/preset.h"
#include "tools/synth_write.h"

/* The list that the options ask for. */
static convect_status make_list(const option_values *o, model_list *list, convect_error *err) {
    const char *like = option_text(o, OPT_LIKE);
    if (like &&
        (option_is_explicit(o, OPT_PRESET) || option_is_explicit(o, OPT_SYNTH_MIX) || option_flag(o, OPT_MTP))) {
        return convect_fail(err, CONVECT_USAGE,
                            "--like takes names, shapes and types from %s: it excludes --preset, "
                            "--mix and --mtp",
                            like);
    }
    static const mix_id mixes[] = {MIX_Q4_K_M, MIX_UD_Q4, MIX_Q2_K}; /* the words of --mix */
    convect_status status =
        like ? model_list_read(like, list, err)
             : preset_list(preset_at(option_choice(o, OPT_PRESET)), mixes[option_choice(o, OPT_SYNTH_MIX)],
                           option_flag(o, OPT_MTP), list, err);
    if (!status && option_is_set(o, OPT_LAYERS)) status = model_list_cut_layers(list, option_u64(o, OPT_LAYERS), err);
    if (!status && option_is_set(o, OPT_VOCAB)) status = model_list_cut_vocab(list, option_u64(o, OPT_VOCAB), err);
    return status;
}

static bool has_head(const model_list *list) {
    for (size_t i = 0; i < list->n_tensors; i++) {
        if (mix_role_of(list->tensors[i].name) == MIX_ROLE_HEAD) return true;
    }
    return false;
}

static convect_status write_list(const command_context *ctx, const model_list *list, convect_error *err) {
    const option_values *o = ctx->options;
    synth_style style = {.seed = option_u64(o, OPT_SEED),
                         .skew = option_f64(o, OPT_SKEW),
                         .n_experts = model_list_number(list, "expert_count", 0),
                         .n_experts_used = model_list_number(list, "expert_used_count", 0),
                         .n_value_channels = model_list_number(list, "ssm.inner_size", 0),
                         .is_tied = !has_head(list)};
    cpu_pool *pool = NULL;
    synth_result result = {0};
    uint64_t start_ns = stats_now_ns();
    convect_status status = cpu_pool_create(option_u64(o, OPT_THREADS), &pool, err);
    bool is_quiet = option_flag(o, OPT_QUIET);
    if (!status) status = synth_write(list, &style, ctx->args[0], pool, is_quiet, &result, err);
    if (!status && !is_quiet) {
        double seconds = (double)(stats_now_ns() - start_ns) / 1e9;
        printf("%s: %zu tensors, %.3f GB in %.1f s with %zu threads\n", result.path, list->n_tensors,
               (double)result.n_bytes / 1e9, seconds, cpu_pool_size(pool));
    }
    cpu_pool_destroy(pool);
    return status;
}

convect_status cmd_synth(const command_context *ctx, convect_error *err) {
    model_list list = {0};
    convect_status status = output_check_file(ctx->args[0], option_text(ctx->options, OPT_LIKE), err);
    if (!status) status = make_list(ctx->options, &list, err);
    if (!status) status = write_list(ctx, &list, err);
    model_list_free(&list);
    return status;
}
