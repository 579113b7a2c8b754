/* The subcommands of the program `convect`: one tools/<name>.c each, defining cmd_<name>.
 *
 * To add a command: give it a bit below (if it has none yet), a row in COMMAND_LIST, and its file. Its options go into
 * tools/options.h. main parses the options, checks the number of operands, runs the command, and turns its status into
 * a message on stderr and the exit code. Commands return errors; they never exit or print "convect: ..." themselves.
 *
 * stdout carries answers and machine output only and is written with stdio; everything else goes to ctx->log. A command
 * that runs for long calls output_flush after each piece; main calls it once more at the end. */
#ifndef CONVECT_TOOLS_COMMANDS_H
#define CONVECT_TOOLS_COMMANDS_H

#include <stdint.h>

#include "engine/base/log.h"
#include "engine/base/option.h"
#include "engine/base/status.h"
#include "tools/options.h"

typedef struct command_context {
    const option_values *options; /* read with option_u64(ctx->options, OPT_SEED) and its sisters */
    int n_args;                   /* within the row's bounds */
    char **args;                  /* operands */
    const convect_log *log;
} command_context;

/* X(symbol, name, operands, fewest, most, help): commands that exist */
#define COMMAND_LIST(X)                                                                                                \
    X(RUN, run, "MODEL.gguf [PROMPT|-]", 1, 2, "answer a prompt")                                                      \
    X(INSPECT, inspect, "FILE", 1, 1, "print what a GGUF file holds: metadata, tensors, bytes per part and token")     \
    X(TOKENIZE, tokenize, "FILE.gguf [TEXT|-]", 1, 2, "turn text into token ids, or ids into text")                    \
    X(QUANTIZE, quantize, "IN.gguf OUT.gguf", 2, 2, "write a model in other formats")                                  \
    X(SYNTH, synth, "OUT.gguf", 1, 1, "make a model of real geometry with random weights")                             \
    X(PLAN, plan, "MODEL.gguf", 1, 1, "print the memory a model would take, and whether it fits")                      \
    X(PPL, ppl, "MODEL.gguf", 1, 1, "measure how well a model predicts a text, and compare two models")                \
    X(CHECK, check, "FILE.gguf", 1, 1, "look for damage in a model file")                                              \
    X(DOCTOR, doctor, "[FILE|FOLDER]", 0, 1, "tell what this machine offers, with hints")                              \
    X(VERSION, version, "", 0, 0, "print version, commit, configuration and libraries found")                          \
    X(COMPLETION, completion, "bash|zsh|fish", 1, 1, "print a completion script for a shell")                          \
    X(MAN, man, "", 0, 0, "print the manual page (try: convect man | man -l -)")

#define X(symbol, name, operands, fewest, most, help)                                                                  \
    convect_status cmd_##name(const command_context *ctx, convect_error *err) CONVECT_MUST_CHECK;
COMMAND_LIST(X)
#undef X

/* The program's table of commands and options; static storage. */
const option_table *cli_table(void);

/* Flushes stdout. IO if anything written to it so far did not get out (full disk, closed pipe). */
convect_status output_flush(convect_error *err) CONVECT_MUST_CHECK;

#endif
