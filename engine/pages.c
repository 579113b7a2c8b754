#include "engine/pages.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t mapped_bytes(size_t n_bytes) {
    return n_bytes == 0 ? 1 : n_bytes;
}

/* The system promises more than it has: compare with the memory that exists. */
static uint64_t machine_bytes(void) {
    const long n = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return n > 0 && size > 0 ? (uint64_t)n * (uint64_t)size : UINT64_MAX;
}

void *pages_alloc(size_t n_bytes) {
    if (n_bytes > machine_bytes()) return NULL;
    void *p =
        mmap(NULL, mapped_bytes(n_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void pages_free(void *block, size_t n_bytes) {
    if (block) (void)munmap(block, mapped_bytes(n_bytes));
}
