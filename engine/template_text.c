/* What filters and methods do to texts. Every byte keeps its origin. */
#include <string.h>

#include <utf8proc.h>

#include "engine/template_internal.h"

/* Whether the character is one of those to strip: white space if none are named. */
static bool is_stripped(const char *chars, size_t n_bytes, int32_t code) {
    int32_t one;
    if (!chars) return character_is_space(code);
    for (size_t off = 0; off < n_bytes;) {
        off += character_read(chars + off, n_bytes - off, &one);
        if (one == code) return true;
    }
    return false;
}

rope *rope_strip(template_context *c, rope *r, value chars, bool at_left, bool at_right) {
    const bool has_chars = chars.kind > VALUE_NONE;
    if (has_chars && chars.kind != VALUE_TEXT)
        template_fail(c, CONVECT_DAMAGED, "what to strip is no text but a %s", value_type_name(chars));
    const char *set = has_chars ? rope_flat(c, chars.text) : NULL, *flat = rope_flat(c, r);
    const size_t n_set = has_chars ? chars.text->n_bytes : 0;
    size_t begin = 0, end = 0;
    int32_t code;
    bool has_begun = !at_left;
    for (size_t off = 0; off < r->n_bytes;) {
        const size_t n = character_read(flat + off, r->n_bytes - off, &code);
        template_step(c, n_set);
        if (!is_stripped(set, n_set, code)) {
            if (!has_begun) begin = off;
            has_begun = true;
            end = off + n;
        }
        off += n;
    }
    if (!at_right) end = r->n_bytes;
    if (!has_begun) return rope_new(c);
    return rope_slice(c, r, begin, end > begin ? end - begin : 0);
}

rope *rope_replace(template_context *c, rope *r, rope *old, rope *fresh, int64_t n_max) {
    rope *out = rope_new(c);
    const char *flat = rope_flat(c, r);
    size_t begin = 0;
    int32_t code;
    for (int64_t n = 0; n_max < 0 || n < n_max; n++) {
        size_t at = rope_find(c, r, old, begin);
        if (old->n_bytes == 0) { /* between all characters */
            at = begin;
            if (n > 0 && at < r->n_bytes) at += character_read(flat + at, r->n_bytes - at, &code);
            if (n > 0 && at == begin) break;
        }
        if (at == SIZE_MAX) break;
        rope_push_rope(c, out, rope_slice(c, r, begin, at - begin));
        rope_push_rope(c, out, fresh);
        begin = at + old->n_bytes;
    }
    rope_push_rope(c, out, rope_slice(c, r, begin, r->n_bytes - begin));
    return out;
}

/* ---- case ---- */

typedef int32_t (*case_rule)(void *state, int32_t code);

/* Every character through a rule. */
static rope *map_characters(template_context *c, const rope *r, case_rule rule, void *state) {
    rope *out = rope_new(c);
    for (size_t i = 0; i < r->n_pieces; i++) {
        const rope_piece *piece = &r->block->pieces[i];
        char *text = template_take(c, 4 * piece->n_bytes);
        size_t n_out = 0;
        int32_t code;
        for (size_t off = 0; off < piece->n_bytes;) {
            off += character_read(piece->data + off, piece->n_bytes - off, &code);
            n_out += character_write(code & CHARACTER_RAW ? code : rule(state, code), text + n_out);
        }
        rope_push(c, out, text, n_out, piece->from_user);
        template_step(c, piece->n_bytes);
    }
    return out;
}

static int32_t to_upper(void *state, int32_t code) {
    (void)state;
    return utf8proc_toupper(code);
}

static int32_t to_lower(void *state, int32_t code) {
    (void)state;
    return utf8proc_tolower(code);
}

rope *rope_change_case(template_context *c, const rope *r, bool upper) {
    return map_characters(c, r, upper ? to_upper : to_lower, NULL);
}

static int32_t to_capital(void *state, int32_t code) {
    bool *is_first = state;
    const int32_t out = *is_first ? utf8proc_totitle(code) : utf8proc_tolower(code);
    *is_first = false;
    return out;
}

rope *rope_capitalize(template_context *c, rope *r) {
    bool is_first = true;
    return map_characters(c, r, to_capital, &is_first);
}

typedef struct title_state {
    bool words_only, in_word;
} title_state;

static bool is_cased(int32_t code) {
    return utf8proc_toupper(code) != code || utf8proc_tolower(code) != code;
}

/* The method begins a word behind anything that is no letter, the filter behind - ( [ { < and white space. */
static int32_t to_title(void *state, int32_t code) {
    title_state *s = state;
    const int32_t out = s->in_word ? utf8proc_tolower(code) : utf8proc_totitle(code);
    s->in_word = s->words_only ? !(character_is_space(code) || (code < 0x80 && code > 0 && strchr("-({[<", code)))
                               : is_cased(code);
    return out;
}

rope *rope_title(template_context *c, rope *r, bool words_only) {
    title_state s = {words_only, false};
    return map_characters(c, r, to_title, &s);
}

/* ---- lines ---- */

static bool is_line_end(int32_t code) {
    return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
           code == 0x2029;
}

list *rope_lines(template_context *c, rope *r) {
    list *l = list_new(c, LIST_PLAIN);
    const char *flat = rope_flat(c, r);
    size_t begin = 0;
    int32_t code;
    for (size_t off = 0; off < r->n_bytes;) {
        size_t n = character_read(flat + off, r->n_bytes - off, &code);
        if (!is_line_end(code)) {
            off += n;
            continue;
        }
        list_push(c, l, value_text(rope_slice(c, r, begin, off - begin)));
        if (code == '\r' && off + 1 < r->n_bytes && flat[off + 1] == '\n') n++;
        begin = off += n;
    }
    if (begin < r->n_bytes) list_push(c, l, value_text(rope_slice(c, r, begin, r->n_bytes - begin)));
    return l;
}
