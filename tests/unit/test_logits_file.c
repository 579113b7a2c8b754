/* Stored distributions: what is written is read back; every flipped byte and every cut is refused with a message; a
 * failed write leaves nothing behind and an older file whole. And the distributions themselves, against sums made the
 * slow way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/distribution.h"
#include "engine/logits_file.h"

#define N_VOCAB  11
#define N_TOP    4
#define N_ROWS   3
#define N_BYTES  (128 + N_ROWS * (12 + 8 * N_TOP) + 8)
#define N_LOGITS 700

static char folder[] = "/tmp/convect-logits-XXXXXX";
static char path[64];
static const logits_header header = {.n_vocab = N_VOCAB,
                                     .n_top = N_TOP,
                                     .n_window_tokens = 8,
                                     .n_positions = N_ROWS,
                                     .tokens_hash = 0x1234567890abcdef,
                                     .model_hash = 42,
                                     .model_name = "a model"};

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    (void)snprintf(path, sizeof path, "%s/base", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void values(size_t i_row, float *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = (float)((i * 7919 + i_row * 104729) % 101) * 0.1F - 5;
}

static logits_row make_row(size_t i_row, int32_t ids[N_TOP], float logps[N_TOP]) {
    static float logits[N_VOCAB];
    uint8_t seen[N_VOCAB] = {0};
    distribution d;
    values(i_row, logits, N_VOCAB);
    assert_true(distribution_of(logits, N_VOCAB, &d));
    distribution_select(&d, N_TOP, ids);
    for (size_t i = 0; i < N_TOP; i++) logps[i] = distribution_logp(&d, ids[i]);
    return (logits_row){(int32_t)i_row, distribution_logp(&d, (int32_t)i_row),
                        distribution_log_rest(&d, ids, N_TOP, seen), ids, logps};
}

static void write_file(void) {
    logits_writer *w = NULL;
    convect_error err = {0};
    assert_int_equal(logits_writer_open(path, &header, &w, &err), CONVECT_OK);
    for (size_t i = 0; i < N_ROWS; i++) {
        int32_t ids[N_TOP];
        float logps[N_TOP];
        const logits_row row = make_row(i, ids, logps);
        assert_int_equal(logits_writer_put(w, &row, &err), CONVECT_OK);
    }
    assert_int_equal(logits_writer_commit(w, &err), CONVECT_OK);
}

static convect_status read_file(convect_error *err) {
    logits_reader *r = NULL;
    convect_status status = logits_reader_open(path, &r, err);
    for (uint64_t i = 0; !status && i < logits_reader_header(r)->n_positions; i++) {
        logits_row row;
        status = logits_reader_next(r, &row, err);
    }
    if (!status) status = logits_reader_finish(r, err);
    logits_reader_close(r);
    return status;
}

static void round_trip(void **state) {
    (void)state;
    write_file();
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, N_BYTES);
    logits_reader *r = NULL;
    convect_error err = {0};
    assert_int_equal(logits_reader_open(path, &r, &err), CONVECT_OK);
    const logits_header *h = logits_reader_header(r);
    assert_memory_equal(h, &header, sizeof header);
    for (size_t i = 0; i < N_ROWS; i++) {
        int32_t ids[N_TOP];
        float logps[N_TOP];
        const logits_row want = make_row(i, ids, logps);
        logits_row have;
        assert_int_equal(logits_reader_next(r, &have, &err), CONVECT_OK);
        assert_int_equal(have.target, want.target);
        assert_float_equal(have.target_logp, want.target_logp, 0);
        assert_float_equal(have.tail_logp, want.tail_logp, 0);
        assert_memory_equal(have.ids, ids, sizeof ids);
        assert_memory_equal(have.logps, logps, sizeof logps);
    }
    assert_int_equal(logits_reader_finish(r, &err), CONVECT_OK);
    logits_reader_close(r);
}

static void put_bytes(const uint8_t *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void damage(void **state) {
    (void)state;
    uint8_t bytes[N_BYTES + 1] = {0};
    write_file();
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(bytes, 1, N_BYTES, f), N_BYTES);
    (void)fclose(f);
    for (size_t i = 0; i < N_BYTES; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            put_bytes(bytes, N_BYTES);
            convect_error err = {0};
            const convect_status status = read_file(&err);
            if (status != CONVECT_DAMAGED && status != CONVECT_NOT_SUPPORTED) fail_msg("byte %zu is not checked", i);
            assert_non_null(strstr(err.text, path));
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
    for (size_t n = 0; n <= N_BYTES + 1; n++) {
        put_bytes(bytes, n);
        convect_error err = {0};
        assert_int_equal(read_file(&err), n == N_BYTES ? CONVECT_OK : CONVECT_DAMAGED);
    }
}

static void missing(void **state) {
    (void)state;
    (void)unlink(path);
    convect_error err = {0};
    assert_int_equal(read_file(&err), CONVECT_NOT_FOUND);
    convect_error_clear(&err);
    logits_writer *w = NULL;
    assert_int_equal(logits_writer_open("/none/such/file", &header, &w, &err), CONVECT_NOT_FOUND);
    assert_null(w);
}

static void abandoned(void **state) {
    (void)state;
    write_file();
    logits_writer *w = NULL;
    convect_error err = {0};
    assert_int_equal(logits_writer_open(path, &header, &w, &err), CONVECT_OK);
    logits_writer_abandon(w);
    assert_int_equal(read_file(&err), CONVECT_OK);
    char pattern[80];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s.*", path);
    assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
}

static void distributions(void **state) {
    (void)state;
    static float x[N_LOGITS];
    static int32_t ids[N_LOGITS];
    static uint8_t seen[N_LOGITS];
    distribution d;
    values(5, x, N_LOGITS); /* 101 different values: many ties */
    assert_true(distribution_of(x, N_LOGITS, &d));
    long double z = 0, rest = 0;
    for (size_t i = 0; i < N_LOGITS; i++) z += expl((long double)x[i]);
    assert_true(fabs(d.log_z - (double)logl(z)) < 1e-12);
    for (size_t n_top = 0; n_top <= N_LOGITS; n_top += n_top < 4 ? 1 : 58) {
        distribution_select(&d, n_top, ids);
        for (size_t i = 1; i < n_top; i++)
            assert_true(x[ids[i]] < x[ids[i - 1]] || (x[ids[i]] == x[ids[i - 1]] && ids[i] > ids[i - 1]));
        rest = z;
        for (size_t i = 0; i < n_top; i++) rest -= expl((long double)x[ids[i]]);
        if (n_top < N_LOGITS)
            assert_true(fabs((double)distribution_log_rest(&d, ids, n_top, seen) - (double)logl(rest / z)) < 1e-5);
        if (n_top > 0) assert_int_equal(ids[0], d.top);
    }
    distribution_select(&d, N_LOGITS, ids);
    assert_true(isinf(distribution_log_rest(&d, ids, N_LOGITS, seen)));
    for (size_t i = 0; i < N_LOGITS; i++) assert_int_equal(seen[i], 0);
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        x[N_LOGITS - 1] = bad[i];
        assert_false(distribution_of(x, N_LOGITS, &d));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(damage),        cmocka_unit_test(missing),
        cmocka_unit_test(abandoned),  cmocka_unit_test(distributions),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
