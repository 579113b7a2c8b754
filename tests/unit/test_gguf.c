/* The GGUF reader on good files and on hostile ones: each wrong field gives its own sentence and status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/gguf_builder.h"

enum { F32 = 0, Q4_K = 12, Q8_0 = 8 };

/* A small valid file; the hook of a test replaces one part of it. */
typedef enum part { PART_HEADER, PART_KV, PART_TENSORS, PART_DATA } part;

static void build_header(gguf_builder *b) {
    gb_header(b, 3, 2, 4);
}

static void build_kv(gguf_builder *b) {
    gb_kv_string(b, "general.architecture", "qwen35moe");
    gb_kv_u32(b, "general.alignment", 32);
    gb_kv_array(b, "tokenizer.ggml.tokens", GGUF_STRING, 3);
    gb_string(b, "a");
    gb_string(b, "");
    gb_string(b, "ccc");
    gb_kv_array(b, "x.counts", GGUF_U16, 2);
    gb_bytes(b, "\1\0\2\0", 4);
}

static void build_tensors(gguf_builder *b) {
    gb_tensor(b, "token_embd.weight", 2, (uint64_t[]){256, 3}, Q4_K, 0); /* 3 x 144 = 432 bytes */
    gb_tensor(b, "output_norm.weight", 1, (uint64_t[]){5}, F32, 448);    /* 20 bytes, ends at the end of file */
}

static void build_data(gguf_builder *b) {
    gb_align_data(b, 32);
    gb_data(b, 468);
}

typedef void (*build_fn)(gguf_builder *b);

static gguf_builder build(part replaced, build_fn with) {
    gguf_builder b = {0};
    build_fn parts[] = {build_header, build_kv, build_tensors, build_data};
    if (with) parts[replaced] = with;
    for (size_t i = 0; i < 4; i++) parts[i](&b);
    return b;
}

/* Opens the bytes from an exact-size heap block, so that ASan sees any read past the end. */
static convect_status open_exact(const uint8_t *data, size_t n_bytes, gguf **g, convect_error *err) {
    uint8_t *copy = malloc(n_bytes ? n_bytes : 1);
    assert_non_null(copy);
    if (n_bytes) memcpy(copy, data, n_bytes);
    convect_status status = gguf_open_memory(copy, n_bytes, g, err);
    gguf_close(*g);
    *g = NULL;
    free(copy);
    return status;
}

static void expect(gguf_builder b, convect_status status, const char *words) {
    convect_error err = {0};
    gguf *g = NULL;
    convect_status got = open_exact(b.data, b.n_bytes, &g, &err);
    if (got != status || err.status != status || !strstr(err.text, words) || !strstr(err.text, "(memory): "))
        fail_msg("want %s with \"%s\", got %s: %s", convect_status_name(status), words, convect_status_name(got),
                 err.text);
    gb_free(&b);
}

/* ---- a good file ---- */

static void test_reads(void **state) {
    (void)state;
    gguf_builder b = build(PART_HEADER, NULL);
    gguf *g = NULL;
    convect_error err = {0};
    assert_int_equal(gguf_open_memory(b.data, b.n_bytes, &g, &err), CONVECT_OK);
    assert_int_equal(gguf_version(g), 3);
    assert_int_equal(gguf_n_kv(g), 4);
    assert_int_equal(gguf_n_tensors(g), 2);
    assert_int_equal(gguf_file_bytes(g), b.n_bytes);
    assert_null(gguf_kv_find(g, "general.name"));
    assert_null(gguf_tensor_find(g, "output.weight"));
    gguf_string text;
    assert_true(gguf_read_string(gguf_kv_find(g, "general.architecture"), &text));
    assert_int_equal(text.n_bytes, 9);
    assert_memory_equal(text.data, "qwen35moe", 9);
    const gguf_kv *tokens = gguf_kv_find(g, "tokenizer.ggml.tokens");
    gguf_string strings[3];
    assert_true(gguf_read_strings(tokens, strings));
    assert_int_equal(strings[1].n_bytes, 0);
    assert_memory_equal(strings[2].data, "ccc", 3);
    const gguf_tensor *t = gguf_tensor_find(g, "output_norm.weight");
    assert_ptr_equal(t, gguf_tensor_at(g, 1));
    assert_int_equal(t->ne[0], 5);
    assert_int_equal(t->ne[3], 1);
    assert_int_equal(t->n_bytes, 20);
    assert_int_equal(t->file_off, b.data_off + 448);
    assert_ptr_equal(t->data, b.data + b.data_off + 448);
    gguf_close(g);
    gb_free(&b);
}

static void kv_numbers(gguf_builder *b) {
    int64_t i64 = INT64_MIN;
    double f64 = -2.5;
    gb_kv_i32(b, "minus", -7);
    gb_key(b, "small", GGUF_I64);
    gb_bytes(b, &i64, sizeof i64);
    gb_key(b, "big", GGUF_U64);
    gb_u64(b, UINT64_MAX);
    gb_key(b, "double", GGUF_F64);
    gb_bytes(b, &f64, sizeof f64);
    gb_kv_f32(b, "float", 0.5f);
    gb_key(b, "yes", GGUF_BOOL);
    gb_u8(b, 1);
    gb_kv_array(b, "list", GGUF_I8, 3);
    gb_bytes(b, "\377\0\1", 3);
}

static void header_seven(gguf_builder *b) {
    gb_header(b, 2, 0, 7);
}

static void test_numbers(void **state) {
    (void)state;
    gguf_builder b = {0};
    header_seven(&b);
    kv_numbers(&b);
    gguf *g = NULL;
    assert_int_equal(gguf_open_memory(b.data, b.n_bytes, &g, NULL), CONVECT_OK); /* no tensors: no padding needed */
    uint64_t u = 0;
    int64_t s = 0;
    double f = 0;
    assert_false(gguf_read_u64(gguf_kv_find(g, "minus"), 0, &u));
    assert_true(gguf_read_i64(gguf_kv_find(g, "minus"), 0, &s) && s == -7);
    assert_true(gguf_read_i64(gguf_kv_find(g, "small"), 0, &s) && s == INT64_MIN);
    assert_true(gguf_read_u64(gguf_kv_find(g, "big"), 0, &u) && u == UINT64_MAX);
    assert_false(gguf_read_i64(gguf_kv_find(g, "big"), 0, &s));
    assert_false(gguf_read_u64(gguf_kv_find(g, "big"), 1, &u));
    assert_true(gguf_read_f64(gguf_kv_find(g, "double"), 0, &f) && f == -2.5);
    assert_true(gguf_read_f64(gguf_kv_find(g, "float"), 0, &f) && f == 0.5);
    assert_false(gguf_read_u64(gguf_kv_find(g, "float"), 0, &u));
    assert_true(gguf_read_u64(gguf_kv_find(g, "yes"), 0, &u) && u == 1);
    assert_true(gguf_read_i64(gguf_kv_find(g, "list"), 0, &s) && s == -1);
    assert_true(gguf_read_i64(gguf_kv_find(g, "list"), 2, &s) && s == 1);
    assert_false(gguf_read_i64(gguf_kv_find(g, "list"), 3, &s));
    assert_false(gguf_read_u64(NULL, 0, &u));
    gguf_close(g);
    gb_free(&b);
}

/* ---- header ---- */

#define HEADER(fn, version, n_tensors, n_kv)                                                                           \
    static void fn(gguf_builder *b) {                                                                                  \
        gb_header(b, version, n_tensors, n_kv);                                                                        \
    }
HEADER(version_0, 0, 2, 4)
HEADER(version_1, 1, 2, 4)
HEADER(version_4, 4, 2, 4)
HEADER(version_be, 0x03000000, 2, 4)
HEADER(many_kv, 3, 2, UINT64_C(1) << 40)
HEADER(negative_kv, 3, 2, UINT64_MAX)
HEADER(many_tensors, 3, UINT64_C(1) << 62, 4)

static void test_header(void **state) {
    (void)state;
    expect(build(PART_HEADER, version_0), CONVECT_NOT_SUPPORTED, "version 0");
    expect(build(PART_HEADER, version_1), CONVECT_NOT_SUPPORTED, "version 1");
    expect(build(PART_HEADER, version_4), CONVECT_NOT_SUPPORTED, "version 4");
    expect(build(PART_HEADER, version_be), CONVECT_NOT_SUPPORTED, "foreign endianness");
    expect(build(PART_HEADER, many_kv), CONVECT_DAMAGED, "claims 1099511627776 metadata entries");
    expect(build(PART_HEADER, negative_kv), CONVECT_DAMAGED, "metadata entries, which cannot fit");
    expect(build(PART_HEADER, many_tensors), CONVECT_DAMAGED, "tensors, which cannot fit");
}

static void test_count_caps(void **state) {
    (void)state;
    gguf_builder b = {0};
    size_t n = (size_t)1 << 20;
    gb_header(&b, 3, 0, n + 1);
    for (size_t i = 0; i < 13 * (n + 1); i++) gb_u8(&b, 0);
    expect(b, CONVECT_NOT_SUPPORTED, "1048577 metadata entries; the limit is 1048576");
    gguf_builder t = {0};
    gb_header(&t, 3, n + 1, 0);
    for (size_t i = 0; i < 32 * (n + 1); i++) gb_u8(&t, 0);
    expect(t, CONVECT_NOT_SUPPORTED, "1048577 tensors; the limit is 1048576");
}

/* 2^20 keys and 2^20 tensors: duplicates are looked for in linear time (a quadratic search would take hours). */
static void test_full_counts(void **state) {
    (void)state;
    gguf_builder b = {0};
    uint32_t n = 1u << 20;
    char name[32];
    gb_header(&b, 3, n, n);
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "k%u", i);
        gb_key(&b, name, GGUF_U8);
        gb_u8(&b, 0);
    }
    for (uint32_t i = 0; i < n; i++) { /* the data in reverse order */
        (void)snprintf(name, sizeof name, "t%u", i);
        gb_tensor(&b, name, 1, (uint64_t[]){8}, F32, (uint64_t)(n - 1 - i) * 32);
    }
    gb_align_data(&b, 32);
    for (size_t i = 0; i < (size_t)n * 32; i++) gb_u8(&b, 0);
    gguf *g = NULL;
    assert_int_equal(gguf_open_memory(b.data, b.n_bytes, &g, NULL), CONVECT_OK);
    assert_int_equal(gguf_tensor_find(g, "t1048575")->file_off, b.data_off);
    gguf_close(g);
    gb_free(&b);
}

/* ---- metadata ---- */

#define KV(fn, ...)                                                                                                    \
    static void fn(gguf_builder *b) {                                                                                  \
        gb_kv_string(b, "general.architecture", "x");                                                                  \
        gb_kv_u32(b, "pad.a", 0);                                                                                      \
        gb_kv_u32(b, "pad.b", 0);                                                                                      \
        __VA_ARGS__                                                                                                    \
    }
KV(kv_empty_key, gb_kv_u32(b, "", 1);)
KV(kv_duplicate, gb_kv_u32(b, "pad.a", 1);)
KV(kv_type_13, gb_key(b, "bad.type", 13); gb_u32(b, 1);)
KV(kv_type_minus, gb_key(b, "bad.type", UINT32_MAX); gb_u32(b, 1);)
KV(kv_bool_2, gb_key(b, "flag", GGUF_BOOL); gb_u8(b, 2);)
KV(kv_bools, gb_kv_array(b, "flags", GGUF_BOOL, 3); gb_bytes(b, "\0\1\7", 3);)
KV(kv_nested, gb_kv_array(b, "deep", GGUF_ARRAY, 1); gb_u32(b, 4); gb_u64(b, 0);)
KV(kv_element_type, gb_kv_array(b, "odd", 99, 1); gb_u32(b, 4);)
KV(kv_big_array, gb_kv_array(b, "big", GGUF_U32, UINT64_C(1) << 62);)
KV(kv_many_strings, gb_kv_array(b, "many", GGUF_STRING, UINT64_C(1) << 61);)
KV(kv_long_string, gb_key(b, "long", GGUF_STRING); gb_u64(b, UINT64_MAX - 3);)
KV(kv_long_key, gb_u64(b, (64u << 10) + 1);)
KV(kv_alignment_0, gb_kv_u32(b, "general.alignment", 0);)
KV(kv_alignment_24, gb_kv_u32(b, "general.alignment", 24);)
KV(kv_alignment_big, gb_kv_u32(b, "general.alignment", 1u << 21);)
KV(kv_alignment_u64, gb_key(b, "general.alignment", GGUF_U64); gb_u64(b, 32);)

static void test_metadata(void **state) {
    (void)state;
    expect(build(PART_KV, kv_empty_key), CONVECT_DAMAGED, "metadata entry 3 at byte");
    expect(build(PART_KV, kv_duplicate), CONVECT_DAMAGED, "key 'pad.a' appears twice (entries 1 and 3)");
    expect(build(PART_KV, kv_type_13), CONVECT_DAMAGED, "'bad.type': unknown value type 13");
    expect(build(PART_KV, kv_type_minus), CONVECT_DAMAGED, "unknown value type 4294967295");
    expect(build(PART_KV, kv_bool_2), CONVECT_DAMAGED, "'flag': a bool at byte");
    expect(build(PART_KV, kv_bools), CONVECT_DAMAGED, "is 7, not 0 or 1");
    expect(build(PART_KV, kv_nested), CONVECT_NOT_SUPPORTED, "'deep': an array of arrays");
    expect(build(PART_KV, kv_element_type), CONVECT_DAMAGED, "unknown element type 99");
    expect(build(PART_KV, kv_big_array), CONVECT_DAMAGED, "claims 4611686018427387904 elements");
    expect(build(PART_KV, kv_many_strings), CONVECT_DAMAGED, "'many': truncated or damaged: an array");
    expect(build(PART_KV, kv_long_string), CONVECT_DAMAGED, "'long': truncated or damaged");
    expect(build(PART_KV, kv_long_key), CONVECT_DAMAGED, "key of metadata entry 3 at byte");
    expect(build(PART_KV, kv_alignment_0), CONVECT_DAMAGED, "general.alignment is 0");
    expect(build(PART_KV, kv_alignment_24), CONVECT_DAMAGED, "general.alignment is 24");
    expect(build(PART_KV, kv_alignment_big), CONVECT_DAMAGED, "general.alignment is 2097152");
    expect(build(PART_KV, kv_alignment_u64), CONVECT_DAMAGED, "general.alignment has type u64");
}

/* ---- tensors ---- */

static const uint64_t row_256[] = {256, 1, 1, 1};

#define TENSORS(fn, ...)                                                                                               \
    static void fn(gguf_builder *b) {                                                                                  \
        gb_tensor(b, "a.weight", 1, row_256, Q4_K, 0);                                                                 \
        __VA_ARGS__                                                                                                    \
    }
#define B256(name, type, off) gb_tensor(b, name, 1, row_256, type, off);
#define SHAPE(n_dims, ...)    gb_tensor(b, "b.weight", n_dims, (const uint64_t[]){__VA_ARGS__}, F32, 160);
TENSORS(t_duplicate, B256("a.weight", Q4_K, 160))
TENSORS(t_no_name, B256("", Q4_K, 160))
TENSORS(t_long_name, B256("0123456789012345678901234567890123456789012345678901234567890123", Q4_K, 160))
TENSORS(t_nul_name, gb_u64(b, 3); gb_bytes(b, "a\0b", 3); gb_u32(b, 1); gb_u64(b, 1); gb_u32(b, 0); gb_u64(b, 160);)
TENSORS(t_dims_0, SHAPE(0, 1))
TENSORS(t_dims_5, SHAPE(5, 1, 1, 1, 1, 1))
TENSORS(t_ne_0, SHAPE(2, 8, 0))
TENSORS(t_ne_minus, SHAPE(1, UINT64_MAX))
TENSORS(t_overflow, SHAPE(3, 1u << 31, 1u << 31, 1u << 31))
TENSORS(t_bytes_overflow, SHAPE(2, UINT64_C(1) << 61, 3))
TENSORS(t_block, gb_tensor(b, "b.weight", 1, (const uint64_t[]){255}, Q4_K, 160);)
TENSORS(t_unaligned, B256("b.weight", Q4_K, 161))
TENSORS(t_overlap, B256("b.weight", Q4_K, 128))
TENSORS(t_same_place, B256("b.weight", Q4_K, 0))
TENSORS(t_past_end, B256("b.weight", Q4_K, 448))
TENSORS(t_offset_far, B256("b.weight", Q4_K, INT64_MAX - 65535))
TENSORS(t_offset_overflow, B256("b.weight", Q4_K, UINT64_MAX - 31))
TENSORS(t_type_4, B256("b.weight", 4, 160))
TENSORS(t_type_9, B256("b.weight", 9, 160))
TENSORS(t_type_31, B256("b.weight", 31, 160))
TENSORS(t_type_36, B256("b.weight", 36, 160))
TENSORS(t_type_38, B256("b.weight", 38, 160))
TENSORS(t_type_139, B256("b.weight", 139, 160))
TENSORS(t_type_350, B256("b.weight", 350, 160))
TENSORS(t_type_77, B256("b.weight", 77, 160))
TENSORS(t_type_minus, B256("b.weight", UINT32_MAX, 160))
TENSORS(t_hostile_name, B256("\033]0;x\a", 77, 160))

static void test_tensors(void **state) {
    (void)state;
    expect(build(PART_TENSORS, t_duplicate), CONVECT_DAMAGED, "tensor 'a.weight' appears twice");
    expect(build(PART_TENSORS, t_no_name), CONVECT_DAMAGED, "tensor 1 at byte");
    expect(build(PART_TENSORS, t_long_name), CONVECT_DAMAGED, "name of tensor 1 at byte");
    expect(build(PART_TENSORS, t_nul_name), CONVECT_DAMAGED, "holds a zero byte");
    expect(build(PART_TENSORS, t_dims_0), CONVECT_DAMAGED, "has 0 dimensions");
    expect(build(PART_TENSORS, t_dims_5), CONVECT_DAMAGED, "has 5 dimensions");
    expect(build(PART_TENSORS, t_ne_0), CONVECT_DAMAGED, "dimension 1 of tensor 'b.weight' is 0");
    expect(build(PART_TENSORS, t_ne_minus), CONVECT_DAMAGED, "dimension 0 of tensor 'b.weight' is -1");
    expect(build(PART_TENSORS, t_overflow), CONVECT_DAMAGED, "overflows 63 bits");
    expect(build(PART_TENSORS, t_bytes_overflow), CONVECT_DAMAGED, "overflows 63 bits");
    expect(build(PART_TENSORS, t_block), CONVECT_DAMAGED, "no multiple of 256, the block of Q4_K");
    expect(build(PART_TENSORS, t_unaligned), CONVECT_DAMAGED, "offset 161 of tensor 'b.weight'");
    expect(build(PART_TENSORS, t_overlap), CONVECT_DAMAGED, "tensors 'a.weight' and 'b.weight' overlap");
    expect(build(PART_TENSORS, t_same_place), CONVECT_DAMAGED, "overlap");
    expect(build(PART_TENSORS, t_past_end), CONVECT_DAMAGED, "bytes are missing (tensor 'b.weight' ends at byte");
    expect(build(PART_TENSORS, t_offset_far), CONVECT_DAMAGED, "bytes are missing (tensor 'b.weight' ends at byte");
    expect(build(PART_TENSORS, t_offset_overflow), CONVECT_DAMAGED, "overflows");
    expect(build(PART_TENSORS, t_type_4), CONVECT_NOT_SUPPORTED, "Q4_2");
    expect(build(PART_TENSORS, t_type_9), CONVECT_NOT_SUPPORTED, "Q8_1");
    expect(build(PART_TENSORS, t_type_31), CONVECT_NOT_SUPPORTED, "Q4_0_4_4");
    expect(build(PART_TENSORS, t_type_36), CONVECT_NOT_SUPPORTED, "I2_S");
    expect(build(PART_TENSORS, t_type_38), CONVECT_NOT_SUPPORTED, "IQ4_NL_8_8");
    expect(build(PART_TENSORS, t_type_139), CONVECT_NOT_SUPPORTED, "IQ4_K): exists only in ik_llama.cpp");
    expect(build(PART_TENSORS, t_type_350), CONVECT_NOT_SUPPORTED, "_R4/_R8/_R16");
    expect(build(PART_TENSORS, t_type_77), CONVECT_NOT_SUPPORTED, "type 77, which Convect does not know");
    expect(build(PART_TENSORS, t_type_minus), CONVECT_NOT_SUPPORTED, "type 4294967295");
    expect(build(PART_TENSORS, t_hostile_name), CONVECT_NOT_SUPPORTED, "'\\x1b]0;x\\x07'");
}

/* ---- every length, every byte ---- */

static void check_outcome(convect_status status, const convect_error *err, size_t at) {
    bool expected = status == CONVECT_OK || status == CONVECT_DAMAGED || status == CONVECT_NOT_SUPPORTED;
    if (!expected || (status != CONVECT_OK && !err->text[0]))
        fail_msg("at byte %zu: %s: %s", at, convect_status_name(status), err->text);
}

static void test_every_truncation(void **state) {
    (void)state;
    gguf_builder b = build(PART_HEADER, NULL);
    for (size_t n = 0; n < b.n_bytes; n++) {
        convect_error err = {0};
        gguf *g = NULL;
        convect_status status = open_exact(b.data, n, &g, &err);
        check_outcome(status, &err, n);
        if (status == CONVECT_OK) fail_msg("a file cut at byte %zu opened", n);
    }
    gb_free(&b);
}

static void test_every_flip(void **state) {
    (void)state;
    gguf_builder b = build(PART_HEADER, NULL);
    for (size_t at = 0; at < b.data_off; at++)
        for (unsigned bit = 0; bit < 9; bit++) {
            uint8_t old = b.data[at];
            b.data[at] = bit < 8 ? (uint8_t)(old ^ (1u << bit)) : 0xff;
            convect_error err = {0};
            gguf *g = NULL;
            check_outcome(open_exact(b.data, b.n_bytes, &g, &err), &err, at);
            b.data[at] = old;
        }
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),      cmocka_unit_test(test_numbers),          cmocka_unit_test(test_header),
        cmocka_unit_test(test_count_caps), cmocka_unit_test(test_full_counts),      cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_tensors),    cmocka_unit_test(test_every_truncation), cmocka_unit_test(test_every_flip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
