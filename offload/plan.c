#include "offload/plan.h"

#include <stdio.h>

#include "engine/base/check.h"

#define GB 1e9

static const char *const purpose_names[PLAN_PURPOSE_COUNT] = {
#define X(symbol, name, text) name,
    PLAN_PURPOSE_LIST(X)
#undef X
};

static const char *const purpose_texts[PLAN_PURPOSE_COUNT] = {
#define X(symbol, name, text) text,
    PLAN_PURPOSE_LIST(X)
#undef X
};

const char *plan_purpose_name(plan_purpose purpose) {
    CONVECT_CHECK(purpose < PLAN_PURPOSE_COUNT);
    return purpose_names[purpose];
}

const char *plan_purpose_text(plan_purpose purpose) {
    CONVECT_CHECK(purpose < PLAN_PURPOSE_COUNT);
    return purpose_texts[purpose];
}

/* Sizes and their sum; a sum past 2^64 counts as 2^64 - 1. */
static uint64_t measure(const plan_request *r, size_t n_ctx_tokens, bool has_small_kv, plan_sizes *out) {
    *out = (plan_sizes){{0}};
    r->measure(r->model, n_ctx_tokens, has_small_kv, out);
    uint64_t sum = 0;
    for (size_t i = 0; i < PLAN_PURPOSE_COUNT; i++) {
        sum = out->bytes[i] > UINT64_MAX - sum ? UINT64_MAX : sum + out->bytes[i];
    }
    return sum;
}

static bool fits(const plan_request *r, size_t n_ctx_tokens, bool has_small_kv) {
    plan_sizes sizes;
    return measure(r, n_ctx_tokens, has_small_kv, &sizes) <= r->ram_bytes;
}

/* The largest context on the grid, at most the wanted one, that fits; 0 if none of PLAN_CTX_MIN_TOKENS or more does. */
static size_t largest_ctx(const plan_request *r, bool has_small_kv) {
    size_t lo = PLAN_CTX_MIN_TOKENS / PLAN_CTX_GRID_TOKENS;
    size_t hi = r->n_ctx_tokens / PLAN_CTX_GRID_TOKENS;
    if (hi < lo || !fits(r, lo * PLAN_CTX_GRID_TOKENS, has_small_kv)) return 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo + 1) / 2;
        if (fits(r, mid * PLAN_CTX_GRID_TOKENS, has_small_kv)) {
            lo = mid;
        } else {
            hi = mid - 1;
        }
    }
    return lo * PLAN_CTX_GRID_TOKENS;
}

static convect_status refuse(const plan_request *r, const plan *p, convect_error *err) {
    char need[160];
    (void)snprintf(need, sizeof need, "%.2f GB are needed for a context of %zu tokens and %.2f GB are %s",
                   (double)p->total_bytes / GB, r->n_ctx_tokens, (double)r->ram_bytes / GB,
                   r->is_ram_fixed ? "allowed by --ram" : "available");
    bool can_shrink_kv = r->small_kv && !r->has_small_kv;
    size_t ctx = largest_ctx(r, r->has_small_kv);
    size_t ctx_small = can_shrink_kv ? largest_ctx(r, true) : 0;
    if (can_shrink_kv && fits(r, r->n_ctx_tokens, true)) {
        if (ctx) return convect_fail(err, CONVECT_NO_FIT, "%s: --ctx %zu fits, or %s", need, ctx, r->small_kv);
        return convect_fail(err, CONVECT_NO_FIT, "%s: %s fits", need, r->small_kv);
    }
    if (ctx) return convect_fail(err, CONVECT_NO_FIT, "%s: --ctx %zu fits", need, ctx);
    if (ctx_small) return convect_fail(err, CONVECT_NO_FIT, "%s: %s --ctx %zu fits", need, r->small_kv, ctx_small);
    double weights_gb = (double)p->sizes.bytes[PLAN_WEIGHTS] / GB;
    if (p->sizes.bytes[PLAN_WEIGHTS] > r->ram_bytes) {
        return convect_fail(
            err, CONVECT_NO_FIT,
            "%s: the weights alone are %.2f GB, so it takes a smaller quantisation of the model or more RAM", need,
            weights_gb);
    }
    return convect_fail(err, CONVECT_NO_FIT, "%s: no context of %d tokens or more fits beside the weights (%.2f GB)",
                        need, PLAN_CTX_MIN_TOKENS, weights_gb);
}

convect_status plan_make(const plan_request *request, plan *out, convect_error *err) {
    CONVECT_CHECK(request->measure && request->n_ctx_tokens > 0);
    *out = (plan){.ram_bytes = request->ram_bytes, .n_ctx_tokens = request->n_ctx_tokens};
    out->total_bytes = measure(request, out->n_ctx_tokens, request->has_small_kv, &out->sizes);
    out->fits = out->total_bytes <= request->ram_bytes;
    if (out->fits) return CONVECT_OK;
    size_t lower = request->is_ctx_fixed ? 0 : largest_ctx(request, request->has_small_kv);
    if (lower == 0) return refuse(request, out, err);
    out->n_ctx_tokens = lower;
    out->total_bytes = measure(request, lower, request->has_small_kv, &out->sizes);
    out->fits = true;
    return CONVECT_OK;
}
