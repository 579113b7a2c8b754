/* Operators, attributes, items and slices of values. */
#include <math.h>
#include <string.h>

#include "engine/template_internal.h"

_Noreturn static void fail_operands(template_context *c, const char *operator, value a, value b) {
    const value *missing = a.kind == VALUE_UNDEFINED ? &a : b.kind == VALUE_UNDEFINED ? &b : NULL;
    if (missing && missing->name) template_fail(c, CONVECT_DAMAGED, "'%s' is undefined", missing->name);
    template_fail(c, CONVECT_DAMAGED, "a %s and a %s do not go with %s", value_type_name(a),
                  value_type_name(b), operator);
}

/* ---- arithmetic ---- */

static const char *operator_text(link_op op) {
    static const char *const texts[] = {"+", "-", "~", "*", "/", "//", "%", "**"};
    return texts[op];
}

static int64_t integer_of(value v) {
    return v.kind == VALUE_INT ? v.i : v.b;
}

_Noreturn static void fail_zero(template_context *c) {
    template_fail(c, CONVECT_DAMAGED, "division by zero");
}

static bool power_overflows(int64_t base, int64_t exponent, int64_t *out) {
    *out = 1;
    if (base == 0 || base == 1 || base == -1) {
        *out = exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base;
        return false;
    }
    for (; exponent > 0; exponent--) /* at most 63 times */
        if (__builtin_mul_overflow(*out, base, out)) return true;
    return false;
}

/* Rounds towards minus infinity, as Python does. */
static int64_t floor_divide(int64_t a, int64_t b) {
    const int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static value operate_integers(template_context *c, link_op op, int64_t a, int64_t b) {
    int64_t r = 0;
    bool overflows = false;
    if ((op == LINK_DIVIDE || op == LINK_FLOOR_DIVIDE || op == LINK_MODULO) && b == 0) fail_zero(c);
    switch (op) {
    case LINK_ADD: overflows = __builtin_add_overflow(a, b, &r); break;
    case LINK_SUBTRACT: overflows = __builtin_sub_overflow(a, b, &r); break;
    case LINK_MULTIPLY: overflows = __builtin_mul_overflow(a, b, &r); break;
    case LINK_DIVIDE: return value_float((double)a / (double)b);
    case LINK_FLOOR_DIVIDE:
        overflows = a == INT64_MIN && b == -1;
        if (!overflows) r = floor_divide(a, b);
        break;
    case LINK_MODULO: r = b == -1 ? 0 : a - floor_divide(a, b) * b; break;
    default:
        if (b < 0) {
            if (a == 0) fail_zero(c);
            return value_float(pow((double)a, (double)b));
        }
        overflows = power_overflows(a, b, &r);
    }
    if (overflows) template_fail(c, CONVECT_NOT_SUPPORTED, "an integer beyond 64 bits");
    return value_int(r);
}

static value operate_floats(template_context *c, link_op op, double a, double b) {
    if ((op == LINK_DIVIDE || op == LINK_FLOOR_DIVIDE || op == LINK_MODULO) && b == 0) fail_zero(c);
    switch (op) {
    case LINK_ADD: return value_float(a + b);
    case LINK_SUBTRACT: return value_float(a - b);
    case LINK_MULTIPLY: return value_float(a * b);
    case LINK_DIVIDE: return value_float(a / b);
    case LINK_FLOOR_DIVIDE: return value_float(floor(a / b));
    case LINK_MODULO: {
        const double r = fmod(a, b);
        return value_float(r != 0 && (r < 0) != (b < 0) ? r + b : r);
    }
    default: return value_float(pow(a, b));
    }
}

static value operate_numbers(template_context *c, link_op op, value a, value b) {
    value v = a.kind != VALUE_FLOAT && b.kind != VALUE_FLOAT ? operate_integers(c, op, integer_of(a), integer_of(b))
                                                             : operate_floats(c, op, value_number(a), value_number(b));
    v.from_user = a.from_user || b.from_user;
    return v;
}

/* ---- texts and lists ---- */

static value add_lists(template_context *c, value a, value b) {
    list *l = list_new(c, a.list->form);
    for (size_t i = 0; i < a.list->n; i++) list_push(c, l, a.list->items[i]);
    for (size_t i = 0; i < b.list->n; i++) list_push(c, l, b.list->items[i]);
    template_step(c, 64 * l->n);
    return value_list(l);
}

static value repeat(template_context *c, value v, int64_t n) {
    if (v.kind == VALUE_TEXT) {
        rope *out = rope_new(c);
        for (int64_t i = 0; i < n && v.text->n_bytes > 0; i++) rope_push_rope(c, out, v.text);
        return value_text(out);
    }
    list *l = list_new(c, v.list->form);
    for (int64_t i = 0; i < n && v.list->n > 0; i++) {
        template_step(c, 64 * v.list->n);
        for (size_t j = 0; j < v.list->n; j++) list_push(c, l, v.list->items[j]);
    }
    return value_list(l);
}

static bool is_sequence(value v) {
    return v.kind == VALUE_TEXT || (v.kind == VALUE_LIST && v.list->form <= LIST_TUPLE);
}

value value_operate(template_context *c, link_op op, value a, value b) {
    template_step(c, 0);
    if (op == LINK_JOIN) return value_text(rope_concat(c, value_to_text(c, a), value_to_text(c, b)));
    if (value_is_number(a) && value_is_number(b)) return operate_numbers(c, op, a, b);
    if (op == LINK_ADD && a.kind == VALUE_TEXT && b.kind == VALUE_TEXT)
        return value_text(rope_concat(c, a.text, b.text));
    if (op == LINK_ADD && is_sequence(a) && is_sequence(b) && a.kind == VALUE_LIST && b.kind == VALUE_LIST &&
        a.list->form == b.list->form)
        return add_lists(c, a, b);
    if (op == LINK_MULTIPLY && is_sequence(a) && (b.kind == VALUE_INT || b.kind == VALUE_BOOL))
        return repeat(c, a, integer_of(b));
    if (op == LINK_MULTIPLY && is_sequence(b) && (a.kind == VALUE_INT || a.kind == VALUE_BOOL))
        return repeat(c, b, integer_of(a));
    if (op == LINK_MODULO && a.kind == VALUE_TEXT)
        template_fail(c, CONVECT_NOT_SUPPORTED, "formatting a text with %% is not supported");
    fail_operands(c, operator_text(op), a, b);
}

bool value_compare(template_context *c, link_op op, value a, value b) {
    switch (op) {
    case LINK_EQUAL: return value_equal(c, a, b);
    case LINK_NOT_EQUAL: return !value_equal(c, a, b);
    case LINK_IN: return value_contains(c, b, a);
    case LINK_NOT_IN: return !value_contains(c, b, a);
    default: break;
    }
    if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED) fail_operands(c, "a comparison", a, b);
    const int order = value_order(c, a, b);
    switch (op) {
    case LINK_LESS: return order < 0;
    case LINK_LESS_EQUAL: return order <= 0;
    case LINK_GREATER: return order > 0;
    default: return order >= 0;
    }
}

/* ---- attributes and items ---- */

static value loop_attribute(const loop *l, const char *name) {
    const size_t n = l->items->n, i = l->i;
    if (strcmp(name, "index") == 0) return value_int((int64_t)i + 1);
    if (strcmp(name, "index0") == 0) return value_int((int64_t)i);
    if (strcmp(name, "revindex") == 0) return value_int((int64_t)(n - i));
    if (strcmp(name, "revindex0") == 0) return value_int((int64_t)(n - i) - 1);
    if (strcmp(name, "first") == 0) return value_bool(i == 0);
    if (strcmp(name, "last") == 0) return value_bool(i + 1 == n);
    if (strcmp(name, "length") == 0) return value_int((int64_t)n);
    /* only recursive loops have more */
    if (strcmp(name, "depth") == 0) return value_int(1);
    if (strcmp(name, "depth0") == 0) return value_int(0);
    if (strcmp(name, "previtem") == 0 && i > 0) return l->items->items[i - 1];
    if (strcmp(name, "nextitem") == 0 && i + 1 < n) return l->items->items[i + 1];
    return value_undefined(name);
}

_Noreturn static void fail_undefined(template_context *c, value v) {
    template_fail(c, CONVECT_DAMAGED, "'%s' is undefined", v.name ? v.name : "a value");
}

value value_attribute(template_context *c, value v, const char *name) {
    const value *found = NULL;
    template_step(c, 0);
    if (v.kind == VALUE_UNDEFINED) fail_undefined(c, v);
    if (v.kind == VALUE_LOOP && !method_exists(v, name)) return loop_attribute(v.loop, name);
    if (method_exists(v, name)) {
        method *m = template_take(c, sizeof *m);
        *m = (method){v, name};
        return (value){.kind = VALUE_METHOD, .method = m};
    }
    if (v.kind == VALUE_DICT || v.kind == VALUE_NAMESPACE) found = dict_find_text(c, v.dict, name);
    return found ? *found : value_undefined(name);
}

static value character_at(template_context *c, rope *text, int64_t index) {
    const int64_t n = (int64_t)rope_n_characters(c, text);
    const char *flat = rope_flat(c, text);
    if (index < 0) index += n;
    if (index < 0 || index >= n) return value_undefined("an item");
    size_t off = 0;
    int32_t code;
    while (index-- > 0) off += character_read(flat + off, text->n_bytes - off, &code);
    return value_text(rope_slice(c, text, off, character_read(flat + off, text->n_bytes - off, &code)));
}

value value_item(template_context *c, value v, value key) {
    template_step(c, 0);
    if (v.kind == VALUE_UNDEFINED) fail_undefined(c, v);
    if (v.kind == VALUE_DICT && key.kind != VALUE_DICT && key.kind != VALUE_LIST) {
        const value *found = dict_find(c, v.dict, key);
        if (found) return *found;
    }
    if (is_sequence(v) && (key.kind == VALUE_INT || key.kind == VALUE_BOOL)) {
        int64_t i = integer_of(key);
        if (v.kind == VALUE_TEXT) return character_at(c, v.text, i);
        if (i < 0) i += (int64_t)v.list->n;
        return i >= 0 && i < (int64_t)v.list->n ? v.list->items[i] : value_undefined("an item");
    }
    if (key.kind != VALUE_TEXT) return value_undefined("an item");
    char *name = template_take(c, key.text->n_bytes + 1);
    memcpy(name, rope_flat(c, key.text), key.text->n_bytes);
    return v.kind == VALUE_DICT && !method_exists(v, name) ? value_undefined(name) : value_attribute(c, v, name);
}

/* ---- slices ---- */

typedef struct slice_range {
    int64_t start, stop, step;
} slice_range;

static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high) {
    if (i < 0) i += n;
    return i < low ? low : i > high ? high : i;
}

/* Python's rules for n items. */
static slice_range resolve_slice(template_context *c, const value bounds[3], int64_t n) {
    slice_range r = {0, n, 1};
    const bool has[3] = {bounds[0].kind > VALUE_NONE, bounds[1].kind > VALUE_NONE, bounds[2].kind > VALUE_NONE};
    for (int i = 0; i < 3; i++)
        if (bounds[i].kind == VALUE_UNDEFINED) fail_undefined(c, bounds[i]);
    if (has[2]) r.step = value_integer(c, bounds[2], "the step of a slice");
    if (r.step == 0) template_fail(c, CONVECT_DAMAGED, "the step of a slice is 0");
    const int64_t low = r.step < 0 ? -1 : 0, high = r.step < 0 ? n - 1 : n;
    r.start = r.step < 0 ? high : low;
    r.stop = r.step < 0 ? low : high;
    if (has[0]) r.start = clamp(value_integer(c, bounds[0], "the begin of a slice"), n, low, high);
    if (has[1]) r.stop = clamp(value_integer(c, bounds[1], "the end of a slice"), n, low, high);
    return r;
}

/* The next index, or one that ends the slice if it would overflow. */
static int64_t slice_next(const slice_range *r, int64_t i) {
    int64_t next;
    return __builtin_add_overflow(i, r->step, &next) ? r->stop : next;
}

static bool slice_has(const slice_range *r, int64_t i) {
    return r->step > 0 ? i < r->stop : i > r->stop;
}

static value slice_text(template_context *c, rope *text, const value bounds[3]) {
    const size_t n = rope_n_characters(c, text);
    const slice_range r = resolve_slice(c, bounds, (int64_t)n);
    const char *flat = rope_flat(c, text);
    uint32_t *offsets = template_take(c, (n + 1) * sizeof *offsets); /* of characters */
    int32_t code;
    for (size_t i = 0; i < n; i++)
        offsets[i + 1] = offsets[i] + (uint32_t)character_read(flat + offsets[i], text->n_bytes - offsets[i], &code);
    if (r.step == 1) {
        const size_t begin = offsets[r.start], end = offsets[r.stop > r.start ? r.stop : r.start];
        return value_text(rope_slice(c, text, begin, end - begin));
    }
    rope *out = rope_new(c);
    for (int64_t i = r.start; slice_has(&r, i); i = slice_next(&r, i))
        rope_push_rope(c, out, rope_slice(c, text, offsets[i], offsets[i + 1] - offsets[i]));
    return value_text(out);
}

value value_slice(template_context *c, value v, const value bounds[3]) {
    template_step(c, 0);
    if (v.kind == VALUE_UNDEFINED) fail_undefined(c, v);
    if (v.kind == VALUE_TEXT) return slice_text(c, v.text, bounds);
    if (!is_sequence(v)) template_fail(c, CONVECT_DAMAGED, "a slice of a %s", value_type_name(v));
    const slice_range r = resolve_slice(c, bounds, (int64_t)v.list->n);
    list *l = list_new(c, v.list->form);
    for (int64_t i = r.start; slice_has(&r, i); i = slice_next(&r, i)) list_push(c, l, v.list->items[i]);
    template_step(c, 64 * l->n);
    value out = value_list(l);
    out.from_user = v.from_user;
    return out;
}

value value_path(template_context *c, value v, rope *path) {
    const char *text = rope_flat(c, path);
    for (size_t begin = 0; begin <= path->n_bytes;) {
        const char *point = memchr(text + begin, '.', path->n_bytes - begin);
        const size_t end = point ? (size_t)(point - text) : path->n_bytes;
        int64_t index = 0;
        bool is_index = end > begin && end - begin < 10;
        for (size_t i = begin; i < end && is_index; i++) {
            is_index = text[i] >= '0' && text[i] <= '9';
            if (is_index) index = index * 10 + (text[i] - '0');
        }
        v = value_item(c, v, is_index ? value_int(index) : value_text(rope_slice(c, path, begin, end - begin)));
        begin = end + 1;
    }
    return v;
}
