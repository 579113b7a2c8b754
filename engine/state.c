#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/pages.h"

#define STATE_ALIGN 64

convect_status state_layout_init(state_layout *layout, size_t n_parts_max, convect_error *err) {
    *layout = (state_layout){.version = STATE_LAYOUT_VERSION};
    layout->parts = calloc(n_parts_max + 1, sizeof *layout->parts);
    if (!layout->parts)
        return convect_fail(err, CONVECT_NO_FIT, "no memory for the list of %zu state parts", n_parts_max);
    return CONVECT_OK;
}

void state_layout_deinit(state_layout *layout) {
    free(layout->parts);
    *layout = (state_layout){0};
}

size_t state_layout_add(state_layout *layout, state_kind kind, size_t i_layer, size_t n_bytes) {
    const state_part part = {.kind = kind, .i_layer = i_layer, .off = layout->n_bytes, .n_bytes = n_bytes};
    layout->parts[layout->n_parts++] = part;
    layout->n_bytes += (n_bytes + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
    return part.off;
}

convect_status state_pool_init(state_pool *pool, const state_layout *layout, size_t n_slots, convect_error *err) {
    *pool = (state_pool){.slot_bytes = layout->n_bytes, .n_slots = n_slots, .n_bytes = n_slots * layout->n_bytes};
    pool->n_refs = calloc(n_slots, sizeof *pool->n_refs);
    pool->data = pages_alloc(pool->n_bytes);
    if (pool->n_refs && pool->data) return CONVECT_OK;
    convect_status status =
        convect_fail(err, CONVECT_NO_FIT, "no memory for %zu recurrent states of %zu bytes; use fewer snapshots",
                     n_slots, layout->n_bytes);
    state_pool_deinit(pool);
    return status;
}

void state_pool_deinit(state_pool *pool) {
    free(pool->n_refs);
    pages_free(pool->data, pool->n_bytes);
    *pool = (state_pool){0};
}

size_t state_pool_acquire(state_pool *pool) {
    size_t slot = 0;
    while (slot < pool->n_slots && pool->n_refs[slot] != 0) slot++;
    CONVECT_CHECK(slot < pool->n_slots);
    pool->n_refs[slot] = 1;
    return slot;
}

void state_pool_share(state_pool *pool, size_t slot) {
    if (slot == STATE_NONE) return;
    CONVECT_CHECK(pool->n_refs[slot] > 0);
    pool->n_refs[slot]++;
}

void state_pool_release(state_pool *pool, size_t slot) {
    if (slot == STATE_NONE) return;
    CONVECT_CHECK(pool->n_refs[slot] > 0);
    pool->n_refs[slot]--;
}

void state_pool_zero(state_pool *pool, size_t slot) {
    memset(state_pool_at(pool, slot), 0, pool->slot_bytes);
}

uint8_t *state_pool_at(const state_pool *pool, size_t slot) {
    CONVECT_CHECK(slot < pool->n_slots);
    return pool->data + slot * pool->slot_bytes;
}
