#include "engine/base/build_info.h"
#include "tools/commands.h"

convect_status cmd_man(const command_context *ctx, convect_error *err) {
    (void)err;
    option_print_man(ctx->options->table, build_info_get()->version, stdout);
    return CONVECT_OK;
}
