#include "engine/base/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/base/check.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

void arena_measure(arena *a) {
    *a = (arena){.cap_bytes = SIZE_MAX};
}

convect_status arena_create(arena *a, size_t n_bytes, convect_error *err) {
    *a = (arena){0};
    if (n_bytes == 0) return CONVECT_OK;
    void *data = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return convect_fail(err, CONVECT_NO_FIT, "the system refuses %zu MiB of memory: %s", n_bytes >> 20,
                            strerror(errno));
    a->data = data;
    a->is_owner = true;
    a->cap_bytes = n_bytes;
    POISON(a->data, n_bytes);
    return CONVECT_OK;
}

void arena_wrap(arena *a, void *memory, size_t n_bytes) {
    *a = (arena){.data = memory, .cap_bytes = n_bytes};
}

void arena_destroy(arena *a) {
    if (a->is_owner) {
        UNPOISON(a->data, a->cap_bytes);
        CONVECT_CHECK(munmap(a->data, a->cap_bytes) == 0);
    }
    *a = (arena){0};
}

void *arena_push(arena *a, size_t n_bytes, size_t align) {
    CONVECT_CHECK(align <= 4096 && (align & (align - 1)) == 0);
    if (align < ARENA_ALIGN_MIN) align = ARENA_ALIGN_MIN;
    size_t off = 0, end = 0;
    CONVECT_CHECK(!__builtin_add_overflow(a->used_bytes, align - 1, &off));
    off &= ~(align - 1);
    CONVECT_CHECK(!__builtin_add_overflow(off, n_bytes, &end));
    CONVECT_CHECK(!__builtin_add_overflow(end, (size_t)ARENA_GUARD_BYTES, &end));
    CONVECT_CHECK(end <= a->cap_bytes);
    a->used_bytes = end;
    if (end > a->peak_bytes) a->peak_bytes = end;
    if (!a->data) return NULL;
    if (a->is_owner) UNPOISON(a->data + off, n_bytes);
    return a->data + off;
}

void *arena_push_array(arena *a, size_t n, size_t element_bytes) {
    size_t n_bytes = 0;
    CONVECT_CHECK(!__builtin_mul_overflow(n, element_bytes, &n_bytes));
    return arena_push(a, n_bytes, ARENA_ALIGN_MIN);
}

size_t arena_mark(const arena *a) {
    return a->used_bytes;
}

void arena_rewind(arena *a, size_t mark) {
    CONVECT_CHECK(mark <= a->used_bytes);
    if (a->is_owner) POISON(a->data + mark, a->used_bytes - mark);
    a->used_bytes = mark;
}

size_t arena_peak_bytes(const arena *a) {
    return a->peak_bytes;
}
