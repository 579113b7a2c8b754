#include "tools/synth_write.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "tools/interrupt.h"
#include "tools/synth_metadata.h"

#define PIECE_ELEMS ((size_t)262144) /* a multiple of every block; at most 1 MiB of any format */

typedef struct synth_worker {
    float scratch[PIECE_ELEMS];
    uint8_t out[PIECE_ELEMS * 4];
    convect_error error;
} synth_worker;

typedef struct synth_job {
    const model_list *list;
    synth_style style;
    gguf_writer **writers; /* [n_shards] */
    size_t *i_in_shard;    /* [n_tensors] index of declaration in its shard */
    uint64_t *first_piece; /* [n_tensors + 1] */
    synth_source *sources; /* [n_tensors] */
    synth_worker *workers;
    progress bar;
    atomic_uint_fast64_t next_piece, n_done_bytes; /* relaxed: pieces are independent, progress is for the eye */
    atomic_bool has_failed;
} synth_job;

static void job_close(synth_job *job) {
    for (size_t i = 0; job->writers && i < job->list->n_shards; i++) gguf_writer_abandon(job->writers[i]);
    free(job->writers);
    free(job->i_in_shard);
    free(job->first_piece);
    free(job->sources);
    free(job->workers);
}

static convect_status job_open(synth_job *job, size_t n_workers, convect_error *err) {
    size_t n = job->list->n_tensors;
    job->writers = calloc(job->list->n_shards, sizeof(gguf_writer *));
    job->i_in_shard = calloc(n ? n : 1, sizeof *job->i_in_shard);
    job->first_piece = calloc(n + 1, sizeof *job->first_piece);
    job->sources = calloc(n ? n : 1, sizeof *job->sources);
    job->workers = calloc(n_workers, sizeof *job->workers);
    bool is_whole = job->writers && job->i_in_shard && job->first_piece && job->sources && job->workers;
    return is_whole ? CONVECT_OK : convect_fail(err, CONVECT_NO_FIT, "out of memory for %zu tensors", n);
}

/* PREFIX.gguf, or shard i of it. A path that names shard 1 already stands for its prefix. */
static void shard_path(const char *path, size_t i, size_t n, char out[SYNTH_PATH_BYTES + 32]) {
    int length = (int)strnlen(path, SYNTH_PATH_BYTES - 1);
    if (n > 1) {
        char tail[48];
        (void)snprintf(tail, sizeof tail, "-00001-of-%05zu.gguf", n);
        int n_tail = (int)strlen(tail);
        if (length > n_tail && strcmp(path + length - n_tail, tail) == 0) {
            length -= n_tail;
        } else if (length > 5 && strcmp(path + length - 5, ".gguf") == 0) {
            length -= 5;
        }
        (void)snprintf(out, SYNTH_PATH_BYTES + 32, "%.*s-%05zu-of-%05zu.gguf", length, path, i + 1, n);
        return;
    }
    (void)snprintf(out, SYNTH_PATH_BYTES + 32, "%.*s", length, path);
}

static convect_status open_shards(synth_job *job, const char *path, synth_result *out, convect_error *err) {
    const model_list *list = job->list;
    convect_status status = CONVECT_OK;
    for (size_t i = 0; i < list->n_shards && !status; i++) {
        char name[SYNTH_PATH_BYTES + 32];
        shard_path(path, i, list->n_shards, name);
        if (i == 0) memcpy(out->path, name, sizeof name);
        status = gguf_writer_open(name, &job->writers[i], err);
        if (status) break;
        if (i == 0) status = synth_metadata_write(list, job->writers[i], err);
        if (list->n_shards > 1) synth_metadata_split(job->writers[i], i, list->n_shards, list->n_tensors);
        size_t n_here = 0;
        for (size_t t = 0; t < list->n_tensors; t++) {
            const list_tensor *tensor = &list->tensors[t];
            if (tensor->i_shard != i) continue;
            gguf_writer_tensor(job->writers[i], tensor->name, format_get(tensor->format)->ggml_type, tensor->n_dims,
                               tensor->ne);
            job->i_in_shard[t] = n_here++;
        }
        if (!status) status = gguf_writer_begin_data(job->writers[i], err);
    }
    return status;
}

/* The tensor that holds piece i. */
static size_t tensor_of(const synth_job *job, uint64_t i) {
    size_t lo = 0;
    size_t hi = job->list->n_tensors;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        *(job->first_piece[mid] <= i ? &lo : &hi) = mid;
    }
    return lo;
}

static convect_status write_piece(synth_job *job, synth_worker *w, uint64_t i_piece) {
    size_t t = tensor_of(job, i_piece);
    const list_tensor *tensor = &job->list->tensors[t];
    uint64_t first = (i_piece - job->first_piece[t]) * PIECE_ELEMS;
    uint64_t left = list_tensor_elems(tensor) - first;
    size_t n = left < PIECE_ELEMS ? (size_t)left : PIECE_ELEMS;
    size_t n_bytes = format_row_bytes(tensor->format, n);
    synth_source_fill(&job->sources[t], first, n, w->scratch, w->out);
    atomic_fetch_add_explicit(&job->n_done_bytes, n_bytes, memory_order_relaxed);
    return gguf_write_at(job->writers[tensor->i_shard], job->i_in_shard[t], format_row_bytes(tensor->format, first),
                         w->out, n_bytes, &w->error);
}

static void synth_work(void *arg, size_t i_worker, size_t n_workers) {
    (void)n_workers;
    synth_job *job = arg;
    synth_worker *w = &job->workers[i_worker];
    while (!atomic_load_explicit(&job->has_failed, memory_order_relaxed)) {
        uint64_t i = atomic_fetch_add_explicit(&job->next_piece, 1, memory_order_relaxed);
        if (i >= job->first_piece[job->list->n_tensors]) return;
        bool is_good = write_piece(job, w, i) == CONVECT_OK;
        if (i_worker == 0) { /* the caller's thread, which takes the signals */
            progress_show(&job->bar, atomic_load_explicit(&job->n_done_bytes, memory_order_relaxed));
            is_good = is_good && !interrupt_seen();
        }
        if (!is_good) atomic_store_explicit(&job->has_failed, true, memory_order_relaxed);
    }
}

static convect_status fill_tensors(synth_job *job, cpu_pool *pool, bool is_quiet, convect_error *err) {
    uint64_t n_bytes = 0;
    synth_block_maker *makers = calloc(FORMAT_COUNT, sizeof *makers);
    if (!makers) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    for (int f = 0; f < FORMAT_COUNT; f++) {
        if (synth_block_has((format_id)f)) synth_block_init(&makers[f], (format_id)f);
    }
    for (size_t t = 0; t < job->list->n_tensors; t++) {
        const list_tensor *tensor = &job->list->tensors[t];
        synth_source_init(&job->sources[t], tensor, &job->style, makers);
        job->first_piece[t + 1] = job->first_piece[t] + (list_tensor_elems(tensor) + PIECE_ELEMS - 1) / PIECE_ELEMS;
        n_bytes += list_tensor_bytes(tensor);
    }
    progress_begin(&job->bar, "writing", "MB", 1e6, n_bytes, is_quiet);
    cpu_pool_run(pool, synth_work, job);
    progress_end(&job->bar);
    free(makers);
    for (size_t i = 0; i < cpu_pool_size(pool); i++) {
        const convect_error *e = &job->workers[i].error;
        if (e->status) return convect_fail(err, e->status, "%s", e->text);
    }
    return interrupt_seen() ? convect_fail(err, CONVECT_CANCELLED, "interrupted") : CONVECT_OK;
}

/* Last shard first: a reader starts at the first one, which then finds all others in place. */
static convect_status commit_shards(synth_job *job, synth_result *out, convect_error *err) {
    convect_status status = CONVECT_OK;
    for (size_t i = job->list->n_shards; i-- > 0 && !status;) {
        gguf_writer *w = job->writers[i];
        job->writers[i] = NULL;
        out->n_bytes += gguf_writer_file_bytes(w);
        status = gguf_writer_commit(w, err);
    }
    return status;
}

convect_status synth_write(const model_list *list, const synth_style *style, const char *path, cpu_pool *pool,
                           bool is_quiet, synth_result *out, convect_error *err) {
    *out = (synth_result){0};
    synth_job job = {.list = list, .style = *style};
    interrupt_watch(); /* a half-written file has to be taken away */
    convect_status status = job_open(&job, cpu_pool_size(pool), err);
    if (!status) status = open_shards(&job, path, out, err);
    if (!status) status = fill_tensors(&job, pool, is_quiet, err);
    if (!status) status = commit_shards(&job, out, err);
    job_close(&job);
    return status;
}
