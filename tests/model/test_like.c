/* Files with the names, shapes, types and metadata kinds of real ones (tests/data/like), cut to two layers: each is
 * made by `convect synth`, loads, plans and runs eight tokens. One at full vocabulary, the others at 4,096 tokens: 1 to
 * 2 GB each, one at a time, in /dev/shm where that has room, else beside the program. */
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
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/convect.h"
#include "engine/gguf.h"
#include "engine/model_plan.h"
#include "engine/tokenizer.h"
#include "tests/process.h"

#define ROOM_BYTES (UINT64_C(4) << 30)

static char folder[512];

static int make_folder(void **state) {
    (void)state;
    struct statvfs fs;
    bool has_room = statvfs("/dev/shm", &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize > ROOM_BYTES;
    (void)snprintf(folder, sizeof folder, "%s", has_room ? "/dev/shm" : CONVECT_BINARY);
    if (!has_room) *strrchr(folder, '/') = 0;
    strncat(folder, "/convect-like-XXXXXX", sizeof folder - strlen(folder) - 1);
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static void remove_files(void) {
    glob_t found;
    if (glob("*.gguf*", 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) (void)unlink(found.gl_pathv[i]);
    globfree(&found);
}

static int remove_folder(void **state) {
    (void)state;
    remove_files();
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void check_logits(const convect_session *session, size_t i_row, size_t n_vocab) {
    const float *logits = convect_session_logits(session, i_row);
    double sum = 0;
    double square = 0;
    for (size_t i = 0; i < n_vocab; i++) {
        assert_true(isfinite(logits[i]));
        sum += logits[i];
        square += (double)logits[i] * logits[i];
    }
    double n = (double)n_vocab;
    double spread = sqrt(square / n - sum / n * (sum / n));
    assert_true(spread > 0.3 && spread < 30); /* gain 3 of the head: neither dead nor blown up */
}

static void run_eight_tokens(convect_model *model, size_t n_vocab) {
    static const char text[] = "the quick brown fox";
    token_list ids = {0};
    tokenizer *t = NULL;
    convect_session *session = NULL;
    convect_error err = {0};
    plan p;
    const convect_session_options options = {.n_ctx_tokens = 256, .prefill_chunk_tokens = 64};
    if (tokenizer_create(convect_model_gguf(model), &t, &err)) fail_msg("%s", err.text);
    assert_int_equal(tokenizer_n_vocab(t), n_vocab);
    assert_int_equal(tokenizer_encode(t, text, sizeof text - 1, true, &ids, &err), CONVECT_OK);
    assert_true(ids.n >= 6);
    if (model_plan(model, &options, &(model_plan_limits){true, 0}, &p, &err)) fail_msg("%s", err.text);
    assert_true(p.fits && p.sizes.bytes[PLAN_WEIGHTS] > 0 && p.sizes.bytes[PLAN_KV] > 0);
    assert_int_equal(model_plan(model, &options, &(model_plan_limits){true, 1U << 20}, &p, &err), CONVECT_NO_FIT);
    convect_error_clear(&err);
    if (convect_session_create(model, &options, &session, &err)) fail_msg("%s", err.text);
    if (convect_session_sync(session, ids.ids, 5, NULL, NULL, &err)) fail_msg("%s", err.text);
    check_logits(session, 0, n_vocab);
    for (size_t i = 5; i < 8; i++) {
        const int32_t id = ids.ids[i % ids.n];
        if (convect_session_step(session, &id, 1, &err)) fail_msg("%s", err.text);
        check_logits(session, 0, n_vocab);
        assert_int_equal(convect_session_accept(session, 1, &err), CONVECT_OK);
    }
    assert_int_equal(convect_session_n_tokens(session), 8);
    convect_session_destroy(session);
    tokenizer_destroy(t);
    token_list_free(&ids);
}

/* plan and run refuse what does not fit with exit code 5, and run what does. */
static void the_programs_obey_the_plan(void) {
    const char *const plan_ok[] = {CONVECT_BINARY, "plan", "m.gguf", "--json", NULL};
    const char *const plan_small[] = {CONVECT_BINARY, "plan", "m.gguf", "--ram", "2GiB", "--json", NULL};
    const char *const run_small[] = {CONVECT_BINARY, "run", "m.gguf", "hi", "--ram", "2GiB", "-n", "1", NULL};
    const char *const run_lowered[] = {CONVECT_BINARY, "run", "m.gguf", "hi", "--ram", "2.42GiB", "-n", "4", NULL};
    const char *const run_fixed[] = {CONVECT_BINARY, "run",    "m.gguf", "hi", "--ram", "2.42GiB",
                                     "--ctx",        "262144", "-n",     "4",  NULL};
    assert_int_equal(process_run(plan_ok, "out.gguf.txt", NULL), 0);
    assert_int_equal(process_run(plan_small, "out.gguf.txt", "err.gguf.txt"), 5);
    assert_int_equal(process_run(run_small, "out.gguf.txt", "err.gguf.txt"), 5);
    assert_int_equal(process_run(run_lowered, "out.gguf.txt", "err.gguf.txt"), 0);
    assert_int_equal(process_run(run_fixed, "out.gguf.txt", "err.gguf.txt"), 5);
}

static void make_and_run(const char *list, const char *opened, size_t n_mtp, size_t n_vocab) {
    char json[512];
    char vocab[32];
    (void)snprintf(json, sizeof json, "%s/like/%s.json", TEST_DATA, list);
    (void)snprintf(vocab, sizeof vocab, "%zu", n_vocab);
    const char *cut = n_vocab == 248320 ? NULL : "--vocab";
    const char *const argv[] = {CONVECT_BINARY, "synth", "m.gguf", "--like", json, "--layers", "2",
                                "-q",           cut,     vocab,    NULL};
    assert_int_equal(process_run(argv, NULL, NULL), 0);
    convect_model *model = NULL;
    convect_model_info info;
    convect_error err = {0};
    if (convect_model_open(opened, &(convect_model_options){0}, &model, &err)) fail_msg("%s: %s", list, err.text);
    convect_model_describe(model, &info);
    assert_int_equal(info.n_layers, 2);
    assert_int_equal(info.n_mtp, n_mtp);
    assert_int_equal(info.n_vocab, n_vocab);
    run_eight_tokens(model, n_vocab);
    print_message("%s: %.2f GB, %.1f MB a token\n", list, (double)info.file_bytes / 1e9,
                  (double)info.weight_bytes_per_token / 1e6);
    convect_model_close(model);
    if (n_vocab == 248320) the_programs_obey_the_plan();
    remove_files();
}

static void q4_k_m(void **state) {
    (void)state;
    make_and_run("q4_k_m", "m.gguf", 0, 4096);
}

static void q4_k_m_with_mtp_at_full_vocabulary(void **state) {
    (void)state;
    make_and_run("q4_k_m-mtp", "m.gguf", 1, 248320);
}

static void dynamic_mix(void **state) {
    (void)state;
    make_and_run("ud-q4_k_m-mtp", "m.gguf", 1, 4096);
}

static void array_valued_head_count(void **state) {
    (void)state;
    make_and_run("array-head-count", "m.gguf", 0, 4096);
}

static void fused_gate_up(void **state) {
    (void)state;
    make_and_run("fused-gate-up", "m.gguf", 0, 4096);
}

static void split_with_empty_first_shard(void **state) {
    (void)state;
    make_and_run("split-empty-first", "m-00001-of-00003.gguf", 0, 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q4_k_m),        cmocka_unit_test(q4_k_m_with_mtp_at_full_vocabulary),
        cmocka_unit_test(dynamic_mix),   cmocka_unit_test(array_valued_head_count),
        cmocka_unit_test(fused_gate_up), cmocka_unit_test(split_with_empty_first_shard),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
