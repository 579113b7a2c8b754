/* Shell completion scripts made from an option table. Command and option names, choices and argument names are plain
 * words; only help texts need quoting. */
#include <string.h>

#include "engine/base/option.h"

static bool is_of(const option_row *row, const option_command *command) {
    return (row->commands & command->bit) != 0;
}

static void print_words(const char *choices, FILE *out) {
    for (const char *c = choices; *c; c++) fputc(*c == '|' ? ' ' : *c, out);
}

static void print_command_names(const option_table *table, FILE *out) {
    for (size_t i = 0; i < table->n_commands; i++) fprintf(out, "%s ", table->commands[i].name);
    fputs("help", out);
}

/* Text inside single quotes, with a backslash before each character of special. */
static void print_quoted(const char *text, const char *special, FILE *out) {
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
            continue;
        }
        if (strchr(special, *text)) fputc('\\', out);
        fputc(*text, out);
    }
}

/* ---- bash ---- */

static void bash_value_case(const option_command *command, const option_row *row, FILE *out) {
    if (row->type == OPTION_FLAG) return;
    fprintf(out, "    '%s --%s'", command->name, row->name);
    if (row->letter) fprintf(out, " | '%s -%c'", command->name, row->letter);
    fputs(") ", out);
    if (row->type == OPTION_CHOICE) {
        fputs("mapfile -t COMPREPLY < <(compgen -W '", out);
        print_words(row->limits, out);
        fputs("' -- \"$cur\"); ", out);
    } else if (row->type == OPTION_PATH) {
        fputs("mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); ", out);
    }
    fputs("return ;;\n", out);
}

static void bash_script(const option_table *table, FILE *out) {
    const char *name = table->program;
    fprintf(out, "# bash completion for %s: source this file\n_%s() {\n", name, name);
    fputs("    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} cmd=${COMP_WORDS[1]} words=''\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)) || [[ $cmd == help ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          out);
    print_command_names(table, out);
    fputs("' -- \"$cur\")\n        return\n    fi\n    case \"$cmd $prev\" in\n", out);
    for (size_t i = 0; i < table->n_commands; i++)
        for (size_t k = 0; k < table->n_rows; k++)
            if (is_of(&table->rows[k], &table->commands[i])) bash_value_case(&table->commands[i], &table->rows[k], out);
    fputs("    esac\n    case \"$cmd\" in\n", out);
    for (size_t i = 0; i < table->n_commands; i++) {
        fprintf(out, "    %s) words='", table->commands[i].name);
        for (size_t k = 0; k < table->n_rows; k++)
            if (is_of(&table->rows[k], &table->commands[i])) fprintf(out, "--%s ", table->rows[k].name);
        fputs("--help' ;;\n", out);
    }
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "    else\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    fi\n}\n",
          out);
    fprintf(out, "complete -o filenames -F _%s %s\n", name, name);
}

/* ---- zsh ---- */

static void zsh_row(const option_row *row, FILE *out) {
    fprintf(out, " \\\n            '--%s%s[", row->name, row->type == OPTION_FLAG ? "" : "=");
    print_quoted(row->help, "[]:\\", out);
    fputc(']', out);
    if (row->type != OPTION_FLAG) fprintf(out, ":%s:", row->arg);
    if (row->type == OPTION_CHOICE) {
        fputc('(', out);
        print_words(row->limits, out);
        fputc(')', out);
    } else if (row->type == OPTION_PATH) {
        fputs("_files", out);
    }
    fputc('\'', out);
}

static void zsh_script(const option_table *table, FILE *out) {
    const char *name = table->program;
    fprintf(out, "#compdef %s\n_%s() {\n    if ((CURRENT == 2)); then\n        compadd ", name, name);
    print_command_names(table, out);
    fputs("\n        return\n    fi\n    local cmd=$words[2]\n    shift words\n    ((CURRENT--))\n"
          "    case $cmd in\n        help) compadd ",
          out);
    print_command_names(table, out);
    fputs(" ;;\n", out);
    for (size_t i = 0; i < table->n_commands; i++) {
        fprintf(out, "        %s) _arguments", table->commands[i].name);
        for (size_t k = 0; k < table->n_rows; k++)
            if (is_of(&table->rows[k], &table->commands[i])) zsh_row(&table->rows[k], out);
        fputs(" \\\n            '--help[show help]' '*:file:_files' ;;\n", out);
    }
    /* as an autoloaded file of fpath the text is the function's first call; sourced, it registers the function */
    fprintf(out, "    esac\n}\nif [[ $funcstack[1] == _%s ]]; then\n    _%s \"$@\"\nelse\n    compdef _%s %s\nfi\n",
            name, name, name, name);
}

/* ---- fish ---- */

static void fish_row(const char *program, const option_command *command, const option_row *row, FILE *out) {
    fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s' -l %s", program, command->name, row->name);
    if (row->letter) fprintf(out, " -s %c", row->letter);
    if (row->type == OPTION_PATH)
        fputs(" -r -F", out);
    else if (row->type != OPTION_FLAG)
        fputs(" -x", out);
    if (row->type == OPTION_CHOICE) {
        fputs(" -a '", out);
        print_words(row->limits, out);
        fputc('\'', out);
    }
    fputs(" -d '", out);
    for (const char *c = row->help; *c; c++) {
        if (*c == '\'' || *c == '\\') fputc('\\', out);
        fputc(*c, out);
    }
    fputs("'\n", out);
}

static void fish_script(const option_table *table, FILE *out) {
    fprintf(out, "# fish completion for %s\n", table->program);
    for (size_t i = 0; i < table->n_commands; i++) {
        const option_command *c = &table->commands[i];
        fprintf(out, "complete -c %s -n __fish_use_subcommand -f -a %s\n", table->program, c->name);
        for (size_t k = 0; k < table->n_rows; k++)
            if (is_of(&table->rows[k], c)) fish_row(table->program, c, &table->rows[k], out);
    }
}

bool option_print_completion(const option_table *table, const char *shell, FILE *out) {
    static const struct {
        const char *shell;
        void (*print)(const option_table *table, FILE *out);
    } scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (strcmp(shell, scripts[i].shell) == 0) {
            scripts[i].print(table, out);
            return true;
        }
    return false;
}
