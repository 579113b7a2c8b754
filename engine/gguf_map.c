/* Opening and mapping one file, and telling the user what a file is that is no GGUF. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/gguf_internal.h"

static convect_status open_failed(const gguf_shard *s, int code, convect_error *err) {
    if (code == ENOENT) {
        char near[128];
        const char *suffix = gguf_hint_unfinished_sibling(s->path);
        if (suffix)
            return gguf_fail(s, err, CONVECT_NOT_FOUND,
                             "no such file, but one with %s at the end of its name: the download has not finished",
                             suffix);
        if (gguf_hint_near(s->path, near, sizeof near))
            return gguf_fail(s, err, CONVECT_NOT_FOUND, "no such file (did you mean %s?)", near);
        return gguf_fail(s, err, CONVECT_NOT_FOUND, "no such file");
    }
    if (code == EMFILE || code == ENFILE)
        return gguf_fail(s, err, CONVECT_IO, "cannot open it: too many open files (raise `ulimit -n`)");
    return gguf_fail(s, err, CONVECT_NOT_FOUND, "cannot open it: %s", strerror(code));
}

static convect_status is_folder(const gguf_shard *s, convect_error *err) {
    char names[220];
    const size_t n = gguf_hint_list(s->path, names, sizeof names);
    if (n == 0) return gguf_fail(s, err, CONVECT_USAGE, "is a folder, and no .gguf file is in it");
    return gguf_fail(s, err, CONVECT_USAGE, "is a folder; name one of its %zu .gguf files: %s", n, names);
}

static convect_status check_name(const gguf_shard *s, convect_error *err) {
    unsigned i, n;
    const char *suffix = gguf_hint_unfinished(s->path);
    if (suffix)
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "ends in %s, which marks an unfinished download; let it finish, or rename it if it is whole",
                         suffix);
    if (gguf_hint_has_control_file(s->path))
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "is an unfinished download: aria2's control file (the name with .aria2) lies beside it; start "
                         "the download again to resume it");
    if (gguf_hint_is_part(s->path, &i, &n))
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "is part %u of %u of a file that was cut; join the parts in order: cat NAME.part1of%u ... > "
                         "NAME",
                         i, n, n);
    return CONVECT_OK;
}

static convect_status check_kind(const gguf_shard *s, const struct stat *st, convect_error *err) {
    if (S_ISDIR(st->st_mode)) return is_folder(s, err);
    if (!S_ISREG(st->st_mode))
        return gguf_fail(s, err, CONVECT_NOT_FOUND, "is no regular file (a pipe or device cannot be mapped)");
    if (st->st_size == 0) return gguf_fail(s, err, CONVECT_DAMAGED, "is empty (0 bytes); download it again");
    return check_name(s, err);
}

convect_status gguf_shard_open(gguf_shard *s, const char *path, convect_error *err) {
    *s = (gguf_shard){.path = strdup(path), .fd = -1};
    if (!path[0]) return convect_fail(err, CONVECT_NOT_FOUND, "the name of the file to read is empty");
    if (!s->path) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* NONBLOCK: a named pipe must not hang us */
    if (s->fd < 0) return open_failed(s, errno, err);
    struct stat st;
    if (fstat(s->fd, &st) != 0) return gguf_fail(s, err, CONVECT_IO, "cannot read its size: %s", strerror(errno));
    convect_status status = check_kind(s, &st, err);
    if (status != CONVECT_OK) return status;
    s->n_bytes = (uint64_t)st.st_size;
    void *map = mmap(NULL, s->n_bytes, PROT_READ, MAP_SHARED, s->fd, 0);
    if (map == MAP_FAILED && errno == ENOMEM)
        return gguf_fail(s, err, CONVECT_NO_FIT,
                         "cannot map its %llu bytes: the address space is limited (ulimit -v) or full",
                         (unsigned long long)s->n_bytes);
    if (map == MAP_FAILED) return gguf_fail(s, err, CONVECT_IO, "cannot map it: %s", strerror(errno));
    s->data = map;
    return CONVECT_OK;
}

void gguf_shard_close(gguf_shard *s) {
    if (s->fd >= 0) {
        if (s->data) (void)munmap((void *)(uintptr_t)s->data, s->n_bytes);
        (void)close(s->fd);
    }
    name_index_free(&s->keys);
    free(s->kv);
    free(s->names);
    free(s->path);
    *s = (gguf_shard){.fd = -1};
}

typedef struct look_alike {
    const char *head; /* first bytes, letters in lower case */
    size_t n_head;
    convect_status status;
    const char *text;
} look_alike;

#define HEAD(literal) literal, sizeof(literal) - 1
static const look_alike look_alikes[] = {
    {HEAD("version https://git-lfs."), CONVECT_DAMAGED,
     "is a Git LFS pointer, not the model itself; run `git lfs pull` or download the file"},
    {HEAD("<!doctype"), CONVECT_DAMAGED,
     "is an HTML page, not a model; the link led to a web page (a log-in or an error), download the file itself"},
    {HEAD("<html"), CONVECT_DAMAGED,
     "is an HTML page, not a model; the link led to a web page (a log-in or an error), download the file itself"},
    {HEAD("<?xml"), CONVECT_DAMAGED, "is an XML text, not a model; probably a server's error message"},
    {HEAD("{"), CONVECT_DAMAGED, "is a JSON text, not a model; a server's error message or a configuration file"},
    {HEAD("pk\3\4"), CONVECT_NOT_SUPPORTED,
     "is a ZIP archive (perhaps a PyTorch checkpoint); Convect reads GGUF files"},
    {HEAD("\x1f\x8b"), CONVECT_NOT_SUPPORTED, "is compressed with gzip; unpack it first"},
    {HEAD("\x28\xb5\x2f\xfd"), CONVECT_NOT_SUPPORTED, "is compressed with zstd; unpack it first"},
    {HEAD("lmgg"), CONVECT_NOT_SUPPORTED, "is in the GGML format from before GGUF; get a GGUF of the model"},
    {HEAD("fmgg"), CONVECT_NOT_SUPPORTED, "is in the GGMF format from before GGUF; get a GGUF of the model"},
    {HEAD("tjgg"), CONVECT_NOT_SUPPORTED, "is in the GGJT format from before GGUF; get a GGUF of the model"},
    {HEAD("fugg"), CONVECT_NOT_SUPPORTED, "has the letters of GGUF in reverse: it is of foreign endianness"},
};

static bool begins_with(const uint8_t *data, uint64_t n_bytes, const look_alike *a) {
    if (n_bytes < a->n_head) return false;
    for (size_t i = 0; i < a->n_head; i++) {
        uint8_t c = data[i];
        if (c >= 'A' && c <= 'Z') c = (uint8_t)(c - 'A' + 'a');
        if (c != (uint8_t)a->head[i]) return false;
    }
    return true;
}

/* safetensors: u64 length of a JSON header, then '{' */
static bool is_safetensors(const uint8_t *data, uint64_t n_bytes) {
    uint64_t n_header;
    if (n_bytes < 9 || data[8] != '{') return false;
    memcpy(&n_header, data, sizeof n_header);
    return n_header <= n_bytes;
}

convect_status gguf_not_gguf(const gguf_shard *s, convect_error *err) {
    const uint8_t *data = s->data;
    uint64_t n_bytes = s->n_bytes;
    if (is_safetensors(data, n_bytes))
        return gguf_fail(s, err, CONVECT_NOT_SUPPORTED, "is a safetensors file; Convect reads GGUF files");
    uint64_t n_space = 0;
    while (n_space < n_bytes && n_space < 64 && strchr(" \t\r\n", data[n_space]) && data[n_space]) n_space++;
    for (size_t i = 0; i < sizeof look_alikes / sizeof look_alikes[0]; i++)
        if (begins_with(data + n_space, n_bytes - n_space, &look_alikes[i]))
            return gguf_fail(s, err, look_alikes[i].status, "%s", look_alikes[i].text);
    if (n_bytes < 4)
        return gguf_fail(s, err, CONVECT_DAMAGED, "is truncated: it has only %llu bytes", (unsigned long long)n_bytes);
    static const uint8_t zeros[4];
    if (memcmp(data, zeros, sizeof zeros) == 0)
        return gguf_fail(s, err, CONVECT_DAMAGED, "begins with zero bytes: an unfinished download, or no GGUF file");
    return gguf_fail(s, err, CONVECT_DAMAGED,
                     "is not a GGUF file: it begins with bytes %02x %02x %02x %02x instead of 47 47 55 46", data[0],
                     data[1], data[2], data[3]);
}
