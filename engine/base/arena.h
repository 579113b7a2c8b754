/* Bump arena: one block of memory whose size is computed before it is taken, handed out from the front, given back as a
 * whole or down to a mark. For set-up and per-step scratch; the token path pushes and rewinds but never grows one.
 *
 * The size is found by running the same set-up code on a measuring arena, which hands out NULL and only counts:
 *
 *     arena a;
 *     arena_measure(&a);  layout(&a, s);                      counts
 *     status = arena_create(&a, arena_peak_bytes(&a), err);   takes
 *     layout(&a, s);                                          hands out, cannot fail
 *
 *     0          used               peak        cap
 *     |##########|..................|...........|      ASan builds: everything at and above used is poisoned, and
 *                                                      ARENA_GUARD_BYTES after each piece
 *
 * Running out is our bug (the measure was wrong) and aborts. An arena is caller-owned and belongs to one thread. */
#ifndef CONVECT_BASE_ARENA_H
#define CONVECT_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ARENA_ALIGN_MIN 64 /* bytes: a cache line, so that pieces never share one */
#ifdef __SANITIZE_ADDRESS__
#define ARENA_GUARD_BYTES 64
#else
#define ARENA_GUARD_BYTES 0
#endif

typedef struct arena {
    uint8_t *data;     /* NULL while measuring */
    size_t cap_bytes;  /* SIZE_MAX while measuring */
    size_t used_bytes; /* handed out, padding included */
    size_t peak_bytes; /* highest used_bytes so far */
    bool is_owner;     /* of data: taken by arena_create */
} arena;

/* Starts an arena that owns nothing and hands out NULL. */
void arena_measure(arena *a);

/* Takes n_bytes of zeroed memory from the system (not from malloc), in place of whatever *a said before. NO_FIT if the
 * system refuses. Memory is first touched by whoever writes it first. */
convect_status arena_create(arena *a, size_t n_bytes, convect_error *err) CONVECT_MUST_CHECK;

/* Starts an arena over memory that somebody else owns and that outlives it; align it to what will be pushed. Never
 * poisoned: the owner may lay it out anew. Needs no destroy. */
void arena_wrap(arena *a, void *memory, size_t n_bytes);

void arena_destroy(arena *a); /* measuring and zeroed arenas are fine */

/* Hands out n_bytes aligned to align (a power of two up to 4096; less than ARENA_ALIGN_MIN counts as that). Contents
 * are undefined after a rewind. Valid until rewound below it, or destroy. */
void *arena_push(arena *a, size_t n_bytes, size_t align);

/* n elements of element_bytes each; an overflowing product aborts. */
void *arena_push_array(arena *a, size_t n, size_t element_bytes);

size_t arena_mark(const arena *a);
void arena_rewind(arena *a, size_t mark); /* frees all pushed since arena_mark */
size_t arena_peak_bytes(const arena *a);

#ifdef __cplusplus
}
#endif
#endif
