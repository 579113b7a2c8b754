#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/arena.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

typedef struct parts {
    uint8_t *a, *b, *c;
} parts;

static void layout(arena *a, parts *p) {
    p->a = arena_push(a, 1, 1);
    p->b = arena_push(a, 100, 4096);
    p->c = arena_push_array(a, 3, 7);
}

static void measure_then_take(void **state) {
    (void)state;
    arena a;
    parts p;
    arena_measure(&a);
    layout(&a, &p);
    assert_null(p.c);
    size_t need = arena_peak_bytes(&a);
    assert_int_equal(arena_create(&a, need, NULL), CONVECT_OK);
    layout(&a, &p);
    assert_int_equal(a.used_bytes, need); /* exact: nothing left over */
    assert_int_equal((uintptr_t)p.a % ARENA_ALIGN_MIN, 0);
    assert_int_equal((uintptr_t)p.b % 4096, 0);
    assert_true(p.c >= p.b + 100);
    for (int i = 0; i < 21; i++) assert_int_equal(p.c[i], 0);
    memset(p.a, 1, 1);
    memset(p.b, 1, 100);
    memset(p.c, 1, 21);
    arena_destroy(&a);
    arena_destroy(&a); /* harmless */
}

static void borrowed_memory(void **state) {
    (void)state;
    static _Alignas(4096) uint8_t memory[3 * 4096];
    arena a;
    parts p;
    arena_wrap(&a, memory, sizeof memory);
    layout(&a, &p);
    assert_ptr_equal(p.a, memory);
    arena_rewind(&a, 0);
    memory[0] = 1; /* not poisoned */
    layout(&a, &p);
    assert_ptr_equal(p.a, memory);
    assert_int_equal(p.a[0], 1);
    arena_destroy(&a);
}

static void rewind_keeps_the_peak(void **state) {
    (void)state;
    arena a;
    assert_int_equal(arena_create(&a, 1 << 16, NULL), CONVECT_OK);
    uint8_t *first = arena_push(&a, 64, 64);
    size_t mark = arena_mark(&a);
    uint8_t *x = arena_push(&a, 1000, 64);
    size_t peak = a.used_bytes;
    arena_rewind(&a, mark);
    assert_int_equal(a.used_bytes, mark);
    assert_int_equal(arena_peak_bytes(&a), peak);
#ifdef __SANITIZE_ADDRESS__
    assert_true(__asan_address_is_poisoned(x));
    assert_true(__asan_address_is_poisoned(first + 64));
#endif
    assert_ptr_equal(arena_push(&a, 10, 64), x);
    first[63] = 1;
    arena_destroy(&a);
}

/* Runs f in a child and expects it to abort. */
static void expect_abort(void (*f)(void)) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(2);
        f();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void push_too_much(void) {
    arena a;
    if (arena_create(&a, 4096, NULL)) _exit(0);
    (void)arena_push(&a, 4097, 1);
}
static void push_overflow(void) {
    arena a;
    arena_measure(&a);
    (void)arena_push(&a, 64, 1);
    (void)arena_push(&a, SIZE_MAX - 32, 1);
}
static void push_array_overflow(void) {
    arena a;
    arena_measure(&a);
    (void)arena_push_array(&a, SIZE_MAX / 2, 3);
}
static void rewind_upwards(void) {
    arena a;
    arena_measure(&a);
    arena_rewind(&a, 1);
}

static void bugs_abort(void **state) {
    (void)state;
    expect_abort(push_too_much);
    expect_abort(push_overflow);
    expect_abort(push_array_overflow);
    expect_abort(rewind_upwards);
}

static void refusal_is_an_error(void **state) {
    (void)state;
    arena a;
    convect_error err = {0};
    assert_int_equal(arena_create(&a, SIZE_MAX / 2, &err), CONVECT_NO_FIT);
    assert_non_null(strstr(err.text, "MiB"));
    arena_destroy(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(measure_then_take), cmocka_unit_test(borrowed_memory),
                                       cmocka_unit_test(rewind_keeps_the_peak), cmocka_unit_test(bugs_abort),
                                       cmocka_unit_test(refusal_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
