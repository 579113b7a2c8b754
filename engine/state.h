/* Recurrent state of sequences. A layout lists the parts of one sequence's state (what, which layer, where); a pool
 * holds states of that layout in slots chosen by index. Slots are counted references and are never written while
 * shared, so keeping, dropping or sharing a state moves no bytes. One thread. */
#ifndef CONVECT_ENGINE_STATE_H
#define CONVECT_ENGINE_STATE_H

#include "engine/base/status.h"

#include <stdint.h>

#define STATE_LAYOUT_VERSION 1 /* changes when the meaning of a part changes; goes into saved states */

typedef enum state_kind {
    STATE_CONV,  /* f32 [taps - 1][channels], oldest first: inputs of the causal convolution */
    STATE_DELTA, /* f32 [V heads][dv][dk] */
    STATE_KIND_COUNT
} state_kind;

typedef struct state_part {
    state_kind kind;
    size_t i_layer;
    size_t off; /* from the start of the slot, a multiple of 64 */
    size_t n_bytes;
} state_part;

typedef struct state_layout {
    uint32_t version;
    state_part *parts; /* owned */
    size_t n_parts;
    size_t n_bytes; /* of one slot, a multiple of 64 */
} state_layout;

convect_status state_layout_init(state_layout *layout, size_t n_parts_max, convect_error *err) CONVECT_MUST_CHECK;
void state_layout_deinit(state_layout *layout);

/* Appends a part and returns its offset. */
size_t state_layout_add(state_layout *layout, state_kind kind, size_t i_layer, size_t n_bytes);

typedef struct state_pool {
    size_t slot_bytes;
    size_t n_slots;
    size_t n_bytes;
    uint32_t *n_refs; /* [n_slots] owned */
    uint8_t *data;    /* [n_slots][slot_bytes] owned; a slot is touched on first use */
} state_pool;

#define STATE_NONE SIZE_MAX /* no slot */

convect_status state_pool_init(state_pool *pool, const state_layout *layout, size_t n_slots,
                               convect_error *err) CONVECT_MUST_CHECK;
void state_pool_deinit(state_pool *pool);

/* The lowest free slot, with one reference; contents are whatever was there. The caller sized the pool so that one is
 * free (checked). */
size_t state_pool_acquire(state_pool *pool);
void state_pool_share(state_pool *pool, size_t slot);   /* one more reference; STATE_NONE is fine */
void state_pool_release(state_pool *pool, size_t slot); /* one reference less; STATE_NONE is fine */
void state_pool_zero(state_pool *pool, size_t slot);    /* the state of an empty sequence */
uint8_t *state_pool_at(const state_pool *pool, size_t slot);

#endif
