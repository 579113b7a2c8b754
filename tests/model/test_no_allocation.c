/* After a session exists, tokens allocate nothing: prefill, steps, proposals, snapshots. malloc and friends are counted
 * by standing in front of glibc's own; sanitizer builds bring their own and skip this test. */
#include "tests/model/session_fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
int main(void) {
    return 77;
}
#else

#include <stdatomic.h>

static _Atomic size_t n_allocations;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc names them with two underscores */
void *malloc(size_t n) {
    atomic_fetch_add(&n_allocations, 1);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    atomic_fetch_add(&n_allocations, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    atomic_fetch_add(&n_allocations, 1);
    return __libc_realloc(p, n);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static void tokens_allocate_nothing(void **state) {
    (void)state;
    char path[32];
    fixture_write(&config_mixed, true, path);
    int32_t text[N_TEXT];
    fixture_text(&config_mixed, 1, text, N_TEXT);
    convect_model *model = fixture_open(path, 2, NULL);
    convect_session *s = fixture_session(model, 128, CONVECT_KV_INT8);
    convect_error err = {0};
    size_t n_accepted;
    const size_t before = atomic_load(&n_allocations);
    assert_true(before > 0); /* the counter counts */
    bool ok = convect_session_sync(s, text, 256, NULL, NULL, &err) == CONVECT_OK;
    ok = ok && convect_session_snapshot_save(s, 0, &err) == CONVECT_OK;
    ok = ok && convect_session_sync(s, text, N_TEXT, NULL, NULL, &err) == CONVECT_OK;
    for (size_t i = 0; i < 10; i++) {
        ok = ok && convect_session_step(s, text + i, 1 + i % 8, &err) == CONVECT_OK;
        ok = ok && convect_session_accept(s, i % 2, &err) == CONVECT_OK;
    }
    ok = ok && convect_session_propose(s, text[0], text, 4, &n_accepted, &err) == CONVECT_OK;
    ok = ok && convect_session_snapshot_restore(s, 0, &err) == CONVECT_OK;
    const size_t after = atomic_load(&n_allocations);
    if (!ok) fail_msg("%s", err.text);
    assert_int_equal(after, before);
    convect_session_destroy(s);
    convect_model_close(model);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tokens_allocate_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
