/* The GGUF writer: what it writes reads back, several threads may fill it, and no failure touches an older file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/gguf_write.h"
#include "tests/unit/gguf_builder.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/convect-gguf-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char pattern[80];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/*", folder);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) (void)unlink(found.gl_pathv[i]);
        globfree(&found);
    }
    return rmdir(folder);
}

static const char *in_folder(const char *name) {
    static char paths[4][128]; /* the last four stay valid */
    static unsigned n_calls;
    char *path = paths[n_calls++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void assert_no_parts(void) {
    glob_t found;
    int result = glob(in_folder("*.part"), 0, NULL, &found);
    if (result == 0) globfree(&found);
    assert_int_equal(result, GLOB_NOMATCH);
}

static void put_old(const char *path) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs("old", f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_old(const char *path) {
    char text[8] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    (void)fclose(f);
    assert_string_equal(text, "old");
}

static gguf_writer *open_writer(const char *path) {
    gguf_writer *w = NULL;
    convect_error err = {0};
    if (gguf_writer_open(path, &w, &err) != CONVECT_OK) fail_msg("%s", err.text);
    return w;
}

static void declare_all(gguf_writer *w) {
    gguf_writer_kv_string(w, "general.architecture", "test", 4);
    gguf_writer_kv_u32(w, "a.u32", UINT32_MAX);
    gguf_writer_kv_i32(w, "a.i32", -3);
    gguf_writer_kv_u64(w, "a.u64", UINT64_MAX);
    gguf_writer_kv_f32(w, "a.f32", 0.25f);
    gguf_writer_kv_bool(w, "a.bool", true);
    gguf_writer_kv_i32s(w, "a.i32s", (int32_t[]){1, -2}, 2);
    gguf_writer_kv_f32s(w, "a.f32s", (float[]){1.5f}, 1);
    gguf_writer_kv_strings(w, "a.strings", (gguf_string[]){{"x\0y", 3}, {"", 0}}, 2);
    gguf_writer_tensor(w, "t0", 0, 2, (uint64_t[4]){3, 2});
    gguf_writer_tensor(w, "t1", 8, 2, (uint64_t[4]){64, 5});
}

static void write_all_tensors(gguf_writer *w) {
    uint8_t data[340];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7);
    assert_int_equal(gguf_write_at(w, 0, 0, data, 24, NULL), CONVECT_OK);
    assert_int_equal(gguf_write_at(w, 1, 100, data + 100, 240, NULL), CONVECT_OK);
    assert_int_equal(gguf_write_at(w, 1, 0, data, 100, NULL), CONVECT_OK);
}

static void assert_all_read(const gguf *g) {
    uint64_t u = 0;
    int64_t i = 0;
    double f = 0;
    gguf_string strings[2];
    assert_int_equal(gguf_version(g), 3);
    assert_int_equal(gguf_n_kv(g), 9);
    assert_true(gguf_read_u64(gguf_kv_find(g, "a.u32"), 0, &u) && u == UINT32_MAX);
    assert_true(gguf_read_i64(gguf_kv_find(g, "a.i32"), 0, &i) && i == -3);
    assert_true(gguf_read_u64(gguf_kv_find(g, "a.u64"), 0, &u) && u == UINT64_MAX);
    assert_true(gguf_read_f64(gguf_kv_find(g, "a.f32"), 0, &f) && f == 0.25);
    assert_true(gguf_read_u64(gguf_kv_find(g, "a.bool"), 0, &u) && u == 1);
    assert_true(gguf_read_i64(gguf_kv_find(g, "a.i32s"), 1, &i) && i == -2);
    assert_true(gguf_read_f64(gguf_kv_find(g, "a.f32s"), 0, &f) && f == 1.5);
    assert_true(gguf_read_strings(gguf_kv_find(g, "a.strings"), strings));
    assert_int_equal(strings[0].n_bytes, 3);
    assert_memory_equal(strings[0].data, "x\0y", 3);
    const gguf_tensor *t = gguf_tensor_find(g, "t1");
    assert_int_equal(t->n_bytes, 340);
    assert_int_equal(t->file_off % 32, 0);
    for (size_t k = 0; k < 340; k++) assert_int_equal(t->data[k], (uint8_t)(k * 7));
    assert_memory_equal(gguf_tensor_find(g, "t0")->data, t->data, 24);
}

static void test_round_trip(void **state) {
    (void)state;
    const char *path = in_folder("round.gguf");
    put_old(path);
    gguf_writer *w = open_writer(path);
    declare_all(w);
    assert_int_equal(gguf_writer_begin_data(w, NULL), CONVECT_OK);
    uint64_t n_bytes = gguf_writer_file_bytes(w);
    write_all_tensors(w);
    assert_old(path);
    assert_int_equal(gguf_writer_commit(w, NULL), CONVECT_OK);
    assert_no_parts();
    gguf *g = NULL;
    assert_int_equal(gguf_open(path, &g, NULL), CONVECT_OK);
    assert_int_equal(gguf_file_bytes(g), n_bytes);
    assert_all_read(g);

    const char *path_2 = in_folder("copy.gguf"); /* the same through kv_copy */
    w = open_writer(path_2);
    for (size_t i = 0; i < gguf_n_kv(g); i++) gguf_writer_kv_copy(w, gguf_kv_at(g, i));
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        gguf_writer_tensor(w, t->name, t->ggml_type, t->n_dims, t->ne);
    }
    assert_int_equal(gguf_writer_begin_data(w, NULL), CONVECT_OK);
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        assert_int_equal(gguf_write_at(w, i, 0, t->data, t->n_bytes, NULL), CONVECT_OK);
    }
    assert_int_equal(gguf_writer_commit(w, NULL), CONVECT_OK);
    gguf *copy = NULL;
    assert_int_equal(gguf_open(path_2, &copy, NULL), CONVECT_OK);
    assert_all_read(copy);
    assert_int_equal(gguf_file_bytes(copy), n_bytes);
    gguf_close(copy);
    gguf_close(g);
}

static void test_alignment(void **state) {
    (void)state;
    gguf_writer *w = open_writer(in_folder("aligned.gguf"));
    gguf_writer_kv_u32(w, "general.alignment", 4096);
    gguf_writer_tensor(w, "a", 0, 1, (uint64_t[4]){1});
    gguf_writer_tensor(w, "b", 0, 1, (uint64_t[4]){1});
    assert_int_equal(gguf_writer_begin_data(w, NULL), CONVECT_OK);
    for (size_t i = 0; i < 2; i++) assert_int_equal(gguf_write_at(w, i, 0, "abcd", 4, NULL), CONVECT_OK);
    assert_int_equal(gguf_writer_commit(w, NULL), CONVECT_OK);
    gguf *g = NULL;
    assert_int_equal(gguf_open(in_folder("aligned.gguf"), &g, NULL), CONVECT_OK);
    assert_int_equal(gguf_tensor_at(g, 0)->file_off, 4096);
    assert_int_equal(gguf_tensor_at(g, 1)->file_off, 8192);
    gguf_close(g);
}

typedef struct filler {
    gguf_writer *w;
    size_t i_first;
} filler;

enum { N_FILLED = 64, FILLED_BYTES = 40000 };

static void *fill(void *arg) {
    const filler *f = arg;
    uint8_t data[1000];
    for (size_t i = f->i_first; i < N_FILLED; i += 4) {
        memset(data, (int)i, sizeof data);
        for (size_t off = 0; off < FILLED_BYTES; off += sizeof data)
            CONVECT_CHECK(gguf_write_at(f->w, i, off, data, sizeof data, NULL) == CONVECT_OK);
    }
    return NULL;
}

static void test_parallel(void **state) {
    (void)state;
    gguf_writer *w = open_writer(in_folder("parallel.gguf"));
    for (size_t i = 0; i < N_FILLED; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%zu", i);
        gguf_writer_tensor(w, name, 24, 1, (uint64_t[4]){FILLED_BYTES});
    }
    assert_int_equal(gguf_writer_begin_data(w, NULL), CONVECT_OK);
    pthread_t threads[4];
    filler fillers[4];
    for (size_t i = 0; i < 4; i++) {
        fillers[i] = (filler){w, i};
        assert_int_equal(pthread_create(&threads[i], NULL, fill, &fillers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(gguf_writer_commit(w, NULL), CONVECT_OK);
    gguf *g = NULL;
    assert_int_equal(gguf_open(in_folder("parallel.gguf"), &g, NULL), CONVECT_OK);
    for (size_t i = 0; i < N_FILLED; i++)
        for (size_t k = 0; k < FILLED_BYTES; k++) assert_int_equal(gguf_tensor_at(g, i)->data[k], i);
    gguf_close(g);
}

/* ---- failures ---- */

typedef void (*declare_fn)(gguf_writer *w);

static void expect_refused(declare_fn declare, convect_status status, const char *words) {
    const char *path = in_folder("refused.gguf");
    put_old(path);
    gguf_writer *w = open_writer(path);
    declare(w);
    convect_error err = {0};
    convect_status got = gguf_writer_begin_data(w, &err);
    if (got != status || !strstr(err.text, words))
        fail_msg("want %s with \"%s\", got %s: %s", convect_status_name(status), words, convect_status_name(got),
                 err.text);
    gguf_writer_abandon(w);
    assert_old(path);
    assert_no_parts();
}

static void same_key(gguf_writer *w) {
    gguf_writer_kv_u32(w, "k", 1);
    gguf_writer_kv_bool(w, "k", true);
}

static void same_tensor(gguf_writer *w) {
    for (int i = 0; i < 2; i++) gguf_writer_tensor(w, "t", 0, 1, (uint64_t[4]){1});
}

static void bad_block(gguf_writer *w) {
    gguf_writer_tensor(w, "t", 12, 1, (uint64_t[4]){255});
}

static void bad_alignment(gguf_writer *w) {
    gguf_writer_kv_u32(w, "general.alignment", 48);
}

static void huge(gguf_writer *w) {
    for (int i = 0; i < 64; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%d", i);
        gguf_writer_tensor(w, name, 24, 1, (uint64_t[4]){INT64_MAX / 8});
    }
}

static void bigger_than_disk(gguf_writer *w) {
    gguf_writer_tensor(w, "t", 24, 1, (uint64_t[4]){UINT64_C(1) << 50});
}

static void test_refused(void **state) {
    (void)state;
    expect_refused(same_key, CONVECT_DAMAGED, "metadata key 'k' appears twice");
    expect_refused(same_tensor, CONVECT_DAMAGED, "tensor 't' appears twice");
    expect_refused(bad_block, CONVECT_NOT_SUPPORTED, "tensor t has a shape that type 12 cannot have");
    expect_refused(bad_alignment, CONVECT_DAMAGED, "general.alignment is 48");
    expect_refused(huge, CONVECT_NOT_SUPPORTED, "has a shape");
    expect_refused(bigger_than_disk, CONVECT_IO, "it needs 1125899906842");
}

static void test_file_limit(void **state) {
    (void)state;
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = 600;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    expect_refused(declare_all, CONVECT_IO, "`ulimit -f` allows 600");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

/* A write that fails half-way: the limit sinks after the header went out. */
static void test_failed_write(void **state) {
    (void)state;
    const char *path = in_folder("failed.gguf");
    put_old(path);
    gguf_writer *w = open_writer(path);
    declare_all(w);
    assert_int_equal(gguf_writer_begin_data(w, NULL), CONVECT_OK);
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    convect_error err = {0};
    uint8_t data[340] = {0};
    assert_int_equal(gguf_write_at(w, 1, 0, data, sizeof data, &err), CONVECT_IO);
    assert_non_null(strstr(err.text, "failed.gguf: File too large"));
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    gguf_writer_abandon(w);
    assert_old(path);
    assert_no_parts();
}

static void test_places(void **state) {
    (void)state;
    gguf_writer *w = NULL;
    convect_error err = {0};
    assert_int_equal(gguf_writer_open(in_folder("none/x.gguf"), &w, &err), CONVECT_NOT_FOUND);
    assert_non_null(strstr(err.text, "none/x.gguf"));
    convect_error_clear(&err);
    assert_int_equal(gguf_writer_open("/dev/null", &w, &err), CONVECT_IO);
    assert_non_null(strstr(err.text, "no regular file"));
    convect_error_clear(&err);
    assert_int_equal(gguf_writer_open(folder, &w, &err), CONVECT_IO);
    gguf_writer_abandon(NULL);
}

/* A symbolic link keeps pointing to the (new) file. */
static void test_link(void **state) {
    (void)state;
    char target[128];
    (void)snprintf(target, sizeof target, "%s", in_folder("target.gguf"));
    put_old(target);
    assert_int_equal(symlink("target.gguf", in_folder("link.gguf")), 0);
    gguf_writer *w = open_writer(in_folder("link.gguf"));
    assert_int_equal(gguf_writer_begin_data(w, NULL), CONVECT_OK);
    assert_int_equal(gguf_writer_commit(w, NULL), CONVECT_OK);
    struct stat st;
    assert_int_equal(lstat(in_folder("link.gguf"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    gguf *g = NULL;
    assert_int_equal(gguf_open(target, &g, NULL), CONVECT_OK);
    gguf_close(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_alignment),  cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_file_limit), cmocka_unit_test(test_failed_write),
        cmocka_unit_test(test_places),     cmocka_unit_test(test_link),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
