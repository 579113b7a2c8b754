/* convect quantize end to end on a small file: formats by the mix, fall-backs named, metadata kept, values close,
 * refusals that leave the old file alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/gguf.h"
#include "engine/gguf_write.h"
#include "kernels/format.h"
#include "kernels/table.h"
#include "tests/process.h"

static char folder[] = "/tmp/convect-quantize-XXXXXX";
static char seen[16384]; /* stdout, then stderr of the last run */

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? chdir(folder) : -1; /* the tests name files relative to it */
}

static int remove_folder(void **state) {
    (void)state;
    return chdir("/") == 0 ? process_run((const char *const[]){"rm", "-r", folder, NULL}, NULL, NULL) : -1;
}

static size_t append_file(const char *name, size_t used) {
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    used += fread(seen + used, 1, sizeof seen - 1 - used, f);
    seen[used] = 0;
    assert_int_equal(fclose(f), 0);
    return used;
}

/* convect quantize IN OUT [more]; exit status. */
static int quantize(const char *in, const char *out, const char *const more[4]) {
    const char *argv[9] = {CONVECT_BINARY, "quantize", in, out};
    for (size_t i = 0; more && i < 4 && more[i]; i++) argv[4 + i] = more[i];
    int rc = process_run(argv, "out.txt", "err.txt");
    (void)append_file("err.txt", append_file("out.txt", 0));
    return rc;
}
#define ARGS(...) ((const char *const[4]){__VA_ARGS__})

static const struct {
    const char *name;
    uint32_t n_dims;
    uint64_t ne[4];
} shapes[] = {
    {"token_embd.weight", 2, {512, 96, 1, 1}},
    {"output_norm.weight", 1, {512, 1, 1, 1}},
    {"blk.0.attn_v.weight", 2, {512, 64, 1, 1}},
    {"blk.0.ffn_gate_inp.weight", 2, {512, 8, 1, 1}},
    {"blk.0.ffn_gate_exps.weight", 3, {512, 64, 8, 1}},
    {"blk.0.ffn_down_exps.weight", 3, {64, 512, 8, 1}}, /* rows of 64: no K-quant */
    {"blk.1.ffn_down_exps.weight", 3, {256, 512, 8, 1}},
    {"blk.0.odd.weight", 2, {100, 3, 1, 1}},
    {"output.weight", 2, {512, 96, 1, 1}},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static float value(size_t i_tensor, uint64_t i) {
    uint64_t z = (i + 1 + 1000003 * i_tensor) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    return (float)((int64_t)(z >> 40) - (1 << 23)) * 0x1p-29F;
}

/* Writes NAME in the folder; poison puts a NaN into the last tensor. */
static void write_source(const char *name, bool poison) {
    convect_error err = {0};
    gguf_writer *w = NULL;
    assert_int_equal(gguf_writer_open(name, &w, &err), CONVECT_OK);
    gguf_writer_kv_string(w, "general.architecture", "qwen35moe", 9);
    gguf_writer_kv_u32(w, "general.file_type", 0);
    gguf_writer_kv_u32(w, "qwen35moe.block_count", 2);
    gguf_writer_kv_u32(w, "qwen35moe.expert_count", 8);
    gguf_writer_kv_i32s(w, "some.array", (const int32_t[]){3, 1, 4}, 3);
    for (size_t t = 0; t < N_SHAPES; t++) gguf_writer_tensor(w, shapes[t].name, 0, shapes[t].n_dims, shapes[t].ne);
    assert_int_equal(gguf_writer_begin_data(w, &err), CONVECT_OK);
    for (size_t t = 0; t < N_SHAPES; t++) {
        uint64_t n = shapes[t].ne[0] * shapes[t].ne[1] * shapes[t].ne[2];
        float *x = malloc(n * sizeof *x);
        assert_non_null(x);
        for (uint64_t i = 0; i < n; i++) x[i] = value(t, i);
        if (poison && t == N_SHAPES - 1) x[n / 2] = NAN;
        assert_int_equal(gguf_write_at(w, t, 0, x, n * sizeof *x, &err), CONVECT_OK);
        free(x);
    }
    assert_int_equal(gguf_writer_commit(w, &err), CONVECT_OK);
}

static gguf *open_file(const char *name) {
    gguf *g = NULL;
    convect_error err = {0};
    if (gguf_open(name, &g, &err)) fail_msg("%s", err.text);
    return g;
}

static void expect_type(const gguf *g, const char *name, format_id format) {
    const gguf_tensor *t = gguf_tensor_find(g, name);
    assert_non_null(t);
    assert_int_equal(t->ggml_type, format_get(format)->ggml_type);
}

static double relative_error(const gguf *g, size_t i_tensor) {
    const gguf_tensor *t = gguf_tensor_find(g, shapes[i_tensor].name);
    uint64_t n = t->ne[0] * t->ne[1] * t->ne[2];
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    kernel_table_get(KERNEL_LEVEL_REF)->dequantize[format_from_ggml(t->ggml_type)](t->data, n, x);
    double e = 0;
    double s = 0;
    for (uint64_t i = 0; i < n; i++) {
        double want = value(i_tensor, i);
        e += (x[i] - want) * (x[i] - want);
        s += want * want;
    }
    free(x);
    return e / s;
}

static void by_the_mix(void **state) {
    (void)state;
    write_source("in.gguf", false);
    assert_int_equal(quantize("in.gguf", "out.gguf", ARGS("--mix", "q4_k_m", "--threads", "3")), 0);
    assert_non_null(strstr(seen, "IQ4_NL instead of Q4_K"));
    assert_non_null(strstr(seen, "F16 instead of Q4_K"));
    assert_non_null(strstr(seen, "bits per weight"));
    assert_null(strstr(seen, "quantised already"));
    gguf *g = open_file("out.gguf");
    expect_type(g, "token_embd.weight", FORMAT_Q4_K);
    expect_type(g, "output.weight", FORMAT_Q6_K);
    expect_type(g, "output_norm.weight", FORMAT_F32);
    expect_type(g, "blk.0.attn_v.weight", FORMAT_Q8_0);
    expect_type(g, "blk.0.ffn_gate_inp.weight", FORMAT_F32);
    expect_type(g, "blk.0.ffn_gate_exps.weight", FORMAT_Q4_K);
    expect_type(g, "blk.0.odd.weight", FORMAT_F16);
    uint64_t v = 0;
    assert_true(gguf_read_u64(gguf_kv_find(g, "general.file_type"), 0, &v) && v == 15);
    assert_true(gguf_read_u64(gguf_kv_find(g, "general.quantization_version"), 0, &v) && v == 2);
    assert_true(gguf_read_u64(gguf_kv_find(g, "some.array"), 2, &v) && v == 4);
    assert_int_equal(gguf_n_kv(g), 6);
    for (size_t t = 0; t < N_SHAPES; t++) assert_true(relative_error(g, t) < 0.01);
    gguf_close(g);
}

/* The same bytes whatever the number of threads. */
static void threads_change_nothing(void **state) {
    (void)state;
    write_source("in.gguf", false);
    assert_int_equal(quantize("in.gguf", "one.gguf", ARGS("--mix=q2_k", "-t", "1", "-q")), 0);
    assert_string_equal(seen, "");
    assert_int_equal(quantize("in.gguf", "four.gguf", ARGS("--mix=q2_k", "-t", "4", "-q")), 0);
    assert_int_equal(process_run((const char *const[]){"cmp", "one.gguf", "four.gguf", NULL}, NULL, NULL), 0);
}

static void warns_on_quantised_source(void **state) {
    (void)state;
    write_source("in.gguf", false);
    assert_int_equal(quantize("in.gguf", "q8.gguf", ARGS("--mix", "q8_0")), 0);
    assert_int_equal(quantize("q8.gguf", "q6.gguf", ARGS("--mix", "q6_k")), 0);
    assert_non_null(strstr(seen, "quantised already"));
    gguf *g = open_file("q6.gguf");
    expect_type(g, "blk.1.ffn_down_exps.weight", FORMAT_Q6_K);
    expect_type(g, "blk.0.ffn_down_exps.weight", FORMAT_Q8_0);
    for (size_t t = 0; t < N_SHAPES; t++) assert_true(relative_error(g, t) < 0.001);
    gguf_close(g);
}

static void refuses_and_keeps_the_old_file(void **state) {
    (void)state;
    write_source("bad.gguf", true);
    FILE *old = fopen("old.gguf", "w");
    assert_true(old && fputs("old", old) >= 0 && fclose(old) == 0);
    assert_int_equal(link("bad.gguf", "same.gguf"), 0);
    assert_int_equal(quantize("bad.gguf", "old.gguf", NULL), 4);
    assert_non_null(strstr(seen, "output.weight holds a weight that is not finite"));
    assert_int_equal(quantize("bad.gguf", "./bad.gguf", NULL), 2);
    assert_int_equal(quantize("bad.gguf", "same.gguf", NULL), 2); /* another name of the same file */
    assert_int_equal(quantize("missing.gguf", "x.gguf", NULL), 3);
    assert_int_equal(quantize("bad.gguf", "x.gguf", ARGS("--mix", "q5")), 2);
    (void)append_file("old.gguf", 0);
    assert_string_equal(seen, "old");
    DIR *d = opendir(".");
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) assert_null(strstr(e->d_name, ".part"));
    assert_int_equal(closedir(d), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_mix),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(warns_on_quantised_source),
        cmocka_unit_test(refuses_and_keeps_the_old_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
