/* GGUF v3 writer: metadata first, then tensor infos, then the data in the order declared, each tensor padded to the
 * alignment (32, or general.alignment if set before the first tensor). Writes PATH.<pid>.part in the same folder and
 * renames it at the end, so an existing PATH stays whole on any failure. One writer, one thread, except gguf_write_at,
 * which any thread may call for disjoint ranges. */
#ifndef CONVECT_ENGINE_GGUF_WRITE_H
#define CONVECT_ENGINE_GGUF_WRITE_H

#include "engine/gguf.h"

typedef struct gguf_writer gguf_writer;

/* Errors: NOT_FOUND (no such folder), IO. */
convect_status gguf_writer_open(const char *path, gguf_writer **out, convect_error *err) CONVECT_MUST_CHECK;

/* Metadata, before gguf_writer_begin_data. Errors are kept and reported by gguf_writer_begin_data. */
void gguf_writer_kv_copy(gguf_writer *w, const gguf_kv *kv);
void gguf_writer_kv_u32(gguf_writer *w, const char *key, uint32_t v);
void gguf_writer_kv_i32(gguf_writer *w, const char *key, int32_t v);
void gguf_writer_kv_u64(gguf_writer *w, const char *key, uint64_t v);
void gguf_writer_kv_f32(gguf_writer *w, const char *key, float v);
void gguf_writer_kv_bool(gguf_writer *w, const char *key, bool v);
void gguf_writer_kv_string(gguf_writer *w, const char *key, const char *data, size_t n_bytes);
void gguf_writer_kv_i32s(gguf_writer *w, const char *key, const int32_t *v, size_t n);
void gguf_writer_kv_f32s(gguf_writer *w, const char *key, const float *v, size_t n);
void gguf_writer_kv_strings(gguf_writer *w, const char *key, const gguf_string *v, size_t n);

/* Declares a tensor; its n_bytes follows from ggml_type and ne. */
void gguf_writer_tensor(gguf_writer *w, const char *name, uint32_t ggml_type, uint32_t n_dims, const uint64_t ne[4]);

/* Writes the header and reserves room for the data; what was declared must pass the reader's checks. Afterwards
 * gguf_write_at fills tensors by index of declaration. Errors: IO (no room, ulimit), DAMAGED or NOT_SUPPORTED
 * (duplicate keys or names, impossible shapes), NO_FIT. The caller then calls gguf_writer_abandon. */
convect_status gguf_writer_begin_data(gguf_writer *w, convect_error *err) CONVECT_MUST_CHECK;
convect_status gguf_write_at(gguf_writer *w, size_t i_tensor, uint64_t off, const void *data, size_t n_bytes,
                             convect_error *err) CONVECT_MUST_CHECK;
uint64_t gguf_writer_file_bytes(const gguf_writer *w); /* valid after begin_data */

/* Syncs and renames into place. Every byte of every tensor must have been written once (checked). The writer is gone
 * afterwards, whatever the result. */
convect_status gguf_writer_commit(gguf_writer *w, convect_error *err) CONVECT_MUST_CHECK;
void gguf_writer_abandon(gguf_writer *w); /* deletes the temporary file; NULL is fine */

#endif
