#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "engine/nfc.h"

static void check(const char *text, size_t n_bytes, const char *want, size_t n_want) {
    nfc_text nfc;
    assert_int_equal(nfc_normalize(text, n_bytes, &nfc, NULL), CONVECT_OK);
    assert_int_equal(nfc.n_bytes, n_want);
    assert_memory_equal(nfc.data, want, n_want);
    nfc_free(&nfc);
}

static void known_forms(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"plain", "plain"},
        {"e\xCC\x81", "\xC3\xA9"},                                /* e + acute */
        {"a\xCC\x81\xCC\xA3", "\xE1\xBA\xA1\xCC\x81"},            /* below before above */
        {"\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81"}, /* Hangul jamo */
        {"\xE2\x84\xAB", "\xC3\x85"},                             /* Angstrom sign */
        {"\xE0\xA5\x98", "\xE0\xA4\x95\xE0\xA4\xBC"},             /* composition exclusion */
        {"\xFF"
         "e\xCC\x81\xC3"
         "e\xCC\x81",
         "\xFF\xC3\xA9\xC3\xC3\xA9"},                               /* invalid bytes stay */
        {"e\xED\xA0\x80\xCC\x81", "e\xED\xA0\x80\xCC\x81"},         /* a surrogate stays and separates */
        {"\xEB\xAA\x8C\xE1\x86\xA7x", "\xEB\xAA\x8C\xE1\x86\xA7x"}, /* U+11A7, which utf8proc 2.8 loses */
        {"", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        check(pairs[i][0], strlen(pairs[i][0]), pairs[i][1], strlen(pairs[i][1]));
    check("\0\xCC\x81\0", 4, "\0\xCC\x81\0", 4);
}

/* Equal to utf8proc's own form, which is right but slow on long runs of marks. */
static void random_text(void **state) {
    (void)state;
    uint64_t rng = 7;
    for (int i = 0; i < 20000; i++) {
        char text[256];
        size_t n_bytes = 0;
        for (int j = 0; j < 40; j++) {
            rng = rng * 6364136223846793005u + 1442695040888963407u;
            uint32_t r = (uint32_t)(rng >> 33), kind = r & 3;
            utf8proc_int32_t c = (utf8proc_int32_t)(kind == 0   ? 'a' + r / 4 % 26
                                                    : kind == 1 ? 0x300 + r / 4 % 0x70
                                                    : kind == 2 ? 1 + r / 4 % 0x3000
                                                                : 0x1100 + r / 4 % 0x100);
            if (c == 0x11A7) c = 'x'; /* see known_forms */
            n_bytes += (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)text + n_bytes);
        }
        text[n_bytes] = 0;
        char *want = (char *)utf8proc_NFC((const utf8proc_uint8_t *)text);
        check(text, n_bytes, want, strlen(want));
        free(want);
    }
}

static void every_code_point(void **state) {
    (void)state;
    for (utf8proc_int32_t c = 1; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000) continue;
        char text[5] = {0};
        size_t n = (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)text);
        char *want = (char *)utf8proc_NFC((const utf8proc_uint8_t *)text);
        check(text, n, want, strlen(want));
        free(want);
    }
}

/* A million marks of falling class: an ordering by exchanges would need 10^11 steps. */
static void long_run_of_marks(void **state) {
    (void)state;
    size_t n_half = 500000;
    char *text = malloc(4 * n_half + 1), *want = malloc(4 * n_half + 1);
    assert_non_null(text);
    assert_non_null(want);
    text[0] = want[0] = 'q';
    for (size_t i = 0; i < 2 * n_half; i++) {
        memcpy(text + 1 + 2 * i, i < n_half ? "\xCC\x81" : "\xCC\xA3", 2);
        memcpy(want + 1 + 2 * i, i < n_half ? "\xCC\xA3" : "\xCC\x81", 2);
    }
    check(text, 4 * n_half + 1, want, 4 * n_half + 1);
    free(text);
    free(want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_forms),
        cmocka_unit_test(random_text),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(long_run_of_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
