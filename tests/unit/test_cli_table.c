/* The program's own option table (tools/options.c is linked into this test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/commands.h"

static void the_table_is_well_formed(void **state) {
    (void)state;
    const char *fault = option_table_fault(cli_table());
    if (fault) fail_msg("%s", fault);
    assert_int_equal(cli_table()->n_rows, OPT_COUNT);
}

static void every_command_has_its_own_bit(void **state) {
    (void)state;
    uint64_t seen = 0;
    for (size_t i = 0; i < cli_table()->n_commands; i++) {
        uint64_t bit = cli_table()->commands[i].bit;
        assert_true(bit && (bit & (bit - 1)) == 0 && !(seen & bit));
        seen |= bit;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_is_well_formed),
                                       cmocka_unit_test(every_command_has_its_own_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
