/* Filters that walk through a sequence. map, select, reject and their like give generators, as jinja2 does: they can be
 * walked through once and have no length. */
#include <string.h>

#include "engine/template_internal.h"

static bool is_given(value v) {
    return v.kind > VALUE_NONE;
}

/* ---- keys of items ---- */

/* What an item is compared by: attribute="a.b", without case unless asked. */
typedef struct item_key {
    rope *attribute;
    bool ignores_case;
} item_key;

static item_key item_key_of(template_context *c, value attribute, value case_sensitive) {
    item_key key = {.ignores_case = !value_truth(case_sensitive)};
    if (attribute.kind == VALUE_INT) attribute = value_text(value_to_text(c, attribute));
    if (!is_given(attribute)) return key;
    if (attribute.kind != VALUE_TEXT) template_fail(c, CONVECT_DAMAGED, "an attribute is named by a text");
    key.attribute = attribute.text;
    return key;
}

static value key_of(template_context *c, const item_key *key, value item) {
    if (key->attribute) item = value_path(c, item, key->attribute);
    return key->ignores_case && item.kind == VALUE_TEXT ? value_text(rope_change_case(c, item.text, false)) : item;
}

/* Stable merge sort of items[0..n) by keys, both rewritten. */
static void sort_by_keys(template_context *c, value *items, value *keys, size_t n, bool falls) {
    value *items2 = template_take(c, (n + 1) * sizeof *items2), *keys2 = template_take(c, (n + 1) * sizeof *keys2);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            const size_t middle = begin + width < n ? begin + width : n, end = middle + width < n ? middle + width : n;
            for (size_t i = begin, j = middle, at = begin; at < end; at++) {
                template_step(c, 0);
                const int order = i < middle && j < end ? value_order(c, keys[i], keys[j]) : 0;
                const bool takes_left = j == end || (i < middle && (falls ? order >= 0 : order <= 0));
                const size_t from = takes_left ? i++ : j++;
                items2[at] = items[from];
                keys2[at] = keys[from];
            }
        }
        memcpy(items, items2, n * sizeof *items);
        memcpy(keys, keys2, n * sizeof *keys);
    }
}

static list *copy_list(template_context *c, const list *l) {
    list *copy = list_new(c, LIST_PLAIN);
    for (size_t i = 0; i < l->n; i++) list_push(c, copy, l->items[i]);
    return copy;
}

static list *sorted(template_context *c, const list *l, const item_key *key, bool falls) {
    list *copy = copy_list(c, l);
    value *keys = template_take(c, (l->n + 1) * sizeof *keys);
    for (size_t i = 0; i < l->n; i++) keys[i] = key_of(c, key, l->items[i]);
    sort_by_keys(c, copy->items, keys, l->n, falls);
    return copy;
}

static value run_sort(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    const item_key key = item_key_of(c, argv[2], argv[1]);
    return value_list(sorted(c, value_iterate(c, v), &key, value_truth(argv[0])));
}

static value run_dictsort(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    if (v.kind != VALUE_DICT) template_fail(c, CONVECT_DAMAGED, "dictsort gets a %s", value_type_name(v));
    const bool by_value = argv[1].kind == VALUE_TEXT && rope_is(c, argv[1].text, "value");
    const item_key key = {.attribute = rope_of(c, by_value ? "1" : "0", 1, false),
                          .ignores_case = !value_truth(argv[0])};
    list *pairs = list_new(c, LIST_PLAIN);
    for (size_t i = 0; i < v.dict->n; i++) {
        list *pair = list_new(c, LIST_TUPLE);
        list_push(c, pair, v.dict->entries[i].key);
        list_push(c, pair, v.dict->entries[i].item);
        list_push(c, pairs, value_list(pair));
    }
    return value_list(sorted(c, pairs, &key, value_truth(argv[2])));
}

static value extreme(template_context *c, value v, const value *argv, int sign) {
    const item_key key = item_key_of(c, argv[1], argv[0]);
    const list *l = value_iterate(c, v);
    if (l->n == 0) return value_undefined("an item of nothing");
    value best = l->items[0], best_key = key_of(c, &key, best);
    for (size_t i = 1; i < l->n; i++) {
        const value other = key_of(c, &key, l->items[i]);
        if (value_order(c, other, best_key) * sign <= 0) continue;
        best = l->items[i];
        best_key = other;
    }
    return best;
}

static value run_min(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return extreme(c, v, argv, -1);
}

static value run_max(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    return extreme(c, v, argv, 1);
}

static value run_unique(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    const item_key key = item_key_of(c, argv[1], argv[0]);
    const list *l = value_iterate(c, v);
    list *out = list_new(c, LIST_LAZY);
    dict *seen = dict_new(c);
    for (size_t i = 0; i < l->n; i++) {
        const value k = key_of(c, &key, l->items[i]);
        if (dict_find(c, seen, k)) continue;
        dict_set(c, seen, k, k);
        list_push(c, out, l->items[i]);
    }
    return value_list(out);
}

static value run_sum(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    const item_key key = item_key_of(c, argv[0], value_bool(true));
    const list *l = value_iterate(c, v);
    value sum = argv[1].kind == VALUE_ABSENT ? value_int(0) : argv[1];
    for (size_t i = 0; i < l->n; i++) sum = value_operate(c, LINK_ADD, sum, key_of(c, &key, l->items[i]));
    return sum;
}

static value run_join(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)all;
    const item_key key = item_key_of(c, argv[1], value_bool(true));
    const list *l = value_iterate(c, v);
    rope *separator = argv[0].kind == VALUE_ABSENT ? rope_new(c) : value_to_text(c, argv[0]), *out = rope_new(c);
    for (size_t i = 0; i < l->n; i++) {
        if (i > 0) rope_push_rope(c, out, separator);
        rope_push_rope(c, out, value_to_text(c, key_of(c, &key, l->items[i])));
    }
    return value_text(out);
}

/* ---- parts ---- */

static value run_first(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    const list *l = value_iterate(c, v);
    return l->n > 0 ? l->items[0] : value_undefined("the first item of nothing");
}

static value run_last(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    if (v.kind == VALUE_LIST && v.list->form == LIST_LAZY)
        template_fail(c, CONVECT_DAMAGED, "a generator has no last item");
    const list *l = value_iterate(c, v);
    return l->n > 0 ? l->items[l->n - 1] : value_undefined("the last item of nothing");
}

static value run_list(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    value out = value_list(copy_list(c, value_iterate(c, v)));
    out.from_user = v.from_user && v.kind == VALUE_LIST;
    return out;
}

static value run_reverse(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    const value bounds[3] = {value_none(), value_none(), value_int(-1)};
    if (v.kind == VALUE_TEXT) return value_slice(c, v, bounds);
    const list *l = value_iterate(c, v);
    list *out = list_new(c, LIST_LAZY);
    for (size_t i = l->n; i > 0; i--) list_push(c, out, l->items[i - 1]);
    return value_list(out);
}

static value run_items(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    list *out = list_new(c, LIST_LAZY);
    if (v.kind == VALUE_UNDEFINED) return value_list(out);
    if (v.kind != VALUE_DICT) template_fail(c, CONVECT_DAMAGED, "items gets a %s", value_type_name(v));
    for (size_t i = 0; i < v.dict->n; i++) {
        list *pair = list_new(c, LIST_TUPLE);
        list_push(c, pair, v.dict->entries[i].key);
        list_push(c, pair, v.dict->entries[i].item);
        list_push(c, out, value_list(pair));
    }
    return value_list(out);
}

/* ---- map, select, reject ---- */

static value find_argument(const call_arguments *all, const char *name) {
    for (size_t i = 0; i < all->n_named; i++)
        if (strcmp(all->named[i].name, name) == 0) return all->named[i].v;
    return (value){0};
}

static const char *name_argument(template_context *c, const call_arguments *all, size_t i) {
    if (i >= all->n || all->items[i].kind != VALUE_TEXT)
        template_fail(c, CONVECT_DAMAGED, "the name of an attribute, a filter or a test is missing");
    char *name = template_take(c, all->items[i].text->n_bytes + 1);
    memcpy(name, rope_flat(c, all->items[i].text), all->items[i].text->n_bytes);
    return name;
}

static call_arguments skip_arguments(const call_arguments *all, size_t n) {
    call_arguments rest = *all;
    rest.items += n;
    rest.n -= n;
    return rest;
}

static value run_map(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv;
    const value attribute = find_argument(all, "attribute"), fallback = find_argument(all, "default");
    const list *l = value_iterate(c, v);
    list *out = list_new(c, LIST_LAZY);
    if (attribute.kind == VALUE_ABSENT) {
        const char *name = name_argument(c, all, 0);
        const call_arguments rest = skip_arguments(all, 1);
        for (size_t i = 0; i < l->n; i++) list_push(c, out, filter_run(c, name, l->items[i], &rest));
        return value_list(out);
    }
    const item_key key = item_key_of(c, attribute, value_bool(true));
    for (size_t i = 0; i < l->n; i++) {
        const value item = key_of(c, &key, l->items[i]);
        list_push(c, out, item.kind == VALUE_UNDEFINED && fallback.kind != VALUE_ABSENT ? fallback : item);
    }
    return value_list(out);
}

/* Items of which what attribute (or the whole item) names passes, or fails, a test. */
static value choose(template_context *c, value v, const call_arguments *all, bool by_attribute, bool wanted) {
    const list *l = value_iterate(c, v);
    list *out = list_new(c, LIST_LAZY);
    const size_t n_skipped = by_attribute ? 1 : 0;
    rope *path = NULL;
    if (by_attribute) path = item_key_of(c, all->n > 0 ? all->items[0] : value_none(), value_none()).attribute;
    if (by_attribute && !path) template_fail(c, CONVECT_DAMAGED, "the name of an attribute is missing");
    const char *test = all->n > n_skipped ? name_argument(c, all, n_skipped) : NULL;
    const call_arguments rest = skip_arguments(all, n_skipped + (test != NULL));
    for (size_t i = 0; i < l->n; i++) {
        const value item = path ? value_path(c, l->items[i], path) : l->items[i];
        const bool passes = test ? test_run(c, test, item, &rest) : value_truth(item);
        if (passes == wanted) list_push(c, out, l->items[i]);
    }
    return value_list(out);
}

static value run_select(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv;
    return choose(c, v, all, false, true);
}

static value run_reject(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv;
    return choose(c, v, all, false, false);
}

static value run_selectattr(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv;
    return choose(c, v, all, true, true);
}

static value run_rejectattr(template_context *c, value v, const value *argv, const call_arguments *all) {
    (void)argv;
    return choose(c, v, all, true, false);
}

const builtin sequence_filters[] = {
    {"sort", run_sort, "reverse,case_sensitive,attribute"},
    {"dictsort", run_dictsort, "case_sensitive,by,reverse"},
    {"min", run_min, "case_sensitive,attribute"},
    {"max", run_max, "case_sensitive,attribute"},
    {"unique", run_unique, "case_sensitive,attribute"},
    {"sum", run_sum, "attribute,start"},
    {"join", run_join, "d,attribute"},
    {"first", run_first, ""},
    {"last", run_last, ""},
    {"list", run_list, ""},
    {"reverse", run_reverse, ""},
    {"items", run_items, ""},
    {"map", run_map, NULL},
    {"select", run_select, NULL},
    {"reject", run_reject, NULL},
    {"selectattr", run_selectattr, NULL},
    {"rejectattr", run_rejectattr, NULL},
};
const size_t n_sequence_filters = sizeof sequence_filters / sizeof *sequence_filters;
