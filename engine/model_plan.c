#include "engine/model_plan.h"

#include "engine/gguf.h"
#include "offload/memory.h"

/* Anonymous memory of `convect run` with a vocabulary of 248,320 is 24 MB, KV and touched scratch included; the rest is
 * room for code, threads and prompts. */
#define PROGRAM_BYTES (UINT64_C(64) << 20)

typedef struct measured_model {
    const convect_model *model;
    convect_session_options options;
    uint64_t file_bytes;
} measured_model;

static void measure_session(const void *user, size_t n_ctx_tokens, bool has_small_kv, plan_sizes *out) {
    const measured_model *m = user;
    convect_session_options options = m->options;
    convect_session_sizes sizes;
    options.n_ctx_tokens = n_ctx_tokens;
    if (has_small_kv) options.kv_type = CONVECT_KV_INT8;
    if (convect_session_measure(m->model, &options, &sizes, NULL)) { /* sizes beyond 2^64: nothing has that much */
        out->bytes[PLAN_KV] = UINT64_MAX;
        return;
    }
    out->bytes[PLAN_WEIGHTS] = m->file_bytes;
    out->bytes[PLAN_KV] = sizes.kv_bytes;
    out->bytes[PLAN_STATE] = sizes.state_bytes;
    out->bytes[PLAN_SCRATCH] = sizes.scratch_bytes;
    out->bytes[PLAN_OUTPUT] = sizes.output_bytes;
    out->bytes[PLAN_PROGRAM] = PROGRAM_BYTES;
}

convect_status model_plan(const convect_model *model, const convect_session_options *options,
                          const model_plan_limits *limits, plan *out, convect_error *err) {
    convect_session_sizes sizes; /* once for the errors of bad options, and the default context */
    *out = (plan){0};
    convect_status status = convect_session_measure(model, options, &sizes, err);
    if (status) return status;
    const measured_model m = {model, *options, gguf_file_bytes(convect_model_gguf(model))};
    const plan_request request = {.measure = measure_session,
                                  .model = &m,
                                  .n_ctx_tokens = sizes.n_ctx_tokens,
                                  .is_ctx_fixed = limits->is_ctx_fixed,
                                  .has_small_kv = options->kv_type == CONVECT_KV_INT8,
                                  .small_kv = "--kv int8",
                                  .ram_bytes = limits->ram_bytes ? limits->ram_bytes : memory_available_bytes(),
                                  .is_ram_fixed = limits->ram_bytes != 0};
    return plan_make(&request, out, err);
}
