/* binary16 and bfloat16 conversions: every value there and back, ties and edges by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kernels/half.h"

static void half_every_value(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = half_to_float((uint16_t)h);
        if (f != f) {
            assert_true((half_from_float(f) & 0x7fff) > 0x7c00);
        } else {
            assert_int_equal(half_from_float(f), h);
        }
    }
}

static void half_rounding(void **state) {
    (void)state;
    /* the middle between two neighbours goes to the even one, a hair more or less to the nearer one */
    for (uint32_t h = 0; h < 0x7bff; h++) {
        double lo = half_to_float((uint16_t)h);
        double hi = half_to_float((uint16_t)(h + 1));
        float mid = (float)((lo + hi) / 2);
        assert_int_equal(half_from_float(mid), (h & 1) ? h + 1 : h);
        assert_int_equal(half_from_float(float_from_bits(float_bits(mid) - 1)), h);
        assert_int_equal(half_from_float(float_from_bits(float_bits(mid) + 1)), h + 1);
    }
    assert_int_equal(half_from_float(65519.0F), 0x7bff);
    assert_int_equal(half_from_float(65520.0F), 0x7c00);
    assert_int_equal(half_from_float(1e30F), 0x7c00);
    assert_int_equal(half_from_float(-1e30F), 0xfc00);
    assert_true(half_to_float(0x3c00) == 1.0F && half_to_float(0x0001) == 0x1p-24F &&
                half_to_float(0x7bff) == 65504.0F);
}

static void bf16_rounding(void **state) {
    (void)state;
    assert_int_equal(bf16_from_float(1.0F), 0x3f80);
    assert_int_equal(bf16_from_float(float_from_bits(0x3f808000)), 0x3f80);
    assert_int_equal(bf16_from_float(float_from_bits(0x3f818000)), 0x3f82);
    assert_int_equal(bf16_from_float(float_from_bits(0x3f808001)), 0x3f81);
    assert_int_equal(bf16_from_float(float_from_bits(0x7f7fffff)), 0x7f80);
    assert_true((bf16_from_float(float_from_bits(0x7f800001)) & 0x7fff) > 0x7f80);
    assert_true(bf16_to_float(0xc000) == -2.0F);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_every_value),
        cmocka_unit_test(half_rounding),
        cmocka_unit_test(bf16_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
