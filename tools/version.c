#include <json-c/json.h>

#include "engine/base/build_info.h"
#include "tools/commands.h"

static void print_text(const build_info *info) {
    printf("convect %s\n", info->version);
    printf("commit         %s%s\n", info->commit, info->dirty_mark);
    printf("compiler       %s\n", info->compiler);
    printf("configuration  %s%s%s\n", info->configuration, info->sanitizers[0] ? ", sanitizers " : "",
           info->sanitizers);
    printf("CUDA           %s\n", info->has_cuda ? "yes" : "no");
    for (size_t i = 0; i < info->n_libraries; i++) {
        const build_library *library = &info->libraries[i];
        printf("%-14s %s\n", library->name, library->version[0] ? library->version : "not found");
    }
}

static struct json_object *to_json(const build_info *info) {
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "version", json_object_new_string(info->version));
    json_object_object_add(o, "commit", json_object_new_string(info->commit));
    json_object_object_add(o, "is_dirty", json_object_new_boolean(info->dirty_mark[0] != 0));
    json_object_object_add(o, "compiler", json_object_new_string(info->compiler));
    json_object_object_add(o, "configuration", json_object_new_string(info->configuration));
    json_object_object_add(o, "sanitizers", json_object_new_string(info->sanitizers));
    json_object_object_add(o, "cuda", json_object_new_boolean(info->has_cuda));
    struct json_object *libraries = json_object_new_object();
    for (size_t i = 0; i < info->n_libraries; i++) {
        const build_library *library = &info->libraries[i];
        json_object_object_add(libraries, library->name,
                               library->version[0] ? json_object_new_string(library->version) : NULL);
    }
    json_object_object_add(o, "libraries", libraries);
    return o;
}

convect_status cmd_version(const command_context *ctx, convect_error *err) {
    (void)err;
    const build_info *info = build_info_get();
    if (!option_flag(ctx->options, OPT_JSON)) {
        print_text(info);
        return CONVECT_OK;
    }
    struct json_object *o = to_json(info);
    printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
    json_object_put(o);
    return CONVECT_OK;
}
