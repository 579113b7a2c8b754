#include "tools/quantize_stream.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/features.h"
#include "kernels/quantize.h"
#include "kernels/table.h"

/* A tensor is one run of blocks (rows have no padding), so it is cut into pieces of a multiple of every block size. */
#define PIECE_ELEMS      ((size_t)65536)
#define PIECE_COPY_BYTES ((size_t)1 << 18)

typedef struct stream_worker {
    float x[PIECE_ELEMS];
    uint8_t out[PIECE_ELEMS * 4];
    convect_error error; /* its first one */
} stream_worker;

struct quantize_stream {
    cpu_pool *pool;
    gguf_writer *writer;
    const kernel_table *kernels;
    stream_worker *workers; /* [cpu_pool_size] */
    /* the tensor at work, set by the caller between regions */
    const gguf_tensor *tensor;
    format_id from, to;
    size_t i_out;
    uint64_t n_units, piece_units; /* elements, or bytes when copying */
    atomic_uint_fast64_t next;     /* first unit nobody has taken; relaxed: pieces are independent */
    atomic_bool has_failed;        /* relaxed: only makes the others stop early */
};

convect_status quantize_stream_create(cpu_pool *pool, gguf_writer *writer, quantize_stream **out, convect_error *err) {
    *out = NULL;
    quantize_stream *q = calloc(1, sizeof *q);
    stream_worker *workers = calloc(cpu_pool_size(pool), sizeof *workers);
    if (!q || !workers) {
        free(q);
        free(workers);
        return convect_fail(err, CONVECT_NO_FIT, "out of memory for the buffers of %zu workers", cpu_pool_size(pool));
    }
    q->pool = pool;
    q->writer = writer;
    q->kernels = kernel_table_get(cpu_best_level());
    q->workers = workers;
    *out = q;
    return CONVECT_OK;
}

void quantize_stream_destroy(quantize_stream *q) {
    if (!q) return;
    free(q->workers);
    free(q);
}

static convect_status write_piece(quantize_stream *q, stream_worker *w, uint64_t first, size_t n) {
    const uint8_t *src = q->tensor->data + format_row_bytes(q->from, first);
    q->kernels->dequantize[q->from](src, n, w->x);
    if (!quantize_row(q->to, w->x, n, w->out)) {
        return convect_fail(&w->error, CONVECT_DAMAGED,
                            "tensor %s holds a weight that is not finite or larger than %.0f near element %llu",
                            q->tensor->name, (double)QUANTIZE_MAGNITUDE_MAX, (unsigned long long)first);
    }
    return gguf_write_at(q->writer, q->i_out, format_row_bytes(q->to, first), w->out, format_row_bytes(q->to, n),
                         &w->error);
}

static void stream_work(void *arg, size_t i_worker, size_t n_workers) {
    (void)n_workers;
    quantize_stream *q = arg;
    stream_worker *w = &q->workers[i_worker];
    while (!atomic_load_explicit(&q->has_failed, memory_order_relaxed)) {
        uint64_t first = atomic_fetch_add_explicit(&q->next, q->piece_units, memory_order_relaxed);
        if (first >= q->n_units) return;
        uint64_t left = q->n_units - first;
        size_t n = left < q->piece_units ? (size_t)left : (size_t)q->piece_units;
        convect_status status = q->to == FORMAT_COUNT
                                    ? gguf_write_at(q->writer, q->i_out, first, q->tensor->data + first, n, &w->error)
                                    : write_piece(q, w, first, n);
        if (status) atomic_store_explicit(&q->has_failed, true, memory_order_relaxed);
    }
}

/* The source's pages are not needed again: without this a 70 GB source would crowd out what is being written. */
static void forget_pages(const gguf_tensor *t) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)t->data + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)t->data + t->n_bytes) / page * page;
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

convect_status quantize_stream_tensor(quantize_stream *q, const gguf_tensor *t, format_id to, size_t i_out,
                                      convect_error *err) {
    q->tensor = t;
    q->from = format_from_ggml(t->ggml_type);
    q->to = to;
    q->i_out = i_out;
    q->n_units = to == FORMAT_COUNT ? t->n_bytes : t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
    q->piece_units = to == FORMAT_COUNT ? PIECE_COPY_BYTES : PIECE_ELEMS;
    atomic_store_explicit(&q->next, 0, memory_order_relaxed);
    cpu_pool_run(q->pool, stream_work, q);
    forget_pages(t);
    if (!atomic_load_explicit(&q->has_failed, memory_order_relaxed)) return CONVECT_OK;
    for (size_t i = 0; i < cpu_pool_size(q->pool); i++) {
        const convect_error *e = &q->workers[i].error;
        if (e->status) return convect_fail(err, e->status, "%s", e->text);
    }
    return convect_fail(err, CONVECT_INTERNAL, "a worker failed without saying why");
}
