/* Tests of a template: `x is NAME` and those that select and reject use. */
#include <string.h>

#include "engine/template_internal.h"

static value run_defined(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind != VALUE_UNDEFINED);
}

static value run_undefined(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_UNDEFINED);
}

static value run_none(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_NONE);
}

static value run_string(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_TEXT);
}

static value run_mapping(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_DICT);
}

static value run_iterable(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_UNDEFINED || v.kind == VALUE_TEXT || v.kind == VALUE_LIST ||
                      v.kind == VALUE_DICT || v.kind == VALUE_LOOP);
}

/* What has a length and items: undefined does, too. */
static value run_sequence(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_UNDEFINED || v.kind == VALUE_TEXT || v.kind == VALUE_DICT ||
                      (v.kind == VALUE_LIST && v.list->form <= LIST_TUPLE));
}

static value run_number(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(value_is_number(v));
}

static value run_integer(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_INT);
}

static value run_float(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_FLOAT);
}

static value run_boolean(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_BOOL);
}

static value run_true(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_BOOL && v.b);
}

static value run_false(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind == VALUE_BOOL && !v.b);
}

static value run_callable(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)c, (void)argv, (void)all;
    return value_bool(v.kind >= VALUE_LOOP || v.kind == VALUE_UNDEFINED);
}

static value run_equal(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_bool(value_compare(c, LINK_EQUAL, v, argv[0]));
}

static value run_not_equal(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_bool(value_compare(c, LINK_NOT_EQUAL, v, argv[0]));
}

static value run_less(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_bool(value_compare(c, LINK_LESS, v, argv[0]));
}

static value run_less_equal(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_bool(value_compare(c, LINK_LESS_EQUAL, v, argv[0]));
}

static value run_greater(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_bool(value_compare(c, LINK_GREATER, v, argv[0]));
}

static value run_greater_equal(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_bool(value_compare(c, LINK_GREATER_EQUAL, v, argv[0]));
}

static value run_in(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_bool(value_contains(c, argv[0], v));
}

static bool divides(template_context *c, value v, value by) {
    const value rest = value_operate(c, LINK_MODULO, v, by);
    return !value_truth(rest);
}

static value run_even(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_bool(divides(c, v, value_int(2)));
}

static value run_odd(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_bool(value_equal(c, value_operate(c, LINK_MODULO, v, value_int(2)), value_int(1)));
}

static value run_divisible(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return value_bool(divides(c, v, argv[0]));
}

/* The same object: told for none, booleans and containers, which is what templates ask. */
static value run_same(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    const value other = argv[0];
    if (v.kind != other.kind) return value_bool(false);
    if (v.kind == VALUE_LIST) return value_bool(v.list == other.list);
    if (v.kind == VALUE_DICT) return value_bool(v.dict == other.dict);
    return value_bool(value_equal(c, v, other));
}

static bool has_case(template_context *c, value v, bool upper) {
    rope *text = value_to_text(c, v), *changed = rope_change_case(c, text, upper);
    return rope_compare(c, text, changed) == 0 && rope_compare(c, text, rope_change_case(c, text, !upper)) != 0;
}

static value run_lower(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_bool(has_case(c, v, false));
}

static value run_upper(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_bool(has_case(c, v, true));
}

bool test_run(template_context *c, const char *name, value v, const call_arguments *arguments) {
    static const builtin tests[] = {
        {"defined", run_defined, ""},
        {"undefined", run_undefined, ""},
        {"none", run_none, ""},
        {"string", run_string, ""},
        {"mapping", run_mapping, ""},
        {"iterable", run_iterable, ""},
        {"sequence", run_sequence, ""},
        {"number", run_number, ""},
        {"integer", run_integer, ""},
        {"float", run_float, ""},
        {"boolean", run_boolean, ""},
        {"true", run_true, ""},
        {"false", run_false, ""},
        {"callable", run_callable, ""},
        {"eq", run_equal, "b"},
        {"equalto", run_equal, "b"},
        {"==", run_equal, "b"},
        {"ne", run_not_equal, "b"},
        {"!=", run_not_equal, "b"},
        {"lt", run_less, "b"},
        {"lessthan", run_less, "b"},
        {"<", run_less, "b"},
        {"le", run_less_equal, "b"},
        {"<=", run_less_equal, "b"},
        {"gt", run_greater, "b"},
        {"greaterthan", run_greater, "b"},
        {">", run_greater, "b"},
        {"ge", run_greater_equal, "b"},
        {">=", run_greater_equal, "b"},
        {"in", run_in, "seq"},
        {"even", run_even, ""},
        {"odd", run_odd, ""},
        {"divisibleby", run_divisible, "num"},
        {"sameas", run_same, "other"},
        {"lower", run_lower, ""},
        {"upper", run_upper, ""},
    };
    const builtin *b = builtin_find(tests, sizeof tests / sizeof *tests, name);
    if (!b) template_fail(c, CONVECT_NOT_SUPPORTED, "the test '%s' is not known", name);
    if (*b->params && arguments->n + arguments->n_named == 0)
        template_fail(c, CONVECT_DAMAGED, "the test '%s' needs an operand", name);
    return value_truth(builtin_call(c, b, v, arguments));
}
