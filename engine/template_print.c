/* Values as text: Python's str and repr, and json.dumps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "engine/template_internal.h"

/* NOLINTBEGIN(misc-no-recursion): template_enter bounds it */

/* Python's repr: the shortest digits that read back as f, with an exponent below 1e-4 and from 1e16 on. */
size_t value_float_text(double f, char out[40]) {
    char digits[32], *end;
    if (!isfinite(f)) return (size_t)snprintf(out, 40, "%s", isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
    int precision = 0;
    do (void)snprintf(digits, sizeof digits, "%.*e", precision, f);
    while (strtod(digits, NULL) != f && ++precision < 17);
    const long exponent = strtol(strchr(digits, 'e') + 1, &end, 10);
    if (exponent >= -4 && exponent < 16) {
        const int n_decimals = precision - (int)exponent;
        return (size_t)snprintf(out, 40, "%.*f", n_decimals > 1 ? n_decimals : 1, f);
    }
    *strchr(digits, 'e') = 0;
    return (size_t)snprintf(out, 40, "%se%c%02ld", digits, exponent < 0 ? '-' : '+', labs(exponent));
}

static void push_number(template_context *c, rope *out, value v) {
    char text[40];
    const size_t n = v.kind == VALUE_FLOAT ? value_float_text(v.f, text)
                                           : (size_t)snprintf(text, sizeof text, "%lld", (long long)v.i);
    rope_push_copy(c, out, text, n, v.from_user);
}

static void push_word(template_context *c, rope *out, const char *word, bool from_user) {
    rope_push(c, out, word, strlen(word), from_user);
}

/* ---- repr ---- */

static bool is_printable(int32_t code) {
    if (code < 0x7F) return code >= 0x20;
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
    }
}

/* The escape of a character in repr; 0 bytes: it stands as it is. */
static size_t repr_escape(int32_t code, char quote, char out[16]) {
    if (code & CHARACTER_RAW) return 0;
    if (code == quote || code == '\\') return (size_t)snprintf(out, 16, "\\%c", code);
    if (code == '\n') return (size_t)snprintf(out, 16, "\\n");
    if (code == '\r') return (size_t)snprintf(out, 16, "\\r");
    if (code == '\t') return (size_t)snprintf(out, 16, "\\t");
    if (is_printable(code)) return 0;
    if (code < 0x100) return (size_t)snprintf(out, 16, "\\x%02x", (unsigned)code);
    return (size_t)snprintf(out, 16, code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
}

static size_t json_escape(int32_t code, bool ascii, char out[16]) {
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    if (code & CHARACTER_RAW) return 0;
    const char *found = code > 0 && code < 0x80 ? strchr(from, code) : NULL;
    if (found) return (size_t)snprintf(out, 16, "\\%c", to[found - from]);
    if (code >= 0x20 && (code < 0x80 || !ascii)) return 0;
    if (code < 0x10000) return (size_t)snprintf(out, 16, "\\u%04x", (unsigned)code);
    return (size_t)snprintf(out, 16, "\\u%04x\\u%04x", 0xD800 + (((unsigned)code - 0x10000) >> 10),
                            0xDC00 + ((unsigned)code & 0x3FF));
}

typedef struct escape_style {
    bool json, ascii;
    char quote; /* of repr */
} escape_style;

/* One piece of a text: runs that need no escape are borrowed. */
static void push_escaped(template_context *c, rope *out, const rope_piece *piece, escape_style style) {
    size_t begin = 0;
    char escape[16];
    int32_t code;
    for (size_t off = 0; off < piece->n_bytes;) {
        const size_t n = character_read(piece->data + off, piece->n_bytes - off, &code);
        const size_t n_escape =
            style.json ? json_escape(code, style.ascii, escape) : repr_escape(code, style.quote, escape);
        if (n_escape > 0) {
            rope_push(c, out, piece->data + begin, off - begin, piece->from_user);
            rope_push_copy(c, out, escape, n_escape, piece->from_user);
            begin = off + n;
        }
        off += n;
    }
    rope_push(c, out, piece->data + begin, piece->n_bytes - begin, piece->from_user);
    template_step(c, piece->n_bytes);
}

static void push_quoted(template_context *c, rope *out, value v, escape_style style) {
    rope *text = v.text;
    const char *flat = rope_flat(c, text);
    style.quote = !style.json && memchr(flat, '\'', text->n_bytes) && !memchr(flat, '"', text->n_bytes) ? '"' : '\'';
    const char *quote = style.json || style.quote == '"' ? "\"" : "'";
    push_word(c, out, quote, v.from_user);
    for (size_t i = 0; i < text->n_pieces; i++) push_escaped(c, out, &text->block->pieces[i], style);
    push_word(c, out, quote, v.from_user);
}

static void push_list_repr(template_context *c, rope *out, value v) {
    const bool is_tuple = v.list->form == LIST_TUPLE;
    if (v.list->form == LIST_VIEW || v.list->form == LIST_LAZY)
        template_fail(c, CONVECT_NOT_SUPPORTED, "a generator or view is printed; | list makes a list of it");
    push_word(c, out, is_tuple ? "(" : "[", v.from_user);
    for (size_t i = 0; i < v.list->n; i++) {
        if (i > 0) push_word(c, out, ", ", v.from_user);
        value_push_repr(c, out, v.list->items[i]);
    }
    push_word(c, out, is_tuple && v.list->n == 1 ? ",)" : is_tuple ? ")" : "]", v.from_user);
}

static void push_dict_repr(template_context *c, rope *out, value v) {
    push_word(c, out, "{", v.from_user);
    for (size_t i = 0; i < v.dict->n; i++) {
        if (i > 0) push_word(c, out, ", ", v.from_user);
        value_push_repr(c, out, v.dict->entries[i].key);
        push_word(c, out, ": ", v.from_user);
        value_push_repr(c, out, v.dict->entries[i].item);
    }
    push_word(c, out, "}", v.from_user);
}

void value_push_repr(template_context *c, rope *out, value v) {
    template_enter(c);
    template_step(c, 0);
    switch (v.kind) {
    case VALUE_ABSENT:
    case VALUE_UNDEFINED: push_word(c, out, "Undefined", false); break;
    case VALUE_NONE: push_word(c, out, "None", v.from_user); break;
    case VALUE_BOOL: push_word(c, out, v.b ? "True" : "False", v.from_user); break;
    case VALUE_INT:
    case VALUE_FLOAT: push_number(c, out, v); break;
    case VALUE_TEXT: push_quoted(c, out, v, (escape_style){0}); break;
    case VALUE_LIST: push_list_repr(c, out, v); break;
    case VALUE_DICT: push_dict_repr(c, out, v); break;
    default: template_fail(c, CONVECT_NOT_SUPPORTED, "a %s is printed", value_type_name(v));
    }
    template_leave(c);
}

rope *value_to_text(template_context *c, value v) {
    if (v.kind == VALUE_TEXT) return v.text;
    rope *out = rope_new(c);
    if (v.kind != VALUE_UNDEFINED && v.kind != VALUE_ABSENT) value_push_repr(c, out, v);
    return out;
}

/* ---- JSON ---- */

typedef struct json_printer {
    template_context *c;
    rope *out;
    const json_style *style;
    size_t level;
} json_printer;

static void push_json(json_printer *p, value v);

/* A separator counts as from the user inside what the user gave. */
static void push_style(json_printer *p, rope *text, bool from_user) {
    if (from_user)
        rope_push(p->c, p->out, rope_flat(p->c, text), text->n_bytes, true);
    else
        rope_push_rope(p->c, p->out, text);
}

static void push_break(json_printer *p, size_t level, bool from_user) {
    if (!p->style->indent) return;
    push_word(p->c, p->out, "\n", from_user);
    for (size_t i = 0; i < level; i++) push_style(p, p->style->indent, from_user);
}

static void push_separator(json_printer *p, size_t i, bool from_user) {
    if (i > 0) push_style(p, p->style->item_separator, from_user);
    push_break(p, p->level, from_user);
}

static void push_json_list(json_printer *p, value v) {
    if (v.list->form == LIST_VIEW || v.list->form == LIST_LAZY)
        template_fail(p->c, CONVECT_DAMAGED, "a %s is not JSON", value_type_name(v));
    push_word(p->c, p->out, "[", v.from_user);
    p->level++;
    for (size_t i = 0; i < v.list->n; i++) {
        push_separator(p, i, v.from_user);
        push_json(p, v.list->items[i]);
    }
    p->level--;
    if (v.list->n > 0) push_break(p, p->level, v.from_user);
    push_word(p->c, p->out, "]", v.from_user);
}

/* Keys that are no texts print as their JSON in quotes. */
static void push_json_key(json_printer *p, value key) {
    if (key.kind == VALUE_TEXT) {
        push_json(p, key);
        return;
    }
    if (key.kind > VALUE_FLOAT) template_fail(p->c, CONVECT_DAMAGED, "a %s is no key in JSON", value_type_name(key));
    push_word(p->c, p->out, "\"", key.from_user);
    push_json(p, key);
    push_word(p->c, p->out, "\"", key.from_user);
}

static const dict_entry **sorted_entries(template_context *c, const dict *d) {
    const dict_entry **sorted = template_take(c, (d->n + 1) * sizeof *sorted);
    for (size_t i = 0; i < d->n; i++) {
        size_t at = i;
        for (; at > 0 && value_order(c, sorted[at - 1]->key, d->entries[i].key) > 0; at--) sorted[at] = sorted[at - 1];
        sorted[at] = &d->entries[i];
    }
    return sorted;
}

static void push_json_dict(json_printer *p, value v) {
    const dict_entry **sorted = p->style->sorts_keys ? sorted_entries(p->c, v.dict) : NULL;
    push_word(p->c, p->out, "{", v.from_user);
    p->level++;
    for (size_t i = 0; i < v.dict->n; i++) {
        const dict_entry *entry = sorted ? sorted[i] : &v.dict->entries[i];
        push_separator(p, i, v.from_user);
        push_json_key(p, entry->key);
        push_style(p, p->style->key_separator, v.from_user);
        push_json(p, entry->item);
    }
    p->level--;
    if (v.dict->n > 0) push_break(p, p->level, v.from_user);
    push_word(p->c, p->out, "}", v.from_user);
}

static void push_json(json_printer *p, value v) {
    template_context *c = p->c;
    template_enter(c);
    template_step(c, 0);
    switch (v.kind) {
    case VALUE_NONE: push_word(c, p->out, "null", v.from_user); break;
    case VALUE_BOOL: push_word(c, p->out, v.b ? "true" : "false", v.from_user); break;
    case VALUE_INT: push_number(c, p->out, v); break;
    case VALUE_FLOAT:
        if (isfinite(v.f))
            push_number(c, p->out, v);
        else
            push_word(c, p->out, isnan(v.f) ? "NaN" : v.f > 0 ? "Infinity" : "-Infinity", v.from_user);
        break;
    case VALUE_TEXT: push_quoted(c, p->out, v, (escape_style){.json = true, .ascii = p->style->ascii}); break;
    case VALUE_LIST: push_json_list(p, v); break;
    case VALUE_DICT: push_json_dict(p, v); break;
    default: template_fail(c, CONVECT_DAMAGED, "a %s is not JSON", value_type_name(v));
    }
    template_leave(c);
}

void value_push_json(template_context *c, rope *out, value v, const json_style *style) {
    json_printer p = {c, out, style, 0};
    push_json(&p, v);
}
/* NOLINTEND(misc-no-recursion) */
