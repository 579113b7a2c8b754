#include "engine/name_index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/base/check.h"

static uint64_t process_seed(void) {
    uint64_t seed = 0;
    const void *random = (const void *)getauxval(AT_RANDOM); /* 16 random bytes from the kernel */
    if (random) memcpy(&seed, random, sizeof seed);
    return seed;
}

bool name_index_init(name_index *index, size_t n_items) {
    CONVECT_CHECK(n_items <= (size_t)1 << 30);
    size_t n_slots = 4;
    while (n_slots < 2 * n_items) n_slots *= 2;
    *index = (name_index){.slots = malloc(n_slots * sizeof(name_slot)), .mask = n_slots - 1, .seed = process_seed()};
    if (!index->slots) return false;
    memset(index->slots, 0xff, n_slots * sizeof(name_slot));
    return true;
}

void name_index_free(name_index *index) {
    free(index->slots);
    *index = (name_index){0};
}

/* The slot that holds key, or the free slot where it belongs. */
static name_slot *slot_of(const name_index *index, const void *items, name_of name, const char *key, size_t n_bytes,
                          uint64_t hash) {
    uint32_t tag = (uint32_t)(hash >> 32);
    for (size_t i = (size_t)hash & index->mask;; i = (i + 1) & index->mask) {
        name_slot *slot = &index->slots[i];
        if (slot->i_item == NAME_INDEX_NONE) return slot;
        if (slot->tag != tag) continue;
        size_t n_other;
        const char *other = name(items, slot->i_item, &n_other);
        if (n_other == n_bytes && memcmp(other, key, n_bytes) == 0) return slot;
    }
}

uint32_t name_index_add(name_index *index, const void *items, name_of name, uint32_t i) {
    size_t n_bytes;
    const char *key = name(items, i, &n_bytes);
    uint64_t hash = XXH3_64bits_withSeed(key, n_bytes, index->seed);
    name_slot *slot = slot_of(index, items, name, key, n_bytes, hash);
    if (slot->i_item == NAME_INDEX_NONE) *slot = (name_slot){.i_item = i, .tag = (uint32_t)(hash >> 32)};
    return slot->i_item;
}

uint32_t name_index_find(const name_index *index, const void *items, name_of name, const char *key, size_t n_bytes) {
    if (!index->slots) return NAME_INDEX_NONE;
    uint64_t hash = XXH3_64bits_withSeed(key, n_bytes, index->seed);
    return slot_of(index, items, name, key, n_bytes, hash)->i_item;
}
