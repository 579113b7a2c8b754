/* Builds GGUF bytes in memory for tests: append fields one by one, so that any of them can be wrong. Header-only; a
 * builder grows on the heap and a failed allocation aborts the test. */
#ifndef CONVECT_TESTS_GGUF_BUILDER_H
#define CONVECT_TESTS_GGUF_BUILDER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/gguf.h"

typedef struct gguf_builder {
    uint8_t *data; /* owned; gb_free */
    size_t n_bytes, capacity_bytes;
    size_t data_off; /* set by gb_align_data */
} gguf_builder;

static inline void gb_bytes(gguf_builder *b, const void *p, size_t n) {
    if (b->n_bytes + n > b->capacity_bytes) {
        b->capacity_bytes = 2 * (b->n_bytes + n) + 64;
        b->data = realloc(b->data, b->capacity_bytes);
        CONVECT_CHECK(b->data);
    }
    if (n > 0) memcpy(b->data + b->n_bytes, p, n);
    b->n_bytes += n;
}

static inline void gb_free(gguf_builder *b) {
    free(b->data);
    *b = (gguf_builder){0};
}

static inline void gb_u8(gguf_builder *b, uint8_t v) {
    gb_bytes(b, &v, sizeof v);
}

static inline void gb_u32(gguf_builder *b, uint32_t v) {
    gb_bytes(b, &v, sizeof v);
}

static inline void gb_u64(gguf_builder *b, uint64_t v) {
    gb_bytes(b, &v, sizeof v);
}

static inline void gb_string(gguf_builder *b, const char *text) {
    gb_u64(b, strlen(text));
    gb_bytes(b, text, strlen(text));
}

static inline void gb_header(gguf_builder *b, uint32_t version, uint64_t n_tensors, uint64_t n_kv) {
    gb_bytes(b, "GGUF", 4);
    gb_u32(b, version);
    gb_u64(b, n_tensors);
    gb_u64(b, n_kv);
}

/* Key and type; the value follows by gb_u32, gb_string, ... */
static inline void gb_key(gguf_builder *b, const char *key, uint32_t type) {
    gb_string(b, key);
    gb_u32(b, type);
}

static inline void gb_kv_u16(gguf_builder *b, const char *key, uint16_t v) {
    gb_key(b, key, GGUF_U16);
    gb_bytes(b, &v, sizeof v);
}

static inline void gb_kv_u32(gguf_builder *b, const char *key, uint32_t v) {
    gb_key(b, key, GGUF_U32);
    gb_u32(b, v);
}

static inline void gb_kv_i32(gguf_builder *b, const char *key, int32_t v) {
    gb_key(b, key, GGUF_I32);
    gb_bytes(b, &v, sizeof v);
}

static inline void gb_kv_f32(gguf_builder *b, const char *key, float v) {
    gb_key(b, key, GGUF_F32);
    gb_bytes(b, &v, sizeof v);
}

static inline void gb_kv_string(gguf_builder *b, const char *key, const char *text) {
    gb_key(b, key, GGUF_STRING);
    gb_string(b, text);
}

/* Key, array, element type and count; the packed elements follow. */
static inline void gb_kv_array(gguf_builder *b, const char *key, uint32_t element_type, uint64_t n) {
    gb_key(b, key, GGUF_ARRAY);
    gb_u32(b, element_type);
    gb_u64(b, n);
}

/* off is relative to the data, as in the file. */
static inline void gb_tensor(gguf_builder *b, const char *name, uint32_t n_dims, const uint64_t *ne, uint32_t ggml_type,
                             uint64_t off) {
    gb_string(b, name);
    gb_u32(b, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) gb_u64(b, ne[i]);
    gb_u32(b, ggml_type);
    gb_u64(b, off);
}

/* Pads with zeros to the start of the data. */
static inline void gb_align_data(gguf_builder *b, size_t alignment) {
    while (b->n_bytes % alignment != 0) gb_u8(b, 0);
    b->data_off = b->n_bytes;
}

/* n bytes of tensor data: a pattern that differs from place to place. */
static inline void gb_data(gguf_builder *b, size_t n) {
    for (size_t i = 0; i < n; i++) gb_u8(b, (uint8_t)(i * 37 + 11));
}

#endif
