/* GGUF files: container reader. Maps the file (all shards of a split one), checks every field against the file's size
 * before use, and gives access to metadata and tensor ranges. No model meaning here. Little-endian v2 and v3.
 * A gguf is immutable after open and may be read by any thread; everything it returns lives until gguf_close. */
#ifndef CONVECT_ENGINE_GGUF_H
#define CONVECT_ENGINE_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"

typedef struct gguf gguf;

typedef enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPE_COUNT
} gguf_type;

typedef struct gguf_string { /* not NUL-terminated, may hold any byte */
    const char *data;
    size_t n_bytes;
} gguf_string;

typedef struct gguf_kv {
    gguf_string key;
    gguf_type type;         /* of the value; GGUF_ARRAY: see element_type */
    gguf_type element_type; /* arrays only */
    uint64_t n_elements;    /* arrays only; else 1 */
    const uint8_t *data;    /* first byte of the packed value (strings: at their u64 length) */
    size_t n_bytes;         /* packed size */
} gguf_kv;

#define GGUF_TENSOR_NAME_BYTES 64 /* ggml's GGML_MAX_NAME, with the terminator */

typedef struct gguf_tensor {
    const char *name;   /* NUL-terminated copy, < 64 bytes */
    uint32_t n_dims;    /* 1..4 */
    uint64_t ne[4];     /* ne[0] = row length; missing dims 1 */
    uint32_t ggml_type; /* as in the file; one that the format list knows or an integer/f64 type of ggml */
    uint32_t i_shard;
    uint64_t file_off; /* absolute, in its shard */
    uint64_t n_bytes;
    const uint8_t *data; /* mapped bytes */
} gguf_tensor;

/* Opens FILE, or all shards if FILE is any of a split (NAME-00001-of-0000N.gguf). Only headers are read: time does not
 * depend on the size of the weights. Errors: NOT_FOUND (absent, unreadable), USAGE (a folder), DAMAGED (also for
 * missing shards and unfinished downloads), NOT_SUPPORTED (foreign endianness, other versions, types or formats), IO,
 * NO_FIT; each names the file and what is wrong in one sentence. On an error *out is NULL. */
convect_status gguf_open(const char *path, gguf **out, convect_error *err) CONVECT_MUST_CHECK;

/* The same checks on bytes in memory (fuzzing and tests); a shard of a split file is read by itself. data must outlive
 * the gguf. */
convect_status gguf_open_memory(const uint8_t *data, size_t n_bytes, gguf **out, convect_error *err) CONVECT_MUST_CHECK;

void gguf_close(gguf *g); /* NULL is fine */

uint32_t gguf_version(const gguf *g);
uint64_t gguf_file_bytes(const gguf *g); /* all shards */
size_t gguf_n_shards(const gguf *g);
const char *gguf_shard_path(const gguf *g, size_t i_shard);
int gguf_shard_fd(const gguf *g, size_t i_shard); /* stays open and owned by g, for pread; -1 for bytes in memory */

size_t gguf_n_kv(const gguf *g);
const gguf_kv *gguf_kv_at(const gguf *g, size_t i);
const gguf_kv *gguf_kv_find(const gguf *g, const char *key); /* NULL if absent */

size_t gguf_n_tensors(const gguf *g); /* over all shards, file order */
const gguf_tensor *gguf_tensor_at(const gguf *g, size_t i);
const gguf_tensor *gguf_tensor_find(const gguf *g, const char *name); /* NULL if absent */

/* Typed reads. Any integer width (and bool) whose value fits is accepted by _u64/_i64; f32 and f64 by _f64. The element
 * form reads element i of an array, or the scalar itself when i is 0. False if the type or index does not fit. */
bool gguf_read_u64(const gguf_kv *kv, uint64_t i, uint64_t *out);
bool gguf_read_i64(const gguf_kv *kv, uint64_t i, int64_t *out);
bool gguf_read_f64(const gguf_kv *kv, uint64_t i, double *out);
bool gguf_read_string(const gguf_kv *kv, gguf_string *out); /* scalar string */

/* Walks a string array once: fills out[n_elements] (caller's). False if kv is no string array. */
bool gguf_read_strings(const gguf_kv *kv, gguf_string *out);

/* The first n of them only (n <= n_elements). */
bool gguf_read_first_strings(const gguf_kv *kv, uint64_t n, gguf_string *out);

const char *gguf_type_name(gguf_type type); /* "u32" */
size_t gguf_type_bytes(gguf_type type);     /* of one value; 0 for strings and arrays */

/* A tensor type that files may hold: the formats of kernels/format.h and ggml's I8..I64, F64. */
typedef struct gguf_ggml_type {
    uint32_t id;
    const char *name;
    uint32_t block_elems;
    uint32_t block_bytes;
} gguf_ggml_type;

const gguf_ggml_type *gguf_ggml_type_find(uint32_t id); /* NULL if files may not hold it; static storage */

/* Bytes of a tensor (no row padding). False if the type is unknown, ne[0] is no multiple of the block, a dimension is 0
 * or the element or byte count does not fit in 63 bits. */
bool gguf_tensor_bytes(uint32_t ggml_type, const uint64_t ne[4], uint64_t *n_bytes);

#endif
