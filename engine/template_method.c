/* Methods of texts, lists, dicts and loops, as Python has them. */
#include <string.h>

#include "engine/template_internal.h"

static rope *text_argument(template_context *c, value v, const char *what) {
    if (v.kind != VALUE_TEXT) template_fail(c, CONVECT_DAMAGED, "%s is no text but a %s", what, value_type_name(v));
    return v.text;
}

static bool is_given(value v) {
    return v.kind > VALUE_NONE;
}

/* ---- texts ---- */

static value run_strip(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    return value_text(rope_strip(c, self.text, argv[0], true, true));
}

static value run_lstrip(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    return value_text(rope_strip(c, self.text, argv[0], true, false));
}

static value run_rstrip(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    return value_text(rope_strip(c, self.text, argv[0], false, true));
}

/* Split at white space. */
static list *split_words(template_context *c, rope *text, int64_t n_max) {
    list *l = list_new(c, LIST_PLAIN);
    const char *flat = rope_flat(c, text);
    size_t begin = 0, off = 0;
    int32_t code;
    bool in_word = false;
    while (off < text->n_bytes) {
        const size_t n = character_read(flat + off, text->n_bytes - off, &code);
        const bool is_space = character_is_space(code);
        if (!is_space && !in_word) {
            begin = off;
            if (n_max >= 0 && (int64_t)l->n == n_max) { /* the rest */
                list_push(c, l, value_text(rope_slice(c, text, begin, text->n_bytes - begin)));
                return l;
            }
        }
        if (is_space && in_word) list_push(c, l, value_text(rope_slice(c, text, begin, off - begin)));
        in_word = !is_space;
        off += n;
    }
    if (in_word) list_push(c, l, value_text(rope_slice(c, text, begin, off - begin)));
    return l;
}

static list *split_at(template_context *c, rope *text, rope *separator, int64_t n_max) {
    list *l = list_new(c, LIST_PLAIN);
    size_t begin = 0;
    if (separator->n_bytes == 0) template_fail(c, CONVECT_DAMAGED, "split at an empty text");
    for (;;) {
        const bool is_full = n_max >= 0 && (int64_t)l->n >= n_max;
        const size_t at = is_full ? SIZE_MAX : rope_find(c, text, separator, begin);
        const size_t end = at == SIZE_MAX ? text->n_bytes : at;
        list_push(c, l, value_text(rope_slice(c, text, begin, end - begin)));
        if (at == SIZE_MAX) return l;
        begin = at + separator->n_bytes;
    }
}

static value run_split(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    const int64_t n_max = is_given(argv[1]) ? value_integer(c, argv[1], "maxsplit") : -1;
    if (!is_given(argv[0])) return value_list(split_words(c, self.text, n_max));
    return value_list(split_at(c, self.text, text_argument(c, argv[0], "the separator"), n_max));
}

/* The last occurrence that ends at or before end. */
static size_t find_last(template_context *c, rope *text, rope *needle, size_t end) {
    const char *flat = rope_flat(c, text), *wanted = rope_flat(c, needle);
    template_step(c, end);
    if (needle->n_bytes > end) return SIZE_MAX;
    for (size_t at = end - needle->n_bytes;; at--) {
        if (memcmp(flat + at, wanted, needle->n_bytes) == 0) return at;
        template_step(c, needle->n_bytes);
        if (at == 0) return SIZE_MAX;
    }
}

static value run_rsplit(template_context *c, value self, const value *argv, const call_arguments *all) {
    const int64_t n_max = is_given(argv[1]) ? value_integer(c, argv[1], "maxsplit") : -1;
    if (n_max < 0) return run_split(c, self, argv, all);
    if (!is_given(argv[0])) template_fail(c, CONVECT_NOT_SUPPORTED, "rsplit at white space with a limit");
    rope *separator = text_argument(c, argv[0], "the separator");
    if (separator->n_bytes == 0) template_fail(c, CONVECT_DAMAGED, "split at an empty text");
    list *reversed = list_new(c, LIST_PLAIN), *l = list_new(c, LIST_PLAIN);
    for (size_t end = self.text->n_bytes;;) {
        const size_t at = (int64_t)reversed->n >= n_max ? SIZE_MAX : find_last(c, self.text, separator, end);
        const size_t begin = at == SIZE_MAX ? 0 : at + separator->n_bytes;
        list_push(c, reversed, value_text(rope_slice(c, self.text, begin, end - begin)));
        if (at == SIZE_MAX) break;
        end = at;
    }
    for (size_t i = reversed->n; i > 0; i--) list_push(c, l, reversed->items[i - 1]);
    return value_list(l);
}

static bool begins_with(template_context *c, rope *text, rope *part, bool at_end) {
    if (part->n_bytes > text->n_bytes) return false;
    const char *flat = rope_flat(c, text);
    return memcmp(flat + (at_end ? text->n_bytes - part->n_bytes : 0), rope_flat(c, part), part->n_bytes) == 0;
}

/* startswith and endswith take a text or a tuple of them. */
static value run_affix(template_context *c, rope *text, value parts, bool at_end) {
    if (parts.kind != VALUE_LIST || parts.list->form != LIST_TUPLE)
        return value_bool(begins_with(c, text, text_argument(c, parts, "what a text starts or ends with"), at_end));
    for (size_t i = 0; i < parts.list->n; i++)
        if (begins_with(c, text, text_argument(c, parts.list->items[i], "a part of the tuple"), at_end))
            return value_bool(true);
    return value_bool(false);
}

static value run_startswith(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    return run_affix(c, self.text, argv[0], false);
}

static value run_endswith(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    return run_affix(c, self.text, argv[0], true);
}

static value run_replace(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    return value_text(rope_replace(c, self.text, text_argument(c, argv[0], "what is replaced"),
                                   text_argument(c, argv[1], "the replacement"),
                                   is_given(argv[2]) ? value_integer(c, argv[2], "count") : -1));
}

static value run_upper(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(rope_change_case(c, self.text, true));
}

static value run_lower(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(rope_change_case(c, self.text, false));
}

static value run_title(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(rope_title(c, self.text, false));
}

static value run_capitalize(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_text(rope_capitalize(c, self.text));
}

/* Characters before a byte offset; -1 for none. */
static value character_index(template_context *c, rope *text, size_t offset) {
    if (offset == SIZE_MAX) return value_int(-1);
    return value_int((int64_t)rope_n_characters(c, rope_slice(c, text, 0, offset)));
}

static value run_find(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    return character_index(c, self.text, rope_find(c, self.text, text_argument(c, argv[0], "what is looked for"), 0));
}

static value run_rfind(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    rope *needle = text_argument(c, argv[0], "what is looked for");
    return character_index(c, self.text, find_last(c, self.text, needle, self.text->n_bytes));
}

static value run_text_count(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    rope *needle = text_argument(c, argv[0], "what is counted");
    if (needle->n_bytes == 0) return value_int((int64_t)rope_n_characters(c, self.text) + 1);
    int64_t n = 0;
    for (size_t at = 0; (at = rope_find(c, self.text, needle, at)) != SIZE_MAX; n++) at += needle->n_bytes;
    return value_int(n);
}

static value run_join(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    const list *l = value_iterate(c, argv[0]);
    rope *out = rope_new(c);
    for (size_t i = 0; i < l->n; i++) {
        if (i > 0) rope_push_rope(c, out, self.text);
        rope_push_rope(c, out, text_argument(c, l->items[i], "what is joined"));
    }
    return value_text(out);
}

static value run_splitlines(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    return value_list(rope_lines(c, self.text));
}

static value run_isdigit(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    const char *flat = rope_flat(c, self.text);
    for (size_t i = 0; i < self.text->n_bytes; i++)
        if (flat[i] < '0' || flat[i] > '9') return value_bool(false);
    return value_bool(self.text->n_bytes > 0);
}

static value run_removeprefix(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    rope *prefix = text_argument(c, argv[0], "the prefix");
    if (!begins_with(c, self.text, prefix, false)) return self;
    return value_text(rope_slice(c, self.text, prefix->n_bytes, self.text->n_bytes - prefix->n_bytes));
}

static value run_removesuffix(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    rope *suffix = text_argument(c, argv[0], "the suffix");
    if (!begins_with(c, self.text, suffix, true)) return self;
    return value_text(rope_slice(c, self.text, 0, self.text->n_bytes - suffix->n_bytes));
}

/* ---- lists ---- */

static value run_index(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    for (size_t i = 0; i < self.list->n; i++)
        if (value_equal(c, self.list->items[i], argv[0])) return value_int((int64_t)i);
    template_fail(c, CONVECT_DAMAGED, "the list does not hold what its index is asked of");
}

static value run_list_count(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    int64_t n = 0;
    for (size_t i = 0; i < self.list->n; i++) n += value_equal(c, self.list->items[i], argv[0]);
    return value_int(n);
}

/* ---- dicts ---- */

static value run_get(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)all;
    const value *found = dict_find(c, self.dict, argv[0]);
    if (found) return *found;
    return argv[1].kind == VALUE_ABSENT ? value_none() : argv[1];
}

static value run_items(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    list *l = list_new(c, LIST_VIEW);
    for (size_t i = 0; i < self.dict->n; i++) {
        list *pair = list_new(c, LIST_TUPLE);
        list_push(c, pair, self.dict->entries[i].key);
        list_push(c, pair, self.dict->entries[i].item);
        list_push(c, l, value_list(pair));
    }
    return value_list(l);
}

static value run_keys(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    list *l = list_new(c, LIST_VIEW);
    for (size_t i = 0; i < self.dict->n; i++) list_push(c, l, self.dict->entries[i].key);
    return value_list(l);
}

static value run_values(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv, (void)all;
    list *l = list_new(c, LIST_VIEW);
    for (size_t i = 0; i < self.dict->n; i++) list_push(c, l, self.dict->entries[i].item);
    return value_list(l);
}

/* ---- loops ---- */

static value run_cycle(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv;
    if (all->n == 0) template_fail(c, CONVECT_DAMAGED, "loop.cycle has nothing to choose from");
    return all->items[self.loop->i % all->n];
}

static value run_changed(template_context *c, value self, const value *argv, const call_arguments *all) {
    (void)argv;
    const call_arguments *last = self.loop->last_change;
    bool is_same = last && last->n == all->n;
    for (size_t i = 0; is_same && i < all->n; i++) is_same = value_equal(c, last->items[i], all->items[i]);
    call_arguments *kept = template_take(c, sizeof *kept);
    *kept = *all;
    self.loop->last_change = kept;
    return value_bool(!is_same);
}

typedef struct method_entry {
    value_kind kind;
    builtin b; /* run NULL: Python has it, a template may not change its values or it is left out */
} method_entry;

static const method_entry methods[] = {
    {VALUE_TEXT, {"strip", run_strip, "chars"}},
    {VALUE_TEXT, {"lstrip", run_lstrip, "chars"}},
    {VALUE_TEXT, {"rstrip", run_rstrip, "chars"}},
    {VALUE_TEXT, {"split", run_split, "sep,maxsplit"}},
    {VALUE_TEXT, {"rsplit", run_rsplit, "sep,maxsplit"}},
    {VALUE_TEXT, {"startswith", run_startswith, "prefix"}},
    {VALUE_TEXT, {"endswith", run_endswith, "suffix"}},
    {VALUE_TEXT, {"replace", run_replace, "old,new,count"}},
    {VALUE_TEXT, {"upper", run_upper, ""}},
    {VALUE_TEXT, {"lower", run_lower, ""}},
    {VALUE_TEXT, {"title", run_title, ""}},
    {VALUE_TEXT, {"capitalize", run_capitalize, ""}},
    {VALUE_TEXT, {"find", run_find, "sub"}},
    {VALUE_TEXT, {"rfind", run_rfind, "sub"}},
    {VALUE_TEXT, {"count", run_text_count, "sub"}},
    {VALUE_TEXT, {"join", run_join, "iterable"}},
    {VALUE_TEXT, {"splitlines", run_splitlines, ""}},
    {VALUE_TEXT, {"isdigit", run_isdigit, ""}},
    {VALUE_TEXT, {"removeprefix", run_removeprefix, "prefix"}},
    {VALUE_TEXT, {"removesuffix", run_removesuffix, "suffix"}},
    {VALUE_TEXT, {"format", NULL, NULL}},
    {VALUE_LIST, {"index", run_index, "value"}},
    {VALUE_LIST, {"count", run_list_count, "value"}},
    {VALUE_LIST, {"append", NULL, NULL}},
    {VALUE_LIST, {"extend", NULL, NULL}},
    {VALUE_LIST, {"insert", NULL, NULL}},
    {VALUE_LIST, {"pop", NULL, NULL}},
    {VALUE_LIST, {"remove", NULL, NULL}},
    {VALUE_LIST, {"sort", NULL, NULL}},
    {VALUE_LIST, {"reverse", NULL, NULL}},
    {VALUE_DICT, {"get", run_get, "key,default"}},
    {VALUE_DICT, {"items", run_items, ""}},
    {VALUE_DICT, {"keys", run_keys, ""}},
    {VALUE_DICT, {"values", run_values, ""}},
    {VALUE_DICT, {"update", NULL, NULL}},
    {VALUE_DICT, {"pop", NULL, NULL}},
    {VALUE_DICT, {"popitem", NULL, NULL}},
    {VALUE_DICT, {"setdefault", NULL, NULL}},
    {VALUE_DICT, {"clear", NULL, NULL}},
    {VALUE_DICT, {"copy", NULL, NULL}},
    {VALUE_DICT, {"fromkeys", NULL, NULL}},
    {VALUE_LOOP, {"cycle", run_cycle, NULL}},
    {VALUE_LOOP, {"changed", run_changed, NULL}},
};

static const method_entry *find_method(value_kind kind, const char *name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].kind == kind && strcmp(methods[i].b.name, name) == 0) return &methods[i];
    return NULL;
}

bool method_exists(value self, const char *name) {
    if (self.kind == VALUE_LIST && self.list->form > LIST_TUPLE) return false;
    return find_method(self.kind, name) != NULL;
}

value method_call(template_context *c, const method *m, const call_arguments *arguments) {
    const method_entry *entry = find_method(m->self.kind, m->name);
    if (!entry || !entry->b.run)
        template_fail(c, CONVECT_NOT_SUPPORTED, "the method %s of a %s is not supported", m->name,
                      value_type_name(m->self));
    return builtin_call(c, &entry->b, m->self, arguments);
}
