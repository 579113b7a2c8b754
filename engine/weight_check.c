#include "engine/weight_check.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/format_scale.h"

#define PIECE_BYTES  ((size_t)1 << 20)
#define SAMPLE_BYTES 4096
#define N_SAMPLES    4

typedef struct check_worker {
    uint8_t buffer[PIECE_BYTES];
    uint64_t fault_off; /* absolute, in its shard; UINT64_MAX: none */
    const char *fault_field;
    uint64_t error_off; /* of a failed read; UINT64_MAX: none */
    int error_code;     /* errno; 0: the file ended */
} check_worker;

typedef struct check_job {
    const gguf *g;
    check_worker *workers;
    /* the tensor at work */
    const gguf_tensor *tensor;
    format_id format;
    size_t n_pieces;
    uint64_t n_blocks, piece_blocks, first_span_blocks; /* piece i begins at block i * first_span / (n_pieces - 1) */
    atomic_size_t next;                                 /* relaxed: pieces are independent */
} check_job;

static bool read_piece(int fd, uint8_t *out, uint64_t off, size_t n_bytes, check_worker *w) {
    for (size_t n = 0; n < n_bytes;) {
        const ssize_t got = pread(fd, out + n, n_bytes - n, (off_t)(off + n));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            if (off + n < w->error_off) {
                w->error_off = off + n;
                w->error_code = got < 0 ? errno : 0;
            }
            return false;
        }
        n += (size_t)got;
    }
    return true;
}

static void check_piece(const check_job *job, check_worker *w, size_t i) {
    const gguf_tensor *t = job->tensor;
    const size_t block_bytes = format_get(job->format)->block_bytes;
    const uint64_t first = job->n_pieces > 1 ? i * job->first_span_blocks / (job->n_pieces - 1) : 0;
    const uint64_t left = job->n_blocks - first;
    const size_t n = left < job->piece_blocks ? (size_t)left : (size_t)job->piece_blocks;
    const uint64_t off = t->file_off + first * block_bytes;
    format_fault fault;
    if (!read_piece(gguf_shard_fd(job->g, t->i_shard), w->buffer, off, n * block_bytes, w)) return;
    if (!format_find_fault(job->format, w->buffer, n, &fault) || off + fault.byte_off >= w->fault_off) return;
    w->fault_off = off + fault.byte_off;
    w->fault_field = fault.field;
}

static void check_pieces(void *arg, size_t i_worker, size_t n_workers) {
    (void)n_workers;
    check_job *job = arg;
    for (;;) {
        const size_t i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (i >= job->n_pieces) return;
        check_piece(job, &job->workers[i_worker], i);
    }
}

/* Chooses the pieces of tensor t. Returns the bytes that will be read. */
static uint64_t cut(check_job *job, const gguf_tensor *t, bool is_full) {
    const size_t block_bytes = format_get(job->format)->block_bytes;
    const uint64_t n_blocks = t->n_bytes / block_bytes;
    const uint64_t sample = SAMPLE_BYTES / block_bytes;
    job->tensor = t;
    job->n_blocks = n_blocks;
    if (!is_full && n_blocks > N_SAMPLES * sample) {
        job->n_pieces = N_SAMPLES;
        job->piece_blocks = sample;
        job->first_span_blocks = n_blocks - sample; /* the last piece ends with the tensor */
        return N_SAMPLES * sample * block_bytes;
    }
    job->piece_blocks = PIECE_BYTES / block_bytes;
    job->n_pieces = (size_t)((n_blocks + job->piece_blocks - 1) / job->piece_blocks);
    job->first_span_blocks = (job->n_pieces - 1) * job->piece_blocks;
    return t->n_bytes;
}

/* The first fault of the tensor over all workers, or the first failed read. */
static convect_status judge(const check_job *job, size_t n_workers, convect_error *err) {
    const check_worker *fault = &job->workers[0], *error = fault;
    for (size_t i = 1; i < n_workers; i++) {
        if (job->workers[i].fault_off < fault->fault_off) fault = &job->workers[i];
        if (job->workers[i].error_off < error->error_off) error = &job->workers[i];
    }
    const gguf_tensor *t = job->tensor;
    const char *path = gguf_shard_path(job->g, t->i_shard), *type = format_get(job->format)->name;
    if (error->error_off != UINT64_MAX)
        return convect_fail(err, CONVECT_IO, "%s: cannot read tensor '%s' at byte %llu: %s", path, t->name,
                            (unsigned long long)error->error_off,
                            error->error_code ? strerror(error->error_code) : "the file became shorter");
    if (fault->fault_off == UINT64_MAX) return CONVECT_OK;
    return convect_fail(err, CONVECT_DAMAGED,
                        "%s: tensor '%s' (%s) is damaged: %s of block %llu is not finite, at byte %llu of the file; "
                        "download it again",
                        path, t->name, type, fault->fault_field,
                        (unsigned long long)((fault->fault_off - t->file_off) / format_get(job->format)->block_bytes),
                        (unsigned long long)fault->fault_off);
}

static convect_status check_tensors(check_job *job, cpu_pool *pool, const weight_check_options *o,
                                    uint64_t *n_read_bytes, convect_error *err) {
    const size_t n_workers = cpu_pool_size(pool);
    for (size_t i = 0; i < n_workers; i++) job->workers[i].fault_off = job->workers[i].error_off = UINT64_MAX;
    for (size_t i = 0; i < gguf_n_tensors(job->g); i++) {
        const gguf_tensor *t = gguf_tensor_at(job->g, i);
        job->format = format_from_ggml(t->ggml_type);
        if (job->format == FORMAT_COUNT) continue;
        *n_read_bytes += cut(job, t, o->is_full);
        atomic_store_explicit(&job->next, 0, memory_order_relaxed);
        cpu_pool_run(pool, check_pieces, job);
        const convect_status status = judge(job, n_workers, err);
        if (status != CONVECT_OK) return status;
        if (o->progress && !o->progress(o->user, *n_read_bytes, gguf_file_bytes(job->g)))
            return convect_fail(err, CONVECT_CANCELLED, "interrupted");
    }
    return CONVECT_OK;
}

convect_status weight_check(const gguf *g, cpu_pool *pool, const weight_check_options *options, uint64_t *n_read_bytes,
                            convect_error *err) {
    check_job job = {.g = g, .workers = calloc(cpu_pool_size(pool), sizeof *job.workers)};
    *n_read_bytes = 0;
    if (!job.workers)
        return convect_fail(err, CONVECT_NO_FIT, "no memory for the buffers of %zu workers", cpu_pool_size(pool));
    const convect_status status = check_tensors(&job, pool, options, n_read_bytes, err);
    free(job.workers);
    return status;
}
