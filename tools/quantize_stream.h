/* Turns the tensors of a GGUF file into other formats, piece by piece on all workers, straight into a gguf_writer.
 * Memory: a few hundred KiB a worker, whatever the size of the model. */
#ifndef CONVECT_TOOLS_QUANTIZE_STREAM_H
#define CONVECT_TOOLS_QUANTIZE_STREAM_H

#include "cpu/pool.h"
#include "engine/gguf.h"
#include "engine/gguf_write.h"
#include "kernels/format.h"

typedef struct quantize_stream quantize_stream;

/* Buffers for the workers of pool. pool and writer are borrowed. Errors: NO_FIT. */
convect_status quantize_stream_create(cpu_pool *pool, gguf_writer *writer, quantize_stream **out,
                                      convect_error *err) CONVECT_MUST_CHECK;
void quantize_stream_destroy(quantize_stream *q); /* NULL is fine */

/* Writes tensor t as tensor i_out of the writer, which was declared with type `to` (or with t's own type where to is
 * FORMAT_COUNT: the bytes are copied). Errors: DAMAGED for a value that is not finite or too large, IO. */
convect_status quantize_stream_tensor(quantize_stream *q, const gguf_tensor *t, format_id to, size_t i_out,
                                      convect_error *err) CONVECT_MUST_CHECK;

#endif
