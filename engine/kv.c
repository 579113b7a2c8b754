#include "engine/kv.h"

#include "engine/pages.h"

uint64_t kv_bytes_per_token(const kv_shape *shape, ops_kv_type type) {
    return 2 * (uint64_t)shape->n_layers * shape->n_heads * ops_kv_bytes(type, shape->dim);
}

convect_status kv_init(kv_cache *kv, const kv_shape *shape, ops_kv_type type, size_t n_positions, convect_error *err) {
    *kv = (kv_cache){.shape = *shape, .type = type, .n_positions = n_positions};
    kv->head_bytes = ops_kv_bytes(type, shape->dim);
    const uint64_t per_token = kv_bytes_per_token(shape, type);
    if (per_token != 0 && n_positions > SIZE_MAX / per_token) {
        return convect_fail(err, CONVECT_NO_FIT, "keys and values of %zu tokens do not fit; use a smaller --ctx",
                            n_positions);
    }
    kv->n_bytes = (size_t)per_token * n_positions;
    kv->data = pages_alloc(kv->n_bytes);
    if (kv->data) return CONVECT_OK;
    return convect_fail(err, CONVECT_NO_FIT,
                        "no memory for keys and values: %zu tokens of %llu bytes; use a smaller --ctx", n_positions,
                        (unsigned long long)per_token);
}

void kv_deinit(kv_cache *kv) {
    pages_free(kv->data, kv->n_bytes);
    *kv = (kv_cache){0};
}

static ops_kv_view view_at(const kv_cache *kv, size_t i_plane, size_t i_head) {
    const size_t run = i_plane * kv->shape.n_heads + i_head;
    return (ops_kv_view){kv->data + run * kv->n_positions * kv->head_bytes, kv->head_bytes};
}

ops_kv_view kv_keys(const kv_cache *kv, size_t i_layer, size_t i_head) {
    return view_at(kv, 2 * i_layer, i_head);
}

ops_kv_view kv_values(const kv_cache *kv, size_t i_layer, size_t i_head) {
    return view_at(kv, 2 * i_layer + 1, i_head);
}
