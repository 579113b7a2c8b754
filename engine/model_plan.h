/* The memory plan of a model and one session on it: sizes from the model, the rule from offload/plan.h. Used by
 * `convect plan` and by every program before it creates a session. */
#ifndef CONVECT_ENGINE_MODEL_PLAN_H
#define CONVECT_ENGINE_MODEL_PLAN_H

#include "engine/convect.h"
#include "offload/plan.h"

typedef struct model_plan_limits {
    bool is_ctx_fixed;  /* the user gave the context: fit or fail */
    uint64_t ram_bytes; /* the user's limit; 0: what the machine has available */
} model_plan_limits;

/* Plans options->n_ctx_tokens (0: the session's default) and the other options; where the context may be lowered, *out
 * holds the one to use. Errors: NO_FIT with a sentence that helps (*out is filled), USAGE for options no session takes.
 */
convect_status model_plan(const convect_model *model, const convect_session_options *options,
                          const model_plan_limits *limits, plan *out, convect_error *err) CONVECT_MUST_CHECK;

#endif
