/* Command-line options from one table. The table drives parsing, --help, environment names, shell completion and the
 * manual page; nothing else in the project reads argv or the environment.
 *
 * Values come from the command line, else from the environment (PREFIX_ plus the name in capitals, '-' as '_'; an empty
 * variable counts as unset), else from the row's default. The last of several equal options wins. Defaults and limits
 * are texts read by the same code as the user's values, so help shows exactly what is accepted.
 *
 * Tables are static data of the program and immutable. option_values is caller-owned, borrows argv and the environment,
 * and may be read by any thread after option_parse. Nothing here allocates. */
#ifndef CONVECT_BASE_OPTION_H
#define CONVECT_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/base/status.h"

#define OPTION_ROWS_MAX 128 /* rows of a table */
#define OPTION_NAME_MAX 32  /* bytes of an option or command name, with its NUL */

typedef enum option_type {
    OPTION_FLAG,   /* --name, or --name=on|off */
    OPTION_U64,    /* decimal whole number; limits "MIN..MAX" or "MIN..MAX step N" */
    OPTION_F64,    /* finite decimal; limits "MIN..MAX", ">MIN..MAX" and "MIN..<MAX" leave the end out */
    OPTION_SIZE,   /* bytes: decimal number, optionally a fraction, with B, KiB, MiB, GiB or TiB; limits as for u64 */
    OPTION_STRING, /* any text */
    OPTION_PATH,   /* any text but the empty one; completed as a file name */
    OPTION_CHOICE, /* one word of limits "a|b|c" */
    OPTION_TYPE_COUNT
} option_type;

typedef struct option_row {
    const char *name; /* without "--"; unique among the rows of one command */
    char letter;      /* short form, or 0 */
    option_type type;
    const char *arg;    /* what help calls the value ("N", "FILE"); NULL for flags */
    const char *preset; /* default as text, or NULL: unset (a flag: off) */
    const char *limits; /* see option_type; NULL for flags, strings and paths */
    uint64_t commands;  /* bits of the commands that take it */
    const char *help;   /* one line, no full stop */
} option_row;

typedef struct option_command {
    const char *name;
    uint64_t bit;     /* exactly one */
    const char *args; /* synopsis of the operands, "" for none */
    int n_args_min;
    int n_args_max;
    const char *help; /* one line, no full stop */
} option_command;

typedef struct option_table {
    const char *program;    /* "convect" */
    const char *env_prefix; /* "CONVECT_" */
    const char *about;      /* one sentence for help and manual */
    const option_row *rows;
    size_t n_rows; /* <= OPTION_ROWS_MAX */
    const option_command *commands;
    size_t n_commands;
} option_table;

typedef struct option_value {
    bool is_set;      /* by default, environment or command line */
    bool is_explicit; /* by environment or command line */
    uint64_t u;       /* flag 0/1, u64, bytes of a size, index of a choice */
    double f;
    const char *text; /* as given; borrowed */
} option_value;

typedef struct option_values {
    const option_table *table;
    const option_command *command;
    bool wants_help; /* --help or -h was given: values may be incomplete */
    option_value value[OPTION_ROWS_MAX];
} option_values;

/* Finds a command by name; NULL if there is none. */
const option_command *option_command_find(const option_table *table, const char *name);

/* USAGE failure for an unknown command word, with the nearest known one. */
convect_status option_command_unknown(const option_table *table, const char *name, convect_error *err);

/* Reads argv[0..argc) (program and command words already removed) for one command. Operands are moved to the front of
 * argv in order and counted in *n_args. Errors: USAGE, naming the option or variable, its limits and the text given; an
 * unknown option gets the nearest known one. After "--" everything is an operand; "-" is an operand. */
convect_status option_parse(const option_table *table, const option_command *command, int argc, char **argv,
                            option_values *out, int *n_args, convect_error *err) CONVECT_MUST_CHECK;

/* Reads by row index. The row must have the type (string also reads choices and paths) and belong to the command:
 * anything else is our bug and aborts. Unset rows read as 0 or NULL. */
bool option_is_set(const option_values *values, size_t i_row);      /* has any value */
bool option_is_explicit(const option_values *values, size_t i_row); /* the user gave it */
bool option_flag(const option_values *values, size_t i_row);
uint64_t option_u64(const option_values *values, size_t i_row);
double option_f64(const option_values *values, size_t i_row);
uint64_t option_size_bytes(const option_values *values, size_t i_row);
size_t option_choice(const option_values *values, size_t i_row); /* index into the words of limits */
const char *option_text(const option_values *values, size_t i_row);

/* Writes the environment name of a row into out. */
void option_env_name(const option_table *table, const option_row *row, char out[static 64]);

/* NULL if the table is well formed, else a sentence about the first fault (names, letters, masks, presets outside
 * limits). For tests: a table is static data. */
const char *option_table_fault(const option_table *table);

/* Texts made from the table. They never fail; the caller checks the stream. */
void option_print_overview(const option_table *table, FILE *out);
void option_print_help(const option_table *table, const option_command *command, FILE *out);
void option_print_man(const option_table *table, const char *version, FILE *out); /* roff, man macros */

/* Completion script for "bash", "zsh" or "fish"; false for any other shell. */
bool option_print_completion(const option_table *table, const char *shell, FILE *out);

#endif
