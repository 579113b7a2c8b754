/* Hash index over names that live elsewhere: finds a name, or the earlier of two equal ones, in constant expected time
 * per name. The hash is XXH3 under a seed that the kernel draws for the process, so that a file cannot be made whose
 * names all collide. Built by one thread, then read by any. */
#ifndef CONVECT_ENGINE_NAME_INDEX_H
#define CONVECT_ENGINE_NAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_INDEX_NONE UINT32_MAX

typedef struct name_slot {
    uint32_t i_item; /* NAME_INDEX_NONE: free */
    uint32_t tag;    /* upper half of the hash: most comparisons end here */
} name_slot;

typedef struct name_index {
    name_slot *slots; /* owned; NULL for an empty index */
    size_t mask;      /* number of slots - 1; at least half of the slots stay free */
    uint64_t seed;
} name_index;

/* The name of item i; n_bytes receives its length. Names never move or change while the index lives. */
typedef const char *(*name_of)(const void *items, size_t i, size_t *n_bytes);

/* Room for n_items (<= 2^30, checked by the caller against the file). False if memory is short. */
bool name_index_init(name_index *index, size_t n_items);
void name_index_free(name_index *index);

/* Adds item i. Returns i, or the item already there that has the same name. */
uint32_t name_index_add(name_index *index, const void *items, name_of name, uint32_t i);

/* The item called key, or NAME_INDEX_NONE. */
uint32_t name_index_find(const name_index *index, const void *items, name_of name, const char *key, size_t n_bytes);

#endif
