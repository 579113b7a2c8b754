#include "tools/options.h"

#include "tools/commands.h"

static const option_row rows[OPT_COUNT] = {
#define X(symbol, name, letter, type, arg, preset, limits, commands, help)                                             \
    [symbol] = {name, letter, OPTION_##type, arg, preset, limits, commands, help},
    OPTION_LIST(X)
#undef X
};

static const option_command commands[] = {
#define X(symbol, name, operands, fewest, most, help) {#name, COMMAND_##symbol, operands, fewest, most, help},
    COMMAND_LIST(X)
#undef X
};

static const option_table table = {
    .program = "convect",
    .env_prefix = "CONVECT_",
    .about = "Convect runs Qwen mixture-of-experts models straight from GGUF files.",
    .rows = rows,
    .n_rows = OPT_COUNT,
    .commands = commands,
    .n_commands = sizeof commands / sizeof commands[0],
};

const option_table *cli_table(void) {
    return &table;
}
