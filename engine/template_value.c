/* Values and what Python does with any of them: truth, equality, order, membership, length. */
#include <math.h>
#include <string.h>

#include <json-c/json.h>

#include "engine/template_internal.h"

/* NOLINTBEGIN(misc-no-recursion): template_enter bounds it */

value value_undefined(const char *name) {
    return (value){.kind = VALUE_UNDEFINED, .name = name};
}

value value_none(void) {
    return (value){.kind = VALUE_NONE};
}

value value_bool(bool b) {
    return (value){.kind = VALUE_BOOL, .b = b};
}

value value_int(int64_t i) {
    return (value){.kind = VALUE_INT, .i = i};
}

value value_float(double f) {
    return (value){.kind = VALUE_FLOAT, .f = f};
}

value value_text(rope *text) {
    return (value){.kind = VALUE_TEXT, .text = text};
}

value value_literal(template_context *c, const char *text) {
    return value_text(rope_of(c, text, strlen(text), false));
}

value value_list(list *l) {
    return (value){.kind = VALUE_LIST, .list = l};
}

value value_dict(dict *d) {
    return (value){.kind = VALUE_DICT, .dict = d};
}

/* ---- containers ---- */

list *list_new(template_context *c, list_form form) {
    list *l = template_take(c, sizeof *l);
    l->form = form;
    return l;
}

void list_push(template_context *c, list *l, value v) {
    if (l->n == l->cap) {
        const size_t cap = l->cap < 4 ? 4 : 2 * l->cap;
        value *larger = template_take(c, cap * sizeof *larger);
        if (l->n > 0) memcpy(larger, l->items, l->n * sizeof *larger);
        l->items = larger;
        l->cap = cap;
    }
    l->items[l->n++] = v;
}

dict *dict_new(template_context *c) {
    return template_take(c, sizeof(dict));
}

static void check_hashable(template_context *c, value key) {
    if (key.kind == VALUE_DICT || (key.kind == VALUE_LIST && key.list->form != LIST_TUPLE))
        template_fail(c, CONVECT_DAMAGED, "a %s cannot be a key", value_type_name(key));
}

const value *dict_find(template_context *c, const dict *d, value key) {
    check_hashable(c, key);
    template_step(c, 64 * d->n);
    for (size_t i = 0; i < d->n; i++)
        if (value_equal(c, d->entries[i].key, key)) return &d->entries[i].item;
    return NULL;
}

const value *dict_find_text(template_context *c, const dict *d, const char *key) {
    template_step(c, 64 * d->n);
    for (size_t i = 0; i < d->n; i++)
        if (d->entries[i].key.kind == VALUE_TEXT && rope_is(c, d->entries[i].key.text, key)) return &d->entries[i].item;
    return NULL;
}

static void dict_append(template_context *c, dict *d, value key, value item) {
    if (d->n == d->cap) {
        const size_t cap = d->cap < 4 ? 4 : 2 * d->cap;
        dict_entry *larger = template_take(c, cap * sizeof *larger);
        if (d->n > 0) memcpy(larger, d->entries, d->n * sizeof *larger);
        d->entries = larger;
        d->cap = cap;
    }
    d->entries[d->n++] = (dict_entry){key, item};
}

void dict_set(template_context *c, dict *d, value key, value item) {
    check_hashable(c, key);
    template_step(c, 64 * d->n);
    for (size_t i = 0; i < d->n; i++) {
        if (!value_equal(c, d->entries[i].key, key)) continue;
        d->entries[i].item = item;
        return;
    }
    dict_append(c, d, key, item);
}

/* ---- from JSON ---- */

static value text_of_json(template_context *c, const char *text, size_t n_bytes) {
    value v = value_text(rope_of(c, text, n_bytes, true));
    v.from_user = true;
    return v;
}

static value dict_of_json(template_context *c, struct json_object *o) {
    dict *d = dict_new(c);
    struct json_object_iter at;
    json_object_object_foreachC(o, at) {
        const value name = text_of_json(c, at.key, strlen(at.key));
        dict_append(c, d, name, value_of_json(c, at.val)); /* keys differ already */
    }
    return value_dict(d);
}

static value list_of_json(template_context *c, struct json_object *o) {
    list *l = list_new(c, LIST_PLAIN);
    const size_t n = json_object_array_length(o);
    for (size_t i = 0; i < n; i++) list_push(c, l, value_of_json(c, json_object_array_get_idx(o, i)));
    return value_list(l);
}

static value int_of_json(template_context *c, struct json_object *o) {
    const int64_t i = json_object_get_int64(o);
    if (i == INT64_MAX && json_object_get_uint64(o) > INT64_MAX)
        template_fail(c, CONVECT_NOT_SUPPORTED, "an integer above 2^63");
    return value_int(i);
}

value value_of_json(template_context *c, struct json_object *o) {
    value v = value_none();
    template_enter(c);
    if (c->depth > 2 * TEMPLATE_NESTING_MAX)
        template_fail(c, CONVECT_NOT_SUPPORTED, "more than %d levels of JSON", 2 * TEMPLATE_NESTING_MAX);
    switch (json_object_get_type(o)) {
    case json_type_null: break;
    case json_type_boolean: v = value_bool(json_object_get_boolean(o)); break;
    case json_type_double: v = value_float(json_object_get_double(o)); break;
    case json_type_int: v = int_of_json(c, o); break;
    case json_type_object: v = dict_of_json(c, o); break;
    case json_type_array: v = list_of_json(c, o); break;
    case json_type_string: v = text_of_json(c, json_object_get_string(o), (size_t)json_object_get_string_len(o)); break;
    }
    template_leave(c);
    v.from_user = true;
    return v;
}

/* ---- questions ---- */

const char *value_type_name(value v) {
    static const char *const names[] = {"undefined", "undefined", "NoneType",  "bool", "int",   "float",    "str",
                                        "list",      "dict",      "namespace", "loop", "macro", "function", "method"};
    if (v.kind == VALUE_LIST && v.list->form == LIST_TUPLE) return "tuple";
    if (v.kind == VALUE_LIST && v.list->form == LIST_LAZY) return "generator";
    return names[v.kind];
}

bool value_is_number(value v) {
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

double value_number(value v) {
    return v.kind == VALUE_FLOAT ? v.f : v.kind == VALUE_INT ? (double)v.i : (double)v.b;
}

int64_t value_integer(template_context *c, value v, const char *what) {
    if (v.kind == VALUE_INT) return v.i;
    if (v.kind == VALUE_BOOL) return v.b;
    template_fail(c, CONVECT_DAMAGED, "%s is no integer but a %s", what, value_type_name(v));
}

bool value_truth(value v) {
    switch (v.kind) {
    case VALUE_ABSENT:
    case VALUE_UNDEFINED:
    case VALUE_NONE: return false;
    case VALUE_BOOL: return v.b;
    case VALUE_INT: return v.i != 0;
    case VALUE_FLOAT: return v.f != 0;
    case VALUE_TEXT: return v.text->n_bytes > 0;
    case VALUE_LIST: return v.list->n > 0 || v.list->form == LIST_LAZY;
    case VALUE_DICT: return v.dict->n > 0;
    default: return true;
    }
}

static bool lists_equal(template_context *c, const list *a, const list *b) {
    if (a == b) return true;
    if (a->n != b->n || a->form != b->form || a->form >= LIST_VIEW) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!value_equal(c, a->items[i], b->items[i])) return false;
    return true;
}

static bool dicts_equal(template_context *c, const dict *a, const dict *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++) {
        const value *other = dict_find(c, b, a->entries[i].key);
        if (!other || !value_equal(c, a->entries[i].item, *other)) return false;
    }
    return true;
}

static bool numbers_equal(value a, value b) {
    if (a.kind != VALUE_FLOAT && b.kind != VALUE_FLOAT)
        return (a.kind == VALUE_INT ? a.i : a.b) == (b.kind == VALUE_INT ? b.i : b.b);
    return value_number(a) == value_number(b);
}

static bool same_kind_equal(template_context *c, value a, value b) {
    switch (a.kind) {
    case VALUE_ABSENT:
    case VALUE_UNDEFINED:
    case VALUE_NONE: return true;
    case VALUE_TEXT: return a.text->n_bytes == b.text->n_bytes && rope_compare(c, a.text, b.text) == 0;
    case VALUE_LIST: return lists_equal(c, a.list, b.list);
    case VALUE_DICT: return dicts_equal(c, a.dict, b.dict);
    case VALUE_NAMESPACE: return a.dict == b.dict;
    case VALUE_LOOP: return a.loop == b.loop;
    case VALUE_MACRO: return a.macro == b.macro;
    case VALUE_FUNCTION: return a.function == b.function;
    default: return false;
    }
}

bool value_equal(template_context *c, value a, value b) {
    if (value_is_number(a) && value_is_number(b)) return numbers_equal(a, b);
    if (a.kind != b.kind) return false;
    template_enter(c);
    template_step(c, 0);
    const bool is_equal = same_kind_equal(c, a, b);
    template_leave(c);
    return is_equal;
}

int value_order(template_context *c, value a, value b) {
    if (value_is_number(a) && value_is_number(b)) {
        if (a.kind == VALUE_INT && b.kind == VALUE_INT) return (a.i > b.i) - (a.i < b.i);
        return (value_number(a) > value_number(b)) - (value_number(a) < value_number(b));
    }
    if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT) return rope_compare(c, a.text, b.text);
    if (a.kind != VALUE_LIST || b.kind != VALUE_LIST || a.list->form != b.list->form || a.list->form >= LIST_VIEW)
        template_fail(c, CONVECT_DAMAGED, "a %s and a %s have no order", value_type_name(a), value_type_name(b));
    int order = 0;
    template_enter(c);
    template_step(c, 0);
    for (size_t i = 0; order == 0 && i < a.list->n && i < b.list->n; i++)
        if (!value_equal(c, a.list->items[i], b.list->items[i]))
            order = value_order(c, a.list->items[i], b.list->items[i]);
    template_leave(c);
    return order != 0 ? order : (a.list->n > b.list->n) - (a.list->n < b.list->n);
}
/* NOLINTEND(misc-no-recursion) */

bool value_contains(template_context *c, value container, value item) {
    if (container.kind == VALUE_DICT) return dict_find(c, container.dict, item) != NULL;
    if (container.kind == VALUE_TEXT) {
        if (item.kind != VALUE_TEXT)
            template_fail(c, CONVECT_DAMAGED, "only a text is in a text, no %s", value_type_name(item));
        return rope_find(c, container.text, item.text, 0) != SIZE_MAX;
    }
    const list *l = value_iterate(c, container);
    for (size_t i = 0; i < l->n; i++)
        if (value_equal(c, l->items[i], item)) return true;
    return false;
}

size_t value_length(template_context *c, value v) {
    switch (v.kind) {
    case VALUE_UNDEFINED: return 0;
    case VALUE_TEXT: return rope_n_characters(c, v.text);
    case VALUE_DICT: return v.dict->n;
    case VALUE_LOOP: return v.loop->items->n;
    case VALUE_LIST:
        if (v.list->form != LIST_LAZY) return v.list->n;
        break;
    default: break;
    }
    template_fail(c, CONVECT_DAMAGED, "a %s has no length", value_type_name(v));
}

static list *characters_of(template_context *c, rope *text) {
    list *l = list_new(c, LIST_PLAIN);
    const char *flat = rope_flat(c, text);
    int32_t code;
    size_t off = 0;
    for (size_t i = 0; i < text->n_pieces; i++) /* piece by piece: a slice would search for its place */
        for (size_t end = off + text->block->pieces[i].n_bytes; off < end;) {
            const size_t n = character_read(flat + off, end - off, &code);
            list_push(c, l, value_text(rope_of(c, flat + off, n, text->block->pieces[i].from_user)));
            off += n;
        }
    return l;
}

static list *keys_of(template_context *c, const dict *d) {
    list *l = list_new(c, LIST_PLAIN);
    for (size_t i = 0; i < d->n; i++) list_push(c, l, d->entries[i].key);
    return l;
}

list *value_iterate(template_context *c, value v) {
    switch (v.kind) {
    case VALUE_UNDEFINED: return list_new(c, LIST_PLAIN);
    case VALUE_TEXT: return characters_of(c, v.text);
    case VALUE_DICT: return keys_of(c, v.dict);
    case VALUE_LIST:
        if (v.list->is_spent) return list_new(c, LIST_PLAIN);
        v.list->is_spent = v.list->form == LIST_LAZY;
        template_step(c, 64 * v.list->n);
        return v.list;
    default: template_fail(c, CONVECT_DAMAGED, "a %s cannot be walked through", value_type_name(v));
    }
}
