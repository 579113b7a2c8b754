#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "engine/base/status.h"

static void first_failure_wins(void **state) {
    (void)state;
    convect_error err = {0};
    assert_int_equal(convect_fail(&err, CONVECT_DAMAGED, "bad %s", "x\ny"), CONVECT_DAMAGED);
    assert_int_equal(convect_fail(&err, CONVECT_IO, "later"), CONVECT_IO);
    assert_string_equal(err.text, "bad x?y");
    convect_error_context(&err, "layer %d: ", 3);
    assert_string_equal(err.text, "layer 3: bad x?y");
    assert_int_equal(err.status, CONVECT_DAMAGED);
    assert_int_equal(convect_fail(NULL, CONVECT_IO, "none"), CONVECT_IO);
}

static void long_texts_are_cut(void **state) {
    (void)state;
    convect_error err = {0};
    char big[2000];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = 0;
    (void)convect_fail(&err, CONVECT_USAGE, "%s", big);
    convect_error_context(&err, "%s", big);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void exit_codes(void **state) {
    (void)state;
    assert_int_equal(convect_status_exit_code(CONVECT_OK), 0);
    assert_int_equal(convect_status_exit_code(CONVECT_NOT_SUPPORTED), 4);
    assert_int_equal(convect_status_exit_code(CONVECT_CANCELLED), 130);
    assert_int_equal(convect_status_exit_code((convect_status)9999), 1);
    assert_string_equal(convect_status_name(CONVECT_NO_FIT), "NO_FIT");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_failure_wins), cmocka_unit_test(long_texts_are_cut),
                                       cmocka_unit_test(exit_codes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
