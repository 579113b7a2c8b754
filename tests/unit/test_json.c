#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include <json-c/json.h>

#include "engine/base/json.h"

static void check_string(const char *text, const char *want, size_t n_want) {
    char buffer[128];
    memcpy(buffer, text, strlen(text) + 1);
    struct json_object *o = NULL;
    assert_int_equal(json_text_read(buffer, strlen(buffer), &o, NULL), CONVECT_OK);
    assert_true(json_object_is_type(o, json_type_string));
    assert_int_equal(json_object_get_string_len(o), n_want);
    assert_memory_equal(json_object_get_string(o), want, n_want);
    json_object_put(o);
}

static void strings(void **state) {
    (void)state;
    check_string("\"\"", "", 0);
    check_string(" \"a\\u0000b\" ", "a\0b", 3);
    check_string("\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80", 4);
    check_string("\"\\uD836\\uDCA9 \\ud876\\udc00\"", "\xF0\x9D\xA2\xA9 \xF0\xAD\xA0\x80", 9); /* U+1D8A9, U+2D800 */
    check_string("\"\\ud83d\"", "\xEF\xBF\xBD", 3);
    check_string("\"\\\\ud836\\\\udca9\"", "\\ud836\\udca9", 12); /* escaped backslashes */
    check_string("\"\\\\\\ud836\\udca9\"", "\\\xF0\x9D\xA2\xA9", 5);
}

static void refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",         "\"a",       "\"a\" 1", "'a'",  "{\"a\":1,}", "[1 2]",
                                        "\"\xFF\"", "\"\\u12\"", "\"\\ud8", "\"\\", "\\",         "x"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char buffer[32];
        memcpy(buffer, texts[i], strlen(texts[i]) + 1);
        struct json_object *o = NULL;
        convect_error err = {0};
        assert_int_equal(json_text_read(buffer, strlen(buffer), &o, &err), CONVECT_DAMAGED);
        assert_null(o);
        assert_non_null(strstr(err.text, "no JSON"));
    }
    char deep[101];
    memset(deep, '[', 100);
    deep[100] = 0;
    struct json_object *o = NULL;
    assert_int_equal(json_text_read(deep, 100, &o, NULL), CONVECT_DAMAGED);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(strings), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
