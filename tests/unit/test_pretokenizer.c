/* The scanner against PCRE2 with the published patterns. White space is written out: PCRE2's \s also takes U+180E,
 * which has not been White_Space since Unicode 6.3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

#include "engine/pretokenizer.h"

#define S "\\t-\\r \\x{85}\\p{Z}"

static const char *const patterns[PRETOKENIZER_COUNT] = {
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^" S "\\p{L}\\p{N}]+[\\r\\n]*|[" S
    "]*[\\r\\n]+|[" S "]+(?![^" S "])|[" S "]+",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^" S
    "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|[" S "]*[\\r\\n]+|[" S "]+(?![^" S "])|[" S "]+",
};

typedef struct oracle {
    pcre2_code *code[PRETOKENIZER_COUNT];
    pcre2_code *unassigned; /* one character that PCRE2's Unicode version does not have */
    pcre2_match_data *match;
} oracle;

static pcre2_code *compile(const char *pattern) {
    int error;
    PCRE2_SIZE off;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error, &off, NULL);
    if (code) (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return code;
}

static int set_up(void **state) {
    static oracle o;
    for (int k = 0; k < PRETOKENIZER_COUNT; k++) {
        o.code[k] = compile(patterns[k]);
        if (!o.code[k]) return -1;
    }
    o.unassigned = compile("\\p{Cn}");
    o.match = pcre2_match_data_create(1, NULL);
    *state = &o;
    return 0;
}

static int tear_down(void **state) {
    oracle *o = *state;
    for (int k = 0; k < PRETOKENIZER_COUNT; k++) pcre2_code_free(o->code[k]);
    pcre2_code_free(o->unassigned);
    pcre2_match_data_free(o->match);
    return 0;
}

static uint64_t rng_state = 20261130;

static uint32_t random_below(uint32_t n) {
    rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((rng_state >> 32) * n) >> 32);
}

/* Compares every cut of one string, for both pre-tokenizers. */
static void check(const oracle *o, const char *text, size_t n_bytes) {
    for (int k = 0; k < PRETOKENIZER_COUNT; k++) {
        for (size_t off = 0; off < n_bytes;) {
            int rc = pcre2_match(o->code[k], (PCRE2_SPTR)text, n_bytes, off, PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK,
                                 o->match, NULL);
            assert_int_equal(rc, 1);
            size_t end = pcre2_get_ovector_pointer(o->match)[1];
            size_t n = pretokenizer_next((pretokenizer)k, text + off, n_bytes - off);
            if (n != end - off)
                fail_msg("pre-tokenizer %d cuts \"%s\" at %zu, the pattern at %zu", k, text, off + n, end);
            off += n;
        }
    }
}

/* Characters that meet at the edges of the rules. */
static const utf8proc_int32_t edges[] = {
    '\'',   '\'',   's',    'S',    't',    'r',    'e',    'V',    'v',    'm',      'l',     'L',
    'd',    0x17F,  0x212A, ' ',    ' ',    '\n',   '\r',   '\t',   0x0B,   0x0C,     0x85,    0xA0,
    0x1680, 0x180E, 0x2003, 0x2028, 0x2029, 0x202F, 0x3000, 0x200B, 0x200D, 0xFE0F,   0x301,   0x323,
    0x20DD, 0x903,  '1',    0x663,  0x2167, 0xBD,   'a',    0xE9,   0x5D0,  0x4E2D,   0x1F600, 0x1F1F0,
    '!',    '.',    '_',    '<',    0x20AC, 0x1C5,  0x2B0,  0,      0xE000, 0x10FFFF,
};

static size_t put(char *text, utf8proc_int32_t c) {
    return (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)text);
}

/* utf8proc and PCRE2 may know different Unicode versions: characters of the newer one alone are left out. */
static bool is_comparable(const oracle *o, utf8proc_int32_t c) {
    char text[4];
    if (c >= 0xD800 && c < 0xE000) return false;
    size_t n = put(text, c);
    bool is_new = pcre2_match(o->unassigned, (PCRE2_SPTR)text, n, 0, 0, o->match, NULL) == 1;
    return is_new == (utf8proc_category(c) == UTF8PROC_CATEGORY_CN);
}

static void random_strings(void **state) {
    for (int i = 0; i < 100000; i++) {
        char text[200];
        size_t n_bytes = 0, n_chars = 1 + random_below(30);
        uint32_t any_percent = random_below(4) == 0 ? 60 : 5;
        for (size_t j = 0; j < n_chars; j++) {
            utf8proc_int32_t c = edges[random_below(sizeof edges / sizeof edges[0])];
            if (random_below(100) < any_percent) c = (utf8proc_int32_t)random_below(random_below(2) ? 0x3000 : 0x20000);
            if (!is_comparable(*state, c)) c = 'x';
            n_bytes += put(text + n_bytes, c);
        }
        text[n_bytes] = 0;
        check(*state, text, n_bytes);
    }
}

/* Every code point alone, after a letter and a space, and between letters. */
static void every_code_point(void **state) {
    size_t n_compared = 0;
    for (utf8proc_int32_t c = 0; c < 0x110000; c++) {
        if (!is_comparable(*state, c)) continue;
        char text[32];
        n_compared++;
        size_t n = put(text, c);
        text[n++] = 'a';
        n += put(text + n, c);
        text[n++] = ' ';
        n += put(text + n, c);
        n += put(text + n, c);
        check(*state, text, n);
    }
    assert_true(n_compared > 1000000);
}

static void known_cuts(void **state) {
    (void)state;
    static const struct {
        pretokenizer kind;
        const char *pieces; /* joined by '|' */
    } cases[] = {
        {PRETOKENIZER_QWEN2, "a| | b"},
        {PRETOKENIZER_QWEN2, "x|\n\n| y"},
        {PRETOKENIZER_QWEN2, "1|2|3"},
        {PRETOKENIZER_QWEN2, "don|'t"},
        {PRETOKENIZER_QWEN2, " !!\n"},
        {PRETOKENIZER_QWEN2, "\xE0\xA4\xB9|\xE0\xA4\xBF\xE0\xA4\xA8"},
        {PRETOKENIZER_QWEN35, "\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8"},
        {PRETOKENIZER_QWEN35, "a|\xFF\xFE|b| \xC3|1"}, /* invalid bytes are of no class */
        {PRETOKENIZER_QWEN35, "\xFF"
                              "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *piece = cases[i].pieces;
        char text[64] = {0};
        for (const char *p = piece; *p; p++)
            if (*p != '|') text[strlen(text)] = *p;
        size_t n_bytes = strlen(text);
        for (size_t off = 0; off < n_bytes;) {
            size_t n = pretokenizer_next(cases[i].kind, text + off, n_bytes - off);
            assert_int_equal(n, strcspn(piece, "|"));
            off += n;
            piece += n + (piece[n] == '|');
        }
        assert_int_equal(*piece, 0);
    }
}

static void names(void **state) {
    (void)state;
    pretokenizer kind;
    assert_true(pretokenizer_find("qwen2", 5, &kind) && kind == PRETOKENIZER_QWEN2);
    assert_true(pretokenizer_find("deepseek-r1-qwen", 16, &kind) && kind == PRETOKENIZER_QWEN2);
    assert_true(pretokenizer_find("qwen35", 6, &kind) && kind == PRETOKENIZER_QWEN35);
    assert_false(pretokenizer_find("qwen", 4, &kind));
    assert_false(pretokenizer_find("default", 7, &kind));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_cuts),
        cmocka_unit_test(names),
        cmocka_unit_test(random_strings),
        cmocka_unit_test(every_code_point),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
