/* Filters that look at one value, and the functions of a template. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/template_internal.h"

static bool is_given(value v) {
    return v.kind > VALUE_NONE;
}

static bool truth_or(value v, bool fallback) {
    return v.kind == VALUE_ABSENT ? fallback : value_truth(v);
}

/* ---- tojson ---- */

/* indent=2 or indent='  ' */
static rope *indent_of(template_context *c, value v) {
    if (!is_given(v)) return NULL;
    if (v.kind == VALUE_TEXT) return v.text;
    const int64_t n = value_integer(c, v, "indent");
    rope *indent = rope_new(c);
    for (int64_t i = 0; i < n; i++) {
        template_step(c, 0);
        rope_push_text(c, indent, " ");
    }
    return indent;
}

static void take_separators(template_context *c, value v, json_style *style) {
    if (v.kind != VALUE_LIST || v.list->n != 2 || v.list->items[0].kind != VALUE_TEXT ||
        v.list->items[1].kind != VALUE_TEXT)
        template_fail(c, CONVECT_DAMAGED, "separators of tojson are two texts");
    style->item_separator = v.list->items[0].text;
    style->key_separator = v.list->items[1].text;
}

static value run_tojson(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    json_style style = {.ascii = truth_or(argv[0], false),
                        .indent = indent_of(c, argv[1]),
                        .sorts_keys = truth_or(argv[3], false),
                        .key_separator = rope_of(c, ": ", 2, false)};
    style.item_separator = rope_of(c, ", ", style.indent ? 1 : 2, false);
    if (is_given(argv[2])) take_separators(c, argv[2], &style);
    rope *out = rope_new(c);
    value_push_json(c, out, v, &style);
    return value_text(out);
}

/* ---- texts ---- */

static value run_string(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(value_to_text(c, v));
}

static value run_trim(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_text(rope_strip(c, value_to_text(c, v), argv[0], true, true));
}

static value run_upper(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(rope_change_case(c, value_to_text(c, v), true));
}

static value run_lower(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(rope_change_case(c, value_to_text(c, v), false));
}

static value run_title(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(rope_title(c, value_to_text(c, v), true));
}

static value run_capitalize(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(rope_capitalize(c, value_to_text(c, v)));
}

static value run_replace(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    const int64_t n_max = is_given(argv[2]) ? value_integer(c, argv[2], "count") : -1;
    if (argv[0].kind == VALUE_ABSENT || argv[1].kind == VALUE_ABSENT)
        template_fail(c, CONVECT_DAMAGED, "replace needs what to replace and by what");
    return value_text(
        rope_replace(c, value_to_text(c, v), value_to_text(c, argv[0]), value_to_text(c, argv[1]), n_max));
}

/* Lines joined again, with white space before all but the first. */
static value run_indent(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    rope *indent = argv[0].kind == VALUE_ABSENT ? rope_of(c, "    ", 4, false) : indent_of(c, argv[0]);
    rope *text = value_to_text(c, v), *out = rope_new(c);
    if (!indent) template_fail(c, CONVECT_DAMAGED, "the width of indent is none");
    rope *whole = rope_new(c);
    *whole = *text;
    rope_push_text(c, whole, "\n"); /* as jinja2: so that a newline at the end gives an empty line */
    const list *lines = rope_lines(c, whole);
    for (size_t i = 0; i < lines->n; i++) {
        if (i > 0) rope_push_text(c, out, "\n");
        const bool is_indented =
            i == 0 ? truth_or(argv[1], false) : truth_or(argv[2], false) || lines->items[i].text->n_bytes > 0;
        if (is_indented) rope_push_rope(c, out, indent);
        rope_push_rope(c, out, lines->items[i].text);
    }
    return value_text(out);
}

/* ---- numbers ---- */

/* The text without white space at its ends, with a NUL; NULL if it is too long to be a number. */
static const char *number_text(template_context *c, rope *r) {
    rope *stripped = rope_strip(c, r, value_none(), true, true);
    if (stripped->n_bytes > 400) return NULL;
    char *text = template_take(c, stripped->n_bytes + 1);
    memcpy(text, rope_flat(c, stripped), stripped->n_bytes);
    return strpbrk(text, "xXpP(") ? NULL : text; /* what strtod knows and Python does not */
}

static bool parse_float(template_context *c, value v, double *out) {
    if (value_is_number(v)) {
        *out = value_number(v);
        return true;
    }
    const char *text = v.kind == VALUE_TEXT ? number_text(c, v.text) : NULL;
    char *end = NULL;
    if (!text || !*text) return false;
    *out = strtod(text, &end);
    return *end == 0;
}

static value int_of_float(template_context *c, double f) {
    if (!(fabs(f) < 0x1p63)) template_fail(c, CONVECT_NOT_SUPPORTED, "an integer beyond 64 bits");
    return value_int((int64_t)f);
}

static value run_int(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    const value fallback = argv[0].kind == VALUE_ABSENT ? value_int(0) : argv[0];
    const int64_t base = argv[1].kind == VALUE_ABSENT ? 10 : value_integer(c, argv[1], "the base");
    double f;
    if (v.kind == VALUE_UNDEFINED) template_fail(c, CONVECT_DAMAGED, "'%s' is undefined", v.name);
    if (v.kind == VALUE_INT) return v;
    if (v.kind == VALUE_BOOL) return value_int(v.b);
    if (v.kind == VALUE_TEXT && base >= 2 && base <= 36) {
        const char *text = number_text(c, v.text);
        char *end = NULL;
        errno = 0;
        const long long i = text && *text ? strtoll(text, &end, (int)base) : 0;
        if (end && *end == 0 && errno == 0) return value_int(i);
    }
    if (!parse_float(c, v, &f) || !isfinite(f)) return fallback;
    return int_of_float(c, f);
}

static value run_float(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    double f;
    if (v.kind == VALUE_UNDEFINED) template_fail(c, CONVECT_DAMAGED, "'%s' is undefined", v.name);
    if (parse_float(c, v, &f)) return value_float(f);
    return argv[0].kind == VALUE_ABSENT ? value_float(0) : argv[0];
}

static value run_abs(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    if (v.kind == VALUE_FLOAT) return value_float(fabs(v.f));
    return value_integer(c, v, "what abs gets") < 0 ? value_operate(c, LINK_SUBTRACT, value_int(0), v) : v;
}

/* To whole numbers, or to a power of ten below; ties to even, as Python does. */
static value run_round(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    if (argv[1].kind != VALUE_ABSENT || (is_given(argv[0]) && value_integer(c, argv[0], "precision") != 0))
        template_fail(c, CONVECT_NOT_SUPPORTED, "round to decimals or with a method is not supported");
    if (!value_is_number(v)) template_fail(c, CONVECT_DAMAGED, "round gets a %s", value_type_name(v));
    return v.kind == VALUE_FLOAT ? value_float(nearbyint(v.f)) : v;
}

/* ---- others ---- */

static value run_length(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_int((int64_t)value_length(c, v));
}

static value run_default(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    const bool replaces = v.kind == VALUE_UNDEFINED || (truth_or(argv[1], false) && !value_truth(v));
    if (!replaces) return v;
    return argv[0].kind == VALUE_ABSENT ? value_literal(c, "") : argv[0];
}

static value run_safe(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(value_to_text(c, v));
}

static value run_attr(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    if (argv[0].kind != VALUE_TEXT) template_fail(c, CONVECT_DAMAGED, "attr needs a name");
    return v.kind == VALUE_NAMESPACE ? value_item(c, v, argv[0]) : value_undefined("an attribute");
}

static const builtin filters[] = {
    {"tojson", run_tojson, "ensure_ascii,indent,separators,sort_keys"},
    {"string", run_string, ""},
    {"trim", run_trim, "chars"},
    {"upper", run_upper, ""},
    {"lower", run_lower, ""},
    {"title", run_title, ""},
    {"capitalize", run_capitalize, ""},
    {"replace", run_replace, "old,new,count"},
    {"indent", run_indent, "width,first,blank"},
    {"int", run_int, "default,base"},
    {"float", run_float, "default"},
    {"abs", run_abs, ""},
    {"round", run_round, "precision,method"},
    {"length", run_length, ""},
    {"count", run_length, ""},
    {"default", run_default, "default_value,boolean"},
    {"d", run_default, "default_value,boolean"},
    {"safe", run_safe, ""},
    {"attr", run_attr, "name"},
};

value filter_run(template_context *c, const char *name, value v, const call_arguments *arguments) {
    const builtin *b = builtin_find(filters, sizeof filters / sizeof *filters, name);
    if (!b) b = builtin_find(sequence_filters, n_sequence_filters, name);
    if (!b) template_fail(c, CONVECT_NOT_SUPPORTED, "the filter '%s' is not known", name);
    template_enter(c);
    const value out = builtin_call(c, b, v, arguments);
    template_leave(c);
    return out;
}

/* ---- functions ---- */

#define RANGE_MAX 100000 /* jinja2's sandbox refuses longer ones as well */

static value call_range(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)self, (void)all;
    const bool has_start = is_given(argv[1]);
    int64_t i = has_start ? value_integer(c, argv[0], "the start of a range") : 0;
    const int64_t stop = value_integer(c, argv[has_start], "the end of a range");
    const int64_t step = is_given(argv[2]) ? value_integer(c, argv[2], "the step of a range") : 1;
    list *l = list_new(c, LIST_PLAIN);
    if (step == 0) template_fail(c, CONVECT_DAMAGED, "the step of a range is 0");
    while (step > 0 ? i < stop : i > stop) {
        if (l->n == RANGE_MAX) template_fail(c, CONVECT_NOT_SUPPORTED, "a range of more than %d numbers", RANGE_MAX);
        list_push(c, l, value_int(i));
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    template_step(c, 64 * l->n);
    return value_list(l);
}

/* dict(mapping, name=value, ...) and namespace alike. */
static dict *collect(template_context *c, const call_arguments *all) {
    dict *d = dict_new(c);
    if (all->n > 1 || (all->n == 1 && all->items[0].kind != VALUE_DICT))
        template_fail(c, CONVECT_NOT_SUPPORTED, "dict and namespace take a mapping and named values");
    for (size_t i = 0; all->n == 1 && i < all->items[0].dict->n; i++)
        dict_set(c, d, all->items[0].dict->entries[i].key, all->items[0].dict->entries[i].item);
    for (size_t i = 0; i < all->n_named; i++) dict_set(c, d, value_literal(c, all->named[i].name), all->named[i].v);
    return d;
}

static value call_dict(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)self, (void)argv;
    return value_dict(collect(c, all));
}

static value call_namespace(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)self, (void)argv;
    return (value){.kind = VALUE_NAMESPACE, .dict = collect(c, all)};
}

static value call_raise(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)self, (void)all;
    rope *text = value_to_text(c, argv[0]);
    template_fail(c, CONVECT_USAGE, "%.*s", (int)(text->n_bytes < 300 ? text->n_bytes : 300), rope_flat(c, text));
}

static value call_strftime(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)self, (void)all;
    struct tm now;
    char format[256], text[1024];
    if (argv[0].kind != VALUE_TEXT || argv[0].text->n_bytes >= sizeof format - 1)
        template_fail(c, CONVECT_DAMAGED, "strftime_now needs a format");
    memcpy(format, rope_flat(c, argv[0].text), argv[0].text->n_bytes);
    format[argv[0].text->n_bytes] = 0;
    if (!localtime_r(&c->now, &now)) template_fail(c, CONVECT_NOT_SUPPORTED, "this moment has no date");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the template chooses, strftime bounds */
    const size_t n = strftime(text, sizeof text, format, &now);
#pragma GCC diagnostic pop
    rope *out = rope_new(c);
    rope_push_copy(c, out, text, n, false);
    return value_text(out);
}

const builtin *function_find(const char *name) {
    static const builtin functions[] = {
        {"range", call_range, "start,stop,step"},  {"dict", call_dict, NULL},
        {"namespace", call_namespace, NULL},       {"raise_exception", call_raise, "message"},
        {"strftime_now", call_strftime, "format"},
    };
    return builtin_find(functions, sizeof functions / sizeof *functions, name);
}
