#include "tools/commands.h"

convect_status cmd_completion(const command_context *ctx, convect_error *err) {
    if (option_print_completion(ctx->options->table, ctx->args[0], stdout)) return CONVECT_OK;
    return convect_fail(err, CONVECT_USAGE, "completion is for bash, zsh or fish, not \"%s\"", ctx->args[0]);
}
