/* Texts made from an option table: help, completion scripts, manual page. */
#include <string.h>

#include "engine/base/option.h"

#define HELP_WIDTH  100 /* columns */
#define HELP_INDENT 26  /* columns before the help of an option */

static bool is_of(const option_row *row, const option_command *command) {
    return (row->commands & command->bit) != 0;
}

/* Prints words, wrapped at HELP_WIDTH with the given indent, where the cursor stands now. */
static void print_wrapped(const char *text, int indent, FILE *out) {
    int column = indent;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(out, "%s%.*s", column > indent ? " " : "", n, text);
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

/* Help of a row with its limits and default. */
static void row_paragraph(const option_row *row, char *text, size_t cap) {
    bool has_note = row->limits || row->preset;
    (void)snprintf(text, cap, "%s%s%s%s%s%s%s", row->help, has_note ? " (" : "", row->limits ? row->limits : "",
                   row->limits && row->preset ? "; " : "", row->preset ? "default " : "",
                   row->preset ? row->preset : "", has_note ? ")" : "");
}

static void print_row(const option_row *row, FILE *out) {
    char letter[5] = "    ";
    if (row->letter) (void)snprintf(letter, sizeof letter, "-%c, ", row->letter);
    int n = fprintf(out, "  %s--%s%s%s", letter, row->name, row->arg ? " " : "", row->arg ? row->arg : "");
    if (n < 0) return;
    if (n + 2 > HELP_INDENT)
        fprintf(out, "\n%*s", HELP_INDENT, "");
    else
        fprintf(out, "%*s", HELP_INDENT - n, "");
    char text[512];
    row_paragraph(row, text, sizeof text);
    print_wrapped(text, HELP_INDENT, out);
}

void option_print_overview(const option_table *table, FILE *out) {
    fprintf(out, "%s\n\nusage: %s COMMAND [options] [operands]\n\ncommands:\n", table->about, table->program);
    for (size_t i = 0; i < table->n_commands; i++) {
        const option_command *c = &table->commands[i];
        fprintf(out, "  %-12s %s\n", c->name, c->help);
    }
    fprintf(out, "  %-12s %s\n", "help", "print this text, or that of a command");
    fprintf(out, "\n\"%s COMMAND --help\" lists the options of a command.\n", table->program);
}

static void print_env_note(const option_table *table, const option_command *command, FILE *out) {
    for (size_t i = 0; i < table->n_rows; i++) {
        if (!is_of(&table->rows[i], command)) continue;
        char env[64];
        option_env_name(table, &table->rows[i], env);
        fprintf(out, "\nEach option has an environment variable (--%s: %s); the command line wins.\n",
                table->rows[i].name, env);
        return;
    }
}

void option_print_help(const option_table *table, const option_command *command, FILE *out) {
    fprintf(out, "usage: %s %s [options]%s%s\n\n", table->program, command->name, command->args[0] ? " " : "",
            command->args);
    print_wrapped(command->help, 0, out);
    fprintf(out, "\noptions:\n");
    for (size_t i = 0; i < table->n_rows; i++)
        if (is_of(&table->rows[i], command)) print_row(&table->rows[i], out);
    fprintf(out, "  -h, --help              show this text\n");
    print_env_note(table, command, out);
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
    row_paragraph(row, text, sizeof text);
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
    fprintf(out, ".SH EXIT STATUS\n");
#define X(symbol, value, exit_code, text) fprintf(out, ".TP\n%d\n%s\n", exit_code, text);
    CONVECT_STATUS_LIST(X)
#undef X
}
