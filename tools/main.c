/* Entry of the program `convect`: finds the command, reads its options, runs it, reports its status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/check.h"
#include "tools/bus_guard.h"
#include "tools/commands.h"

typedef convect_status (*command_entry)(const command_context *ctx, convect_error *err);

static const command_entry entries[] = {
#define X(symbol, name, operands, fewest, most, help) cmd_##name,
    COMMAND_LIST(X)
#undef X
};

convect_status output_flush(convect_error *err) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return CONVECT_OK;
    return convect_fail(err, CONVECT_IO, "cannot write to standard output: %s", errno ? strerror(errno) : "failed");
}

/* A closed standard stream would give its number to the next file opened, and output would land in that file. It gets a
 * descriptor of the wrong direction instead, so that its use is an error. */
static void hold_standard_streams(void) {
    static const int mode[3] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)open("/dev/null", mode[fd]);
}

static convect_status run_command(const option_command *command, int argc, char **argv, convect_error *err) {
    const option_table *table = cli_table();
    option_values options;
    int n_args = 0;
    convect_status status = option_parse(table, command, argc, argv, &options, &n_args, err);
    if (status) return status;
    if (options.wants_help) {
        option_print_help(table, command, stdout);
        return CONVECT_OK;
    }
    convect_log log = {.level = (convect_log_level)option_choice(&options, OPT_LOG_LEVEL)};
    command_context ctx = {.options = &options, .n_args = n_args, .args = argv, .log = &log};
    return entries[command - table->commands](&ctx, err);
}

static convect_status help(int argc, char **argv, convect_error *err) {
    const option_table *table = cli_table();
    if (argc == 0) {
        option_print_overview(table, stdout);
        return CONVECT_OK;
    }
    const option_command *command = option_command_find(table, argv[0]);
    if (!command) return option_command_unknown(table, argv[0], err);
    option_print_help(table, command, stdout);
    return CONVECT_OK;
}

static convect_status dispatch(int argc, char **argv, convect_error *err) {
    if (argc < 2) {
        option_print_overview(cli_table(), stderr);
        return convect_fail(err, CONVECT_USAGE, "no command given");
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return help(0, NULL, err);
    if (strcmp(word, "help") == 0) return help(argc - 2, argv + 2, err);
    if (strcmp(word, "--version") == 0) word = "version";
    const option_command *command = option_command_find(cli_table(), word);
    if (!command) return option_command_unknown(cli_table(), word, err);
    return run_command(command, argc - 2, argv + 2, err);
}

int main(int argc, char **argv) {
    hold_standard_streams();
    bus_guard_install();
    (void)signal(SIGPIPE, SIG_IGN);                  /* a closed pipe is an error of the write, not a silent end */
    (void)signal(SIGXFSZ, SIG_IGN);                  /* and so is a limit on the size of files */
    CONVECT_CHECK(!option_table_fault(cli_table())); /* some 20 us */
    convect_error err = {0};
    convect_status status = dispatch(argc, argv, &err);
    convect_status flushed = output_flush(&err); /* keeps an older message */
    if (!status) status = flushed;
    if (status) (void)fprintf(stderr, "convect: %s\n", err.text[0] ? err.text : convect_status_text(status));
    return convect_status_exit_code(status);
}
