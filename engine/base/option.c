#include "engine/base/option.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"

typedef struct limits {
    option_value min, max;
    bool is_min_open, is_max_open;
    uint64_t step; /* 0: any */
} limits;

/* ---- texts to values ---- */

static bool read_u64(const char *text, uint64_t *out) {
    if (!isdigit((unsigned char)text[0])) return false; /* strtoull would take " -1" */
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end) return false;
    *out = v;
    return true;
}

static bool read_f64(const char *text, double *out) {
    if (!text[0] || strspn(text, "0123456789+-.eE") != strlen(text)) return false; /* no hex, inf, nan, blanks */
    char *end = NULL;
    *out = strtod(text, &end);
    return !*end && isfinite(*out);
}

static bool read_size(const char *text, uint64_t *out) {
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
    char digits[32];
    size_t n = strspn(text, "0123456789.");
    if (n == 0 || n >= sizeof digits) return false;
    memcpy(digits, text, n);
    digits[n] = 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(text + n, units[i].suffix) != 0) continue;
        uint64_t whole = 0;
        if (read_u64(digits, &whole)) {
            *out = whole << units[i].shift;
            return *out >> units[i].shift == whole;
        }
        double v = 0;
        if (!read_f64(digits, &v) || units[i].shift == 0) return false;
        v = ldexp(v, units[i].shift);
        if (v >= 0x1p63) return false;
        *out = (uint64_t)v;
        return true;
    }
    return false;
}

static bool read_flag(const char *text, uint64_t *out) {
    static const char *const words[][2] = {{"off", "on"}, {"0", "1"}, {"false", "true"}, {"no", "yes"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (uint64_t v = 0; v < 2; v++)
            if (strcmp(text, words[i][v]) == 0) {
                *out = v;
                return true;
            }
    return false;
}

static bool read_choice(const char *words, const char *text, uint64_t *out) {
    size_t n_text = strlen(text);
    uint64_t i = 0;
    for (const char *word = words; word; i++) {
        const char *bar = strchr(word, '|');
        size_t n = bar ? (size_t)(bar - word) : strlen(word);
        if (n == n_text && n > 0 && memcmp(word, text, n) == 0) {
            *out = i;
            return true;
        }
        word = bar ? bar + 1 : NULL;
    }
    return false;
}

/* Reads text as the row's type, limits apart. */
static bool read_value(const option_row *row, const char *text, option_value *out) {
    out->text = text;
    switch (row->type) {
    case OPTION_FLAG: return read_flag(text, &out->u);
    case OPTION_U64: return read_u64(text, &out->u);
    case OPTION_F64: return read_f64(text, &out->f);
    case OPTION_SIZE: return read_size(text, &out->u);
    case OPTION_STRING: return true;
    case OPTION_PATH: return text[0] != 0;
    case OPTION_CHOICE: return read_choice(row->limits, text, &out->u);
    default: return false;
    }
}

/* ---- limits ---- */

static bool has_range(const option_row *row) {
    return row->limits && (row->type == OPTION_U64 || row->type == OPTION_F64 || row->type == OPTION_SIZE);
}

static bool limits_read(const option_row *row, limits *out) {
    *out = (limits){0};
    char text[96];
    int n = snprintf(text, sizeof text, "%s", row->limits);
    char *dots = strstr(text, "..");
    if (n < 0 || (size_t)n >= sizeof text || !dots) return false;
    *dots = 0;
    char *min = text, *max = dots + 2;
    char *step = strstr(max, " step ");
    if (step) {
        *step = 0;
        if (!read_u64(step + 6, &out->step) || out->step == 0) return false;
    }
    out->is_min_open = min[0] == '>';
    out->is_max_open = max[0] == '<';
    bool is_good =
        read_value(row, min + out->is_min_open, &out->min) && read_value(row, max + out->is_max_open, &out->max);
    out->min.text = out->max.text = NULL; /* text lives here only */
    return is_good;
}

static bool is_within(const option_row *row, const option_value *v) {
    if (!has_range(row)) return true;
    limits l;
    if (!limits_read(row, &l)) return false;
    if (row->type == OPTION_F64) {
        bool is_low = l.is_min_open ? v->f <= l.min.f : v->f < l.min.f;
        bool is_high = l.is_max_open ? v->f >= l.max.f : v->f > l.max.f;
        return !is_low && !is_high;
    }
    return v->u >= l.min.u && v->u <= l.max.u && (l.step == 0 || v->u % l.step == 0);
}

static bool value_set(const option_row *row, const char *text, bool is_explicit, option_value *out) {
    option_value v = {.is_set = true, .is_explicit = is_explicit};
    if (!read_value(row, text, &v) || !is_within(row, &v)) return false;
    *out = v;
    return true;
}

static convect_status value_fail(const option_row *row, const char *what, const char *text, convect_error *err) {
    static const char *const kind[OPTION_TYPE_COUNT] = {
        "on or off",      "a whole number", "a number", "a size in bytes or with KiB, MiB, GiB or TiB",
        "a line of text", "a file name",    "one of"};
    return convect_fail(err, CONVECT_USAGE, "%s must be %s%s%s, not \"%s\"", what, kind[row->type],
                        has_range(row) ? " in " : (row->limits ? " " : ""), row->limits ? row->limits : "", text);
}

/* ---- nearest name ---- */

/* Levenshtein distance, names cut at OPTION_NAME_MAX - 1. */
static size_t distance(const char *a, const char *b) {
    size_t row[OPTION_NAME_MAX];
    size_t n_a = strnlen(a, OPTION_NAME_MAX - 1), n_b = strnlen(b, OPTION_NAME_MAX - 1);
    for (size_t j = 0; j <= n_b; j++) row[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n_b];
}

/* Keeps name if it is nearer to text than *best; a suggestion needs at most a third of the letters changed. */
static void suggest(const char *text, const char *name, const char **best, size_t *best_distance) {
    size_t d = distance(text, name);
    bool is_prefix = text[0] && strncmp(name, text, strlen(text)) == 0;
    if (is_prefix) d = 0;
    if (d < *best_distance && (is_prefix || d <= 1 + strlen(name) / 3)) {
        *best = name;
        *best_distance = d;
    }
}

/* ---- commands ---- */

const option_command *option_command_find(const option_table *table, const char *name) {
    for (size_t i = 0; i < table->n_commands; i++)
        if (strcmp(table->commands[i].name, name) == 0) return &table->commands[i];
    return NULL;
}

convect_status option_command_unknown(const option_table *table, const char *name, convect_error *err) {
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < table->n_commands; i++) suggest(name, table->commands[i].name, &best, &best_distance);
    if (best) return convect_fail(err, CONVECT_USAGE, "there is no command \"%s\"; did you mean \"%s\"?", name, best);
    return convect_fail(err, CONVECT_USAGE, "there is no command \"%s\"; \"%s --help\" lists them", name,
                        table->program);
}

/* ---- parsing ---- */

typedef struct parser {
    const option_table *table;
    const option_command *command;
    int argc;
    char **argv;
    int i_arg; /* next word to read */
    option_values *out;
    convect_error *err;
} parser;

static bool is_of(const option_row *row, const option_command *command) {
    return (row->commands & command->bit) != 0;
}

static const option_row *row_by_name(const parser *p, const char *name, size_t n) {
    for (size_t i = 0; i < p->table->n_rows; i++) {
        const option_row *row = &p->table->rows[i];
        if (is_of(row, p->command) && strlen(row->name) == n && memcmp(row->name, name, n) == 0) return row;
    }
    return NULL;
}

static const option_row *row_by_letter(const parser *p, char letter) {
    for (size_t i = 0; i < p->table->n_rows; i++) {
        const option_row *row = &p->table->rows[i];
        if (is_of(row, p->command) && row->letter == letter) return row;
    }
    return NULL;
}

static convect_status unknown_option(const parser *p, const char *shown, const char *name) {
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < p->table->n_rows; i++)
        if (is_of(&p->table->rows[i], p->command)) suggest(name, p->table->rows[i].name, &best, &best_distance);
    if (best)
        return convect_fail(p->err, CONVECT_USAGE, "\"%s %s\" has no option %s; did you mean --%s?", p->table->program,
                            p->command->name, shown, best);
    return convect_fail(p->err, CONVECT_USAGE, "\"%s %s\" has no option %s; \"%s %s --help\" lists them",
                        p->table->program, p->command->name, shown, p->table->program, p->command->name);
}

static option_value *value_of(const parser *p, const option_row *row) {
    return &p->out->value[row - p->table->rows];
}

/* Stores a value given on the command line: attached text, or for rows that need one the next word. */
static convect_status take(parser *p, const option_row *row, const char *attached) {
    char what[OPTION_NAME_MAX + 2];
    (void)snprintf(what, sizeof what, "--%s", row->name);
    const char *text = attached;
    if (!text && row->type == OPTION_FLAG) text = "on";
    if (!text) {
        if (p->i_arg >= p->argc) return convect_fail(p->err, CONVECT_USAGE, "%s needs a value: %s", what, row->arg);
        text = p->argv[p->i_arg++];
    }
    return value_set(row, text, true, value_of(p, row)) ? CONVECT_OK : value_fail(row, what, text, p->err);
}

static convect_status parse_long(parser *p, const char *word) {
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    if (n == 4 && memcmp(name, "help", 4) == 0) {
        p->out->wants_help = true;
        return CONVECT_OK;
    }
    const option_row *row = row_by_name(p, name, n);
    if (row) return take(p, row, equals ? equals + 1 : NULL);
    char shown[64], bare[OPTION_NAME_MAX];
    (void)snprintf(shown, sizeof shown, "%.*s", (int)(n < 60 ? n + 2 : 62), word);
    (void)snprintf(bare, sizeof bare, "%.*s", (int)(n < OPTION_NAME_MAX ? n : OPTION_NAME_MAX - 1), name);
    return unknown_option(p, shown, bare);
}

/* "-n 5", "-n5", and flags run together as in "-qx". */
static convect_status parse_short(parser *p, const char *word) {
    for (const char *c = word + 1; *c; c++) {
        if (*c == 'h') {
            p->out->wants_help = true;
            continue;
        }
        const option_row *row = row_by_letter(p, *c);
        char shown[3] = {'-', *c, 0};
        if (!row) return unknown_option(p, shown, "");
        bool is_flag = row->type == OPTION_FLAG;
        convect_status status = take(p, row, !is_flag && c[1] ? c + 1 : NULL);
        if (status || !is_flag) return status;
    }
    return CONVECT_OK;
}

void option_env_name(const option_table *table, const option_row *row, char out[static 64]) {
    (void)snprintf(out, 64, "%s%s", table->env_prefix, row->name);
    for (char *c = out; *c; c++) *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

/* Defaults, overridden by the environment. */
static convect_status parse_surroundings(parser *p) {
    for (size_t i = 0; i < p->table->n_rows; i++) {
        const option_row *row = &p->table->rows[i];
        if (!is_of(row, p->command)) continue;
        if (row->preset) CONVECT_CHECK(value_set(row, row->preset, false, value_of(p, row)));
        char name[64];
        option_env_name(p->table, row, name);
        const char *text = getenv(name);
        if (text && text[0] && !value_set(row, text, true, value_of(p, row)))
            return value_fail(row, name, text, p->err);
    }
    return CONVECT_OK;
}

static convect_status parse_words(parser *p, int *n_args) {
    bool is_ended = false;
    while (p->i_arg < p->argc) {
        char *word = p->argv[p->i_arg++];
        convect_status status = CONVECT_OK;
        if (is_ended || word[0] != '-' || !word[1])
            p->argv[(*n_args)++] = word;
        else if (strcmp(word, "--") == 0)
            is_ended = true;
        else
            status = word[1] == '-' ? parse_long(p, word) : parse_short(p, word);
        if (status) return status;
    }
    return CONVECT_OK;
}

static convect_status check_n_args(const parser *p, int n_args) {
    const option_command *c = p->command;
    if (n_args >= c->n_args_min && n_args <= c->n_args_max) return CONVECT_OK;
    if (n_args > c->n_args_max)
        return convect_fail(p->err, CONVECT_USAGE, "\"%s %s\" does not know what to do with \"%s\"; usage: %s %s %s",
                            p->table->program, c->name, p->argv[c->n_args_max], p->table->program, c->name, c->args);
    return convect_fail(p->err, CONVECT_USAGE, "\"%s %s\" needs more: %s", p->table->program, c->name, c->args);
}

convect_status option_parse(const option_table *table, const option_command *command, int argc, char **argv,
                            option_values *out, int *n_args, convect_error *err) {
    CONVECT_CHECK(table->n_rows <= OPTION_ROWS_MAX);
    *out = (option_values){.table = table, .command = command};
    *n_args = 0;
    parser p = {.table = table, .command = command, .argc = argc, .argv = argv, .out = out, .err = err};
    convect_status status = parse_surroundings(&p);
    if (!status) status = parse_words(&p, n_args);
    if (out->wants_help) { /* help is always given, also beside faults */
        convect_error_clear(err);
        return CONVECT_OK;
    }
    return status ? status : check_n_args(&p, *n_args);
}

/* ---- reading ---- */

static const option_value *value_at(const option_values *values, size_t i_row, uint32_t types) {
    CONVECT_CHECK(i_row < values->table->n_rows);
    const option_row *row = &values->table->rows[i_row];
    CONVECT_CHECK(is_of(row, values->command));
    CONVECT_CHECK(types & (1u << row->type));
    return &values->value[i_row];
}

bool option_is_set(const option_values *values, size_t i_row) {
    return value_at(values, i_row, ~0u)->is_set;
}

bool option_is_explicit(const option_values *values, size_t i_row) {
    return value_at(values, i_row, ~0u)->is_explicit;
}

bool option_flag(const option_values *values, size_t i_row) {
    return value_at(values, i_row, 1u << OPTION_FLAG)->u != 0;
}

uint64_t option_u64(const option_values *values, size_t i_row) {
    return value_at(values, i_row, 1u << OPTION_U64)->u;
}

double option_f64(const option_values *values, size_t i_row) {
    return value_at(values, i_row, 1u << OPTION_F64)->f;
}

uint64_t option_size_bytes(const option_values *values, size_t i_row) {
    return value_at(values, i_row, 1u << OPTION_SIZE)->u;
}

size_t option_choice(const option_values *values, size_t i_row) {
    return value_at(values, i_row, 1u << OPTION_CHOICE)->u;
}

const char *option_text(const option_values *values, size_t i_row) {
    return value_at(values, i_row, 1u << OPTION_STRING | 1u << OPTION_PATH | 1u << OPTION_CHOICE)->text;
}

/* ---- the table itself ---- */

static const char *row_fault(const option_table *table, const option_row *row) {
    if (!row->name[0] || strlen(row->name) >= OPTION_NAME_MAX) return "a name is empty or too long";
    if (strlen(table->env_prefix) + strlen(row->name) >= 64) return "an environment name is too long";
    if (row->letter == 'h' || strcmp(row->name, "help") == 0) return "help is built in";
    if ((row->type == OPTION_FLAG) != (row->arg == NULL)) return "a flag has an argument or an option has none";
    if (row->type == OPTION_CHOICE && !row->limits) return "a choice has no words";
    if (row->type == OPTION_FLAG && row->preset) return "a flag has a preset";
    limits l;
    if (has_range(row) && !limits_read(row, &l)) return "limits cannot be read";
    option_value v;
    if (row->preset && !value_set(row, row->preset, false, &v)) return "a preset is outside its limits";
    return row->commands && row->help && row->help[0] ? NULL : "a row has no command or no help";
}

const char *option_table_fault(const option_table *table) {
    if (table->n_rows > OPTION_ROWS_MAX) return "too many rows";
    uint64_t bits = 0;
    for (size_t i = 0; i < table->n_commands; i++) {
        uint64_t bit = table->commands[i].bit;
        if (!bit || (bit & (bit - 1)) || (bits & bit)) return "a command has no bit of its own";
        bits |= bit;
    }
    for (size_t i = 0; i < table->n_rows; i++) {
        const option_row *a = &table->rows[i];
        const char *fault = row_fault(table, a);
        if (fault) return fault;
        for (size_t j = 0; j < i; j++) {
            const option_row *b = &table->rows[j];
            if (!(a->commands & b->commands)) continue;
            if (strcmp(a->name, b->name) == 0) return "two rows of one command have one name";
            if (a->letter && a->letter == b->letter) return "two rows of one command have one letter";
        }
    }
    return NULL;
}
