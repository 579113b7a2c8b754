/* Metadata and tensor infos are collected in two byte buffers; gguf_writer_begin_data joins them, has the reader's own
 * parser check the result, and reserves the whole file before a tensor is written. */
#include "engine/gguf_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine/base/check.h"
#include "engine/gguf_internal.h"

#define TMPFS_TYPE    0x01021994 /* linux/magic.h */
#define N_NAMES_TRIED 100
#define PATH_BYTES    4096

typedef unsigned long long ull;

typedef struct byte_buffer {
    uint8_t *data;
    size_t n_bytes, capacity_bytes;
} byte_buffer;

typedef struct written_tensor {
    uint64_t off; /* relative to the data */
    uint64_t n_bytes;
} written_tensor;

struct gguf_writer {
    char path[PATH_BYTES];      /* where the file goes, symbolic links followed */
    char part[PATH_BYTES + 32]; /* the temporary file beside it */
    int fd;
    convect_error error; /* the first one before begin_data */
    byte_buffer kv, info;
    uint64_t n_kv, alignment;
    written_tensor *tensors;
    size_t n_tensors, capacity_tensors;
    uint64_t n_data_bytes; /* padded */
    uint64_t data_off;     /* 0 until begin_data */
    atomic_uint_fast64_t n_written_bytes;
};

/* ---- opening ---- */

static convect_status resolve(gguf_writer *w, const char *path, convect_error *err) {
    struct stat st;
    if (!path[0]) return convect_fail(err, CONVECT_USAGE, "the name of the file to write is empty");
    if (stat(path, &st) != 0) {
        if (snprintf(w->path, sizeof w->path, "%s", path) < (int)sizeof w->path) return CONVECT_OK;
        return convect_fail(err, CONVECT_IO, "cannot write a file: its path is longer than %d bytes", PATH_BYTES);
    }
    if (!S_ISREG(st.st_mode)) return convect_fail(err, CONVECT_IO, "cannot write %s: it is no regular file", path);
    if (!realpath(path, w->path)) return convect_fail(err, CONVECT_IO, "cannot write %s: %s", path, strerror(errno));
    return CONVECT_OK;
}

/* A new file PATH.<pid>.part, or with a number after the pid if a crashed run left one of that name. */
static convect_status create_part(gguf_writer *w, convect_error *err) {
    for (int i = 0; i < N_NAMES_TRIED; i++) {
        char number[16] = "";
        if (i > 0) (void)snprintf(number, sizeof number, "-%d", i);
        (void)snprintf(w->part, sizeof w->part, "%s.%ld%s.part", w->path, (long)getpid(), number);
        w->fd = open(w->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd >= 0) return CONVECT_OK;
        if (errno != EEXIST) break;
    }
    convect_status status = errno == ENOENT ? CONVECT_NOT_FOUND : CONVECT_IO;
    return convect_fail(err, status, "cannot write %s: %s", w->path, strerror(errno));
}

convect_status gguf_writer_open(const char *path, gguf_writer **out, convect_error *err) {
    *out = NULL;
    gguf_writer *w = calloc(1, sizeof *w);
    if (!w) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    w->fd = -1;
    w->alignment = GGUF_ALIGNMENT;
    convect_status status = resolve(w, path, err);
    if (status == CONVECT_OK) status = create_part(w, err);
    if (status != CONVECT_OK) {
        free(w);
        return status;
    }
    *out = w;
    return CONVECT_OK;
}

static void writer_free(gguf_writer *w) {
    free(w->kv.data);
    free(w->info.data);
    free(w->tensors);
    free(w);
}

void gguf_writer_abandon(gguf_writer *w) {
    if (!w) return;
    (void)close(w->fd);
    (void)unlink(w->part);
    writer_free(w);
}

/* ---- metadata and tensor infos ---- */

static void put(gguf_writer *w, byte_buffer *b, const void *p, size_t n) {
    if (w->error.status != CONVECT_OK || n == 0) return;
    if (n > b->capacity_bytes - b->n_bytes) {
        size_t capacity = 2 * (b->n_bytes + n) + 4096;
        uint8_t *grown = realloc(b->data, capacity);
        if (!grown) {
            (void)convect_fail(&w->error, CONVECT_NO_FIT, "out of memory for the metadata of %s", w->path);
            return;
        }
        b->data = grown;
        b->capacity_bytes = capacity;
    }
    memcpy(b->data + b->n_bytes, p, n);
    b->n_bytes += n;
}

static void put_u32(gguf_writer *w, byte_buffer *b, uint32_t v) {
    put(w, b, &v, sizeof v);
}

static void put_u64(gguf_writer *w, byte_buffer *b, uint64_t v) {
    put(w, b, &v, sizeof v);
}

static void put_string(gguf_writer *w, byte_buffer *b, const char *data, size_t n_bytes) {
    put_u64(w, b, n_bytes);
    put(w, b, data, n_bytes);
}

static void put_key(gguf_writer *w, const char *key, gguf_type type) {
    CONVECT_CHECK(w->data_off == 0);
    put_string(w, &w->kv, key, strlen(key));
    put_u32(w, &w->kv, type);
    w->n_kv++;
}

static void put_array(gguf_writer *w, const char *key, gguf_type element_type, size_t n) {
    put_key(w, key, GGUF_ARRAY);
    put_u32(w, &w->kv, element_type);
    put_u64(w, &w->kv, n);
}

/* A bad value of general.alignment stays in the metadata, where the check of begin_data finds it. */
static void note_alignment(gguf_writer *w, const char *key, size_t n_key, uint64_t v) {
    static const char name[] = "general.alignment";
    if (n_key != sizeof name - 1 || memcmp(key, name, n_key) != 0) return;
    CONVECT_CHECK(w->n_tensors == 0); /* their offsets depend on it */
    if (v != 0 && (v & (v - 1)) == 0 && v <= GGUF_ALIGNMENT_MAX) w->alignment = v;
}

void gguf_writer_kv_copy(gguf_writer *w, const gguf_kv *kv) {
    CONVECT_CHECK(w->data_off == 0);
    put_string(w, &w->kv, kv->key.data, kv->key.n_bytes);
    put_u32(w, &w->kv, kv->type);
    if (kv->type == GGUF_ARRAY) {
        put_u32(w, &w->kv, kv->element_type);
        put_u64(w, &w->kv, kv->n_elements);
    }
    put(w, &w->kv, kv->data, kv->n_bytes);
    w->n_kv++;
    uint64_t v;
    if (gguf_read_u64(kv, 0, &v)) note_alignment(w, kv->key.data, kv->key.n_bytes, v);
}

void gguf_writer_kv_u32(gguf_writer *w, const char *key, uint32_t v) {
    put_key(w, key, GGUF_U32);
    put_u32(w, &w->kv, v);
    note_alignment(w, key, strlen(key), v);
}

void gguf_writer_kv_i32(gguf_writer *w, const char *key, int32_t v) {
    put_key(w, key, GGUF_I32);
    put(w, &w->kv, &v, sizeof v);
}

void gguf_writer_kv_u64(gguf_writer *w, const char *key, uint64_t v) {
    put_key(w, key, GGUF_U64);
    put_u64(w, &w->kv, v);
}

void gguf_writer_kv_f32(gguf_writer *w, const char *key, float v) {
    put_key(w, key, GGUF_F32);
    put(w, &w->kv, &v, sizeof v);
}

void gguf_writer_kv_bool(gguf_writer *w, const char *key, bool v) {
    uint8_t byte = v;
    put_key(w, key, GGUF_BOOL);
    put(w, &w->kv, &byte, 1);
}

void gguf_writer_kv_string(gguf_writer *w, const char *key, const char *data, size_t n_bytes) {
    put_key(w, key, GGUF_STRING);
    put_string(w, &w->kv, data, n_bytes);
}

void gguf_writer_kv_i32s(gguf_writer *w, const char *key, const int32_t *v, size_t n) {
    put_array(w, key, GGUF_I32, n);
    put(w, &w->kv, v, n * sizeof *v);
}

void gguf_writer_kv_f32s(gguf_writer *w, const char *key, const float *v, size_t n) {
    put_array(w, key, GGUF_F32, n);
    put(w, &w->kv, v, n * sizeof *v);
}

void gguf_writer_kv_strings(gguf_writer *w, const char *key, const gguf_string *v, size_t n) {
    put_array(w, key, GGUF_STRING, n);
    for (size_t i = 0; i < n; i++) put_string(w, &w->kv, v[i].data, v[i].n_bytes);
}

static uint64_t padded(uint64_t n, uint64_t alignment) {
    return (n + alignment - 1) / alignment * alignment;
}

static written_tensor *new_tensor(gguf_writer *w) {
    if (w->n_tensors == w->capacity_tensors) {
        size_t capacity = 2 * w->capacity_tensors + 256;
        written_tensor *grown = realloc(w->tensors, capacity * sizeof *grown);
        if (!grown) {
            (void)convect_fail(&w->error, CONVECT_NO_FIT, "out of memory for the tensors of %s", w->path);
            return NULL;
        }
        w->tensors = grown;
        w->capacity_tensors = capacity;
    }
    return &w->tensors[w->n_tensors++];
}

void gguf_writer_tensor(gguf_writer *w, const char *name, uint32_t ggml_type, uint32_t n_dims, const uint64_t ne[4]) {
    CONVECT_CHECK(w->data_off == 0 && n_dims >= 1 && n_dims <= 4);
    if (w->error.status != CONVECT_OK) return;
    uint64_t whole[4] = {1, 1, 1, 1}, n_bytes, end;
    memcpy(whole, ne, n_dims * sizeof *ne);
    if (!gguf_tensor_bytes(ggml_type, whole, &n_bytes) || __builtin_add_overflow(w->n_data_bytes, n_bytes, &end) ||
        end > INT64_MAX - GGUF_ALIGNMENT_MAX) {
        (void)convect_fail(&w->error, CONVECT_NOT_SUPPORTED,
                           "cannot write %s: tensor %s has a shape that type %u cannot have", w->path, name, ggml_type);
        return;
    }
    written_tensor *t = new_tensor(w);
    if (!t) return;
    *t = (written_tensor){.off = w->n_data_bytes, .n_bytes = n_bytes};
    w->n_data_bytes = padded(end, w->alignment);
    put_string(w, &w->info, name, strlen(name));
    put_u32(w, &w->info, n_dims);
    put(w, &w->info, ne, n_dims * sizeof *ne);
    put_u32(w, &w->info, ggml_type);
    put_u64(w, &w->info, t->off);
}

/* ---- the file ---- */

static convect_status write_failed(const gguf_writer *w, int code, convect_error *err) {
    return convect_fail(err, CONVECT_IO, "cannot write %s: %s (an older file of that name is unchanged)", w->path,
                        strerror(code));
}

static convect_status write_all(const gguf_writer *w, uint64_t off, const uint8_t *p, size_t n, convect_error *err) {
    while (n > 0) {
        ssize_t n_done = pwrite(w->fd, p, n, (off_t)off);
        if (n_done < 0 && errno == EINTR) continue;
        if (n_done <= 0) return write_failed(w, n_done < 0 ? errno : ENOSPC, err);
        p += n_done;
        off += (uint64_t)n_done;
        n -= (size_t)n_done;
    }
    return CONVECT_OK;
}

static convect_status no_room(const gguf_writer *w, uint64_t n_bytes, convect_error *err) {
    struct statvfs fs = {0};
    (void)fstatvfs(w->fd, &fs);
    return convect_fail(err, CONVECT_IO, "cannot write %s: it needs %llu bytes, the disk has %llu free", w->path,
                        (ull)n_bytes, (ull)fs.f_bavail * fs.f_frsize);
}

/* Takes the room for the whole file now, so that a full disk fails here and not after an hour of quantising. On tmpfs
 * fallocate would fill every page with zeros on one thread; there, and where the file system cannot do it, comparing
 * with the free room must do. */
static convect_status reserve(const gguf_writer *w, uint64_t n_bytes, convect_error *err) {
    struct rlimit limit; /* passing it would raise SIGXFSZ, which ends the program */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && n_bytes > limit.rlim_cur)
        return convect_fail(err, CONVECT_IO, "cannot write %s: it needs %llu bytes, `ulimit -f` allows %llu", w->path,
                            (ull)n_bytes, (ull)limit.rlim_cur);
    struct statvfs room;
    if (fstatvfs(w->fd, &room) == 0 && room.f_blocks > 0 && n_bytes > (uint64_t)room.f_bavail * room.f_frsize)
        return no_room(w, n_bytes, err);
    struct statfs fs;
    if (fstatfs(w->fd, &fs) != 0 || fs.f_type != TMPFS_TYPE) {
        int result;
        do result = fallocate(w->fd, 0, 0, (off_t)n_bytes);
        while (result != 0 && errno == EINTR);
        if (result != 0 && errno == ENOSPC) return no_room(w, n_bytes, err);
        if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return write_failed(w, errno, err);
    }
    return ftruncate(w->fd, (off_t)n_bytes) == 0 ? CONVECT_OK : write_failed(w, errno, err);
}

/* Has the reader check what was declared: duplicate keys and names, empty or long ones, alignment, bools. */
static convect_status check_head(const gguf_writer *w, const byte_buffer *head, convect_error *err) {
    /* without the padding at the end, where the reader would look for a second file: only the head is in memory */
    const written_tensor *last = w->n_tensors ? &w->tensors[w->n_tensors - 1] : NULL;
    const uint64_t n_bytes = w->data_off + (last ? last->off + last->n_bytes : 0);
    gguf_shard shard = {.path = strdup(w->path), .fd = -1, .data = head->data, .n_bytes = n_bytes};
    if (!shard.path) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    gguf *g = NULL;
    convect_status status = gguf_open_shard(&shard, &g, err);
    if (status != CONVECT_OK) convect_error_context(err, "refusing to write what cannot be read: ");
    gguf_close(g);
    return status;
}

convect_status gguf_writer_begin_data(gguf_writer *w, convect_error *err) {
    CONVECT_CHECK(w->data_off == 0);
    static const uint8_t zeros[GGUF_ALIGNMENT_MAX];
    byte_buffer head = {0};
    put(w, &head, GGUF_MAGIC, 4);
    put_u32(w, &head, 3);
    put_u64(w, &head, w->n_tensors);
    put_u64(w, &head, w->n_kv);
    put(w, &head, w->kv.data, w->kv.n_bytes);
    put(w, &head, w->info.data, w->info.n_bytes);
    put(w, &head, zeros, padded(head.n_bytes, w->alignment) - head.n_bytes);
    w->data_off = head.n_bytes;
    convect_status status = w->error.status;
    if (status != CONVECT_OK) (void)convect_fail(err, status, "%s", w->error.text);
    if (status == CONVECT_OK) status = check_head(w, &head, err);
    if (status == CONVECT_OK) status = reserve(w, gguf_writer_file_bytes(w), err);
    if (status == CONVECT_OK) status = write_all(w, 0, head.data, head.n_bytes, err);
    free(head.data);
    return status;
}

uint64_t gguf_writer_file_bytes(const gguf_writer *w) {
    return w->data_off + w->n_data_bytes;
}

convect_status gguf_write_at(gguf_writer *w, size_t i_tensor, uint64_t off, const void *data, size_t n_bytes,
                             convect_error *err) {
    CONVECT_CHECK(w->data_off > 0 && i_tensor < w->n_tensors);
    const written_tensor *t = &w->tensors[i_tensor];
    CONVECT_CHECK(off <= t->n_bytes && n_bytes <= t->n_bytes - off);
    atomic_fetch_add_explicit(&w->n_written_bytes, n_bytes, memory_order_relaxed);
    return write_all(w, w->data_off + t->off + off, data, n_bytes, err);
}

/* Makes the new name itself last over a crash. */
static void sync_folder(const char *path) {
    char folder[PATH_BYTES];
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder ? 1 : 0] = 0;
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    (void)close(fd);
}

convect_status gguf_writer_commit(gguf_writer *w, convect_error *err) {
    CONVECT_CHECK(w->data_off > 0);
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < w->n_tensors; i++) n_bytes += w->tensors[i].n_bytes;
    CONVECT_CHECK(atomic_load(&w->n_written_bytes) == n_bytes);
    convect_status status = CONVECT_OK;
    if (fsync(w->fd) != 0) status = write_failed(w, errno, err);
    if (close(w->fd) != 0 && status == CONVECT_OK) status = write_failed(w, errno, err);
    if (status == CONVECT_OK && rename(w->part, w->path) != 0) status = write_failed(w, errno, err);
    if (status == CONVECT_OK)
        sync_folder(w->path);
    else
        (void)unlink(w->part);
    writer_free(w);
    return status;
}
