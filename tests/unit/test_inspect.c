/* The command `convect inspect` on a file full of hostile text: what it prints is safe and, as JSON, valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <json-c/json.h>
#include <unistd.h>

#include "tests/process.h"
#include "tests/unit/gguf_builder.h"

static const char hostile[] = "\033]0;owned\a\x9b\xff\xc2\x9b\xe2\x80\xae\"\\\n\r\xed\xa0\x80 end";
static char path[] = "/tmp/convect-inspect-XXXXXX";

static void kv_floats(gguf_builder *b) {
    static const uint64_t f64[] = {0x7ff8000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x0000000000000001};
    gb_kv_array(b, "floats", GGUF_F64, 4);
    gb_bytes(b, f64, sizeof f64);
    gb_kv_f32(b, "qwen35moe.attention.layer_norm_rms_epsilon", 1e-6f);
}

static int make_file(void **state) {
    (void)state;
    gguf_builder b = {0};
    gb_header(&b, 3, 2, 8);
    gb_kv_string(&b, "general.architecture", "qwen35moe");
    gb_kv_string(&b, hostile, hostile);
    gb_kv_array(&b, "tokens", GGUF_STRING, 1000);
    for (int i = 0; i < 1000; i++) gb_string(&b, hostile);
    kv_floats(&b);
    gb_key(&b, "big", GGUF_U64);
    gb_u64(&b, UINT64_MAX);
    gb_key(&b, "flag", GGUF_BOOL);
    gb_u8(&b, 1);
    gb_kv_array(&b, "none", GGUF_I32, 0);
    gb_tensor(&b, hostile, 2, (uint64_t[]){256, 2}, 12, 0);
    gb_tensor(&b, "token_embd.weight", 2, (uint64_t[]){32, 4}, 8, 288);
    gb_align_data(&b, 32);
    gb_data(&b, 288 + 136);
    int fd = mkstemp(path);
    int result = fd >= 0 && write(fd, b.data, b.n_bytes) == (ssize_t)b.n_bytes ? 0 : -1;
    gb_free(&b);
    return close(fd) || result;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

/* Reads a whole text file into to (NUL-terminated) and deletes it. */
static void take_text(const char *from, char *to, size_t capacity) {
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    size_t n = fread(to, 1, capacity - 1, f);
    (void)fclose(f);
    (void)unlink(from);
    to[n] = 0;
    assert_int_equal(strlen(to), n);
}

static char out[1 << 20];
static char message[1024];

/* Runs `convect inspect A B`; fills out and message. Returns the exit status. */
static int inspect(const char *a, const char *b) {
    char out_path[64], err_path[64];
    (void)snprintf(out_path, sizeof out_path, "%s.out", path);
    (void)snprintf(err_path, sizeof err_path, "%s.err", path);
    int status = process_run((const char *[]){CONVECT_BINARY, "inspect", a, b, NULL}, out_path, err_path);
    take_text(out_path, out, sizeof out);
    take_text(err_path, message, sizeof message);
    return status;
}

static void test_text(void **state) {
    (void)state;
    assert_int_equal(inspect(path, NULL), 0);
    for (const char *p = out; *p; p++)
        if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f || (unsigned char)*p >= 0x80)
            fail_msg("byte %02x at %td", (unsigned char)*p, p - out);
    assert_non_null(strstr(out, "\\x1b]0;owned\\x07\\x9b\\xff\\u{009b}\\u{202e}\""));
    assert_non_null(strstr(out, "1000 values:"));
    assert_non_null(strstr(out, "18446744073709551615"));
    assert_non_null(strstr(out, "  Q4_K "));
    assert_non_null(strstr(out, "256 x 2"));
    assert_non_null(strstr(out, "also the head"));
}

static struct json_object *get(struct json_object *o, const char *key) {
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(o, key, &value)) fail_msg("no %s", key);
    return value;
}

static struct json_object *metadata(struct json_object *root, const char *key) {
    struct json_object *all = get(root, "metadata");
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        struct json_object *o = json_object_array_get_idx(all, i);
        if (strcmp(json_object_get_string(get(o, "key")), key) == 0) return o;
    }
    fail_msg("no key %s", key);
    return NULL;
}

static void test_json(void **state) {
    (void)state;
    assert_int_equal(inspect("--json", path), 0);
    struct json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *root = json_tokener_parse_ex(tokener, out, (int)strlen(out));
    if (!root) fail_msg("%s", json_tokener_error_desc(json_tokener_get_error(tokener)));
    json_tokener_free(tokener);
    assert_int_equal(json_object_array_length(get(root, "tensors")), 2);
    struct json_object *tokens = metadata(root, "tokens");
    assert_int_equal(json_object_get_int64(get(tokens, "n_elements")), 1000);
    assert_int_equal(json_object_array_length(get(tokens, "first")), 8);
    assert_true(json_object_get_uint64(get(metadata(root, "big"), "value")) == UINT64_MAX);
    struct json_object *floats = get(metadata(root, "floats"), "first");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(floats, 0)), "nan");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(floats, 2)), "-inf");
    assert_true(json_object_get_double(json_object_array_get_idx(floats, 3)) > 0);
    struct json_object *eps = metadata(root, "qwen35moe.attention.layer_norm_rms_epsilon");
    assert_true((float)json_object_get_double(get(eps, "value")) == 1e-6f);
    assert_int_equal(json_object_get_int64(get(get(root, "total"), "bytes")), 288 + 136);
    struct json_object *q4_k = get(get(root, "types"), "Q4_K");
    assert_true(json_object_get_double(get(q4_k, "bits_per_weight")) == 4.5);
    json_object_put(root);
}

static void test_exit_codes(void **state) {
    (void)state;
    assert_int_equal(inspect("/nonexistent.gguf", NULL), 3);
    assert_string_equal(message, "convect: /nonexistent.gguf: no such file\n");
    assert_string_equal(out, "");
    assert_int_equal(inspect(CONVECT_BINARY, NULL), 4);
    assert_non_null(strstr(message, "is not a GGUF file"));
    assert_int_equal(inspect(NULL, NULL), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_exit_codes),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
