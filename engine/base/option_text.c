/* Texts made from an option table: help, completion scripts, manual page. */
#include <string.h>

#include "engine/base/option.h"

#define HELP_WIDTH  100 /* columns */
#define HELP_INDENT 26  /* columns before the help of an option */

static bool is_of(const option_row *row, const option_command *command) {
    return (row->commands & command->bit) != 0;
}

/* Prints words, wrapped at HELP_WIDTH with the given indent; column is where the cursor stands. */
static void print_wrapped(const char *text, int indent, int column, FILE *out) {
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column + n > HELP_WIDTH && column > indent) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        fprintf(out, "%.*s", n, text);
        column += n;
        text += n;
        if (*text) {
            text++;
            if (column < HELP_WIDTH) fputc(' ', out);
            column++;
        }
    }
    fputc('\n', out);
}

/* Help line of a row with default, limits and environment name, as one paragraph. */
static void row_paragraph(const option_table *table, const option_row *row, char *text, size_t cap) {
    char env[64];
    option_env_name(table, row, env);
    (void)snprintf(text, cap, "%s%s%s%s%s%s%s%s", row->help, row->limits || row->preset ? " (" : "",
                   row->limits ? row->limits : "", row->limits && row->preset ? "; " : "",
                   row->preset ? "default " : "", row->preset ? row->preset : "", row->limits || row->preset ? ")" : "",
                   "");
}

static void print_row(const option_table *table, const option_row *row, FILE *out) {
    char letter[5] = "    ";
    if (row->letter) (void)snprintf(letter, sizeof letter, "-%c, ", row->letter);
    int n = fprintf(out, "  %s--%s%s%s", letter, row->name, row->arg ? " " : "", row->arg ? row->arg : "");
    if (n < 0) return;
    if (n + 2 > HELP_INDENT)
        fprintf(out, "\n%*s", HELP_INDENT, "");
    else
        fprintf(out, "%*s", HELP_INDENT - n, "");
    char text[512];
    row_paragraph(table, row, text, sizeof text);
    print_wrapped(text, HELP_INDENT, HELP_INDENT, out);
}

void option_print_overview(const option_table *table, FILE *out) {
    fprintf(out, "%s\n\nusage: %s COMMAND [options] [operands]\n\ncommands:\n", table->about, table->program);
    for (size_t i = 0; i < table->n_commands; i++) {
        const option_command *c = &table->commands[i];
        fprintf(out, "  %-12s %s\n", c->name, c->help);
    }
    fprintf(out, "\n\"%s COMMAND --help\" lists the options of a command.\n", table->program);
}

void option_print_help(const option_table *table, const option_command *command, FILE *out) {
    fprintf(out, "usage: %s %s [options]%s%s\n\n", table->program, command->name, command->args[0] ? " " : "",
            command->args);
    print_wrapped(command->help, 0, 0, out);
    fprintf(out, "\noptions:\n");
    for (size_t i = 0; i < table->n_rows; i++)
        if (is_of(&table->rows[i], command)) print_row(table, &table->rows[i], out);
    fprintf(out, "  -h, --help              show this text\n");
    fprintf(out,
            "\nAn option may also be set by the environment: --log-level by %sLOG_LEVEL, and so on; the command\n"
            "line wins. \"--\" ends the options.\n",
            table->env_prefix);
}

/* ---- manual page ---- */

/* Text as roff: hyphens and backslashes escaped, a leading dot or quote kept from being a request. */
static void print_roff(const char *text, FILE *out) {
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
    }
}

static void print_roff_row(const option_table *table, const option_row *row, FILE *out) {
    fprintf(out, ".TP\n\\fB\\-\\-");
    print_roff(row->name, out);
    fprintf(out, "\\fR");
    if (row->arg) fprintf(out, " \\fI%s\\fR", row->arg);
    if (row->letter)
        fprintf(out, ", \\fB\\-%c\\fR%s%s%s", row->letter, row->arg ? " \\fI" : "", row->arg ? row->arg : "",
                row->arg ? "\\fR" : "");
    fputc('\n', out);
    char text[512];
    row_paragraph(table, row, text, sizeof text);
    print_roff(text, out);
    char env[64];
    option_env_name(table, row, env);
    fprintf(out, ".\nEnvironment: %s.\n", env);
}

void option_print_man(const option_table *table, const char *version, FILE *out) {
    fprintf(out, ".TH %s 1 \"\" \"%s %s\"\n.SH NAME\n%s \\- ", table->program, table->program, version, table->program);
    print_roff(table->about, out);
    fprintf(out, "\n.SH SYNOPSIS\n.B %s\n\\fICOMMAND\\fR [options] [operands]\n.SH COMMANDS\n", table->program);
    for (size_t i = 0; i < table->n_commands; i++) {
        const option_command *c = &table->commands[i];
        fprintf(out, ".SS %s %s [options] ", table->program, c->name);
        print_roff(c->args, out);
        fputc('\n', out);
        print_roff(c->help, out);
        fprintf(out, ".\n");
        for (size_t k = 0; k < table->n_rows; k++)
            if (is_of(&table->rows[k], c)) print_roff_row(table, &table->rows[k], out);
    }
    fprintf(out, ".SH ENVIRONMENT\nEach option may be set by the variable named with it; the command line wins.\n");
    fprintf(out, ".SH EXIT STATUS\n0 success, 1 internal error, 2 wrong usage, 3 file missing or unreadable, 4 file "
                 "damaged or unsupported, 5 does not fit in memory, 6 GPU or driver problem, 7 address in use, 8 "
                 "input/output error, 130 interrupted.\n");
}

bool option_print_completion(const option_table *table, const char *shell, FILE *out) {
    (void)table;
    (void)shell;
    (void)out;
    return false;
}
