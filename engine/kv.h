/* Keys and values of one sequence: per attention layer and KV head, one run of positions. A position's bytes depend on
 * its values alone. Owns its memory, which is touched only as positions are written. One writer at a time per
 * (layer, head). */
#ifndef CONVECT_ENGINE_KV_H
#define CONVECT_ENGINE_KV_H

#include "engine/base/status.h"
#include "kernels/layer_ops.h"

typedef struct kv_shape {
    size_t n_layers; /* attention layers */
    size_t n_heads;  /* KV heads of each */
    size_t dim;      /* head size, of keys and of values */
} kv_shape;

typedef struct kv_cache {
    kv_shape shape;
    ops_kv_type type;
    size_t n_positions; /* capacity */
    size_t head_bytes;  /* of one position of one head */
    size_t n_bytes;
    uint8_t *data; /* [n_layers][keys, values][n_heads][n_positions][head_bytes] */
} kv_cache;

/* Bytes of one position over all layers. */
uint64_t kv_bytes_per_token(const kv_shape *shape, ops_kv_type type);

convect_status kv_init(kv_cache *kv, const kv_shape *shape, ops_kv_type type, size_t n_positions,
                       convect_error *err) CONVECT_MUST_CHECK;
void kv_deinit(kv_cache *kv);

ops_kv_view kv_keys(const kv_cache *kv, size_t i_layer, size_t i_head);
ops_kv_view kv_values(const kv_cache *kv, size_t i_layer, size_t i_head);

#endif
