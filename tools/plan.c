/* convect plan MODEL: what would go where, before anything is allocated. Exit 0 if it fits, 5 if not; the table is
 * printed either way. */
#include <json-c/json.h>
#include <stdio.h>

#include "engine/model_plan.h"
#include "tools/commands.h"
#include "tools/plan_options.h"

static void print_text(const convect_model_info *info, const char *kv, const plan *p) {
    printf("%s, %zu layers, context %zu tokens, KV %s\n\n", info->architecture, info->n_layers, p->n_ctx_tokens, kv);
    for (int i = 0; i < PLAN_PURPOSE_COUNT; i++) {
        printf("%-10s %12.1f MB   %s\n", plan_purpose_name((plan_purpose)i), (double)p->sizes.bytes[i] / 1e6,
               plan_purpose_text((plan_purpose)i));
    }
    printf("%-10s %12.1f MB   of %.1f MB of RAM\n\n", "total", (double)p->total_bytes / 1e6,
           (double)p->ram_bytes / 1e6);
    printf("weights read per token: %.1f MB\n", (double)info->weight_bytes_per_token / 1e6);
}

static void print_json(const convect_model_info *info, const char *kv, const plan *p) {
    json_object *o = json_object_new_object();
    json_object *ram = json_object_new_object();
    json_object *purposes = json_object_new_object();
    json_object *places = json_object_new_object();
    for (int i = 0; i < PLAN_PURPOSE_COUNT; i++) {
        json_object_object_add(purposes, plan_purpose_name((plan_purpose)i), json_object_new_uint64(p->sizes.bytes[i]));
    }
    json_object_object_add(ram, "purposes_bytes", purposes);
    json_object_object_add(ram, "total_bytes", json_object_new_uint64(p->total_bytes));
    json_object_object_add(ram, "room_bytes", json_object_new_uint64(p->ram_bytes));
    json_object_object_add(places, "ram", ram);
    json_object_object_add(o, "architecture", json_object_new_string(info->architecture));
    json_object_object_add(o, "fits", json_object_new_boolean(p->fits));
    json_object_object_add(o, "ctx_tokens", json_object_new_uint64(p->n_ctx_tokens));
    json_object_object_add(o, "kv", json_object_new_string(kv));
    json_object_object_add(o, "places", places);
    json_object_object_add(o, "weight_bytes_per_token", json_object_new_uint64(info->weight_bytes_per_token));
    printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
    json_object_put(o);
}

static convect_status plan_model(const command_context *ctx, const convect_model *model, convect_error *err) {
    const option_values *o = ctx->options;
    convect_model_info info;
    plan p;
    convect_model_describe(model, &info);
    const convect_session_options options = session_options_of(o, &info);
    const model_plan_limits limits = plan_limits_of(o);
    convect_status status = model_plan(model, &options, &limits, &p, err);
    if (status && status != CONVECT_NO_FIT) return status;
    if (option_flag(o, OPT_JSON)) {
        print_json(&info, option_text(o, OPT_KV), &p);
    } else {
        print_text(&info, option_text(o, OPT_KV), &p);
    }
    return status;
}

convect_status cmd_plan(const command_context *ctx, convect_error *err) {
    convect_model *model = NULL;
    const convect_model_options options = {.log = ctx->log, .n_threads = 1};
    convect_status status = convect_model_open(ctx->args[0], &options, &model, err);
    if (!status) status = plan_model(ctx, model, err);
    convect_model_close(model);
    return status;
}
