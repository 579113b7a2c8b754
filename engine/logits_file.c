#include "engine/logits_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/base/check.h"

#define MAGIC        "CVLOGITS"
#define VERSION      1
#define N_VOCAB_MAX  (1U << 24)
#define WINDOW_MAX   (1U << 24)
#define PATH_BYTES   4096
#define MASS_ERROR   1e-3 /* f32 log-probabilities of a softmax over 2^24 tokens sum to 1 within 1e-5 */
#define ROW_BYTES(n) (12 + 8 * (size_t)(n))

typedef struct file_header {
    char magic[8];
    uint32_t version, header_bytes, n_vocab, n_top, n_window_tokens, kv_type;
    uint64_t n_positions, tokens_hash, model_hash;
    char model_name[LOGITS_NAME_BYTES];
    char zero[8];
} file_header;

_Static_assert(sizeof(file_header) == 128, "the header has no padding");

typedef struct row_head {
    int32_t target;
    float target_logp, tail_logp;
} row_head;

struct logits_writer {
    char path[PATH_BYTES];
    char part[PATH_BYTES + 32];
    logits_header header;
    FILE *file;
    uint64_t n_put;
    XXH3_state_t *hash;
};

struct logits_reader {
    char path[PATH_BYTES];
    logits_header header;
    FILE *file;
    uint64_t n_read;
    XXH3_state_t *hash;
    int32_t *ids;  /* [n_top] */
    float *logps;  /* [n_top] */
    uint8_t *seen; /* [n_vocab] ids of the record at hand */
};

/* ---- writing ---- */

static convect_status write_failed(const logits_writer *w, convect_error *err) {
    return convect_fail(err, CONVECT_IO, "cannot write %s: %s", w->path, errno ? strerror(errno) : "failed");
}

static convect_status write_bytes(logits_writer *w, const void *data, size_t n_bytes, convect_error *err) {
    errno = 0;
    (void)XXH3_64bits_update(w->hash, data, n_bytes);
    return fwrite(data, 1, n_bytes, w->file) == n_bytes ? CONVECT_OK : write_failed(w, err);
}

static convect_status write_header(logits_writer *w, convect_error *err) {
    const logits_header *h = &w->header;
    file_header f = {.version = VERSION,
                     .header_bytes = sizeof f,
                     .n_vocab = h->n_vocab,
                     .n_top = h->n_top,
                     .n_window_tokens = h->n_window_tokens,
                     .kv_type = h->kv_type,
                     .n_positions = h->n_positions,
                     .tokens_hash = h->tokens_hash,
                     .model_hash = h->model_hash};
    memcpy(f.magic, MAGIC, sizeof f.magic);
    memcpy(f.model_name, h->model_name, sizeof f.model_name);
    return write_bytes(w, &f, sizeof f, err);
}

/* Asks for the room of the whole file before the long work that fills it. File systems that cannot do that say so, and
 * are written to as they are. */
static convect_status reserve(logits_writer *w, convect_error *err) {
    const uint64_t n_bytes =
        sizeof(file_header) + w->header.n_positions * ROW_BYTES(w->header.n_top) + sizeof(uint64_t);
    if (fallocate(fileno(w->file), 0, 0, (off_t)n_bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
        return CONVECT_OK;
    return convect_fail(err, CONVECT_IO, "cannot write %s: it needs %.2f GB: %s", w->path, (double)n_bytes / 1e9,
                        strerror(errno));
}

static convect_status writer_start(logits_writer *w, const char *path, convect_error *err) {
    if (snprintf(w->path, sizeof w->path, "%s", path) >= (int)sizeof w->path)
        return convect_fail(err, CONVECT_IO, "cannot write a file: its path is longer than %d bytes", PATH_BYTES);
    struct stat st;
    if (stat(path, &st) == 0) { /* renaming over a device would replace it, over a link the link */
        if (!S_ISREG(st.st_mode)) return convect_fail(err, CONVECT_IO, "cannot write %s: it is no regular file", path);
        if (!realpath(path, w->path))
            return convect_fail(err, CONVECT_IO, "cannot write %s: %s", path, strerror(errno));
    }
    (void)snprintf(w->part, sizeof w->part, "%s.%ld.part", w->path, (long)getpid());
    w->hash = XXH3_createState();
    if (!w->hash) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    (void)XXH3_64bits_reset(w->hash);
    w->file = fopen(w->part, "wxe");
    if (!w->file)
        return convect_fail(err, errno == ENOENT ? CONVECT_NOT_FOUND : CONVECT_IO, "cannot write %s: %s", w->path,
                            strerror(errno));
    const convect_status status = reserve(w, err);
    return status != CONVECT_OK ? status : write_header(w, err);
}

convect_status logits_writer_open(const char *path, const logits_header *header, logits_writer **out,
                                  convect_error *err) {
    *out = NULL;
    CONVECT_CHECK(header->n_top >= 1 && header->n_top <= header->n_vocab && header->n_vocab <= N_VOCAB_MAX);
    CONVECT_CHECK(header->n_positions < UINT64_C(1) << 32); /* no overflow: a record has at most 2^28 bytes */
    CONVECT_CHECK(header->n_window_tokens >= 2 && header->n_window_tokens <= WINDOW_MAX);
    logits_writer *w = calloc(1, sizeof *w);
    if (!w) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    w->header = *header;
    w->header.model_name[LOGITS_NAME_BYTES - 1] = 0;
    const convect_status status = writer_start(w, path, err);
    if (status != CONVECT_OK) {
        logits_writer_abandon(w);
        return status;
    }
    *out = w;
    return CONVECT_OK;
}

convect_status logits_writer_put(logits_writer *w, const logits_row *row, convect_error *err) {
    CONVECT_CHECK(w->n_put < w->header.n_positions);
    w->n_put++;
    const row_head head = {row->target, row->target_logp, row->tail_logp};
    convect_status status = write_bytes(w, &head, sizeof head, err);
    if (!status) status = write_bytes(w, row->ids, w->header.n_top * sizeof *row->ids, err);
    if (!status) status = write_bytes(w, row->logps, w->header.n_top * sizeof *row->logps, err);
    return status;
}

convect_status logits_writer_commit(logits_writer *w, convect_error *err) {
    CONVECT_CHECK(w->n_put == w->header.n_positions);
    const uint64_t sum = XXH3_64bits_digest(w->hash);
    errno = 0;
    convect_status status = CONVECT_OK;
    if (fwrite(&sum, sizeof sum, 1, w->file) != 1 || fflush(w->file) != 0 || fsync(fileno(w->file)) != 0 ||
        rename(w->part, w->path) != 0)
        status = write_failed(w, err);
    else
        w->part[0] = 0;
    logits_writer_abandon(w);
    return status;
}

void logits_writer_abandon(logits_writer *w) {
    if (!w) return;
    if (w->file) {
        (void)fclose(w->file);
        if (w->part[0]) (void)unlink(w->part);
    }
    (void)XXH3_freeState(w->hash);
    free(w);
}

/* ---- reading ---- */

static convect_status damaged(const logits_reader *r, convect_error *err, const char *what) {
    return convect_fail(err, CONVECT_DAMAGED, "%s: %s at position %llu; save it again", r->path, what,
                        (unsigned long long)(r->n_read ? r->n_read - 1 : 0));
}

static convect_status read_bytes(logits_reader *r, void *out, size_t n_bytes, convect_error *err) {
    if (fread(out, 1, n_bytes, r->file) != n_bytes) {
        if (ferror(r->file)) return convect_fail(err, CONVECT_IO, "cannot read %s: %s", r->path, strerror(errno));
        return damaged(r, err, "the file ends");
    }
    (void)XXH3_64bits_update(r->hash, out, n_bytes);
    return CONVECT_OK;
}

/* Everything that sizes depend on. */
static const char *header_fault(const file_header *f, uint64_t n_file_bytes) {
    uint64_t n_bytes;
    if (f->header_bytes != sizeof *f) return "its header has another length";
    if (f->n_vocab < 1 || f->n_vocab > N_VOCAB_MAX) return "its vocabulary size is out of range";
    if (f->n_top < 1 || f->n_top > f->n_vocab) return "its number of stored tokens is out of range";
    if (f->n_window_tokens < 2 || f->n_window_tokens > WINDOW_MAX) return "its window length is out of range";
    if (memchr(f->model_name, 0, sizeof f->model_name) == NULL) return "its model name does not end";
    if (f->n_positions == 0) return "it holds no position";
    if (__builtin_mul_overflow(f->n_positions, ROW_BYTES(f->n_top), &n_bytes) ||
        __builtin_add_overflow(n_bytes, sizeof *f + sizeof(uint64_t), &n_bytes) || n_bytes != n_file_bytes)
        return "its length does not fit its header (an unfinished copy?)";
    return NULL;
}

static convect_status read_header(logits_reader *r, convect_error *err) {
    file_header f;
    struct stat st;
    if (fstat(fileno(r->file), &st) != 0 || !S_ISREG(st.st_mode))
        return convect_fail(err, CONVECT_NOT_FOUND, "%s is no regular file", r->path);
    if (fread(&f, 1, sizeof f, r->file) != sizeof f || memcmp(f.magic, MAGIC, sizeof f.magic) != 0)
        return convect_fail(err, CONVECT_DAMAGED, "%s is no file of stored logits (make one with --save-logits)",
                            r->path);
    if (f.version != VERSION)
        return convect_fail(err, CONVECT_NOT_SUPPORTED, "%s has version %u of the format; Convect reads %d", r->path,
                            f.version, VERSION);
    const char *fault = header_fault(&f, (uint64_t)st.st_size);
    if (fault) return convect_fail(err, CONVECT_DAMAGED, "%s is damaged: %s", r->path, fault);
    r->header = (logits_header){.n_vocab = f.n_vocab,
                                .n_top = f.n_top,
                                .n_window_tokens = f.n_window_tokens,
                                .kv_type = f.kv_type,
                                .n_positions = f.n_positions,
                                .tokens_hash = f.tokens_hash,
                                .model_hash = f.model_hash};
    memcpy(r->header.model_name, f.model_name, sizeof f.model_name);
    (void)XXH3_64bits_update(r->hash, &f, sizeof f);
    return CONVECT_OK;
}

static convect_status reader_start(logits_reader *r, const char *path, convect_error *err) {
    (void)snprintf(r->path, sizeof r->path, "%s", path); /* a longer one does not exist: fopen says so */
    r->hash = XXH3_createState();
    if (!r->hash) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    (void)XXH3_64bits_reset(r->hash);
    r->file = fopen(path, "re");
    if (!r->file) return convect_fail(err, CONVECT_NOT_FOUND, "cannot open %s: %s", path, strerror(errno));
    const convect_status status = read_header(r, err);
    if (status != CONVECT_OK) return status;
    r->ids = calloc(r->header.n_top, sizeof *r->ids);
    r->logps = calloc(r->header.n_top, sizeof *r->logps);
    r->seen = calloc(r->header.n_vocab, 1);
    if (!r->ids || !r->logps || !r->seen) return convect_fail(err, CONVECT_NO_FIT, "no memory to read %s", path);
    return CONVECT_OK;
}

convect_status logits_reader_open(const char *path, logits_reader **out, convect_error *err) {
    *out = NULL;
    logits_reader *r = calloc(1, sizeof *r);
    if (!r) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    const convect_status status = reader_start(r, path, err);
    if (status != CONVECT_OK) {
        logits_reader_close(r);
        return status;
    }
    *out = r;
    return CONVECT_OK;
}

void logits_reader_close(logits_reader *r) {
    if (!r) return;
    if (r->file) (void)fclose(r->file);
    (void)XXH3_freeState(r->hash);
    free(r->ids);
    free(r->logps);
    free(r->seen);
    free(r);
}

const logits_header *logits_reader_header(const logits_reader *r) {
    return &r->header;
}

static bool is_logp(float x) { /* a rounded one may exceed 0 by a little; NaN is none */
    return x <= (float)MASS_ERROR;
}

static bool ids_are_distinct(logits_reader *r) {
    bool is_good = true;
    size_t n = 0;
    for (; n < r->header.n_top && is_good; n++) {
        const int32_t id = r->ids[n];
        is_good = id >= 0 && (uint32_t)id < r->header.n_vocab && !r->seen[id];
        if (is_good) r->seen[id] = 1;
    }
    if (!is_good) n--; /* the last one was not marked by this loop */
    for (size_t i = 0; i < n; i++) r->seen[r->ids[i]] = 0;
    return is_good;
}

static const char *row_fault(logits_reader *r, const row_head *head) {
    const logits_header *h = &r->header;
    if (head->target < 0 || (uint32_t)head->target >= h->n_vocab) return "a token beyond the vocabulary";
    if (!is_logp(head->target_logp) || !isfinite(head->target_logp)) return "an impossible log-probability";
    if (!is_logp(head->tail_logp)) return "an impossible tail";
    if (h->n_top == h->n_vocab && head->tail_logp != -INFINITY) return "a tail where nothing is left out";
    if (!ids_are_distinct(r)) return "a token beyond the vocabulary or listed twice";
    double mass = exp((double)head->tail_logp);
    for (size_t i = 0; i < h->n_top; i++) {
        if (!is_logp(r->logps[i]) || !isfinite(r->logps[i])) return "an impossible log-probability";
        if (i > 0 && r->logps[i] > r->logps[i - 1]) return "log-probabilities out of order";
        mass += exp((double)r->logps[i]);
    }
    return fabs(mass - 1) > MASS_ERROR ? "probabilities that do not sum to 1" : NULL;
}

convect_status logits_reader_next(logits_reader *r, logits_row *row, convect_error *err) {
    CONVECT_CHECK(r->n_read < r->header.n_positions);
    r->n_read++;
    row_head head;
    convect_status status = read_bytes(r, &head, sizeof head, err);
    if (!status) status = read_bytes(r, r->ids, r->header.n_top * sizeof *r->ids, err);
    if (!status) status = read_bytes(r, r->logps, r->header.n_top * sizeof *r->logps, err);
    if (status) return status;
    const char *fault = row_fault(r, &head);
    if (fault) return damaged(r, err, fault);
    *row = (logits_row){head.target, head.target_logp, head.tail_logp, r->ids, r->logps};
    return CONVECT_OK;
}

convect_status logits_reader_finish(logits_reader *r, convect_error *err) {
    CONVECT_CHECK(r->n_read == r->header.n_positions);
    const uint64_t want = XXH3_64bits_digest(r->hash);
    uint64_t have;
    if (fread(&have, sizeof have, 1, r->file) != 1 || have != want)
        return convect_fail(err, CONVECT_DAMAGED, "%s is damaged: its checksum differs; save it again", r->path);
    return CONVECT_OK;
}
