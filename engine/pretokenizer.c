#include "engine/pretokenizer.h"

#include <string.h>

#include <utf8proc.h>

#include "engine/base/check.h"

typedef enum char_class {
    CHAR_END, /* after the last byte */
    CHAR_WORD,
    CHAR_NUMBER,
    CHAR_NEWLINE, /* CR or LF */
    CHAR_SPACE,   /* other White_Space */
    CHAR_OTHER
} char_class;

typedef struct scanner {
    pretokenizer kind;
    const char *text;
    size_t n_bytes;
} scanner;

bool pretokenizer_find(const char *name, size_t n_bytes, pretokenizer *out) {
    static const struct {
        const char *name;
        pretokenizer kind;
    } names[] = {
        {"qwen2", PRETOKENIZER_QWEN2}, {"deepseek-r1-qwen", PRETOKENIZER_QWEN2}, {"qwen35", PRETOKENIZER_QWEN35}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].name) != n_bytes || memcmp(names[i].name, name, n_bytes) != 0) continue;
        *out = names[i].kind;
        return true;
    }
    return false;
}

/* White_Space is the separators (Zs, Zl, Zp) plus U+0009..U+000D and U+0085. */
static char_class classify(pretokenizer kind, utf8proc_int32_t c) {
    if (c == '\r' || c == '\n') return CHAR_NEWLINE;
    if ((c >= 9 && c <= 13) || c == 0x85) return CHAR_SPACE;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return CHAR_WORD;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return kind == PRETOKENIZER_QWEN35 ? CHAR_WORD : CHAR_OTHER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return CHAR_NUMBER;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return CHAR_SPACE;
    default: return CHAR_OTHER;
    }
}

/* Class and length of the character at off. */
static char_class peek(const scanner *s, size_t off, size_t *n_bytes) {
    *n_bytes = 0;
    if (off >= s->n_bytes) return CHAR_END;
    utf8proc_int32_t c;
    utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)s->text + off, (utf8proc_ssize_t)(s->n_bytes - off), &c);
    *n_bytes = n > 0 ? (size_t)n : 1;
    return n > 0 ? classify(s->kind, c) : CHAR_OTHER;
}

/* End of the run of characters of one class that starts at off. */
static size_t run_end(const scanner *s, size_t off, char_class class) {
    size_t n;
    while (peek(s, off, &n) == class) off += n;
    return off;
}

/* Length of a contraction at the start of the text, or 0. Caseless matching in Unicode also lets U+017F (long s, bytes
 * C5 BF) stand for s. */
static size_t contraction(const scanner *s) {
    const unsigned char *t = (const unsigned char *)s->text;
    if (s->n_bytes < 2 || t[0] != '\'') return 0;
    unsigned char a = t[1] | 0x20, b = s->n_bytes > 2 ? t[2] | 0x20 : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
    return s->n_bytes > 2 && t[1] == 0xC5 && t[2] == 0xBF ? 3 : 0;
}

/* The last three alternatives; the text starts with white space. */
static size_t white_space(const scanner *s) {
    size_t off = 0, n, last = 0, after_newline = 0;
    for (char_class class; class = peek(s, off, &n), class == CHAR_SPACE || class == CHAR_NEWLINE;) {
        last = off;
        off += n;
        if (class == CHAR_NEWLINE) after_newline = off;
    }
    if (after_newline > 0) return after_newline;
    if (off == s->n_bytes || last == 0) return off;
    return last;
}

size_t pretokenizer_next(pretokenizer kind, const char *text, size_t n_bytes) {
    CONVECT_CHECK(n_bytes > 0);
    const scanner s = {kind, text, n_bytes};
    size_t n = contraction(&s), n_first, n_second;
    if (n > 0) return n;
    char_class first = peek(&s, 0, &n_first);
    if (first == CHAR_WORD) return run_end(&s, n_first, CHAR_WORD);
    if (first == CHAR_NUMBER) return n_first;
    char_class second = peek(&s, n_first, &n_second);
    if (second == CHAR_WORD && first != CHAR_NEWLINE) return run_end(&s, n_first, CHAR_WORD);
    if (first == CHAR_OTHER || (text[0] == ' ' && second == CHAR_OTHER))
        return run_end(&s, run_end(&s, n_first, CHAR_OTHER), CHAR_NEWLINE);
    return white_space(&s);
}
