/* What the memory options of the command line mean for a session and its plan: shared by `run` and `plan`, so that both
 * say the same about a model. */
#ifndef CONVECT_TOOLS_PLAN_OPTIONS_H
#define CONVECT_TOOLS_PLAN_OPTIONS_H

#include "engine/model_plan.h"
#include "tools/commands.h"

/* --ctx (its default at most what the model knows), --kv, --chunk. */
static inline convect_session_options session_options_of(const option_values *o, const convect_model_info *model) {
    static const convect_kv_type kv_types[] = {CONVECT_KV_F16, CONVECT_KV_INT8}; /* the words of --kv */
    convect_session_options options = {.n_ctx_tokens = (size_t)option_u64(o, OPT_CTX),
                                       .kv_type = kv_types[option_choice(o, OPT_KV)],
                                       .prefill_chunk_tokens = (size_t)option_u64(o, OPT_CHUNK)};
    if (!option_is_explicit(o, OPT_CTX) && options.n_ctx_tokens > model->n_ctx_max_tokens)
        options.n_ctx_tokens = model->n_ctx_max_tokens;
    return options;
}

/* --ctx as given is a hard constraint, its default is not; --ram always is. */
static inline model_plan_limits plan_limits_of(const option_values *o) {
    return (model_plan_limits){.is_ctx_fixed = option_is_explicit(o, OPT_CTX),
                               .ram_bytes = option_size_bytes(o, OPT_RAM)};
}

#endif
