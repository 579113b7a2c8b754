#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/json.h"
#include "engine/base/stats.h"

enum { READ, STEP, SPEED, ROW_COUNT };
static const stats_row rows[ROW_COUNT] = {
    [READ] = {"read_bytes", STATS_COUNTER}, [STEP] = {"step", STATS_TIMER}, [SPEED] = {"tokens_per_s", STATS_VALUE}};

static void fill(stats *s) {
    stats_init(s, rows, ROW_COUNT);
    stats_add(s, READ, UINT64_C(1) << 62);
    stats_add(s, READ, 5);
    uint64_t start = stats_now_ns();
    stats_time(s, STEP, start);
    stats_time(s, STEP, start);
    stats_set(s, SPEED, 1);
    stats_set(s, SPEED, 12.5);
}

static struct json_object *get(struct json_object *o, const char *key) {
    struct json_object *v = NULL;
    if (!json_object_object_get_ex(o, key, &v)) fail_msg("no %s", key);
    return v;
}

static void json_holds_every_row(void **state) {
    (void)state;
    stats s;
    fill(&s);
    struct json_object *o = stats_to_json(&s);
    assert_int_equal(json_object_get_uint64(get(o, "read_bytes")), (UINT64_C(1) << 62) + 5);
    assert_int_equal(json_object_get_uint64(get(o, "step_count")), 2);
    assert_float_equal(json_object_get_double(get(o, "step_us")), (double)stats_total(&s, STEP) / 1e3, 1e-9);
    assert_float_equal(json_object_get_double(get(o, "tokens_per_s")), 12.5, 0);
    assert_int_equal(json_object_object_length(o), 4);
    json_object_put(o);
}

static void text_holds_every_row(void **state) {
    (void)state;
    stats s;
    fill(&s);
    s.total[STEP] = 2500;
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    stats_print(&s, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "read_bytes                   4611686018427387909\n"
                              "step                         2.5 us in 2\n"
                              "tokens_per_s                 12.5\n");
    free(text);
}

static void write_whole(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void json_files(void **state) {
    (void)state;
    char folder[] = "/tmp/convect-json-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64], part[80];
    (void)snprintf(path, sizeof path, "%s/a.json", folder);
    (void)snprintf(part, sizeof part, "%s.part", path);
    struct json_object *o = json_object_new_object(), *back = NULL;
    json_object_object_add(o, "a", json_object_new_string("x/y"));
    assert_int_equal(json_file_write(path, o, NULL), CONVECT_OK);
    assert_int_not_equal(access(part, F_OK), 0);
    assert_int_equal(json_file_read(path, 1000, &back, NULL), CONVECT_OK);
    assert_true(json_object_equal(o, back));
    json_object_put(back);

    convect_error err = {0};
    assert_int_equal(json_file_read(path, 5, &back, &err), CONVECT_DAMAGED);
    assert_non_null(strstr(err.text, "larger than 5 bytes"));
    static const char *const bad[] = {"", "{", "{\"a\":1} x", "{\"a\":1,}", "[1,2", "{\"a\":\"\xff\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_whole(path, bad[i]);
        convect_error_clear(&err);
        if (json_file_read(path, 1000, &back, &err) != CONVECT_DAMAGED) fail_msg("accepts \"%s\"", bad[i]);
        assert_null(back);
        assert_non_null(strstr(err.text, path));
    }
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 99);
    deep[199] = 0;
    write_whole(path, deep);
    assert_int_equal(json_file_read(path, 1000, &back, NULL), CONVECT_DAMAGED);

    assert_int_equal(json_file_read("/nonexistent/a", 10, &back, NULL), CONVECT_NOT_FOUND);
    assert_int_equal(json_file_write("/nonexistent/a", o, NULL), CONVECT_IO);
    assert_int_equal(json_file_write("/dev/full", o, NULL), CONVECT_IO);
    json_object_put(o);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(json_holds_every_row), cmocka_unit_test(text_holds_every_row),
                                       cmocka_unit_test(json_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
