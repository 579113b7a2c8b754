/* The search for scales that are not finite, against what dequantisation gives: for random blocks of every format, and
 * with each scale made a NaN or an infinity in turn, a fault is found exactly where a dequantised value is not finite.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "kernels/format_scale.h"
#include "kernels/table.h"

#define N_BLOCKS  5
#define BYTES_MAX (N_BLOCKS * 210)
#define N_ROUNDS  20000
#define ELEMS_MAX (N_BLOCKS * 256)

static uint64_t random_state = 88172645463325252U;

static uint32_t random_u32(void) { /* xorshift64 */
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

/* First block with a value that is not finite, or N_BLOCKS. */
static size_t slow_search(format_id f, const uint8_t *blocks) {
    static float values[ELEMS_MAX];
    const size_t n = format_get(f)->block_elems;
    kernel_table_get(KERNEL_LEVEL_REF)->dequantize[f](blocks, N_BLOCKS * n, values);
    for (size_t i = 0; i < N_BLOCKS * n; i++)
        if (!isfinite(values[i])) return i / n;
    return N_BLOCKS;
}

/* Exponents of MXFP4 whose products overflow f32 although they are no NaN: 2^126 and up. */
static bool overflows(format_id f, const uint8_t *blocks) {
    for (size_t i = 0; f == FORMAT_MXFP4 && i < N_BLOCKS; i++) {
        const uint8_t e = blocks[i * format_get(f)->block_bytes];
        if (e >= 253 && e < 255) return true;
    }
    return false;
}

static void same_as_values(void **state) {
    (void)state;
    for (int f = 0; f < FORMAT_COUNT; f++) {
        const format_traits *t = format_get((format_id)f);
        size_t n_faults = 0;
        for (size_t round = 0; round < N_ROUNDS; round++) {
            uint8_t blocks[BYTES_MAX];
            for (size_t i = 0; i < sizeof blocks; i++) blocks[i] = (uint8_t)random_u32();
            /* often a byte that makes an exponent all ones */
            if (round % 2) blocks[random_u32() % (N_BLOCKS * t->block_bytes)] = round % 4 == 1 ? 0x7c : 0xff;
            if (overflows((format_id)f, blocks)) continue;
            format_fault fault;
            const bool is_found = format_find_fault((format_id)f, blocks, N_BLOCKS, &fault);
            const size_t want = slow_search((format_id)f, blocks);
            if (is_found != (want < N_BLOCKS)) fail_msg("%s: found %d, block %zu", t->name, is_found, want);
            if (!is_found) continue;
            n_faults++;
            assert_int_equal(fault.i_block, want);
            assert_int_equal(fault.byte_off / t->block_bytes, want);
        }
        if ((n_faults == 0) != (f == FORMAT_NVFP4)) fail_msg("%s: %zu faults", t->name, n_faults);
    }
}

static void names(void **state) {
    (void)state;
    uint8_t blocks[3 * 144] = {0};
    format_fault fault;
    assert_false(format_find_fault(FORMAT_Q4_K, blocks, 3, &fault));
    assert_false(format_find_fault(FORMAT_Q4_K, blocks, 0, &fault));
    blocks[2 * 144 + 3] = 0x7c; /* infinity */
    assert_true(format_find_fault(FORMAT_Q4_K, blocks, 3, &fault));
    assert_int_equal(fault.byte_off, 2 * 144 + 2);
    assert_string_equal(fault.field, "dmin");
    blocks[145] = 0xfe; /* a NaN, in an earlier block */
    assert_true(format_find_fault(FORMAT_Q4_K, blocks, 3, &fault));
    assert_int_equal(fault.byte_off, 144);
    assert_string_equal(fault.field, "d");
    memset(blocks, 0, sizeof blocks);
    blocks[7] = 0x7f, blocks[6] = 0x80; /* f32 infinity */
    assert_true(format_find_fault(FORMAT_F32, blocks, 100, &fault));
    assert_int_equal(fault.byte_off, 4);
    assert_string_equal(fault.field, "weight");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_values), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
