/* GGUF files on disk: split files, and the many things that get saved under a .gguf name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <glob.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/gguf_builder.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/convect-files-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int empty_folder(void **state) {
    (void)state;
    char pattern[80];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/*", folder);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) (void)remove(found.gl_pathv[i]);
        globfree(&found);
    }
    return 0;
}

static int remove_folder(void **state) {
    return empty_folder(state) || rmdir(folder);
}

static const char *in_folder(const char *name) {
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const void *data, size_t n_bytes) {
    FILE *f = fopen(in_folder(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n_bytes, f), n_bytes);
    assert_int_equal(fclose(f), 0);
}

static void expect(const char *name, convect_status status, const char *words) {
    gguf *g = NULL;
    convect_error err = {0};
    convect_status got = gguf_open(in_folder(name), &g, &err);
    if (got != status || !strstr(err.text, words) || (status != CONVECT_OK && g))
        fail_msg("%s: want %s with \"%s\", got %s: %s", name, convect_status_name(status), words,
                 convect_status_name(got), err.text);
    gguf_close(g);
}

/* ---- no GGUF at all ---- */

static void expect_text(const char *data, size_t n_bytes, convect_status status, const char *words) {
    put_file("model.gguf", data, n_bytes);
    expect("model.gguf", status, words);
}
#define EXPECT_TEXT(literal, status, words) expect_text(literal, sizeof(literal) - 1, status, words)

static void test_look_alikes(void **state) {
    (void)state;
    EXPECT_TEXT("", CONVECT_DAMAGED, "model.gguf: is empty (0 bytes)");
    EXPECT_TEXT("GG", CONVECT_DAMAGED, "truncated");
    EXPECT_TEXT("GGUF", CONVECT_DAMAGED, "truncated or damaged: the version at byte 4");
    EXPECT_TEXT("GGUF\3\0\0\0\0\0\0\0", CONVECT_DAMAGED, "truncated");
    EXPECT_TEXT("\n <!DOCTYPE html><html>", CONVECT_DAMAGED, "HTML page");
    EXPECT_TEXT("<html lang=en>", CONVECT_DAMAGED, "HTML page");
    EXPECT_TEXT("<?xml version='1.0'?><Error>", CONVECT_DAMAGED, "XML");
    EXPECT_TEXT("{\"error\":\"Repository not found\"}", CONVECT_DAMAGED, "JSON");
    EXPECT_TEXT("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", CONVECT_DAMAGED, "git lfs pull");
    EXPECT_TEXT("\x10\0\0\0\0\0\0\0{\"__metadata__\":", CONVECT_NOT_SUPPORTED, "safetensors");
    EXPECT_TEXT("PK\3\4xxxx", CONVECT_NOT_SUPPORTED, "ZIP archive");
    EXPECT_TEXT("\x1f\x8b\x08\0", CONVECT_NOT_SUPPORTED, "gzip");
    EXPECT_TEXT("tjgg\1\0\0\0", CONVECT_NOT_SUPPORTED, "GGJT");
    EXPECT_TEXT("FUGG\0\0\0\3", CONVECT_NOT_SUPPORTED, "endianness");
    EXPECT_TEXT("\0\0\0\0\0\0\0\0", CONVECT_DAMAGED, "zero bytes");
    EXPECT_TEXT("hello", CONVECT_DAMAGED, "is not a GGUF file: it begins with bytes 68 65 6c 6c");
}

static void test_names(void **state) {
    (void)state;
    expect("absent.gguf", CONVECT_NOT_FOUND, "absent.gguf: no such file");
    put_file("half.gguf.part", "GGUF", 4);
    expect("half.gguf", CONVECT_NOT_FOUND, "the download has not finished");
    expect("half.gguf.part", CONVECT_DAMAGED, "ends in .part, which marks an unfinished download");
    assert_int_equal(mkdir(in_folder("dir.gguf"), 0700), 0);
    expect("dir.gguf", CONVECT_USAGE, "is a folder, and no .gguf file is in it");
    assert_int_equal(mkfifo(in_folder("pipe.gguf"), 0600), 0);
    expect("pipe.gguf", CONVECT_NOT_FOUND, "no regular file");
    expect("dir.gguf/x/y", CONVECT_NOT_FOUND, "no such file");
    if (geteuid() != 0) {
        put_file("locked.gguf", "GGUF", 4);
        assert_int_equal(chmod(in_folder("locked.gguf"), 0), 0);
        expect("locked.gguf", CONVECT_NOT_FOUND, "Permission denied");
    }
}

static void test_long_path(void **state) {
    (void)state;
    char name[420] = "";
    for (size_t i = 0; i < 200; i++) memcpy(name + 2 * i, "./", 3);
    memcpy(name + 400, "none.gguf", sizeof "none.gguf");
    expect(name, CONVECT_NOT_FOUND, "none.gguf: no such file");
}

/* 8 GiB of weights (a sparse file): opening touches the header only, offsets pass 32 bits. */
static void test_large(void **state) {
    (void)state;
    const uint64_t n_elems = UINT64_C(1) << 33;
    gguf_builder b = {0};
    gb_header(&b, 3, 2, 0);
    gb_tensor(&b, "large", 2, (uint64_t[]){4096, n_elems / 4096}, 24, 0);
    gb_tensor(&b, "last", 1, (uint64_t[]){1}, 24, n_elems);
    gb_align_data(&b, 32);
    put_file("large.gguf", b.data, b.n_bytes);
    assert_int_equal(truncate(in_folder("large.gguf"), (off_t)(b.data_off + n_elems)), 0);
    expect("large.gguf", CONVECT_DAMAGED,
           "1 bytes are missing (tensor 'last' ends at byte 8589934721, the file at 8589934720)");
    assert_int_equal(truncate(in_folder("large.gguf"), (off_t)(b.data_off + n_elems + 1)), 0);
    struct rusage before, after;
    gguf *g = NULL;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(gguf_open(in_folder("large.gguf"), &g, NULL), CONVECT_OK);
    assert_int_equal(gguf_tensor_find(g, "last")->data[0], 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10); /* KiB */
    gguf_close(g);
    gb_free(&b);
}

/* A vocabulary of real size, read in one pass. */
static void test_many_strings(void **state) {
    (void)state;
    enum { N = 250000 };
    gguf_builder b = {0};
    gb_header(&b, 3, 0, 1);
    gb_kv_array(&b, "tokenizer.ggml.tokens", GGUF_STRING, N);
    for (int i = 0; i < N; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "t%d", i);
        gb_string(&b, text);
    }
    put_file("vocab.gguf", b.data, b.n_bytes);
    gb_free(&b);
    gguf *g = NULL;
    convect_error err = {0};
    gguf_string *strings = calloc(N, sizeof *strings);
    assert_non_null(strings);
    if (gguf_open(in_folder("vocab.gguf"), &g, &err) != CONVECT_OK) fail_msg("%s", err.text);
    assert_true(gguf_read_strings(gguf_kv_at(g, 0), strings));
    assert_int_equal(strings[N - 1].n_bytes, 7);
    assert_memory_equal(strings[N - 1].data, "t249999", 7);
    free(strings);
    gguf_close(g);
}

/* ---- split files ---- */

typedef struct shard_spec {
    uint16_t no, count;
    int32_t n_all;
    uint32_t n_tensors;
    const char *names[3];
} shard_spec;

static void put_shard(const char *name, const shard_spec *s) {
    gguf_builder b = {0};
    gb_header(&b, 3, s->n_tensors, s->no == 0 ? 4 : 3);
    if (s->no == 0) gb_kv_string(&b, "general.architecture", "qwen35moe");
    gb_kv_u16(&b, "split.no", s->no);
    gb_kv_u16(&b, "split.count", s->count);
    gb_kv_i32(&b, "split.tensors.count", s->n_all);
    for (uint32_t i = 0; i < s->n_tensors; i++) gb_tensor(&b, s->names[i], 1, (uint64_t[]){8}, 0, 32 * (uint64_t)i);
    gb_align_data(&b, 32);
    for (uint32_t i = 0; i < 32 * s->n_tensors; i++) gb_u8(&b, (uint8_t)(s->no * 16 + i));
    put_file(name, b.data, b.n_bytes);
    gb_free(&b);
}

#define NAME(i, n) "m-0000" #i "-of-0000" #n ".gguf"

static void put_good_split(void) {
    put_shard(NAME(1, 3), &(shard_spec){0, 3, 3, 0, {0}}); /* an empty first shard, as some real files have */
    put_shard(NAME(2, 3), &(shard_spec){1, 3, 3, 2, {"a", "b"}});
    put_shard(NAME(3, 3), &(shard_spec){2, 3, 3, 1, {"c"}});
}

static void test_split(void **state) {
    (void)state;
    put_good_split();
    gguf *g = NULL;
    convect_error err = {0};
    if (gguf_open(in_folder(NAME(1, 3)), &g, &err) != CONVECT_OK) fail_msg("%s", err.text);
    assert_int_equal(gguf_n_shards(g), 3);
    assert_int_equal(gguf_n_tensors(g), 3);
    assert_int_equal(gguf_n_kv(g), 4);
    const gguf_tensor *c = gguf_tensor_find(g, "c");
    assert_int_equal(c->i_shard, 2);
    assert_int_equal(c->data[1], 2 * 16 + 1);
    assert_non_null(strstr(gguf_shard_path(g, 2), NAME(3, 3)));
    uint8_t byte = 0;
    assert_int_equal(pread(gguf_shard_fd(g, 2), &byte, 1, (off_t)c->file_off + 1), 1);
    assert_int_equal(byte, 2 * 16 + 1);
    struct stat st;
    assert_int_equal(stat(in_folder(NAME(2, 3)), &st), 0);
    assert_true(gguf_file_bytes(g) > (uint64_t)st.st_size);
    gguf_close(g);
}

static void test_split_faults(void **state) {
    (void)state;
    const char *first = NAME(1, 3);
    put_good_split();
    expect(NAME(2, 3), CONVECT_OK, ""); /* any shard will do */
    assert_int_equal(unlink(in_folder(NAME(3, 3))), 0);
    expect(first, CONVECT_DAMAGED, "2 of 3 parts found; missing: " NAME(3, 3));
    put_file(NAME(3, 3) ".crdownload", "", 0);
    expect(NAME(2, 3), CONVECT_DAMAGED, "missing: " NAME(3, 3) " (unfinished download)");
    assert_int_equal(unlink(in_folder(first)), 0);
    expect(NAME(2, 3), CONVECT_DAMAGED, "1 of 3 parts found; missing: " NAME(1, 3) ", " NAME(3, 3));
    put_good_split();
    put_shard(NAME(3, 3), &(shard_spec){1, 3, 3, 1, {"c"}});
    expect(first, CONVECT_DAMAGED, NAME(3, 3) ": is a wrong shard: it says shard 2 of 3");
    put_shard(NAME(3, 3), &(shard_spec){2, 4, 3, 1, {"c"}});
    expect(first, CONVECT_DAMAGED, "it says shard 3 of 4");
    put_shard(NAME(3, 3), &(shard_spec){2, 3, 9, 1, {"c"}});
    expect(first, CONVECT_DAMAGED, "of another split");
    put_shard(NAME(3, 3), &(shard_spec){2, 3, 3, 1, {"b"}});
    expect(first, CONVECT_DAMAGED, NAME(3, 3) ": tensor 'b' is already in shard 2");
    put_shard(NAME(3, 3), &(shard_spec){2, 3, 3, 2, {"c", "d"}});
    expect(first, CONVECT_DAMAGED, "shards hold 4 tensors, split.tensors.count says 3");
    put_shard(NAME(3, 3), &(shard_spec){7, 3, 3, 1, {"c"}});
    expect(first, CONVECT_DAMAGED, "it says it is shard 8 of 3");
    put_file(NAME(3, 3), "GGUF\1\0\0\0", 8);
    expect(first, CONVECT_NOT_SUPPORTED, NAME(3, 3) ": is GGUF version 1");
    put_file(NAME(3, 3), "", 0);
    expect(first, CONVECT_DAMAGED, NAME(3, 3) ": is empty");
    gguf_builder b = {0};
    gb_header(&b, 3, 0, 0);
    put_file(NAME(3, 3), b.data, b.n_bytes);
    gb_free(&b);
    expect(first, CONVECT_DAMAGED, NAME(3, 3) ": is damaged: it is named as a shard");
}

/* All three named by the second shard, which does not say what the first one says. */
static void test_from_any_shard(void **state) {
    (void)state;
    put_good_split();
    gguf *g = NULL;
    convect_error err = {0};
    if (gguf_open(in_folder(NAME(3, 3)), &g, &err) != CONVECT_OK) fail_msg("%s", err.text);
    assert_int_equal(gguf_n_shards(g), 3);
    assert_non_null(strstr(gguf_shard_path(g, 0), NAME(1, 3)));
    assert_int_equal(gguf_n_kv(g), 4);
    assert_non_null(gguf_tensor_find(g, "a"));
    gguf_close(g);
    put_shard(NAME(1, 3), &(shard_spec){1, 3, 3, 0, {0}});
    expect(NAME(2, 3), CONVECT_DAMAGED, NAME(1, 3) ": is a wrong shard: it says shard 2 of 3");
    put_shard(NAME(1, 3), &(shard_spec){0, 3, 9, 0, {0}});
    expect(NAME(2, 3), CONVECT_DAMAGED, NAME(1, 3) ": is of another split");
}

static void append_file(const char *to, const char *from) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s", in_folder(to));
    FILE *out = fopen(path, "ab"), *in = fopen(in_folder(from), "rb");
    assert_true(out && in);
    for (int c; (c = fgetc(in)) != EOF;) (void)fputc(c, out);
    assert_int_equal(fclose(in) | fclose(out), 0);
}

/* Names and neighbours that tell what is wrong. */
static void test_hints(void **state) {
    (void)state;
    put_good_split();
    append_file(NAME(2, 3), NAME(3, 3));
    expect(NAME(2, 3), CONVECT_DAMAGED, "holds a second GGUF file from byte");
    put_shard("single.gguf", &(shard_spec){0, 1, 1, 1, {"a"}});
    expect("singel.gguf", CONVECT_NOT_FOUND, "no such file (did you mean single.gguf?)");
    put_file("single.gguf.aria2", "", 0);
    expect("single.gguf", CONVECT_DAMAGED, "is an unfinished download: aria2's control file");
    put_file("whole.gguf.part2of3", "x", 1);
    expect("whole.gguf.part2of3", CONVECT_DAMAGED, "is part 2 of 3 of a file that was cut; join the parts");
    put_file("whole.gguf.part4of3", "x", 1);
    expect("whole.gguf.part4of3", CONVECT_DAMAGED, "is truncated");
    expect(".", CONVECT_USAGE, "is a folder; name one of its 4 .gguf files: ");
    expect(".", CONVECT_USAGE, "single.gguf (0.0 GB)");
}

static void test_split_names(void **state) {
    (void)state;
    put_good_split();
    put_shard("renamed.gguf", &(shard_spec){0, 3, 3, 0, {0}});
    expect("renamed.gguf", CONVECT_NOT_SUPPORTED, "is not named ...-00001-of-00003.gguf");
    put_shard("renamed.gguf", &(shard_spec){1, 3, 3, 0, {0}});
    expect("renamed.gguf", CONVECT_NOT_SUPPORTED, "is shard 2 of 3 but is not named ...-00002-of-00003.gguf");
    put_shard("single.gguf", &(shard_spec){0, 1, 1, 1, {"a"}});
    expect("single.gguf", CONVECT_OK, "");
    put_shard("none.gguf", &(shard_spec){0, 0, 1, 1, {"a"}});
    expect("none.gguf", CONVECT_DAMAGED, "it says it is shard 1 of 0");
    gguf_builder b = {0};
    gb_header(&b, 3, 0, 1);
    gb_kv_u16(&b, "split.count", 2);
    put_file("bare.gguf", b.data, b.n_bytes);
    gb_free(&b);
    expect("bare.gguf", CONVECT_DAMAGED, "a split file without split.no");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_look_alikes, empty_folder),
        cmocka_unit_test_teardown(test_names, empty_folder),
        cmocka_unit_test_teardown(test_long_path, empty_folder),
        cmocka_unit_test_teardown(test_large, empty_folder),
        cmocka_unit_test_teardown(test_many_strings, empty_folder),
        cmocka_unit_test_teardown(test_split, empty_folder),
        cmocka_unit_test_teardown(test_split_faults, empty_folder),
        cmocka_unit_test_teardown(test_from_any_shard, empty_folder),
        cmocka_unit_test_teardown(test_hints, empty_folder),
        cmocka_unit_test_teardown(test_split_names, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
