/* Formats: the list, the codebooks, dequantisation against golden values of other engines (tests/data/formats), and the
 * bound of each block product, recomputed from the extreme codes and scales of the unpacked blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/codebooks.h"
#include "tests/unit/contract_oracle.h"

static void list_lookups(void **state) {
    (void)state;
    for (int f = 0; f < FORMAT_COUNT; f++) {
        const format_traits *t = format_get((format_id)f);
        assert_int_equal(format_from_ggml(t->ggml_type), f);
        assert_int_equal(format_from_name(t->name), f);
        assert_int_equal(format_row_bytes((format_id)f, 512), 512 / t->block_elems * t->block_bytes);
    }
    assert_int_equal(format_from_name("q4_k"), FORMAT_Q4_K);
    assert_int_equal(format_from_name("q4_k_m"), FORMAT_COUNT);
    static const uint32_t foreign[] = {4, 5, 9, 15, 24, 26, 31, 36, 38, 43, 137, 0xffffffffU};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        assert_int_equal(format_from_ggml(foreign[i]), FORMAT_COUNT);
    }
}

static uint32_t crc32_of(const void *data, size_t n) {
    const uint8_t *p = (const uint8_t *)data;
    uint32_t crc = 0xffffffffU;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int b = 0; b < 8; b++) crc = crc >> 1 ^ ((crc & 1) ? 0xedb88320U : 0);
    }
    return ~crc;
}

static void codebook_sums(void **state) {
    (void)state;
    assert_int_equal(crc32_of("123456789", 9), 0xcbf43926U);
#define X(name, rows, type, crc)                                                                                       \
    assert_int_equal(sizeof codebook_##name, (rows) * sizeof(type));                                                   \
    assert_int_equal(crc32_of(codebook_##name, sizeof codebook_##name), crc);
    CODEBOOK_LIST(X)
#undef X
}

typedef struct golden {
    uint8_t *file;
    const uint8_t *blocks;
    float *values;
    size_t n_values;
} golden;

static golden golden_load(const format_traits *t) {
    char path[512];
    snprintf(path, sizeof path, "%s/formats/%s.bin", TEST_DATA, t->name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot open %s", path);
    uint32_t n = 0;
    assert_int_equal(fread(&n, sizeof n, 1, f), 1);
    assert_in_range(n, 1, 4096);
    golden g = {.n_values = (size_t)n * t->block_elems};
    size_t bytes = (size_t)n * t->block_bytes;
    g.file = malloc(bytes);
    g.values = malloc(g.n_values * sizeof *g.values);
    assert_true(g.file && g.values);
    assert_int_equal(fread(g.file, 1, bytes, f), bytes);
    assert_int_equal(fread(g.values, sizeof *g.values, g.n_values, f), g.n_values);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    g.blocks = g.file;
    return g;
}

static void golden_check(kernel_level level) {
    const kernel_table *table = kernel_table_get(level);
    for (int f = 0; f < FORMAT_COUNT; f++) {
        const format_traits *t = format_get((format_id)f);
        golden g = golden_load(t);
        float *got = malloc(g.n_values * sizeof *got);
        assert_non_null(got);
        table->dequantize[f](g.blocks, g.n_values, got);
        for (size_t i = 0; i < g.n_values; i++) {
            if (float_bits(got[i]) != float_bits(g.values[i])) {
                fail_msg("%s at %s, value %zu: %a, golden %a", t->name, kernel_level_name(level), i, (double)got[i],
                         (double)g.values[i]);
            }
        }
        free(got);
        free(g.file);
        free(g.values);
    }
}

static void golden_ref(void **state) {
    (void)state;
    golden_check(KERNEL_LEVEL_REF);
}

static void golden_avx2(void **state) {
    (void)state;
    if (level_missing(KERNEL_LEVEL_AVX2)) {
        print_message("skipped: this CPU lacks level avx2\n");
        skip();
    }
    golden_check(KERNEL_LEVEL_AVX2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_lookups),
        cmocka_unit_test(codebook_sums),
        cmocka_unit_test(golden_ref),
        cmocka_unit_test(golden_avx2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
